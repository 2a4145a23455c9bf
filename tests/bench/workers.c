// SPDX-License-Identifier: GPL-2.0-only
/*
 * workers - what more threads of the engine bring.
 *
 *	workers CPUS		rates, by the clock
 *	workers count CPUS	each once, for the counters of plugin/count.c
 *
 * "scan" is passes over unique pages that rest; "merge" lasts from the
 * registration of pages that are there four times until 99 percent of what can
 * go has gone. The numbers of threads are tried in turn, several times, so that
 * what else the host does meets all of them.
 *
 * Figures by number of threads: "rate", pages a second; "cpu", time of the
 * threads for each page; "speedup" over one thread in the same turn; "waiting",
 * percent of that time that threads wait for locks, in a turn of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TURNS 7
/* Enough that beginning a pass and seeing its end do not weigh. */
#define SCANNED (512UL << 8)
#define MERGED (256UL << 8)
#define PASSES 4
/* Counted, that is not time; and one part does. */
#define COUNTED_PART 4

/* The same turns for each: numbers of threads, ended by 0. */
static const long few[] = { 1, 2, 0 }, many[] = { 1, 4, 8, 0 };
static const long all[] = { 1, 2, 4, 8, 0 };

struct effort {
	double seconds, cpu;
};

struct job {
	const char *name;
	size_t pages, passes;
	void (*once)(const struct job *job);
	void (*again)(const struct job *job);
};

static char *area;
static const char *cpus;
static const long *counts;

static void scan(const struct job *job)
{
	for (size_t i = 0; i < job->passes; i++)
		engine_pass();
}

static void merge(const struct job *job)
{
	long want = job->pages / 4 * 3 * 99 / 100;

	engine_register(area, job->pages);
	while (knob_get("pages_sharing") < want)
		engine_pass();
}

static void unmerge(const struct job *job)
{
	page_unregister(area, job->pages);
}

static struct job jobs[] = {
	{ "scan", SCANNED, PASSES, scan, NULL },
	{ "merge", MERGED, 1, merge, unmerge },
};

/* Unique pages that rest, or copies that wait to be merged. */
static void prepare(const struct job *job)
{
	size_t i;

	area = page_map(job->pages);
	if (job->again) {
		for (i = 0; i < job->pages; i++)
			page_fill(area + i * PAGE, 1, 1 + i % (job->pages / 4));
		return;
	}
	page_fill_each(area, job->pages, 1);
	engine_register(area, job->pages);
	for (i = 0; i < 2; i++)
		engine_pass();
}

static void finish(const struct job *job)
{
	size_t i;

	for (i = 0; i < job->pages; i++)
		if (!page_is(area + i * PAGE, 1, 1 + (job->again ? i % (job->pages / 4) : i)))
			break;
	tap_ok(i == job->pages, "workers %s: every byte is right", job->name);
	knob_clear();
	page_unmap(area, job->pages);
}

static struct effort measure(const struct job *job)
{
	uint64_t start = clock_ns(), cpu = engine_cpu_ns();
	struct effort e;

	job->once(job);
	e.seconds = (clock_ns() - start) / 1e9;
	e.cpu = (engine_cpu_ns() - cpu) / 1e9;
	if (job->again)
		job->again(job);
	return e;
}

static void report(const struct job *job, long count, const char *what,
		   double value, const char *unit)
{
	figure(value, unit, "workers.smp%s.%s.%ld.%s", cpus, job->name, count, what);
}

static void turn(const struct job *job)
{
	double alone = 0;
	const long *n;

	for (n = counts; *n; n++) {
		struct effort e;

		if (!engine_workers(*n))
			continue;
		e = measure(job);
		if (*n == 1)
			alone = e.seconds;
		report(job, *n, "rate", job->passes * job->pages / e.seconds, "pages/second");
		report(job, *n, "cpu", e.cpu * 1e9 / job->passes / job->pages, "ns/page");
		if (*n > 1)
			report(job, *n, "speedup", alone / e.seconds, "ratio");
	}
}

static void watch_locks(const struct job *job)
{
	const long *n;

	for (n = counts; *n; n++) {
		struct effort e;

		if (!engine_workers(*n))
			continue;
		if (!lock_begin()) {
			tap_skip("no tracepoint", "time that threads wait for locks");
			return;
		}
		e = measure(job);
		report(job, *n, "waiting", 100 * lock_end() / e.cpu, "percent");
	}
}

static void count(const struct job *job)
{
	const long *n;

	for (n = counts; *n; n++) {
		char name[64];

		if (!engine_workers(*n))
			continue;
		snprintf(name, sizeof(name), "workers.smp%s.%s.%ld", cpus, job->name, *n);
		mark_begin();
		job->once(job);
		mark_end(name, job->passes * job->pages);
		if (!job->again)
			continue;
		job->again(job);
		/* What the last turn has left is not this one's work. */
		engine_pass();
	}
}

int main(int argc, char **argv)
{
	bool counting = argc == 3 && !strcmp(argv[1], "count");
	size_t i, j;

	if (argc != 2 && !counting)
		tap_die("usage: workers [count] CPUS");
	cpus = argv[argc - 1];
	counts = counting ? all : atoi(cpus) < 4 ? few : many;
	engine_begin(false);
	if (knob_pksm() && !engine_workers(2))
		tap_skip("there is no file workers", "more than one thread");
	for (i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct job *job = &jobs[i];

		if (counting)
			job->pages /= COUNTED_PART;
		prepare(job);
		/* Who looks takes time from the threads that are looked at. */
		engine_poll_ns = 20000000;
		if (counting) {
			count(job);
		} else {
			for (j = 0; j < TURNS; j++)
				turn(job);
			watch_locks(job);
		}
		finish(job);
	}
	return tap_done();
}
