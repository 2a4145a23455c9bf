/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items: one for each page that is in a tree.
 */
#ifndef PKSM_ITEM_H
#define PKSM_ITEM_H

#include <linux/mm_types.h>
#include <linux/rbtree.h>

struct anon_vma;
struct folio;
struct pksm_mm;
struct pksm_node;

/*
 * State of an item, in the low bits of its address word; changed under the lock of
 * its shard once the item has been in a tree, unless nobody but the caller can change
 * it (pksm_shard_settle()). No bit: fresh, known to its record alone.
 */
#define PKSM_ITEM_UNSTABLE	BIT(0)	/* in an unstable tree */
#define PKSM_ITEM_CLAIMED	BIT(1)	/* the claimer's alone; in the tree or not */
#define PKSM_ITEM_STABLE	BIT(2)	/* on the list of a stable node */
#define PKSM_ITEM_FLAGGED	BIT(3)	/* to be looked up afresh, not to be matched */
#define PKSM_ITEM_DEAD		BIT(4)	/* its record is gone: the claimer frees it */
#define PKSM_ITEM_STATE		GENMASK(4, 0)

/*
 * The index of the item's shard lock: next to the state, and in the top bits, which
 * no address of a process has (56 bits at most). It never changes while others know
 * the item.
 */
#define PKSM_ITEM_LOCK_SHIFT	5
#define PKSM_ITEM_LOCK_LOW	7
#define PKSM_ITEM_LOCK_HIGH	4
#define PKSM_ITEM_LOCK_BITS	(PKSM_ITEM_LOCK_LOW + PKSM_ITEM_LOCK_HIGH)
#define PKSM_ITEM_ADDR		GENMASK(BITS_PER_LONG - 1 - PKSM_ITEM_LOCK_HIGH, PAGE_SHIFT)

/* No frame has these low bits, or its page is looked up once more than needed. */
#define PKSM_PFN_NONE	U32_MAX

/**
 * struct pksm_item - an rmap_item: a page of a process that is in a tree
 * @rb: node of the unstable tree; shard lock
 * @link: on the list of @node; folio lock of the merged page
 * @node: the stable node it is on; stays valid as long as the item is linked
 * @word: page address, lock index and state
 * @space: the registered space; NULL for an orphan (item.c)
 * @hash: of the content, while not stable
 * @anon_vma: through which the mapping is found, while stable; a reference is held
 * @nid: NUMA node of its unstable tree, while in one
 * @pfn: low bits of the frame for which nothing equal was found, while in one
 * @index: linear page index of the mapping in @anon_vma, while stable
 * @orphan: next orphan; orphans have no address
 *
 * 56 bytes, 73 in a page: with its 8-byte record, 64.1 bytes for each page in a
 * tree. Allocated and freed by the holder of its range's claim, with two
 * exceptions: a claimer frees a dead one, and orphans belong to item.c.
 */
struct pksm_item {
	union {
		struct rb_node rb;
		struct {
			struct hlist_node link;
			struct pksm_node *node;
		};
	};
	union {
		unsigned long word;
		struct pksm_item *orphan;
	};
	struct pksm_mm *space;
	union {
		u64 hash;
		struct anon_vma *anon_vma;
	};
	union {
		struct {
			s16 nid;
			u32 pfn;
		};
		unsigned long index;
	};
};

static inline unsigned long pksm_item_state(const struct pksm_item *item)
{
	return READ_ONCE(item->word) & PKSM_ITEM_STATE;
}

static inline unsigned int pksm_item_lock_index(const struct pksm_item *item)
{
	unsigned long word = READ_ONCE(item->word);

	return word >> (BITS_PER_LONG - PKSM_ITEM_LOCK_HIGH) << PKSM_ITEM_LOCK_LOW |
	       (word >> PKSM_ITEM_LOCK_SHIFT & (BIT(PKSM_ITEM_LOCK_LOW) - 1));
}

/* An index as it stands in the address word. */
static inline unsigned long pksm_item_lock_word(unsigned long index)
{
	return index >> PKSM_ITEM_LOCK_LOW << (BITS_PER_LONG - PKSM_ITEM_LOCK_HIGH) |
	       (index & (BIT(PKSM_ITEM_LOCK_LOW) - 1)) << PKSM_ITEM_LOCK_SHIFT;
}

static inline unsigned long pksm_item_addr(const struct pksm_item *item)
{
	return READ_ONCE(item->word) & PKSM_ITEM_ADDR;
}

/**
 * pksm_item_on() - is this item on that node's list?
 * @item: of a page whose range the caller holds, or NULL
 * @node: any value, not dereferenced
 *
 * Return: true when it is; only the caller can change that.
 */
static inline bool pksm_item_on(const struct pksm_item *item, const struct pksm_node *node)
{
	if (!item || pksm_item_state(item) != PKSM_ITEM_STABLE)
		return false;
	/* Pairs with the release when the state was set: attached before that. */
	smp_rmb();
	return item->node == node;
}

int pksm_item_init(void);
void pksm_item_exit(void);
struct pksm_item *pksm_item_alloc(struct pksm_mm *space, unsigned long addr);
void pksm_item_free(struct pksm_item *item);
void pksm_item_attach(struct pksm_item *item, struct pksm_node *node,
		      struct folio *folio, struct anon_vma *anon_vma,
		      unsigned long index);
void pksm_item_drop(struct pksm_item *item);
void pksm_item_abandon(struct pksm_item *item, struct folio *folio);
bool pksm_item_orphans_sweep(void);

#endif
