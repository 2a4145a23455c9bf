// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork.c - merged pages through fork, vfork, exec and exit.
 *
 * A child shares what its parent shares, before any pass has seen it. Its
 * pages must stay within reach of the rest of mm when the parent is gone,
 * and nothing of a dead process may stay in the counters.
 *
 * group: module native
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

#define N 32

/* Memory that stays registered, so that there are passes to wait for. */
static char *witness;

struct view {
	char *memory;
	bool good;
	int depth;
	pid_t pid[8];
};

static int idle_body(struct child *c, void *arg)
{
	struct view *v = arg;

	child_report(c);
	child_wait(c);
	v->good = page_is(v->memory, N, 1);
	child_report(c);
	child_wait(c);
	return 0;
}

static void test_shares(void)
{
	struct view *v = child_shared(1);
	unsigned long shared;
	struct child c;

	v->memory = page_map(N);
	page_fill(v->memory, N, 1);
	page_register(v->memory, N);
	knob_settle();
	shared = frame_number(v->memory);
	child_start(&c, idle_body, v);
	child_done(&c);
	tap_ok(frame_distinct_of(c.pid, v->memory, N) == 1 &&
	       frame_number_of(c.pid, v->memory) == shared,
	       "a child shares the merged frame at once");
	tap_is(frame_mapcount(shared), 2 * N, "both map it");
	tap_is(frame_ksm_of(c.pid), N * PAGE / 1024,
	       "smaps of the child shows it as merged");
	knob_counts(1, N - 1, 1, 0, "child not yet visited");
	knob_settle();
	knob_counts(1, 2 * N - 1, 1, 0, "child visited");
	tap_is(frame_mapcount(shared), 2 * N, "the frame is the same");
	page_fill(v->memory, 1, 2);
	tap_ok(frame_number_of(c.pid, v->memory) == shared,
	       "the parent's write leaves the child's page alone");
	child_step(&c);
	tap_ok(v->good, "every byte of the child is right");
	tap_ok(page_is(v->memory, 1, 2) &&
	       page_is(v->memory + PAGE, N - 1, 1),
	       "every byte of the parent is right");
	tap_is(child_join(&c), 0, "the child ends well");
	knob_settle();
	knob_counts(1, N - 2, 2, 0, "child gone");
	page_unmap(v->memory, N);
	knob_clear();
}

#define GENERATIONS 5

static int generation_body(struct child *up, void *arg)
{
	struct view *v = arg;
	int depth = ++v->depth;
	struct child c;
	bool last = depth == GENERATIONS, good;

	v->pid[depth] = getpid();
	page_fill(v->memory + depth * PAGE, 1, 100 + depth);
	if (!last) {
		child_start(&c, generation_body, v);
		child_done(&c);
	}
	child_report(up);
	child_wait(up);
	if (!last && !child_step(&c))
		v->good = false;
	good = page_is(v->memory, 1, 3) &&
	       page_is_each(v->memory + PAGE, depth, 101) &&
	       page_is(v->memory + (depth + 1) * PAGE, N - depth - 1, 3);
	if (!good)
		v->good = false;
	child_report(up);
	child_wait(up);
	return last ? 0 : child_join(&c);
}

static void test_generations(void)
{
	struct view *v = child_shared(1);
	unsigned long shared;
	bool same = true, own = true;
	struct child c;
	int d, i;

	v->good = true;
	v->memory = page_map(N);
	page_fill(v->memory, N, 3);
	page_register(v->memory, N);
	knob_settle();
	shared = frame_number(v->memory);
	child_start(&c, generation_body, v);
	child_done(&c);
	for (d = 1; d <= GENERATIONS; d++) {
		for (i = d + 1; i < N; i++)
			same = same && shared ==
			       frame_number_of(v->pid[d],
					       v->memory + i * PAGE);
		for (i = 1; i <= d; i++)
			own = own && shared !=
			      frame_number_of(v->pid[d], v->memory + i * PAGE);
	}
	tap_ok(same, "%d generations share the frame", GENERATIONS);
	tap_ok(own, "what a generation wrote is its own, and its children's");
	tap_is(frame_mapcount(shared),
	       N + GENERATIONS * (N - 1) -
	       GENERATIONS * (GENERATIONS + 1) / 2 + GENERATIONS,
	       "each untouched page maps it");
	knob_settle();
	/* The pages written in generation d are shared by d and later ones. */
	for (d = 2, same = true; d <= GENERATIONS; d++)
		for (i = 1; i < d; i++)
			same = same &&
			       frame_number_of(v->pid[d],
					       v->memory + i * PAGE) ==
			       frame_number_of(v->pid[d - 1],
					       v->memory + i * PAGE);
	tap_ok(same, "what one wrote is one frame in all that have it");
	child_step(&c);
	tap_ok(v->good, "every byte of every generation is right");
	tap_ok(page_is(v->memory, N, 3), "every byte of the first is right");
	tap_is(child_join(&c), 0, "all generations end well");
	knob_settle();
	knob_counts(1, N - 1, 1, 0, "all generations gone");
	page_unmap(v->memory, N);
	knob_clear();
}

/* The middle process merges, forks the one that stays, and ends. */
static int parent_body(struct child *c, void *arg)
{
	struct view *v = arg;
	pid_t pid;

	v->memory = page_map(N);
	page_fill(v->memory, N, 1);
	page_register(v->memory, N);
	child_report(c);
	child_wait(c);
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		v->pid[0] = getpid();
		return idle_body(c, arg);
	}
	/* The child reports; it has the pipes now. */
	pause();
	return 0;
}

static void test_orphan(bool passes)
{
	const char *when = passes ? "passes since" : "no pass since";
	struct view *v = child_shared(1);
	struct child c;
	int status;

	child_start(&c, parent_body, v);
	child_done(&c);
	knob_settle();
	child_step(&c);
	tap_ok(frame_distinct_of(v->pid[0], v->memory, N) == 1,
	       "orphan, %s: shares one frame", when);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, &status, 0);
	if (passes)
		knob_settle();
	tap_is(frame_mapcount(frame_number_of(v->pid[0], v->memory)), N,
	       "orphan, %s: maps the frame alone", when);
	if (node_two()) {
		tap_is(node_move(v->pid[0], v->memory), 0,
		       "orphan, %s: the frame can be migrated", when);
		tap_ok(frame_distinct_of(v->pid[0], v->memory, N) == 1,
		       "orphan, %s: all its pages follow", when);
	} else {
		tap_skip("one node only",
			 "orphan, %s: the frame can be migrated", when);
	}
	child_step(&c);
	tap_ok(v->good, "orphan, %s: every byte is right", when);
	child_go(&c);
	while (!kill(v->pid[0], 0))
		if (waitpid(v->pid[0], &status, 0) == v->pid[0])
			break;
	close(c.down);
	close(c.up);
	knob_settle();
	knob_counts(0, 0, 1, 0, passes ? "orphan gone, passes since" :
					 "orphan gone, no pass since");
	knob_clear();
}

/* Runs after exec: merge memory of its own, as the parent can see. */
static int probe(int argc, char **argv)
{
	struct child c = { .down = atoi(argv[2]), .up = atoi(argv[3]) };
	int on = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	char *p = page_map(N);

	page_fill(p, N, 4);
	if (write(c.up, &on, sizeof(on)) != sizeof(on) ||
	    write(c.up, &p, sizeof(p)) != sizeof(p))
		return 1;
	child_wait(&c);
	return page_is(p, N, 4) ? 0 : 2;
}

static pid_t exec_probe(bool by_vfork, int *down, int *up)
{
	char a[16], b[16];
	char *args[] = { "fork", "--probe", a, b, NULL };
	int d[2], u[2];
	pid_t pid;

	if (pipe(d) || pipe(u))
		tap_die("pipe: %s", strerror(errno));
	snprintf(a, sizeof(a), "%d", d[0]);
	snprintf(b, sizeof(b), "%d", u[1]);
	pid = by_vfork ? vfork() : fork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(98);
	}
	if (pid < 0)
		tap_die("fork: %s", strerror(errno));
	close(d[0]);
	close(u[1]);
	*down = d[1];
	*up = u[0];
	return pid;
}

static void test_after_exec(bool by_vfork, bool by_prctl)
{
	const char *how = by_vfork ? "vfork and exec" : "fork and exec";
	int down, up, on = -1, status;
	char *p = page_map(N), *q = NULL;
	pid_t pid;

	page_fill(p, N, 5);
	page_register(p, N);
	knob_settle();
	if (by_prctl && prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		tap_die("prctl: %s", strerror(errno));
	pid = exec_probe(by_vfork, &down, &up);
	if (read(up, &on, sizeof(on)) != sizeof(on) ||
	    read(up, &q, sizeof(q)) != sizeof(q))
		tap_die("%s: the new program does not answer", how);
	tap_is(on, by_prctl, "%s: the new program is %s by prctl", how,
	       by_prctl ? "registered" : "not registered");
	knob_settle();
	tap_is(frame_distinct_of(pid, q, N), by_prctl ? 1 : N,
	       "%s: its memory %s", how, by_prctl ? "merges" : "does not merge");
	tap_ok(frame_same(p, N) && page_is(p, N, 5),
	       "%s: the parent's pages stay merged and right", how);
	if (write(down, "", 1) != 1)
		tap_die("%s: the new program is gone", how);
	waitpid(pid, &status, 0);
	tap_is(status, 0, "%s: every byte of the new program is right", how);
	close(down);
	close(up);
	if (by_prctl && prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0))
		tap_die("prctl off: %s", strerror(errno));
	page_unmap(p, N);
	page_register(witness, 1);
	knob_clear();
}

static int by_prctl_body(struct child *c, void *arg)
{
	struct view *v = arg;

	v->depth = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	v->memory = page_map(N);
	page_fill(v->memory, N, 1);
	return idle_body(c, arg);
}

static void test_after_fork(void)
{
	struct view *v = child_shared(1);
	struct child c;
	char path[64];

	if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		tap_die("prctl: %s", strerror(errno));
	child_start(&c, by_prctl_body, v);
	child_done(&c);
	tap_is(v->depth, 1, "fork: the child is registered by prctl");
	snprintf(path, sizeof(path), "/proc/%d/ksm_merging_pages", (int)c.pid);
	tap_is(file_number(path, -1), 0,
	       "fork: the child starts with no page counted as merged");
	knob_settle();
	tap_is(frame_distinct_of(c.pid, v->memory, N), 1,
	       "fork: its own memory merges");
	child_step(&c);
	tap_ok(v->good, "fork: every byte of it is right");
	child_join(&c);
	if (prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0))
		tap_die("prctl off: %s", strerror(errno));
	page_register(witness, 1);
	knob_clear();
}

static int brief_body(struct child *c, void *arg)
{
	char *p = page_map(4 * N);

	page_fill(p, 4 * N, 6);
	page_register(p, 4 * N);
	child_report(c);
	child_wait(c);
	return page_is(p, 4 * N, 6) ? 0 : 1;
}

/* Processes come and go while the engine runs flat out. */
static void test_in_the_middle(void)
{
	char *p = page_map(N);
	unsigned int i, bad = 0, killed = 0;
	struct child c[4];

	page_fill(p, N, 6);
	page_register(p, N);
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	for (i = 0; i < 100; i++) {
		struct child *d = &c[i % 4];

		if (i >= 4) {
			if (i % 3 == 0) {
				kill(d->pid, SIGKILL);
				killed += child_join(d) == -SIGKILL;
			} else {
				bad += child_join(d) != 0;
			}
		}
		child_start(d, brief_body, NULL);
		child_done(d);
	}
	for (i = 0; i < 4; i++)
		bad += child_join(&c[i]) != 0;
	tap_is(bad, 0, "exit while scanned: every byte of each was right");
	tap_is(killed, 32, "exit while scanned: a third was killed");
	for (i = 0; i < 300; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			p[i % N * PAGE] ^= 1;
			_exit(page_is(p, N, 6) ? 1 : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			tap_die("fork: %s", strerror(errno));
		bad += status != 0;
	}
	tap_is(bad, 0, "300 short-lived children wrote, none wrote to another");
	tap_ok(page_is(p, N, 6), "every byte of the parent is right");
	knob_settle();
	tap_ok(frame_same(p, N), "its pages share one frame");
	tap_is(frame_mapcount(frame_number(p)), N, "nobody else maps it");
	knob_counts(1, N - 1, 1, 0, "all of them gone");
	page_unmap(p, N);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--probe"))
		return probe(argc, argv);
	knob_begin();
	/* Orphans come to this process, so that their end can be awaited. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	witness = page_map(1);
	page_fill(witness, 1, 99);
	madvise(witness, PAGE, MADV_DONTFORK);
	page_register(witness, 1);
	test_shares();
	test_generations();
	test_orphan(false);
	test_orphan(true);
	test_after_exec(false, false);
	test_after_exec(true, false);
	test_after_exec(false, true);
	test_after_exec(true, true);
	test_after_fork();
	test_in_the_middle();
	return tap_done();
}
