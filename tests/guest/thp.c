// SPDX-License-Identifier: GPL-2.0-only
/*
 * thp.c - huge pages with parts that match something else.
 *
 * What matches is merged, the rest keeps its bytes; areas of equal pages
 * that were made of huge pages end as one frame.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static void fill_cyclic(char *p, size_t pages, size_t contents)
{
	for (size_t i = 0; i < pages; i++)
		page_fill(p + i * PAGE, 1, 1 + i % contents);
}

static bool is_cyclic(const char *p, size_t pages, size_t contents)
{
	for (size_t i = 0; i < pages; i++)
		if (!page_is(p + i * PAGE, 1, 1 + i % contents))
			return false;
	return true;
}

static void test_equal(void)
{
	size_t length;
	char *base, *p = huge_map(2, &base, &length);

	if (!p || huge_kb(p, 2) != 2 * (long)HUGE_PAGE / 1024) {
		tap_skip("no huge pages to be had",
			 "huge pages of equal parts become one frame");
		return;
	}
	/* Fewer equal parts of each content than the sharing limit. */
	fill_cyclic(p, 2 * HUGE_PARTS, 8);
	tap_is(huge_kb(p, 2), 2 * HUGE_PAGE / 1024, "two huge pages");
	page_register(p, 2 * HUGE_PARTS);
	knob_settle();
	tap_is(frame_distinct(p, 2 * HUGE_PARTS), 8,
	       "huge pages of 8 contents become 8 frames");
	tap_is(huge_kb(p, 2), 0, "no huge page is left");
	for (int i = 0; i < 8; i++)
		tap_is(frame_mapcount(frame_number(p + i * PAGE)),
		       2 * HUGE_PARTS / 8, "content %d is mapped by each of its pages",
		       i);
	knob_counts(8, 2 * HUGE_PARTS - 8, 0, 0, "huge pages of equal parts");
	tap_ok(is_cyclic(p, 2 * HUGE_PARTS, 8), "every byte is right");
	munmap(base, length);
	knob_clear();
}

static void test_part(void)
{
	size_t length;
	char *base, *p = huge_map(1, &base, &length), *q = page_map(4);

	if (!p || huge_kb(p, 1) != (long)HUGE_PAGE / 1024) {
		tap_skip("no huge pages to be had",
			 "a huge page gives up the parts that match");
		page_unmap(q, 4);
		return;
	}
	page_fill_each(p, HUGE_PARTS, 1000);
	page_fill_each(q, 4, 1100);
	page_register(p, HUGE_PARTS);
	page_register(q, 4);
	tap_is(huge_kb(p, 1), HUGE_PAGE / 1024, "one huge page, four small");
	knob_settle();
	for (int i = 0; i < 4; i++)
		tap_ok(frame_number(q + i * PAGE) &&
		       frame_number(q + i * PAGE) ==
		       frame_number(p + (100 + i) * PAGE),
		       "a huge page gives up part %d, which matches", 100 + i);
	tap_is(frame_distinct(p, HUGE_PARTS), HUGE_PARTS, "the rest is not merged");
	tap_ok(page_is_each(p, HUGE_PARTS, 1000) && page_is_each(q, 4, 1100),
	       "every byte is right");
	tap_is(frame_ksm(q, 4), 16, "smaps shows four merged pages");
	knob_counts(4, 4, HUGE_PARTS - 4, 0, "a huge page with four matches");
	page_fill_each(p, HUGE_PARTS, 5000);
	tap_ok(page_is_each(p, HUGE_PARTS, 5000) && page_is_each(q, 4, 1100),
	       "a write to all of it leaves the others alone");
	munmap(base, length);
	page_unmap(q, 4);
	knob_clear();
}

/* Two huge pages that match part by part, one of them in a child. */
static int twin_body(struct child *c, void *arg)
{
	size_t length;
	char *base, *p = huge_map(1, &base, &length);

	if (!p)
		return 1;
	page_fill_each(p, HUGE_PARTS, 2000);
	page_register(p, HUGE_PARTS);
	*(char **)arg = p;
	child_report(c);
	child_wait(c);
	return page_is_each(p, HUGE_PARTS, 2000) ? 0 : 2;
}

static void test_twins(void)
{
	char **twin = child_shared(1);
	size_t length, same = 0;
	char *base, *p = huge_map(1, &base, &length);
	struct child c;

	if (!p || huge_kb(p, 1) != (long)HUGE_PAGE / 1024) {
		tap_skip("no huge pages to be had",
			 "huge pages of two processes merge part by part");
		return;
	}
	child_start(&c, twin_body, twin);
	if (!child_done(&c))
		tap_die("the other process has no huge page");
	page_fill_each(p, HUGE_PARTS, 2000);
	page_register(p, HUGE_PARTS);
	knob_settle();
	for (size_t i = 0; i < HUGE_PARTS; i++)
		same += frame_number(p + i * PAGE) &&
			frame_number(p + i * PAGE) ==
			frame_number_of(c.pid, *twin + i * PAGE);
	tap_is(same, HUGE_PARTS, "huge pages of two processes merge part by part");
	tap_ok(page_is_each(p, HUGE_PARTS, 2000), "every byte is right");
	knob_counts(HUGE_PARTS, HUGE_PARTS, 0, 0, "twins");
	tap_is(child_join(&c), 0, "every byte of the other process is right");
	munmap(base, length);
	knob_clear();
}

/* Merged ranges asked to become huge again: bytes first. */
static void test_collapse(void)
{
	size_t length;
	char *base, *p = huge_map(1, &base, &length);
	int err;

	if (!p) {
		tap_skip("no huge pages to be had",
			 "a merged range asked to become huge keeps its bytes");
		return;
	}
	fill_cyclic(p, HUGE_PARTS, 4);
	page_register(p, HUGE_PARTS);
	knob_settle();
	tap_is(frame_distinct(p, HUGE_PARTS), 4, "a merged range of 4 frames");
	err = madvise(p, HUGE_PAGE, MADV_COLLAPSE) ? errno : 0;
	tap_diag("MADV_COLLAPSE answers %d (%s)", err, err ? strerror(err) : "");
	tap_ok(is_cyclic(p, HUGE_PARTS, 4), "every byte is right after it");
	knob_settle();
	tap_is(frame_distinct(p, HUGE_PARTS), 4, "afterwards it merges again");
	knob_counts(4, HUGE_PARTS - 4, 0, 0, "after collapse");
	munmap(base, length);
	knob_clear();
}

int main(void)
{
	knob_begin();
	test_equal();
	test_part();
	test_twins();
	test_collapse();
	return tap_done();
}
