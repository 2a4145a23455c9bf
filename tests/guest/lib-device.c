// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-device.c - calls of /dev/pksm, and what they did to a process's mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "lib.h"

/**
 * device_open() - open the device, which must be there
 *
 * Return: the descriptor.
 */
int device_open(void)
{
	int fd = open(PKSM_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		tap_die("open %s: %s", PKSM_DEVICE, strerror(errno));
	return fd;
}

/**
 * device_call() - issue a command
 * @fd: the device
 * @command: PKSM_*
 * @arg: its structure
 *
 * Return: 0 or a negative error.
 */
int device_call(int fd, unsigned long command, void *arg)
{
	return ioctl(fd, command, arg) ? -errno : 0;
}

/**
 * device_range() - issue a command on a range of the caller
 * @fd: the device
 * @command: PKSM_REGISTER or PKSM_UNREGISTER
 * @addr: first byte
 * @len: bytes
 *
 * Return: 0 or a negative error.
 */
int device_range(int fd, unsigned long command, const void *addr, size_t len)
{
	struct pksm_target t = {
		.size = sizeof(t),
		.start = (uintptr_t)addr,
		.length = len,
	};

	return device_call(fd, command, &t);
}

/**
 * device_all() - issue a command on all of the caller
 * @fd: the device
 * @command: PKSM_REGISTER or PKSM_UNREGISTER
 *
 * Return: 0 or a negative error.
 */
int device_all(int fd, unsigned long command)
{
	struct pksm_target t = { .size = sizeof(t), .flags = PKSM_TARGET_ALL };

	return device_call(fd, command, &t);
}

/**
 * device_range_of() - issue a command on a range of some process
 * @fd: the device
 * @command: PKSM_REGISTER or PKSM_UNREGISTER
 * @pidfd: the process
 * @addr: first byte, in that process
 * @len: bytes
 *
 * Return: 0 or a negative error.
 */
int device_range_of(int fd, unsigned long command, int pidfd, const void *addr,
		    size_t len)
{
	struct pksm_target t = {
		.size = sizeof(t),
		.flags = PKSM_TARGET_PIDFD,
		.pidfd = pidfd,
		.start = (uintptr_t)addr,
		.length = len,
	};

	return device_call(fd, command, &t);
}

/**
 * device_all_of() - issue a command on all of some process
 * @fd: the device
 * @command: PKSM_REGISTER or PKSM_UNREGISTER
 * @pidfd: the process
 *
 * Return: 0 or a negative error.
 */
int device_all_of(int fd, unsigned long command, int pidfd)
{
	struct pksm_target t = {
		.size = sizeof(t),
		.flags = PKSM_TARGET_PIDFD | PKSM_TARGET_ALL,
		.pidfd = pidfd,
	};

	return device_call(fd, command, &t);
}

/**
 * device_pidfd() - a descriptor of a process or thread
 * @pid: its number
 * @flags: of pidfd_open(2)
 *
 * Return: the descriptor. Ends the program when there is none.
 */
int device_pidfd(pid_t pid, unsigned int flags)
{
	int fd = syscall(SYS_pidfd_open, pid, flags);

	if (fd < 0)
		tap_die("pidfd_open %d: %s", (int)pid, strerror(errno));
	return fd;
}

/* Calls see() for each mapping that meets the range, with its first line and its flags. */
static void mappings(pid_t pid, const void *addr, size_t len,
		     void (*see)(void *to, unsigned long start,
				 unsigned long end, const char *flags),
		     void *to)
{
	unsigned long first = (uintptr_t)addr, last = first + len;
	unsigned long start = 0, end = 0, a, b;
	char text[512];
	FILE *f;

	snprintf(text, sizeof(text), "/proc/%d/smaps", (int)pid);
	f = fopen(text, "re");
	if (!f)
		tap_die("open %s: %s", text, strerror(errno));
	while (fgets(text, sizeof(text), f)) {
		/* Names such as "Anonymous" begin with a hexadecimal digit. */
		if (sscanf(text, "%lx-%lx ", &a, &b) == 2) {
			start = a;
			end = b;
			continue;
		}
		if (strncmp(text, "VmFlags:", 8))
			continue;
		if (!len || (start < last && end > first))
			see(to, start, end, text + 8);
	}
	fclose(f);
}

struct span {
	unsigned long first, last;
	size_t bytes;
};

static void add_registered(void *to, unsigned long start, unsigned long end,
			   const char *flags)
{
	struct span *s = to;

	if (!strstr(flags, " mg"))
		return;
	if (start < s->first)
		start = s->first;
	if (end > s->last)
		end = s->last;
	s->bytes += end - start;
}

/**
 * device_registered() - how much of a range may be merged
 * @pid: the process
 * @addr: first byte
 * @len: bytes; 0 for the whole process
 *
 * Return: the bytes whose mappings carry the flag "mg" in smaps.
 */
size_t device_registered(pid_t pid, const void *addr, size_t len)
{
	struct span s = {
		.first = (uintptr_t)addr,
		.last = len ? (uintptr_t)addr + len : ~0UL,
	};

	mappings(pid, addr, len, add_registered, &s);
	return s.bytes;
}

static void mix(uint64_t *h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		*h = (*h ^ *p++) * 0x100000001b3ULL;
}

static void add_digest(void *to, unsigned long start, unsigned long end,
		       const char *flags)
{
	mix(to, &start, sizeof(start));
	mix(to, &end, sizeof(end));
	mix(to, flags, strlen(flags));
}

/**
 * device_digest() - a number that changes when mappings or their flags do
 * @pid: the process
 * @addr: first byte
 * @len: bytes; 0 for the whole process
 *
 * Return: the number.
 */
uint64_t device_digest(pid_t pid, const void *addr, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	mappings(pid, addr, len, add_digest, &h);
	return h;
}
