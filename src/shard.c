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
 * pksm_shard_move()). The shard locks are those of trees.c.
 */
#include <linux/mm.h>

#include "counter.h"
#include "item.h"
#include "node.h"
#include "shard.h"
#include "space.h"
#include "stable.h"
#include "trees.h"
#include "tunable.h"

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

/*
 * Of equal hashes the one that is claimed stands leftmost, then those that may be
 * matched, then those that are flagged.
 */
static bool stands_left(struct rb_node *node, const struct rb_node *before)
{
	const struct pksm_item *item = rb_entry(node, struct pksm_item, rb);
	const struct pksm_item *other = rb_entry(before, struct pksm_item, rb);

	if (item->hash != other->hash)
		return item->hash < other->hash;
	return !(pksm_item_state(item) & PKSM_ITEM_FLAGGED) &&
	       !(pksm_item_state(other) & PKSM_ITEM_CLAIMED);
}

static void unstable_insert(struct pksm_item *item, unsigned long flag)
{
	unsigned int index = pksm_item_lock_index(item);

	set_state(item, PKSM_ITEM_UNSTABLE | flag);
	rb_add(&item->rb, &pksm_trees_at(index, item->nid)->unstable, stands_left);
	pksm_count_add(PKSM_COUNT_UNSTABLE, 1);
}

static void unstable_erase(struct pksm_item *item, unsigned long state)
{
	rb_erase(&item->rb, &pksm_trees_at(pksm_item_lock_index(item), item->nid)->unstable);
	set_state(item, state);
	pksm_count_add(PKSM_COUNT_UNSTABLE, -1);
}

static int compare(const void *hash, const struct rb_node *node)
{
	u64 key = *(const u64 *)hash, here = rb_entry(node, struct pksm_item, rb)->hash;

	return key < here ? -1 : key > here;
}

/* The first of the entries that have this hash. */
static struct rb_node *unstable_first(struct rb_root *root, u64 hash)
{
	return rb_find_first(&hash, root, compare);
}

/* Those behind the first flagged one of a hash are flagged. */
static bool matchable(const struct pksm_item *item, u64 hash)
{
	return item->hash == hash && !(pksm_item_state(item) & PKSM_ITEM_FLAGGED);
}

/*
 * Claim an entry of this hash. It stays in the tree and shows others that a merged
 * page of this hash is being made: if two made one each, there would be two frames of
 * one content, and neither is full.
 */
static void unstable_claim(struct rb_root *root, u64 hash, bool flagged,
			   struct pksm_match *match)
{
	struct rb_node *first = unstable_first(root, hash), *at;
	struct pksm_item *item;
	unsigned int i, n;

	for (n = 0, at = first; at && n < PKSM_EQUAL_MAX; n++, at = rb_next(at)) {
		item = rb_entry(at, struct pksm_item, rb);
		if (item->hash != hash || (!flagged && !matchable(item, hash)))
			break;
		/* It is the first if there is one. */
		match->busy = pksm_item_state(item) & PKSM_ITEM_CLAIMED;
		if (match->busy)
			return;
	}
	match->more |= n == PKSM_EQUAL_MAX;
	for (i = 0, at = first; i < n; i++) {
		item = rb_entry(at, struct pksm_item, rb);
		at = rb_next(at);
		if (pksm_space_get(item->space)) {
			unstable_erase(item, 0);
			unstable_insert(item, 0);
			set_state(item, PKSM_ITEM_UNSTABLE | PKSM_ITEM_CLAIMED);
			match->other = item;
			return;
		}
		/* The reaper takes it out soon; until then it is behind the others. */
		unstable_erase(item, 0);
		unstable_insert(item, PKSM_ITEM_FLAGGED);
	}
}

/**
 * pksm_shard_hash_set() - give a fresh item the hash of its page's content
 * @item: known to the caller alone
 * @hash: of the content
 */
void pksm_shard_hash_set(struct pksm_item *item, u64 hash)
{
	item->word = pksm_item_addr(item) | pksm_item_lock_word(pksm_trees_index(hash));
	item->hash = hash;
}

/**
 * pksm_shard_adopt() - make a fresh item ready for a merged page's list
 * @item: fresh, known to the caller alone
 * @node: of the page, whose folio is locked
 */
void pksm_shard_adopt(struct pksm_item *item, const struct pksm_node *node)
{
	WRITE_ONCE(item->word, pksm_item_addr(item) | PKSM_ITEM_STABLE |
		   pksm_item_lock_word(pksm_trees_index(node->hash)));
}

/**
 * pksm_shard_peek() - look at an item without its lock
 * @item: of a page whose range the caller holds
 * @peek: filled in; valid unless the item is claimed or stable
 *
 * Only the holder can bring an item back from the states in which a claimer may
 * write over these fields, so when they are read before the state, it tells
 * whether they were valid. A page that rests is visited without any shared lock.
 * Return: its state.
 */
unsigned long pksm_shard_peek(const struct pksm_item *item, struct pksm_peek *peek)
{
	peek->hash = READ_ONCE(item->hash);
	peek->nid = READ_ONCE(item->nid);
	peek->pfn = READ_ONCE(item->pfn);
	/* Pairs with smp_wmb() in pksm_item_attach(). */
	smp_rmb();
	return pksm_item_state(item);
}

/**
 * pksm_shard_lookup() - find equal content, or let the item be found
 * @item: of a page whose range the caller holds, with its hash set
 * @query: what to look for
 * @match: filled in
 *
 * A stable node is preferred. When something was found, the item is claimed by
 * the caller, who ends that with pksm_shard_settle() or pksm_shard_unclaim().
 * Otherwise it is in the unstable tree; it will not rest there if something was
 * passed over.
 * Context: inside the gate; does not sleep.
 * Return: false when somebody else has claimed @item; then nothing changed.
 */
bool pksm_shard_lookup(struct pksm_item *item, const struct pksm_query *query,
		       struct pksm_match *match)
{
	spinlock_t *lock = pksm_shard_item_lock(item);
	struct pksm_trees *at = pksm_trees_at(pksm_item_lock_index(item), query->nid);
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
	item->nid = query->nid;
	item->pfn = query->pfn;
	pksm_stable_match(&at->stable, item->hash, query->skip, match);
	/* Not before all merged pages of this content were looked at. */
	if (!match->node && (!match->more || query->skip))
		unstable_claim(&at->unstable, item->hash, query->flagged || query->skip, match);
	if (match->node || match->other) {
		set_state(item, PKSM_ITEM_CLAIMED);
	} else {
		if (match->busy || match->more || query->skip)
			item->pfn = PKSM_PFN_NONE;
		unstable_insert(item, 0);
	}
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
	if (pksm_item_state(item) & PKSM_ITEM_UNSTABLE)
		unstable_erase(item, pksm_item_state(item) & ~PKSM_ITEM_UNSTABLE);
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
 * pksm_shard_settle() - an item of the caller's own range has become stable
 * @item: claimed by the caller, in no tree, and attached to its node
 *
 * Without the shard lock: the state of a claimed item that is in no tree is changed
 * by its claimer and, when its record goes away, by the holder of its range; both
 * are the caller.
 * Context: the folio lock of the merged page held.
 */
void pksm_shard_settle(struct pksm_item *item)
{
	VM_WARN_ON_ONCE(pksm_item_state(item) != PKSM_ITEM_CLAIMED);
	/* Pairs with pksm_item_on(). */
	smp_store_release(&item->word, (item->word & ~PKSM_ITEM_STATE) | PKSM_ITEM_STABLE);
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
	if (state & PKSM_ITEM_CLAIMED)
		set_state(item, state | PKSM_ITEM_DEAD);
	else if (state & PKSM_ITEM_UNSTABLE)
		unstable_erase(item, 0);
	spin_unlock(lock);
	return state;
}

/* Every item of this hash has to be looked up afresh. */
static void flag(struct rb_root *root, u64 hash)
{
	struct rb_node *at;

	for (at = unstable_first(root, hash); at; at = rb_next(at)) {
		struct pksm_item *item = rb_entry(at, struct pksm_item, rb);

		if (!matchable(item, hash))
			break;
		/* The claimer looks for itself: pksm_shard_unclaim(). */
		if (!(pksm_item_state(item) & PKSM_ITEM_CLAIMED))
			set_state(item, PKSM_ITEM_UNSTABLE | PKSM_ITEM_FLAGGED);
	}
}

/**
 * pksm_shard_publish() - let a new merged page be found
 * @node: new, its folio locked and naming it, with an item attached
 * @nid: NUMA node of its tree
 * @other: the unstable item that it was made with, claimed by the caller: it leaves
 *	its tree and is attached
 * @folio: the merged page
 * @anon_vma: of the other's mapping, a reference goes over to @other
 * @index: linear page index of the other's mapping
 *
 * Every unstable item of the same hash is flagged in the same breath: it rested
 * because there was nothing to merge with, and now there is.
 * Context: folio lock of the merged page held.
 * Return: false when the record of @other went away meanwhile: the caller detaches and
 * frees it.
 */
bool pksm_shard_publish(struct pksm_node *node, s16 nid, struct pksm_item *other,
			struct folio *folio, struct anon_vma *anon_vma, unsigned long index)
{
	spinlock_t *lock = pksm_stable_lock(node);
	bool alive;

	spin_lock(lock);
	unstable_erase(other, pksm_item_state(other) & ~PKSM_ITEM_UNSTABLE);
	pksm_item_attach(other, node, folio, anon_vma, index);
	alive = !(pksm_item_state(other) & PKSM_ITEM_DEAD);
	if (alive)
		set_state(other, PKSM_ITEM_STABLE);
	pksm_stable_insert(node, nid);
	flag(&pksm_trees_at(pksm_trees_index(node->hash), nid)->unstable, node->hash);
	spin_unlock(lock);
	return alive;
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
	struct pksm_trees *at = pksm_trees_at(pksm_trees_index(node->hash), node->nid);

	spin_lock(lock);
	pksm_stable_renew(node, &at->stable);
	flag(&at->unstable, node->hash);
	spin_unlock(lock);
}

/**
 * pksm_shard_move() - a merged page has moved to another NUMA node
 * @node: its frame is locked
 * @nid: where the frame is now
 *
 * Nothing changes while merging across nodes is allowed: all trees are node 0's.
 */
void pksm_shard_move(struct pksm_node *node, s16 nid)
{
	spinlock_t *lock = pksm_stable_lock(node);

	if (READ_ONCE(pksm_tunables.merge_across_nodes))
		return;
	spin_lock(lock);
	if (node->nid != nid) {
		pksm_stable_erase(node);
		pksm_stable_insert(node, nid);
		flag(&pksm_trees_at(pksm_trees_index(node->hash), nid)->unstable, node->hash);
	}
	spin_unlock(lock);
}
