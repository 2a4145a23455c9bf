// SPDX-License-Identifier: GPL-2.0-only
/*
 * meet.c - all workers meet on few contents.
 *
 *	meet [SECONDS [SEED [WORKERS]]]
 *
 * group: module
 *
 * Thousands of equal pages arrive at once, in one process and in many, under a small
 * and a large limit of sharers; then the same while their owners write, unmap, fork
 * and exit. At rest every byte is compared, and the frames of all pages are: two
 * passes after the last change everything that can be merged has been, and the
 * counters say exactly that. SECONDS is how long one number of workers is tried;
 * without WORKERS several are tried in turn, whatever the lane says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib-crowd.h"

/* A limit that no content of these tests reaches, and one that all do. */
#define MANY 1000000
#define FEW 8

static long workers, seconds = 10;
static uint64_t seed;
static bool slow;

/* Not while pages are merged; those of a process on its way out may be, for a moment. */
static void set_sharing(long value)
{
	time_t limit = time(NULL) + 60;
	struct timespec t = { .tv_nsec = 20000000 };
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	while (knob_put("max_page_sharing", text)) {
		if (time(NULL) > limit)
			tap_die("max_page_sharing %ld: refused", value);
		nanosleep(&t, NULL);
	}
}

/* What a content that @n pages have at once comes to. */
static void add_expected(long n, long sharing, long *shared, long *sharers, long *unshared)
{
	long lone = n % sharing == 1 || n == 1;

	*shared += (n - lone + sharing - 1) / sharing;
	*sharers += n - lone;
	*unshared += lone;
}

/**
 * struct host - a process in which pages arrive
 * @pages: how many
 * @memory: where
 * @good: every byte is right
 */
struct host {
	size_t pages;
	char *memory;
	bool good;
};

#define CONTENTS 3

static int host_body(struct child *c, void *arg)
{
	struct host *h = arg;
	size_t i;

	h->memory = page_map(h->pages);
	for (i = 0; i < h->pages; i++)
		page_fill(h->memory + i * PAGE, 1, 1 + i % CONTENTS);
	child_report(c);
	child_wait(c);
	page_register(h->memory, h->pages);
	child_report(c);
	child_wait(c);
	h->good = true;
	for (i = 0; i < h->pages; i++)
		h->good = page_is(h->memory + i * PAGE, 1, 1 + i % CONTENTS) && h->good;
	child_report(c);
	child_wait(c);
	return h->good ? 0 : 1;
}

#define HOSTS 8

/* All is there before the engine sees any of it; it has two passes, and no more. */
static void test_arrival(int count, size_t pages, long sharing)
{
	struct host *h = child_shared(1);
	long shared = 0, sharers = 0, unshared = 1, frames = 0, n;
	char what[100], *dummy = page_map(1);
	struct child c[HOSTS];
	bool good = true;
	int i;

	snprintf(what, sizeof(what), "%ld workers, limit %ld, %d x %zu pages at once", workers,
		 sharing, count, pages);
	set_sharing(sharing);
	for (i = 0; i < count; i++) {
		h[i].pages = pages;
		child_start(&c[i], host_body, &h[i]);
		child_done(&c[i]);
	}
	page_fill(dummy, 1, 99);
	page_register(dummy, 1);
	knob_pass_begin();
	for (i = 0; i < count; i++)
		child_step(&c[i]);
	knob_pass();
	knob_pass();
	knob_run(0);
	for (i = 0; i < CONTENTS; i++) {
		n = count * ((pages + CONTENTS - 1 - i) / CONTENTS);
		add_expected(n, sharing, &shared, &sharers, &unshared);
	}
	knob_counts(shared, sharers - shared, unshared, 0, what);
	for (i = 0; i < count; i++)
		frames += frame_distinct_of(c[i].pid, h[i].memory, pages);
	if (count == 1)
		tap_is(frames, shared + unshared - 1, "%s: frames", what);
	for (i = 0; i < count; i++)
		good = child_step(&c[i]) && h[i].good && good;
	for (i = 0; i < count; i++)
		good = !child_join(&c[i]) && good;
	tap_ok(good, "%s: every byte is right", what);
	page_unmap(dummy, 1);
	knob_clear();
}

/* Counters and frames say the same, and all is merged. */
static void census(struct crowd *crowd, long sharing, const char *what)
{
	struct crowd_census c;
	long shared, unshared;

	crowd_count(crowd, sharing, &c);
	unshared = c.pages - c.merged;
	shared = c.frames - unshared;
	knob_counts(shared, c.merged - shared, unshared, 0, what);
	tap_is(c.apart, 0, "%s: each content has one frame", what);
	if (!tap_ok(unshared <= c.most, "%s: nothing is left that could be merged (%ld, %ld)",
		    what, unshared, c.most))
		tap_diag("pages %ld frames %ld merged %ld; contents of one page %ld, apart %ld",
			 c.pages, c.frames, c.merged, c.single, c.apart);
}

/* Two passes; the one under way has begun before the last change. */
static void settle(struct crowd *crowd, long sharing, const char *what)
{
	knob_passes(1);
	knob_passes(2);
	knob_run(0);
	census(crowd, sharing, what);
}

/*
 * A few pages on both sides of the border between two ranges, so that two workers
 * begin with one content at the same moment, again and again.
 */
static void test_border(void)
{
	char *whole = page_map(1024), *dummy = page_map(1), *p;
	long i, two = 0, left = 0;

	p = (char *)(((unsigned long)whole + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)) - 32 * PAGE;
	if (p < whole)
		p += HUGE_PAGE;
	page_fill(dummy, 1, 99);
	page_register(dummy, 1);
	page_register(p, 64);
	set_sharing(MANY);
	knob_pass_begin();
	for (i = 0; i < (slow ? 10 : 40); i++) {
		page_fill(p, 64, 1000 + i);
		knob_pass();
		knob_pass();
		two += knob_get("pages_shared") != 1;
		left += knob_get("pages_unshared") != 1 || knob_get("pages_volatile");
	}
	tap_is(two, 0, "%ld workers: 64 equal pages in two ranges have one frame, %ld times",
	       workers, i);
	tap_is(left, 0, "%ld workers: 64 equal pages in two ranges are merged in two passes",
	       workers);
	knob_run(0);
	tap_ok(page_is(p, 64, 1000 + i - 1), "%ld workers: two ranges: every byte is right",
	       workers);
	page_unmap(whole, 1024);
	page_unmap(dummy, 1);
	knob_clear();
}

static void test_crowd(int members, size_t pages, unsigned int contents, long sharing, long rounds,
		       long msecs)
{
	struct crowd *crowd;
	char what[120];
	long i;

	set_sharing(sharing);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	crowd = crowd_start(members, pages, contents, seed);
	crowd->twins = sharing == MANY;
	for (i = 0; i < rounds; i++) {
		snprintf(what, sizeof(what),
			 "%ld workers, limit %ld, %d x %zu pages of %u contents, round %ld",
			 workers, sharing, members, pages, contents, i);
		crowd_churn(crowd, msecs);
		if (!tap_ok(crowd_rest(crowd), "%s: all bytes right, all come to rest", what))
			break;
		settle(crowd, sharing, what);
		knob_run(1);
	}
	tap_diag("%lu writes, %lu unmapped, %lu forks, %lu exits", crowd->writes, crowd->unmaps,
		 crowd->forks, crowd->exits);
	tap_ok(crowd_end(crowd), "%s: every byte was right to the end", what);
	knob_clear();
}

static void test_workers(void)
{
	size_t scale = slow ? 4 : 1;
	long part = seconds * 1000 / 6;

	knob_set("workers", workers);
	test_border();
	test_arrival(1, 6003 / scale, MANY);
	test_arrival(1, 6003 / scale, FEW);
	test_arrival(HOSTS, 603 / scale, MANY);
	test_arrival(HOSTS, 603 / scale, FEW);
	test_crowd(10, 800 / scale, 3, MANY, 2, part);
	test_crowd(10, 800 / scale, 1, FEW, 1, part);
	test_crowd(1, 6000 / scale, 2, MANY, 2, part);
	test_crowd(2, 3000 / scale, 3, FEW, 1, part);
}

int main(int argc, char **argv)
{
	static const long number[] = { 1, 2, 4, 8, 16 };
	long found, sharing, one;
	size_t i;

	knob_begin();
	slow = !access("/proc/lockdep", F_OK);
	found = knob_get("workers");
	sharing = knob_get("max_page_sharing");
	if (argc > 1)
		seconds = atol(argv[1]);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003 + getpid();
	one = argc > 3 ? atol(argv[3]) : 0;
	tap_diag("seed %llu, %ld seconds", (unsigned long long)seed, seconds);
	for (i = 0; i < sizeof(number) / sizeof(*number); i++) {
		/* Under every checker each takes two minutes. */
		if (slow && !one && i % 2 == 0)
			continue;
		workers = one ? one : number[i];
		test_workers();
		if (one)
			break;
	}
	set_sharing(sharing);
	knob_set("workers", found);
	return tap_done();
}
