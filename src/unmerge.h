/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unmerging: giving each mapping of a merged page a frame of its own again.
 */
#ifndef PKSM_UNMERGE_H
#define PKSM_UNMERGE_H

#include <linux/types.h>

struct vm_area_struct;

int pksm_unmerge_range(struct vm_area_struct *vma, unsigned long *start, unsigned long end,
		       bool gently);
int pksm_unmerge_vma(struct vm_area_struct *vma, unsigned long start, unsigned long end);

#endif
