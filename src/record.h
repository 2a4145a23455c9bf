/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records: eight bytes for each page that could be merged.
 */
#ifndef PKSM_RECORD_H
#define PKSM_RECORD_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>

struct pksm_entry;
struct pksm_item;
struct pksm_mm;

#define PKSM_RANGE_PAGES	PTRS_PER_PTE
#define PKSM_RANGE_SIZE		(PKSM_RANGE_PAGES * PAGE_SIZE)
#define PKSM_RANGE_MASK		(~(PKSM_RANGE_SIZE - 1))

/**
 * struct pksm_range - the records of one 2 MiB range
 * @start: first address
 * @rec: @cap records, followed by their page indices unless there is one for each
 *	page; while @cap is above 1
 * @one: the only record; while @cap is 1
 * @nr: records
 * @cap: records that there is room for; PKSM_RANGE_PAGES: one for each page
 * @index: page index of @one
 *
 * Sized by population: ten bytes a record with few, eight with many. A range whose
 * only record has an item is not needed at all (directory.c).
 */
struct pksm_range {
	unsigned long start;
	union {
		u64 *rec;
		u64 one;
	};
	u16 nr;
	u16 cap;
	u16 index;
};

/**
 * struct pksm_scratch - room to rearrange one range
 * @rec: by page of the range; 0: no record
 * @one: a range that was folded, as long as it is open
 */
struct pksm_scratch {
	u64 rec[PKSM_RANGE_PAGES];
	struct pksm_range one;
};

/* Which page of its range this is. */
static inline u16 pksm_range_index(unsigned long addr)
{
	return (addr & ~PKSM_RANGE_MASK) >> PAGE_SHIFT;
}

/*
 * A record is a pointer to the page's item, or, with the lowest bit set, whether a
 * hash was taken and 48 bits of it. The top byte, which is all ones in a pointer to
 * kernel memory, holds visits in vain and visits to be skipped. 0: no record.
 */
#define PKSM_RECORD_PLAIN	BIT_ULL(0)
#define PKSM_RECORD_HASHED	BIT_ULL(1)
#define PKSM_RECORD_FRESH	PKSM_RECORD_PLAIN	/* carries nothing yet */
#define PKSM_RECORD_HASH	GENMASK_ULL(55, 8)
#define PKSM_RECORD_SKIPS	GENMASK_ULL(59, 56)
#define PKSM_RECORD_AGE		GENMASK_ULL(63, 60)
#define PKSM_RECORD_TOP		(PKSM_RECORD_SKIPS | PKSM_RECORD_AGE)

static inline struct pksm_item *pksm_record_item(u64 rec)
{
	if (rec & PKSM_RECORD_PLAIN)
		return NULL;
	return (struct pksm_item *)(unsigned long)(rec | PKSM_RECORD_TOP);
}

/* A record with an item; visits in vain and to be skipped as in @old. */
static inline u64 pksm_record_of(const struct pksm_item *item, u64 old)
{
	return ((unsigned long)item & ~PKSM_RECORD_TOP) | (old & PKSM_RECORD_TOP);
}

/* A record without an item; likewise. */
static inline u64 pksm_record_plain(u64 hash, u64 old)
{
	return PKSM_RECORD_PLAIN | PKSM_RECORD_HASHED | (hash & PKSM_RECORD_HASH) |
	       (old & PKSM_RECORD_TOP);
}

int pksm_record_init(void);
void pksm_record_exit(void);
void pksm_record_sync(struct pksm_mm *space, struct pksm_range **cached, unsigned long start,
		      unsigned long end, const struct pksm_entry *entries, unsigned int nr,
		      struct pksm_scratch *scratch);
void pksm_record_close(struct pksm_mm *space, struct pksm_range **cached, bool done,
		       struct pksm_scratch *scratch);
bool pksm_record_skip(u64 *record);
u64 *pksm_record_slot(struct pksm_range *range, unsigned long addr, unsigned int *hint);
unsigned long pksm_record_drop(struct pksm_mm *space, unsigned long start, unsigned long end,
			       unsigned int max);
void pksm_record_drop_all(struct pksm_mm *space);

#endif
