/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stable nodes: one for each merged page frame.
 */
#ifndef PKSM_NODE_H
#define PKSM_NODE_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/page-flags.h>
#include <linux/rbtree.h>

/* No frame: the node's frame went offline. */
#define PKSM_NODE_NO_PFN	(~0UL)

/**
 * struct pksm_node - a merged page frame
 * @rb: node of the stable tree, unless @is_copy; shard lock
 * @copy: in the ring of copies of one hash; shard lock
 * @copies: further nodes of the same hash: the first of the ring, which has those that
 *	may have room before those that are @closed; unless @is_copy; shard lock
 * @hash: of the content; fixed
 * @pfn: the frame; changed by migration with both folios locked, read by all
 * @items: those who map the frame, &struct pksm_item.link; lock of the folio;
 *	the shard lock once the frame is gone
 * @sharers: items on @items that belong to a record (not orphans); likewise
 * @nid: NUMA node of its tree; shard lock
 * @is_copy: in the ring of the node that is in the tree; shard lock
 * @closed: a lookup has met it without room, and it has not been renewed since;
 *	where @is_copy; shard lock
 *
 * Alive as long as an item is linked to it. The frame's mapping points here;
 * no reference to the frame is held, so a node may be found whose frame is gone
 * (pksm_node_folio_get()).
 */
struct pksm_node {
	union {
		struct rb_node rb;
		struct list_head copy;
	};
	struct pksm_node *copies;
	u64 hash;
	unsigned long pfn;
	struct hlist_head items;
	int sharers;
	s16 nid;
	bool is_copy;
	bool closed;
};

int pksm_node_init(void);
void pksm_node_exit(void);
struct pksm_node *pksm_node_alloc(u64 hash);
void pksm_node_free(struct pksm_node *node);
long pksm_node_count(void);

struct folio *pksm_node_folio_get(struct pksm_node *node);
struct folio *pksm_node_folio_lock(struct pksm_node *node);
bool pksm_node_is_of(struct pksm_node *node, const struct folio *folio);

static inline void *pksm_node_mapping(const struct pksm_node *node)
{
	return (void *)((unsigned long)node | PAGE_MAPPING_KSM);
}

/**
 * pksm_node_of() - the stable node of a merged page
 * @folio: locked, or the result is only a value to compare
 *
 * Return: NULL when the folio is not merged, or has lost its node.
 */
static inline struct pksm_node *pksm_node_of(const struct folio *folio)
{
	unsigned long mapping = (unsigned long)READ_ONCE(folio->mapping);

	if ((mapping & PAGE_MAPPING_FLAGS) != PAGE_MAPPING_KSM)
		return NULL;
	return (struct pksm_node *)(mapping & ~PAGE_MAPPING_FLAGS);
}

#endif
