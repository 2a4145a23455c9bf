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
 * pksm_stable_move()). The shard locks are those of trees.c.
 */
#include <linux/mm.h>
#include <linux/nodemask.h>

#include "counter.h"
#include "item.h"
#include "node.h"
#include "record.h"
#include "shard.h"
#include "space.h"
#include "stable.h"
#include "trees.h"

/**
 * pksm_shard_item_lock() - the lock of an item's state
 * @item: any item
 *
 * Return: the lock; the same as long as the item is in a tree.
 */
spinlock_t *pksm_shard_item_lock(const struct pksm_item *item)
{
	return pksm_trees_lock(pksm_item_lock_index(item));
}

static void set_state(struct pksm_item *item, unsigned long state)
{
	lockdep_assert_held(pksm_shard_item_lock(item));
	/* Pairs with pksm_item_on(): what the state makes valid comes first. */
	smp_store_release(&item->word, (item->word & ~PKSM_ITEM_STATE) | state);
}

/* Of equal hashes those that may be matched stand left of those that are flagged. */
static void unstable_insert(struct pksm_item *item, unsigned long flag)
{
	unsigned int index = pksm_item_lock_index(item);
	struct rb_root *root = &pksm_trees_at(index, item->nid)->unstable;
	struct rb_node **link = &root->rb_node, *parent = NULL;

	while (*link) {
		u64 here;

		parent = *link;
		here = rb_entry(parent, struct pksm_item, rb)->hash;
		if (item->hash < here || (item->hash == here && !flag))
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
	rb_erase(&item->rb, &pksm_trees_at(pksm_item_lock_index(item), item->nid)->unstable);
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

	for (i = 0; at && i < PKSM_EQUAL_MAX; i++, at = rb_next(at)) {
		struct pksm_item *item = rb_entry(at, struct pksm_item, rb);

		if (item->hash != hash || (pksm_item_state(item) & PKSM_ITEM_FLAGGED))
			break;
		if (!pksm_space_get(item->space))
			continue;
		unstable_erase(item, PKSM_ITEM_CLAIMED);
		return item;
	}
	return NULL;
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
	WRITE_ONCE(item->word, word | (pksm_trees_index(hash) << PKSM_ITEM_LOCK_SHIFT));
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
		   (pksm_trees_index(node->hash) << PKSM_ITEM_LOCK_SHIFT));
}

/**
 * pksm_shard_touch() - visit an item
 * @item: of a page whose range the caller holds
 * @nid: NUMA node of the trees it belongs to
 * @smart: skip by age
 * @hash: set to its hash, unless it is stable
 * @skip: set when the page is to be skipped
 *
 * Age and hash share their place with what a claimer writes, so they are looked
 * at under the lock.
 * Return: its state; flagged when it is in another NUMA node's tree.
 */
unsigned long pksm_shard_touch(struct pksm_item *item, s16 nid, bool smart, u64 *hash, bool *skip)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	unsigned long state;

	*skip = false;
	spin_lock(lock);
	state = pksm_item_state(item);
	if (!(state & (PKSM_ITEM_CLAIMED | PKSM_ITEM_STABLE))) {
		*hash = item->hash;
		if (smart)
			*skip = pksm_record_skip(&item->age, &item->skips);
		if (item->nid != nid)
			state |= PKSM_ITEM_FLAGGED;
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
	struct pksm_trees *at = pksm_trees_at(pksm_item_lock_index(item), nid);
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
	match->node = pksm_stable_match(&at->stable, item->hash, skip, &match->folio);
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
	struct rb_root *stable;
	bool alive;

	spin_lock(lock);
	alive = !(pksm_item_state(item) & PKSM_ITEM_DEAD);
	/* A merged page that was published meanwhile could not flag a claimed item. */
	stable = &pksm_trees_at(pksm_item_lock_index(item), item->nid)->stable;
	if (alive)
		unstable_insert(item, flag || pksm_stable_find(stable, item->hash) ?
				PKSM_ITEM_FLAGGED : 0);
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

/* Every item of this hash has to be looked up afresh. */
static void flag(struct rb_root *root, u64 hash)
{
	struct rb_node *at;

	for (at = unstable_first(root, hash); at; at = rb_next(at)) {
		struct pksm_item *item = rb_entry(at, struct pksm_item, rb);

		/* Those behind the first flagged one are flagged. */
		if (item->hash != hash || (pksm_item_state(item) & PKSM_ITEM_FLAGGED))
			break;
		set_state(item, PKSM_ITEM_UNSTABLE | PKSM_ITEM_FLAGGED);
	}
}

/**
 * pksm_shard_publish() - let a new merged page be found
 * @node: new, its frame locked and naming it
 * @nid: NUMA node of its tree
 *
 * Every unstable item of the same hash is flagged in the same breath: it rested
 * because there was nothing to merge with, and now there is.
 * Context: folio lock of the merged page held.
 */
void pksm_shard_publish(struct pksm_node *node, s16 nid)
{
	spinlock_t *lock = pksm_stable_lock(node);

	spin_lock(lock);
	pksm_stable_insert(node, nid);
	flag(&pksm_trees_at(pksm_trees_index(node->hash), nid)->unstable, node->hash);
	spin_unlock(lock);
}

/**
 * pksm_shard_renew() - a merged page can be joined again
 * @node: its folio is locked
 *
 * Lookups passed it over while it was full, or had no sharer, and their items rest.
 */
void pksm_shard_renew(struct pksm_node *node)
{
	spinlock_t *lock = pksm_stable_lock(node);

	spin_lock(lock);
	flag(&pksm_trees_at(pksm_trees_index(node->hash), node->nid)->unstable, node->hash);
	spin_unlock(lock);
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

	for (i = 0; i < PKSM_TREES * nr_node_ids; i++) {
		spinlock_t *lock = pksm_trees_lock(i % PKSM_TREES);

		spin_lock(lock);
		at = rb_first(&pksm_trees_at(i % PKSM_TREES, i / PKSM_TREES)->unstable);
		for (; at; at = rb_next(at))
			set_state(rb_entry(at, struct pksm_item, rb),
				  PKSM_ITEM_UNSTABLE | PKSM_ITEM_FLAGGED);
		spin_unlock(lock);
		cond_resched();
	}
}
