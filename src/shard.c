// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shards: the trees that find equal content.
 *
 * The hash space is cut into as many parts as there are locks; each part has a
 * stable and an unstable tree for each NUMA node (all use node 0's while merging
 * across nodes is allowed). A walk down a tree compares integers: it touches no
 * page and takes no lock but the shard's, so neither a busy process nor pages
 * alike but for their last bytes make it longer.
 *
 * Entered by workers, the reaper, the controller, and migration (through
 * pksm_shard_node_move()). Owns the shard locks. One covers the two kinds of
 * trees of its part on every node, the lists of copies, and the state of every
 * item whose word carries its index. A shard lock is a spinlock; it nests inside
 * the folio lock of a merged page; no other lock nests inside it, and two are
 * never held.
 */
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/slab.h>

#include "counter.h"
#include "item.h"
#include "node.h"
#include "shard.h"
#include "space.h"
#include "tunable.h"

#define SHARDS		(1U << PKSM_ITEM_LOCK_BITS)

/*
 * How many entries of one hash a lookup looks at. Equal hashes are equal pages
 * or the work of an attacker; the bound keeps the second from being expensive.
 */
#define EQUAL_MAX	8

struct trees {
	struct rb_root stable;
	struct rb_root unstable;
};

static struct {
	spinlock_t lock;
} ____cacheline_aligned_in_smp shards[SHARDS];

static struct trees *trees;

static unsigned int lock_of(u64 hash)
{
	return hash >> (64 - PKSM_ITEM_LOCK_BITS);
}

static struct trees *trees_of(unsigned int lock, s16 nid)
{
	return &trees[nid * SHARDS + lock];
}

/**
 * pksm_shard_item_lock() - the lock of an item's state
 * @item: any item
 */
spinlock_t *pksm_shard_item_lock(const struct pksm_item *item)
{
	return &shards[pksm_item_lock_index(item)].lock;
}

/**
 * pksm_shard_node_lock() - the lock of a node's place in the trees
 * @node: a node
 */
spinlock_t *pksm_shard_node_lock(const struct pksm_node *node)
{
	return &shards[lock_of(node->hash)].lock;
}

static void set_state(struct pksm_item *item, unsigned long state)
{
	lockdep_assert_held(pksm_shard_item_lock(item));
	WRITE_ONCE(item->word, (item->word & ~PKSM_ITEM_STATE) | state);
}

static void unstable_insert(struct pksm_item *item, unsigned long flag)
{
	struct rb_root *root = &trees_of(pksm_item_lock_index(item), item->nid)->unstable;
	struct rb_node **link = &root->rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (item->hash < rb_entry(parent, struct pksm_item, rb)->hash)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&item->rb, parent, link);
	rb_insert_color(&item->rb, root);
	set_state(item, PKSM_ITEM_UNSTABLE | flag);
	pksm_count_add(PKSM_COUNT_UNSTABLE, 1);
}

static void unstable_erase(struct pksm_item *item, unsigned long state)
{
	rb_erase(&item->rb, &trees_of(pksm_item_lock_index(item), item->nid)->unstable);
	set_state(item, state);
	pksm_count_add(PKSM_COUNT_UNSTABLE, -1);
}

/* The first of the entries that have this hash. */
static struct rb_node *unstable_first(struct rb_root *root, u64 hash)
{
	struct rb_node *at = root->rb_node, *first = NULL;

	while (at) {
		u64 here = rb_entry(at, struct pksm_item, rb)->hash;

		if (here == hash)
			first = at;
		at = here < hash ? at->rb_right : at->rb_left;
	}
	return first;
}

static struct pksm_item *unstable_claim(struct rb_root *root, u64 hash)
{
	struct rb_node *at = unstable_first(root, hash);
	unsigned int i;

	for (i = 0; at && i < EQUAL_MAX; i++, at = rb_next(at)) {
		struct pksm_item *item = rb_entry(at, struct pksm_item, rb);

		if (item->hash != hash)
			break;
		if (pksm_item_state(item) & PKSM_ITEM_FLAGGED)
			continue;
		if (!pksm_space_get(item->space))
			continue;
		unstable_erase(item, PKSM_ITEM_CLAIMED);
		return item;
	}
	return NULL;
}

static struct pksm_node *stable_find(struct rb_root *root, u64 hash)
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

/*
 * The first node of this hash that has room and a frame. Full copies go behind
 * those not yet looked at, so that lookups do not meet the same ones again and
 * again.
 */
static struct pksm_node *stable_match(struct rb_root *root, u64 hash,
				      unsigned int skip, struct folio **folio)
{
	struct pksm_node *node = stable_find(root, hash), *first = node;
	struct hlist_node *at, *next;
	HLIST_HEAD(full);
	unsigned int i;

	at = first ? first->copies.first : NULL;
	for (i = 0; node; i++) {
		if (has_room(node) && !skip) {
			*folio = pksm_node_folio_get(node);
			if (*folio)
				break;
		} else if (has_room(node)) {
			skip--;
		}
		if (node != first) {
			next = at->next;
			if (!has_room(node)) {
				hlist_del(at);
				hlist_add_head(at, &full);
			}
			at = next;
		}
		node = at && i < EQUAL_MAX ? hlist_entry(at, struct pksm_node, copy) : NULL;
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

/**
 * pksm_shard_hash_set() - give an item the hash of its page's content
 * @item: of a page whose range the caller holds
 * @hash: of the content
 *
 * Takes the item out of the unstable tree if it was there under another hash.
 * Return: false when a claimer has it; then nothing changed.
 */
bool pksm_shard_hash_set(struct pksm_item *item, u64 hash)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	unsigned long state, word;

	spin_lock(lock);
	state = pksm_item_state(item);
	if (state & (PKSM_ITEM_CLAIMED | PKSM_ITEM_STABLE)) {
		spin_unlock(lock);
		return false;
	}
	if (state & PKSM_ITEM_UNSTABLE)
		unstable_erase(item, 0);
	/* Out of the tree nobody else knows the item: its lock may change. */
	word = item->word & PAGE_MASK;
	WRITE_ONCE(item->word, word | (lock_of(hash) << PKSM_ITEM_LOCK_SHIFT));
	item->hash = hash;
	spin_unlock(lock);
	return true;
}

/**
 * pksm_shard_adopt() - make a fresh item ready for a merged page's list
 * @item: fresh, known to the caller alone
 * @node: of the page, whose folio is locked
 */
void pksm_shard_adopt(struct pksm_item *item, const struct pksm_node *node)
{
	WRITE_ONCE(item->word, (item->word & PAGE_MASK) | PKSM_ITEM_STABLE |
		   (lock_of(node->hash) << PKSM_ITEM_LOCK_SHIFT));
}

/**
 * pksm_shard_skip() - is a page to be skipped by age on this visit?
 * @age: visits in vain so far; counted up
 * @skips: visits still to be skipped; counted down
 *
 * The first visits are never skipped, so that a page can go through all steps;
 * then ever more are, up to eight in a row.
 * Return: true when it is.
 */
bool pksm_shard_skip(u8 *age, u8 *skips)
{
	u8 old = *age;

	if (old != U8_MAX)
		*age = old + 1;
	if (old < 3)
		return false;
	if (*skips) {
		--*skips;
		return true;
	}
	*skips = old <= 3 ? 1 : old <= 5 ? 2 : old <= 8 ? 4 : 8;
	return false;
}

/**
 * pksm_shard_touch() - visit an item
 * @item: of a page whose range the caller holds
 * @smart: skip by age
 * @hash: set to its hash, unless it is stable
 * @skip: set when the page is to be skipped
 *
 * Age and hash share their place with what a claimer writes, so they are looked
 * at under the lock.
 * Return: its state.
 */
unsigned long pksm_shard_touch(struct pksm_item *item, bool smart, u64 *hash, bool *skip)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	unsigned long state;

	*skip = false;
	spin_lock(lock);
	state = pksm_item_state(item);
	if (!(state & (PKSM_ITEM_CLAIMED | PKSM_ITEM_STABLE))) {
		*hash = item->hash;
		if (smart)
			*skip = pksm_shard_skip(&item->age, &item->skips);
	}
	spin_unlock(lock);
	return state;
}

/**
 * pksm_shard_lookup() - find equal content, or let the item be found
 * @item: of a page whose range the caller holds, with its hash set
 * @nid: NUMA node of the trees to look in
 * @skip: stable nodes of this hash that are to be passed over, because their
 *	bytes were seen to differ
 * @match: filled in
 *
 * A stable node is preferred. When something was found, the item is claimed by
 * the caller, who ends that with pksm_shard_settle() or pksm_shard_unclaim().
 * When nothing was found, it is in the unstable tree.
 * Context: inside the gate; does not sleep.
 * Return: false when somebody else has claimed @item; then nothing changed.
 */
bool pksm_shard_lookup(struct pksm_item *item, s16 nid, unsigned int skip,
		       struct pksm_match *match)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	struct trees *at = trees_of(pksm_item_lock_index(item), nid);
	unsigned long state;

	*match = (struct pksm_match){ };
	spin_lock(lock);
	state = pksm_item_state(item);
	if (state & (PKSM_ITEM_CLAIMED | PKSM_ITEM_STABLE)) {
		spin_unlock(lock);
		return false;
	}
	if (state & PKSM_ITEM_UNSTABLE)
		unstable_erase(item, 0);
	item->nid = nid;
	match->node = stable_match(&at->stable, item->hash, skip, &match->folio);
	if (!match->node)
		match->other = unstable_claim(&at->unstable, item->hash);
	if (match->node || match->other)
		set_state(item, PKSM_ITEM_CLAIMED);
	else
		unstable_insert(item, 0);
	spin_unlock(lock);
	return true;
}

/**
 * pksm_shard_unclaim() - a claim led to nothing: back into the unstable tree
 * @item: claimed by the caller
 * @flag: it has to be looked up afresh before it can be matched again
 *
 * Return: false when its record went away meanwhile: the caller frees the item.
 */
bool pksm_shard_unclaim(struct pksm_item *item, bool flag)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	bool alive;

	spin_lock(lock);
	alive = !(pksm_item_state(item) & PKSM_ITEM_DEAD);
	if (alive)
		unstable_insert(item, flag ? PKSM_ITEM_FLAGGED : 0);
	spin_unlock(lock);
	return alive;
}

/**
 * pksm_shard_settle() - a claimed item has become stable
 * @item: claimed by the caller and attached to its node
 *
 * Context: the folio lock of the merged page held, under which the holder of the
 * item's record would detach it.
 * Return: false when its record went away meanwhile: the caller detaches and
 * frees the item.
 */
bool pksm_shard_settle(struct pksm_item *item)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	bool alive;

	spin_lock(lock);
	alive = !(pksm_item_state(item) & PKSM_ITEM_DEAD);
	if (alive)
		set_state(item, PKSM_ITEM_STABLE);
	spin_unlock(lock);
	return alive;
}

/**
 * pksm_shard_disown() - the record of an item goes away
 * @item: of a page whose range the caller holds
 *
 * Return: the state in which the item was. In PKSM_ITEM_CLAIMED it is the
 * claimer's now and must not be touched; in PKSM_ITEM_STABLE it has to be
 * detached; otherwise it is in no tree and can be freed.
 */
unsigned long pksm_shard_disown(struct pksm_item *item)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	unsigned long state;

	spin_lock(lock);
	state = pksm_item_state(item);
	if (state & PKSM_ITEM_UNSTABLE)
		unstable_erase(item, 0);
	else if (state & PKSM_ITEM_CLAIMED)
		set_state(item, PKSM_ITEM_CLAIMED | PKSM_ITEM_DEAD);
	spin_unlock(lock);
	return state;
}

static void copies_count(const struct pksm_node *first, long sign)
{
	bool only = first->copies.first && !first->copies.first->next;

	pksm_count_add(PKSM_COUNT_CHAINS, only ? sign : 0);
	pksm_count_add(PKSM_COUNT_DUPS, only ? 2 * sign : sign);
}

static void stable_insert(struct pksm_node *node, s16 nid)
{
	struct rb_root *root = &trees_of(lock_of(node->hash), nid)->stable;
	struct pksm_node *first = stable_find(root, node->hash);
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

static void stable_erase(struct pksm_node *node)
{
	struct rb_root *root = &trees_of(lock_of(node->hash), node->nid)->stable;
	struct pksm_node *first, *heir;

	lockdep_assert_held(pksm_shard_node_lock(node));
	first = node->is_copy ? stable_find(root, node->hash) : node;
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
 * pksm_shard_node_insert() - let a new merged page be found
 * @node: new, its frame locked and already naming it
 * @nid: NUMA node of its tree
 *
 * Every unstable item of the same hash is flagged in the same breath: it rested
 * because there was nothing to merge with, and now there is.
 */
void pksm_shard_node_insert(struct pksm_node *node, s16 nid)
{
	spinlock_t *lock = pksm_shard_node_lock(node);
	struct rb_node *at;

	spin_lock(lock);
	stable_insert(node, nid);
	at = unstable_first(&trees_of(lock_of(node->hash), nid)->unstable, node->hash);
	for (; at; at = rb_next(at)) {
		struct pksm_item *item = rb_entry(at, struct pksm_item, rb);

		if (item->hash != node->hash)
			break;
		set_state(item, PKSM_ITEM_UNSTABLE | PKSM_ITEM_FLAGGED);
	}
	spin_unlock(lock);
}

/**
 * pksm_shard_node_erase() - take a node out of its tree
 * @node: no folio names it any more, or its folio is locked
 *
 * Context: shard lock of the node held.
 */
void pksm_shard_node_erase(struct pksm_node *node)
{
	stable_erase(node);
}

/**
 * pksm_shard_node_move() - a merged page has moved to another NUMA node
 * @node: its frame is locked
 * @nid: where the frame is now
 *
 * Nothing changes while merging across nodes is allowed: all trees are node 0's.
 */
void pksm_shard_node_move(struct pksm_node *node, s16 nid)
{
	spinlock_t *lock = pksm_shard_node_lock(node);

	if (READ_ONCE(pksm_tunables.merge_across_nodes))
		return;
	spin_lock(lock);
	if (node->nid != nid) {
		stable_erase(node);
		stable_insert(node, nid);
	}
	spin_unlock(lock);
}

static void forget(struct pksm_node *node, unsigned long start, unsigned long end)
{
	if (node->pfn >= start && node->pfn < end)
		WRITE_ONCE(node->pfn, PKSM_NODE_NO_PFN);
}

/**
 * pksm_shard_pfn_forget() - frames have gone offline
 * @start: first frame number
 * @end: one behind the last
 *
 * A node that still names such a frame must not look at its struct page again.
 * Context: process, gate shut by hot-remove.
 */
void pksm_shard_pfn_forget(unsigned long start, unsigned long end)
{
	struct pksm_node *node, *copy;
	struct rb_node *at;
	unsigned int i;

	for (i = 0; i < SHARDS * nr_node_ids; i++) {
		spinlock_t *lock = &shards[i % SHARDS].lock;

		spin_lock(lock);
		for (at = rb_first(&trees[i].stable); at; at = rb_next(at)) {
			node = rb_entry(at, struct pksm_node, rb);
			forget(node, start, end);
			hlist_for_each_entry(copy, &node->copies, copy)
				forget(copy, start, end);
		}
		spin_unlock(lock);
		cond_resched();
	}
}

/**
 * pksm_shard_flag_all() - the policy has changed: look every item up afresh
 *
 * Context: process, gate shut.
 */
void pksm_shard_flag_all(void)
{
	struct rb_node *at;
	unsigned int i;

	for (i = 0; i < SHARDS * nr_node_ids; i++) {
		spinlock_t *lock = &shards[i % SHARDS].lock;

		spin_lock(lock);
		for (at = rb_first(&trees[i].unstable); at; at = rb_next(at))
			set_state(rb_entry(at, struct pksm_item, rb),
				  PKSM_ITEM_UNSTABLE | PKSM_ITEM_FLAGGED);
		spin_unlock(lock);
		cond_resched();
	}
}

/**
 * pksm_shard_init() - make the trees
 *
 * Return: 0 or -ENOMEM.
 */
int __init pksm_shard_init(void)
{
	unsigned int i;

	trees = kvcalloc(SHARDS * nr_node_ids, sizeof(*trees), GFP_KERNEL);
	if (!trees)
		return -ENOMEM;
	for (i = 0; i < SHARDS; i++)
		spin_lock_init(&shards[i].lock);
	return 0;
}

/**
 * pksm_shard_exit() - free the trees; nothing is in them
 */
void pksm_shard_exit(void)
{
	kvfree(trees);
}
