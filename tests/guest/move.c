// SPDX-License-Identifier: GPL-2.0-only
/*
 * move.c - areas of merged pages moved, cut, protected and discarded.
 *
 * The kernel changes the areas under the engine: mremap in all its forms,
 * partial munmap, mprotect, madvise. After each, every byte is where it
 * belongs, and what is left merges again.
 *
 * group: module native
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define N 64

static char *merged(uint64_t content)
{
	char *p = page_map(N);

	page_fill(p, N, content);
	page_register(p, N);
	knob_settle();
	if (!frame_same(p, N))
		tap_die("the pages to work on did not merge");
	return p;
}

static char *moved(char *from, size_t old, size_t new, int flags, char *to)
{
	char *p = mremap(from, old * PAGE, new * PAGE, flags, to);

	if (p == MAP_FAILED)
		tap_die("mremap: %s", strerror(errno));
	return p;
}

static void test_move(void)
{
	char *p = merged(1), *q = page_map(N);
	unsigned long old = frame_number(p);

	page_unmap(q, N);
	q = moved(p, N, N, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	tap_ok(page_is(q, N, 1), "moved: every byte is right");
	page_fill(q + 3 * PAGE, 1, 2);
	tap_ok(page_is(q, 3, 1) && page_is(q + 3 * PAGE, 1, 2) &&
	       page_is(q + 4 * PAGE, N - 4, 1),
	       "moved: a write changes one page only");
	page_fill(q + 3 * PAGE, 1, 1);
	knob_settle();
	tap_ok(frame_same(q, N), "moved: merges at the new place");
	tap_is(frame_mapcount(frame_number(q)), N, "moved: mapped by each");
	tap_ok(page_is(q, N, 1), "moved and merged: every byte is right");
	tap_diag("frame before %#lx, after %#lx", old, frame_number(q));
	knob_counts(1, N - 1, 0, 0, "moved");
	page_unmap(q, N);
	knob_clear();
}

static void test_grow(void)
{
	char *room = page_map(2 * N), *p;

	page_unmap(room + N * PAGE, N);
	p = room;
	page_fill(p, N, 3);
	page_register(p, N);
	knob_settle();
	p = moved(p, N, 2 * N, 0, NULL);
	tap_ok(p == room && frame_same(p, N), "grown: stays merged");
	page_fill(p + N * PAGE, N, 3);
	knob_settle();
	tap_ok(frame_same(p, 2 * N), "grown: the new part merges with it");
	tap_ok(page_is(p, 2 * N, 3), "grown: every byte is right");
	knob_counts(1, 2 * N - 1, 0, 0, "grown");
	p = moved(p, 2 * N, N / 2, 0, NULL);
	tap_is(frame_mapcount(frame_number(p)), N / 2,
	       "shrunk: what is left maps the frame");
	tap_ok(page_is(p, N / 2, 3), "shrunk: every byte is right");
	knob_settle();
	knob_counts(1, N / 2 - 1, 0, 0, "shrunk");
	page_unmap(p, N / 2);
	knob_clear();
}

static void test_over(void)
{
	char *p = merged(4), *q = merged(5);
	unsigned long lost = frame_number(q);

	q = moved(p, N, N, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	tap_ok(page_is(q, N, 4), "moved over another: every byte is right");
	knob_settle();
	tap_ok(frame_same(q, N), "moved over another: merges there");
	tap_ok(frame_number(q) != lost, "moved over another: not its frame");
	knob_counts(1, N - 1, 0, 0, "moved over another");
	page_unmap(q, N);
	knob_clear();
}

static void test_dontunmap(void)
{
	char *p = merged(6), *q;

	q = moved(p, N, N, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	tap_ok(page_is(q, N, 6), "DONTUNMAP: every byte is at the new place");
	tap_is(frame_absent(p, N), N, "DONTUNMAP: the old place is empty");
	page_fill(p, N, 6);
	page_register(p, N);
	page_register(q, N);
	knob_settle();
	tap_ok(frame_same(p, N) && frame_same(q, N) &&
	       frame_number(p) == frame_number(q),
	       "DONTUNMAP: both places share one frame");
	tap_ok(page_is(p, N, 6) && page_is(q, N, 6),
	       "DONTUNMAP: every byte is right");
	knob_counts(1, 2 * N - 1, 0, 0, "DONTUNMAP");
	page_unmap(p, N);
	page_unmap(q, N);
	knob_clear();
}

static void test_cut(void)
{
	char *p = merged(7);
	unsigned long shared = frame_number(p);

	page_unmap(p + 8 * PAGE, 8);
	page_unmap(p + 40 * PAGE, 1);
	tap_is(frame_mapcount(shared), N - 9, "cut: 9 pages less map it");
	tap_ok(page_is(p, 8, 7) && page_is(p + 16 * PAGE, 24, 7) &&
	       page_is(p + 41 * PAGE, N - 41, 7), "cut: every byte is right");
	knob_settle();
	knob_counts(1, N - 9 - 1, 0, 0, "cut");
	page_unmap(p, N);
	knob_clear();
}

static sigjmp_buf back;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* Whether a write of one byte faults. */
static bool write_faults(char *at)
{
	struct sigaction sa = { .sa_handler = on_fault }, old;
	bool faults = true;

	sigaction(SIGSEGV, &sa, &old);
	if (!sigsetjmp(back, 1)) {
		__atomic_store_n(at, 1, __ATOMIC_RELAXED);
		faults = false;
	}
	sigaction(SIGSEGV, &old, NULL);
	return faults;
}

static void test_protect(void)
{
	char *p = merged(8);
	unsigned long shared = frame_number(p);
	int i;

	for (i = 0; i < N; i += 2)
		if (mprotect(p + i * PAGE, PAGE, PROT_READ))
			tap_die("mprotect: %s", strerror(errno));
	tap_ok(frame_same(p, N) && frame_number(p) == shared,
	       "protected in stripes: stays merged");
	tap_ok(write_faults(p) && write_faults(p + 2 * PAGE),
	       "protected: a write faults");
	p[PAGE] ^= 1;
	tap_ok(frame_number(p + PAGE) != shared, "between: a write unshares");
	tap_is(frame_mapcount(shared), N - 1, "only that page");
	p[PAGE] ^= 1;
	knob_settle();
	tap_ok(frame_same(p, N), "pages of many areas merge");
	knob_counts(1, N - 1, 0, 0, "protected in stripes");
	if (mprotect(p, N * PAGE, PROT_NONE))
		tap_die("mprotect: %s", strerror(errno));
	knob_settle();
	tap_is(frame_mapcount(frame_number(p)), N, "PROT_NONE: stays merged");
	if (mprotect(p, N * PAGE, PROT_READ | PROT_WRITE))
		tap_die("mprotect: %s", strerror(errno));
	tap_ok(page_is(p, N, 8), "every byte is right");
	page_fill_each(p, N, 100);
	tap_ok(frame_distinct(p, N) == N && page_is_each(p, N, 100),
	       "writable again: each write gets a frame, every byte is right");
	page_unmap(p, N);
	knob_clear();
}

static void test_discard(void)
{
	char *p = merged(9);
	unsigned long shared = frame_number(p);

	if (madvise(p + 16 * PAGE, 16 * PAGE, MADV_DONTNEED))
		tap_die("MADV_DONTNEED: %s", strerror(errno));
	tap_is(frame_absent(p + 16 * PAGE, 16), 16, "discarded: gone");
	tap_is(frame_mapcount(shared), N - 16, "discarded: 16 fewer map it");
	knob_settle();
	knob_counts(1, N - 16 - 1, 0, 0, "discarded");
	tap_is(frame_absent(p + 16 * PAGE, 16), 16,
	       "discarded: no pass brings a page back");
	tap_ok(page_is_zero(p + 16 * PAGE, 16), "discarded: reads as zero");
	tap_ok(page_is(p, 16, 9) && page_is(p + 32 * PAGE, 32, 9),
	       "discarded: every other byte is right");
	page_fill(p + 16 * PAGE, 16, 9);
	knob_settle();
	tap_ok(frame_same(p, N), "discarded and written: merges again");
	page_unmap(p, N);
	knob_clear();
}

/* Freed lazily: each page is what it was or zero, and a write stays. */
static void test_free(void)
{
	char *p = merged(10);
	bool good = true;
	int i;

	if (madvise(p, N / 2 * PAGE, MADV_FREE))
		tap_die("MADV_FREE: %s", strerror(errno));
	knob_settle();
	for (i = 0; i < N / 2; i++)
		good = good && (page_is(p + i * PAGE, 1, 10) ||
				page_is_zero(p + i * PAGE, 1));
	tap_ok(good, "MADV_FREE: each page is as it was or zero");
	tap_ok(page_is(p + N / 2 * PAGE, N / 2, 10),
	       "MADV_FREE: every byte of the others is right");
	page_fill(p, N / 2, 11);
	madvise(p + N / 2 * PAGE, N / 2 * PAGE, MADV_COLD);
	madvise(p + N / 2 * PAGE, N / 2 * PAGE, MADV_PAGEOUT);
	knob_settle();
	tap_ok(page_is(p, N / 2, 11), "MADV_FREE: what is written stays");
	tap_ok(page_is(p + N / 2 * PAGE, N / 2, 10),
	       "MADV_COLD and MADV_PAGEOUT: every byte is right");
	page_fill(p, N / 2, 10);
	knob_settle();
	tap_ok(frame_same(p, N), "all equal again: merges again");
	knob_counts(1, N - 1, 0, 0, "all equal again");
	page_unmap(p, N);
	knob_clear();
}

/* Moved, cut and written in turn while the engine runs. */
static void test_under_way(void)
{
	char *p = page_map(N), *q;
	bool good = true;
	int i;

	page_fill(p, N, 12);
	page_register(p, N);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	for (i = 0; i < 200; i++) {
		q = page_map(N);
		page_register(q, N);
		p = moved(p, N, N, MREMAP_MAYMOVE | MREMAP_FIXED, q);
		page_fill(p + i % N * PAGE, 1, 12);
		good = good && page_is(p, N, 12);
		madvise(p + i % N * PAGE, PAGE, MADV_DONTNEED);
		good = good && page_is_zero(p + i % N * PAGE, 1);
		page_fill(p + i % N * PAGE, 1, 12);
	}
	tap_ok(good, "200 moves under the running engine: every byte is right");
	knob_settle();
	tap_ok(frame_same(p, N), "at rest: one frame");
	knob_counts(1, N - 1, 0, 0, "at rest");
	page_unmap(p, N);
}

int main(void)
{
	knob_begin();
	test_move();
	test_grow();
	test_over();
	test_dontunmap();
	test_cut();
	test_protect();
	test_discard();
	test_free();
	test_under_way();
	return tap_done();
}
