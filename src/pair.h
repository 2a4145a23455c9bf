/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs: making a merged page.
 */
#ifndef PKSM_PAIR_H
#define PKSM_PAIR_H

#include <linux/types.h>

#include "outcome.h"

struct folio_batch;
struct page;
struct pksm_hold;
struct pksm_item;
struct pksm_side;

s16 pksm_pair_nid(const struct page *page);
enum pksm_outcome pksm_pair(const struct pksm_hold *hold, struct pksm_side *self,
			    struct pksm_item *item, struct pksm_item *other, bool *blame,
			    struct folio_batch *gone);

#endif
