// SPDX-License-Identifier: GPL-2.0-only
/*
 * node.c - pages and the NUMA nodes that they are on.
 *
 * The guest emulates two nodes. A page is moved with every entry that maps
 * it, by whichever process it is mapped: that is the reverse walk's work.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

/* From the kernel's ABI: move also what other processes map. */
#define MOVE_ALL 4

/**
 * node_two() - whether the guest has two nodes
 *
 * Return: true when it has.
 */
bool node_two(void)
{
	return access("/sys/devices/system/node/node1", F_OK) == 0;
}

/**
 * node_of() - node of the page behind an address
 * @pid: the process
 * @addr: the address
 *
 * Return: the node, or a negative error.
 */
int node_of(pid_t pid, const void *addr)
{
	int status = -1;

	if (syscall(SYS_move_pages, pid, 1UL, &addr, NULL, &status, 0))
		return -errno;
	return status;
}

/**
 * node_move() - move the page behind an address to the other node
 * @pid: the process
 * @addr: the address
 *
 * Asks once. Return: 0 when the page has gone to the other node with its
 * bytes in a new frame, else a negative error as the kernel gave it.
 */
int node_move(pid_t pid, const void *addr)
{
	unsigned long from = frame_number_of(pid, addr), to;
	int now = node_of(pid, addr), want = !now, status = -1;
	long left;

	if (now < 0)
		return now;
	left = syscall(SYS_move_pages, pid, 1UL, &addr, &want, &status,
		       MOVE_ALL);
	if (left < 0)
		return -errno;
	if (status < 0)
		return status;
	if (left)
		return -EBUSY;
	to = frame_number_of(pid, addr);
	return to && to != from && status == want ? 0 : -EAGAIN;
}
