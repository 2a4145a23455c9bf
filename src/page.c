// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages: the ladder that one visited page goes down, and what became of it.
 *
 *  1. merged, and its item is where it should be: done; merged, but without an
 *     item (a forked child): append one, whatever the limit of sharers
 *  2. skipped by age, or no longer there
 *  3. the hash differs from last time: remember it
 *  4. all zeros, and that is wanted: merge with the zero page
 *  5. a merged page of equal hash: merge with it
 *  6. an unstable item of equal hash: claim it, and make one merged page of two
 *  7. otherwise enter the unstable tree, or rest there
 *
 * Entered by the holder of the range's claim, inside the gate, with the page's
 * VMA held. Owns no lock. Order: VMA (held by the caller), folio lock of a merged
 * page, folio locks of plain pages, all tried; the shard lock is taken for
 * lookups alone, never around any of that.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>

#include "compat/mm.h"
#include "compat/symbol.h"
#include "content.h"
#include "hold.h"
#include "item.h"
#include "merge.h"
#include "node.h"
#include "page.h"
#include "record.h"
#include "shard.h"
#include "space.h"
#include "table.h"
#include "trace.h"
#include "tunable.h"

/* Lookups for one page on one visit: the candidates may have changed meanwhile. */
#define TRIES	4

/**
 * pksm_page_transient() - is it worth coming back to this page in the same pass?
 * @outcome: of its visit
 *
 * Return: true when what kept it from being merged may be gone in a moment.
 */
bool pksm_page_transient(enum pksm_outcome outcome)
{
	return outcome == PKSM_BUSY || outcome == PKSM_PINNED;
}

/* The NUMA node whose trees a page belongs to. */
static s16 tree_nid(const struct page *page)
{
	return READ_ONCE(pksm_tunables.merge_across_nodes) ? 0 : page_to_nid(page);
}

static void forget(u64 *record)
{
	struct pksm_item *item = pksm_record_item(*record);

	*record = pksm_record_plain(0, false, 0, 0);
	if (item)
		pksm_item_drop(item);
}

/* Step 1: the page is merged. */
static enum pksm_outcome visit_merged(const struct pksm_hold *hold,
				      const struct pksm_entry *entry, u64 *record)
{
	struct vm_area_struct *vma = hold->vma;
	enum pksm_outcome result = PKSM_GONE;
	struct pksm_node *node;
	struct pksm_item *item;
	struct folio *folio;
	struct page *page;

	node = (void *)((unsigned long)entry->mapping & ~PAGE_MAPPING_FLAGS);
	if (pksm_item_on(pksm_record_item(*record), node))
		return PKSM_MERGED;
	forget(record);
	item = pksm_item_alloc(hold->space, entry->addr);
	if (!item)
		return PKSM_NOMEM;
	page = pksm_table_reference(vma->vm_mm, entry->addr, entry->pfn);
	if (!page)
		goto out;
	folio = page_folio(page);
	result = PKSM_BUSY;
	if (!folio_trylock(folio))
		goto out_put;
	result = PKSM_GONE;
	node = pksm_node_of(folio);
	if (node && pksm_table_maps(vma->vm_mm, entry->addr, entry->pfn)) {
		get_anon_vma(vma->anon_vma);
		pksm_shard_adopt(item, node);
		pksm_item_attach(item, node, folio, vma->anon_vma,
				 pksm_mm_index(vma, entry->addr));
		*record = (unsigned long)item;
		/* Lookups pass over a node that nobody shares. */
		if (node->sharers == 1)
			pksm_shard_renew(node);
		result = PKSM_ADOPTED;
	}
	folio_unlock(folio);
out_put:
	put_page(page);
out:
	if (result != PKSM_ADOPTED)
		pksm_item_free(item);
	return result;
}

/* Steps 2 and 3 for a page that has no item: age and hash are in the record. */
static enum pksm_outcome recall_record(u64 *record, bool smart, u64 *last, bool *hashed)
{
	u8 age = pksm_record_age(*record), skips = pksm_record_skips(*record);
	bool skip = smart && pksm_record_skip(&age, &skips);

	*hashed = *record & PKSM_RECORD_HASHED;
	*last = *record & PKSM_RECORD_HASH;
	*record = pksm_record_plain(*last, *hashed, age, skips);
	return skip ? PKSM_SKIPPED : PKSM_WAITING;
}

/*
 * What is known of the page from earlier visits. Returns PKSM_RESTING when it is
 * in the unstable tree and needs no lookup if it did not change, PKSM_WAITING when
 * it needs one, or an outcome that ends the visit.
 */
static enum pksm_outcome recall(const struct page *page, u64 *record, bool smart, u64 *last,
				bool *hashed)
{
	struct pksm_item *item = pksm_record_item(*record);
	unsigned long state;
	bool skip;

	if (item) {
		state = pksm_shard_touch(item, tree_nid(page), smart, last, &skip);
		if (state & PKSM_ITEM_CLAIMED)
			return PKSM_BUSY;
		if (!(state & PKSM_ITEM_STABLE)) {
			*hashed = true;
			if (skip)
				return PKSM_SKIPPED;
			return state == PKSM_ITEM_UNSTABLE ? PKSM_RESTING : PKSM_WAITING;
		}
		/* It was merged and has been written to since. */
		forget(record);
	}
	return recall_record(record, smart, last, hashed);
}

/* Step 3 failed: the page changed. Keep its hash, leave the tree. */
static enum pksm_outcome changed(u64 *record, u64 hash)
{
	struct pksm_item *item = pksm_record_item(*record);
	u8 age = 0, skips = 0;

	if (item)
		pksm_item_drop(item);
	else
		age = pksm_record_age(*record), skips = pksm_record_skips(*record);
	*record = pksm_record_plain(hash, true, age, skips);
	return PKSM_CHANGED;
}

/*
 * Step 5: merge with the merged page that @match names. PKSM_FULL: it is not to
 * be had any more; look again.
 */
static enum pksm_outcome join(const struct pksm_hold *hold, struct pksm_side *self,
			      struct pksm_item *item, struct pksm_match *match)
{
	struct vm_area_struct *vma = hold->vma;
	struct pksm_node *node = match->node;
	struct folio *folio = match->folio;
	enum pksm_outcome result = PKSM_BUSY;

	if (!folio_trylock(folio))
		goto out_put;
	result = PKSM_FULL;
	/* Migration or the end of the frame may have come first. */
	if (!pksm_node_is_of(node, folio) || !node->sharers ||
	    tree_nid(folio_page(folio, 0)) != tree_nid(self->page) ||
	    node->sharers >= READ_ONCE(pksm_tunables.max_page_sharing))
		goto out_unlock;
	result = pksm_side_lock(self);
	if (result == PKSM_MERGED)
		result = pksm_merge_join(self, folio);
	if (result == PKSM_JOINED) {
		get_anon_vma(vma->anon_vma);
		pksm_item_attach(item, node, folio, vma->anon_vma,
				 pksm_mm_index(vma, self->addr));
		pksm_shard_settle(item);
	}
out_unlock:
	folio_unlock(folio);
out_put:
	folio_put(folio);
	return result;
}

/* The VMA of the other page of a pair, held. */
static enum pksm_outcome reach(const struct pksm_hold *hold, struct pksm_hold *reached,
			       struct pksm_mm *space, unsigned long addr)
{
	struct vm_area_struct *vma;

	if (pksm_hold_covers(hold, space, addr)) {
		vma = hold->mmap ? vma_lookup(space->mm, addr) : hold->vma;
		if (!vma || !(vma->vm_flags & VM_MERGEABLE) || !vma->anon_vma)
			return PKSM_GONE;
		/* Held already, by @hold: nothing to let go of. */
		*reached = (struct pksm_hold){ .space = space, .vma = vma };
		return PKSM_MERGED;
	}
	switch (pksm_hold_try(reached, space, addr)) {
	case PKSM_HELD:
		return PKSM_MERGED;
	case PKSM_HELD_NONE:
		return PKSM_GONE;
	default:
		return PKSM_BUSY;
	}
}

/* Two pages have become one, @folio, locked: put both items on its list. */
static void settle_pair(struct pksm_item *item, struct pksm_item *other, struct folio *folio,
			struct pksm_node *node, struct anon_vma *anon_vma,
			const struct pksm_side *side)
{
	/* Attaching writes the page index where the NUMA node was. */
	s16 nid = item->nid;

	get_anon_vma(side->vma->anon_vma);
	pksm_item_attach(item, node, folio, anon_vma, folio->index);
	pksm_item_attach(other, node, folio, side->vma->anon_vma,
			 pksm_mm_index(side->vma, side->addr));
	pksm_shard_publish(node, nid);
	pksm_shard_settle(item);
	if (!pksm_shard_settle(other))
		pksm_item_abandon(other, folio);
}

/*
 * Merge @self with the page at @side, whose VMA is held. @blame is set when the
 * other page is why it failed.
 */
static enum pksm_outcome merge_pair(struct pksm_side *self, struct pksm_item *item,
				    struct pksm_side *side, struct pksm_item *other,
				    bool *blame)
{
	struct anon_vma *anon_vma;
	enum pksm_outcome result;
	struct pksm_node *node;
	struct folio *folio;

	/* First ours, without a reference to the other: both may be in one huge page. */
	result = pksm_side_lock(self);
	if (result != PKSM_MERGED)
		return result;
	*blame = true;
	side->page = pksm_table_page_get(side->vma, side->addr);
	if (!side->page)
		return PKSM_GONE;
	if (side->page == self->page)
		return PKSM_RESTING;
	if (tree_nid(side->page) != tree_nid(self->page))
		return PKSM_GONE;
	result = pksm_side_lock(side);
	if (result != PKSM_MERGED)
		return result;
	*blame = false;
	/*
	 * All who map our page, processes forked from this one too, are found through
	 * the anon_vma that its mapping names now; the VMA's own may reach fewer. While
	 * the folio is locked and mapped here, that anon_vma is one of the held VMA's;
	 * mapped elsewhere (UFFDIO_MOVE) it would be somebody's whom nothing keeps.
	 */
	folio = page_folio(self->page);
	anon_vma = pksm_mm_anon_vma(folio);
	if (!anon_vma || !pksm_table_maps(self->vma->vm_mm, self->addr, page_to_pfn(self->page)))
		return PKSM_GONE;
	get_anon_vma(anon_vma);
	node = pksm_node_alloc(item->hash);
	if (!node) {
		put_anon_vma(anon_vma);
		return PKSM_NOMEM;
	}
	result = pksm_merge_pair(self, side, node);
	if (result == PKSM_PAIRED) {
		settle_pair(item, other, folio, node, anon_vma, side);
	} else {
		put_anon_vma(anon_vma);
		pksm_node_free(node);
	}
	return result;
}

/* Step 6: make one merged page of ours and of the claimed item's. */
static enum pksm_outcome pair(const struct pksm_hold *hold, struct pksm_side *self,
			      struct pksm_item *item, struct pksm_item *other)
{
	struct pksm_mm *space = other->space;
	struct pksm_side side = { .addr = pksm_item_addr(other) };
	struct pksm_hold reached = { };
	enum pksm_outcome result;
	bool blame = true, same = space == hold->space;

	if (!same && !pksm_hold_alive(space)) {
		result = PKSM_GONE;
		goto out;
	}
	result = reach(hold, &reached, space, side.addr);
	if (result == PKSM_MERGED) {
		side.vma = reached.vma;
		blame = false;
		result = merge_pair(self, item, &side, other, &blame);
		pksm_side_end(&side);
		if (!pksm_hold_covers(hold, space, side.addr))
			pksm_hold_end(&reached);
	}
	if (!same)
		pksm_hold_alive_end(space);
out:
	/*
	 * Whatever failed, the other has to be visited before it is matched again: a
	 * page that cannot be merged would keep all its equals from each other.
	 */
	if (result != PKSM_PAIRED && !pksm_shard_unclaim(other, result != PKSM_RESTING))
		pksm_item_free(other);
	pksm_space_put(space);
	if (blame && result == PKSM_GONE)
		result = PKSM_DIFFERENT;
	return result;
}

/* Steps 5 to 7: look for equal content until there is none, or one was merged with. */
static enum pksm_outcome search(const struct pksm_hold *hold, struct pksm_side *self,
				struct pksm_item *item)
{
	s16 nid = tree_nid(self->page);
	enum pksm_outcome result = PKSM_WAITING;
	struct pksm_match match;
	unsigned int i, skip = 0;
	bool again;

	for (i = 0; i < TRIES; i++) {
		if (!pksm_shard_lookup(item, nid, skip, &match))
			return PKSM_BUSY;
		if (!match.node && !match.other)
			return PKSM_WAITING;
		if (match.node) {
			result = join(hold, self, item, &match);
			skip += result == PKSM_DIFFERENT || result == PKSM_POISONED;
			again = result == PKSM_FULL || result == PKSM_DIFFERENT ||
				(result == PKSM_POISONED && !PageHWPoison(self->page));
		} else {
			result = pair(hold, self, item, match.other);
			again = result == PKSM_DIFFERENT;
		}
		if (result == PKSM_JOINED || result == PKSM_PAIRED)
			return result;
		/*
		 * What failed for a reason that will pass must not rest. Two mappings of
		 * one frame (a fork) may: there is nothing to merge.
		 */
		if (i + 1 == TRIES)
			again = false;
		pksm_shard_unclaim(item, !again && result != PKSM_RESTING);
		if (!again)
			return result;
	}
	return result;
}

/* The page's item, in no tree and with its hash set; made if there was none. */
static struct pksm_item *item_for(const struct pksm_hold *hold, unsigned long addr,
				  u64 *record, u64 hash)
{
	struct pksm_item *item = pksm_record_item(*record);

	if (item)
		return item;
	item = pksm_item_alloc(hold->space, addr);
	if (!item)
		return NULL;
	item->age = pksm_record_age(*record);
	item->skips = pksm_record_skips(*record);
	pksm_shard_hash_set(item, hash);
	*record = (unsigned long)item;
	return item;
}

/* Steps 3 to 7, with a reference to the page. */
static enum pksm_outcome climb(const struct pksm_hold *hold, struct pksm_side *self, u64 *record,
			       enum pksm_outcome known, u64 last, bool hashed)
{
	u64 hash = pksm_content_hash(self->page);
	enum pksm_outcome result;
	struct pksm_item *item = pksm_record_item(*record);
	bool same = hashed && (item ? hash == last : (hash & PKSM_RECORD_HASH) == last);

	if (!same)
		return changed(record, hash);
	if (hash == pksm_content_zero_hash() && READ_ONCE(pksm_tunables.use_zero_pages)) {
		result = pksm_side_lock(self);
		if (result == PKSM_MERGED)
			result = pksm_merge_zero(self);
		if (result == PKSM_ZERO)
			forget(record);
		if (result == PKSM_ZERO || pksm_page_transient(result))
			return result;
	}
	if (known == PKSM_RESTING)
		return PKSM_RESTING;
	item = item_for(hold, self->addr, record, hash);
	return item ? search(hold, self, item) : PKSM_NOMEM;
}

/**
 * pksm_page_visit() - visit one page
 * @hold: its VMA, held
 * @entry: as it was collected under this hold
 * @record: its record, which the caller's claim covers
 * @again: for the second time in this pass: it is not to be skipped by age
 *
 * Context: process, inside the gate; sleeps for memory, and for the lock of a
 * merged page that this process has left; waits for nothing that user space can
 * keep.
 * Return: what became of it.
 */
enum pksm_outcome pksm_page_visit(const struct pksm_hold *hold, const struct pksm_entry *entry,
				  u64 *record, bool again)
{
	struct pksm_side self = { .vma = hold->vma, .addr = entry->addr };
	enum pksm_outcome known, result;
	bool hashed = false;
	u64 last = 0;

	if (entry->mapping)
		return visit_merged(hold, entry, record);
	known = recall(pfn_to_page(entry->pfn), record,
		       !again && READ_ONCE(pksm_tunables.smart_scan), &last, &hashed);
	if (known != PKSM_RESTING && known != PKSM_WAITING)
		return known;
	self.page = pksm_table_reference(hold->vma->vm_mm, entry->addr, entry->pfn);
	if (!self.page)
		return PKSM_GONE;
	if (PageHWPoison(self.page))
		result = PKSM_POISONED;
	else
		result = climb(hold, &self, record, known, last, hashed);
	pksm_side_end(&self);
	return result;
}
