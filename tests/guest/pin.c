// SPDX-License-Identifier: GPL-2.0-only
/*
 * pin.c - pages that somebody holds besides the page table.
 *
 * While a page is pinned its frame must not be exchanged: what goes through
 * the pin and what goes through the page table must be the same bytes.
 *
 * group: module native
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib.h"

#define N 32

static int pipe_of(int *to)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		tap_die("pipe: %s", strerror(errno));
	*to = fd[1];
	return fd[0];
}

static bool drain_is(int from, uint64_t content)
{
	static char buf[PAGE];
	size_t have = 0;

	while (have < PAGE) {
		ssize_t n = read(from, buf + have, PAGE - have);

		if (n <= 0)
			return false;
		have += n;
	}
	return page_is(buf, 1, content);
}

static void splice_page(int to, char *page)
{
	struct iovec v = { .iov_base = page, .iov_len = PAGE };

	if (vmsplice(to, &v, 1, 0) != (ssize_t)PAGE)
		tap_die("vmsplice: %s", strerror(errno));
}

static void test_splice(void)
{
	int to, from = pipe_of(&to);
	unsigned long held, shared;
	char *p = page_map(N), *last = p + (N - 1) * PAGE;

	page_fill(p, N, 1);
	held = frame_number(last);
	splice_page(to, last);
	page_register(p, N);
	knob_settle();
	tap_ok(frame_number(last) == held,
	       "in a pipe: the page keeps its frame");
	tap_ok(frame_same(p, N - 1) && frame_number(p) != held,
	       "in a pipe: its equals merge without it");
	tap_is(frame_mapcount(held), 1, "in a pipe: nobody else maps it");
	tap_ok(drain_is(from, 1), "every byte of it comes out of the pipe");
	knob_settle();
	tap_ok(frame_same(p, N), "out of the pipe: it merges");

	shared = frame_number(p);
	splice_page(to, p + PAGE);
	page_fill(p + PAGE, 1, 2);
	tap_ok(frame_number(p + PAGE) != shared,
	       "merged and in a pipe: a write gets a frame of its own");
	tap_ok(drain_is(from, 1), "what was put into the pipe comes out");
	tap_ok(page_is(p, 1, 1) && page_is(p + PAGE, 1, 2) &&
	       page_is(p + 2 * PAGE, N - 2, 1), "every byte is right");
	close(to);
	close(from);
	page_unmap(p, N);
	knob_clear();
}

/* The page that a pass meets first is the one that cannot be merged. */
static void test_first(void)
{
	int to, from = pipe_of(&to);
	unsigned long held;
	char *p = page_map(N);

	page_fill(p, N, 10);
	held = frame_number(p);
	splice_page(to, p);
	page_register(p, N);
	knob_settle();
	tap_ok(frame_number(p) == held, "met first: the page keeps its frame");
	if (knob_pksm())
		tap_ok(frame_same(p + PAGE, N - 1),
		       "met first: its equals merge without it");
	else
		tap_skip("with the built-in engine it keeps them from merging",
			 "met first: its equals merge without it");
	tap_ok(drain_is(from, 10), "met first: every byte comes out");
	close(to);
	close(from);
	knob_settle();
	tap_ok(frame_same(p, N), "let go: all merge");
	page_unmap(p, N);
	knob_clear();
}

/* A page's worth of bytes through the pin; seen through the page table? */
static bool lands(int to, int from, char *page, uint64_t content)
{
	char *source = page_map(1);
	bool good;

	page_fill(source, 1, content);
	if (write(to, source, PAGE) != (ssize_t)PAGE)
		tap_die("write to the pipe: %s", strerror(errno));
	page_unmap(source, 1);
	if (ring_read(from, page, PAGE) != (int)PAGE)
		tap_die("read through the ring failed");
	good = page_is(page, 1, content);
	return good;
}

static void test_ring(void)
{
	int to, from = pipe_of(&to), err;
	unsigned long held;
	char *p = page_map(N), *q = p + (N - 4) * PAGE;

	page_fill(p, N, 3);
	err = ring_pin(q, 4);
	if (err) {
		tap_skip(strerror(-err), "pages pinned for long keep their frames");
		page_unmap(p, N);
		return;
	}
	held = frame_number(q);
	page_register(p, N);
	knob_settle();
	tap_ok(frame_number(q) == held && frame_distinct(q, 4) == 4,
	       "pinned for long: the pages keep their frames");
	tap_ok(frame_same(p, N - 4),
	       "pinned for long: their equals merge without them");
	tap_ok(lands(to, from, q, 4), "a read through the pin is seen");
	tap_ok(lands(to, from, q + 3 * PAGE, 3), "in every pinned page");
	tap_ok(page_is(p, N - 4, 3) && page_is(q + PAGE, 3, 3),
	       "and in no other");
	page_fill(q, 1, 3);
	ring_unpin();
	knob_settle();
	tap_ok(frame_same(p, N), "let go: all merge");

	held = frame_number(p);
	if (ring_pin(p, 2))
		tap_die("a merged page cannot be pinned");
	tap_ok(frame_number(p) != held && frame_number(p + PAGE) != held,
	       "pinned after merging: the pages get frames of their own");
	tap_is(frame_mapcount(held), N - 2, "pinned after merging: only they");
	knob_settle();
	tap_is(frame_mapcount(held), N - 2,
	       "pinned after merging: no pass merges them");
	tap_ok(lands(to, from, p, 5) && page_is(p + PAGE, N - 1, 3),
	       "pinned after merging: a read through the pin is seen there only");
	ring_unpin();
	page_fill(p, 1, 3);
	knob_settle();
	tap_ok(frame_same(p, N), "let go again: all merge");
	close(to);
	close(from);
	page_unmap(p, N);
	knob_clear();
}

/* A write by way of the kernel, as debuggers do it. */
static void test_foreign_write(void)
{
	char *p = page_map(N), *source = page_map(1);
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	struct iovec from = { source, PAGE }, to = { p + 5 * PAGE, PAGE };

	page_fill(p, N, 6);
	page_register(p, N);
	knob_settle();
	page_fill(source, 1, 7);
	if (mprotect(p, PAGE, PROT_READ))
		tap_die("mprotect: %s", strerror(errno));
	if (pwrite(fd, source, PAGE, (uintptr_t)p) != (ssize_t)PAGE)
		tap_die("write to /proc/self/mem: %s", strerror(errno));
	tap_ok(page_is(p, 1, 7) && page_is(p + PAGE, N - 1, 6),
	       "/proc/PID/mem: a forced write changes one page only");
	if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != (ssize_t)PAGE)
		tap_die("process_vm_writev: %s", strerror(errno));
	tap_ok(page_is(p + 5 * PAGE, 1, 7) && page_is(p + PAGE, 4, 6) &&
	       page_is(p + 6 * PAGE, N - 6, 6),
	       "process_vm_writev: changes one page only");
	tap_is(frame_distinct(p, N), 3, "both have frames of their own");
	knob_settle();
	tap_is(frame_distinct(p, N), 2, "the two equal ones merge");
	close(fd);
	page_unmap(p, N);
	page_unmap(source, 1);
	knob_clear();
}

static void test_locked(void)
{
	char *p = page_map(N);
	unsigned long shared;

	if (mlock(p, N * PAGE))
		tap_die("mlock: %s", strerror(errno));
	page_fill(p, N, 8);
	page_register(p, N);
	knob_settle();
	tap_ok(frame_same(p, N), "locked pages merge");
	tap_is(frame_smaps_of(getpid(), p, N, "Locked"),
	       frame_smaps_of(getpid(), p, N, "Pss"),
	       "smaps shows them as locked");
	shared = frame_number(p);
	page_fill(p, 1, 9);
	tap_is(frame_mapcount(shared), N - 1, "a write unshares one");
	if (munlock(p + PAGE, 4 * PAGE))
		tap_die("munlock: %s", strerror(errno));
	tap_ok(page_is(p, 1, 9) && page_is(p + PAGE, N - 1, 8),
	       "every byte is right");
	page_fill(p, 1, 8);
	knob_settle();
	tap_ok(frame_same(p, N), "partly unlocked: merges again");
	page_unregister(p, N);
	tap_ok(frame_distinct(p, N) == N && page_is(p, N, 8),
	       "unmerged: frames of their own, every byte right");
	page_unmap(p, N);
	knob_clear();
}

int main(void)
{
	knob_begin();
	page_witness();
	test_splice();
	test_first();
	test_ring();
	test_foreign_write();
	test_locked();
	return tap_done();
}
