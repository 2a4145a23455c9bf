// SPDX-License-Identifier: GPL-2.0-only
/*
 * bits.c - what the owner of a page keeps in its page-table entry.
 *
 * Soft-dirty and the write-protection of userfaultfd belong to a program
 * that watches its memory. Merging is no write: neither may be lost by it,
 * nor set by it.
 *
 * group: module native
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

#define N 32

static const char loses[] = "the built-in engine of 6.12 loses it";

static size_t count_bit(const char *p, size_t pages, uint64_t bit)
{
	size_t count = 0;

	for (size_t i = 0; i < pages; i++)
		if (frame_entry(p + i * PAGE) & bit)
			count++;
	return count;
}

static bool clear_soft_dirty(void)
{
	return !file_put("/proc/self/clear_refs", "4");
}

static void test_soft_dirty(void)
{
	char *p = page_map(N);

	page_fill(p, N, 1);
	if (!clear_soft_dirty() || count_bit(p, N, FRAME_SOFT_DIRTY)) {
		tap_skip("this kernel does not track it",
			 "soft-dirty is kept over a merge");
		page_unmap(p, N);
		return;
	}
	page_fill(p, N / 2, 1);
	tap_is(count_bit(p, N, FRAME_SOFT_DIRTY), N / 2,
	       "soft-dirty: set on what was written");
	page_register(p, N);
	/* Registering may mark the area as a whole: that is its owner's act. */
	clear_soft_dirty();
	page_fill(p, N / 2, 1);
	knob_settle();
	tap_ok(frame_same(p, N), "soft-dirty: all pages merge");
	if (knob_pksm())
		tap_is(count_bit(p, N / 2, FRAME_SOFT_DIRTY), N / 2,
		       "soft-dirty: kept over a merge");
	else
		tap_skip(loses, "soft-dirty: kept over a merge");
	tap_is(count_bit(p + N / 2 * PAGE, N / 2, FRAME_SOFT_DIRTY), 0,
	       "soft-dirty: not set by a merge");
	clear_soft_dirty();
	tap_is(count_bit(p, N, FRAME_SOFT_DIRTY), 0, "soft-dirty: cleared");
	page_fill(p, 1, 1);
	tap_ok(frame_entry(p) & FRAME_SOFT_DIRTY,
	       "soft-dirty: set by a write to a merged page");
	tap_is(count_bit(p + PAGE, N - 1, FRAME_SOFT_DIRTY), 0,
	       "soft-dirty: on that page only");
	clear_soft_dirty();
	page_unregister(p, N);
	tap_is(frame_distinct(p, N), N, "soft-dirty: unmerged");
	tap_ok(page_is(p, N, 1), "soft-dirty: every byte is right");
	page_unmap(p, N);
	knob_clear();
}

static int watch(char *p, size_t pages)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)p, .len = pages * PAGE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void protect(int fd, char *p, size_t pages, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)p, .len = pages * PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	if (ioctl(fd, UFFDIO_WRITEPROTECT, &wp))
		tap_die("UFFDIO_WRITEPROTECT: %s", strerror(errno));
}

static void *write_byte(void *at)
{
	*(char *)at ^= 1;
	return NULL;
}

/* Whether a write to a page is told to the watcher, and goes on when let. */
static bool is_told(int fd, char *page)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char *at = page + 123, was = *at;
	struct uffd_msg msg;
	pthread_t thread;
	bool told;

	if (pthread_create(&thread, NULL, write_byte, at))
		tap_die("no thread");
	told = poll(&wait, 1, 20000) == 1 &&
	       read(fd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT &&
	       (msg.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) &&
	       (msg.arg.pagefault.address & -PAGE) == (uintptr_t)page &&
	       *at == was;
	protect(fd, page, 1, false);
	pthread_join(thread, NULL);
	return told && *at == (char)(was ^ 1);
}

static void test_watch_merged(void)
{
	char *p = page_map(N);
	unsigned long shared;
	int fd;

	page_fill(p, N, 2);
	page_register(p, N);
	knob_settle();
	shared = frame_number(p);
	fd = watch(p, N);
	if (fd < 0) {
		tap_skip("no write-protection by userfaultfd",
			 "a merged page can be watched");
		page_unmap(p, N);
		return;
	}
	protect(fd, p, N / 2, true);
	tap_is(count_bit(p, N, FRAME_UFFD_WP), N / 2,
	       "watched: merged pages can be protected");
	tap_is(frame_mapcount(shared), N, "watched: they stay merged");
	tap_ok(is_told(fd, p + 3 * PAGE), "watched: a write is told first");
	tap_is(frame_mapcount(shared), N - 1, "watched: and unshares one page");
	p[3 * PAGE + 123] ^= 1;
	p[(N - 1) * PAGE] ^= 1;
	p[(N - 1) * PAGE] ^= 1;
	tap_ok(page_is(p, N, 2), "watched: every byte is right");
	knob_settle();
	tap_is(count_bit(p, N / 2, FRAME_UFFD_WP), N / 2 - 1,
	       "watched: passes leave the protection alone");
	page_unregister(p, N);
	tap_is(frame_distinct(p, N), N, "watched: unmerged");
	tap_is(count_bit(p, N / 2, FRAME_UFFD_WP), N / 2 - 1,
	       "watched: unmerging leaves the protection alone");
	tap_ok(is_told(fd, p + 5 * PAGE), "watched: a write is told again");
	p[5 * PAGE + 123] ^= 1;
	tap_ok(page_is(p, N, 2), "watched and unmerged: every byte is right");
	close(fd);
	page_unmap(p, N);
	knob_clear();
}

static void test_merge_watched(void)
{
	char *p = page_map(N);
	int fd;

	page_fill(p, N, 3);
	fd = watch(p, N);
	if (fd < 0) {
		tap_skip("no write-protection by userfaultfd",
			 "the protection is kept over a merge");
		page_unmap(p, N);
		return;
	}
	protect(fd, p, N / 2, true);
	tap_is(count_bit(p, N, FRAME_UFFD_WP), N / 2, "protected at first");
	page_register(p, N);
	knob_settle();
	tap_is(count_bit(p + N / 2 * PAGE, N / 2, FRAME_UFFD_WP), 0,
	       "protection: not set by a merge");
	tap_ok(frame_same(p + N / 2 * PAGE, N / 2),
	       "pages without it merge");
	if (knob_pksm()) {
		tap_is(count_bit(p, N / 2, FRAME_UFFD_WP), N / 2,
		       "protection: kept over a merge");
		tap_ok(is_told(fd, p + 3 * PAGE),
		       "protection: a write after it is told");
		p[3 * PAGE + 123] ^= 1;
	} else {
		tap_skip(loses, "protection: kept over a merge");
		tap_skip(loses, "protection: a write after it is told");
	}
	tap_ok(page_is(p, N, 3), "protection: every byte is right");
	close(fd);
	page_unmap(p, N);
	knob_clear();
}

int main(void)
{
	knob_begin();
	page_witness();
	test_soft_dirty();
	test_watch_merged();
	test_merge_watched();
	return tap_done();
}
