// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate.c - merged pages moved from one node to the other.
 *
 * All entries that map the frame must move together, in every process, also
 * in children that no pass has visited and after the page's area was moved.
 *
 *	migrate [brief]
 *
 * Brief: the first scene only, for scripts that need a page to migrate.
 *
 * group: module native
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define N 64

struct view {
	char *memory;
	bool good;
};

static int holder_body(struct child *c, void *arg)
{
	struct view *v = arg;

	if (!v->memory) {
		v->memory = page_map(N);
		page_fill(v->memory, N, 1);
		page_register(v->memory, N);
	}
	for (;;) {
		child_report(c);
		child_wait(c);
		v->good = page_is(v->memory, N, 1);
		child_report(c);
		child_wait(c);
		if (!v->memory)
			return 0;
	}
}

static bool all_on(pid_t pid, char *p, unsigned long number)
{
	return frame_distinct_of(pid, p, N) == 1 &&
	       frame_number_of(pid, p) == number;
}

static void end(struct child *c, struct view *v)
{
	v->memory = NULL;
	child_go(c);
	child_join(c);
}

static void test_together(void)
{
	struct view *v = child_shared(1);
	unsigned long from, to;
	struct child other, forked;
	char *p, *late;

	child_start(&other, holder_body, &v[0]);
	child_done(&other);
	p = page_map(N);
	page_fill(p, N, 1);
	page_register(p, N);
	knob_settle();
	from = frame_number(p);
	tap_ok(all_on(getpid(), p, from) && all_on(other.pid, v[0].memory, from),
	       "two processes share one frame");
	v[1].memory = p;
	child_start(&forked, holder_body, &v[1]);
	child_done(&forked);

	tap_is(node_move(getpid(), p), 0, "its page goes to the other node");
	to = frame_number(p);
	tap_ok(all_on(getpid(), p, to), "all entries of the caller follow");
	tap_ok(all_on(other.pid, v[0].memory, to),
	       "all entries of the other process follow");
	tap_ok(all_on(forked.pid, p, to),
	       "all entries of a child that no pass has visited follow");
	tap_is(frame_mapcount(to), 3 * N, "the new frame is mapped by all");
	tap_is(frame_ksm(p, N), N * PAGE / 1024, "smaps: still merged");
	knob_counts(1, 2 * N - 1, 0, 0, "migrated");

	child_step(&other);
	child_step(&forked);
	tap_ok(v[0].good && v[1].good && page_is(p, N, 1),
	       "every byte is right in all of them");
	late = page_map(N / 2);
	page_fill(late, N / 2, 1);
	page_register(late, N / 2);
	knob_settle();
	tap_ok(frame_same(late, N / 2) && frame_number(late) == to,
	       "later pages merge into the migrated one");
	tap_is(node_move(getpid(), late), 0, "and it goes back");
	tap_ok(all_on(getpid(), p, frame_number(late)) &&
	       all_on(other.pid, v[0].memory, frame_number(late)) &&
	       all_on(forked.pid, p, frame_number(late)),
	       "with all entries of all of them");
	page_fill(p, N, 2);
	child_go(&other);
	child_go(&forked);
	child_done(&other);
	child_done(&forked);
	child_step(&other);
	child_step(&forked);
	tap_ok(v[0].good && v[1].good && page_is(p, N, 2),
	       "a write in one leaves the others' bytes alone");
	end(&other, &v[0]);
	end(&forked, &v[1]);
	page_unmap(p, N);
	page_unmap(late, N / 2);
	knob_clear();
}

/* A merged page whose area was moved before, in one of two processes. */
static void test_moved_area(void)
{
	struct view *v = child_shared(1);
	struct child other;
	char *p = page_map(N), *q = page_map(N);

	page_fill(p, N, 1);
	page_register(p, N);
	knob_settle();
	v->memory = p;
	child_start(&other, holder_body, v);
	child_done(&other);
	page_unmap(q, N);
	q = mremap(p, N * PAGE, N * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	if (q == MAP_FAILED)
		tap_die("mremap: %s", strerror(errno));
	knob_settle();
	tap_ok(frame_same(q, N) &&
	       all_on(other.pid, v->memory, frame_number(q)),
	       "moved area: both processes share one frame");
	tap_is(node_move(getpid(), q), 0, "moved area: its page migrates");
	tap_ok(all_on(getpid(), q, frame_number(q)) &&
	       all_on(other.pid, v->memory, frame_number(q)),
	       "moved area: all entries of both follow");
	tap_is(node_move(other.pid, v->memory), 0,
	       "moved area: it migrates from the other side too");
	tap_ok(all_on(getpid(), q, frame_number(q)) &&
	       all_on(other.pid, v->memory, frame_number(q)),
	       "moved area: all entries of both follow again");
	child_step(&other);
	tap_ok(v->good && page_is(q, N, 1), "moved area: every byte is right");
	end(&other, v);
	page_unmap(q, N);
	knob_clear();
}

/* Contents of their own, each in two places, all moved there and back. */
static void test_many(void)
{
	char *p = page_map(2 * 256);
	bool together = true;
	int i, round, failed = 0;

	page_fill_each(p, 256, 1000);
	page_fill_each(p + 256 * PAGE, 256, 1000);
	page_register(p, 512);
	knob_settle();
	tap_is(frame_distinct(p, 512), 256, "256 merged pages of two each");
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 256; i++) {
			failed += node_move(getpid(), p + i * PAGE) != 0;
			together = together &&
				   frame_number(p + i * PAGE) ==
				   frame_number(p + (i + 256) * PAGE);
		}
	}
	tap_is(failed, 0, "all go to the other node and back");
	tap_ok(together, "in pairs");
	tap_ok(page_is_each(p, 256, 1000) &&
	       page_is_each(p + 256 * PAGE, 256, 1000), "every byte is right");
	page_unmap(p, 512);
	knob_clear();
}

/* A kernel under lockdep takes minutes to make as many as others do. */
static int area_pairs(void)
{
	return access("/proc/lockdep", F_OK) ? 20000 : 1000;
}

static void test_many_areas(void)
{
	const int pairs = area_pairs();
	char *p = page_map(2 * pairs);
	struct timespec a, b;
	unsigned long to;
	int i, err;

	/* One anon_vma for all, made while they are one area. */
	page_fill(p, 2 * pairs, 3);
	madvise(p + 32 * PAGE, (2 * pairs - 32) * PAGE, MADV_DONTNEED);
	for (i = 0; i < pairs; i++)
		if (mprotect(p + 2 * i * PAGE, PAGE, PROT_READ))
			tap_die("mprotect %d: %s", i, strerror(errno));
	page_register(p, 32);
	knob_settle();
	tap_ok(frame_same(p, 32), "32 pages among %d areas share one frame",
	       2 * pairs);
	clock_gettime(CLOCK_MONOTONIC, &a);
	err = node_move(getpid(), p);
	clock_gettime(CLOCK_MONOTONIC, &b);
	to = frame_number(p);
	tap_diag("migration took %.3f ms, result %d",
		 (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6,
		 err);
	tap_is(err, 0, "its page migrates");
	tap_ok(frame_same(p, 32) && frame_mapcount(to) == 32,
	       "all entries follow");
	tap_ok(page_is(p, 32, 3), "every byte is right");
	page_unmap(p, 2 * pairs);
	knob_clear();
}

/* The engine runs, and nobody is stopped: whatever moves, moves whole. */
static void test_under_way(void)
{
	char *p = page_map(N);
	int i, done = 0;

	page_fill(p, N, 4);
	page_register(p, N);
	knob_settle();
	knob_run(1);
	for (i = 0; i < 200; i++)
		done += node_move(getpid(), p + i % N * PAGE) == 0;
	knob_run(0);
	tap_diag("%d of 200 moves done while the engine ran", done);
	tap_ok(page_is(p, N, 4), "200 moves under way: every byte is right");
	knob_settle();
	tap_ok(frame_same(p, N), "at rest: one frame");
	knob_counts(1, N - 1, 0, 0, "at rest");
	page_unmap(p, N);
}

int main(int argc, char **argv)
{
	knob_begin();
	if (!node_two()) {
		tap_skip("the guest has one node only",
			 "merged pages migrate between nodes");
		return tap_done();
	}
	test_together();
	if (argc > 1 && !strcmp(argv[1], "brief"))
		return tap_done();
	test_moved_area();
	test_many();
	test_many_areas();
	test_under_way();
	return tap_done();
}
