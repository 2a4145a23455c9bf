// SPDX-License-Identifier: GPL-2.0-only
/*
 * sparse - a huge mapping with one page in it, which is merged.
 *
 *	sparse GIB
 *
 * Figures: "unmerge", instructions of MADV_UNMERGEABLE; "pass", instructions of
 * the engine for a pass over it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

int main(int argc, char **argv)
{
	uint64_t before, start, took;
	char *area, *other, *page;
	size_t size;
	int i;

	if (argc != 2)
		tap_die("usage: sparse GIB");
	size = strtoul(argv[1], NULL, 10) << 30;
	engine_begin(false);
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		tap_die("map %s GiB: %s", argv[1], strerror(errno));
	if (madvise(area, size, MADV_NOHUGEPAGE))
		tap_die("MADV_NOHUGEPAGE: %s", strerror(errno));
	page = area + size / 2;
	page_fill(page, 1, 7);
	other = page_map(1);
	page_fill(other, 1, 7);
	page_register(other, 1);
	engine_register(area, size / PAGE);
	for (i = 0; i < 2; i++)
		engine_pass();
	tap_is(knob_get("pages_sharing"), 1, "sparse %s: merged", argv[1]);
	mark_begin();
	before = engine_cpu_ns();
	engine_pass();
	took = engine_cpu_ns() - before;
	mark_end("pass", 1);
	figure(took, "instructions", "sparse.%s.pass", argv[1]);

	mark_begin();
	start = clock_ns();
	page_unregister(area, size / PAGE);
	took = clock_ns() - start;
	mark_end("unmerge", 1);
	figure(took, "instructions", "sparse.%s.unmerge", argv[1]);
	tap_ok(frame_number(page) != frame_number(other),
	       "sparse %s: unmerged", argv[1]);
	tap_ok(page_is(page, 1, 7) && page_is(other, 1, 7),
	       "sparse %s: every byte is right", argv[1]);
	return tap_done();
}
