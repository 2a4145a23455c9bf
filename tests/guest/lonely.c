// SPDX-License-Identifier: GPL-2.0-only
/*
 * lonely.c - pages far apart: few of them in each of many ranges of 2 MiB.
 *
 *	lonely [SEED]
 *
 * Where a range's records are kept depends on how many there are, and in what order
 * ranges come and go. Here pages come, go and are written to in thousands of ranges
 * in no order, mostly one in a range, and in between whole parts are unmapped,
 * mapped anew, unregistered and registered. After each turn every byte is right and
 * equal pages have one frame. A page alone costs what it has to; once its process has
 * gone no metadata is left.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define RANGES 2500UL
#define SLOTS 3
#define TURNS 10
/* Contents that are used again and again; fewer than 256 pages have the same. */
#define SHARED 200UL
/* Small mappings that are far apart; as many as a full leaf of a directory has. */
#define SMALL 508UL

static const size_t slot_at[SLOTS] = { 0, 300, 511 };

static char *area;
/* Number of the content of each page, 0: not there. */
static uint64_t want[RANGES][SLOTS];
static uint64_t next_content = 1000000, state;
static bool registered[RANGES];

static char *at(size_t range, int slot)
{
	return area + range * HUGE_PAGE + slot_at[slot] * PAGE;
}

static size_t random_below(size_t n)
{
	return model_random(&state) % n;
}

static void write_page(size_t range, int slot)
{
	uint64_t content = random_below(3) ? ++next_content : 1 + random_below(SHARED);

	page_fill(at(range, slot), 1, content);
	want[range][slot] = content;
}

static void drop_page(size_t range, int slot)
{
	if (madvise(at(range, slot), PAGE, MADV_DONTNEED))
		tap_die("MADV_DONTNEED: %s", strerror(errno));
	want[range][slot] = 0;
}

static void register_ranges(size_t first, size_t count, bool on)
{
	if (on)
		page_register(area + first * HUGE_PAGE, count * HUGE_PAGE / PAGE);
	else
		page_unregister(area + first * HUGE_PAGE, count * HUGE_PAGE / PAGE);
	while (count--)
		registered[first++] = on;
}

static void map_ranges(size_t first, size_t count)
{
	char *p = mmap(area + first * HUGE_PAGE, count * HUGE_PAGE,
		       PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (area ? MAP_FIXED : 0),
		       -1, 0);

	if (p == MAP_FAILED)
		tap_die("map %zu ranges: %s", count, strerror(errno));
	if (!area)
		area = p;
	if (madvise(p, count * HUGE_PAGE, MADV_NOHUGEPAGE) && errno != EINVAL)
		tap_die("MADV_NOHUGEPAGE: %s", strerror(errno));
	memset(want[first], 0, count * sizeof(*want));
	register_ranges(first, count, true);
}

/* One page here, one there; the later the turn, the more of them go. */
static void turn(int number)
{
	for (size_t i = 0; i < RANGES / 2; i++) {
		size_t range = random_below(RANGES);
		int slot = random_below(5) ? 0 : (int)random_below(SLOTS);

		if (want[range][slot] && random_below(TURNS) < (size_t)number)
			drop_page(range, slot);
		else
			write_page(range, slot);
	}
}

/* Something happens to a part of it. */
static void upset(int number)
{
	size_t count = 1 + random_below(RANGES / 5), first = random_below(RANGES - count);

	switch (number % 3) {
	case 0:
		map_ranges(first, count);
		break;
	case 1:
		register_ranges(first, count, false);
		break;
	case 2:
		register_ranges(0, RANGES, true);
		break;
	}
}

static void judge(int number)
{
	static unsigned long frame[SHARED + 1];
	size_t wrong = 0, apart = 0, there = 0;

	memset(frame, 0, sizeof(frame));
	for (size_t i = 0; i < RANGES * SLOTS; i++) {
		size_t range = i / SLOTS;
		uint64_t content = want[range][i % SLOTS];
		const char *page = at(range, i % SLOTS);

		if (!content)
			continue;
		wrong += !page_is(page, 1, content);
		if (!registered[range])
			continue;
		there++;
		if (content > SHARED)
			continue;
		if (!frame[content])
			frame[content] = frame_number(page);
		apart += frame[content] != frame_number(page);
	}
	tap_is(wrong, 0, "turn %d: every byte is right", number);
	tap_is(apart, 0, "turn %d: equal pages have one frame", number);
	tap_is(knob_get("pages_shared") + knob_get("pages_sharing") +
	       knob_get("pages_unshared"), there, "turn %d: each page is counted", number);
	tap_is(knob_get("pages_volatile"), 0, "turn %d: none is volatile", number);
}

static int body(struct child *c, void *arg)
{
	(void)arg;
	map_ranges(0, RANGES);
	for (int i = 0; i < TURNS; i++) {
		turn(i);
		if (i % 2)
			upset(i / 2);
		knob_settle();
		judge(i);
	}
	/* All but a few go, in no order. */
	for (size_t i = 0; i < RANGES * SLOTS; i++) {
		size_t k = random_below(RANGES * SLOTS);

		if (want[k / SLOTS][k % SLOTS])
			drop_page(k / SLOTS, k % SLOTS);
	}
	knob_settle();
	judge(TURNS);
	return tap_done();
}

/* What is left of a process goes a moment after it. */
static long profit_comes_to(long value)
{
	struct timespec nap = { .tv_nsec = 20000000 };
	long profit = 0;

	for (int i = 0; i < 1000; i++) {
		profit = knob_get("general_profit");
		if (profit == value)
			break;
		nanosleep(&nap, NULL);
	}
	return profit;
}

/* Small mappings, too, cost no more than what lies in them: an item and a word. */
static int small(struct child *c, void *arg)
{
	const long *before = arg;
	long cost;

	(void)c;
	for (size_t i = 0; i < SMALL; i++) {
		char *p = area + i * HUGE_PAGE;

		if (mmap(p, 16 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
			tap_die("map: %s", strerror(errno));
		page_fill(p + 5 * PAGE, 1, ++next_content);
		page_register(p, 16);
	}
	knob_settle();
	cost = *before - knob_get("general_profit");
	tap_ok(cost / (long)SMALL <= 66, "small mappings: %ld bytes for each page",
	       cost / (long)SMALL);
	return tap_done();
}

int main(int argc, char **argv)
{
	struct child c;
	long before;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	tap_diag("seed %llu", (unsigned long long)state);
	knob_begin();
	before = knob_get("general_profit");
	child_start(&c, body, NULL);
	tap_is(child_join(&c), 0, "a process with lonely pages ends well");
	area = mmap(NULL, SMALL * HUGE_PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	knob_clear();
	before = knob_get("general_profit");
	child_start(&c, small, &before);
	tap_is(child_join(&c), 0, "a process with small mappings ends well");
	/* The built-in engine, stopped, keeps what it has. */
	if (knob_pksm())
		tap_is(profit_comes_to(before), before, "no metadata is left of it");
	return tap_done();
}
