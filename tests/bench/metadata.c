// SPDX-License-Identifier: GPL-2.0-only
/*
 * metadata - memory that records take where pages are in no tree or lie apart.
 *
 *	metadata changing MIB	pages that are rewritten before each pass
 *	metadata lonely PAGES	unique pages, one in each range of 2 MiB
 *
 * Figures: bytes for each page after four passes. What scan reports as
 * "metadata" is the same for pages that rest in a tree or are merged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define PASSES 4

static size_t pages, stride;
static char *area;
static uint64_t first;

static void fill(void)
{
	size_t i;

	for (i = 0; i < pages; i++)
		page_fill(area + i * stride, 1, first + i);
}

static bool right(void)
{
	size_t i;

	for (i = 0; i < pages; i++)
		if (!page_is(area + i * stride, 1, first + i))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct memory before;
	bool changing;
	int i;

	if (argc != 3)
		tap_die("usage: metadata changing|lonely N");
	changing = !strcmp(argv[1], "changing");
	stride = changing ? PAGE : HUGE_PAGE;
	pages = changing ? strtoul(argv[2], NULL, 10) << 8 : strtoul(argv[2], NULL, 10);
	engine_begin(false);
	area = mmap(NULL, pages * stride, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED || madvise(area, pages * stride, MADV_NOHUGEPAGE))
		tap_die("map %zu bytes: %s", pages * stride, strerror(errno));
	fill();
	before = memory_now();
	engine_register(area, pages * stride / PAGE);
	for (i = 1; i < PASSES; i++) {
		if (changing) {
			first += pages;
			fill();
		}
		engine_pass();
	}
	figure((double)memory_grown(&before, NULL) / pages, "bytes/page",
	       "metadata.%s.%s", argv[1], argv[2]);
	tap_ok(right(), "metadata %s: every byte is right", argv[1]);
	return tap_done();
}
