// SPDX-License-Identifier: GPL-2.0-only
/*
 * scan - what a page costs the engine, by content and size of the area.
 *
 *	scan CONTENT MIB [smart]
 *
 * random	unique pages
 * tail		unique pages, equal up to their last 8 bytes
 * dup4		each page four times
 * zero		pages of zero, merged with the kernel's zero page
 *
 * Figures, of the threads of the engine: "converge", per page, from the
 * registration until all is merged, for unique pages until the end of the
 * second pass; "steady", per page and further pass; "metadata", bytes per page,
 * and "records", the same without the nodes of merged frames; "unmerge", per
 * page, of MADV_UNMERGEABLE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define MORE_PASSES 6

static const char *content;
static size_t pages;
static char *area;

static bool is(const char *name)
{
	return !strcmp(content, name);
}

/* Copies lie far apart. */
static uint64_t copy_of(size_t i)
{
	return 1 + i % (pages / 4);
}

/* In no order: numbers in a row would make the built-in engine's tree deeper. */
static uint64_t tail_of(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

static void fill(size_t i)
{
	char *page = area + i * PAGE;

	if (is("random"))
		page_fill(page, 1, i + 1);
	else if (is("tail"))
		page_fill_tail(page, 1, 1, tail_of(i));
	else if (is("zero"))
		memset(page, 0, PAGE);
	else if (is("dup4"))
		page_fill(page, 1, copy_of(i));
	else
		tap_die("no content '%s'", content);
}

static bool page_right(size_t i)
{
	const char *page = area + i * PAGE;

	if (is("random"))
		return page_is(page, 1, i + 1);
	if (is("tail"))
		return page_is_tail(page, 1, 1, tail_of(i));
	if (is("zero"))
		return page_is_zero(page, 1);
	return page_is(page, 1, copy_of(i));
}

static bool right(void)
{
	size_t i;

	for (i = 0; i < pages; i++)
		if (!page_right(i))
			return false;
	return true;
}

static bool merged(int passes)
{
	if (is("dup4"))
		return (size_t)knob_get("pages_sharing") == pages / 4 * 3;
	if (is("zero"))
		return (size_t)knob_get("ksm_zero_pages") == pages;
	return passes >= 2;
}

static void converge(void)
{
	int passes = 1;

	mark_begin();
	engine_register(area, pages);
	while (!merged(passes) && passes < MORE_PASSES) {
		engine_pass();
		passes++;
	}
	mark_end("converge", pages);
	tap_ok(merged(passes), "%s: all is merged after %d passes", content, passes);
}

static double steady(int passes)
{
	uint64_t before = engine_cpu_ns();
	int i;

	mark_begin();
	for (i = 0; i < passes; i++)
		engine_pass();
	mark_end("steady", pages * passes);
	return (double)(engine_cpu_ns() - before) / pages / passes;
}

int main(int argc, char **argv)
{
	bool smart = argc == 4 && !strcmp(argv[3], "smart");
	struct memory before;
	long grown, nodes;
	uint64_t start;
	char name[64];
	size_t i;

	if (argc != 3 && !smart)
		tap_die("usage: scan CONTENT MIB [smart]");
	content = argv[1];
	pages = atol(argv[2]) << 8;
	snprintf(name, sizeof(name), "%s.%s%s", content, argv[2],
		 smart ? ".smart" : "");
	engine_begin(smart);
	knob_set("use_zero_pages", is("zero"));
	area = page_map(pages);
	for (i = 0; i < pages; i++)
		fill(i);
	before = memory_now();

	start = engine_cpu_ns();
	converge();
	figure((double)(engine_cpu_ns() - start) / pages, "instructions/page",
	       "scan.%s.converge", name);

	/* A page that is old enough is visited in one of 9 passes. */
	for (i = 0; i < (smart ? 40U : 1U); i++)
		engine_pass();
	grown = memory_grown(&before, &nodes);
	figure((double)grown / pages, "bytes/page", "scan.%s.metadata", name);
	figure((double)(grown - nodes) / pages, "bytes/page", "scan.%s.records", name);
	figure(steady(smart ? 18 : 1), "instructions/page", "scan.%s.steady", name);
	tap_ok(right(), "scan %s: every byte is right while merged", name);

	mark_begin();
	start = clock_ns();
	page_unregister(area, pages);
	start = clock_ns() - start;
	mark_end("unmerge", pages);
	figure((double)start / pages, "instructions/page", "scan.%s.unmerge", name);
	tap_ok(right(), "scan %s: every byte is right when unmerged", name);
	return tap_done();
}
