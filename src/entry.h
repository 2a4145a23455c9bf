/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries: where the rest of mm enters the engine.
 */
#ifndef PKSM_ENTRY_H
#define PKSM_ENTRY_H

#include <linux/types.h>

#include "hook.h"

struct mm_struct;
struct vm_area_struct;

extern struct pksm_hook pksm_entry_hooks[];
extern const size_t pksm_entry_count;

int pksm_entry_enable_merge_any(struct mm_struct *mm);
int pksm_entry_disable_merge_any(struct mm_struct *mm);
int pksm_entry_disable(struct mm_struct *mm);
bool pksm_entry_mergeable(const struct vm_area_struct *vma);

#endif
