/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shards: finding equal content.
 */
#ifndef PKSM_SHARD_H
#define PKSM_SHARD_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct folio;
struct page;
struct pksm_item;
struct pksm_node;

/**
 * struct pksm_query - what is looked for
 * @nid: NUMA node of the trees to look in
 * @pfn: low bits of the frame of the page that looks
 * @skip: stable nodes that are to be passed over, because their bytes were seen to
 *	differ
 * @flagged: take unstable items too that have to be looked up afresh themselves
 */
struct pksm_query {
	s16 nid;
	u32 pfn;
	unsigned int skip;
	bool flagged;
};

/**
 * struct pksm_match - what a lookup found
 * @node: a stable node of equal hash; to be dereferenced only once @folio is
 *	locked and still belongs to it
 * @folio: its frame, with a reference; NULL when there is no such node
 * @other: an unstable item of equal hash, claimed, its space referenced; or NULL
 * @busy: somebody is making a merged page of this hash just now: come back
 * @more: there are others that were not looked at
 */
struct pksm_match {
	struct pksm_node *node;
	struct folio *folio;
	struct pksm_item *other;
	bool busy;
	bool more;
};

/**
 * struct pksm_peek - what an item says of its page
 * @hash: of the content
 * @nid: NUMA node of its tree
 * @pfn: low bits of the frame for which nothing equal was found
 */
struct pksm_peek {
	u64 hash;
	s16 nid;
	u32 pfn;
};

spinlock_t *pksm_shard_item_lock(const struct pksm_item *item);

void pksm_shard_hash_set(struct pksm_item *item, u64 hash);
void pksm_shard_adopt(struct pksm_item *item, const struct pksm_node *node);
unsigned long pksm_shard_peek(const struct pksm_item *item, struct pksm_peek *peek);
bool pksm_shard_lookup(struct pksm_item *item, const struct pksm_query *query,
		       struct pksm_match *match);
bool pksm_shard_unclaim(struct pksm_item *item, bool flag);
void pksm_shard_settle(struct pksm_item *item);
unsigned long pksm_shard_disown(struct pksm_item *item);

bool pksm_shard_publish(struct pksm_node *node, s16 nid, struct pksm_item *other,
			struct folio *folio, struct anon_vma *anon_vma, unsigned long index);
void pksm_shard_renew(struct pksm_node *node);
void pksm_shard_move(struct pksm_node *node, s16 nid);

#endif
