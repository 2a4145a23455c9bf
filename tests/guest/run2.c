// SPDX-License-Identifier: GPL-2.0-only
/*
 * run2.c - run=2 leaves no merged page anywhere.
 *
 * Not in processes that fork, exit or register while it is written, not in
 * children that no pass has visited, not in pages that are swapped out. It
 * is looked for in every process of the machine.
 *
 * group: module native
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define N 32
#define GROUP "pksm-run2"

/* kB merged as smaps shows it, in all processes that can be looked at. */
static long merged_anywhere(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	long sum = 0;

	if (!dir)
		tap_die("open /proc: %s", strerror(errno));
	while ((d = readdir(dir))) {
		char path[300], text[512];
		FILE *f;

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/smaps", d->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		/* A process that ends meanwhile ends the file, no more. */
		while (fgets(text, sizeof(text), f))
			if (!strncmp(text, "KSM:", 4))
				sum += strtol(text + 4, NULL, 10);
		fclose(f);
	}
	closedir(dir);
	return sum;
}

/*
 * A process on its way out may map its last page for a moment after run=2,
 * and hold the module as long: that is waited for, and no longer.
 */
static bool module_free(void)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	int tries = 2000;

	while (file_number("/sys/module/pksm/refcnt", 0) && --tries)
		nanosleep(&nap, NULL);
	return tries > 0;
}

static bool nothing_left(void)
{
	long kb = merged_anywhere();
	long shared = knob_get("pages_shared");
	long sharing = knob_get("pages_sharing");
	long unshared = knob_get("pages_unshared");

	if (!kb && !shared && !sharing && !unshared)
		return true;
	tap_diag("left: smaps %ld kB, shared %ld, sharing %ld, unshared %ld",
		 kb, shared, sharing, unshared);
	return false;
}

static void state_nothing_left(const char *what)
{
	tap_ok(nothing_left(), "%s: nothing is left", what);
	if (knob_pksm())
		tap_ok(module_free(), "%s: the module can go", what);
}

struct view {
	char *memory;
	bool good;
	unsigned long rounds;
	int stop;
};

static int holder_body(struct child *c, void *arg)
{
	struct view *v = arg;

	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 1) && frame_distinct(v->memory, N) == N;
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_children(void)
{
	struct view *v = child_shared(1);
	struct child c[3];
	char *p = page_map(N);
	int i;

	page_fill(p, N, 1);
	page_register(p, N);
	knob_settle();
	v->memory = p;
	for (i = 0; i < 3; i++) {
		child_start(&c[i], holder_body, v);
		child_done(&c[i]);
	}
	tap_is(frame_mapcount(frame_number(p)), 4 * N,
	       "children that no pass has visited share the frame");
	knob_run(2);
	state_nothing_left("with such children");
	for (i = 0; i < 3; i++) {
		child_step(&c[i]);
		tap_ok(v->good, "child %d: frames of its own, bytes right", i);
		child_join(&c[i]);
	}
	tap_ok(page_is(p, N, 1), "every byte of the parent is right");
	knob_run(0);
	page_unmap(p, N);
}

/* The parent is gone, and no pass has seen its child. */
static int middle_body(struct child *c, void *arg)
{
	struct view *v = arg;

	v->memory = page_map(N);
	page_fill(v->memory, N, 1);
	page_register(v->memory, N);
	child_report(c);
	child_wait(c);
	if (fork())
		_exit(0);
	return holder_body(c, arg);
}

static void test_orphan(void)
{
	struct view *v = child_shared(1);
	struct child c;
	int status;

	child_start(&c, middle_body, v);
	child_done(&c);
	knob_settle();
	child_step(&c);
	waitpid(c.pid, &status, 0);
	tap_ok(merged_anywhere() > 0, "an orphan holds merged pages");
	knob_run(2);
	state_nothing_left("with an orphan");
	child_step(&c);
	tap_ok(v->good, "the orphan: frames of its own, bytes right");
	child_go(&c);
	close(c.down);
	close(c.up);
	knob_run(0);
}

static void test_swapped(void)
{
	struct view *v = child_shared(1);
	struct child c;
	char *p;
	int err = swap_on(128);

	if (err)
		tap_die("swap on: %s", strerror(-err));
	swap_enter(GROUP);
	p = page_map(N);
	page_fill(p, N, 1);
	page_register(p, N);
	knob_settle();
	v->memory = p;
	child_start(&c, holder_body, v);
	child_done(&c);
	tap_ok(swap_out(GROUP, p, N), "merged pages are swapped out");
	knob_run(2);
	state_nothing_left("with swapped-out pages");
	tap_ok(page_is(p, N, 1), "back in: every byte is right");
	tap_is(frame_ksm(p, N), 0, "back in: nothing is merged");
	page_fill(p, N, 2);
	child_step(&c);
	state_nothing_left("with pages swapped in again");
	child_join(&c);
	knob_run(0);
	page_unmap(p, N);
	tap_is(swap_off(), 0, "swap goes away");
	swap_leave(GROUP);
}

/* Forks children that write, verify and end, as fast as it can. */
static int forker_body(struct child *c, void *arg)
{
	struct view *v = arg;
	char *p = page_map(N);
	bool good = true;

	page_fill(p, N, 1);
	page_register(p, N);
	child_report(c);
	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED)) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			page_fill(p + PAGE, 1, 7);
			_exit(page_is(p, 1, 1) && page_is(p + PAGE, 1, 7) &&
			      page_is(p + 2 * PAGE, N - 2, 1) ? 0 : 1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			good = false;
		__atomic_fetch_add(&v->rounds, 1, __ATOMIC_RELAXED);
	}
	return good && page_is(p, N, 1) ? 0 : 1;
}

/* Registers and unmaps memory, as fast as it can. */
static int registrar_body(struct child *c, void *arg)
{
	struct view *v = arg;
	bool good = true;

	child_report(c);
	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED)) {
		char *p = page_map(N);

		page_fill(p, N, 1);
		page_register(p, N);
		good = good && page_is(p, N, 1);
		page_unmap(p, N);
		__atomic_fetch_add(&v->rounds, 1, __ATOMIC_RELAXED);
	}
	return good ? 0 : 1;
}

static int (*const storm[])(struct child *child, void *arg) = {
	forker_body, forker_body, registrar_body,
};

static void test_storm(void)
{
	struct view *v = child_shared(1);
	bool clean = true, freed = true;
	struct child c[3];
	int i;

	for (i = 0; i < 3; i++) {
		child_start(&c[i], storm[i], v);
		child_done(&c[i]);
	}
	for (i = 0; i < 20; i++) {
		knob_set("sleep_millisecs", 0);
		knob_run(1);
		knob_passes(3);
		knob_run(2);
		clean = clean && nothing_left();
		freed = freed && module_free();
	}
	tap_ok(clean, "20 times amid fork, exit and register: nothing is left");
	if (knob_pksm())
		tap_ok(freed, "20 times amid them: the module can go");
	v->stop = 1;
	for (i = 0; i < 3; i++)
		tap_is(child_join(&c[i]), 0, "every byte of process %d was right",
		       i);
	tap_diag("%lu rounds of theirs meanwhile", v->rounds);
	knob_run(0);
}

int main(void)
{
	knob_begin();
	test_children();
	test_orphan();
	test_swapped();
	test_storm();
	return tap_done();
}
