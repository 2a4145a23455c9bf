// SPDX-License-Identifier: GPL-2.0-only
/*
 * unmerge.c - every way by which merged pages become private again.
 *
 * MADV_UNMERGEABLE, prctl(PR_SET_MEMORY_MERGE) off and run=2: afterwards
 * each page has a frame of its own, smaps shows nothing merged and every
 * byte is what it was.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif

#define N 64
/* Pages of each range in run=2: all sharers together stay below 256. */
#define R 32

static char *merged(uint64_t content)
{
	char *p = page_map(N);

	page_fill(p, N, content);
	page_register(p, N);
	knob_settle();
	if (!frame_same(p, N))
		tap_die("the pages to unmerge did not merge");
	return p;
}

static void test_whole(void)
{
	char *p = merged(1);

	page_unregister(p, N);
	tap_is(frame_distinct(p, N), N, "whole area: each page has its frame");
	tap_is(frame_ksm(p, N), 0, "whole area: smaps shows none as merged");
	tap_ok(page_is(p, N, 1), "whole area: every byte is right");
	knob_settle();
	tap_is(frame_distinct(p, N), N, "whole area: nothing merges it again");
	knob_counts(0, 0, 1, 0, "whole area");
	page_register(p, N);
	knob_settle();
	tap_ok(frame_same(p, N), "whole area: registered again, it merges");
	page_unmap(p, N);
}

static void test_part(void)
{
	char *p = merged(2);
	unsigned long shared = frame_number(p);

	page_unregister(p + 16 * PAGE, 16);
	tap_is(frame_distinct(p + 16 * PAGE, 16), 16,
	       "part of an area: each of its pages has its frame");
	tap_ok(frame_same(p, 16) && frame_same(p + 32 * PAGE, 32) &&
	       frame_number(p) == shared &&
	       frame_number(p + 63 * PAGE) == shared,
	       "part of an area: the rest stays merged");
	tap_is(frame_mapcount(shared), N - 16,
	       "part of an area: 16 pages less map the frame");
	tap_is(frame_ksm(p + 16 * PAGE, 16), 0,
	       "part of an area: smaps shows none of it as merged");
	tap_ok(page_is(p, N, 2), "part of an area: every byte is right");
	knob_settle();
	knob_counts(1, N - 16 - 1, 1, 0, "part of an area");
	page_register(p + 16 * PAGE, 16);
	knob_settle();
	tap_ok(frame_same(p, N), "part of an area: registered again, it merges");
	page_unmap(p, N);
}

static void test_bounds(void)
{
	char *p = merged(3), *q;
	unsigned long shared = frame_number(p);

	tap_ok(!madvise(p, 0, MADV_UNMERGEABLE), "no length is no error");
	tap_ok(!madvise(p, 0, MADV_MERGEABLE), "no length to register neither");
	tap_ok(madvise(p + 1, PAGE, MADV_UNMERGEABLE) < 0 && errno == EINVAL,
	       "an address inside a page is refused");
	tap_ok(madvise(p, -PAGE, MADV_UNMERGEABLE) < 0 && errno == EINVAL,
	       "a range that wraps around is refused");
	tap_ok(frame_same(p, N) && frame_number(p) == shared,
	       "none of these changed a page");

	q = page_map(N);
	page_register(q, N);
	tap_ok(!madvise(q, N * PAGE, MADV_UNMERGEABLE),
	       "a range of holes only is no error");
	tap_is(frame_absent(q, N), N, "none of its holes is filled");
	page_unmap(q, N);

	page_unmap(p + 16 * PAGE, 16);
	tap_ok(madvise(p, N * PAGE, MADV_UNMERGEABLE) < 0 && errno == ENOMEM,
	       "a range with unmapped parts says ENOMEM");
	tap_is(frame_distinct(p, N), N - 16,
	       "its mapped parts are unmerged all the same");
	tap_ok(page_is(p, 16, 3) && page_is(p + 32 * PAGE, 32, 3),
	       "every byte is right");
	page_unmap(p, 16);
	page_unmap(p + 32 * PAGE, 32);
}

static void test_foreign(void)
{
	char *p = mmap(NULL, N * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tap_die("map shared memory: %s", strerror(errno));
	page_fill(p, N, 4);
	tap_ok(!madvise(p, N * PAGE, MADV_MERGEABLE),
	       "registering shared memory is no error");
	knob_settle();
	tap_is(frame_distinct(p, N), N, "but nothing of it merges");
	tap_ok(page_is(p, N, 4), "every byte is right");
	tap_ok(!madvise(p, N * PAGE, MADV_UNMERGEABLE),
	       "nor is withdrawing it an error");
	page_unmap(p, N);
}

static void test_sparse(void)
{
	const size_t size = 1UL << 40;
	struct timespec a, b;
	char *p, *page;
	int err;

	if (!knob_pksm()) {
		tap_skip("the built-in engine of 6.12 looks at every page of a hole",
			 "a mapping of 1 TiB with two pages is unmerged");
		return;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		tap_die("map 1 TiB: %s", strerror(errno));
	madvise(p, size, MADV_NOHUGEPAGE);
	page = p + size / 2;
	page_fill(page, 1, 5);
	page_fill(p + size - PAGE, 1, 5);
	if (madvise(p, size, MADV_MERGEABLE))
		tap_die("register 1 TiB: %s", strerror(errno));
	knob_settle();
	tap_ok(frame_number(page) == frame_number(p + size - PAGE),
	       "two pages of 1 TiB merge");
	clock_gettime(CLOCK_MONOTONIC, &a);
	err = madvise(p, size, MADV_UNMERGEABLE);
	clock_gettime(CLOCK_MONOTONIC, &b);
	tap_ok(!err, "a mapping of 1 TiB with two pages is unmerged");
	tap_diag("in %.3f ms", (b.tv_sec - a.tv_sec) * 1e3 +
		 (b.tv_nsec - a.tv_nsec) / 1e6);
	tap_ok(frame_number(page) != frame_number(p + size - PAGE),
	       "the two pages have a frame each");
	tap_ok(page_is(page, 1, 5) && page_is(p + size - PAGE, 1, 5),
	       "every byte is right");
	munmap(p, size);
}

struct prctl_view {
	char *old;
	char *new;
	int set, get_before, get_on, get_off, clear, bad;
	bool bytes;
};

static int prctl_body(struct child *c, void *arg)
{
	struct prctl_view *v = arg;

	v->old = page_map(N);
	page_fill(v->old, N, 6);
	v->get_before = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	v->bad = prctl(PR_SET_MEMORY_MERGE, 1, 1, 0, 0) < 0 ? errno : 0;
	v->set = prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0);
	v->get_on = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	v->new = page_map(N);
	page_fill(v->new, N, 6);
	child_report(c);
	child_wait(c);
	v->clear = prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0);
	v->get_off = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	v->bytes = page_is(v->old, N, 6) && page_is(v->new, N, 6);
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_by_prctl(void)
{
	struct prctl_view *v = child_shared(1);
	struct child c;
	char path[64];

	child_start(&c, prctl_body, v);
	child_done(&c);
	snprintf(path, sizeof(path), "/proc/%d/ksm_merging_pages", (int)c.pid);
	tap_is(v->get_before, 0, "prctl: off at first");
	tap_is(v->bad, EINVAL, "prctl: a stray argument is refused");
	tap_is(v->set, 0, "prctl: switched on");
	tap_is(v->get_on, 1, "prctl: reads as on");
	knob_settle();
	tap_ok(frame_number_of(c.pid, v->old) &&
	       frame_distinct_of(c.pid, v->old, N) == 1 &&
	       frame_distinct_of(c.pid, v->new, N) == 1 &&
	       frame_number_of(c.pid, v->old) ==
	       frame_number_of(c.pid, v->new),
	       "prctl: memory mapped before and after shares one frame");
	tap_ok(file_number(path, -1) >= 2 * N, "prctl: ksm_merging_pages");
	child_step(&c);
	tap_is(v->clear, 0, "prctl: switched off");
	tap_is(v->get_off, 0, "prctl: reads as off");
	tap_is(frame_distinct_of(c.pid, v->old, N) +
	       frame_distinct_of(c.pid, v->new, N), 2 * N,
	       "prctl off: each page has its frame");
	tap_is(frame_ksm_of(c.pid), 0, "prctl off: smaps shows none as merged");
	tap_ok(v->bytes, "prctl off: every byte is right");
	knob_settle();
	tap_is(frame_ksm_of(c.pid), 0, "prctl off: nothing merges it again");
	tap_is(file_number(path, -1), 0, "prctl off: ksm_merging_pages");
	knob_counts(0, 0, 1, 0, "prctl off");
	tap_is(child_join(&c), 0, "prctl: the process ends well");
}

struct sharer {
	char *memory;
	bool good;
};

static int sharer_body(struct child *c, void *arg)
{
	struct sharer *s = arg;

	s->memory = page_map(R);
	page_fill(s->memory, R, 7);
	page_register(s->memory, R);
	child_report(c);
	child_wait(c);
	s->good = page_is(s->memory, R, 7);
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_by_run(void)
{
	struct sharer *s = child_shared(1);
	char *p = page_map(R), *late;
	struct child c[2];
	int i;

	page_fill(p, R, 7);
	page_register(p, R);
	for (i = 0; i < 2; i++) {
		child_start(&c[i], sharer_body, &s[i]);
		child_done(&c[i]);
	}
	knob_settle();
	tap_is(frame_mapcount(frame_number(p)), 5 * R,
	       "run=2: %d pages of three processes share a frame", 5 * R);
	knob_run(2);
	tap_is(knob_get("run"), 2, "run=2: reads as 2");
	knob_counts(0, 0, 0, 0, "run=2");
	tap_is(frame_distinct(p, R), R, "run=2: each page has its frame");
	tap_is(frame_ksm_of(getpid()), 0, "run=2: smaps shows none as merged");
	for (i = 0; i < 2; i++) {
		tap_is(frame_distinct_of(c[i].pid, s[i].memory, R), R,
		       "run=2: the same in process %d", i);
		tap_is(frame_ksm_of(c[i].pid), 0,
		       "run=2: its smaps shows none as merged");
		child_step(&c[i]);
		tap_ok(s[i].good, "run=2: every byte of it is right");
	}
	tap_is(frame_mapcount(frame_number(p)), 1, "run=2: mapped once");
	tap_ok(page_is(p, R, 7), "run=2: every byte is right");

	late = page_map(R);
	page_fill(late, R, 7);
	page_register(late, R);
	tap_is(frame_distinct(late, R), R, "run=2: new memory is not merged");
	knob_settle();
	tap_is(frame_mapcount(frame_number(p)), 6 * R,
	       "run=1 again: all of it merges");
	for (i = 0; i < 2; i++)
		tap_is(child_join(&c[i]), 0, "process %d ends well", i);
	page_unmap(p, R);
	page_unmap(late, R);
}

int main(void)
{
	knob_begin();
	page_witness();
	test_whole();
	test_part();
	test_bounds();
	test_foreign();
	test_sparse();
	test_by_prctl();
	test_by_run();
	return tap_done();
}
