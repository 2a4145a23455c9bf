// SPDX-License-Identifier: GPL-2.0-only
/*
 * device_merge.c - what registering through /dev/pksm does to memory.
 *
 * The scene: the caller and children that know nothing of merging hold equal
 * pages at one address; the caller enrols the children by pidfd, looks at the
 * frames behind the addresses, and takes them back. Every process checks its
 * own bytes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "lib.h"

#define PAGES 64
#define BYTES (PAGES * PAGE)
#define CONTENT 4711

#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68
#endif

static int dev;
static char *region;

/* What the children tell, one number each. */
static long *told;

/*
 * Steps of a child: fill the region with bytes of its own making; map and
 * fill more; tell whether all of it is included, and whether a child of its
 * own is; check all bytes.
 */
static int body(struct child *c, void *arg)
{
	long me = (long)arg, status;
	char *more;
	pid_t pid;

	/* Written anew, so that no frame is the parent's by fork. */
	page_fill(region, PAGES, CONTENT);
	child_report(c);
	child_wait(c);
	more = page_map(PAGES);
	page_fill(more, PAGES, CONTENT);
	told[me * 4] = (long)more;
	child_report(c);
	child_wait(c);
	told[me * 4 + 1] = prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0);
	pid = fork();
	if (!pid)
		_exit(prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0));
	told[me * 4 + 2] = waitpid(pid, (int *)&status, 0) == pid ?
			   WEXITSTATUS((int)status) : -1;
	child_report(c);
	child_wait(c);
	return !(page_is(region, PAGES, CONTENT) && page_is(more, PAGES, CONTENT));
}

static bool shares(pid_t pid, const void *addr, unsigned long frame)
{
	return frame_distinct_of(pid, addr, PAGES) == 1 &&
	       frame_number_of(pid, addr) == frame;
}

static void test_range(void)
{
	struct child c[2];
	unsigned long frame;
	int fd[2], k;

	for (k = 0; k < 2; k++) {
		child_start(&c[k], body, (void *)(long)k);
		child_done(&c[k]);
		fd[k] = device_pidfd(c[k].pid, 0);
	}
	tap_is(device_range(dev, PKSM_REGISTER, region, BYTES), 0, "register own range");
	tap_is(device_range_of(dev, PKSM_REGISTER, fd[0], region, BYTES), 0,
	       "register a range of a child");
	knob_settle();
	frame = frame_number(region);
	tap_ok(frame_same(region, PAGES), "own pages are one frame");
	tap_ok(shares(c[0].pid, region, frame), "the child's are the same frame");
	tap_is(frame_ksm_of(c[0].pid), BYTES / 1024, "smaps of the child says so");
	tap_is(frame_distinct_of(c[1].pid, region, PAGES), PAGES,
	       "the child that is not registered keeps its frames");
	tap_is(device_registered(c[1].pid, NULL, 0), 0, "and is not registered");

	tap_is(device_range_of(dev, PKSM_UNREGISTER, fd[0], region, BYTES / 2), 0,
	       "unregister half of the child's range");
	tap_is(frame_distinct_of(c[0].pid, region, PAGES / 2), PAGES / 2,
	       "that half has frames of its own, at once");
	tap_ok(frame_number_of(c[0].pid, region + BYTES / 2) == frame &&
	       frame_distinct_of(c[0].pid, region + BYTES / 2, PAGES / 2) == 1,
	       "the other half is merged still");
	tap_is(device_registered(c[0].pid, NULL, 0), BYTES / 2, "and registered still");
	tap_is(device_all_of(dev, PKSM_UNREGISTER, fd[0]), 0,
	       "unregister all of the child, which was registered by a range");
	tap_is(frame_distinct_of(c[0].pid, region, PAGES), PAGES,
	       "all its frames are its own");
	tap_is(device_registered(c[0].pid, NULL, 0), 0, "nothing of it is registered");
	tap_is(frame_ksm_of(c[0].pid), 0, "smaps of the child says so");
	tap_ok(frame_same(region, PAGES), "the caller's pages stay merged");
	tap_is(device_range(dev, PKSM_UNREGISTER, region, BYTES), 0, "unregister own range");
	tap_is(frame_distinct(region, PAGES), PAGES, "own frames are distinct");
	for (k = 0; k < 2; k++) {
		child_step(&c[k]);
		child_step(&c[k]);
		tap_is(child_join(&c[k]), 0, "bytes of child %d are right", k);
		close(fd[k]);
	}
	knob_clear();
}

static void test_all(void)
{
	struct child c;
	char *more;
	int fd;

	child_start(&c, body, NULL);
	child_done(&c);
	fd = device_pidfd(c.pid, 0);
	tap_is(device_range(dev, PKSM_REGISTER, region, BYTES), 0, "register own range");
	tap_is(device_all_of(dev, PKSM_REGISTER, fd), 0, "register all of a child");
	tap_ok(device_registered(c.pid, NULL, 0) > BYTES, "more than its region is registered");
	child_step(&c);
	more = (char *)told[0];
	tap_is(device_registered(c.pid, more, BYTES), BYTES,
	       "what it maps later is registered");
	knob_settle();
	tap_ok(shares(c.pid, region, frame_number(region)), "its old pages are merged");
	tap_ok(shares(c.pid, more, frame_number(region)), "its new pages are merged");
	child_step(&c);
	tap_is(told[1], 1, "PR_GET_MEMORY_MERGE of the child");
	tap_is(told[2], 1, "PR_GET_MEMORY_MERGE of a child of it");
	tap_is(device_all_of(dev, PKSM_REGISTER, fd), 0, "register all again");
	tap_is(device_all_of(dev, PKSM_UNREGISTER, fd), 0, "unregister all");
	tap_is(device_registered(c.pid, NULL, 0), 0, "nothing of it is registered");
	tap_is(frame_distinct_of(c.pid, region, PAGES), PAGES, "its old pages are its own");
	tap_is(frame_distinct_of(c.pid, more, PAGES), PAGES, "its new pages are its own");
	tap_is(frame_ksm_of(c.pid), 0, "smaps says so");
	tap_is(device_all_of(dev, PKSM_UNREGISTER, fd), 0, "unregister all again");
	tap_is(child_join(&c), 0, "bytes of the child are right");
	close(fd);
	tap_is(device_range(dev, PKSM_UNREGISTER, region, BYTES), 0, "unregister own range");
	knob_clear();
}

static void test_all_ends(void)
{
	char *later;

	tap_is(device_all(dev, PKSM_REGISTER), 0, "register all of the caller");
	tap_is(prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0), 1, "prctl sees it");
	tap_is(device_all(dev, PKSM_UNREGISTER), 0, "unregister all of the caller");
	tap_is(prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0), 0, "prctl sees it");
	later = page_map(1);
	tap_is(device_registered(getpid(), later, PAGE), 0,
	       "memory mapped afterwards is not registered");
	page_unmap(later, 1);
	tap_is(device_registered(getpid(), NULL, 0), 0, "nothing is registered");
}

/* Threads that register and unregister overlapping ranges of one child. */
#define THREADS 4
#define ROUNDS 100

static int crowd_fd;
static int crowd_errors[THREADS];

static void *crowd(void *arg)
{
	long me = (long)arg;
	int k, err;

	for (k = 0; k < ROUNDS; k++) {
		unsigned int first = (me * 7 + k * 3) % (PAGES / 2);

		err = device_range_of(dev, (k + me) & 1 ? PKSM_REGISTER :
				      PKSM_UNREGISTER, crowd_fd,
				      region + first * PAGE, BYTES / 2);
		if (err)
			crowd_errors[me] = err;
	}
	return NULL;
}

static void test_crowd(void)
{
	pthread_t thread[THREADS];
	struct child c;
	long k;

	child_start(&c, body, NULL);
	child_done(&c);
	crowd_fd = device_pidfd(c.pid, 0);
	knob_run(1);
	for (k = 0; k < THREADS; k++)
		if (pthread_create(&thread[k], NULL, crowd, (void *)k))
			tap_die("no thread");
	for (k = 0; k < THREADS; k++) {
		pthread_join(thread[k], NULL);
		tap_is(crowd_errors[k], 0, "thread %ld among %d on one process", k, THREADS);
	}
	tap_is(device_range_of(dev, PKSM_UNREGISTER, crowd_fd, region, BYTES), 0,
	       "unregister all that they left");
	tap_is(frame_distinct_of(c.pid, region, PAGES), PAGES, "every frame is the child's own");
	tap_is(device_registered(c.pid, NULL, 0), 0, "nothing is registered");
	child_step(&c);
	child_step(&c);
	tap_is(child_join(&c), 0, "bytes of the child are right");
	close(crowd_fd);
	knob_clear();
}

int main(void)
{
	knob_begin();
	told = child_shared(1);
	region = page_map(PAGES);
	page_fill(region, PAGES, CONTENT);
	dev = device_open();

	test_range();
	test_all();
	test_all_ends();
	test_crowd();
	tap_ok(page_is(region, PAGES, CONTENT), "bytes of the caller are right");
	return tap_done();
}
