// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stable trees: merged pages by content hash, and the copies of those that have
 * reached the limit of sharers.
 *
 * Entered by lookups and publishing (shard.c), by those who make or end merged pages, by
 * migration and by hot-remove. Owns no lock: the shard locks (trees.c) cover the
 * trees and the lists of copies.
 */
#include <linux/mm.h>
#include <linux/nodemask.h>

#include "counter.h"
#include "item.h"
#include "node.h"
#include "stable.h"
#include "trees.h"
#include "tunable.h"

/**
 * pksm_stable_lock() - the lock of a node's place in the trees
 * @node: a node
 *
 * Return: the lock; always the same.
 */
spinlock_t *pksm_stable_lock(const struct pksm_node *node)
{
	return pksm_trees_lock(pksm_trees_index(node->hash));
}

/**
 * pksm_stable_find() - the node of a hash that is in the tree
 * @root: the tree
 * @hash: of the content
 *
 * Context: shard lock held.
 * Return: the node, whatever its state; its copies hang off it; or NULL.
 */
struct pksm_node *pksm_stable_find(struct rb_root *root, u64 hash)
{
	struct rb_node *at = root->rb_node;

	while (at) {
		struct pksm_node *node = rb_entry(at, struct pksm_node, rb);

		if (node->hash == hash)
			return node;
		at = node->hash < hash ? at->rb_right : at->rb_left;
	}
	return NULL;
}

static bool has_room(const struct pksm_node *node)
{
	int sharers = READ_ONCE(node->sharers);

	/* A node without sharers is about to die; nothing is won by joining it. */
	return sharers && sharers < READ_ONCE(pksm_tunables.max_page_sharing);
}

/**
 * pksm_stable_match() - the first node of a hash that has room and a frame
 * @root: the tree
 * @hash: of the content
 * @skip: nodes with room to be passed over
 * @folio: set to the frame, with a reference
 *
 * Full copies go behind those not yet looked at, so that lookups do not meet the
 * same ones again and again.
 * Context: shard lock held, inside the gate.
 * Return: the node, or NULL.
 */
struct pksm_node *pksm_stable_match(struct rb_root *root, u64 hash,
				    unsigned int skip, struct folio **folio)
{
	struct pksm_node *node = pksm_stable_find(root, hash), *first = node;
	struct hlist_node *at, *next;
	HLIST_HEAD(full);
	unsigned int i;

	at = first ? first->copies.first : NULL;
	for (i = 0; node; i++) {
		bool room = has_room(node);

		if (room && !skip) {
			*folio = pksm_node_folio_get(node);
			if (*folio)
				break;
		} else if (room) {
			skip--;
		}
		if (node != first) {
			next = at->next;
			if (!room) {
				hlist_del(at);
				hlist_add_head(at, &full);
			}
			at = next;
		}
		node = at && i < PKSM_EQUAL_MAX ? hlist_entry(at, struct pksm_node, copy) : NULL;
	}
	while (full.first) {
		next = full.first;
		hlist_del(next);
		if (at)
			hlist_add_behind(next, at);
		else
			hlist_add_head(next, &first->copies);
	}
	return node;
}

static void copies_count(const struct pksm_node *first, long sign)
{
	bool only = first->copies.first && !first->copies.first->next;

	pksm_count_add(PKSM_COUNT_CHAINS, only ? sign : 0);
	pksm_count_add(PKSM_COUNT_DUPS, only ? 2 * sign : sign);
}

static void insert(struct pksm_node *node, s16 nid)
{
	struct rb_root *root = &pksm_trees_at(pksm_trees_index(node->hash), nid)->stable;
	struct pksm_node *first = pksm_stable_find(root, node->hash);
	struct rb_node **link = &root->rb_node, *parent = NULL;

	node->nid = nid;
	INIT_HLIST_HEAD(&node->copies);
	node->is_copy = first;
	if (first) {
		hlist_add_head(&node->copy, &first->copies);
		copies_count(first, 1);
		return;
	}
	while (*link) {
		parent = *link;
		if (node->hash < rb_entry(parent, struct pksm_node, rb)->hash)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&node->rb, parent, link);
	rb_insert_color(&node->rb, root);
}

static void erase(struct pksm_node *node)
{
	struct rb_root *root = &pksm_trees_at(pksm_trees_index(node->hash), node->nid)->stable;
	struct pksm_node *first, *heir;

	lockdep_assert_held(pksm_stable_lock(node));
	first = node->is_copy ? pksm_stable_find(root, node->hash) : node;
	if (first && !hlist_empty(&first->copies))
		copies_count(first, -1);
	if (node->is_copy) {
		hlist_del(&node->copy);
		return;
	}
	if (hlist_empty(&node->copies)) {
		rb_erase(&node->rb, root);
		return;
	}
	heir = hlist_entry(node->copies.first, struct pksm_node, copy);
	hlist_del(&heir->copy);
	hlist_move_list(&node->copies, &heir->copies);
	heir->is_copy = false;
	rb_replace_node(&node->rb, &heir->rb, root);
}

/**
 * pksm_stable_insert() - let a merged page be found
 * @node: its frame is locked and names it
 * @nid: NUMA node of its tree
 *
 * Context: shard lock of the node held.
 */
void pksm_stable_insert(struct pksm_node *node, s16 nid)
{
	lockdep_assert_held(pksm_stable_lock(node));
	insert(node, nid);
}

/**
 * pksm_stable_erase() - take a node out of its tree
 * @node: no folio names it any more, or its folio is locked
 *
 * Context: shard lock of the node held.
 */
void pksm_stable_erase(struct pksm_node *node)
{
	erase(node);
}

/**
 * pksm_stable_move() - a merged page has moved to another NUMA node
 * @node: its frame is locked
 * @nid: where the frame is now
 *
 * Nothing changes while merging across nodes is allowed: all trees are node 0's.
 */
void pksm_stable_move(struct pksm_node *node, s16 nid)
{
	spinlock_t *lock = pksm_stable_lock(node);

	if (READ_ONCE(pksm_tunables.merge_across_nodes))
		return;
	spin_lock(lock);
	if (node->nid != nid) {
		erase(node);
		insert(node, nid);
	}
	spin_unlock(lock);
}

static void forget(struct pksm_node *node, unsigned long start, unsigned long end)
{
	if (node->pfn >= start && node->pfn < end)
		WRITE_ONCE(node->pfn, PKSM_NODE_NO_PFN);
}

/**
 * pksm_stable_forget() - frames have gone offline
 * @start: first frame number
 * @end: one behind the last
 *
 * A node that still names such a frame must not look at its struct page again.
 * Context: process, gate shut by hot-remove.
 */
void pksm_stable_forget(unsigned long start, unsigned long end)
{
	struct pksm_node *node, *copy;
	struct rb_node *at;
	unsigned int i;

	for (i = 0; i < PKSM_TREES * nr_node_ids; i++) {
		spinlock_t *lock = pksm_trees_lock(i % PKSM_TREES);

		spin_lock(lock);
		at = rb_first(&pksm_trees_at(i % PKSM_TREES, i / PKSM_TREES)->stable);
		for (; at; at = rb_next(at)) {
			node = rb_entry(at, struct pksm_node, rb);
			forget(node, start, end);
			hlist_for_each_entry(copy, &node->copies, copy)
				forget(copy, start, end);
		}
		spin_unlock(lock);
		cond_resched();
	}
}
