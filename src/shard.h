/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shards: finding equal content.
 */
#ifndef PKSM_SHARD_H
#define PKSM_SHARD_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct folio;
struct pksm_item;
struct pksm_node;

/**
 * struct pksm_match - what a lookup found
 * @node: a stable node of equal hash; to be dereferenced only once @folio is
 *	locked and still belongs to it
 * @folio: its frame, with a reference; NULL when there is no such node
 * @other: an unstable item of equal hash, claimed, its space referenced; or NULL
 */
struct pksm_match {
	struct pksm_node *node;
	struct folio *folio;
	struct pksm_item *other;
};

spinlock_t *pksm_shard_item_lock(const struct pksm_item *item);

bool pksm_shard_hash_set(struct pksm_item *item, u64 hash);
void pksm_shard_adopt(struct pksm_item *item, const struct pksm_node *node);
unsigned long pksm_shard_touch(struct pksm_item *item, s16 nid, bool smart, u64 *hash, bool *skip);
bool pksm_shard_lookup(struct pksm_item *item, s16 nid, unsigned int skip,
		       struct pksm_match *match);
bool pksm_shard_unclaim(struct pksm_item *item, bool flag);
bool pksm_shard_settle(struct pksm_item *item);
unsigned long pksm_shard_disown(struct pksm_item *item);

void pksm_shard_publish(struct pksm_node *node, s16 nid);
void pksm_shard_renew(struct pksm_node *node);
void pksm_shard_flag_all(void);

#endif
