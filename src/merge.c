// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merging: the only place where a process's page is exchanged for another.
 *
 * The rule that keeps memory right: both pages are write-protected, with nobody
 * but their page tables and us holding a reference, when they are compared byte
 * for byte; and the entry is exchanged only if it is still the one that was
 * write-protected then. A page that is write-protected, not exclusive, and
 * referenced by us is copied by whoever writes to it (wp_can_reuse_anon_folio(),
 * mm/memory.c of 6.12), so what was compared stays what it was.
 *
 * Entered by workers inside the gate, with the VMA of each side held. Folio locks
 * are tried, never waited for; page-table locks nest inside them. Owns no lock.
 *
 * A failure leaves a page write-protected at worst, which its owner's next write
 * undoes.
 */
#include <linux/ksm.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>

#include "compat/mm.h"
#include "compat/symbol.h"
#include "content.h"
#include "merge.h"
#include "node.h"
#include "table.h"

/*
 * Somebody holds a reference. Pins may stay for long; another worker that looks at
 * the page, or a CPU that has it in a batch for the LRU, is gone in a moment.
 */
static enum pksm_outcome why_held(struct folio *folio)
{
	return folio_maybe_dma_pinned(folio) ? PKSM_PINNED : PKSM_BUSY;
}

/**
 * pksm_side_lock() - make a page ready to be merged
 * @side: @vma, @addr, @page and @whole set
 *
 * Locks the folio and splits it if it is large and may be split. The reference that the caller
 * holds has to be the only one, or the split fails.
 * Context: does not wait for locks; a split may sleep.
 * Return: PKSM_MERGED when the side is locked, also if it was before; otherwise
 * why not.
 */
enum pksm_outcome pksm_side_lock(struct pksm_side *side)
{
	struct folio *folio = page_folio(side->page);
	enum pksm_outcome why = PKSM_MERGED;

	if (side->locked)
		return PKSM_MERGED;
	if (!folio_trylock(folio))
		return PKSM_BUSY;
	if (!folio_test_anon(folio) || folio_test_ksm(folio) ||
	    folio_is_zone_device(folio) || page_folio(side->page) != folio)
		why = PKSM_GONE;
	else if (PageHWPoison(side->page))
		why = PKSM_POISONED;
	else if (side->whole && folio_test_pmd_mappable(folio))
		why = PKSM_KEPT;
	else if (folio_test_large(folio) && split_huge_page(side->page))
		why = why_held(folio);
	if (why != PKSM_MERGED) {
		folio_unlock(folio);
		return why;
	}
	side->locked = true;
	return PKSM_MERGED;
}

/**
 * pksm_side_end() - unlock a side's page and let go of it
 * @side: locked or not
 * @gone: references to pages that were given up are put here, and dropped when it is
 *	full; the caller drops the last ones. Freeing one page takes locks of its
 *	memory node and cgroup that all CPUs share; freeing many takes them once
 */
void pksm_side_end(struct pksm_side *side, struct folio_batch *gone)
{
	struct folio *folio;

	if (!side->page)
		return;
	folio = page_folio(side->page);
	if (side->locked)
		folio_unlock(folio);
	if (folio_mapped(folio))
		folio_put(folio);
	else if (!folio_batch_add(gone, folio))
		folios_put(gone);
	side->locked = false;
	side->page = NULL;
}

/*
 * Write-protect the entry under its lock. It is cleared and flushed first, so
 * that a lockless get_user_pages_fast() either has its reference by now, and is
 * counted, or finds the entry changed.
 */
static enum pksm_outcome protect_entry(struct pksm_side *side, pte_t *ptep)
{
	struct mm_struct *mm = side->vma->vm_mm;
	struct folio *folio = page_folio(side->page);
	bool exclusive = PageAnonExclusive(side->page);
	pte_t pte = ptep_get(ptep);
	bool flush;

	if (!pte_present(pte) || pte_pfn(pte) != page_to_pfn(side->page))
		return PKSM_GONE;
	flush = pte_write(pte) || pte_dirty(pte) || exclusive || mm_tlb_flush_pending(mm);
	if (flush)
		pte = ptep_clear_flush(side->vma, side->addr, ptep);
	if (folio_ref_count(folio) !=
	    folio_mapcount(folio) + 1 + folio_test_swapcache(folio) ||
	    (exclusive && folio_try_share_anon_rmap_pte(folio, side->page))) {
		if (flush)
			set_pte_at(mm, side->addr, ptep, pte);
		return why_held(folio);
	}
	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	/* Soft-dirty and userfaultfd bits are the owner's and stay. */
	side->pte = pte_wrprotect(pte_mkclean(pte));
	if (flush)
		set_pte_at(mm, side->addr, ptep, side->pte);
	return PKSM_MERGED;
}

static enum pksm_outcome protect(struct pksm_side *side)
{
	struct mm_struct *mm = side->vma->vm_mm;
	enum pksm_outcome result = PKSM_GONE;
	struct mmu_notifier_range range;
	spinlock_t *ptl;
	pte_t *ptep;

	VM_WARN_ON_ONCE(!folio_test_locked(page_folio(side->page)));
	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, mm, side->addr,
				side->addr + PAGE_SIZE);
	mmu_notifier_invalidate_range_start(&range);
	ptep = pksm_table_pte_lock(mm, side->addr, &ptl);
	if (ptep) {
		result = protect_entry(side, ptep);
		pksm_mm_pte_unlock(ptep, ptl);
	}
	mmu_notifier_invalidate_range_end(&range);
	return result;
}

/* What the owner sees of the old entry goes over to the new one. */
static pte_t carry(pte_t fresh, pte_t old)
{
	if (pte_soft_dirty(old))
		fresh = pte_mksoft_dirty(fresh);
	else
		fresh = pte_clear_soft_dirty(fresh);
	if (pte_uffd_wp(old))
		fresh = pte_mkuffd_wp(fresh);
	return fresh;
}

static void install_merged(struct pksm_side *side, pte_t *ptep, struct folio *target)
{
	struct page *page = folio_page(target, 0);

	folio_get(target);
	folio_add_anon_rmap_pte(target, page, side->vma, side->addr, RMAP_NONE);
	ptep_clear_flush(side->vma, side->addr, ptep);
	set_pte_at(side->vma->vm_mm, side->addr, ptep,
		   carry(mk_pte(page, side->vma->vm_page_prot), side->pte));
}

/* A dirty entry of the zero page is how the kernel knows that KSM put it there. */
static void install_zero(struct pksm_side *side, pte_t *ptep)
{
	struct mm_struct *mm = side->vma->vm_mm;
	pte_t pte = pfn_pte(my_zero_pfn(side->addr), side->vma->vm_page_prot);

	atomic_long_inc(pksm_data_ksm_zero_pages);
	atomic_long_inc(&mm->ksm_zero_pages);
	dec_mm_counter(mm, MM_ANONPAGES);
	ptep_clear_flush(side->vma, side->addr, ptep);
	set_pte_at(mm, side->addr, ptep, carry(pte_mkdirty(pte_mkspecial(pte)), side->pte));
}

/*
 * Exchange the entry of @side, if it is still the protected one. @target is the
 * merged folio to map, locked, or NULL for the zero page. @node is given when
 * @target becomes merged only now: it must not be merged and unshared.
 */
static enum pksm_outcome replace(struct pksm_side *side, struct folio *target,
				 struct pksm_node *node)
{
	struct mm_struct *mm = side->vma->vm_mm;
	struct folio *old = page_folio(side->page);
	enum pksm_outcome result = PKSM_GONE;
	struct mmu_notifier_range range;
	spinlock_t *ptl;
	pte_t *ptep;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, mm, side->addr,
				side->addr + PAGE_SIZE);
	mmu_notifier_invalidate_range_start(&range);
	ptep = pksm_table_pte_lock(mm, side->addr, &ptl);
	if (!ptep)
		goto out;
	/* Its owner wrote, or only read, which may have marked it; or it went. */
	result = PKSM_BUSY;
	if (!pte_same(ptep_get(ptep), side->pte))
		goto out_unlock;
	if (node) {
		WRITE_ONCE(node->pfn, folio_pfn(target));
		/* Pairs with pksm_node_folio_get(): the frame before the key to it. */
		smp_wmb();
		WRITE_ONCE(target->mapping, pksm_node_mapping(node));
	}
	if (target)
		install_merged(side, ptep, target);
	else
		install_zero(side, ptep);
	folio_remove_rmap_pte(old, side->page, side->vma);
	if (!folio_mapped(old))
		folio_free_swap(old);
	folio_put(old);
	result = PKSM_MERGED;
out_unlock:
	pksm_mm_pte_unlock(ptep, ptl);
out:
	mmu_notifier_invalidate_range_end(&range);
	return result;
}

/**
 * pksm_merge_zero() - merge a page with the zero page
 * @side: locked
 *
 * Context: VMA held.
 * Return: PKSM_ZERO, or why not.
 */
enum pksm_outcome pksm_merge_zero(struct pksm_side *side)
{
	enum pksm_outcome result = protect(side);

	if (result != PKSM_MERGED)
		return result;
	if (!pksm_content_equal(side->page, ZERO_PAGE(side->addr)))
		return PKSM_DIFFERENT;
	result = replace(side, NULL, NULL);
	return result == PKSM_MERGED ? PKSM_ZERO : result;
}

/**
 * pksm_merge_match() - is a page equal to one that is merged already?
 * @side: locked
 * @folio: the merged page, with a reference; it was found through its node
 *
 * The folio need not be locked. Nobody writes to a frame that was merged, whoever
 * maps it copies it first; and while there is a reference it is not used for
 * anything else, whatever becomes of its node. So many workers can compare with one
 * merged page at the same time, which takes far longer than joining it.
 * Context: VMA held.
 * Return: PKSM_MERGED when it is, and write-protected so that it stays equal until
 * @side is unlocked or its entry changes; otherwise why not.
 */
enum pksm_outcome pksm_merge_match(struct pksm_side *side, struct folio *folio)
{
	enum pksm_outcome result;

	if (folio_test_hwpoison(folio))
		return PKSM_POISONED;
	result = protect(side);
	if (result != PKSM_MERGED)
		return result;
	return pksm_content_equal(side->page, folio_page(folio, 0)) ? PKSM_MERGED : PKSM_DIFFERENT;
}

/**
 * pksm_merge_join() - merge a page with one that is merged already
 * @side: locked, and found equal to @folio by pksm_merge_match()
 * @folio: the merged page, locked, with a node
 *
 * Context: VMA held.
 * Return: PKSM_JOINED, or why not.
 */
enum pksm_outcome pksm_merge_join(struct pksm_side *side, struct folio *folio)
{
	enum pksm_outcome result;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (folio_test_hwpoison(folio))
		return PKSM_POISONED;
	/*
	 * Its only owner so far may have given it to MADV_FREE, which leaves it clean:
	 * reclaim would drop it, for all who share it. A dirty one it keeps, and once it
	 * is shared MADV_FREE leaves it dirty (mm/madvise.c, mm/rmap.c of 6.12).
	 */
	if (!folio_test_dirty(folio))
		folio_mark_dirty(folio);
	result = replace(side, folio, NULL);
	return result == PKSM_MERGED ? PKSM_JOINED : result;
}

/**
 * pksm_merge_pair() - make one merged page of two plain ones
 * @target: locked; its page becomes the merged one
 * @other: locked; its page is given up
 * @node: new; @target's page names it afterwards
 * @blame: set when it was not @target that was in the way
 *
 * Until the very moment at which @other's entry is exchanged both pages stay what
 * they were, so there is nothing to undo when that fails.
 * Context: both VMAs held.
 * Return: PKSM_PAIRED, or why not.
 */
enum pksm_outcome pksm_merge_pair(struct pksm_side *target, struct pksm_side *other,
				  struct pksm_node *node, bool *blame)
{
	struct folio *folio = page_folio(target->page);
	enum pksm_outcome result;

	result = protect(target);
	if (result != PKSM_MERGED)
		return result;
	*blame = true;
	result = protect(other);
	if (result != PKSM_MERGED)
		return result;
	if (!pksm_content_equal(target->page, other->page))
		return PKSM_DIFFERENT;
	/* Both may have changed since they were hashed: the node would never be found. */
	*blame = false;
	if (pksm_content_hash(target->page) != node->hash)
		return PKSM_DIFFERENT;
	*blame = true;
	/* Reclaim frees a clean page without a dirty entry: this one must be written. */
	folio_mark_accessed(folio);
	folio_mark_dirty(folio);
	result = replace(other, folio, node);
	return result == PKSM_MERGED ? PKSM_PAIRED : result;
}
