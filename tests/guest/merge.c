// SPDX-License-Identifier: GPL-2.0-only
/*
 * merge.c - equal pages become one frame, unequal ones never do.
 *
 * Looks at the frames and at every byte; the counters are stated besides.
 *
 * group: module native
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define N 64

static long self_stat(const char *name)
{
	return file_field("/proc/self/ksm_stat", name, -1);
}

static void test_one_process(void)
{
	char *p = page_map(N);

	page_fill(p, N, 1);
	tap_is(frame_distinct(p, N), N, "before: each page has its frame");
	page_register(p, N);
	knob_settle();
	tap_ok(frame_same(p, N), "%d equal pages share one frame", N);
	tap_is(frame_mapcount(frame_number(p)), N,
	       "the frame is mapped by each of them");
	tap_is(frame_ksm(p, N), N * PAGE / 1024, "smaps shows them as merged");
	tap_is(file_number("/proc/self/ksm_merging_pages", -1), N,
	       "ksm_merging_pages");
	tap_is(self_stat("ksm_merging_pages"), N, "ksm_stat: merging pages");
	tap_is(self_stat("ksm_rmap_items"), N, "ksm_stat: items");
	knob_counts(1, N - 1, 0, 0, "one process");
	tap_ok(page_is(p, N, 1), "every byte is right");
	page_unmap(p, N);
	knob_clear();
	knob_counts(0, 0, 0, 0, "after unmapping and run=2");
}

struct member {
	char *memory;
	uint64_t content;
	bool good;
};

static int member_body(struct child *c, void *arg)
{
	struct member *m = arg;

	m->memory = page_map(N);
	page_fill(m->memory, N, m->content);
	page_register(m->memory, N);
	child_report(c);
	for (;;) {
		child_wait(c);
		if (m->content == (uint64_t)-1)
			return 0;
		m->good = page_is(m->memory, N, m->content);
		child_report(c);
	}
}

static void test_several_processes(void)
{
	struct member *m = child_shared(1);
	unsigned long number = 0;
	struct child c[3];
	bool same = true, good = true;
	int i, j;

	for (i = 0; i < 3; i++) {
		m[i].content = 2;
		child_start(&c[i], member_body, &m[i]);
		child_done(&c[i]);
	}
	knob_settle();
	for (i = 0; i < 3; i++) {
		for (j = 0; j < N; j++) {
			unsigned long n = frame_number_of(c[i].pid,
					m[i].memory + j * PAGE);

			if (!number)
				number = n;
			same = same && n && n == number;
		}
		tap_is(frame_ksm_of(c[i].pid), N * PAGE / 1024,
		       "process %d: smaps shows its pages as merged", i);
	}
	tap_ok(same, "3 x %d equal pages of 3 processes share one frame", N);
	tap_is(frame_mapcount(number), 3 * N, "the frame is mapped by each");
	knob_counts(1, 3 * N - 1, 0, 0, "three processes");
	for (i = 0; i < 3; i++) {
		good = child_step(&c[i]) && m[i].good && good;
		m[i].content = -1;
	}
	tap_ok(good, "every byte is right in every process");
	for (i = 0; i < 3; i++)
		child_join(&c[i]);
	knob_clear();
	knob_counts(0, 0, 0, 0, "after their exit");
}

static void test_tails(void)
{
	char *p = page_map(N), *q;

	page_fill_tail(p, N, 3, 100);
	page_register(p, N);
	knob_settle();
	tap_is(frame_distinct(p, N), N,
	       "pages equal but for the last 8 bytes do not merge");
	tap_ok(page_is_tail(p, N, 3, 100), "every byte is right");
	tap_is(frame_ksm(p, N), 0, "smaps shows none as merged");
	knob_counts(0, 0, N, 0, "different tails");

	q = page_map(N);
	page_fill_tail(q, N, 3, 100);
	page_register(q, N);
	knob_settle();
	tap_is(frame_distinct(p, N), N, "a copy of each: still %d frames", N);
	tap_is(frame_distinct(q, N), N, "a copy of each: the copy has %d", N);
	for (int i = 0; i < N; i++) {
		if (frame_number(p + i * PAGE) == frame_number(q + i * PAGE))
			continue;
		tap_ok(false, "page %d shares the frame of its copy", i);
		break;
	}
	knob_counts(N, N, 0, 0, "a copy of each");
	tap_ok(page_is_tail(p, N, 3, 100) && page_is_tail(q, N, 3, 100),
	       "every byte is right in both");
	page_unmap(p, N);
	page_unmap(q, N);
	knob_clear();
}

static void test_writes(void)
{
	char *p = page_map(N);
	unsigned long shared, own;

	page_fill(p, N, 4);
	page_register(p, N);
	knob_settle();
	shared = frame_number(p);
	p[5 * PAGE + 77] ^= 1;
	own = frame_number(p + 5 * PAGE);
	tap_ok(own && own != shared, "a written page gets a frame of its own");
	tap_ok(frame_number(p + 4 * PAGE) == shared &&
	       frame_number(p + 6 * PAGE) == shared,
	       "its neighbours keep theirs");
	tap_is(frame_mapcount(shared), N - 1, "one page less maps the frame");
	tap_ok(page_is(p, 5, 4) && page_is(p + 6 * PAGE, N - 6, 4),
	       "no byte of another page changed");
	p[5 * PAGE + 77] ^= 1;
	tap_ok(page_is(p + 5 * PAGE, 1, 4), "no other byte of it changed");

	p[5 * PAGE + 77] ^= 1;
	knob_settle();
	tap_is(frame_distinct(p, N), 2, "a different page stays apart");
	knob_counts(1, N - 2, 1, 0, "one page different");
	p[5 * PAGE + 77] ^= 1;
	knob_settle();
	tap_ok(frame_same(p, N), "equal again, it merges again");
	knob_counts(1, N - 1, 0, 0, "equal again");

	page_fill_each(p, N, 1000);
	tap_is(frame_distinct(p, N), N, "all written: %d frames", N);
	tap_ok(page_is_each(p, N, 1000), "all written: every byte is right");
	knob_settle();
	knob_counts(0, 0, N, 0, "all different");
	page_fill(p, N, 5);
	knob_settle();
	tap_ok(frame_same(p, N) && page_is(p, N, 5),
	       "all written equal: one frame, every byte right");
	knob_counts(1, N - 1, 0, 0, "all equal");
	page_unmap(p, N);
	knob_clear();
}

static void test_zeroes(void)
{
	char *p = page_map(2 * N);
	bool clean = page_is_zero(p + N * PAGE, N);

	memset(p, 0, N * PAGE);
	page_register(p, 2 * N);
	knob_settle();
	tap_ok(frame_same(p, N), "pages written with zeroes share one frame");
	tap_ok(frame_number(p) != frame_number(p + N * PAGE),
	       "it is not the zero page that only-read pages have");
	tap_ok(clean && page_is_zero(p, 2 * N), "every byte is zero");
	knob_counts(1, N - 1, 0, 0, "zeroes, use_zero_pages 0");
	tap_is(knob_get("ksm_zero_pages"), 0, "no page became the zero page");
	page_unmap(p, 2 * N);
	knob_clear();
}

static void test_holes(void)
{
	char *p = page_map(1024);

	page_fill(p, 1, 6);
	page_fill(p + 511 * PAGE, 2, 6);
	page_fill(p + 1023 * PAGE, 1, 6);
	page_register(p, 1024);
	knob_settle();
	tap_is(frame_distinct(p, 1024), 1, "pages among holes merge");
	tap_is(frame_absent(p, 1024), 1020, "no hole is filled");
	knob_counts(1, 3, 0, 0, "pages among holes");
	page_unmap(p, 1024);
	knob_clear();
}

static void test_passes(void)
{
	char *p = page_map(N), *w = page_map(1);
	long before;

	page_fill(w, 1, 7);
	page_register(w, 1);
	knob_pass_begin();
	knob_pass();
	knob_pass();
	knob_counts(0, 0, 1, 0, "one lonely page");

	page_fill(p, N, 8);
	page_register(p, N);
	before = knob_get("pages_scanned");
	knob_pass();
	tap_is(knob_get("pages_scanned") - before, N + 1,
	       "first pass: each page is visited once");
	knob_counts(0, 0, 1, N, "first pass: hashed only");
	tap_is(frame_distinct(p, N), N, "first pass: nothing is merged");
	knob_pass();
	knob_counts(1, N - 1, 1, 0, "second pass: merged");
	tap_ok(frame_same(p, N), "second pass: one frame");

	page_fill_each(p, N / 2, 2000);
	knob_pass();
	knob_counts(1, N / 2 - 1, 1, N / 2, "half rewritten, first pass");
	knob_pass();
	knob_counts(1, N / 2 - 1, N / 2 + 1, 0, "half rewritten, second pass");
	page_fill_each(p, N / 2, 3000);
	knob_pass();
	knob_counts(1, N / 2 - 1, 1, N / 2, "rewritten again, first pass");
	page_fill_each(p, N / 2, 4000);
	knob_pass();
	knob_counts(1, N / 2 - 1, 1, N / 2, "changing, no pass settles it");
	knob_pass();
	knob_counts(1, N / 2 - 1, N / 2 + 1, 0, "at rest, it is settled");
	tap_ok(page_is_each(p, N / 2, 4000) &&
	       page_is(p + N / 2 * PAGE, N / 2, 8), "every byte is right");
	knob_run(0);
	page_unmap(p, N);
	page_unmap(w, 1);
	knob_clear();
}

static void set_contents(struct child *c, struct member *m, uint64_t a,
			 uint64_t b, uint64_t d)
{
	uint64_t want[3] = { a, b, d };

	for (int i = 0; i < 3; i++) {
		m[i].content = want[i];
		child_step(&c[i]);
	}
}

static int rewriter_body(struct child *c, void *arg)
{
	struct member *m = arg;
	uint64_t last;

	m->memory = page_map(N);
	page_register(m->memory, N);
	for (;;) {
		child_wait(c);
		last = m->content;
		if (last == (uint64_t)-1)
			return 0;
		page_fill(m->memory, N, last);
		child_report(c);
		child_wait(c);
		m->good = page_is(m->memory, N, last);
		child_report(c);
	}
}

static bool all_good(struct child *c, struct member *m)
{
	bool good = true;

	for (int i = 0; i < 3; i++)
		good = child_step(&c[i]) && m[i].good && good;
	return good;
}

/* Whole regions of three processes rewritten, as long-known tests do. */
static void test_phases(void)
{
	struct member *m = child_shared(1);
	struct child c[3];
	int i;

	for (i = 0; i < 3; i++)
		child_start(&c[i], rewriter_body, &m[i]);
	set_contents(c, m, 'c', 'a', 'a');
	knob_settle();
	knob_counts(2, 3 * N - 2, 0, 0, "phase c/a/a");
	tap_ok(all_good(c, m), "phase c/a/a: every byte is right");
	set_contents(c, m, 'c', 'b', 'a');
	knob_settle();
	knob_counts(3, 3 * N - 3, 0, 0, "phase c/b/a");
	tap_ok(all_good(c, m), "phase c/b/a: every byte is right");
	set_contents(c, m, 'd', 'd', 'd');
	knob_settle();
	knob_counts(1, 3 * N - 1, 0, 0, "phase d/d/d");
	tap_ok(all_good(c, m), "phase d/d/d: every byte is right");
	for (i = 0; i < 3; i++) {
		m[i].content = -1;
		child_join(&c[i]);
	}
	knob_clear();
	knob_counts(0, 0, 0, 0, "after the phases");
}

int main(void)
{
	knob_begin();
	test_one_process();
	test_several_processes();
	test_tails();
	test_writes();
	test_zeroes();
	test_holes();
	test_passes();
	test_phases();
	return tap_done();
}
