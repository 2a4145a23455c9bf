// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables: walks over page tables that skip what is not there at the level where
 * it is missing.
 *
 * Entered by workers and by unmerging. The caller holds the VMA's lock or the
 * mmap lock, for reading at least, which keeps the tables above the last level
 * in place; the last level is reached through pte_offset_map*(), which bears its
 * going away. Owns no lock; takes page-table locks and returns without them,
 * except pksm_table_pte_lock().
 *
 * Nothing here asserts the mmap lock as the kernel's walkers do (on production
 * kernels too, in 6.12), so it works under the VMA's lock alone.
 */
#include <linux/ksm.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "compat/mm.h"
#include "node.h"
#include "table.h"

/* The entry of the last-but-one level, or NULL. */
static pmd_t *find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!pgd_present(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!p4d_present(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	if (!pud_present(*pud) || pud_leaf(*pud))
		return NULL;
	return pmd_offset(pud, addr);
}

/* The next three: the first address below @end where something may be, or @end. */
static unsigned long next_in_pud(pud_t *pud, unsigned long addr, unsigned long end)
{
	pmd_t *pmd;

	if (!pud_present(*pud) || pud_leaf(*pud))
		return end;
	pmd = pmd_offset(pud, addr);
	for (; addr != end; pmd++, addr = pmd_addr_end(addr, end))
		if (!pmd_none(pmdp_get_lockless(pmd)))
			return addr;
	return end;
}

static unsigned long next_in_p4d(p4d_t *p4d, unsigned long addr, unsigned long end)
{
	unsigned long stop, found;
	pud_t *pud;

	if (!p4d_present(*p4d))
		return end;
	pud = pud_offset(p4d, addr);
	for (; addr != end; pud++, addr = stop) {
		stop = pud_addr_end(addr, end);
		found = next_in_pud(pud, addr, stop);
		if (found != stop)
			return found;
	}
	return end;
}

static unsigned long next_in_pgd(pgd_t *pgd, unsigned long addr, unsigned long end)
{
	unsigned long stop, found;
	p4d_t *p4d;

	if (!pgd_present(*pgd))
		return end;
	p4d = p4d_offset(pgd, addr);
	for (; addr != end; p4d++, addr = stop) {
		stop = p4d_addr_end(addr, end);
		found = next_in_p4d(p4d, addr, stop);
		if (found != stop)
			return found;
	}
	return end;
}

/**
 * pksm_table_next() - the next address where something may be mapped
 * @mm: the space
 * @addr: where to begin
 * @end: where to stop
 *
 * Return: @addr or the start of a later populated 2 MiB entry; @end when there
 * is none before it.
 */
unsigned long pksm_table_next(struct mm_struct *mm, unsigned long addr, unsigned long end)
{
	unsigned long stop, found;
	pgd_t *pgd;

	if (addr >= end)
		return end;
	for (pgd = pgd_offset(mm, addr); addr != end; pgd++, addr = stop) {
		stop = pgd_addr_end(addr, end);
		found = next_in_pgd(pgd, addr, stop);
		if (found != stop)
			return found;
	}
	return end;
}

/**
 * pksm_table_pte_lock() - the entry of a page, locked
 * @mm: the space
 * @addr: the page's address
 * @ptl: set to the lock that is held
 *
 * Return: to be given to pksm_mm_pte_unlock(); NULL when there is no table of the
 * last level, then nothing is held.
 */
pte_t *pksm_table_pte_lock(struct mm_struct *mm, unsigned long addr, spinlock_t **ptl)
{
	pmd_t *pmd = find_pmd(mm, addr);
	pmd_t value;

	if (!pmd)
		return NULL;
	/*
	 * Parts of the huge page code clear and set an entry without the lock
	 * that we hold: present and not huge have to be seen in one look.
	 */
	value = pmdp_get_lockless(pmd);
	if (!pmd_present(value) || pmd_leaf(value))
		return NULL;
	return pksm_mm_pte_lock(mm, pmd, addr, ptl);
}

/**
 * pksm_table_maps() - is a page still mapped where it was seen?
 * @mm: the space
 * @addr: where it was seen
 * @pfn: the page; a reference is held, or it could have come back as another
 *
 * Return: the state at some moment during the call, read without a lock.
 */
bool pksm_table_maps(struct mm_struct *mm, unsigned long addr, unsigned long pfn)
{
	pmd_t *pmd = find_pmd(mm, addr);
	pmd_t value;
	pte_t *ptep, pte;

	if (!pmd)
		return false;
	value = pmdp_get_lockless(pmd);
	if (!pmd_present(value))
		return false;
	if (pmd_leaf(value))
		return pmd_pfn(value) + ((addr & ~PMD_MASK) >> PAGE_SHIFT) == pfn;
	ptep = pte_offset_map(pmd, addr);
	if (!ptep)
		return false;
	pte = ptep_get_lockless(ptep);
	pksm_mm_pte_unmap(ptep);
	return pte_present(pte) && pte_pfn(pte) == pfn;
}

/**
 * pksm_table_reference() - take a reference to a page that was seen mapped
 * @mm: the space
 * @addr: where it was seen
 * @pfn: the page; it may have been freed and used again meanwhile
 *
 * As get_user_pages_fast() does it: the reference first, then look whether the
 * page is still the one that is mapped.
 * Return: the page, or NULL when it is not mapped there any more.
 */
struct page *pksm_table_reference(struct mm_struct *mm, unsigned long addr, unsigned long pfn)
{
	struct page *page = pfn_to_page(pfn);
	struct folio *folio = page_folio(page);

	if (!folio_try_get(folio))
		return NULL;
	if (page_folio(page) == folio && pksm_table_maps(mm, addr, pfn))
		return page;
	folio_put(folio);
	return NULL;
}

static bool candidate(const struct folio *folio)
{
	return folio_test_anon(folio) && !folio_is_zone_device(folio);
}

static void note(struct pksm_entry *entry, unsigned long addr, struct page *page)
{
	struct folio *folio = page_folio(page);

	entry->addr = addr;
	entry->pfn = page_to_pfn(page);
	entry->node = pksm_node_of(folio);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static unsigned int collect_huge(struct vm_area_struct *vma, unsigned long addr,
				 unsigned long end, pmd_t *pmd, struct pksm_entry *entries)
{
	spinlock_t *ptl = pmd_lock(vma->vm_mm, pmd);
	unsigned int nr = 0;
	struct page *page;

	if (!pmd_present(*pmd) || !pmd_leaf(*pmd))
		goto out;
	page = vm_normal_page_pmd(vma, addr & PMD_MASK, *pmd);
	if (!page || !candidate(page_folio(page)))
		goto out;
	for (; addr < end; addr += PAGE_SIZE)
		note(&entries[nr++], addr, page + ((addr & ~PMD_MASK) >> PAGE_SHIFT));
out:
	spin_unlock(ptl);
	return nr;
}
#else
static unsigned int collect_huge(struct vm_area_struct *vma, unsigned long addr,
				 unsigned long end, pmd_t *pmd, struct pksm_entry *entries)
{
	return 0;
}
#endif

/**
 * pksm_table_collect() - the candidate pages of a part of a VMA
 * @vma: its lock or the mmap lock is held
 * @addr: first address
 * @end: one behind the last; in the same 2 MiB entry
 * @entries: room for every page between them
 *
 * One walk under one lock; no reference is taken, so that nobody is kept from
 * migrating or reclaiming what is only looked at.
 * Return: number of entries filled in, in the order of addresses.
 */
unsigned int pksm_table_collect(struct vm_area_struct *vma, unsigned long addr,
				unsigned long end, struct pksm_entry *entries)
{
	unsigned int nr = 0;
	pmd_t *pmd = find_pmd(vma->vm_mm, addr);
	spinlock_t *ptl;
	struct page *page;
	pte_t *start, *ptep, pte;
	pmd_t value;

	if (!pmd)
		return 0;
	value = pmdp_get_lockless(pmd);
	if (!pmd_present(value))
		return 0;
	if (pmd_leaf(value))
		return collect_huge(vma, addr, end, pmd, entries);
	start = pksm_mm_pte_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!start)
		return 0;
	for (ptep = start; addr < end; ptep++, addr += PAGE_SIZE) {
		pte = ptep_get(ptep);
		if (!pte_present(pte))
			continue;
		page = pksm_mm_pte_page(pte);
		if (page && candidate(page_folio(page)))
			note(&entries[nr++], addr, page);
	}
	pksm_mm_pte_unlock(start, ptl);
	return nr;
}

/* A merged page, one under way to another frame, or our zero page. */
static bool merged(struct vm_area_struct *vma, unsigned long addr, pte_t pte)
{
	struct page *page;
	swp_entry_t entry;

	if (pte_present(pte)) {
		if (is_ksm_zero_pte(pte))
			return true;
		page = pksm_mm_pte_page(pte);
		return page && folio_test_ksm(page_folio(page));
	}
	if (pte_none(pte))
		return false;
	entry = pte_to_swp_entry(pte);
	return is_migration_entry(entry) && folio_test_ksm(pfn_swap_entry_folio(entry));
}

/**
 * pksm_table_merged() - where merged pages are mapped in a part of a VMA
 * @vma: its lock or the mmap lock is held
 * @addr: first address
 * @end: one behind the last; in the same 2 MiB entry
 * @addrs: filled in
 * @max: how many fit
 *
 * Return: number of addresses found.
 */
unsigned int pksm_table_merged(struct vm_area_struct *vma, unsigned long addr,
			       unsigned long end, unsigned long *addrs, unsigned int max)
{
	spinlock_t *ptl;
	pte_t *start, *ptep;
	unsigned int nr = 0;

	start = pksm_table_pte_lock(vma->vm_mm, addr, &ptl);
	if (!start)
		return 0;
	for (ptep = start; addr < end && nr < max; ptep++, addr += PAGE_SIZE)
		if (merged(vma, addr, ptep_get(ptep)))
			addrs[nr++] = addr;
	pksm_mm_pte_unlock(start, ptl);
	return nr;
}
