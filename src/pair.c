// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs: one merged page is made of two plain ones of equal hash.
 *
 * Entered by the holder of one page's range, inside the gate, with that page's VMA
 * held; the other page's item is claimed, its range may be anybody's. Owns no lock.
 * Of the other page's space, VMA and folio the locks are tried, never waited for, so
 * two workers that pair each other's pages do not wait for each other.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>

#include "compat/mm.h"
#include "compat/symbol.h"
#include "hold.h"
#include "item.h"
#include "merge.h"
#include "node.h"
#include "pair.h"
#include "shard.h"
#include "space.h"
#include "table.h"
#include "tunable.h"

/**
 * pksm_pair_nid() - the NUMA node whose trees a page belongs to
 * @page: the page
 *
 * Return: node 0 while pages are merged across nodes.
 */
s16 pksm_pair_nid(const struct page *page)
{
	return READ_ONCE(pksm_tunables.merge_across_nodes) ? 0 : page_to_nid(page);
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
	bool alive;

	get_anon_vma(side->vma->anon_vma);
	pksm_item_attach(item, node, folio, anon_vma, folio->index);
	alive = pksm_shard_publish(node, nid, other, folio, side->vma->anon_vma,
				   pksm_mm_index(side->vma, side->addr));
	pksm_shard_settle(item);
	if (!alive)
		pksm_item_abandon(other, folio);
}

/*
 * Merge @self with the page at @side, whose VMA is held. @blame is set when the
 * other page, and not ours, is why it failed.
 */
static enum pksm_outcome merge_pair(struct pksm_side *self, struct pksm_item *item,
				    struct pksm_side *side, struct pksm_item *other,
				    bool *blame)
{
	struct pksm_entry entry;
	struct anon_vma *anon_vma;
	enum pksm_outcome result;
	struct pksm_node *node;
	struct folio *folio;

	*blame = true;
	if (!pksm_table_collect(side->vma, side->addr, side->addr + PAGE_SIZE, &entry) ||
	    entry.node)
		return PKSM_GONE;
	*blame = false;
	/* Shared since a fork: nothing to be won, and no huge page to be split for it. */
	if (entry.pfn == page_to_pfn(self->page))
		return PKSM_RESTING;
	/* First ours, without a reference to the other: both may be in one huge page. */
	result = pksm_side_lock(self);
	if (result != PKSM_MERGED)
		return result;
	*blame = true;
	side->page = pksm_table_reference(side->vma->vm_mm, side->addr, entry.pfn);
	if (!side->page || pksm_pair_nid(side->page) != pksm_pair_nid(self->page))
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
	result = pksm_merge_pair(self, side, node, blame);
	if (result == PKSM_PAIRED) {
		settle_pair(item, other, folio, node, anon_vma, side);
	} else {
		put_anon_vma(anon_vma);
		pksm_node_free(node);
	}
	return result;
}

/**
 * pksm_pair() - make one merged page of ours and of a claimed item's
 * @hold: our VMA, held
 * @self: our page
 * @item: ours, claimed by the caller, and by him still unless this succeeds
 * @other: the other, claimed by the caller; not to be touched afterwards
 * @blame: set when it is the other's fault that it failed, and not ours
 * @gone: for pages given up
 *
 * Context: process, inside the gate; tries locks only.
 * Return: PKSM_PAIRED, PKSM_RESTING when both map the same frame, or why not.
 */
enum pksm_outcome pksm_pair(const struct pksm_hold *hold, struct pksm_side *self,
			    struct pksm_item *item, struct pksm_item *other, bool *blame,
			    struct folio_batch *gone)
{
	struct pksm_mm *space = other->space;
	/* Whether a huge page is split for its matches is found out on a visit of its own. */
	struct pksm_side side = {
		.addr = pksm_item_addr(other),
		.whole = READ_ONCE(pksm_tunables.huge_min_matches) > 1,
	};
	struct pksm_hold reached = { };
	enum pksm_outcome result;
	bool same = space == hold->space;

	*blame = true;
	if (!same && !pksm_hold_alive(space)) {
		result = PKSM_GONE;
		goto out;
	}
	result = reach(hold, &reached, space, side.addr);
	if (result == PKSM_MERGED) {
		side.vma = reached.vma;
		result = merge_pair(self, item, &side, other, blame);
		pksm_side_end(&side, gone);
		if (!pksm_hold_covers(hold, space, side.addr))
			pksm_hold_end(&reached);
	}
	if (!same)
		pksm_hold_alive_end(space);
out:
	/*
	 * If it is the other's fault, it has to be visited before it is matched again:
	 * a page that cannot be merged would keep all its equals from each other. If it
	 * is ours, nothing changes for the other, or a page of ours that cannot be
	 * merged would do the same. But if ours is kept whole the other may be part of
	 * a huge page too, and has to count its own matches.
	 */
	if (result != PKSM_PAIRED && !pksm_shard_unclaim(other, *blame || result == PKSM_KEPT))
		pksm_item_free(other);
	pksm_space_put(space);
	return result;
}
