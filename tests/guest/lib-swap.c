// SPDX-License-Identifier: GPL-2.0-only
/*
 * swap.c - swap in compressed memory, and pages that are made to go there.
 *
 * Pages go out by the reclaim of a memory group of their own: advice to page
 * out passes over a page that is mapped more than once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "lib.h"

#define DEVICE "/dev/zram0"
#define DEVICE_DIR "/sys/block/zram0/"
#define GROUP_DIR "/sys/fs/cgroup/"

/* The header that makes a device a swap area of the only version in use. */
static int write_header(size_t pages)
{
	static char header[PAGE];
	uint32_t info[3] = { 1, (uint32_t)(pages - 1), 0 };
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	memset(header, 0, PAGE);
	memcpy(header + 1024, info, sizeof(info));
	memcpy(header + PAGE - 10, "SWAPSPACE2", 10);
	if (write(fd, header, PAGE) != (ssize_t)PAGE || fsync(fd))
		err = -EIO;
	close(fd);
	return err;
}

/**
 * swap_on() - make swap in compressed memory
 * @mebibytes: its size
 *
 * Return: 0 or a negative error.
 */
int swap_on(size_t mebibytes)
{
	char text[32];
	int err = module_load("zram");

	if (!err) {
		snprintf(text, sizeof(text), "%zuM", mebibytes);
		err = file_put(DEVICE_DIR "disksize", text);
	}
	if (!err)
		err = write_header(mebibytes * 256);
	if (!err && swapon(DEVICE, 0))
		err = -errno;
	return err;
}

/**
 * swap_off() - take the swap away; what is out comes back in first
 *
 * Return: 0 or a negative error.
 */
int swap_off(void)
{
	if (swapoff(DEVICE))
		return -errno;
	return file_put(DEVICE_DIR "reset", "1");
}

static void join(const char *group)
{
	char path[256], text[32];
	int err;

	snprintf(path, sizeof(path), GROUP_DIR "%s%scgroup.procs", group,
		 *group ? "/" : "");
	snprintf(text, sizeof(text), "%d", (int)getpid());
	err = file_put(path, text);
	if (err)
		tap_die("join %s: %s", path, strerror(-err));
}

/**
 * swap_enter() - put the caller into a memory group of its own
 * @group: name of the group, which is made when it is not there
 *
 * Children forked later are in it too.
 */
void swap_enter(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), GROUP_DIR "%s", group);
	if (mkdir(path, 0755) && errno != EEXIST)
		tap_die("make %s: %s", path, strerror(errno));
	join(group);
}

/**
 * swap_leave() - leave the group and remove it
 * @group: its name; nobody else may be in it
 */
void swap_leave(const char *group)
{
	char path[256];

	join("");
	snprintf(path, sizeof(path), GROUP_DIR "%s", group);
	if (rmdir(path))
		tap_diag("remove %s: %s", path, strerror(errno));
}

/**
 * swap_out() - reclaim a group's memory until a range of the caller is out
 * @group: the group
 * @addr: first page of the range
 * @pages: how many
 *
 * Reclaim takes what it likes, in the order it likes, so it is asked until
 * the range is out, a bounded number of times.
 *
 * Return: whether no page of the range is present any more.
 */
bool swap_out(const char *group, const void *addr, size_t pages)
{
	char path[256];
	int i;

	snprintf(path, sizeof(path), GROUP_DIR "%s/memory.reclaim", group);
	for (i = 0; i < 50 && frame_distinct(addr, pages); i++)
		file_put(path, "16M");
	return !frame_distinct(addr, pages);
}
