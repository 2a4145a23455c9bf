/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records: eight bytes for each page that could be merged.
 */
#ifndef PKSM_RECORD_H
#define PKSM_RECORD_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/rbtree.h>

struct pksm_entry;
struct pksm_item;
struct pksm_mm;

#define PKSM_RANGE_PAGES	PTRS_PER_PTE
#define PKSM_RANGE_SIZE		(PKSM_RANGE_PAGES * PAGE_SIZE)
#define PKSM_RANGE_MASK		(~(PKSM_RANGE_SIZE - 1))

/**
 * struct pksm_range - the records of one 2 MiB range
 * @rb: in the space's tree
 * @start: first address
 * @nr: records
 * @cap: records that there is room for; PKSM_RANGE_PAGES: one for each page
 * @rec: @cap records, followed by their page indices unless there is one for
 *	each page
 *
 * Sized by population: ten bytes a record with few, eight with many.
 */
struct pksm_range {
	struct rb_node rb;
	unsigned long start;
	u16 nr;
	u16 cap;
	u64 *rec;
};

/**
 * struct pksm_scratch - room to rearrange one range
 * @rec: by page of the range; 0: no record
 */
struct pksm_scratch {
	u64 rec[PKSM_RANGE_PAGES];
};

/*
 * A record is a pointer to the page's item, or, with the lowest bit set: whether
 * a hash was taken, visits to be skipped, visits in vain, and the upper bits of
 * the hash.
 */
#define PKSM_RECORD_PLAIN	BIT_ULL(0)
#define PKSM_RECORD_HASHED	BIT_ULL(1)
#define PKSM_RECORD_HASH	GENMASK_ULL(63, 16)

static inline struct pksm_item *pksm_record_item(u64 rec)
{
	return rec & PKSM_RECORD_PLAIN ? NULL : (struct pksm_item *)(unsigned long)rec;
}

static inline u8 pksm_record_age(u64 rec)
{
	return rec >> 8;
}

static inline u8 pksm_record_skips(u64 rec)
{
	return (rec >> 2) & 0x3f;
}

static inline u64 pksm_record_plain(u64 hash, bool hashed, u8 age, u8 skips)
{
	return PKSM_RECORD_PLAIN | (hashed ? PKSM_RECORD_HASHED : 0) |
	       (u64)(skips & 0x3f) << 2 | (u64)age << 8 |
	       (hashed ? hash & PKSM_RECORD_HASH : 0);
}

int pksm_record_init(void);
void pksm_record_exit(void);
struct pksm_range *pksm_record_sync(struct pksm_mm *space, unsigned long start,
				    unsigned long end, const struct pksm_entry *entries,
				    unsigned int nr, struct pksm_scratch *scratch);
bool pksm_record_skip(u8 *age, u8 *skips);
u64 *pksm_record_slot(struct pksm_range *range, unsigned long addr);
unsigned long pksm_record_drop(struct pksm_mm *space, unsigned long start, unsigned long end,
			       unsigned int max);
void pksm_record_drop_all(struct pksm_mm *space);

#endif
