/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to hash a page, and ways to compare two, to be measured.
 */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include <stdbool.h>

#include "../../src/hash.h"

/* What a candidate needs besides the instructions that every x86-64 CPU has. */
enum need {
	NEED_NONE,
	NEED_SSE42,
	NEED_BMI2,
};

struct hash_candidate {
	const char *name;	/* of the function, too: callgrind counts in it */
	const char *what;
	u64 (*hash)(const u64 *page, const struct pksm_hash_key *key);
	enum need need;
};

struct compare_candidate {
	const char *name;
	const char *what;
	bool (*equal)(const u64 *a, const u64 *b);
};

extern const struct hash_candidate hash_candidates[];
extern const struct compare_candidate compare_candidates[];

#endif
