// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories: which ranges of a space have records.
 *
 * A space that has one page in each 2 MiB must not pay for the range more than for
 * the page. So a range is a word here, in a sorted array of up to 4 KiB, a leaf;
 * leaves stand in a tree. The word is a pointer to the range, or, when its only record
 * is an item, that record: the item knows its address. Such a range is folded.
 *
 * Holders of different ranges look things up at the same time, so what an entry
 * points to is looked at by others than its holder, for its address alone. It has to
 * be there as long as the entry is: a folded range is opened before its item may go.
 *
 * Entered by whoever may change records (record.c). Owns &pksm_mm.ranges_lock, which
 * covers leaves, their order and their entries; innermost: under it only memory is
 * allocated, without waiting.
 */
#include <linux/slab.h>

#include "directory.h"
#include "item.h"
#include "memory.h"
#include "record.h"
#include "space.h"

/**
 * struct leaf - part of a directory
 * @rb: in the space's tree
 * @nr: entries, at least one
 * @cap: entries that there is room for
 * @entry: in the order of their addresses
 */
struct leaf {
	struct rb_node rb;
	u16 nr;
	u16 cap;
	unsigned long entry[] __counted_by(cap);
};

#define CAP_MAX	((PKSM_DIRECTORY_LEAF - sizeof(struct leaf)) / sizeof(unsigned long))

/* In an entry: the rest points to a range. Clear in a record that has an item. */
#define RANGE	PKSM_RECORD_PLAIN

static size_t size_of(u16 cap)
{
	return sizeof(struct leaf) + cap * sizeof(unsigned long);
}

/* What the allocator would give anyway for @nr entries. */
static u16 cap_for(u16 nr)
{
	return (kmalloc_size_roundup(size_of(nr)) - sizeof(struct leaf)) / sizeof(unsigned long);
}

static struct pksm_range *range_of(unsigned long entry)
{
	return entry & RANGE ? (struct pksm_range *)(entry & ~RANGE) : NULL;
}

static unsigned long entry_of(const struct pksm_range *range)
{
	return (unsigned long)range | RANGE;
}

/* The range of an entry that is folded, in @one. */
static void unfold(struct pksm_range *one, unsigned long entry)
{
	unsigned long addr = pksm_item_addr(pksm_record_item(entry));

	*one = (struct pksm_range){
		.start = addr & PKSM_RANGE_MASK,
		.one = entry,
		.nr = 1,
		.cap = 1,
		.index = pksm_range_index(addr),
	};
}

/* First address of an entry's range. */
static unsigned long start_of(unsigned long entry)
{
	const struct pksm_range *range = range_of(entry);

	return range ? range->start :
	       pksm_item_addr(pksm_record_item(entry)) & PKSM_RANGE_MASK;
}

static struct leaf *leaf_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct leaf, rb);
}

/* The last leaf that begins at or before @start; else the first one, or NULL. */
static struct leaf *leaf_find(const struct pksm_mm *space, unsigned long start)
{
	struct rb_node *at = space->ranges.rb_node, *best = NULL;

	lockdep_assert_held(&space->ranges_lock);
	while (at) {
		if (start_of(leaf_of(at)->entry[0]) <= start) {
			best = at;
			at = at->rb_right;
		} else {
			at = at->rb_left;
		}
	}
	return leaf_of(best ? best : rb_first(&space->ranges));
}

/* Position of the first entry that is not before @start. */
static u16 position(const struct leaf *leaf, unsigned long start)
{
	u16 low = 0, high = leaf->nr;

	while (low < high) {
		u16 mid = (low + high) / 2;

		if (start_of(leaf->entry[mid]) < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first entry whose range begins at or behind @start and before @end, or NULL. */
static unsigned long *find(const struct pksm_mm *space, unsigned long start,
			   unsigned long end)
{
	struct leaf *leaf = leaf_find(space, start);
	u16 at = leaf ? position(leaf, start) : 0;

	if (leaf && at == leaf->nr) {
		leaf = leaf_of(rb_next(&leaf->rb));
		at = 0;
	}
	return leaf && start_of(leaf->entry[at]) < end ? &leaf->entry[at] : NULL;
}

/* Write over the entry of the range that begins at @start, which is there. */
static void put(struct pksm_mm *space, unsigned long start, unsigned long value)
{
	unsigned long *entry;

	spin_lock(&space->ranges_lock);
	entry = find(space, start, start + 1);
	if (!WARN_ON_ONCE(!entry))
		*entry = value;
	spin_unlock(&space->ranges_lock);
}

static struct leaf *leaf_alloc(struct pksm_mm *space, u16 nr)
{
	u16 cap = cap_for(nr);
	struct leaf *leaf = pksm_memory_block(size_of(cap));

	if (!leaf)
		return NULL;
	leaf->cap = cap;
	leaf->nr = 0;
	pksm_space_bytes_add(space, size_of(cap));
	return leaf;
}

static void leaf_free(struct pksm_mm *space, struct leaf *leaf)
{
	pksm_space_bytes_add(space, -(long)size_of(leaf->cap));
	kfree(leaf);
}

static bool before(struct rb_node *node, const struct rb_node *other)
{
	return start_of(leaf_of(node)->entry[0]) <
	       start_of(rb_entry(other, struct leaf, rb)->entry[0]);
}

/* Let a leaf with entries take part. */
static void leaf_link(struct pksm_mm *space, struct leaf *leaf)
{
	rb_add(&leaf->rb, &space->ranges, before);
}

/* Put @leaf's entries into a block for @nr of them; NULL when there is no memory. */
static struct leaf *leaf_resize(struct pksm_mm *space, struct leaf *leaf, u16 nr)
{
	struct leaf *new = leaf_alloc(space, nr);

	if (!new)
		return NULL;
	new->nr = leaf->nr;
	memcpy(new->entry, leaf->entry, leaf->nr * sizeof(leaf->entry[0]));
	rb_replace_node(&leaf->rb, &new->rb, &space->ranges);
	leaf_free(space, leaf);
	return new;
}

/* Move the second half of a full leaf to a new one behind it. */
static bool leaf_split(struct pksm_mm *space, struct leaf *leaf)
{
	u16 keep = leaf->nr / 2, move = leaf->nr - keep;
	struct leaf *new = leaf_alloc(space, move);

	if (!new)
		return false;
	new->nr = move;
	memcpy(new->entry, leaf->entry + keep, move * sizeof(leaf->entry[0]));
	leaf->nr = keep;
	leaf_link(space, new);
	return true;
}

static bool leaf_begin(struct pksm_mm *space, unsigned long entry)
{
	struct leaf *leaf = leaf_alloc(space, 1);

	if (!leaf)
		return false;
	leaf->nr = 1;
	leaf->entry[0] = entry;
	leaf_link(space, leaf);
	return true;
}

static bool insert(struct pksm_mm *space, unsigned long start, unsigned long entry)
{
	struct leaf *leaf = leaf_find(space, start);
	u16 at = leaf ? position(leaf, start) : 0;

	/* Spaces grow at their ends, mostly: full leaves stay full then. */
	if (leaf && at == CAP_MAX) {
		leaf = leaf_of(rb_next(&leaf->rb));
		at = 0;
	}
	if (!leaf || (!at && leaf->nr == CAP_MAX))
		return leaf_begin(space, entry);
	if (leaf->nr == CAP_MAX) {
		if (!leaf_split(space, leaf))
			return false;
		leaf = leaf_find(space, start);
		at = position(leaf, start);
	}
	if (leaf->nr == leaf->cap)
		leaf = leaf_resize(space, leaf, leaf->nr + 1);
	if (!leaf)
		return false;
	memmove(leaf->entry + at + 1, leaf->entry + at,
		(leaf->nr - at) * sizeof(leaf->entry[0]));
	leaf->entry[at] = entry;
	leaf->nr++;
	return true;
}

static void erase(struct pksm_mm *space, struct leaf *leaf, u16 at)
{
	leaf->nr--;
	memmove(leaf->entry + at, leaf->entry + at + 1,
		(leaf->nr - at) * sizeof(leaf->entry[0]));
	if (!leaf->nr) {
		rb_erase(&leaf->rb, &space->ranges);
		leaf_free(space, leaf);
	} else if (leaf->nr <= leaf->cap / 4) {
		leaf_resize(space, leaf, leaf->nr);
	}
}

/**
 * pksm_directory_open() - the records of a range, or of the next that has some
 * @space: the space
 * @start: first address of the range to begin with
 * @end: a range that begins here or behind does not count
 * @one: where to unfold a range that is folded
 *
 * The caller has the claim on all of that, so what is found stays. @one is known to
 * others until the range is folded, replaced or removed.
 * Context: does not sleep.
 * Return: the range, or NULL.
 */
struct pksm_range *pksm_directory_open(struct pksm_mm *space, unsigned long start,
				       unsigned long end, struct pksm_range *one)
{
	struct pksm_range *range = NULL;
	unsigned long *entry;

	spin_lock(&space->ranges_lock);
	entry = find(space, start, end);
	if (entry) {
		range = range_of(*entry);
		if (!range) {
			unfold(one, *entry);
			*entry = entry_of(one);
			range = one;
		}
	}
	spin_unlock(&space->ranges_lock);
	return range;
}

/**
 * pksm_directory_lonely_outside() - is a range folded, and its page elsewhere?
 * @space: the space
 * @start: first address of interest, in a range that the caller has the claim on
 * @end: one behind the last; in the same range
 *
 * Context: does not sleep.
 * Return: true when there is nothing to be done between @start and @end.
 */
bool pksm_directory_lonely_outside(struct pksm_mm *space, unsigned long start,
				   unsigned long end)
{
	unsigned long *entry, addr;
	bool outside = true;

	spin_lock(&space->ranges_lock);
	entry = find(space, start & PKSM_RANGE_MASK, end);
	if (entry && range_of(*entry)) {
		outside = false;
	} else if (entry) {
		addr = pksm_item_addr(pksm_record_item(*entry));
		outside = addr < start || addr >= end;
	}
	spin_unlock(&space->ranges_lock);
	return outside;
}

/**
 * pksm_directory_insert() - a range gets records
 * @space: the space
 * @range: not there yet; the caller has the claim on it
 *
 * Context: does not sleep.
 * Return: false when there is no memory.
 */
bool pksm_directory_insert(struct pksm_mm *space, struct pksm_range *range)
{
	bool done;

	spin_lock(&space->ranges_lock);
	done = insert(space, range->start, entry_of(range));
	spin_unlock(&space->ranges_lock);
	return done;
}

/**
 * pksm_directory_replace() - a range's records are kept elsewhere now
 * @space: the space
 * @range: where; what was there before is not known to others any more
 *
 * Context: the caller has the claim on the range; does not sleep.
 */
void pksm_directory_replace(struct pksm_mm *space, struct pksm_range *range)
{
	put(space, range->start, entry_of(range));
}

/**
 * pksm_directory_fold() - keep a range's only record here
 * @space: the space
 * @range: its one record has an item; it is not known to others any more
 *
 * Context: as pksm_directory_replace().
 */
void pksm_directory_fold(struct pksm_mm *space, struct pksm_range *range)
{
	put(space, range->start, range->one);
}

/**
 * pksm_directory_remove() - a range has no records any more
 * @space: the space
 * @start: its first address
 *
 * Context: as pksm_directory_replace().
 */
void pksm_directory_remove(struct pksm_mm *space, unsigned long start)
{
	struct leaf *leaf;
	u16 at;

	spin_lock(&space->ranges_lock);
	leaf = leaf_find(space, start);
	at = leaf ? position(leaf, start) : 0;
	if (!WARN_ON_ONCE(!leaf || at == leaf->nr || start_of(leaf->entry[at]) != start))
		erase(space, leaf, at);
	spin_unlock(&space->ranges_lock);
}
