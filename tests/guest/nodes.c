// SPDX-License-Identifier: GPL-2.0-only
/*
 * nodes.c - merge_across_nodes: with 0, pages merge only with those of their node.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define N 32

/* The first half on node 0, the second half on node 1. */
static char *spread(uint64_t content)
{
	char *p = page_map(N);

	page_fill(p, N, content);
	for (size_t i = 0; i < N; i++)
		if (node_of(getpid(), p + i * PAGE) != (int)(i / (N / 2)) &&
		    node_move(getpid(), p + i * PAGE))
			tap_die("page %zu does not move to its node", i);
	return p;
}

static size_t count_on(const char *p, size_t pages, int node)
{
	size_t count = 0;

	for (size_t i = 0; i < pages; i++)
		count += node_of(getpid(), p + i * PAGE) == node;
	return count;
}

static bool in_place(const char *p)
{
	return frame_same(p, N / 2) && frame_same(p + N / 2 * PAGE, N / 2) &&
	       frame_number(p) != frame_number(p + N / 2 * PAGE) &&
	       count_on(p, N / 2, 0) == N / 2 &&
	       count_on(p + N / 2 * PAGE, N / 2, 1) == N / 2;
}

static void test_apart(void)
{
	char *p = spread(2);

	page_register(p, N);
	knob_settle();
	tap_ok(in_place(p), "apart: a frame for each node, on that node");
	knob_counts(2, N - 2, 1, 0, "apart");
	tap_ok(page_is(p, N, 2), "apart: every byte is right");
	tap_is(knob_put("merge_across_nodes", "1"), -EBUSY, "together, while pages are merged");
	tap_is(knob_get("merge_across_nodes"), 0, "changes nothing");
	page_fill(p, 1, 3);
	page_fill(p, 1, 2);
	if (node_of(getpid(), p) == 0) {
		knob_settle();
		tap_ok(in_place(p), "apart: a written page comes back to its node's frame");
	}
	page_unmap(p, N);
	knob_clear();
}

static void test_migrate(void)
{
	char *p = spread(4), *late = page_map(2);
	unsigned long frame;

	page_register(p, N);
	knob_settle();
	tap_is(node_move(getpid(), p), 0, "a node's merged page moves to the other");
	frame = frame_number(p);
	tap_ok(frame_same(p, N / 2) && count_on(p, N, 1) == N, "with all who map it");
	knob_counts(2, N - 2, 1, 0, "migrated");
	page_fill(late, 2, 4);
	for (size_t i = 0; i < 2; i++)
		if (node_of(getpid(), late + i * PAGE) && node_move(getpid(), late + i * PAGE))
			tap_die("a page does not move to node 0");
	page_register(late, 2);
	knob_settle();
	tap_ok(frame_same(late, 2) && frame_number(late) != frame &&
	       frame_number(late) != frame_number(p + N / 2 * PAGE) &&
	       count_on(late, 2, 0) == 2,
	       "later pages of the first node do not merge with what has left it");
	tap_is(node_move(getpid(), p), 0, "it moves back");
	tap_ok(frame_same(p, N / 2) && count_on(p, N / 2, 0) == N / 2, "with all who map it");
	tap_ok(page_is(p, N, 4) && page_is(late, 2, 4), "migrated: every byte is right");
	page_unmap(late, 2);
	page_unmap(p, N);
	knob_clear();
}

static void test_together(void)
{
	char *p = spread(5);

	tap_is(knob_put("merge_across_nodes", "1"), 0, "together, when nothing is merged");
	page_register(p, N);
	knob_settle();
	tap_ok(frame_same(p, N), "together: one frame for all nodes");
	knob_counts(1, N - 1, 1, 0, "together");
	tap_is(knob_put("merge_across_nodes", "0"), -EBUSY, "apart, while pages are merged");
	knob_clear();
	tap_is(knob_put("merge_across_nodes", "0"), 0, "apart, when nothing is merged");
	knob_settle();
	tap_is(frame_distinct(p, N), count_on(p, N, 0) && count_on(p, N, 1) ? 2 : 1,
	       "apart again: a frame for each node that has some");
	tap_ok(page_is(p, N, 5), "apart again: every byte is right");
	page_unmap(p, N);
	knob_clear();
}

int main(void)
{
	if (!node_two()) {
		tap_skip("one node", "pages of two nodes stay apart");
		return tap_done();
	}
	knob_begin();
	knob_set("merge_across_nodes", 0);
	page_witness();
	test_apart();
	test_migrate();
	test_together();
	knob_set("merge_across_nodes", 1);
	return tap_done();
}
