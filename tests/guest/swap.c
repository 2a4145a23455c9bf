// SPDX-License-Identifier: GPL-2.0-only
/*
 * swap.c - merged pages go out to swap and come back.
 *
 * Out means out of every page table of every process. What comes back has
 * the same bytes, merges again, and does not escape run=2 or swapoff.
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
#define GROUP "pksm-swap"

/* Registered and never swapped out, so that there are passes to wait for. */
static char *witness;

static char *merged(size_t pages, uint64_t content)
{
	char *p = page_map(pages);

	page_fill(p, pages, content);
	page_register(p, pages);
	knob_settle();
	if (!frame_same(p, pages))
		tap_die("the pages to swap out did not merge");
	return p;
}

static void test_out_and_in(void)
{
	char *p = merged(N, 1);

	tap_ok(swap_out(GROUP, p, N), "reclaim: no entry maps the page");
	tap_is(frame_swapped(p, N), N, "reclaim: each entry names swap");
	tap_ok(page_is(p, N, 1), "back in: every byte is right");
	knob_settle();
	tap_ok(frame_same(p, N), "back in: merges again");
	tap_is(frame_mapcount(frame_number(p)), N, "back in: mapped by each");
	knob_counts(1, N - 1, 1, 0, "back in");

	tap_ok(swap_out(GROUP, p, N), "out again");
	page_fill_each(p, N, 100);
	tap_ok(frame_distinct(p, N) == N && page_is_each(p, N, 100),
	       "written while out: each has its frame, every byte is right");
	page_fill(p, N, 1);
	knob_settle();
	tap_ok(frame_same(p, N), "equal again: merges again");
	page_unmap(p, N);
	knob_clear();
}

struct view {
	char *memory;
	bool good;
	size_t present;
};

static int holder_body(struct child *c, void *arg)
{
	struct view *v = arg;

	child_report(c);
	child_wait(c);
	v->present = frame_distinct(v->memory, N);
	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 2);
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_shared(void)
{
	struct view *v = child_shared(1);
	char *p = merged(N, 2);
	struct child c;

	v->memory = p;
	child_start(&c, holder_body, v);
	child_done(&c);
	tap_ok(swap_out(GROUP, p, N), "with a child: no entry maps the page");
	child_step(&c);
	tap_is(v->present, 0, "nor does any entry of the child");
	child_step(&c);
	tap_ok(v->good, "back in: every byte of the child is right");
	tap_ok(page_is(p, N, 2), "back in: every byte of the parent is right");
	knob_settle();
	tap_ok(frame_same(p, N) && frame_distinct_of(c.pid, p, N) == 1 &&
	       frame_number(p) == frame_number_of(c.pid, p),
	       "back in: both share one frame again");
	knob_counts(1, 2 * N - 1, 1, 0, "back in, with a child");
	tap_is(child_join(&c), 0, "the child ends well");
	page_unmap(p, N);
	knob_clear();
}

/*
 * The last sharer gives its page to MADV_FREE, and only then somebody joins it: what is
 * dropped for the first must not be lost for the second.
 */
static void test_given_up(void)
{
	char *p = merged(N, 4), *q = page_map(1);

	munmap(p + PAGE, (N - 1) * PAGE);
	if (madvise(p, PAGE, MADV_FREE))
		tap_die("MADV_FREE: %s", strerror(errno));
	page_fill(q, 1, 4);
	page_register(q, 1);
	knob_settle();
	tap_is(frame_number(q) == frame_number(p), 1, "given up, then joined: one frame");
	swap_out(GROUP, q, 1);
	if (knob_pksm())
		tap_ok(page_is(q, 1, 4), "given up, then joined: reclaim loses nothing");
	else
		tap_skip("the built-in engine of 6.12 loses it",
			 "given up, then joined: reclaim loses nothing");
	page_unmap(p, 1);
	page_unmap(q, 1);
	knob_clear();
}

static void test_run2(void)
{
	char *p = merged(N, 3);

	tap_ok(swap_out(GROUP, p, N), "run=2: the page is out");
	knob_run(2);
	knob_counts(0, 0, 0, 0, "run=2 while out");
	tap_ok(page_is(p, N, 3), "run=2 while out: every byte is right");
	tap_is(frame_ksm(p, N), 0, "run=2 while out: what comes in is not merged");
	page_fill_each(p, N, 200);
	tap_ok(page_is_each(p, N, 200), "and can be written");
	knob_run(0);
	page_fill(p, N, 3);
	knob_settle();
	tap_ok(frame_same(p, N), "run=1 again: merges again");
	page_unmap(p, N);
	knob_clear();
}

static void test_unmerge(void)
{
	char *p = merged(N, 4);

	tap_ok(swap_out(GROUP, p, N), "MADV_UNMERGEABLE: the page is out");
	page_unregister(p, N);
	tap_ok(page_is(p, N, 4), "MADV_UNMERGEABLE while out: bytes right");
	page_fill_each(p, N, 300);
	tap_ok(page_is_each(p, N, 300), "and can be written");
	knob_settle();
	tap_is(frame_ksm(p, N), 0, "and nothing merges it again");
	knob_counts(0, 0, 1, 0, "MADV_UNMERGEABLE while out");
	page_unmap(p, N);
	knob_clear();
}

static void test_swapoff(void)
{
	char *p = merged(N, 5);
	int err;

	tap_ok(swap_out(GROUP, p, N), "swapoff: the page is out");
	err = swap_off();
	tap_is(err, 0, "swapoff works");
	tap_is(frame_swapped(p, N), 0, "swapoff: no entry names swap");
	tap_ok(page_is(p, N, 5), "swapoff: every byte is right");
	knob_settle();
	tap_ok(frame_same(p, N), "swapoff: merges again");
	knob_counts(1, N - 1, 1, 0, "swapoff");
	page_unmap(p, N);
	knob_clear();
	err = swap_on(256);
	if (err)
		tap_die("swap on again: %s", strerror(-err));
}

/* More than one content, reclaimed and looked at while the engine runs. */
static void test_under_way(void)
{
	char *p = page_map(4 * N);
	bool good = true;
	int i;

	for (i = 0; i < 4; i++)
		page_fill(p + i * N * PAGE, N, 10 + i);
	page_register(p, 4 * N);
	knob_settle();
	knob_run(1);
	for (i = 0; i < 20; i++) {
		swap_out(GROUP, p, 4 * N);
		page_fill(p + (i % 4 * N + i) * PAGE, 1, 10 + i % 4);
		for (int j = 0; j < 4; j++)
			good = good && page_is(p + j * N * PAGE, N, 10 + j);
	}
	tap_ok(good, "20 times out and in under way: every byte is right");
	knob_settle();
	for (i = 0; i < 4; i++)
		tap_ok(frame_same(p + i * N * PAGE, N),
		       "at rest: content %d is one frame", i);
	knob_counts(4, 4 * N - 4, 1, 0, "at rest");
	page_unmap(p, 4 * N);
	knob_clear();
}

int main(void)
{
	int err;

	knob_begin();
	err = swap_on(256);
	if (err)
		tap_die("swap on: %s", strerror(-err));
	swap_enter(GROUP);
	witness = page_map(1);
	page_fill(witness, 1, 99);
	madvise(witness, PAGE, MADV_DONTFORK);
	if (mlock(witness, PAGE))
		tap_die("mlock: %s", strerror(errno));
	page_register(witness, 1);
	test_out_and_in();
	test_shared();
	test_given_up();
	test_run2();
	test_unmerge();
	test_under_way();
	test_swapoff();
	tap_is(swap_off(), 0, "the swap goes away");
	swap_leave(GROUP);
	return tap_done();
}
