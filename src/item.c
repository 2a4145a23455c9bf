// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items: their life, their place on a merged page's list, and orphans.
 *
 * The list of a merged page is how reclaim, migration and memory failure find
 * the processes that map it. It is covered by the lock of the folio; once the
 * frame is gone nobody but the owners of the items can reach the list, and the
 * shard lock covers it.
 *
 * An orphan is an item whose record went away while a child that was forked and not
 * yet visited maps the frame, and can be found only through the anon_vma of this
 * item. It stays on the list until the frame is gone or the child has an item.
 *
 * Entered by workers, the reaper and the controller, inside the gate. Owns the
 * orphans lock, which covers the list of them and nests inside everything.
 */
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat/mm.h"
#include "counter.h"
#include "gate.h"
#include "item.h"
#include "memory.h"
#include "node.h"
#include "shard.h"
#include "space.h"
#include "stable.h"
#include "trace.h"
#include "tunable.h"

static struct kmem_cache *cache;

static DEFINE_SPINLOCK(orphans_lock);
static struct pksm_item *orphans;

/* One sweep at a time: a sweep takes the whole list off and puts back what stays. */
static DEFINE_MUTEX(sweep_lock);
static void sweep_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweeper, sweep_work);
#define SWEEP_PERIOD	HZ

/* Items and VMAs looked at to find out whether an item is needed. */
#define NEEDED_STEPS	1024

/**
 * pksm_item_alloc() - make an item for a page
 * @space: the page's space
 * @addr: its address
 *
 * Context: any that may be preempted; does not sleep (memory.h).
 * Return: a fresh item, or NULL.
 */
struct pksm_item *pksm_item_alloc(struct pksm_mm *space, unsigned long addr)
{
	struct pksm_item *item = pksm_memory_object(cache);

	if (!item)
		return NULL;
	item->space = space;
	item->word = addr & PAGE_MASK;
	pksm_space_bytes_add(space, sizeof(*item));
	return item;
}

/**
 * pksm_item_free() - free an item that is in no tree and on no list
 * @item: the item; its space is still referenced, or is the reaper's
 */
void pksm_item_free(struct pksm_item *item)
{
	pksm_space_bytes_add(item->space, -(long)sizeof(*item));
	kmem_cache_free(cache, item);
}

/**
 * pksm_item_attach() - an item maps a merged page
 * @item: fresh, or claimed by the caller
 * @node: of the page
 * @folio: the page, locked, belonging to @node
 * @anon_vma: of the mapping, a reference goes over to the item
 * @index: linear page index of the mapping at this moment, under its VMA's lock
 *
 * Context: folio lock held. The state is set afterwards, by pksm_shard_settle()
 * for a claimed item: until then only the caller acts on it.
 */
void pksm_item_attach(struct pksm_item *item, struct pksm_node *node,
		      struct folio *folio, struct anon_vma *anon_vma,
		      unsigned long index)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	/* Pairs with smp_rmb() in pksm_shard_peek(): claimed, and then written over. */
	smp_wmb();
	item->node = node;
	item->anon_vma = anon_vma;
	item->index = index;
	hlist_add_head(&item->link, &node->items);
	WRITE_ONCE(node->sharers, node->sharers + 1);
	if (node->sharers == 1)
		pksm_count_add(PKSM_COUNT_NODES, 1);
	pksm_count_add(PKSM_COUNT_STABLE, 1);
	pksm_mm_merging_add(item->space->mm, 1);
}

static void uncount(struct pksm_item *item)
{
	struct pksm_node *node = item->node;

	WRITE_ONCE(node->sharers, node->sharers - 1);
	if (!node->sharers)
		pksm_count_add(PKSM_COUNT_NODES, -1);
	pksm_count_add(PKSM_COUNT_STABLE, -1);
	pksm_mm_merging_add(item->space->mm, -1);
	trace_pksm_item_detach(item->space->mm, pksm_item_addr(item), node->pfn);
}

/* Lookups have passed the node over while it was full. */
static void renew(struct pksm_node *node)
{
	if (node->sharers + 1 == READ_ONCE(pksm_tunables.max_page_sharing))
		pksm_shard_renew(node);
}

/*
 * Take @item off its list; the caller holds what covers it. Returns the node when
 * that was the last item and nothing maps the frame: out of its tree, to be freed.
 */
static struct pksm_node *unlink(struct pksm_item *item, struct folio *folio)
{
	struct pksm_node *node = item->node;
	spinlock_t *lock = pksm_stable_lock(node);

	if (!folio)
		lockdep_assert_held(lock);
	hlist_del(&item->link);
	if (!hlist_empty(&node->items))
		return NULL;
	if (!folio) {
		pksm_stable_erase(node);
		return node;
	}
	/* Whoever meets the frame from now on, in the swap cache say, finds no node. */
	WRITE_ONCE(folio->mapping, (void *)PAGE_MAPPING_KSM);
	spin_lock(lock);
	pksm_stable_erase(node);
	spin_unlock(lock);
	return node;
}

/* Under the folio lock: whoever looks at the list sees its space, or none. */
static void orphan(struct pksm_item *item)
{
	atomic_long_sub(sizeof(*item), &item->space->bytes);
	WRITE_ONCE(item->space, NULL);
	spin_lock(&orphans_lock);
	item->orphan = orphans;
	orphans = item;
	spin_unlock(&orphans_lock);
	schedule_delayed_work(&sweeper, SWEEP_PERIOD);
}

/* Is the mapping of @mm at the item's index found through another item? */
static bool covered(const struct pksm_item *item, const struct mm_struct *mm,
		    unsigned int *steps)
{
	struct pksm_item *other;

	hlist_for_each_entry(other, &item->node->items, link) {
		if (++*steps > NEEDED_STEPS)
			return false;
		if (other == item || other->index != item->index)
			continue;
		if (other->anon_vma == item->anon_vma ||
		    (other->space && other->space->mm == mm))
			return true;
	}
	return false;
}

/*
 * Does somebody rely on this item, which is about to leave? The frame has to be
 * mapped more often than it has sharers, and a process other than the item's owner
 * has to be within its reach, and out of that of all others. When that takes too
 * long to find out, somebody does: a user decides how many there are.
 *
 * An item whose owner has written to the page since its last visit counts as a
 * sharer still, so the first look may be wrong for as long as that visit takes: the
 * child is out of reach for migration, which fails then, until it is visited.
 */
static bool needed(const struct pksm_item *item, const struct folio *folio)
{
	const struct mm_struct *owner = item->space ? item->space->mm : NULL;
	struct anon_vma *anon_vma = item->anon_vma;
	struct anon_vma_chain *vmac;
	unsigned int steps = 0;
	bool found = false;

	if (folio_mapcount(folio) <= item->node->sharers)
		return false;
	anon_vma_lock_read(anon_vma);
	pksm_mm_for_each_covering(vmac, anon_vma, item->index) {
		const struct mm_struct *mm = vmac->vma->vm_mm;

		found = ++steps > NEEDED_STEPS || (mm != owner && !covered(item, mm, &steps));
		if (found)
			break;
	}
	anon_vma_unlock_read(anon_vma);
	return found;
}

/*
 * Take a stable item off its page. Returns false when it has to stay on the list: it
 * is an orphan now, or still. An orphan has been uncounted before.
 */
static bool detach(struct pksm_item *item)
{
	struct pksm_node *node = item->node, *dead = NULL;
	struct anon_vma *anon_vma = item->anon_vma;
	spinlock_t *lock = pksm_stable_lock(node);
	struct folio *folio = pksm_node_folio_lock(node);
	bool stays = false;

	if (folio) {
		if (item->space)
			uncount(item);
		renew(node);
		/* A mapped page keeps its node, and a node its last item. */
		stays = needed(item, folio) ||
			(folio_mapped(folio) &&
			 hlist_is_singular_node(&item->link, &node->items));
		if (!stays)
			dead = unlink(item, folio);
		else if (item->space)
			orphan(item);
		folio_unlock(folio);
		folio_put(folio);
	} else {
		spin_lock(lock);
		if (item->space)
			uncount(item);
		dead = unlink(item, NULL);
		spin_unlock(lock);
	}
	if (stays)
		return false;
	if (dead)
		pksm_node_free(dead);
	put_anon_vma(anon_vma);
	return true;
}

/**
 * pksm_item_drop() - the record of an item goes away
 * @item: of a page whose range the caller holds; not to be touched afterwards
 *
 * Context: inside the gate; sleeps for the lock of a merged page.
 */
void pksm_item_drop(struct pksm_item *item)
{
	unsigned long state = pksm_shard_disown(item);

	if (state & PKSM_ITEM_CLAIMED)
		return;
	if (!(state & PKSM_ITEM_STABLE) || detach(item))
		pksm_item_free(item);
}

/**
 * pksm_item_abandon() - an item that was attached has lost its record
 * @item: attached by the caller, not settled; not to be touched afterwards
 * @folio: the merged page, locked, with other items on its list
 *
 * The page stays mapped there; the next visit gives it another item.
 * Context: folio lock held.
 */
void pksm_item_abandon(struct pksm_item *item, struct folio *folio)
{
	struct anon_vma *anon_vma = item->anon_vma;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	uncount(item);
	renew(item->node);
	hlist_del(&item->link);
	put_anon_vma(anon_vma);
	pksm_item_free(item);
}

/**
 * pksm_item_orphans_sweep() - free the orphans that nobody relies on any more
 *
 * Context: inside the gate, when it stops early if the gate is to be shut; or with
 * the gate shut; sleeps.
 * Return: true when none is left.
 */
bool pksm_item_orphans_sweep(void)
{
	struct pksm_item *item, *next, *stay = NULL, *last = NULL;
	bool none;

	mutex_lock(&sweep_lock);
	spin_lock(&orphans_lock);
	item = orphans;
	orphans = NULL;
	spin_unlock(&orphans_lock);
	for (; item; item = next) {
		next = item->orphan;
		if (!pksm_gate_wanted() && detach(item)) {
			pksm_count_add(PKSM_COUNT_BYTES, -(long)sizeof(*item));
			kmem_cache_free(cache, item);
			continue;
		}
		item->orphan = stay;
		stay = item;
		if (!last)
			last = item;
		cond_resched();
	}
	spin_lock(&orphans_lock);
	if (stay) {
		last->orphan = orphans;
		orphans = stay;
	}
	none = !orphans;
	spin_unlock(&orphans_lock);
	mutex_unlock(&sweep_lock);
	return none;
}

static void sweep_work(struct work_struct *work)
{
	bool none;
	int idx;

	pksm_gate_enter_offline(&idx);
	none = pksm_item_orphans_sweep();
	pksm_gate_leave(idx);
	if (!none)
		schedule_delayed_work(&sweeper, SWEEP_PERIOD);
}

/**
 * pksm_item_init() - make the cache
 *
 * Return: 0 or -ENOMEM.
 */
int __init pksm_item_init(void)
{
	BUILD_BUG_ON(sizeof(struct pksm_item) != 56);
	BUILD_BUG_ON(BITS_PER_LONG != 64);
	/* Unmerged, so that a leak is seen when the cache is destroyed. */
	cache = KMEM_CACHE(pksm_item, SLAB_NO_MERGE);
	return cache ? 0 : -ENOMEM;
}

/**
 * pksm_item_exit() - stop the sweeper, free the cache; no item exists
 */
void pksm_item_exit(void)
{
	cancel_delayed_work_sync(&sweeper);
	kmem_cache_destroy(cache);
}
