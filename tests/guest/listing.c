// SPDX-License-Identifier: GPL-2.0-only
/*
 * listing.c - the folder of KSM, listed while pksm goes.
 *
 * group: loading
 *
 * The kernel (kernfs_dir_next_pos(), 6.12) sends a reader of a folder past an
 * entry when the one at which it stands is removed. A reader is held at
 * "workers" by a page of its buffer that is not there yet, pksm is removed,
 * and none of the kernel's own files may be missing in the list.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

#define DIR_PATH "/sys/kernel/mm/ksm"
#define OURS "workers"
#define NAMES 64

struct name {
	char text[256];
};

/* Long enough for a removal that does not wait, shorter than pksm waits. */
#define HOLD_MS 500
/* How long a removal may take when the reader never goes on. */
#define PATIENCE_MS 60000

/**
 * struct reader - a thread that lists the folder
 * @buf: of two pages; the second is filled in by us
 * @at: where in it the list begins, so that "workers" begins the second page
 * @fd: the folder
 * @uffd: tells that the thread needs the second page
 * @thread: it
 * @name: what it has seen
 * @count: how many
 */
struct reader {
	char *buf;
	size_t at;
	int fd;
	int uffd;
	pthread_t thread;
	struct name name[NAMES];
	size_t count;
};

static struct name before[NAMES];
static size_t count_before;

/* Return: the bytes read, and in *ours where the file of ours begins. */
static long list(int fd, char *buf, size_t size, struct name *name, size_t *count,
		 size_t *ours)
{
	long n = syscall(SYS_getdents64, fd, buf, size);

	for (long i = 0; i < n;) {
		struct dirent64 *d = (struct dirent64 *)(buf + i);

		if (!strcmp(d->d_name, OURS))
			*ours = i;
		else if (d->d_name[0] != '.' && *count < NAMES)
			snprintf(name[(*count)++].text, sizeof(name->text), "%s",
				 d->d_name);
		i += d->d_reclen;
	}
	return n;
}

static void *read_all(void *arg)
{
	struct reader *r = arg;
	size_t ours;

	while (list(r->fd, r->buf + r->at, 2 * PAGE - r->at, r->name, &r->count, &ours) > 0)
		;
	return NULL;
}

static bool told(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Starts the reader; it stands at our file on return. */
static bool reader_start(struct reader *r)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	static char plain[2 * PAGE];
	size_t ours = sizeof(plain), count = 0;
	int fd = open(DIR_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list(fd, plain, sizeof(plain), r->name, &count, &ours);
	close(fd);
	if (!tap_ok(ours < PAGE, "the list has a file of pksm's"))
		return false;
	r->at = PAGE - ours;
	r->count = 0;
	r->fd = open(DIR_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->buf = page_map(2);
	r->buf[0] = 1;
	reg.range.start = (uintptr_t)r->buf + PAGE;
	reg.range.len = PAGE;
	r->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (r->uffd < 0 || ioctl(r->uffd, UFFDIO_API, &api) ||
	    ioctl(r->uffd, UFFDIO_REGISTER, &reg))
		tap_die("userfaultfd: %s", strerror(errno));
	if (pthread_create(&r->thread, NULL, read_all, r))
		tap_die("no thread");
	return tap_ok(told(r->uffd, PATIENCE_MS), "a reader stands at it");
}

static void reader_go_on(struct reader *r)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)r->buf + PAGE, .len = PAGE },
	};

	if (ioctl(r->uffd, UFFDIO_ZEROPAGE, &zero))
		tap_die("UFFDIO_ZEROPAGE: %s", strerror(errno));
	pthread_join(r->thread, NULL);
	close(r->uffd);
	close(r->fd);
	page_unmap(r->buf, 2);
}

/* All of the kernel's own files, each of them once. */
static void judge(const struct reader *r, const char *what)
{
	size_t missing = 0;

	for (size_t i = 0; i < count_before; i++) {
		size_t seen = 0;

		for (size_t k = 0; k < r->count; k++)
			seen += !strcmp(before[i].text, r->name[k].text);
		if (seen != 1) {
			missing++;
			tap_diag("%s: in the list %zu times", before[i].text, seen);
		}
	}
	tap_is(missing, 0, "%s: every file is in the list once", what);
}

static int unload(struct child *c, void *arg)
{
	(void)arg;
	child_report(c);
	return module_pksm_unload() ? 1 : 0;
}

static void test_removal(void)
{
	struct reader r = { 0 };
	struct child c;

	if (!tap_is(module_pksm_load(""), 0, "listed while it goes: loaded"))
		return;
	if (!reader_start(&r))
		return;
	child_start(&c, unload, NULL);
	child_done(&c);
	usleep(HOLD_MS * 1000);
	reader_go_on(&r);
	tap_is(child_join(&c), 0, "listed while it goes: removed");
	judge(&r, "listed while it goes");
}

/* Who never goes on must not keep an administrator waiting. */
static void test_bounded(void)
{
	struct reader r = { 0 };

	if (!tap_is(module_pksm_load(""), 0, "a reader that stays: loaded"))
		return;
	if (!reader_start(&r))
		return;
	tap_is(module_pksm_unload(), 0, "a reader that stays: removed");
	tap_ok(!knob_pksm(), "a reader that stays: it is gone");
	reader_go_on(&r);
	tap_ok(r.count + 1 >= count_before, "a reader that stays: it ends its list");
}

int main(void)
{
	static char plain[2 * PAGE];
	size_t ours = 0;
	int fd = open(DIR_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list(fd, plain, sizeof(plain), before, &count_before, &ours);
	close(fd);
	tap_ok(!ours && count_before >= 24, "the kernel's own files: %zu", count_before);
	test_removal();
	test_bounded();
	return tap_done();
}
