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
#include "gate.h"
#include "hold.h"
#include "item.h"
#include "merge.h"
#include "node.h"
#include "page.h"
#include "pair.h"
#include "record.h"
#include "shard.h"
#include "space.h"
#include "table.h"
#include "trace.h"
#include "tunable.h"

/* Lookups for one page on one visit: the candidates may have changed meanwhile. */
#define TRIES	4

/* Looks at the lock of a merged page that another worker holds for a moment. */
#define SPINS	256
/* Jiffies for which this goes on, when the page was come back to. */
#define PATIENCE	2

/**
 * struct pksm_past - the hash of a page on its last visit
 * @hash: its bits that are known
 * @mask: which these are; 0: none
 */
struct pksm_past {
	u64 hash;
	u64 mask;
};

/**
 * pksm_page_transient() - is it worth coming back to this page in the same pass?
 * @outcome: of its visit
 *
 * Return: true when what kept it from being merged may be gone in a moment.
 */
bool pksm_page_transient(enum pksm_outcome outcome)
{
	return outcome == PKSM_BUSY || outcome == PKSM_CONTENDED || outcome == PKSM_PINNED;
}

static void forget(u64 *record)
{
	struct pksm_item *item = pksm_record_item(*record);

	*record = PKSM_RECORD_FRESH;
	if (item)
		pksm_item_drop(item);
}

/*
 * The lock of a merged page. Other workers hold it while they join it; reclaim and
 * migration for the length of a reverse walk, or of writing the page out. When the page
 * was come back to it is tried for longer, since with many arriving at one content
 * some would lose each time; but not while somebody waits for what is held.
 */
static bool lock_merged(struct folio *folio, const struct pksm_visit *visit)
{
	unsigned long end = jiffies + PATIENCE;
	unsigned int i;

	do {
		for (i = 0; i < SPINS; i++) {
			if (!folio_test_locked(folio) && folio_trylock(folio))
				return true;
			cpu_relax();
		}
		cond_resched();
	} while (visit->again && time_before(jiffies, end) &&
		 !pksm_hold_wanted(visit->hold) && !pksm_gate_wanted());
	return false;
}

/*
 * An item was attached. A node that nobody shares is passed over by lookups while
 * nobody maps its frame either, a child's page that is being migrated say.
 */
static void renew_first(struct pksm_node *node)
{
	if (node->sharers == 1)
		pksm_shard_renew(node);
}

/* Step 1: the page is merged. */
static enum pksm_outcome visit_merged(const struct pksm_visit *visit,
				      const struct pksm_entry *entry, u64 *record)
{
	struct vm_area_struct *vma = visit->hold->vma;
	enum pksm_outcome result = PKSM_GONE;
	struct pksm_node *node;
	struct pksm_item *item;
	struct folio *folio;
	struct page *page;

	item = pksm_record_item(*record);
	/* Whoever merges it is about to put it on the list. */
	if (item && (pksm_item_state(item) & PKSM_ITEM_CLAIMED))
		return PKSM_CONTENDED;
	/* It has, just now. */
	if (pksm_item_on(item, entry->node))
		return PKSM_MERGED;
	forget(record);
	item = pksm_item_alloc(visit->hold->space, entry->addr);
	if (!item)
		return PKSM_NOMEM;
	page = pksm_table_reference(vma->vm_mm, entry->addr, entry->pfn);
	if (!page)
		goto out;
	folio = page_folio(page);
	result = PKSM_CONTENDED;
	if (!lock_merged(folio, visit))
		goto out_put;
	result = PKSM_GONE;
	node = pksm_node_of(folio);
	if (node && pksm_table_maps(vma->vm_mm, entry->addr, entry->pfn)) {
		get_anon_vma(vma->anon_vma);
		pksm_shard_adopt(item, node);
		pksm_item_attach(item, node, folio, vma->anon_vma,
				 pksm_mm_index(vma, entry->addr));
		*record = pksm_record_of(item, PKSM_RECORD_FRESH);
		renew_first(node);
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

/*
 * Steps 2 and 3: what is known of the page from earlier visits. Returns
 * PKSM_RESTING when it is in the unstable tree and needs no lookup if it did not
 * change, PKSM_WAITING when it needs one, or an outcome that ends the visit.
 *
 * A page rests in the frame in which nothing equal was found. A process that writes
 * what was there already may get another frame, and its page is then equal to others
 * that were the same as it.
 */
static enum pksm_outcome recall(const struct pksm_visit *visit, const struct pksm_entry *entry,
				u64 *record, struct pksm_past *past)
{
	struct pksm_item *item = pksm_record_item(*record);
	struct pksm_peek peek;
	unsigned long state;

	if (item) {
		state = pksm_shard_peek(item, &peek);
		if (state & PKSM_ITEM_CLAIMED)
			return PKSM_CONTENDED;
		if (!(state & PKSM_ITEM_STABLE)) {
			*past = (struct pksm_past){ .hash = peek.hash, .mask = U64_MAX };
			if (visit->smart && pksm_record_skip(record))
				return PKSM_SKIPPED;
			if (state == PKSM_ITEM_UNSTABLE && peek.pfn == (u32)entry->pfn &&
			    peek.nid == pksm_pair_nid(pfn_to_page(entry->pfn)))
				return PKSM_RESTING;
			return PKSM_WAITING;
		}
		/* Merged since it was collected? */
		if (!pksm_table_maps(visit->hold->vma->vm_mm, entry->addr, entry->pfn))
			return PKSM_CONTENDED;
		/* It was merged before, and has been written to since. */
		forget(record);
	}
	past->mask = *record & PKSM_RECORD_HASHED ? PKSM_RECORD_HASH : 0;
	past->hash = *record & PKSM_RECORD_HASH;
	return visit->smart && pksm_record_skip(record) ? PKSM_SKIPPED : PKSM_WAITING;
}

/* Step 3 failed: the page changed. Keep its hash, leave the tree. */
static enum pksm_outcome changed(u64 *record, u64 hash)
{
	struct pksm_item *item = pksm_record_item(*record);

	*record = pksm_record_plain(hash, item ? 0 : *record);
	if (item)
		pksm_item_drop(item);
	return PKSM_CHANGED;
}

/*
 * Step 5: merge with the merged page that @match names. PKSM_FULL: it is not to
 * be had any more; look again.
 */
static enum pksm_outcome join(const struct pksm_visit *visit, struct pksm_side *self,
			      struct pksm_item *item, struct pksm_match *match)
{
	struct vm_area_struct *vma = visit->hold->vma;
	struct pksm_node *node = match->node;
	struct folio *folio = match->folio;
	enum pksm_outcome result;

	result = pksm_side_lock(self);
	if (result == PKSM_MERGED)
		result = pksm_merge_match(self, folio);
	if (result != PKSM_MERGED)
		goto out_put;
	result = PKSM_CONTENDED;
	if (!lock_merged(folio, visit))
		goto out_put;
	result = PKSM_FULL;
	/* Migration or the end of the frame may have come first. */
	if (!pksm_node_is_of(node, folio) || !(node->sharers || folio_mapped(folio)) ||
	    pksm_pair_nid(folio_page(folio, 0)) != pksm_pair_nid(self->page) ||
	    node->sharers >= READ_ONCE(pksm_tunables.max_page_sharing))
		goto out_unlock;
	result = pksm_merge_join(self, folio);
	if (result == PKSM_JOINED) {
		get_anon_vma(vma->anon_vma);
		pksm_item_attach(item, node, folio, vma->anon_vma,
				 pksm_mm_index(vma, self->addr));
		pksm_shard_settle(item);
		renew_first(node);
	}
out_unlock:
	folio_unlock(folio);
out_put:
	folio_put(folio);
	return result;
}

/* Merge with what a lookup found. @again is set when the next may do better. */
static enum pksm_outcome try_match(const struct pksm_visit *visit, struct pksm_side *self,
				   struct pksm_item *item, struct pksm_query *query,
				   struct pksm_match *match, bool *again)
{
	enum pksm_outcome result;

	if (!match->node)
		return pksm_pair(visit->hold, self, item, match->other, again, visit->gone);
	result = join(visit, self, item, match);
	*again = result == PKSM_FULL ||
		 (result == PKSM_POISONED && !PageHWPoison(self->page));
	/* Another content of the same hash, or ours changed since it was hashed? */
	if (result == PKSM_DIFFERENT)
		*again = pksm_content_hash(self->page) == item->hash;
	query->skip += *again && result != PKSM_FULL;
	return result;
}

/*
 * Steps 5 to 7: look for equal content until there is none, or one was merged with.
 * When a candidate was busy that may not be in a moment, that is the outcome: the
 * page is come back to, though it is in the tree.
 */
static enum pksm_outcome search(const struct pksm_visit *visit, struct pksm_side *self,
				struct pksm_item *item)
{
	struct pksm_query query = {
		.nid = pksm_pair_nid(self->page),
		.pfn = page_to_pfn(self->page),
		/* Parts of huge pages that are kept are flagged, and are matches all the same. */
		.flagged = visit->again || visit->whole,
	};
	enum pksm_outcome result, outcome = PKSM_WAITING;
	struct pksm_match match;
	bool again = true;
	unsigned int i;

	for (i = 0; i < TRIES && again; i++) {
		if (!pksm_shard_lookup(item, &query, &match) || match.busy)
			return PKSM_CONTENDED;
		if (!match.node && !match.other && (!match.more || query.skip))
			return outcome;
		/* There was none with room among those that were looked at: the next ones. */
		if (!match.node && !match.other)
			continue;
		result = try_match(visit, self, item, &query, &match, &again);
		if (result == PKSM_JOINED || result == PKSM_PAIRED)
			return result;
		/* It must not rest, except beside a mapping of its own frame (a fork). */
		pksm_shard_unclaim(item, result != PKSM_RESTING && (!again || i + 1 == TRIES));
		if (!again)
			return result;
		if (result == PKSM_KEPT)
			query.flagged = false;
		if (pksm_page_transient(result))
			outcome = result;
	}
	return pksm_page_transient(outcome) ? outcome : PKSM_CONTENDED;
}

/* The page's item; made, in no tree and with its hash set, if there was none. */
static struct pksm_item *item_for(const struct pksm_hold *hold, unsigned long addr,
				  u64 *record, u64 hash)
{
	struct pksm_item *item = pksm_record_item(*record);

	if (item)
		return item;
	item = pksm_item_alloc(hold->space, addr);
	if (!item)
		return NULL;
	pksm_shard_hash_set(item, hash);
	*record = pksm_record_of(item, *record);
	return item;
}

/* Steps 3 to 7, with a reference to the page. */
static enum pksm_outcome climb(const struct pksm_visit *visit, struct pksm_side *self,
			       u64 *record, enum pksm_outcome known, const struct pksm_past *past)
{
	u64 hash = pksm_content_hash(self->page);
	enum pksm_outcome result, merge = PKSM_GONE;
	struct pksm_item *item;

	if (!past->mask || (hash & past->mask) != past->hash)
		return changed(record, hash);
	if (hash == pksm_content_zero_hash() && READ_ONCE(pksm_tunables.use_zero_pages)) {
		merge = pksm_side_lock(self);
		if (merge == PKSM_MERGED)
			merge = pksm_merge_zero(self);
		if (merge == PKSM_ZERO)
			forget(record);
		if (merge == PKSM_ZERO || pksm_page_transient(merge))
			return merge;
	}
	if (known == PKSM_RESTING && !visit->again)
		return merge == PKSM_KEPT ? PKSM_KEPT : PKSM_RESTING;
	item = item_for(visit->hold, self->addr, record, hash);
	result = item ? search(visit, self, item) : PKSM_NOMEM;
	return merge == PKSM_KEPT && result == PKSM_WAITING ? PKSM_KEPT : result;
}

/* Has somebody claimed a page in the tree, or tried to, while it was looked at? */
static bool disturbed(u64 record)
{
	const struct pksm_item *item = pksm_record_item(record);

	return item && pksm_item_state(item) != PKSM_ITEM_UNSTABLE;
}

/**
 * pksm_page_visit() - visit one page
 * @visit: with its VMA held
 * @entry: as it was collected under this hold
 * @record: its record, which the caller's claim covers
 *
 * Context: process, inside the gate; sleeps for the lock of a merged page that this
 * process leaves; waits for nothing that user space can keep.
 * Return: what became of it.
 */
enum pksm_outcome pksm_page_visit(const struct pksm_visit *visit, const struct pksm_entry *entry,
				  u64 *record)
{
	struct vm_area_struct *vma = visit->hold->vma;
	struct pksm_side self = { .vma = vma, .addr = entry->addr, .whole = visit->whole };
	enum pksm_outcome known, result;
	struct pksm_past past;

	if (entry->node)
		return visit_merged(visit, entry, record);
	known = recall(visit, entry, record, &past);
	if (known != PKSM_RESTING && known != PKSM_WAITING)
		return known;
	self.page = pksm_table_reference(vma->vm_mm, entry->addr, entry->pfn);
	if (!self.page)
		return PKSM_GONE;
	if (PageHWPoison(self.page))
		result = PKSM_POISONED;
	else
		result = climb(visit, &self, record, known, &past);
	pksm_side_end(&self, visit->gone);
	/* Our reference may have kept somebody from merging it, who found another then. */
	if ((result == PKSM_RESTING || result == PKSM_WAITING) && disturbed(*record))
		return PKSM_CONTENDED;
	return result;
}
