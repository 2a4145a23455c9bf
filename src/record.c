// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records: what is remembered of each page between two visits.
 *
 * Entered by the holder of a range's claim, by the reaper of a dead space, and by
 * the controller with the gate shut: each the only one to touch that range. Owns
 * no lock; &pksm_mm.ranges_lock covers the shape of a space's tree of ranges,
 * which holders of different ranges change.
 */
#include <linux/bitfield.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "counter.h"
#include "item.h"
#include "memory.h"
#include "record.h"
#include "space.h"
#include "table.h"

/* Above this many, a record for each page takes less room than packed ones. */
#define PACKED_MAX	204

static struct kmem_cache *cache;

static u16 index_of(unsigned long addr)
{
	return (addr & ~PKSM_RANGE_MASK) >> PAGE_SHIFT;
}

static u16 *indices(const struct pksm_range *range)
{
	return (u16 *)(range->rec + range->cap);
}

static bool direct(const struct pksm_range *range)
{
	return range->cap == PKSM_RANGE_PAGES;
}

static size_t block_size(u16 cap)
{
	if (cap == PKSM_RANGE_PAGES)
		return cap * sizeof(u64);
	return cap * (sizeof(u64) + sizeof(u16));
}

/* What the allocator would give anyway, in records. */
static u16 cap_for(u16 nr)
{
	if (nr > PACKED_MAX)
		return PKSM_RANGE_PAGES;
	return kmalloc_size_roundup(block_size(nr)) / (sizeof(u64) + sizeof(u16));
}

static void bytes_add(struct pksm_mm *space, long bytes)
{
	atomic_long_add(bytes, &space->bytes);
	pksm_count_add(PKSM_COUNT_BYTES, bytes);
}

static void records_add(struct pksm_mm *space, long n)
{
	pksm_count_add(PKSM_COUNT_RECORDS, n);
	pksm_mm_records_add(space->mm, n);
}

/*
 * The range of @addr, or the first behind it that begins before @end: the caller
 * has the claim on all of that, so the range stays. Others may go at any moment.
 */
static struct pksm_range *first_from(struct pksm_mm *space, unsigned long addr,
				     unsigned long end)
{
	struct pksm_range *best = NULL, *range;
	struct rb_node *at;

	spin_lock(&space->ranges_lock);
	for (at = space->ranges.rb_node; at;) {
		range = rb_entry(at, struct pksm_range, rb);
		if (range->start + PKSM_RANGE_SIZE - 1 < addr) {
			at = at->rb_right;
		} else {
			best = range;
			at = at->rb_left;
		}
	}
	if (best && best->start >= end)
		best = NULL;
	spin_unlock(&space->ranges_lock);
	return best;
}

static struct pksm_range *create(struct pksm_mm *space, unsigned long addr)
{
	struct pksm_range *range = pksm_memory_object(cache);
	struct rb_node **link = &space->ranges.rb_node, *parent = NULL;

	if (!range)
		return NULL;
	range->start = addr & PKSM_RANGE_MASK;
	spin_lock(&space->ranges_lock);
	while (*link) {
		parent = *link;
		if (range->start < rb_entry(parent, struct pksm_range, rb)->start)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&range->rb, parent, link);
	rb_insert_color(&range->rb, &space->ranges);
	spin_unlock(&space->ranges_lock);
	bytes_add(space, sizeof(*range));
	return range;
}

static void destroy(struct pksm_mm *space, struct pksm_range *range)
{
	spin_lock(&space->ranges_lock);
	rb_erase(&range->rb, &space->ranges);
	spin_unlock(&space->ranges_lock);
	bytes_add(space, -(long)(sizeof(*range) + (range->rec ? block_size(range->cap) : 0)));
	kfree(range->rec);
	kmem_cache_free(cache, range);
}

/* Position of the first packed record whose index is not below @index. */
static unsigned int lower_bound(const struct pksm_range *range, u16 index)
{
	const u16 *idx = indices(range);
	unsigned int low = 0, high = range->nr;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (idx[mid] < index)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/**
 * pksm_record_skip() - is a page to be skipped by age on this visit?
 * @record: its record; visits in vain are counted up, visits to be skipped down
 *
 * The first visits are never skipped, so that a page can go through all steps;
 * then ever more are, up to eight in a row.
 * Return: true when it is.
 */
bool pksm_record_skip(u64 *record)
{
	unsigned int age = FIELD_GET(PKSM_RECORD_AGE, *record);
	unsigned int skips = FIELD_GET(PKSM_RECORD_SKIPS, *record);
	bool skip = age >= 3 && skips;

	if (skip)
		skips--;
	else if (age >= 3)
		skips = age <= 3 ? 1 : age <= 5 ? 2 : age <= 8 ? 4 : 8;
	age = min(age + 1, 9U);
	*record &= ~PKSM_RECORD_TOP;
	*record |= FIELD_PREP(PKSM_RECORD_AGE, age) | FIELD_PREP(PKSM_RECORD_SKIPS, skips);
	return skip;
}

/**
 * pksm_record_slot() - the record of a page
 * @range: its range, or NULL
 * @addr: its address
 * @hint: where it may stand; set to where the next may
 *
 * Return: where the record is, until the range is synced or dropped; NULL when
 * there is none.
 */
u64 *pksm_record_slot(struct pksm_range *range, unsigned long addr, unsigned int *hint)
{
	u16 index = index_of(addr);
	unsigned int at = *hint;

	if (!range || !range->nr)
		return NULL;
	if (direct(range))
		return range->rec[index] ? &range->rec[index] : NULL;
	if (at >= range->nr || indices(range)[at] != index)
		at = lower_bound(range, index);
	*hint = at + 1;
	return at < range->nr && indices(range)[at] == index ? &range->rec[at] : NULL;
}

/* Do the records between @start and @end match the entries one for one? */
static bool matches(const struct pksm_range *range, unsigned long start,
		    unsigned long end, const struct pksm_entry *entries, unsigned int nr)
{
	unsigned int at, i, stop = index_of(end - 1) + 1;

	if (!range->nr)
		return !nr;
	if (direct(range)) {
		for (at = index_of(start), i = 0; at < stop; at++) {
			bool wanted = i < nr && index_of(entries[i].addr) == at;

			if (wanted != !!range->rec[at])
				return false;
			i += wanted;
		}
		return true;
	}
	at = lower_bound(range, index_of(start));
	for (i = 0; i < nr; i++, at++)
		if (at >= range->nr || indices(range)[at] != index_of(entries[i].addr))
			return false;
	return at >= range->nr || indices(range)[at] >= stop;
}

static void expand(const struct pksm_range *range, struct pksm_scratch *scratch)
{
	unsigned int i;

	memset(scratch, 0, sizeof(*scratch));
	if (range->nr && direct(range))
		memcpy(scratch->rec, range->rec, sizeof(scratch->rec));
	else
		for (i = 0; i < range->nr; i++)
			scratch->rec[indices(range)[i]] = range->rec[i];
}

/* Forget new records, which carry nothing yet, until @cap are left. */
static unsigned int shed(struct pksm_scratch *scratch, unsigned int nr, u16 cap)
{
	unsigned int i;

	for (i = 0; i < PKSM_RANGE_PAGES && nr > cap; i++) {
		if (scratch->rec[i] == PKSM_RECORD_FRESH) {
			scratch->rec[i] = 0;
			nr--;
		}
	}
	return nr;
}

/*
 * Write the scratch back, in a block of the right size. Without memory for a
 * larger block new records are shed; old ones always fit where they were.
 */
static void compress(struct pksm_mm *space, struct pksm_range *range,
		     struct pksm_scratch *scratch, unsigned int nr)
{
	u16 cap = nr ? cap_for(nr) : 0;
	unsigned int i, at = 0;
	u64 *block;

	if (cap != range->cap) {
		block = cap ? pksm_memory_block(block_size(cap)) : NULL;
		if (block || !cap) {
			bytes_add(space, (long)block_size(cap) - (long)block_size(range->cap));
			kfree(range->rec);
			range->rec = block;
			range->cap = cap;
		} else {
			nr = shed(scratch, nr, range->cap);
		}
	}
	if (range->cap && direct(range)) {
		memcpy(range->rec, scratch->rec, sizeof(scratch->rec));
	} else {
		for (i = 0; i < PKSM_RANGE_PAGES && at < nr; i++) {
			if (!scratch->rec[i])
				continue;
			range->rec[at] = scratch->rec[i];
			indices(range)[at++] = i;
		}
	}
	records_add(space, (long)nr - range->nr);
	range->nr = nr;
}

/* Make the records between @start and @end match the entries. */
static void rearrange(struct pksm_mm *space, struct pksm_range *range, unsigned long start,
		      unsigned long end, const struct pksm_entry *entries, unsigned int nr,
		      struct pksm_scratch *scratch)
{
	unsigned int i, at, total = 0;

	expand(range, scratch);
	for (at = index_of(start), i = 0; at <= index_of(end - 1); at++) {
		bool wanted = i < nr && index_of(entries[i].addr) == at;
		struct pksm_item *item = NULL;

		i += wanted;
		if (wanted && !scratch->rec[at]) {
			scratch->rec[at] = PKSM_RECORD_FRESH;
		} else if (!wanted && scratch->rec[at]) {
			item = pksm_record_item(scratch->rec[at]);
			scratch->rec[at] = 0;
		}
		if (item)
			pksm_item_drop(item);
	}
	for (at = 0; at < PKSM_RANGE_PAGES; at++)
		total += !!scratch->rec[at];
	compress(space, range, scratch, total);
}

/**
 * pksm_record_sync() - make the records fit the pages that are there
 * @space: the space, whose claim the caller holds
 * @cached: the range, if the caller knows it from an earlier call under the same
 *	claim, or NULL; set to the range, NULL when it has no record
 * @start: first address, page-aligned
 * @end: one behind the last; in the same range
 * @entries: the candidate pages between them, in order
 * @nr: their number, may be 0
 * @scratch: the caller's
 *
 * Pages that came get a fresh record, unless there is no memory; the records of
 * those that went, and their items, are freed.
 * Context: inside the gate; sleeps for locks of merged pages.
 */
void pksm_record_sync(struct pksm_mm *space, struct pksm_range **cached, unsigned long start,
		      unsigned long end, const struct pksm_entry *entries, unsigned int nr,
		      struct pksm_scratch *scratch)
{
	struct pksm_range *range = *cached;

	if (!range)
		range = first_from(space, start & PKSM_RANGE_MASK, end);
	if (!range && nr)
		range = create(space, start);
	*cached = range;
	if (!range || matches(range, start, end, entries, nr))
		return;
	rearrange(space, range, start, end, entries, nr, scratch);
	if (range->nr)
		return;
	destroy(space, range);
	*cached = NULL;
}

/* Drop the records from index @from up to @to, in place. */
static void cut(struct pksm_mm *space, struct pksm_range *range, u16 from, u16 to)
{
	unsigned int at = 0, keep = 0, gone = 0;
	struct pksm_item *item;
	u16 index;

	for (at = 0; at < (direct(range) ? range->cap : range->nr); at++) {
		index = direct(range) ? at : indices(range)[at];
		if (!range->rec[at])
			continue;
		if (index >= from && index <= to) {
			item = pksm_record_item(range->rec[at]);
			range->rec[at] = 0;
			gone++;
			if (item)
				pksm_item_drop(item);
		} else if (!direct(range)) {
			range->rec[keep] = range->rec[at];
			indices(range)[keep++] = index;
		}
	}
	range->nr -= gone;
	records_add(space, -(long)gone);
}

/**
 * pksm_record_drop() - forget the pages of a part of a space
 * @space: the space, whose claim on that part the caller holds
 * @start: first address
 * @end: one behind the last
 * @max: ranges to look at, at most
 *
 * Context: inside the gate; sleeps for locks of merged pages.
 * Return: @end when done, otherwise where to go on.
 */
unsigned long pksm_record_drop(struct pksm_mm *space, unsigned long start, unsigned long end,
			       unsigned int max)
{
	struct pksm_range *range;
	unsigned long next;

	while (start < end && max--) {
		range = first_from(space, start, end);
		if (!range)
			return end;
		start = max(start, range->start);
		next = min(end, range->start + PKSM_RANGE_SIZE);
		if (range->nr)
			cut(space, range, index_of(start), index_of(next - 1));
		if (!range->nr)
			destroy(space, range);
		start = next;
		cond_resched();
	}
	return start;
}

/**
 * pksm_record_drop_all() - forget all pages of a space
 * @space: dead, or the gate is shut
 *
 * Context: as pksm_record_drop().
 */
void pksm_record_drop_all(struct pksm_mm *space)
{
	pksm_record_drop(space, 0, ULONG_MAX, UINT_MAX);
}

/**
 * pksm_record_init() - make the cache
 *
 * Return: 0 or -ENOMEM.
 */
int __init pksm_record_init(void)
{
	BUILD_BUG_ON(sizeof(struct pksm_range) > 48);
	/* Unmerged, so that a leak is seen when the cache is destroyed. */
	cache = KMEM_CACHE(pksm_range, SLAB_NO_MERGE);
	return cache ? 0 : -ENOMEM;
}

/**
 * pksm_record_exit() - free the cache; no record exists
 */
void pksm_record_exit(void)
{
	kmem_cache_destroy(cache);
}
