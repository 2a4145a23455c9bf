// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reverse map: what reclaim, migration and memory failure ask of a merged page.
 *
 * Entered by the rest of mm through the hooks, in its contexts, with the folio
 * locked; the folio lock covers the list of items. Takes the anon_vma lock of
 * each item, for reading, inside it. Owns no lock. Touches no record and no tree,
 * so it needs no gate.
 *
 * An item names one page index. Only the VMAs of its anon_vma that hold that very
 * index are visited: 20,000 VMAs on one anon_vma cost as much as one.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/rmap.h>
#include <linux/sched/signal.h>

#include "compat/mm.h"
#include "compat/symbol.h"
#include "item.h"
#include "node.h"
#include "rmap.h"
#include "shard.h"
#include "trace.h"

/* Returns false when the walk is over. */
static bool walk_item(struct folio *folio, struct rmap_walk_control *rwc,
		      const struct pksm_item *item)
{
	struct anon_vma *anon_vma = item->anon_vma;
	struct anon_vma_chain *vmac;
	bool more = true;

	if (!anon_vma_trylock_read(anon_vma)) {
		if (rwc->try_lock) {
			rwc->contended = true;
			return false;
		}
		anon_vma_lock_read(anon_vma);
	}
	pksm_mm_for_each_covering(vmac, anon_vma, item->index) {
		struct vm_area_struct *vma = vmac->vma;

		cond_resched();
		if (rwc->invalid_vma && rwc->invalid_vma(vma, rwc->arg))
			continue;
		if (!rwc->rmap_one(folio, vma, pksm_mm_address(vma, item->index), rwc->arg) ||
		    (rwc->done && rwc->done(folio))) {
			more = false;
			break;
		}
	}
	anon_vma_unlock_read(anon_vma);
	return more;
}

/**
 * pksm_rmap_walk() - visit every mapping of a merged page
 * @folio: locked, merged
 * @rwc: what to do there; see include/linux/rmap.h of the kernel
 *
 * Processes forked from the owner of an item are in its anon_vma too, so those
 * that have no item of their own yet are found.
 * Context: process; sleeps for anon_vma locks unless @rwc says to try.
 */
void pksm_rmap_walk(struct folio *folio, struct rmap_walk_control *rwc)
{
	struct pksm_node *node = pksm_node_of(folio);
	struct pksm_item *item;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (!node)
		return;
	hlist_for_each_entry(item, &node->items, link) {
		cond_resched();
		if (!walk_item(folio, rwc, item))
			return;
	}
}

/**
 * pksm_rmap_migrate() - a merged page moves to another frame
 * @newfolio: the new frame, locked, its mapping set already
 * @folio: the old one, locked
 *
 * Context: process; does not sleep.
 */
void pksm_rmap_migrate(struct folio *newfolio, struct folio *folio)
{
	struct pksm_node *node = pksm_node_of(folio);

	if (!node)
		return;
	trace_pksm_node_migrate(folio_pfn(folio), folio_pfn(newfolio));
	WRITE_ONCE(node->pfn, folio_pfn(newfolio));
	/*
	 * Pairs with smp_rmb() in pksm_node_folio_get(): who finds the old frame
	 * without its key must find the new frame number.
	 */
	smp_wmb();
	WRITE_ONCE(folio->mapping, (void *)PAGE_MAPPING_KSM);
	pksm_shard_move(node, folio_nid(newfolio));
}

#ifdef CONFIG_MEMORY_FAILURE
static void collect_item(const struct pksm_item *item, struct page *page,
			 struct list_head *to_kill, int force_early)
{
	struct anon_vma *anon_vma = item->anon_vma;
	struct anon_vma_chain *vmac;
	struct task_struct *tsk, *victim;

	anon_vma_lock_read(anon_vma);
	rcu_read_lock();
	for_each_process(tsk) {
		victim = task_early_kill(tsk, force_early);
		if (!victim)
			continue;
		pksm_mm_for_each_covering(vmac, anon_vma, item->index) {
			struct vm_area_struct *vma = vmac->vma;

			if (vma->vm_mm == victim->mm)
				add_to_kill_ksm(victim, page, vma, to_kill,
						pksm_mm_address(vma, item->index));
		}
	}
	rcu_read_unlock();
	anon_vma_unlock_read(anon_vma);
}

/**
 * pksm_rmap_collect() - whom a memory error in a merged page concerns
 * @folio: locked, merged
 * @page: its page that failed
 * @to_kill: processes are added to this list
 * @force_early: find those too that did not ask to be told early
 *
 * Context: process; sleeps for anon_vma locks.
 */
void pksm_rmap_collect(struct folio *folio, struct page *page, struct list_head *to_kill,
		       int force_early)
{
	struct pksm_node *node = pksm_node_of(folio);
	struct pksm_item *item;

	if (!node)
		return;
	hlist_for_each_entry(item, &node->items, link)
		collect_item(item, page, to_kill, force_early);
}
#endif
