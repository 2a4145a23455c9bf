// SPDX-License-Identifier: GPL-2.0-only
/*
 * huge.c - huge_min_matches: a huge page is worth more than a few merged parts.
 *
 * With fewer matches it stays whole, and what matches its parts stays apart; with
 * enough it is split, and all of them merge. With 1 it is as with the built-in engine.
 *
 * group: module
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib.h"

#define LIMIT 8

static long kept_kb = HUGE_PAGE / 1024;

/* A part that matches is told so by the next pass, and all of them by the one after. */
static void settle(void)
{
	knob_settle();
	knob_settle();
}

static size_t shared_frames(const char *p, const char *q, size_t pages)
{
	size_t same = 0;

	for (size_t i = 0; i < pages; i++)
		same += frame_number(q + i * PAGE) == frame_number(p + (100 + i) * PAGE);
	return same;
}

static void test_values(void)
{
	static const char * const bad[] = { "0", "513", "-1", "8 8", "many", "0x8" };

	tap_is(knob_get("huge_min_matches"), 1, "huge_min_matches is 1 at first");
	knob_set("huge_min_matches", 512);
	tap_is(knob_get("huge_min_matches"), 512, "as many as there are parts");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_is(knob_put("huge_min_matches", bad[i]), -EINVAL, "%s is refused", bad[i]);
	tap_is(knob_get("huge_min_matches"), 512, "and changes nothing");
}

/* @first: the small pages are visited before the huge one. */
static void test_limit(bool first)
{
	const char *what = first ? "small pages first" : "huge page first";
	char *small[2], *base, *p, *q;
	size_t length;
	bool below;

	small[0] = page_map(LIMIT);
	p = huge_map(1, &base, &length);
	small[1] = page_map(LIMIT);
	below = small[0] < p;
	q = below == first ? small[0] : small[1];
	if (!p || huge_kb(p, 1) != kept_kb)
		tap_die("no huge page to be had");
	below = q < p;
	if (below != first)
		tap_diag("%s: not to be had at these addresses", what);
	page_fill_each(p, HUGE_PARTS, 1000);
	page_fill_each(q, LIMIT - 1, 1100);
	page_fill(q + (LIMIT - 1) * PAGE, 1, 5000);
	page_register(p, HUGE_PARTS);
	page_register(q, LIMIT);
	knob_set("huge_min_matches", LIMIT);
	settle();
	tap_is(huge_kb(p, 1), kept_kb, "%s, one too few: the huge page is whole", what);
	tap_is(shared_frames(p, q, LIMIT), 0, "%s, one too few: nothing is merged", what);
	knob_counts(0, 0, HUGE_PARTS + LIMIT + 1, 0, what);

	page_fill(q + (LIMIT - 1) * PAGE, 1, 1100 + LIMIT - 1);
	settle();
	tap_is(huge_kb(p, 1), 0, "%s, enough: the huge page is split", what);
	tap_is(shared_frames(p, q, LIMIT), LIMIT, "%s, enough: all that match are merged", what);
	knob_counts(LIMIT, LIMIT, HUGE_PARTS - LIMIT + 1, 0, what);
	tap_ok(page_is_each(p, HUGE_PARTS, 1000) && page_is_each(q, LIMIT, 1100),
	       "%s: every byte is right", what);
	munmap(base, length);
	page_unmap(small[0], LIMIT);
	page_unmap(small[1], LIMIT);
	knob_clear();
}

/* Two huge pages alike, whose matches are all in the other. */
static void test_twins(void)
{
	size_t length;
	char *base, *p = huge_map(2, &base, &length);

	page_fill_each(p, HUGE_PARTS, 7000);
	page_fill_each(p + HUGE_PAGE, HUGE_PARTS, 7000);
	page_register(p, 2 * HUGE_PARTS);
	knob_set("huge_min_matches", HUGE_PARTS);
	tap_is(huge_kb(p, 2), 2 * kept_kb, "twins: two huge pages");
	settle();
	tap_is(frame_distinct(p, 2 * HUGE_PARTS), HUGE_PARTS, "twins: each part has merged");
	tap_ok(page_is_each(p, HUGE_PARTS, 7000) && page_is_each(p + HUGE_PAGE, HUGE_PARTS, 7000),
	       "twins: every byte is right");
	knob_counts(HUGE_PARTS, HUGE_PARTS, 1, 0, "twins");
	munmap(base, length);
	knob_clear();
}

static size_t zero_frames(const char *p, size_t pages)
{
	char *read = page_map(1);
	unsigned long zero;
	size_t count = 0;

	if (!page_is_zero(read, 1))
		tap_die("fresh memory is not zero");
	zero = frame_number(read);
	for (size_t i = 0; i < pages; i++)
		count += frame_number(p + i * PAGE) == zero;
	page_unmap(read, 1);
	return count;
}

/*
 * Parts of zeroes match the zero page; they are pages that wait, not volatile ones.
 * (When a huge page is split the kernel itself puts the zero page there, and does not
 * count it: try_to_map_unused_to_zeropage(), mm/migrate.c of 6.12.)
 */
static void test_zero(void)
{
	size_t length;
	char *base, *p = huge_map(1, &base, &length);

	page_fill_each(p, HUGE_PARTS, 9000);
	memset(p, 0, (LIMIT - 1) * PAGE);
	page_register(p, HUGE_PARTS);
	knob_set("use_zero_pages", 1);
	knob_set("huge_min_matches", LIMIT);
	settle();
	tap_is(huge_kb(p, 1), kept_kb, "zeroes, one too few: the huge page is whole");
	tap_is(zero_frames(p, LIMIT), 0, "zeroes, one too few: none is the zero page");
	knob_counts(0, 0, HUGE_PARTS + 1, 0, "zeroes, one too few");

	memset(p + (LIMIT - 1) * PAGE, 0, PAGE);
	settle();
	tap_is(huge_kb(p, 1), 0, "zeroes, enough: the huge page is split");
	tap_is(zero_frames(p, LIMIT), LIMIT, "zeroes, enough: all are the zero page");
	tap_ok(page_is_zero(p, LIMIT) &&
	       page_is_each(p + LIMIT * PAGE, HUGE_PARTS - LIMIT, 9000 + LIMIT),
	       "zeroes: every byte is right");
	knob_set("use_zero_pages", 0);
	munmap(base, length);
	knob_clear();
}

/* A policy that is given up: what was kept merges. */
static void test_back(void)
{
	size_t length;
	char *base, *p = huge_map(1, &base, &length), *q = page_map(1);

	page_fill_each(p, HUGE_PARTS, 1000);
	page_fill(q, 1, 1100);
	page_register(p, HUGE_PARTS);
	page_register(q, 1);
	knob_set("huge_min_matches", 2);
	settle();
	tap_is(huge_kb(p, 1), kept_kb, "one match is not two");
	knob_set("huge_min_matches", 1);
	settle();
	tap_is(shared_frames(p, q, 1), 1, "but enough for 1");
	tap_is(huge_kb(p, 1), 0, "for which it is split");
	munmap(base, length);
	page_unmap(q, 1);
	knob_clear();
}

int main(void)
{
	size_t length;
	char *base, *p;

	knob_begin();
	test_values();
	page_witness();
	p = huge_map(1, &base, &length);
	if (!p || huge_kb(p, 1) != kept_kb) {
		knob_set("huge_min_matches", 1);
		tap_skip("no huge pages to be had", "a huge page with few matches is kept");
		return tap_done();
	}
	munmap(base, length);
	test_limit(true);
	test_limit(false);
	test_twins();
	test_zero();
	test_back();
	return tap_done();
}
