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
#include <linux/pagemap.h>

#include "counter.h"
#include "item.h"
#include "node.h"
#include "shard.h"
#include "stable.h"
#include "trees.h"
#include "tunable.h"

/* Nodes looked at before others get the lock. */
#define LOOKS	1024

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

static int compare(const void *hash, const struct rb_node *rb)
{
	u64 key = *(const u64 *)hash, here = rb_entry(rb, struct pksm_node, rb)->hash;

	return key < here ? -1 : key > here;
}

static bool before(struct rb_node *rb, const struct rb_node *other)
{
	return rb_entry(rb, struct pksm_node, rb)->hash <
	       rb_entry(other, struct pksm_node, rb)->hash;
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
	return rb_entry_safe(rb_find(&hash, root, compare), struct pksm_node, rb);
}

/*
 * The frame of a node that can be joined, with a reference, or NULL. A node without
 * sharers is about to die, unless children that were not visited yet map it: a second
 * node beside it would stay when they are.
 */
static struct folio *joinable(struct pksm_node *node)
{
	int sharers = READ_ONCE(node->sharers);
	struct folio *folio;

	if (sharers >= READ_ONCE(pksm_tunables.max_page_sharing))
		return NULL;
	folio = pksm_node_folio_get(node);
	if (folio && !sharers && !folio_mapped(folio)) {
		folio_put(folio);
		folio = NULL;
	}
	return folio;
}

static struct pksm_node *next_copy(struct pksm_node *node)
{
	return list_next_entry(node, copy);
}

/*
 * Look at one node, and take it if it has room and is not to be passed over. Returns
 * false when it has none.
 */
static bool has_room(struct pksm_node *node, unsigned int *skip, struct pksm_match *match)
{
	struct folio *folio = joinable(node);

	if (!folio)
		return false;
	if (*skip) {
		folio_put(folio);
		(*skip)--;
	} else {
		match->node = node;
		match->folio = folio;
	}
	return true;
}

/* A copy has no room: it goes to the others that have none, to the end of the ring. */
static void close(struct pksm_node *first, struct pksm_node *copy)
{
	copy->closed = true;
	if (first->copies == copy)
		first->copies = next_copy(copy);
	else
		list_move_tail(&copy->copy, &first->copies->copy);
}

/**
 * pksm_stable_match() - a node of a hash that has room and a frame
 * @root: the tree
 * @hash: of the content
 * @skip: nodes with room to be passed over
 * @match: node and folio are set, or more: there are copies that were not looked at
 *
 * A copy without room is not looked at again until it has some (pksm_stable_renew()),
 * so the next lookup goes on where this one ends; and where all copies are full, that
 * is seen at once.
 * Context: shard lock held, inside the gate.
 */
void pksm_stable_match(struct rb_root *root, u64 hash, unsigned int skip,
		       struct pksm_match *match)
{
	struct pksm_node *first = pksm_stable_find(root, hash), *copy, *next;
	unsigned int i, passed = 0;

	if (!first)
		return;
	has_room(first, &skip, match);
	copy = first->copies;
	for (i = 0; copy && !copy->closed && !match->node; i++, copy = next) {
		if (passed && copy == first->copies)
			return;
		match->more = i == PKSM_EQUAL_MAX;
		if (match->more)
			return;
		next = next_copy(copy);
		if (has_room(copy, &skip, match))
			passed++;
		else
			close(first, copy);
	}
}

static void copies_count(const struct pksm_node *first, long sign)
{
	bool only = first->copies && list_empty(&first->copies->copy);

	pksm_count_add(PKSM_COUNT_CHAINS, only ? sign : 0);
	pksm_count_add(PKSM_COUNT_DUPS, only ? 2 * sign : sign);
}

static void insert(struct pksm_node *node, s16 nid)
{
	struct rb_root *root = &pksm_trees_at(pksm_trees_index(node->hash), nid)->stable;
	struct pksm_node *first = pksm_stable_find(root, node->hash);

	node->nid = nid;
	node->copies = NULL;
	node->is_copy = first;
	node->closed = false;
	if (first) {
		INIT_LIST_HEAD(&node->copy);
		if (first->copies)
			list_add_tail(&node->copy, &first->copies->copy);
		first->copies = node;
		copies_count(first, 1);
		return;
	}
	rb_add(&node->rb, root, before);
}

/* Take a copy out of the ring; returns where the ring goes on, NULL when it is empty. */
static struct pksm_node *unring(struct pksm_node *copy)
{
	struct pksm_node *next = list_empty(&copy->copy) ? NULL : next_copy(copy);

	list_del(&copy->copy);
	return next;
}

static void erase(struct pksm_node *node)
{
	struct rb_root *root = &pksm_trees_at(pksm_trees_index(node->hash), node->nid)->stable;
	struct pksm_node *first, *heir, *rest;

	lockdep_assert_held(pksm_stable_lock(node));
	first = node->is_copy ? pksm_stable_find(root, node->hash) : node;
	if (first->copies)
		copies_count(first, -1);
	if (node->is_copy) {
		rest = unring(node);
		if (first->copies == node)
			first->copies = rest;
		return;
	}
	if (!node->copies) {
		rb_erase(&node->rb, root);
		return;
	}
	heir = node->copies;
	heir->copies = unring(heir);
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
 * pksm_stable_renew() - a node has room again
 * @node: the node
 * @root: the tree that it is in
 *
 * The next lookup looks at it before all other copies.
 * Context: shard lock of the node held.
 */
void pksm_stable_renew(struct pksm_node *node, struct rb_root *root)
{
	struct pksm_node *first;

	lockdep_assert_held(pksm_stable_lock(node));
	if (!node->is_copy)
		return;
	first = pksm_stable_find(root, node->hash);
	if (first->copies != node)
		list_move_tail(&node->copy, &first->copies->copy);
	first->copies = node;
	node->closed = false;
}

static void forget(struct pksm_node *node, unsigned long start, unsigned long end)
{
	if (node->pfn >= start && node->pfn < end)
		WRITE_ONCE(node->pfn, PKSM_NODE_NO_PFN);
}

/* The node of the smallest hash that is not below @hash. */
static struct pksm_node *from(struct rb_root *root, u64 hash)
{
	struct pksm_node *best = NULL, *node;
	struct rb_node *at = root->rb_node;

	while (at) {
		node = rb_entry(at, struct pksm_node, rb);
		if (node->hash >= hash)
			best = node;
		at = node->hash < hash ? at->rb_right : at->rb_left;
	}
	return best;
}

static void forget_in(unsigned int index, s16 nid, unsigned long start, unsigned long end)
{
	struct rb_root *root = &pksm_trees_at(index, nid)->stable;
	spinlock_t *lock = pksm_trees_lock(index);
	struct pksm_node *node, *copy;
	unsigned int looks = 0;
	u64 hash = 0;

	spin_lock(lock);
	while ((node = from(root, hash))) {
		forget(node, start, end);
		copy = node->copies;
		for (; copy; copy = next_copy(copy) == node->copies ? NULL : next_copy(copy))
			forget(copy, start, end);
		hash = node->hash + 1;
		if (!hash)
			break;
		if (++looks % LOOKS)
			continue;
		spin_unlock(lock);
		cond_resched();
		spin_lock(lock);
	}
	spin_unlock(lock);
}

/**
 * pksm_stable_forget() - frames have gone offline
 * @start: first frame number
 * @end: one behind the last
 *
 * A node that still names such a frame must not look at its struct page again.
 * Context: process, gate shut by hot-remove; sleeps.
 */
void pksm_stable_forget(unsigned long start, unsigned long end)
{
	unsigned int i;

	for (i = 0; i < PKSM_TREES * nr_node_ids; i++)
		forget_in(i % PKSM_TREES, i / PKSM_TREES, start, end);
}
