// SPDX-License-Identifier: GPL-2.0-only
/*
 * rmap - what it costs to move a merged page, for which the kernel has to find
 * all its mappings, in a process with many mappings.
 *
 *	rmap VMAS SHARERS
 *
 * One area is split into VMAS mappings of one page, which share one anon_vma;
 * SHARERS of these pages are equal and merged. move_pages(2) moves the merged
 * page between two nodes, to and fro. Figures: instructions for each call,
 * average and maximum; "plain" is a page of one mapping that is not merged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define MOVES 10
#define MOVE_ALL 4	/* MPOL_MF_MOVE_ALL */

static void split(char *area, size_t pages)
{
	size_t i;

	for (i = 0; i < pages; i += 2)
		if (mprotect(area + i * PAGE, PAGE, PROT_READ))
			tap_die("mprotect: %s", strerror(errno));
}

/* Moves a page to the other node. Return: what the call took. */
static uint64_t move(void *addr)
{
	int now = node_of(0, addr), want = !now, status = -1;
	uint64_t start, took;
	long left;

	if (now < 0)
		tap_die("where is the page: %s", strerror(-now));
	start = clock_ns();
	left = syscall(SYS_move_pages, 0, 1UL, &addr, &want, &status, MOVE_ALL);
	took = clock_ns() - start;
	if (left || status != want || node_of(0, addr) != want)
		tap_die("the page does not move: %ld, %d", left, status);
	return took;
}

static void measure(void *addr, const char *name)
{
	uint64_t sum = 0, max = 0;
	int i;

	/* The first call wakes workers that the others find awake. */
	move(addr);
	mark_begin();
	for (i = 0; i < MOVES; i++) {
		uint64_t took = move(addr);

		sum += took;
		if (took > max)
			max = took;
	}
	mark_end(name, MOVES);
	figure((double)sum / MOVES, "instructions/call", "rmap.%s.average", name);
	figure(max, "instructions/call", "rmap.%s.max", name);
}

int main(int argc, char **argv)
{
	size_t vmas, sharers, i;
	char *area, *plain;
	char name[64];

	if (argc != 3)
		tap_die("usage: rmap VMAS SHARERS");
	vmas = strtoul(argv[1], NULL, 10);
	sharers = strtoul(argv[2], NULL, 10);
	snprintf(name, sizeof(name), "%zu.%zu", vmas, sharers);
	if (!node_two())
		tap_die("the guest has one node only");
	engine_begin(false);
	area = page_map(vmas);
	for (i = 0; i < sharers; i++)
		page_fill(area + i * (vmas / sharers) * PAGE, 1, 7);
	split(area, vmas);
	engine_register(area, vmas);
	for (i = 0; i < 3; i++)
		engine_pass();
	tap_is(knob_get("pages_sharing"), sharers - 1, "rmap %s: merged", name);

	measure(area, name);
	for (i = 0; i < sharers; i++)
		if (!page_is(area + i * (vmas / sharers) * PAGE, 1, 7))
			break;
	tap_ok(i == sharers, "rmap %s: every byte is right", name);
	tap_is(knob_get("pages_sharing"), sharers - 1, "rmap %s: still merged", name);

	plain = page_map(1);
	page_fill(plain, 1, 8);
	measure(plain, "plain");
	return tap_done();
}
