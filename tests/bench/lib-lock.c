// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-lock.c - how long the engine's threads wait for locks.
 *
 * The kernel's tracepoints lock:contention_begin and contention_end, of the
 * engine's threads only. They see whoever sleeps for a lock, and whoever queues
 * for a spinlock; but a single waiter of a spinlock does not queue on x86, and
 * is seen by the instructions that it spins only, see tests/bench/run.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TRACE "/sys/kernel/tracing/"
#define THREADS 256

static struct {
	long pid;
	double since;
} waiting[THREADS];

static void put(const char *name, const char *text)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), TRACE "%s", name);
	err = file_put(path, text);
	if (err)
		tap_die("write %s: %s", path, strerror(-err));
}

/* Room for the numbers of the threads, as text. */
#define PIDS 4096

static void add_pid(long pid, const char *name, void *arg)
{
	char *pids = arg;
	size_t used = strlen(pids);

	if (snprintf(pids + used, PIDS - used, "%ld ", pid) >= (int)(PIDS - used))
		tap_die("too many threads");
}

static void choose_threads(void)
{
	char pids[PIDS] = "";

	thread_each("comm", add_pid, pids);
	put("set_event_pid", pids);
}

/**
 * lock_begin() - watch the engine's threads from now on
 *
 * Return: false when the kernel cannot.
 */
bool lock_begin(void)
{
	if (file_put(TRACE "events/lock/contention_begin/enable", "0"))
		return false;
	put("tracing_on", "0");
	put("trace", "");
	put("buffer_size_kb", "8192");
	choose_threads();
	put("events/lock/contention_begin/enable", "1");
	put("events/lock/contention_end/enable", "1");
	put("tracing_on", "1");
	return true;
}

/* Return: what line @text adds to the time waited, in seconds. */
static double step(const char *text)
{
	const char *cpu = strstr(text, " ["), *event = strstr(text, ": contention_");
	const char *pid, *time;
	size_t i;
	long who;

	if (!cpu || !event)
		return 0;
	for (pid = cpu; pid > text && isdigit((unsigned char)pid[-1]); pid--)
		;
	for (time = event; time > cpu && time[-1] != ' '; time--)
		;
	who = atol(pid);
	for (i = 0; i < THREADS - 1 && waiting[i].pid && waiting[i].pid != who; i++)
		;
	waiting[i].pid = who;
	if (!strncmp(event, ": contention_begin", 18)) {
		waiting[i].since = atof(time);
		return 0;
	}
	return waiting[i].since ? atof(time) - waiting[i].since : 0;
}

/**
 * lock_end() - stop watching
 *
 * Return: seconds that the threads waited, all added up.
 */
double lock_end(void)
{
	char text[512];
	double sum = 0;
	FILE *f;

	put("tracing_on", "0");
	put("events/lock/contention_begin/enable", "0");
	put("events/lock/contention_end/enable", "0");
	memset(waiting, 0, sizeof(waiting));
	f = fopen(TRACE "trace", "re");
	if (!f)
		tap_die("no trace");
	while (fgets(text, sizeof(text), f)) {
		if (strstr(text, "LOST"))
			tap_die("the trace has lost events");
		sum += step(text);
	}
	fclose(f);
	put("set_event_pid", "");
	return sum;
}
