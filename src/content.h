/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Content: the hash of a page and the comparison of two.
 */
#ifndef PKSM_CONTENT_H
#define PKSM_CONTENT_H

#include <linux/types.h>

struct page;

void pksm_content_init(void);
u64 pksm_content_hash(struct page *page);
u64 pksm_content_zero_hash(void);
bool pksm_content_equal(struct page *a, struct page *b);

#endif
