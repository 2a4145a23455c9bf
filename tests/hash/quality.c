// SPDX-License-Identifier: GPL-2.0-only
/*
 * quality.c - what the hash of src/hash.h has to hold.
 *
 *	quality		the hash; prints figures, and ends with status 1 when one is bad
 *	quality FAULT	the hash with a fault: has to end with status 1
 *	quality list	names of the faults
 *
 * All is drawn from one fixed seed, so that a run is like every other. Limits are
 * such that a random function breaks one of them for one seed in ten thousand.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "reference.h"

#define KEPT	48	/* the upper bits, which a record keeps */
#define SHARDS	7	/* the upper bits, which choose a shard */

static struct pksm_hash_key key;
static u64 (*hash)(const u64 *page);
static bool bad;

static void draw_key(void)
{
	draw_words(key.add, WORDS);
	draw_words(key.fold, 6);
}

static void verdict(bool good, const char *what, const char *family, double figure)
{
	printf("%s: %s, %s: %.4g\n", good ? "good" : "error", what, family, figure);
	bad |= !good;
}

/* The hash, and the hash with faults. */

static u64 hash_sound(const u64 *page)
{
	return pksm_hash_page(page, &key);
}

static u64 fault_last_word(const u64 *page)
{
	u64 copy[WORDS];

	memcpy(copy, page, sizeof(copy));
	copy[WORDS - 1] = 0;
	return pksm_hash_page(copy, &key);
}

static u64 fault_key_twice(const u64 *page)
{
	struct pksm_hash_key weak = key;

	memcpy(weak.add + WORDS / 2, weak.add, sizeof(weak.add) / 2);
	return pksm_hash_page(page, &weak);
}

static u64 fault_lower_half(const u64 *page)
{
	return pksm_hash_fold((u64)pksm_hash_sum(page, key.add), key.fold);
}

static u64 fault_no_key(const u64 *page)
{
	static const struct pksm_hash_key none = { .fold = { 1, 2, 3, 4, 5, 6 } };

	return pksm_hash_page(page, &none);
}

static u64 fault_no_fold(const u64 *page)
{
	return pksm_hash_sum(page, key.add) >> 64;
}

static u64 crc_word(u64 crc, u64 word)
{
	int i;

	crc ^= word;
	for (i = 0; i < 64; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	return crc;
}

static u64 fault_crc(const u64 *page)
{
	u64 a = key.fold[0] >> 32, b = key.fold[1] >> 32;
	int i;

	for (i = 0; i < WORDS; i += 2) {
		a = crc_word(a, page[i]);
		b = crc_word(b, page[i + 1]);
	}
	return pksm_hash_stir(a << 32 | b);
}

static const struct fault {
	const char *name;
	u64 (*hash)(const u64 *page);
} faults[] = {
	{ "last-word", fault_last_word },
	{ "key-twice", fault_key_twice },
	{ "lower-half", fault_lower_half },
	{ "no-key", fault_no_key },
	{ "no-fold", fault_no_fold },
	{ "crc", fault_crc },
};

#define FAULTS	((int)(sizeof(faults) / sizeof(faults[0])))

#define MOST		65536

static u64 hashes[MOST];

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static int collisions(int n, int shift)
{
	int i, found = 0;

	for (i = 1; i < n; i++)
		found += hashes[i] >> shift == hashes[i - 1] >> shift;
	return found;
}

/*
 * Deviations of chi-square from its mean, in standard deviations, for a field of
 * bits. Too even is no fault: numbers in sequence are spread so.
 */
static double unevenness(int n, int shift, int bits)
{
	int cells = 1 << bits, *count = calloc(cells, sizeof(*count));
	double expected = (double)n / cells, sum = 0;
	int i;

	if (!count)
		exit(1);
	for (i = 0; i < n; i++)
		count[hashes[i] >> shift & (cells - 1)]++;
	for (i = 0; i < cells; i++)
		sum += (count[i] - expected) * (count[i] - expected) / expected;
	free(count);
	return (sum - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

static void check_family(const struct family *f)
{
	double worst = -99, x;
	u64 page[WORDS];
	int i, shift;

	for (i = 0; i < f->pages; i++) {
		f->make(page, i);
		hashes[i] = hash(page);
	}
	if (f->pages > 1000) {
		for (shift = 64 - KEPT; shift < 64; shift += 8) {
			x = unevenness(f->pages, shift, 8);
			worst = x > worst ? x : worst;
		}
		verdict(worst < 7, "unevenness of a kept byte in sigma", f->name, worst);
		x = unevenness(f->pages, 64 - SHARDS, SHARDS);
		verdict(x < 7, "unevenness of shards in sigma", f->name, x);
	}
	qsort(hashes, f->pages, sizeof(hashes[0]), by_value);
	i = collisions(f->pages, 64 - KEPT);
	verdict(!i, "collisions in the 48 bits that are kept", f->name, i);
	/* Of random values n * n / 2^33 pairs agree in 32 bits; Poisson. */
	i = collisions(f->pages, 32);
	x = (double)f->pages * f->pages / 8589934592.0;
	verdict(i <= x + 7 * sqrt(x) + 7, "collisions in the upper 32 bits", f->name, i);
}

/* A bit of the page flipped: each bit of the hash flips in half of the cases. */
static void check_avalanche(void)
{
	static int flips[64];
	u64 page[WORDS], before, diff;
	int round, i, n = 20000;
	double x, worst = 0;

	for (round = 0; round < n; round++) {
		int bit = draw() % (64 * WORDS);

		if (round % 100 == 0)
			draw_key();
		random_page(page, 0);
		if (round % 3 == 0)
			memset(page, 0, sizeof(page));
		before = hash(page);
		page[bit / 64] ^= 1ULL << bit % 64;
		diff = before ^ hash(page);
		for (i = 0; i < 64; i++)
			flips[i] += diff >> i & 1;
	}
	for (i = 0; i < 64; i++) {
		x = fabs(flips[i] - n / 2.0) / sqrt(n / 4.0);
		worst = x > worst ? x : worst;
	}
	verdict(worst < 6, "avalanche", "worst bit in sigma", worst);
}

/* Keys are drawn anew each time: 10 bits agree for one key of 1024, 64 for none. */
static void check_pairs(void)
{
	int whole[MOST_PAIRS] = { 0 }, some[MOST_PAIRS] = { 0 };
	int i, round, n = hash == hash_sound ? 32768 : 256;
	u64 a[WORDS], b[WORDS], diff;
	double x;

	for (round = 0; round < n; round++) {
		draw_key();
		for (i = 0; pairs[i].name; i++) {
			memcpy(a, base, sizeof(a));
			pairs[i].make(a, b);
			diff = hash(a) ^ hash(b);
			whole[i] += !diff;
			some[i] += !(diff >> 54);
		}
	}
	for (i = 0; pairs[i].name; i++) {
		x = (some[i] - n / 1024.0) / sqrt(n / 1024.0);
		verdict(!whole[i], "keys under which a pair collides", pairs[i].name, whole[i]);
		verdict(fabs(x) < 6, "10 bits agree, in sigma", pairs[i].name, x);
	}
}

/* No linear relation holds between four pages, as does for any CRC. */
static void check_linear(void)
{
	u64 page[4][WORDS];
	int round, i, found = 0;

	for (round = 0; round < 1000; round++) {
		for (i = 0; i < 3; i++)
			random_page(page[i], 0);
		for (i = 0; i < WORDS; i++)
			page[3][i] = page[0][i] ^ page[1][i] ^ page[2][i];
		found += (hash(page[0]) ^ hash(page[1])) == (hash(page[2]) ^ hash(page[3]));
	}
	verdict(!found, "linear relations", "random pages", found);
}

static void check_reference(void)
{
	int f, i, n = 0, wrong = 0;
	u64 page[WORDS];

	for (f = 0; families[f].name; f++) {
		for (i = 0; i < 40; i++, n++) {
			if (i % 10 == 0)
				draw_key();
			families[f].make(page, draw() % families[f].pages);
			if (i == 39)
				memset(key.add, 0xff, sizeof(key.add));
			wrong += hash(page) != reference_hash((unsigned char *)page, key.add,
							      key.fold);
		}
	}
	verdict(!wrong && n, "differs from the reference", "all families", wrong);
}

int main(int argc, char **argv)
{
	const char *fault = argc > 1 ? argv[1] : NULL;
	int i;

	if (fault && !strcmp(fault, "list")) {
		for (i = 0; i < FAULTS; i++)
			puts(faults[i].name);
		return 0;
	}
	hash = fault ? NULL : hash_sound;
	for (i = 0; fault && i < FAULTS; i++) {
		if (!strcmp(fault, faults[i].name))
			hash = faults[i].hash;
	}
	if (!hash) {
		fprintf(stderr, "usage: quality [list|FAULT]\n");
		return 2;
	}
	draw_words(base, WORDS);
	if (!fault)
		check_reference();
	check_pairs();
	draw_key();
	for (i = 0; families[i].name && hash != fault_crc; i++)
		check_family(&families[i]);
	check_avalanche();
	check_linear();
	return bad;
}
