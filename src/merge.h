/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merging: write-protect, compare, replace.
 */
#ifndef PKSM_MERGE_H
#define PKSM_MERGE_H

#include "outcome.h"

struct folio;
struct folio_batch;
struct page;
struct pksm_node;
struct vm_area_struct;

/**
 * struct pksm_side - one mapping of one page that is to be merged
 * @vma: held
 * @addr: where the page is mapped
 * @page: a reference is held
 * @whole: if it is part of a huge page, that is not to be split
 * @locked: its folio is locked, small, and was anonymous when that was done
 * @pte: the entry, write-protected, once that was done
 */
struct pksm_side {
	struct vm_area_struct *vma;
	unsigned long addr;
	struct page *page;
	bool whole;
	bool locked;
	pte_t pte;
};

enum pksm_outcome pksm_side_lock(struct pksm_side *side);
void pksm_side_end(struct pksm_side *side, struct folio_batch *gone);

enum pksm_outcome pksm_merge_zero(struct pksm_side *side);
enum pksm_outcome pksm_merge_match(struct pksm_side *side, struct folio *folio);
enum pksm_outcome pksm_merge_join(struct pksm_side *side, struct folio *folio);
enum pksm_outcome pksm_merge_pair(struct pksm_side *target, struct pksm_side *other,
				  struct pksm_node *node, bool *blame);

#endif
