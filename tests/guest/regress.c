// SPDX-License-Identifier: GPL-2.0-only
/*
 * regress.c - one test for each bug that was found and mended.
 *
 * Each is named after what went wrong, and failed before.
 *
 * group: module
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define HUGE_PAGES	512

static char *huge_aligned(char *p)
{
	return (char *)(((unsigned long)p + HUGE_PAGES * PAGE - 1) & ~(HUGE_PAGES * PAGE - 1));
}

/*
 * A search for the next range passed 256 areas without memory, all within one
 * range of 2 MiB, and handed out the same empty piece for ever: no pass ended.
 */
static void test_empty_areas(void)
{
	char *whole = page_map(4 * HUGE_PAGES);
	char *p = huge_aligned(whole), *q = p + HUGE_PAGES * PAGE;
	int i;

	page_fill(p, 2, 1);
	page_register(p, 2 * HUGE_PAGES);
	for (i = 0; i < HUGE_PAGES; i += 2)
		if (mprotect(q + i * PAGE, PAGE, PROT_READ))
			tap_die("mprotect: %s", strerror(errno));
	knob_settle();
	tap_ok(frame_same(p, 2), "512 areas without memory: the pass ends, pages before merge");
	page_fill(q + (HUGE_PAGES - 1) * PAGE, 1, 1);
	knob_settle();
	tap_ok(frame_number(q + (HUGE_PAGES - 1) * PAGE) == frame_number(p),
	       "512 areas, one page in the last: it merges");
	tap_ok(page_is(p, 2, 1) && page_is(q + (HUGE_PAGES - 1) * PAGE, 1, 1),
	       "512 areas: every byte is right");
	page_unmap(whole, 4 * HUGE_PAGES);
	knob_clear();
}

/* Pages in a pipe cannot be merged. Met first, they kept their equals apart. */
static void pinned_first(int pinned, int plain)
{
	struct iovec v;
	char *p = page_map(pinned + plain);
	int fd[2];

	page_fill(p, pinned + plain, 2);
	if (pipe(fd))
		tap_die("pipe: %s", strerror(errno));
	v.iov_base = p;
	v.iov_len = pinned * PAGE;
	if (vmsplice(fd[1], &v, 1, 0) != (ssize_t)(pinned * PAGE))
		tap_die("vmsplice: %s", strerror(errno));
	page_register(p, pinned + plain);
	knob_settle();
	tap_ok(frame_same(p + pinned * PAGE, plain),
	       "%d pinned pages first: %d equals merge without them", pinned, plain);
	tap_is(frame_distinct(p, pinned + plain), pinned + 1,
	       "%d pinned pages first: each keeps its frame", pinned);
	tap_ok(page_is(p, pinned + plain, 2), "%d pinned pages first: every byte is right",
	       pinned);
	close(fd[0]);
	close(fd[1]);
	page_unmap(p, pinned + plain);
	knob_clear();
}

static int short_life(struct child *c, void *arg)
{
	char *p = page_map(4 * HUGE_PAGES);

	(void)arg;
	page_fill(p, 2 * HUGE_PAGES, 3);
	page_fill_each(p + 2 * HUGE_PAGES * PAGE, 2 * HUGE_PAGES, 100);
	page_register(p, 4 * HUGE_PAGES);
	child_report(c);
	child_wait(c);
	return 0;
}

/*
 * The last registered process dies while the engine sleeps in the middle of a
 * range of it: what it left stayed, with its merged pages.
 */
static void test_last_exit(void)
{
	time_t limit = time(NULL) + 60;
	struct child c;
	int status;

	child_start(&c, short_life, NULL);
	child_done(&c);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	knob_passes(2);
	knob_set("pages_to_scan", 100);
	knob_set("sleep_millisecs", 20);
	knob_passes(1);
	usleep(100000);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, &status, 0);
	while (time(NULL) < limit &&
	       (knob_get("pages_shared") || knob_get("pages_unshared") ||
		knob_get("pages_volatile")))
		usleep(20000);
	knob_counts(0, 0, 0, 0, "the last process is gone");
	knob_run(0);
	knob_set("pages_to_scan", 100000);
	knob_clear();
}

static int many_lives(struct child *c, void *arg)
{
	char *p = arg;

	(void)c;
	page_fill(p, 1, 4);
	return 0;
}

/*
 * Processes that exit while a pass begins: adoption of what the built-in engine
 * has on its list brought them back, and their page tables were walked after they
 * had been freed.
 */
static void test_adoption(void)
{
	char *p = page_map(16);
	struct child c[8];
	int round, i;

	page_fill(p, 16, 4);
	page_register(p, 16);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 8; i++)
			child_start(&c[i], many_lives, p + i * PAGE);
		for (i = 0; i < 8; i++)
			child_join(&c[i]);
	}
	knob_settle();
	tap_ok(frame_same(p, 16) && page_is(p, 16, 4),
	       "320 processes exit while passes begin: those left merge, every byte is right");
	knob_counts(1, 15, 0, 0, "after their exit");
	page_unmap(p, 16);
	knob_clear();
}

int main(void)
{
	knob_begin();
	test_empty_areas();
	pinned_first(1, 2);
	pinned_first(1, 4);
	pinned_first(2, 7);
	pinned_first(12, 32);
	test_last_exit();
	test_adoption();
	return tap_done();
}
