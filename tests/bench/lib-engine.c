// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-engine.c - single passes of the engine, and what they cost its threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* Larger than any area here, so that a batch is a pass. */
#define WHOLE_PASS 10000000

/* How often a waiting program looks. Looking takes a CPU from somebody. */
long engine_poll_ns = 2000000;

static long sleep_ms = 30000000;

static void add_first_number(long pid, const char *text, void *sum)
{
	*(uint64_t *)sum += strtoull(text, NULL, 10);
}

/**
 * engine_cpu_ns() - time that the threads of the engine have run so far
 *
 * Return: the sum over all of them. Exact while they sleep.
 */
uint64_t engine_cpu_ns(void)
{
	uint64_t sum = 0;

	thread_each("schedstat", add_first_number, &sum);
	return sum;
}

/* Waits until a pass is over and the engine sleeps again. */
static void wait_pass(long want)
{
	struct timespec nap = { .tv_nsec = engine_poll_ns };

	while (knob_get("full_scans") < want || !thread_all_asleep())
		nanosleep(&nap, NULL);
}

/**
 * engine_begin() - set the scene: nothing merged, passes only on demand
 * @smart_scan: whether old pages are skipped
 *
 * The engine sleeps for hours after each pass.
 */
void engine_begin(bool smart_scan)
{
	knob_begin();
	knob_set("smart_scan", smart_scan);
	knob_set("pages_to_scan", WHOLE_PASS);
	knob_set("sleep_millisecs", sleep_ms);
}

/**
 * engine_register() - offer memory, and let the engine make one pass
 * @addr: first page
 * @pages: how many
 *
 * The engine is on afterwards.
 */
void engine_register(void *addr, size_t pages)
{
	long want;

	/* An engine that was on still sleeps out its last pause. */
	knob_run(0);
	knob_set("sleep_millisecs", ++sleep_ms);
	want = knob_get("full_scans") + 1;
	page_register(addr, pages);
	knob_run(1);
	wait_pass(want);
}

/**
 * engine_pass() - let the engine make exactly one further pass
 *
 * Each new value of sleep_millisecs wakes it once.
 */
void engine_pass(void)
{
	long want = knob_get("full_scans") + 1;

	knob_set("sleep_millisecs", ++sleep_ms);
	wait_pass(want);
}

/**
 * engine_workers() - set the number of the engine's threads
 * @count: how many
 *
 * Return: whether it has that many; an engine without the file has one.
 */
bool engine_workers(long count)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", count);
	if (knob_put("workers", text))
		return count == 1;
	while (!thread_all_asleep())
		nanosleep(&(struct timespec){ .tv_nsec = engine_poll_ns }, NULL);
	return true;
}
