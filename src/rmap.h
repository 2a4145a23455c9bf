/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reverse map: from a merged page to those who map it.
 */
#ifndef PKSM_RMAP_H
#define PKSM_RMAP_H

struct folio;
struct list_head;
struct page;
struct rmap_walk_control;

void pksm_rmap_walk(struct folio *folio, struct rmap_walk_control *rwc);
void pksm_rmap_migrate(struct folio *newfolio, struct folio *folio);
void pksm_rmap_collect(struct folio *folio, struct page *page, struct list_head *to_kill,
		       int force_early);

#endif
