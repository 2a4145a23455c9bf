// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records: what is remembered of each page between two visits.
 *
 * Entered by the holder of a range's claim, by the reaper of a dead space, and by
 * the controller with the gate shut: each the only one to touch that range. Owns
 * no lock: where a space's ranges are is kept by directory.c.
 */
#include <linux/bitfield.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "counter.h"
#include "directory.h"
#include "item.h"
#include "memory.h"
#include "record.h"
#include "space.h"
#include "table.h"

/* Above this many, a record for each page takes less room than packed ones. */
#define PACKED_MAX	204

static struct kmem_cache *cache;

/* A range whose block is as small as can be: it has none. */
static bool single(const struct pksm_range *range)
{
	return range->cap == 1;
}

static u64 *records(struct pksm_range *range)
{
	return single(range) ? &range->one : range->rec;
}

static u16 *indices(struct pksm_range *range)
{
	return single(range) ? &range->index : (u16 *)(range->rec + range->cap);
}

static bool direct(const struct pksm_range *range)
{
	return range->cap == PKSM_RANGE_PAGES;
}

static size_t block_size(u16 cap)
{
	if (cap == 1)
		return 0;
	if (cap == PKSM_RANGE_PAGES)
		return cap * sizeof(u64);
	return cap * (sizeof(u64) + sizeof(u16));
}

/* What the allocator would give anyway, in records. */
static u16 cap_for(u16 nr)
{
	if (nr > PACKED_MAX)
		return PKSM_RANGE_PAGES;
	if (nr <= 1)
		return 1;
	return kmalloc_size_roundup(block_size(nr)) / (sizeof(u64) + sizeof(u16));
}

static void records_add(struct pksm_mm *space, long n)
{
	pksm_count_add(PKSM_COUNT_RECORDS, n);
	pksm_mm_records_add(space->mm, n);
}

static struct pksm_range *range_alloc(struct pksm_mm *space, unsigned long start)
{
	struct pksm_range *range = pksm_memory_object(cache);

	if (!range)
		return NULL;
	range->start = start;
	range->cap = 1;
	pksm_space_bytes_add(space, sizeof(*range));
	return range;
}

/* Free a range that is in no directory; what was unfolded has nothing of its own. */
static void range_free(struct pksm_mm *space, struct pksm_range *range,
		       const struct pksm_range *one)
{
	if (range == one)
		return;
	pksm_space_bytes_add(space, -(long)(sizeof(*range) + block_size(range->cap)));
	if (!single(range))
		kfree(range->rec);
	kmem_cache_free(cache, range);
}

static struct pksm_range *create(struct pksm_mm *space, unsigned long addr)
{
	struct pksm_range *range = range_alloc(space, addr & PKSM_RANGE_MASK);

	if (range && !pksm_directory_insert(space, range)) {
		range_free(space, range, NULL);
		range = NULL;
	}
	return range;
}

static void destroy(struct pksm_mm *space, struct pksm_range *range,
		    const struct pksm_range *one)
{
	pksm_directory_remove(space, range->start);
	range_free(space, range, one);
}

/* Position of the first packed record whose index is not below @index. */
static unsigned int lower_bound(struct pksm_range *range, u16 index)
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
 * Return: where the record is, until the range is synced, closed or dropped; NULL
 * when there is none.
 */
u64 *pksm_record_slot(struct pksm_range *range, unsigned long addr, unsigned int *hint)
{
	u16 index = pksm_range_index(addr);
	unsigned int at = *hint;

	if (!range || !range->nr)
		return NULL;
	if (direct(range))
		return range->rec[index] ? &range->rec[index] : NULL;
	if (at >= range->nr || indices(range)[at] != index)
		at = lower_bound(range, index);
	*hint = at + 1;
	return at < range->nr && indices(range)[at] == index ? &records(range)[at] : NULL;
}

/* Do the records between @start and @end match the entries one for one? */
static bool matches(struct pksm_range *range, unsigned long start, unsigned long end,
		    const struct pksm_entry *entries, unsigned int nr)
{
	unsigned int at, i, stop = pksm_range_index(end - 1) + 1;

	if (!range->nr)
		return !nr;
	if (direct(range)) {
		for (at = pksm_range_index(start), i = 0; at < stop; at++) {
			bool wanted = i < nr && pksm_range_index(entries[i].addr) == at;

			if (wanted != !!range->rec[at])
				return false;
			i += wanted;
		}
		return true;
	}
	at = lower_bound(range, pksm_range_index(start));
	for (i = 0; i < nr; i++, at++)
		if (at >= range->nr || indices(range)[at] != pksm_range_index(entries[i].addr))
			return false;
	return at >= range->nr || indices(range)[at] >= stop;
}

static void expand(struct pksm_range *range, struct pksm_scratch *scratch)
{
	unsigned int i;

	memset(scratch->rec, 0, sizeof(scratch->rec));
	if (range->nr && direct(range))
		memcpy(scratch->rec, range->rec, sizeof(scratch->rec));
	else
		for (i = 0; i < range->nr; i++)
			scratch->rec[indices(range)[i]] = records(range)[i];
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

/* Give the range a block for @cap records; what is in it is lost. */
static bool resize(struct pksm_mm *space, struct pksm_range *range, u16 cap)
{
	u64 *block = NULL;

	if (cap != 1) {
		block = pksm_memory_block(block_size(cap));
		if (!block)
			return false;
	}
	pksm_space_bytes_add(space, (long)block_size(cap) - (long)block_size(range->cap));
	if (!single(range))
		kfree(range->rec);
	range->rec = block;
	range->cap = cap;
	return true;
}

/* What was unfolded cannot grow: give it an object of its own. */
static struct pksm_range *own(struct pksm_mm *space, struct pksm_range *one)
{
	struct pksm_range *range = range_alloc(space, one->start);

	if (!range)
		return one;
	range->nr = 1;
	range->one = one->one;
	range->index = one->index;
	pksm_directory_replace(space, range);
	return range;
}

/*
 * Write the scratch back, in a block of the right size. Without memory for a
 * larger block new records are shed; old ones always fit where they were. Returns
 * the range, which may be another than before.
 */
static struct pksm_range *compress(struct pksm_mm *space, struct pksm_range *range,
				   struct pksm_scratch *scratch, unsigned int nr)
{
	u16 cap = cap_for(nr);
	unsigned int i, at = 0;

	if (cap != range->cap) {
		if (range == &scratch->one)
			range = own(space, range);
		if (range == &scratch->one || !resize(space, range, cap))
			nr = shed(scratch, nr, range->cap);
	}
	if (direct(range)) {
		memcpy(range->rec, scratch->rec, sizeof(scratch->rec));
	} else {
		for (i = 0; i < PKSM_RANGE_PAGES && at < nr; i++) {
			if (!scratch->rec[i])
				continue;
			records(range)[at] = scratch->rec[i];
			indices(range)[at++] = i;
		}
	}
	records_add(space, (long)nr - range->nr);
	range->nr = nr;
	return range;
}

/*
 * Make the records between @start and @end match the entries. Returns the range, which
 * may be another than before.
 */
static struct pksm_range *rearrange(struct pksm_mm *space, struct pksm_range *range,
				    unsigned long start, unsigned long end,
				    const struct pksm_entry *entries, unsigned int nr,
				    struct pksm_scratch *scratch)
{
	unsigned int i, at, total = 0;

	expand(range, scratch);
	for (at = pksm_range_index(start), i = 0; at <= pksm_range_index(end - 1); at++) {
		bool wanted = i < nr && pksm_range_index(entries[i].addr) == at;
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
	return compress(space, range, scratch, total);
}

/**
 * pksm_record_sync() - make the records fit the pages that are there
 * @space: the space, whose claim the caller holds
 * @cached: the range, if the caller knows it from an earlier call under the same
 *	claim, or NULL; set to the range, NULL when it has no record there
 * @start: first address, page-aligned
 * @end: one behind the last; in the same range
 * @entries: the candidate pages between them, in order
 * @nr: their number, may be 0
 * @scratch: the caller's
 *
 * Pages that came get a fresh record, unless there is no memory; the records of
 * those that went, and their items, are freed. pksm_record_close() has to follow
 * before @scratch is used again.
 * Context: inside the gate; sleeps for locks of merged pages.
 */
void pksm_record_sync(struct pksm_mm *space, struct pksm_range **cached, unsigned long start,
		      unsigned long end, const struct pksm_entry *entries, unsigned int nr,
		      struct pksm_scratch *scratch)
{
	struct pksm_range *range = *cached;

	if (!range) {
		if (!nr && pksm_directory_lonely_outside(space, start, end))
			return;
		range = pksm_directory_open(space, start & PKSM_RANGE_MASK, end, &scratch->one);
	}
	if (!range && nr)
		range = create(space, start);
	if (range && !matches(range, start, end, entries, nr)) {
		range = rearrange(space, range, start, end, entries, nr, scratch);
		if (!range->nr) {
			destroy(space, range, &scratch->one);
			range = NULL;
		}
	}
	*cached = range;
}

/*
 * Put the only record of a range back into the directory, or, without an item to know
 * its address, into an object of its own; without memory for that it is forgotten.
 */
static void fold(struct pksm_mm *space, struct pksm_range *range, struct pksm_range *one)
{
	if (pksm_record_item(range->one)) {
		pksm_directory_fold(space, range);
		range_free(space, range, one);
	} else if (range == one && own(space, one) == one) {
		records_add(space, -1);
		destroy(space, one, one);
	}
}

/**
 * pksm_record_close() - the pages of a batch have been visited
 * @space: as in pksm_record_sync()
 * @cached: the range, or NULL; set to NULL when it is not to be used any more
 * @done: the claim has come to its end
 * @scratch: the caller's; may be used for something else from here on
 *
 * Context: as pksm_record_sync(); does not sleep.
 */
void pksm_record_close(struct pksm_mm *space, struct pksm_range **cached, bool done,
		       struct pksm_scratch *scratch)
{
	struct pksm_range *range = *cached;

	if (!range || !single(range))
		return;
	if (range != &scratch->one && !done)
		return;
	*cached = NULL;
	fold(space, range, &scratch->one);
}

/* Drop the records from index @from up to @to, in place. */
static void cut(struct pksm_mm *space, struct pksm_range *range, u16 from, u16 to)
{
	unsigned int at, keep = 0, gone = 0;
	u64 *rec = records(range);
	struct pksm_item *item;
	u16 index;

	for (at = 0; at < (direct(range) ? range->cap : range->nr); at++) {
		index = direct(range) ? at : indices(range)[at];
		if (!rec[at])
			continue;
		if (index >= from && index <= to) {
			item = pksm_record_item(rec[at]);
			rec[at] = 0;
			gone++;
			if (item)
				pksm_item_drop(item);
		} else if (!direct(range)) {
			rec[keep] = rec[at];
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
	struct pksm_range *range, one;
	unsigned long next;

	while (start < end && max--) {
		range = pksm_directory_open(space, start & PKSM_RANGE_MASK, end, &one);
		if (!range)
			return end;
		start = max(start, range->start);
		next = min(end, range->start + PKSM_RANGE_SIZE);
		cut(space, range, pksm_range_index(start), pksm_range_index(next - 1));
		if (!range->nr)
			destroy(space, range, &one);
		else if (single(range))
			fold(space, range, &one);
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
	BUILD_BUG_ON(sizeof(struct pksm_range) > 24);
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
