// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees: the roots and the locks of the shards.
 *
 * Entered by shard.c and stable.c alone, which do what there is to do. Owns the
 * shard locks. One covers the two kinds of trees of its part of the hash space on
 * every NUMA node, the lists of copies, and the state of every item whose word
 * carries its index. A shard lock is a spinlock; it nests inside the folio lock of
 * a merged page; no other lock nests inside it, and two are never held.
 */
#include <linux/nodemask.h>
#include <linux/slab.h>

#include "trees.h"

static struct {
	spinlock_t lock;
} ____cacheline_aligned_in_smp shards[PKSM_TREES];

static struct pksm_trees *trees;

/**
 * pksm_trees_lock() - a shard's lock by its index
 * @index: below PKSM_TREES
 *
 * Return: the lock.
 */
spinlock_t *pksm_trees_lock(unsigned int index)
{
	return &shards[index].lock;
}

/**
 * pksm_trees_at() - a shard's trees
 * @index: of the shard
 * @nid: NUMA node; 0 while merging across nodes is allowed
 *
 * Return: its roots, to be touched under the shard's lock.
 */
struct pksm_trees *pksm_trees_at(unsigned int index, s16 nid)
{
	return &trees[nid * PKSM_TREES + index];
}

/**
 * pksm_trees_init() - make the trees
 *
 * Return: 0 or -ENOMEM.
 */
int __init pksm_trees_init(void)
{
	unsigned int i;

	trees = kvcalloc(PKSM_TREES * nr_node_ids, sizeof(*trees), GFP_KERNEL);
	if (!trees)
		return -ENOMEM;
	for (i = 0; i < PKSM_TREES; i++)
		spin_lock_init(&shards[i].lock);
	return 0;
}

/**
 * pksm_trees_exit() - free the trees; nothing is in them
 */
void pksm_trees_exit(void)
{
	kvfree(trees);
}
