// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero.c - use_zero_pages: pages of zeroes become the zero page.
 *
 * Frames tell that they are the zero page: it is the one that memory which was only
 * read has. What KSM put there is counted in ksm_zero_pages, in all and by process,
 * until it is written to, unmapped, discarded or unmerged.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#define N 64

static unsigned long zero_frame;

static long own_zero_pages(void)
{
	return file_field("/proc/self/ksm_stat", "ksm_zero_pages", -1);
}

static size_t count_zero_frames(const char *p, size_t pages)
{
	size_t count = 0;

	for (size_t i = 0; i < pages; i++)
		count += frame_number(p + i * PAGE) == zero_frame;
	return count;
}

static void state(const char *p, size_t zero, const char *what)
{
	tap_is(count_zero_frames(p, N), zero, "%s: pages that are the zero page", what);
	tap_is(knob_get("ksm_zero_pages"), zero, "%s: ksm_zero_pages", what);
	tap_is(own_zero_pages(), zero, "%s: ksm_zero_pages of the process", what);
}

static char *zeroes(void)
{
	char *p = page_map(N);

	memset(p, 0, N * PAGE);
	page_register(p, N);
	return p;
}

static void test_write(void)
{
	char *p = zeroes();

	knob_settle();
	state(p, N, "merged");
	knob_counts(0, 0, 1, 0, "merged: none is a merged page");
	tap_ok(page_is_zero(p, N), "merged: every byte is zero");
	p[3 * PAGE + 5] = 1;
	p[(N - 1) * PAGE] = 1;
	state(p, N - 2, "two written");
	tap_ok(page_is_zero(p, 3) && page_is_zero(p + 4 * PAGE, N - 5),
	       "two written: no byte of another changed");
	knob_settle();
	state(p, N - 2, "two written, later");
	p[3 * PAGE + 5] = 0;
	p[(N - 1) * PAGE] = 0;
	knob_settle();
	state(p, N, "zero again");
	page_unmap(p, N);
	tap_is(knob_get("ksm_zero_pages"), 0, "unmapped: none is counted");
	tap_is(own_zero_pages(), 0, "unmapped: none of the process");
}

static void test_discard(void)
{
	char *p = zeroes();

	knob_settle();
	if (madvise(p, N / 2 * PAGE, MADV_DONTNEED))
		tap_die("MADV_DONTNEED: %s", strerror(errno));
	state(p, N / 2, "half discarded");
	tap_ok(page_is_zero(p, N), "half discarded: every byte is zero");
	page_unmap(p, N);
	tap_is(knob_get("ksm_zero_pages"), 0, "discarded: none is counted");
}

static void test_unmerge(void)
{
	char *p = zeroes();

	knob_settle();
	page_unregister(p, N);
	state(p, 0, "unmerged");
	tap_is(frame_distinct(p, N), N, "unmerged: each page has its frame");
	tap_ok(page_is_zero(p, N), "unmerged: every byte is zero");
	page_register(p, N);
	knob_settle();
	state(p, N, "registered again");
	knob_clear();
	state(p, 0, "run=2");
	tap_is(frame_distinct(p, N), N, "run=2: each page has its frame");
	tap_ok(page_is_zero(p, N), "run=2: every byte is zero");
	page_unmap(p, N);
}

static void test_switch(void)
{
	char *p;

	knob_set("use_zero_pages", 0);
	p = zeroes();
	knob_settle();
	state(p, 0, "not wanted");
	knob_counts(1, N - 1, 1, 0, "not wanted: merged like any other");
	knob_set("use_zero_pages", 1);
	knob_settle();
	state(p, 0, "wanted later");
	knob_counts(1, N - 1, 1, 0, "wanted later: what is merged stays");
	p[7 * PAGE] = 1;
	p[7 * PAGE] = 0;
	knob_settle();
	tap_is(knob_get("ksm_zero_pages"), 1, "a page that is written anew: the zero page");
	tap_ok(page_is_zero(p, N), "wanted later: every byte is zero");
	page_unmap(p, N);
	knob_clear();
}

/* What was only read has the zero page already, and is nobody's merit. */
static void test_read(void)
{
	char *p = page_map(N);

	tap_ok(page_is_zero(p, N), "read: every byte is zero");
	page_register(p, N);
	knob_settle();
	tap_is(count_zero_frames(p, N), N, "read: it is the zero page");
	tap_is(knob_get("ksm_zero_pages"), 0, "read: not counted");
	page_unregister(p, N);
	tap_is(count_zero_frames(p, N), N, "read: unmerging leaves it");
	page_unmap(p, N);
}

/* Who knows the price: each zero page saves a page. */
static void test_profit(void)
{
	char *p;
	long before;

	knob_settle();
	before = knob_get("general_profit");
	p = zeroes();
	knob_settle();
	tap_is(knob_get("general_profit") - before, N * PAGE,
	       "profit: a page for each, and no metadata");
	page_unmap(p, N);
}

int main(void)
{
	char *read_only;

	knob_begin();
	read_only = page_map(1);
	tap_ok(page_is_zero(read_only, 1), "memory that was not written to is zero");
	zero_frame = frame_number(read_only);
	page_witness();
	knob_set("use_zero_pages", 1);
	test_write();
	test_discard();
	test_unmerge();
	test_switch();
	test_read();
	test_profit();
	knob_set("use_zero_pages", 0);
	knob_clear();
	return tap_done();
}
