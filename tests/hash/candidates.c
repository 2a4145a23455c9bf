// SPDX-License-Identifier: GPL-2.0-only
/*
 * candidates.c - ways to hash a page. Built as the kernel builds the module.
 *
 * All take their secrets from the words of one key. Those that are not NH need
 * some words only; how their lanes are put together at the end matters little
 * for their time, and nothing but time is measured of them.
 */
#include <stddef.h>

#include "candidates.h"

#define WORDS	PKSM_HASH_WORDS
#define CANDIDATE __attribute__((__noinline__, __aligned__(64)))

/* Reading the page and nothing else: what no hash can beat. */
CANDIDATE static u64 hash_read(const u64 *p, const struct pksm_hash_key *key)
{
	const u64 *end = p + WORDS;
	u64 a = key->add[0];
	int i;

	for (; p != end; p += 16) {
#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			asm volatile("addq %1, %0" : "+r"(a) : "m"(p[i]) : "cc");
	}
	return a;
}

/* xxh64, from its description. */
#define P1	0x9e3779b185ebca87ULL
#define P2	0xc2b2ae3d27d4eb4fULL
#define P3	0x165667b19e3779f9ULL
#define P4	0x85ebca77c2b2ae63ULL

static inline u64 turn(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline u64 xxh_step(u64 lane, u64 word)
{
	return turn(lane + word * P2, 31) * P1;
}

CANDIDATE static u64 hash_xxh64(const u64 *p, const struct pksm_hash_key *key)
{
	const u64 *end = p + WORDS;
	u64 seed = key->add[0];
	u64 v[4] = { seed + P1 + P2, seed + P2, seed, seed - P1 };
	u64 h;
	int i;

	do {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			v[i] = xxh_step(v[i], p[i]);
		p += 4;
	} while (p != end);
	h = turn(v[0], 1) + turn(v[1], 7) + turn(v[2], 12) + turn(v[3], 18);
	for (i = 0; i < 4; i++)
		h = (h ^ xxh_step(0, v[i])) * P1 + P4;
	h += WORDS * sizeof(u64);
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

/* CRC32C by the instruction of SSE 4.2: streams of interleaved words. */
static inline void crc(u64 *sum, const u64 *word)
{
	asm("crc32q %1, %0" : "+r"(*sum) : "m"(*word));
}

static inline u64 crc_streams(const u64 *p, const u64 *seed, int streams, int step)
{
	u64 s[4] = { seed[0], seed[1], seed[2], seed[3] };
	int i, left = WORDS % step;
	const u64 *end = p + WORDS - left;

	do {
#pragma GCC unroll 16
		for (i = 0; i < step; i++)
			crc(&s[i % streams], p + i);
		p += step;
	} while (p != end);
#pragma GCC unroll 16
	for (i = 0; i < left; i++)
		crc(&s[i], p + i);
	return (s[0] << 32 | s[1]) ^ pksm_hash_stir(streams > 2 ? s[2] << 32 : 0) ^
	       (streams > 3 ? s[3] : 0);
}

CANDIDATE static u64 hash_crc2(const u64 *p, const struct pksm_hash_key *key)
{
	return crc_streams(p, key->add, 2, 16);
}

CANDIDATE static u64 hash_crc3(const u64 *p, const struct pksm_hash_key *key)
{
	return crc_streams(p, key->add, 3, 15);
}

CANDIDATE static u64 hash_crc4(const u64 *p, const struct pksm_hash_key *key)
{
	return crc_streams(p, key->add, 4, 16);
}

/* Multiply and fold: each lane is multiplied on and on, both halves are xored. */
static inline u64 fold(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

static inline u64 fold_end(const u64 *lane, int lanes, const u64 *k)
{
	u64 h = 0;
	int i;

	for (i = 0; i < lanes; i++)
		h = fold(h ^ lane[i], k[i]);
	return h;
}

static inline u64 fold_lanes(const u64 *p, const u64 *k, int lanes)
{
	const u64 *end = p + WORDS;
	u64 lane[8];
	int i;

	for (i = 0; i < lanes; i++)
		lane[i] = k[8 + i];
	do {
#pragma GCC unroll 8
		for (i = 0; i < 8; i++)
			lane[i % lanes] = fold(p[2 * i] ^ k[i % lanes],
					       p[2 * i + 1] ^ lane[i % lanes]);
		p += 16;
	} while (p != end);
	return fold_end(lane, lanes, k + 16);
}

CANDIDATE static u64 hash_fold4(const u64 *p, const struct pksm_hash_key *key)
{
	return fold_lanes(p, key->add, 4);
}

CANDIDATE static u64 hash_fold8(const u64 *p, const struct pksm_hash_key *key)
{
	return fold_lanes(p, key->add, 8);
}

static inline void fold_mulx(u64 *lane, const u64 *p, u64 k)
{
	asm("movq %1, %%rdx\n\t"
	    "xorq %3, %%rdx\n\t"
	    "xorq %2, %0\n\t"
	    "mulx %0, %%rax, %0\n\t"
	    "xorq %%rax, %0"
	    : "+r"(*lane) : "m"(p[0]), "m"(p[1]), "r"(k) : "rax", "rdx", "cc");
}

CANDIDATE static u64 hash_fold4x(const u64 *p, const struct pksm_hash_key *key)
{
	const u64 *end = p + WORDS;
	const u64 *k = key->add;
	u64 k0 = k[0], k1 = k[1], k2 = k[2], k3 = k[3];
	u64 a = k[8], b = k[9], c = k[10], d = k[11];
	int i;

	do {
#pragma GCC unroll 2
		for (i = 0; i < 16; i += 8) {
			fold_mulx(&a, p + i, k0);
			fold_mulx(&b, p + i + 2, k1);
			fold_mulx(&c, p + i + 4, k2);
			fold_mulx(&d, p + i + 6, k3);
		}
		p += 16;
	} while (p != end);
	return fold_end((u64[]){ a, b, c, d }, 4, k + 16);
}

/* NH as the module does it. */
CANDIDATE static u64 hash_nh(const u64 *p, const struct pksm_hash_key *key)
{
	return pksm_hash_page(p, key);
}

/* The same by hand. */
struct wide {
	u64 low, high;
};

static inline void nh_pair(struct wide *sum, const u64 *p, const u64 *k)
{
	asm("movq %2, %%rax\n\t"
	    "addq %4, %%rax\n\t"
	    "movq %3, %%rdx\n\t"
	    "addq %5, %%rdx\n\t"
	    "mulq %%rdx\n\t"
	    "addq %%rax, %0\n\t"
	    "adcq %%rdx, %1"
	    : "+r"(sum->low), "+r"(sum->high)
	    : "m"(p[0]), "m"(p[1]), "m"(k[0]), "m"(k[1]) : "rax", "rdx", "cc");
}

static inline struct wide nh_block(const u64 *p, const u64 *k, int words, int step)
{
	const u64 *end = p + words;
	struct wide sum = { 0, 0 };
	int i;

	do {
#pragma GCC unroll 64
		for (i = 0; i < step; i += 2)
			nh_pair(&sum, p + i, k + i);
		p += step;
		k += step;
	} while (p != end);
	return sum;
}

CANDIDATE static u64 hash_nh_asm(const u64 *p, const struct pksm_hash_key *key)
{
	struct wide sum = nh_block(p, key->add, WORDS, 64);

	return pksm_hash_fold(pksm_hash_wide(sum.high, sum.low), key->fold);
}

/* Several sums to 64 bits: the second step with more terms. */
static inline u64 fold_sums(const struct wide *sum, int sums, const u64 *k)
{
	unsigned __int128 line = pksm_hash_wide(k[0], k[1]);
	int i;

#pragma GCC unroll 4
	for (i = 0; i < sums; i++) {
		line += pksm_hash_wide(k[4 * i + 2], k[4 * i + 3]) * sum[i].low;
		line += pksm_hash_wide(k[4 * i + 4], k[4 * i + 5]) * sum[i].high;
	}
	return pksm_hash_stir(line >> 64);
}

/* A key of 1 KiB for all four blocks of the page. */
CANDIDATE static u64 hash_nh_1k(const u64 *p, const struct pksm_hash_key *key)
{
	struct wide sum[4];
	int i;

	for (i = 0; i < 4; i++)
		sum[i] = nh_block(p + 128 * i, key->add, 128, 32);
	return fold_sums(sum, 4, key->add + 128);
}

/* The same, all blocks at once, with the key in registers. */
static inline void nh_pair_reg(u64 *low, u64 *high, const u64 *p, u64 k0, u64 k1)
{
	asm("movq %4, %%rax\n\t"
	    "addq %2, %%rax\n\t"
	    "movq %5, %%rdx\n\t"
	    "addq %3, %%rdx\n\t"
	    "mulq %%rdx\n\t"
	    "addq %%rax, %0\n\t"
	    "adcq %%rdx, %1"
	    : "+r"(*low), "+r"(*high)
	    : "m"(p[0]), "m"(p[1]), "r"(k0), "r"(k1) : "rax", "rdx", "cc");
}

CANDIDATE static u64 hash_nh_1k_4(const u64 *p, const struct pksm_hash_key *key)
{
	u64 al = 0, ah = 0, bl = 0, bh = 0, cl = 0, ch = 0, dl = 0, dh = 0;
	const u64 *end = p + WORDS / 4;
	const u64 *k = key->add;
	int i;

	do {
#pragma GCC unroll 4
		for (i = 0; i < 8; i += 2) {
			u64 k0 = k[i], k1 = k[i + 1];

			nh_pair_reg(&al, &ah, p + i, k0, k1);
			nh_pair_reg(&bl, &bh, p + i + 128, k0, k1);
			nh_pair_reg(&cl, &ch, p + i + 256, k0, k1);
			nh_pair_reg(&dl, &dh, p + i + 384, k0, k1);
		}
		p += 8;
		k += 8;
	} while (p != end);
	return fold_sums((struct wide[]){ { al, ah }, { bl, bh }, { cl, ch }, { dl, dh } }, 4, k);
}

/* Products xored instead of added: as quick, and without NH's proof. */
static inline void xor_pair(struct wide *sum, const u64 *p, const u64 *k)
{
	asm("movq %2, %%rax\n\t"
	    "xorq %4, %%rax\n\t"
	    "movq %3, %%rdx\n\t"
	    "xorq %5, %%rdx\n\t"
	    "mulq %%rdx\n\t"
	    "xorq %%rax, %0\n\t"
	    "xorq %%rdx, %1"
	    : "+r"(sum->low), "+r"(sum->high)
	    : "m"(p[0]), "m"(p[1]), "m"(k[0]), "m"(k[1]) : "rax", "rdx", "cc");
}

CANDIDATE static u64 hash_nh_xor(const u64 *p, const struct pksm_hash_key *key)
{
	const u64 *end = p + WORDS;
	const u64 *k = key->add;
	struct wide sum = { 0, 0 };
	int i;

	do {
#pragma GCC unroll 32
		for (i = 0; i < 32; i += 2)
			xor_pair(&sum, p + i, k + i);
		p += 32;
		k += 32;
	} while (p != end);
	return pksm_hash_fold(pksm_hash_wide(sum.high, sum.low), key->fold);
}

/* Multilinear: a product for each word; a key word serves four blocks. */
static inline void linear_word(u64 *low, u64 *high, const u64 *p, u64 k)
{
	asm("mulx %2, %%rax, %%rcx\n\t"
	    "addq %%rax, %0\n\t"
	    "adcq %%rcx, %1"
	    : "+r"(*low), "+r"(*high) : "m"(*p), "d"(k) : "rax", "rcx", "cc");
}

CANDIDATE static u64 hash_linear(const u64 *p, const struct pksm_hash_key *key)
{
	u64 al = 0, ah = 0, bl = 0, bh = 0, cl = 0, ch = 0, dl = 0, dh = 0;
	const u64 *end = p + WORDS / 4;
	const u64 *k = key->add;
	int i;

	do {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			linear_word(&al, &ah, p + i, k[i]);
			linear_word(&bl, &bh, p + i + 128, k[i]);
			linear_word(&cl, &ch, p + i + 256, k[i]);
			linear_word(&dl, &dh, p + i + 384, k[i]);
		}
		p += 4;
		k += 4;
	} while (p != end);
	return fold_sums((struct wide[]){ { al, ah }, { bl, bh }, { cl, ch }, { dl, dh } }, 4, k);
}

/* One key word for two words: the other is added to the upper half of the sum. */
static inline void chain_pair(u64 *low, u64 *high, const u64 *p, const u64 *k)
{
	asm("movq %2, %%rax\n\t"
	    "addq %4, %%rax\n\t"
	    "addq %3, %1\n\t"
	    "mulq %1\n\t"
	    "addq %%rax, %0\n\t"
	    "adcq %%rdx, %1"
	    : "+r"(*low), "+r"(*high) : "m"(p[0]), "m"(p[1]), "m"(*k) : "rax", "rdx", "cc");
}

CANDIDATE static u64 hash_chain(const u64 *p, const struct pksm_hash_key *key)
{
	const u64 *k = key->add, *seed = k + WORDS / 2;
	u64 al = seed[0], ah = seed[1], bl = seed[2], bh = seed[3];
	u64 cl = seed[4], ch = seed[5], dl = seed[6], dh = seed[7];
	const u64 *end = p + WORDS;
	int i;

	do {
#pragma GCC unroll 4
		for (i = 0; i < 32; i += 8) {
			chain_pair(&al, &ah, p + i, k + i / 2);
			chain_pair(&bl, &bh, p + i + 2, k + i / 2 + 1);
			chain_pair(&cl, &ch, p + i + 4, k + i / 2 + 2);
			chain_pair(&dl, &dh, p + i + 6, k + i / 2 + 3);
		}
		p += 32;
		k += 16;
	} while (p != end);
	return fold_sums((struct wide[]){ { al, ah }, { bl, bh }, { cl, ch }, { dl, dh } }, 4,
			 seed + 8);
}

const struct hash_candidate hash_candidates[] = {
	{ "hash_read", "(reading the page)", hash_read, NEED_NONE },
	{ "hash_xxh64", "xxh64", hash_xxh64, NEED_NONE },
	{ "hash_crc2", "crc32c, 2 streams", hash_crc2, NEED_SSE42 },
	{ "hash_crc3", "crc32c, 3 streams", hash_crc3, NEED_SSE42 },
	{ "hash_crc4", "crc32c, 4 streams", hash_crc4, NEED_SSE42 },
	{ "hash_fold4", "multiply-fold, 4 lanes, C", hash_fold4, NEED_NONE },
	{ "hash_fold8", "multiply-fold, 8 lanes, C", hash_fold8, NEED_NONE },
	{ "hash_fold4x", "multiply-fold, 4 lanes, mulx", hash_fold4x, NEED_BMI2 },
	{ "hash_nh", "**NH, key of 4 KiB, C (chosen)**", hash_nh, NEED_NONE },
	{ "hash_nh_asm", "NH, key of 4 KiB, assembly", hash_nh_asm, NEED_NONE },
	{ "hash_nh_1k", "NH, key of 1 KiB for 4 blocks", hash_nh_1k, NEED_NONE },
	{ "hash_nh_1k_4", "NH, the same, key in registers", hash_nh_1k_4, NEED_NONE },
	{ "hash_nh_xor", "NH, products xored", hash_nh_xor, NEED_NONE },
	{ "hash_linear", "multilinear, key of 1 KiB for 4 blocks, mulx", hash_linear, NEED_BMI2 },
	{ "hash_chain", "NH, 4 lanes, every second key word is the sum", hash_chain, NEED_NONE },
	{ NULL, NULL, NULL, NEED_NONE },
};
