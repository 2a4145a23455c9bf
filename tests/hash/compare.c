// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare.c - ways to compare two pages. Built as the kernel builds the module.
 */
#include <stddef.h>

#include "candidates.h"

#define WORDS	PKSM_HASH_WORDS
#define CANDIDATE __attribute__((__noinline__, __aligned__(64)))

/* Differences of some words gathered, then one branch. */
static inline bool gathered(const u64 *a, const u64 *b, int step)
{
	const u64 *end = a + WORDS;
	u64 differ;
	int i;

	do {
		differ = 0;
#pragma GCC unroll 16
		for (i = 0; i < step; i++)
			differ |= a[i] ^ b[i];
		if (differ)
			return false;
		a += step;
		b += step;
	} while (a != end);
	return true;
}

/* A branch for each word. */
static inline bool each(const u64 *a, const u64 *b, int step)
{
	const u64 *end = a + WORDS;
	int i;

	do {
#pragma GCC unroll 16
		for (i = 0; i < step; i++) {
			if (a[i] != b[i])
				return false;
		}
		a += step;
		b += step;
	} while (a != end);
	return true;
}

CANDIDATE static bool equal_gather8(const u64 *a, const u64 *b)
{
	return gathered(a, b, 8);
}

CANDIDATE static bool equal_gather16(const u64 *a, const u64 *b)
{
	return gathered(a, b, 16);
}

CANDIDATE static bool equal_each1(const u64 *a, const u64 *b)
{
	return each(a, b, 1);
}

CANDIDATE static bool equal_each8(const u64 *a, const u64 *b)
{
	return each(a, b, 8);
}

CANDIDATE static bool equal_each16(const u64 *a, const u64 *b)
{
	return each(a, b, 16);
}

CANDIDATE static bool equal_repe(const u64 *a, const u64 *b)
{
	u64 count = WORDS;
	bool equal;

	asm volatile("repe cmpsq"
		     : "+S"(a), "+D"(b), "+c"(count), "=@cce"(equal) : : "memory");
	return equal;
}

const struct compare_candidate compare_candidates[] = {
	{ "equal_gather8", "xor and or, a branch for 8 words", equal_gather8 },
	{ "equal_gather16", "xor and or, a branch for 16 words", equal_gather16 },
	{ "equal_each1", "a branch for each word, 1 a step", equal_each1 },
	{ "equal_each8", "a branch for each word, 8 a step", equal_each8 },
	{ "equal_each16", "**a branch for each word, 16 a step (chosen)**", equal_each16 },
	{ "equal_repe", "repe cmpsq", equal_repe },
	{ NULL, NULL, NULL },
};
