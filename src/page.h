/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages: the way of one page through the engine.
 */
#ifndef PKSM_PAGE_H
#define PKSM_PAGE_H

#include <linux/types.h>

#include "outcome.h"

struct folio_batch;
struct pksm_entry;
struct pksm_hold;

/**
 * struct pksm_visit - how pages of a batch are visited
 * @hold: their VMA, held
 * @gone: for pages given up, pksm_side_end()
 * @smart: those that were visited in vain before may be skipped
 * @again: not for the first time in this pass: what is only busy is waited for
 * @whole: a huge page is not to be split
 */
struct pksm_visit {
	const struct pksm_hold *hold;
	struct folio_batch *gone;
	bool smart;
	bool again;
	bool whole;
};

enum pksm_outcome pksm_page_visit(const struct pksm_visit *visit, const struct pksm_entry *entry,
				  u64 *record);
bool pksm_page_transient(enum pksm_outcome outcome);

#endif
