// SPDX-License-Identifier: GPL-2.0-only
/*
 * families.c - pages that a hash may confuse.
 */
#include <stddef.h>
#include <string.h>

#include "families.h"

u64 base[WORDS];

u64 draw(void)
{
	static u64 state = 2026;
	u64 x = state += 0xda942042e4dd58b5ULL;

	x = (x ^ x >> 31) * 0x7fb5d329728ea185ULL;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44dULL;
	return x ^ x >> 33;
}

void draw_words(u64 *words, int n)
{
	while (n--)
		*words++ = draw();
}

static void one_bit(u64 *page, int n)
{
	memcpy(page, base, PAGE);
	page[n / 64] ^= 1ULL << n % 64;
}

static void one_bit_of_zero(u64 *page, int n)
{
	memset(page, 0, PAGE);
	page[n / 64] = 1ULL << n % 64;
}

static void one_byte(u64 *page, int n)
{
	memcpy(page, base, PAGE);
	page[n / 64] ^= (u64)(n % 8 * 36 + 3) << 8 * (n / 8 % 8);
}

static void last_word(u64 *page, int n)
{
	memcpy(page, base, PAGE);
	page[WORDS - 1] = n;
}

static void first_word_of_zero(u64 *page, int n)
{
	memset(page, 0, PAGE);
	page[0] = n;
}

/* All pairs (i, j) with i < j: n is the number of one. */
static void swapped_words(u64 *page, int n)
{
	int i = 0;
	u64 t;

	memcpy(page, base, PAGE);
	while (n >= WORDS - 1 - i)
		n -= WORDS - 1 - i++;
	t = page[i];
	page[i] = page[i + 1 + n];
	page[i + 1 + n] = t;
}

static void swapped_pairs(u64 *page, int n)
{
	int i = 0;
	u64 t[2];

	memcpy(page, base, PAGE);
	while (n >= WORDS / 2 - 1 - i)
		n -= WORDS / 2 - 1 - i++;
	memcpy(t, page + 2 * i, sizeof(t));
	memcpy(page + 2 * i, page + 2 * (i + 1 + n), sizeof(t));
	memcpy(page + 2 * (i + 1 + n), t, sizeof(t));
}

static void sparse(u64 *page, int n)
{
	memset(page, 0, PAGE);
	page[n % WORDS] = n / WORDS + 1;
}

static void same_words(u64 *page, int n)
{
	int i;

	for (i = 0; i < WORDS; i++)
		page[i] = n;
}

static void same_bytes(u64 *page, int n)
{
	memset(page, n, PAGE);
}

static void counting(u64 *page, int n)
{
	__u32 *half = (__u32 *)page;
	int i;

	for (i = 0; i < 2 * WORDS; i++)
		half[i] = n + i;
}

/* Opposite differences in two places: they cancel out where one key serves both. */
static void opposite(u64 *page, int n)
{
	memcpy(page, base, PAGE);
	page[n % 256] += n / 256 + 1;
	page[n % 256 + 256] -= n / 256 + 1;
}

void random_page(u64 *page, int n)
{
	(void)n;
	draw_words(page, WORDS);
}

const struct family families[] = {
	{ "one bit of a random page", one_bit, 64 * WORDS },
	{ "one bit of a zero page", one_bit_of_zero, 64 * WORDS },
	{ "one byte of a random page", one_byte, 64 * WORDS },
	{ "the last 8 bytes", last_word, 65536 },
	{ "a zero page with a number", first_word_of_zero, 65536 },
	{ "two words swapped", swapped_words, 65536 },
	{ "two pairs of words swapped", swapped_pairs, WORDS / 2 * (WORDS / 2 - 1) / 2 },
	{ "a small number anywhere", sparse, 65536 },
	{ "the same word all over", same_words, 65536 },
	{ "the same byte all over", same_bytes, 256 },
	{ "counting on from a number", counting, 65536 },
	{ "opposite differences", opposite, 65536 },
	{ "random pages", random_page, 65536 },
	{ NULL, NULL, 0 },
};

/* Pairs that were chosen to collide, under many keys. */

static void top_bits(u64 *a, u64 *b)
{
	memcpy(b, a, PAGE);
	b[0] ^= 1ULL << 63;
	b[2] ^= 1ULL << 63;
}

static void top_bits_of_pair(u64 *a, u64 *b)
{
	memcpy(b, a, PAGE);
	b[0] ^= 1ULL << 63;
	b[1] ^= 1ULL << 63;
}

static void halves(u64 *a, u64 *b)
{
	memcpy(b, a + WORDS / 2, PAGE / 2);
	memcpy(b + WORDS / 2, a, PAGE / 2);
}

static void complement(u64 *a, u64 *b)
{
	int i;

	for (i = 0; i < WORDS; i++)
		b[i] = ~a[i];
}

static void order_of_pair(u64 *a, u64 *b)
{
	memcpy(b, a, PAGE);
	b[0] = a[1];
	b[1] = a[0];
}

static void polynomial(u64 *a, u64 *b)
{
	memcpy(b, a, PAGE);
	b[100] ^= 0x82f63b78ULL << 1 | 1;
}

static void zero_products(u64 *a, u64 *b)
{
	int i;

	memset(a, 0, PAGE);
	memset(b, 0, PAGE);
	for (i = 0; i < WORDS; i += 2)
		b[i] = i + 1;
}

const struct pair pairs[] = {
	{ "upper bits of two words", top_bits },
	{ "upper bits of a pair", top_bits_of_pair },
	{ "halves swapped", halves },
	{ "complement", complement },
	{ "a pair swapped", order_of_pair },
	{ "multiple of CRC32C's polynomial", polynomial },
	{ "every second word zero", zero_products },
	{ NULL, NULL },
};
