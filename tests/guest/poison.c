// SPDX-License-Identifier: GPL-2.0-only
/*
 * poison.c - memory failure on a merged page.
 *
 * A hard failure must be told to every process that maps the page and to
 * nobody else; the frame is never used again, and the engine goes on. A soft
 * one moves the page away with all that map it.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif

#define N 32

/* Bit of /proc/kpageflags, from the kernel's ABI. */
#define FLAG_POISONED (1ULL << 19)

struct view {
	char *memory;
	char *other;
	int early_code;
	void *early_at;
	int touch_code;
	void *touch_at;
	bool other_good;
	bool good;
	bool merges;
	unsigned long fresh;
};

static struct view *mine;
static sigjmp_buf back;
static sig_atomic_t touching;

static void on_bus(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (__atomic_load_n(&touching, __ATOMIC_RELAXED)) {
		mine->touch_code = info->si_code;
		mine->touch_at = info->si_addr;
		siglongjmp(back, 1);
	}
	mine->early_code = info->si_code;
	mine->early_at = info->si_addr;
}

static void watch_bus(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &sa, NULL);
}

/* Read a byte that may be lost. */
static void touch(const char *at)
{
	__atomic_store_n(&touching, 1, __ATOMIC_RELAXED);
	if (!sigsetjmp(back, 1))
		(void)__atomic_load_n(at, __ATOMIC_RELAXED);
	__atomic_store_n(&touching, 0, __ATOMIC_RELAXED);
}

static void fill(struct view *v, uint64_t content)
{
	v->memory = page_map(N);
	v->other = page_map(N);
	page_fill(v->memory, N, content);
	page_fill(v->other, N, 2);
	page_register(v->memory, N);
	page_register(v->other, N);
}

/* Steps: filled; touched; replaced by new memory; looked at. */
static int sharer_body(struct child *c, void *arg)
{
	struct view *v = mine = arg;

	watch_bus();
	prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
	fill(v, 1);
	child_report(c);
	child_wait(c);
	touch(v->memory + 3 * PAGE + 5);
	v->other_good = page_is(v->other, N, 2);
	child_report(c);
	child_wait(c);
	page_unmap(v->memory, N);
	v->memory = page_map(N);
	page_fill(v->memory, N, 1);
	page_register(v->memory, N);
	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 1) && page_is(v->other, N, 2);
	v->merges = frame_same(v->memory, N) && frame_same(v->other, N);
	v->fresh = frame_number(v->memory);
	child_report(c);
	child_wait(c);
	return 0;
}

static int stranger_body(struct child *c, void *arg)
{
	struct view *v = mine = arg;

	watch_bus();
	prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
	fill(v, 3);
	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 3) && page_is(v->other, N, 2);
	child_report(c);
	child_wait(c);
	return 0;
}

/* The failure is found by a process that maps the frame: it is stopped. */
static int injector_body(struct child *c, void *arg)
{
	struct view *v = arg;

	fill(v, 1);
	child_report(c);
	child_wait(c);
	signal(SIGBUS, SIG_DFL);
	return madvise(v->memory, PAGE, MADV_HWPOISON) ? errno : 0;
}

static void look_at_sharer(struct child *c, struct view *v, int i)
{
	/* Its signals come before the step that it takes next. */
	if (!child_step(c))
		tap_die("sharer %d is gone", i);
	tap_is(v->early_code, BUS_MCEERR_AO,
	       "sharer %d is told before it touches it, as it asked", i);
	tap_ok((char *)v->early_at >= v->memory &&
	       (char *)v->early_at < v->memory + N * PAGE,
	       "sharer %d: the address is one of the merged pages", i);
	tap_is(v->touch_code, BUS_MCEERR_AR,
	       "sharer %d is stopped when it touches a lost page", i);
	tap_ok((char *)v->touch_at >= v->memory + 3 * PAGE &&
	       (char *)v->touch_at < v->memory + 4 * PAGE,
	       "sharer %d: the address is the one touched", i);
	tap_ok(v->other_good, "sharer %d: every other byte is right", i);
}

static void test_hard(void)
{
	struct view *v = child_shared(1);
	unsigned long lost;
	struct child c[4];
	int i;

	child_start(&c[0], sharer_body, &v[0]);
	child_start(&c[1], sharer_body, &v[1]);
	child_start(&c[2], stranger_body, &v[2]);
	child_start(&c[3], injector_body, &v[3]);
	for (i = 0; i < 4; i++)
		child_done(&c[i]);
	knob_settle();
	lost = frame_number_of(c[0].pid, v[0].memory);
	tap_is(frame_mapcount(lost), 3 * N, "three processes share one frame");
	tap_is(child_join(&c[3]), -SIGBUS,
	       "the process that finds the failure dies of it");
	tap_ok(frame_flags(lost) & FLAG_POISONED, "the frame is marked");
	tap_is(frame_mapcount(lost), 0, "nobody maps it");
	for (i = 0; i < 2; i++)
		look_at_sharer(&c[i], &v[i], i);
	tap_is(v[2].early_code, 0, "a process without it is not told");

	child_step(&c[0]);
	child_step(&c[1]);
	knob_settle();
	for (i = 0; i < 2; i++) {
		child_step(&c[i]);
		tap_ok(v[i].good, "sharer %d: new memory: every byte right", i);
		tap_ok(v[i].merges, "sharer %d: new memory merges", i);
	}
	tap_ok(v[0].fresh == v[1].fresh, "the sharers share again");
	if (knob_pksm())
		tap_is(frame_mapcount(lost), 0,
		       "nothing merges into the lost frame");
	else
		tap_skip("the built-in engine of 6.12 merges into lost frames",
			 "nothing merges into the lost frame");
	child_step(&c[2]);
	tap_ok(v[2].good && !v[2].early_code, "the stranger's bytes are right");
	for (i = 0; i < 3; i++)
		tap_is(child_join(&c[i]), 0, "process %d ends well", i);
	knob_clear();
	knob_counts(0, 0, 0, 0, "after a failure");
}

static int holder_body(struct child *c, void *arg)
{
	struct view *v = arg;

	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 1) && page_is(v->other, N, 2);
	v->merges = frame_same(v->memory, N);
	v->fresh = frame_number(v->memory);
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_soft(void)
{
	struct view *v = child_shared(1);
	unsigned long from;
	struct child c;
	int err;

	fill(v, 1);
	knob_settle();
	from = frame_number(v->memory);
	child_start(&c, holder_body, v);
	child_done(&c);
	err = madvise(v->memory, PAGE, MADV_SOFT_OFFLINE) ? errno : 0;
	tap_is(err, 0, "soft: the frame is taken out of use");
	tap_ok(frame_flags(from) & FLAG_POISONED, "soft: it is marked");
	tap_ok(frame_same(v->memory, N) && frame_number(v->memory) != from,
	       "soft: all entries name another");
	tap_ok(page_is(v->memory, N, 1), "soft: every byte is right");
	child_step(&c);
	tap_ok(v->merges && v->fresh == frame_number(v->memory),
	       "soft: the child's entries follow");
	tap_ok(v->good, "soft: every byte of the child is right");
	child_join(&c);
	page_fill(v->memory, N / 2, 4);
	knob_settle();
	page_fill(v->memory, N / 2, 1);
	knob_settle();
	tap_ok(frame_same(v->memory, N), "soft: merging goes on");
	knob_counts(2, 2 * N - 2, 0, 0, "soft");
	page_unmap(v->memory, N);
	page_unmap(v->other, N);
}

int main(void)
{
	knob_begin();
	mine = child_shared(1);
	if (access("/proc/sys/vm/memory_failure_recovery", F_OK)) {
		tap_skip("this kernel does not handle memory failures",
			 "memory failure on a merged page");
		return tap_done();
	}
	test_hard();
	test_soft();
	return tap_done();
}
