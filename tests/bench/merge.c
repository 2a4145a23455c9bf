// SPDX-License-Identifier: GPL-2.0-only
/*
 * merge - how soon equal pages are merged, by the clock.
 *
 *	merge MIB CPUS
 *
 * Each page is there four times. The engine never sleeps. Figures: seconds
 * from the registration until 90 and 99 percent of what can be merged is
 * merged, and the time that the engine's threads ran until then.
 */
#include <stdlib.h>
#include <time.h>

#include "bench.h"

#define LIMIT_NS (240 * 1000000000ULL)

static double seconds(uint64_t since)
{
	return (clock_ns() - since) / 1e9;
}

/* Waits until a share of all pages that can go has gone. */
static double until(uint64_t start, long want)
{
	struct timespec nap = { .tv_nsec = 1000000 };

	while (knob_get("pages_sharing") < want) {
		if (clock_ns() - start > LIMIT_NS)
			tap_die("not merged in time");
		nanosleep(&nap, NULL);
	}
	return seconds(start);
}

int main(int argc, char **argv)
{
	uint64_t start, cpu;
	size_t pages, i;
	char *area;

	if (argc != 3)
		tap_die("usage: merge MIB CPUS");
	pages = strtoul(argv[1], NULL, 10) << 8;
	engine_begin(false);
	knob_set("pages_to_scan", 100000);
	knob_set("sleep_millisecs", 0);
	area = page_map(pages);
	for (i = 0; i < pages; i++)
		page_fill(area + i * PAGE, 1, 1 + i % (pages / 4));
	knob_run(1);
	cpu = engine_cpu_ns();
	start = clock_ns();
	page_register(area, pages);
	figure(until(start, pages / 4 * 3 * 90 / 100), "seconds",
	       "merge.%s.smp%s.t90", argv[1], argv[2]);
	figure(until(start, pages / 4 * 3 * 99 / 100), "seconds",
	       "merge.%s.smp%s.t99", argv[1], argv[2]);
	figure((engine_cpu_ns() - cpu) / 1e9, "seconds",
	       "merge.%s.smp%s.cpu", argv[1], argv[2]);
	until(start, pages / 4 * 3);
	for (i = 0; i < pages; i++)
		if (!page_is(area + i * PAGE, 1, 1 + i % (pages / 4)))
			break;
	tap_ok(i == pages, "merge %s: every byte is right", argv[1]);
	return tap_done();
}
