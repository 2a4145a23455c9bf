// SPDX-License-Identifier: GPL-2.0-only
/*
 * time.c - how long candidates take.
 *
 *	time list	names of the functions
 *	time one NAME	one call, for an instruction counter
 *	time all	for each: name, nanoseconds for a page in the cache (least,
 *			median) and for pages that are not (least, median), what it is
 *
 * Candidates take turns, each for some tens of microseconds, so that what else
 * the machine does hits all of them alike. What is not in the cache are pages of
 * 256 MiB, taken in an order that a prefetcher does not follow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "candidates.h"

#define WORDS		PKSM_HASH_WORDS
#define MOST		32
#define WARM_ROUNDS	1000
#define WARM_CALLS	100
#define COLD_ROUNDS	100
#define COLD_CALLS	512
#define COLD_PAGES	65536UL
#define COLD_STRIDE	40503UL		/* odd: all pages are visited */

static struct pksm_hash_key key;
static u64 page[2][WORDS] __attribute__((aligned(4096)));
static double warm[MOST][WARM_ROUNDS], cold[MOST][COLD_ROUNDS];

static u64 draw(void)
{
	static u64 state;

	return pksm_hash_stir(state += 0x9e3779b97f4a7c15ULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static bool usable(enum need need)
{
	switch (need) {
	case NEED_SSE42:
		return __builtin_cpu_supports("sse4.2");
	case NEED_BMI2:
		return __builtin_cpu_supports("bmi2");
	default:
		return true;
	}
}

/* Hashes come first, then comparisons; both take two pages here. */
static int hashes, total;

static void call(int i, const u64 *a, const u64 *b)
{
	u64 result;

	if (i < hashes)
		result = hash_candidates[i].hash(a, &key);
	else
		result = compare_candidates[i - hashes].equal(a, b);
	asm volatile("" : : "r"(result));
}

static const char *name(int i)
{
	return i < hashes ? hash_candidates[i].name : compare_candidates[i - hashes].name;
}

static const char *what(int i)
{
	return i < hashes ? hash_candidates[i].what : compare_candidates[i - hashes].what;
}

static bool usable_at(int i)
{
	return i >= hashes || usable(hash_candidates[i].need);
}

static void time_warm(int i, int round)
{
	double begin;
	int n;

	call(i, page[0], page[1]);
	begin = now();
	for (n = 0; n < WARM_CALLS; n++)
		call(i, page[0], page[1]);
	warm[i][round] = (now() - begin) / WARM_CALLS;
}

/* A comparison reads two pages; both halves of the memory hold the same. */
static void time_cold(int i, int round, const u64 *memory)
{
	static size_t at;
	double begin = now();
	int n;

	for (n = 0; n < COLD_CALLS; n++) {
		at = (at + COLD_STRIDE) % COLD_PAGES;
		call(i, memory + at * WORDS,
		     memory + (at + COLD_PAGES / 2) % COLD_PAGES * WORDS);
	}
	cold[i][round] = (now() - begin) / COLD_CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int all(void)
{
	size_t half = COLD_PAGES / 2 * WORDS, n;
	u64 *memory = mmap(NULL, COLD_PAGES * WORDS * sizeof(u64), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, round;

	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	/* As the kernel maps all memory: else it would be the TLB that is measured. */
	madvise(memory, COLD_PAGES * WORDS * sizeof(u64), MADV_HUGEPAGE);
	for (n = 0; n < half; n++) {
		memory[n] = draw();
		memory[n + half] = memory[n];
	}
	for (round = 0; round < WARM_ROUNDS; round++) {
		for (i = 0; i < total; i++) {
			if (usable_at(i))
				time_warm(i, round);
		}
	}
	for (round = 0; round < COLD_ROUNDS; round++) {
		for (i = 0; i < total; i++) {
			if (usable_at(i))
				time_cold(i, round, memory);
		}
	}
	for (i = 0; i < total; i++) {
		if (!usable_at(i))
			continue;
		qsort(warm[i], WARM_ROUNDS, sizeof(double), by_value);
		qsort(cold[i], COLD_ROUNDS, sizeof(double), by_value);
		printf("%s %.0f %.0f %.0f %.0f %s\n", name(i),
		       warm[i][0], warm[i][WARM_ROUNDS / 2],
		       cold[i][0], cold[i][COLD_ROUNDS / 2], what(i));
	}
	return 0;
}

int main(int argc, char **argv)
{
	int i, n;

	while (hash_candidates[hashes].name)
		hashes++;
	total = hashes;
	while (compare_candidates[total - hashes].name)
		total++;
	for (n = 0; n < WORDS; n++) {
		key.add[n] = draw();
		page[0][n] = draw();
		page[1][n] = page[0][n];
	}
	for (n = 0; n < 6; n++)
		key.fold[n] = draw();

	if (argc == 2 && !strcmp(argv[1], "all"))
		return all();
	for (i = 0; i < total; i++) {
		if (!usable_at(i))
			continue;
		if (argc == 2 && !strcmp(argv[1], "list"))
			puts(name(i));
		if (argc == 3 && !strcmp(argv[1], "one") && !strcmp(argv[2], name(i)))
			call(i, page[0], page[1]);
	}
	return 0;
}
