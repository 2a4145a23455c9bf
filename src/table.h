/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables: reading the page tables of a space.
 */
#ifndef PKSM_TABLE_H
#define PKSM_TABLE_H

#include <linux/mm_types.h>

struct pksm_node;

/**
 * struct pksm_entry - a page that was seen mapped
 * @addr: where
 * @pfn: the page
 * @node: that its folio names when that is merged, else NULL; a value to compare,
 *	not to be dereferenced
 */
struct pksm_entry {
	unsigned long addr;
	unsigned long pfn;
	struct pksm_node *node;
};

unsigned long pksm_table_next(struct mm_struct *mm, unsigned long addr, unsigned long end);
pte_t *pksm_table_pte_lock(struct mm_struct *mm, unsigned long addr, spinlock_t **ptl);
bool pksm_table_maps(struct mm_struct *mm, unsigned long addr, unsigned long pfn);
struct page *pksm_table_reference(struct mm_struct *mm, unsigned long addr, unsigned long pfn);
unsigned int pksm_table_collect(struct vm_area_struct *vma, unsigned long addr,
				unsigned long end, struct pksm_entry *entries);
unsigned int pksm_table_merged(struct vm_area_struct *vma, unsigned long addr,
			       unsigned long end, unsigned long *addrs, unsigned int max);

#endif
