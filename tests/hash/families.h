/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that a hash may confuse.
 */
#ifndef FAMILIES_H
#define FAMILIES_H

#include "../../src/hash.h"

#define WORDS		PKSM_HASH_WORDS
#define PAGE		(WORDS * sizeof(u64))
#define MOST_PAIRS	16

/* Pages that are nearly the same; make() makes the n-th. */
struct family {
	const char *name;
	void (*make)(u64 *page, int n);
	int pages;
};

/* Two pages that were chosen to collide; a is set before, and may be changed. */
struct pair {
	const char *name;
	void (*make)(u64 *a, u64 *b);
};

extern const struct family families[];
extern const struct pair pairs[];

/* A random page, that some families are made from. */
extern u64 base[WORDS];

u64 draw(void);
void draw_words(u64 *words, int n);
void random_page(u64 *page, int n);

#endif
