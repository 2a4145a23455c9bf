// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stable nodes: their life and the keyhole through which they look at their
 * frame.
 *
 * Entered by workers, the reaper and the controller, inside the gate: looking at
 * a frame touches its struct page, which hot-remove would take away otherwise.
 * The lock here covers the way of the number of nodes between none and one,
 * where the module's reference is taken and dropped.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "counter.h"
#include "memory.h"
#include "node.h"

static struct kmem_cache *cache;
static DEFINE_SPINLOCK(edge);
static atomic_long_t nodes;

/*
 * One module reference stands for all nodes: a merged page's mapping leads into
 * this module, so it must stay, but a reference for each node would be a counter
 * that all workers write.
 */
static bool count_up(void)
{
	bool ok = true;

	if (atomic_long_inc_not_zero(&nodes))
		return true;
	spin_lock(&edge);
	if (!atomic_long_read(&nodes))
		ok = try_module_get(THIS_MODULE);
	if (ok)
		atomic_long_inc(&nodes);
	spin_unlock(&edge);
	return ok;
}

static void count_down(void)
{
	if (atomic_long_add_unless(&nodes, -1, 1))
		return;
	spin_lock(&edge);
	if (atomic_long_dec_and_test(&nodes))
		module_put(THIS_MODULE);
	spin_unlock(&edge);
}

/**
 * pksm_node_alloc() - make a stable node for a page that is to be merged
 * @hash: of its content
 *
 * Context: any that may be preempted; does not sleep (memory.h).
 * Return: NULL without memory, and once the module is being removed.
 */
struct pksm_node *pksm_node_alloc(u64 hash)
{
	struct pksm_node *node;

	node = kmem_cache_zalloc(cache, PKSM_GFP);
	if (!node)
		return NULL;
	if (!count_up()) {
		kmem_cache_free(cache, node);
		return NULL;
	}
	node->hash = hash;
	node->pfn = PKSM_NODE_NO_PFN;
	pksm_count_add(PKSM_COUNT_BYTES, sizeof(*node));
	return node;
}

/**
 * pksm_node_free() - free a node that nobody can find any more
 * @node: without items, in no tree, named by no folio
 */
void pksm_node_free(struct pksm_node *node)
{
	if (WARN_ON_ONCE(!hlist_empty(&node->items)))
		return;
	pksm_count_add(PKSM_COUNT_BYTES, -(long)sizeof(*node));
	kmem_cache_free(cache, node);
	count_down();
}

/**
 * pksm_node_count() - how many nodes exist
 *
 * Return: their number; while it is not zero the module stays.
 */
long pksm_node_count(void)
{
	return atomic_long_read(&nodes);
}

/**
 * pksm_node_is_of() - does a folio still belong to a node?
 * @node: a node that cannot be freed
 * @folio: a reference is held
 *
 * Return: true, and it stays true as long as the folio is locked.
 */
bool pksm_node_is_of(struct pksm_node *node, const struct folio *folio)
{
	return READ_ONCE(folio->mapping) == pksm_node_mapping(node);
}

/**
 * pksm_node_folio_get() - look through the keyhole
 * @node: cannot be freed: its shard lock is held, or an item on it is ours
 *
 * A node holds no reference to its frame, or reclaim could not free it without
 * us. Whether the frame still belongs to the node is written in the frame's
 * mapping, which nobody else fills with our address, and which is cleared before
 * the frame is free. Three things make that hard: the frame may be migrating
 * (the mapping of the new frame is set first, then @pfn, then the old mapping is
 * cleared: pksm_rmap_migrate()), its count may be frozen at zero while it stays
 * ours (in the swap cache; mm/vmscan.c and mm/migrate.c of 6.12), and without
 * the folio lock migration may still take the node away after this has
 * returned.
 * Context: inside the gate; any lock may be held; does not sleep.
 * Return: the folio with a reference, or NULL when the frame is gone for good.
 */
struct folio *pksm_node_folio_get(struct pksm_node *node)
{
	struct folio *folio;
	unsigned long pfn;

	for (;;) {
		pfn = READ_ONCE(node->pfn);
		if (pfn == PKSM_NODE_NO_PFN)
			return NULL;
		folio = pfn_folio(pfn);
		if (pksm_node_is_of(node, folio)) {
			if (folio_try_get(folio)) {
				if (pksm_node_is_of(node, folio))
					return folio;
				folio_put(folio);
			} else if (folio_test_swapcache(folio)) {
				cpu_relax();
				continue;
			}
		}
		/* Pairs with smp_wmb() in pksm_rmap_migrate(). */
		smp_rmb();
		if (READ_ONCE(node->pfn) == pfn)
			return NULL;
	}
}

/**
 * pksm_node_folio_lock() - get and lock a node's frame
 * @node: an item on it is ours, so that it cannot be freed
 *
 * Context: inside the gate; sleeps for the folio lock; no shard lock held.
 * Return: the folio, locked, with a reference, belonging to @node; or NULL when
 * the frame is gone for good.
 */
struct folio *pksm_node_folio_lock(struct pksm_node *node)
{
	struct folio *folio;

	for (;;) {
		folio = pksm_node_folio_get(node);
		if (!folio)
			return NULL;
		folio_lock(folio);
		if (pksm_node_is_of(node, folio))
			return folio;
		/* It was migrated while the lock was waited for. */
		folio_unlock(folio);
		folio_put(folio);
	}
}

/**
 * pksm_node_init() - make the cache
 *
 * Return: 0 or -ENOMEM.
 */
int __init pksm_node_init(void)
{
	/* Unmerged, so that a leak is seen when the cache is destroyed. */
	cache = KMEM_CACHE(pksm_node, SLAB_NO_MERGE);
	return cache ? 0 : -ENOMEM;
}

/**
 * pksm_node_exit() - free the cache; no node exists
 */
void pksm_node_exit(void)
{
	kmem_cache_destroy(cache);
}
