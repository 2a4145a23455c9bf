/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages: the way of one page through the engine.
 */
#ifndef PKSM_PAGE_H
#define PKSM_PAGE_H

#include <linux/types.h>

#include "outcome.h"

struct pksm_entry;
struct pksm_hold;

enum pksm_outcome pksm_page_visit(const struct pksm_hold *hold, const struct pksm_entry *entry,
				  u64 *record, bool again);
bool pksm_page_transient(enum pksm_outcome outcome);

#endif
