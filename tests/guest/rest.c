// SPDX-License-Identifier: GPL-2.0-only
/*
 * rest.c - pages that were put to rest, or kept awake, and should not have been.
 *
 * One test for each bug that was found and mended in what the engine remembers of
 * spaces, pages and the dead. Most failed before; those of pages that differ for a
 * moment and of stopping amid the end of a big process hold what was right.
 *
 * group: module
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define N 64

static bool slow;

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Wait for passes that may not come; returns whether they did. */
static bool passes(long count, double seconds)
{
	long want = knob_get("full_scans") + count;
	double limit = now() + seconds;

	while (knob_get("full_scans") < want && now() < limit)
		nap(5);
	return knob_get("full_scans") >= want;
}

/*
 * An area without memory was the end of its space: the first write to it tells the
 * engine nothing, and the space was never looked at again.
 */
static void test_untouched(void)
{
	char *p = page_map(N);

	page_register(p, N);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	passes(3, 3);
	page_fill(p, N, 1);
	tap_ok(passes(3, 30), "registered long before the first write: passes are made");
	knob_run(0);
	tap_ok(frame_same(p, N) && page_is(p, N, 1),
	       "registered long before the first write: merged, every byte is right");
	knob_counts(1, N - 1, 0, 0, "registered long before the first write");
	page_unmap(p, N);
	knob_clear();
}

/* Between pages that can be merged lie equals that cannot: they kept those apart. */
static void state_between(char *p, const char *what)
{
	knob_settle();
	tap_ok(frame_number(p) == frame_number(p + 2 * PAGE),
	       "%s between equals: those merge", what);
	tap_is(frame_distinct(p, 4), 3, "%s between equals: each keeps its frame", what);
	tap_ok(page_is(p, 4, 2), "%s between equals: every byte is right", what);
}

static void test_pinned_between(void)
{
	char *p = page_map(4), *q = page_map(2);
	struct iovec v[2] = { { p + PAGE, PAGE }, { p + 3 * PAGE, PAGE } };
	int fd[2], i;

	page_fill(p, 4, 2);
	if (pipe(fd) || vmsplice(fd[1], v, 2, 0) != (ssize_t)(2 * PAGE))
		tap_die("vmsplice: %s", strerror(errno));
	page_register(p, 4);
	state_between(p, "pages in a pipe");
	close(fd[0]);
	close(fd[1]);
	page_unmap(p, 4);
	knob_clear();

	p = page_map(4);
	page_fill(p, 4, 2);
	page_fill(q, 2, 2);
	if (ring_pin(q, 2)) {
		tap_skip("no ring in this kernel", "pages of a ring between equals");
		return;
	}
	for (i = 0; i < 2; i++)
		if (mremap(q + i * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   p + (2 * i + 1) * PAGE) == MAP_FAILED)
			tap_die("mremap: %s", strerror(errno));
	page_register(p, 4);
	state_between(p, "pages of a ring");
	ring_unpin();
	page_unmap(p, 4);
	knob_clear();
}

/**
 * struct copy - memory that parent and child have in common
 * @memory: first page
 * @good: every byte was right
 */
struct copy {
	char *memory;
	bool good;
};

static int copy_body(struct child *c, void *arg)
{
	struct copy *v = arg;

	child_report(c);
	child_wait(c);
	v->good = page_is_each(v->memory, N, 300);
	child_report(c);
	child_wait(c);
	return v->good ? 0 : 1;
}

/*
 * Pages that two processes map since a fork rest beside each other. When one process
 * writes what was there, it gets a frame with the same bytes: they are two pages then.
 */
static void test_same_bytes(void)
{
	struct copy *v = child_shared(1);
	struct child c;
	size_t i, same = 0;
	char *p = page_map(N);

	page_fill_each(p, N, 300);
	page_register(p, N);
	v->memory = p;
	knob_settle();
	child_start(&c, copy_body, v);
	child_done(&c);
	knob_settle();
	tap_is(frame_mapcount(frame_number(p)), 2, "after a fork both map the frame");
	for (i = 0; i < N; i++) {
		char *at = p + i * PAGE;

		__atomic_store_n(at, *at, __ATOMIC_RELAXED);
		same += frame_number(p + i * PAGE) == frame_number_of(c.pid, p + i * PAGE);
	}
	tap_is(same, 0, "after a write of what was there each has its own");
	knob_settle();
	for (i = 0, same = 0; i < N; i++)
		same += frame_number(p + i * PAGE) == frame_number_of(c.pid, p + i * PAGE);
	tap_is(same, N, "two passes later they have one, merged");
	knob_counts(N, N, 0, 0, "written with the same bytes after a fork");
	child_step(&c);
	tap_is(child_join(&c), 0, "same bytes: the child's are right");
	tap_ok(page_is_each(p, N, 300), "same bytes: the parent's are right");
	page_unmap(p, N);
	knob_clear();
}

#define COPIES 60

static void set_sharing(long value)
{
	double limit = now() + 60;
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	while (knob_put("max_page_sharing", text)) {
		if (now() > limit)
			tap_die("max_page_sharing %ld: refused", value);
		nap(20);
	}
}

/*
 * A lookup examines a few of the copies of a full page. One of the others may be the
 * only one that has room.
 */
static void test_deep_copy(void)
{
	char *p = page_map(COPIES), *q = page_map(COPIES / 7 + 1);
	long was = knob_get("max_page_sharing"), joined = 0, rounds = 0, most = 0, n, i;

	set_sharing(2);
	page_fill(p, COPIES, 4);
	page_register(p, COPIES);
	page_register(q, COPIES / 7 + 1);
	knob_settle();
	knob_counts(COPIES / 2, COPIES / 2, 0, 0, "30 copies of two pages each");
	for (i = 0; i < COPIES; i += 7) {
		page_fill(p + i * PAGE, 1, 400 + i);
		knob_settle();
		page_fill(q + rounds * PAGE, 1, 4);
		for (n = 0; n < 8; n++) {
			knob_run(1);
			knob_passes(1);
			knob_run(0);
			if (frame_mapcount(frame_number(q + rounds * PAGE)) == 2)
				break;
		}
		joined += n < 8;
		most = n + 1 > most ? n + 1 : most;
		rounds++;
	}
	tap_diag("at most %ld passes", most);
	tap_is(joined, rounds, "a page joins the only copy that has room, wherever that is");
	knob_counts(COPIES / 2, COPIES / 2, rounds, 0, "joined again");
	tap_ok(page_is(q, rounds, 4), "joined again: every byte is right");
	page_unmap(p, COPIES);
	page_unmap(q, COPIES / 7 + 1);
	knob_clear();
	set_sharing(was);
}

/* A page that was different for a moment, whatever the engine saw of that. */
static void test_moment(void)
{
	uint64_t random = 5, r;
	char *p = page_map(N);
	long i, j, bad = 0;

	page_fill(p, N, 6);
	page_register(p, N);
	knob_pass_begin();
	for (i = 0; i < 8; i++) {
		/* Different for the length of no pass, of one, and of two. */
		page_fill(p + i * PAGE, N / 2, 7);
		for (j = 0; j < i % 3; j++)
			knob_pass();
		page_fill(p + i * PAGE, N / 2, 6);
		knob_pass();
		knob_pass();
		bad += !frame_same(p, N);
	}
	tap_is(bad, 0, "different for the length of some passes: merged two passes later");
	for (i = 0; i < 20; i++) {
		knob_set("sleep_millisecs", 0);
		knob_run(1);
		for (j = 0; j < 40; j++) {
			r = model_random(&random);
			page_fill(p + r % N * PAGE, 1, r & 256 ? 7 : 6);
			usleep((r >> 16) % 2000);
		}
		page_fill(p, N, 6);
		knob_passes(3);
		knob_run(0);
		bad += !frame_same(p, N) || !page_is(p, N, 6);
	}
	tap_is(bad, 0, "different for moments: merged two passes later, every byte right");
	knob_counts(1, N - 1, 0, 0, "different for moments");
	page_unmap(p, N);
	knob_clear();
}

/* A process with pages that no other has. */
static int mortal_body(struct child *c, void *arg)
{
	size_t pages = *(size_t *)arg;
	char *p = page_map(pages);

	page_fill_tail(p, pages, 8, 1);
	page_register(p, pages);
	child_report(c);
	child_wait(c);
	return 0;
}

/* What is known of a dead process goes while the engine sleeps for hours. */
static void test_death_asleep(void)
{
	size_t pages = 4000;
	struct child c;
	double limit;
	int status;

	child_start(&c, mortal_body, &pages);
	child_done(&c);
	knob_pass_begin();
	knob_pass();
	knob_set("pages_to_scan", 1300);
	knob_batch();
	kill(c.pid, SIGKILL);
	waitpid(c.pid, &status, 0);
	limit = now() + 15;
	while ((knob_get("pages_unshared") || knob_get("pages_volatile") ||
		knob_get("general_profit")) && now() < limit)
		nap(20);
	knob_counts(0, 0, 0, 0, "died while the engine sleeps in its memory");
	tap_is(knob_get("general_profit"), 0, "died while the engine sleeps: nothing is kept");
	knob_run(0);
	knob_set("pages_to_scan", 100000);
	knob_clear();
}

/* Whoever stops the engine does not wait until the dead are buried. */
static void test_stop_amid_reaping(void)
{
	size_t pages = slow ? 16384 : 131072;
	double begin, worst = 0, limit;
	struct child c;
	int status, i;

	for (i = 0; i < 3; i++) {
		child_start(&c, mortal_body, &pages);
		child_done(&c);
		knob_set("sleep_millisecs", 0);
		knob_run(1);
		knob_passes(3);
		kill(c.pid, SIGKILL);
		waitpid(c.pid, &status, 0);
		nap(20 * i);
		begin = now();
		knob_run(0);
		if (now() - begin > worst)
			worst = now() - begin;
		limit = now() + 120;
		while (knob_get("pages_unshared") && now() < limit)
			nap(20);
		tap_is(knob_get("pages_unshared"), 0, "a big process died: nothing is kept");
	}
	tap_diag("run=0 took %.3f seconds at most", worst);
	tap_ok(worst < (slow ? 20 : 5), "run=0 amid the end of a big process returns soon");
	knob_clear();
}

int main(void)
{
	knob_begin();
	slow = !access("/proc/lockdep", F_OK);
	test_untouched();
	test_pinned_between();
	test_same_bytes();
	test_deep_copy();
	test_moment();
	test_death_asleep();
	test_stop_amid_reaping();
	return tap_done();
}
