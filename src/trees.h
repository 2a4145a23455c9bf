/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trees: the roots and the locks of the shards.
 */
#ifndef PKSM_TREES_H
#define PKSM_TREES_H

#include <linux/bits.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

#include "item.h"

#define PKSM_TREES	BIT(PKSM_ITEM_LOCK_BITS)

/*
 * How many entries of one hash a lookup looks at. Equal hashes are equal pages
 * or the work of an attacker; the bound keeps the second from being expensive.
 */
#define PKSM_EQUAL_MAX	8

/**
 * struct pksm_trees - the trees of one shard on one NUMA node
 * @stable: merged pages, &struct pksm_node
 * @unstable: pages waiting for their like, &struct pksm_item
 */
struct pksm_trees {
	struct rb_root stable;
	struct rb_root unstable;
};

static inline unsigned long pksm_trees_index(u64 hash)
{
	return hash >> (64 - PKSM_ITEM_LOCK_BITS);
}

spinlock_t *pksm_trees_lock(unsigned int index);
struct pksm_trees *pksm_trees_at(unsigned int index, s16 nid);
int pksm_trees_init(void);
void pksm_trees_exit(void);

#endif
