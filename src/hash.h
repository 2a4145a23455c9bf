/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hash: 64 bits of a page, under a key that is drawn at load.
 *
 * Two steps. Words are taken in pairs, a key word is added to each, and the
 * products of the pairs are summed up:
 *
 *	sum = (w[0] + k[0]) * (w[1] + k[1]) + ... + (w[510] + k[510]) * (w[511] + k[511])
 *
 * where the additions are modulo 2^64, products and sum modulo 2^128. This is NH
 * of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999) with words of 64 bits.
 * Let two pages differ, say in w[0]. With all key words but k[1] fixed their sums
 * are equal for one value of k[1] at most: so they are with a probability of
 * 2^-64 at most. Then the two halves of the sum go through
 *
 *	(c + a * low + b * high modulo 2^128) >> 64
 *
 * with a, b, c of 128 key bits each: multilinear hashing (Lemire, Kaser 2014),
 * which maps two different sums to a pair of values of which each of the 2^128
 * is as probable as any other. What comes last loses nothing, as it can be undone;
 * it makes neighbours look unrelated under a given key.
 *
 * So, whatever two different pages are chosen without knowing the key, their
 * hashes are equal with a probability of 2^-63 at most, any n bits of them with
 * 2^-n + 2^-64 at most. Who knows the key computes as many pages of one hash as
 * wanted. docs/hash.md has the measurements.
 *
 * Plain C for any 64-bit machine of either byte order, with values that depend on
 * the order: mul, add and adc, no instruction that a CPU may lack, no state of the
 * FPU, so there is no fall-back. What the compiler makes of it is as quick as
 * assembly. Builds in programs, too: tests/hash.
 */
#ifndef PKSM_HASH_H
#define PKSM_HASH_H

#ifndef __KERNEL__
#include <sys/cdefs.h>	/* __always_inline */
#endif
#include <linux/types.h>

#ifndef __KERNEL__
typedef __u64 u64;
#endif

#define PKSM_HASH_WORDS	512	/* in a page of 4 KiB */

/**
 * struct pksm_hash_key - uniformly random, all of it
 * @add: what is added to the words of the page
 * @fold: c, a and b of the second step, each with its upper half first
 */
struct pksm_hash_key {
	u64 add[PKSM_HASH_WORDS];
	u64 fold[6];
};

static __always_inline unsigned __int128 pksm_hash_wide(u64 high, u64 low)
{
	return (unsigned __int128)high << 64 | low;
}

static __always_inline unsigned __int128 pksm_hash_pair(const u64 *w, const u64 *k)
{
	return (unsigned __int128)(w[0] + k[0]) * (w[1] + k[1]);
}

static __always_inline unsigned __int128 pksm_hash_eight(const u64 *w, const u64 *k)
{
	return pksm_hash_pair(w, k) + pksm_hash_pair(w + 2, k + 2) +
	       pksm_hash_pair(w + 4, k + 4) + pksm_hash_pair(w + 6, k + 6);
}

/* The first step: the sum of the products. */
static __always_inline unsigned __int128 pksm_hash_sum(const u64 *w, const u64 *k)
{
	const u64 *end = w + PKSM_HASH_WORDS;
	unsigned __int128 sum = 0;

	do {
		sum += pksm_hash_eight(w, k);
		sum += pksm_hash_eight(w + 8, k + 8);
		sum += pksm_hash_eight(w + 16, k + 16);
		sum += pksm_hash_eight(w + 24, k + 24);
		sum += pksm_hash_eight(w + 32, k + 32);
		sum += pksm_hash_eight(w + 40, k + 40);
		sum += pksm_hash_eight(w + 48, k + 48);
		sum += pksm_hash_eight(w + 56, k + 56);
		w += 64;
		k += 64;
	} while (w != end);
	return sum;
}

/* A one-to-one map of 64 bits; the factor is 2^64 divided by the golden ratio. */
static __always_inline u64 pksm_hash_stir(u64 x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ULL;
	x ^= x >> 29;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 32;
}

/* The second step: 64 bits of the sum's 128. */
static __always_inline u64 pksm_hash_fold(unsigned __int128 sum, const u64 *f)
{
	unsigned __int128 line = pksm_hash_wide(f[0], f[1]);

	line += pksm_hash_wide(f[2], f[3]) * (u64)sum;
	line += pksm_hash_wide(f[4], f[5]) * (u64)(sum >> 64);
	return pksm_hash_stir(line >> 64);
}

/**
 * pksm_hash_page() - hash one page of 4 KiB
 * @page: its first byte, aligned to 8 bytes
 * @key: random
 *
 * The page may be written to meanwhile: then the value is that of some mixture of
 * old and new words, or, should the compiler read one of them twice, of none. It
 * is a number in any case; nothing is looked up or branched on by what was read.
 *
 * Return: a function of page and key alone.
 */
static __always_inline u64 pksm_hash_page(const void *page, const struct pksm_hash_key *key)
{
	return pksm_hash_fold(pksm_hash_sum(page, key->add), key->fold);
}

#endif
