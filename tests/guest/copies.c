// SPDX-License-Identifier: GPL-2.0-only
/*
 * copies.c - max_page_sharing: one content on several frames.
 *
 * A frame has at most that many mappings; a further one of the same content is a
 * copy. The kernel calls contents that have copies chains (stable_node_chains), and
 * their frames dups (stable_node_dups).
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#define SHARING 4
#define N (6 * SHARING)

static char *equal(uint64_t content, size_t pages)
{
	char *p = page_map(pages);

	page_fill(p, pages, content);
	page_register(p, pages);
	return p;
}

static void chains(long want_chains, long want_dups, const char *what)
{
	tap_is(knob_get("stable_node_chains"), want_chains, "%s: chains", what);
	tap_is(knob_get("stable_node_dups"), want_dups, "%s: dups", what);
}

/* Mappings of the frame that has most of them. */
static long most(const char *p, size_t pages)
{
	long best = 0;

	for (size_t i = 0; i < pages; i++) {
		long count = frame_mapcount(frame_number(p + i * PAGE));

		best = count > best ? count : best;
	}
	return best;
}

static void test_limit(void)
{
	char *p = equal(2, N);

	knob_settle();
	tap_is(frame_distinct(p, N), N / SHARING, "%d equal pages: %d frames", N, N / SHARING);
	tap_is(most(p, N), SHARING, "no frame has more mappings than allowed");
	tap_ok(page_is(p, N, 2), "copies: every byte is right");
	knob_counts(N / SHARING, N - N / SHARING, 1, 0, "copies");
	chains(1, N / SHARING, "copies");

	page_fill(p, 1, 3);
	knob_settle();
	knob_counts(N / SHARING, N - 1 - N / SHARING, 2, 0, "one has left");
	page_fill(p, 1, 2);
	knob_settle();
	tap_is(frame_distinct(p, N), N / SHARING, "it has come back: to the frame with room");
	knob_counts(N / SHARING, N - N / SHARING, 1, 0, "it has come back");
	page_unmap(p, N);
	knob_clear();
}

/* Frames die, and what is left is one frame that anybody can join. */
static void test_prune(void)
{
	char *p = equal(4, N), *q;
	unsigned long frame;
	size_t i;

	knob_settle();
	chains(1, N / SHARING, "before");
	frame = frame_number(p);
	for (i = 0; i < N; i++)
		if (frame_number(p + i * PAGE) != frame)
			page_fill(p + i * PAGE, 1, 100 + i);
	knob_settle();
	knob_counts(1, SHARING - 1, 1 + N - SHARING, 0, "one frame is left");
	if (knob_pksm())
		chains(0, 0, "one frame is left");
	for (i = 0; i < N; i++)
		if (frame_number(p + i * PAGE) == frame)
			break;
	page_fill(p + i * PAGE, 1, 200);
	q = equal(4, 1);
	knob_settle();
	tap_is(frame_number(q), frame, "and can be joined");
	page_unmap(q, 1);
	page_unmap(p, N);
	knob_settle();
	knob_counts(0, 0, 1, 0, "all have gone");
	chains(0, 0, "all have gone");
	knob_clear();
}

static void test_migrate(void)
{
	unsigned long before, after;
	char *p;

	if (!node_two()) {
		tap_skip("one node", "a copy can be migrated");
		return;
	}
	p = equal(5, N);
	knob_settle();
	for (size_t i = 0; i < N; i += 5) {
		before = frame_number(p + i * PAGE);
		tap_is(node_move(getpid(), p + i * PAGE), 0, "copy of page %zu moves", i);
		after = frame_number(p + i * PAGE);
		tap_is(frame_mapcount(after), SHARING, "with all who map it");
		tap_ok(after != before, "to another frame");
	}
	tap_ok(page_is(p, N, 5), "migrated copies: every byte is right");
	tap_is(frame_distinct(p, N), N / SHARING, "migrated copies: as many frames");
	knob_counts(N / SHARING, N - N / SHARING, 1, 0, "migrated copies");
	chains(1, N / SHARING, "migrated copies");
	page_unmap(p, N);
	knob_clear();
}

/* The limit can be changed only while nothing is merged. */
static void test_change(void)
{
	char *p = equal(6, N);

	knob_settle();
	tap_is(knob_put("max_page_sharing", "8"), -EBUSY, "a new limit while pages are merged");
	tap_is(knob_get("max_page_sharing"), SHARING, "changes nothing");
	tap_is(knob_put("max_page_sharing", "4"), 0, "the same limit is no change");
	tap_is(knob_put("max_page_sharing", "1"), -EINVAL, "a limit of one");
	knob_clear();
	tap_is(knob_put("max_page_sharing", "8"), 0, "a new limit when nothing is merged");
	knob_settle();
	tap_is(frame_distinct(p, N), N / 8, "it holds");
	tap_is(most(p, N), 8, "it is used");
	knob_counts(N / 8, N - N / 8, 1, 0, "another limit");
	tap_ok(page_is(p, N, 6), "another limit: every byte is right");
	page_unmap(p, N);
	knob_clear();
}

/* More copies than one lookup looks at. */
#define FRAMES 24
#define MANY (FRAMES * SHARING)

/* The first page of each frame leaves it, but for that frame (or only there). */
static void leave(char *p, const unsigned long *frame, unsigned long which, bool only)
{
	for (size_t i = 0; i < MANY; i++) {
		bool there = frame[i] == which, first = true;

		for (size_t j = 0; j < i; j++)
			first = first && frame[j] != frame[i];
		if (first && there == only)
			page_fill(p + i * PAGE, 1, 300 + i);
	}
	knob_settle();
}

static int body(struct child *c, void *arg)
{
	(void)arg;
	child_report(c);
	child_wait(c);
	return 0;
}

/*
 * One frame has had room for longest; a child fills all the others, but no lookup has
 * seen them full yet. The next page finds its way past them, and need not wait until
 * something else happens to that content.
 */
static void test_last(void)
{
	unsigned long frame[MANY];
	struct child c;
	char *p, *q;
	size_t i;

	p = equal(7, MANY);
	knob_settle();
	tap_is(frame_distinct(p, MANY), FRAMES, "%d equal pages: %d frames", MANY, FRAMES);
	for (i = 0; i < MANY; i++)
		frame[i] = frame_number(p + i * PAGE);
	leave(p, frame, frame[MANY - 1], true);
	leave(p, frame, frame[MANY - 1], false);
	for (i = 0; i < MANY; i++)
		if (frame[i] == frame[MANY - 1])
			madvise(p + i * PAGE, PAGE, MADV_DONTFORK);
	child_start(&c, body, NULL);
	child_done(&c);
	knob_settle();
	tap_is(frame_mapcount(frame[MANY - 1]), SHARING - 1, "one frame has room");
	q = equal(7, 1);
	knob_settle();
	tap_is(frame_number(q), frame[MANY - 1], "a page behind full copies finds it");
	tap_is(child_join(&c), 0, "the child ends");
	page_unmap(q, 1);
	page_unmap(p, MANY);
	knob_clear();
}

int main(void)
{
	long was;

	knob_begin();
	was = knob_get("max_page_sharing");
	knob_set("max_page_sharing", SHARING);
	knob_set("stable_node_chains_prune_millisecs", 0);
	page_witness();
	test_limit();
	test_prune();
	test_migrate();
	test_change();
	knob_set("max_page_sharing", SHARING);
	test_last();
	knob_clear();
	knob_set("max_page_sharing", was);
	knob_set("stable_node_chains_prune_millisecs", 2000);
	return tap_done();
}
