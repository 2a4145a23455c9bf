// SPDX-License-Identifier: GPL-2.0-only
/*
 * takeover.c - from the built-in engine to pksm and back, under running
 * programs.
 *
 * group: loading
 *
 * Processes that the built-in engine serves, by madvise and by prctl, are
 * served by pksm without doing anything, and by the built-in engine again
 * after it; settings go along both ways; a monitor reads all files all the
 * time and sees no error.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif

#define N 48

enum request { LOOK, FILL, UNREGISTER, REGISTER, MAP_MORE, END };

/* Shared with the process; what the pipes to it are is not. */
struct member {
	int index;
	enum request request;
	char *memory;
	char *more;
	uint64_t content;
	bool by_prctl;
	bool good;
	int enrolled;
};

static struct child member_child[8];

static struct child *child_of(const struct member *m)
{
	return &member_child[m->index];
}

static void answer(struct member *m)
{
	switch (m->request) {
	case FILL:
		page_fill(m->memory, N, m->content);
		break;
	case UNREGISTER:
		page_unregister(m->memory, N);
		break;
	case REGISTER:
		page_register(m->memory, N);
		break;
	case MAP_MORE:
		m->more = page_map(N);
		page_fill(m->more, N, m->content);
		if (!m->by_prctl)
			page_register(m->more, N);
		break;
	default:
		break;
	}
	m->good = page_is(m->memory, N, m->content) &&
		  (!m->more || page_is(m->more, N, m->content));
	m->enrolled = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
}

static int body(struct child *c, void *arg)
{
	struct member *m = arg;

	m->memory = page_map(N);
	page_fill(m->memory, N, m->content);
	if (m->by_prctl) {
		if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
			return 1;
	} else {
		page_register(m->memory, N);
	}
	for (;;) {
		child_report(c);
		child_wait(c);
		if (m->request == END)
			return 0;
		answer(m);
	}
}

static void start(struct member *m, bool by_prctl)
{
	m->content = 1;
	m->by_prctl = by_prctl;
	child_start(child_of(m), body, m);
	child_done(child_of(m));
}

static bool ask(struct member *m, enum request request)
{
	m->request = request;
	return child_step(child_of(m)) && m->good;
}

static void end(struct member *m)
{
	m->request = END;
	tap_is(child_join(child_of(m)), 0, "a process ends well");
}

static bool one_frame(struct member *m, int count)
{
	unsigned long number = frame_number_of(child_of(m)->pid, m->memory);
	bool same = number != 0;
	int i;

	for (i = 0; i < count; i++) {
		same = same &&
		       frame_number_of(child_of(&m[i])->pid, m[i].memory) == number &&
		       frame_distinct_of(child_of(&m[i])->pid, m[i].memory, N) == 1;
		if (m[i].more)
			same = same &&
			       frame_number_of(child_of(&m[i])->pid, m[i].more) == number &&
			       frame_distinct_of(child_of(&m[i])->pid, m[i].more, N) == 1;
	}
	return same;
}

static bool all_good(struct member *m, int count)
{
	bool good = true;

	while (count--)
		good = ask(m++, LOOK) && good;
	return good;
}

static long merging_pages(struct member *m)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ksm_merging_pages",
		 (int)child_of(m)->pid);
	return file_number(path, -1);
}

struct setting {
	const char *knob;
	long value;
};

/* In this order: some of them bound others. */
static const struct setting found[] = {
	{ "pages_to_scan", 54321 }, { "sleep_millisecs", 1 },
	{ "max_page_sharing", 200000 }, { "smart_scan", 0 },
	{ "use_zero_pages", 0 }, { "merge_across_nodes", 1 },
	{ "stable_node_chains_prune_millisecs", 1234 },
	{ "advisor_max_cpu", 55 }, { "advisor_target_scan_time", 123 },
	{ "advisor_max_pages_to_scan", 40000 },
	{ "advisor_min_pages_to_scan", 600 },
};

static const struct setting left[] = {
	{ "pages_to_scan", 65432 }, { "sleep_millisecs", 2 },
	{ "smart_scan", 0 }, { "use_zero_pages", 0 },
	{ "merge_across_nodes", 1 }, { "max_page_sharing", 200000 },
};

#define SETTINGS(list) (sizeof(list) / sizeof(*(list)))

static void set_all(const struct setting *s, size_t count)
{
	for (; count--; s++)
		if (knob_get(s->knob) != s->value)
			knob_set(s->knob, s->value);
}

static void state_all(const struct setting *s, size_t count, const char *when)
{
	for (; count--; s++)
		tap_is(knob_get(s->knob), s->value, "%s: %s", when, s->knob);
}

/* Two whole passes without a word to the files that tests usually write. */
static void two_passes(void)
{
	knob_passes(3);
}

static void stage_builtin(struct member *m)
{
	set_all(found, SETTINGS(found));
	start(&m[0], false);
	start(&m[1], true);
	knob_run(1);
	two_passes();
	tap_ok(one_frame(m, 2), "built-in: both processes share one frame");
	tap_ok(all_good(m, 2), "built-in: every byte is right");
}

static void stage_pksm(struct member *m)
{
	tap_is(module_pksm_load(""), 0, "pksm loads while the other merges");
	state_all(found, SETTINGS(found), "taken over");
	tap_is(knob_get("run"), 1, "taken over: run");
	two_passes();
	tap_ok(one_frame(m, 2),
	       "pksm: the same processes share one frame, unasked");
	tap_ok(all_good(m, 2), "pksm: every byte is right");
	tap_is(m[0].enrolled, 0, "pksm: one is not enrolled by prctl");
	tap_is(m[1].enrolled, 1, "pksm: the other is");
	tap_is(merging_pages(&m[0]), N, "pksm: ksm_merging_pages");
	tap_ok(merging_pages(&m[1]) >= N, "pksm: ksm_merging_pages by prctl");

	start(&m[2], false);
	start(&m[3], true);
	ask(&m[0], MAP_MORE);
	ask(&m[1], MAP_MORE);
	two_passes();
	tap_ok(one_frame(m, 4), "pksm: new processes and new memory, too");
	tap_is(module_remove("pksm", false), -EAGAIN,
	       "pksm: cannot be removed while pages are merged");
	tap_ok(one_frame(m, 4), "pksm: nothing has changed by that");
	ask(&m[0], UNREGISTER);
	tap_is(frame_distinct_of(child_of(&m[0])->pid, m[0].memory, N), N,
	       "pksm: a process that it took over can withdraw");
	ask(&m[0], REGISTER);
	two_passes();
	tap_ok(one_frame(m, 4) && all_good(m, 4), "pksm: and come back");
}

static void stage_back(struct member *m)
{
	set_all(left, SETTINGS(left));
	knob_run(2);
	tap_is(merging_pages(&m[0]), 0, "run=2: ksm_merging_pages");
	tap_is(module_pksm_unload(), 0, "after run=2 pksm is removed");
	tap_ok(!knob_pksm(), "it is gone");
	state_all(left, SETTINGS(left), "given back");
	tap_is(knob_get("run"), 1, "given back: the last run of 0 or 1");
	two_passes();
	tap_ok(one_frame(m, 4),
	       "built-in again: all processes share one frame, unasked");
	tap_ok(all_good(m, 4), "built-in again: every byte is right");
}

static void stage_stopped(struct member *m)
{
	knob_run(0);
	tap_is(module_pksm_load(""), 0, "pksm loads again, with run=0");
	tap_is(knob_get("run"), 0, "taken over: run=0");
	tap_is(frame_distinct_of(child_of(m)->pid, m->memory, N), N,
	       "run=0: what the other had merged is unmerged");
	knob_run(1);
	two_passes();
	tap_ok(one_frame(m, 4), "run=1: all share one frame");
	knob_run(0);
	knob_run(2);
	tap_is(module_pksm_unload(), 0, "pksm is removed");
	tap_is(knob_get("run"), 0, "given back: run=0");
	tap_ok(all_good(m, 4), "every byte is right");
}

static void stage_forced(struct member *m)
{
	int err;

	if (!access("/proc/lockdep", F_OK)) {
		tap_skip("it would switch off lockdep",
			 "forced removal unmerges first");
		return;
	}
	tap_is(module_pksm_load(""), 0, "pksm loads a third time");
	knob_run(1);
	two_passes();
	tap_ok(one_frame(m, 4), "all share one frame");
	err = module_remove("pksm", true);
	if (err == -EAGAIN) {
		tap_skip("this kernel does not allow it",
			 "forced removal unmerges first");
		knob_run(2);
		err = module_pksm_unload();
	}
	tap_is(err, 0, "forced removal with merged pages works");
	tap_is(knob_get("run"), 1, "given back: run=1");
	two_passes();
	tap_ok(one_frame(m, 4), "the built-in engine merges all of it");
	tap_ok(all_good(m, 4), "every byte is right");
}

static pid_t start_monitor(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl("/t/bin/poll", "poll", "3600", NULL);
		_exit(2);
	}
	if (pid < 0)
		tap_die("fork: %s", strerror(errno));
	return pid;
}

int main(void)
{
	struct member *m = child_shared(1);
	long sharing;
	pid_t monitor;
	int status, i;

	if (knob_pksm())
		tap_die("pksm is loaded already");
	knob_begin();
	sharing = knob_get("max_page_sharing");
	for (i = 0; i < 4; i++)
		m[i].index = i;
	monitor = start_monitor();
	stage_builtin(m);
	stage_pksm(m);
	stage_back(m);
	stage_stopped(m);
	stage_forced(m);
	for (i = 0; i < 4; i++)
		end(&m[i]);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	knob_wait_still();
	knob_run(2);
	knob_counts(0, 0, 0, 0, "built-in, all processes gone");
	knob_set("max_page_sharing", sharing);
	knob_set("stable_node_chains_prune_millisecs", 2000);
	knob_set("advisor_max_cpu", 70);
	knob_set("advisor_target_scan_time", 200);
	knob_set("advisor_min_pages_to_scan", 500);
	knob_set("advisor_max_pages_to_scan", 30000);
	kill(monitor, SIGTERM);
	waitpid(monitor, &status, 0);
	tap_is(status, 0, "the monitor saw no error all the time");
	return tap_done();
}
