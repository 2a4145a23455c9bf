// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring.c - an io_uring with one buffer that the kernel has pinned.
 *
 * A registered buffer is pinned for as long as the ring likes: reads land in
 * the frames that were there at registration, whatever the page table says
 * by then. So whoever replaces a pinned page is found out by a read.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib.h"

static int ring_fd = -1;
static struct io_uring_params params;
static char *sq, *cq;
static struct io_uring_sqe *sqes;

static void *map_part(size_t size, off_t at)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring_fd, at);

	if (p == MAP_FAILED)
		tap_die("map a part of the ring: %s", strerror(errno));
	return p;
}

/**
 * ring_pin() - make a ring and pin a range of the caller in it
 * @addr: first page
 * @pages: how many
 *
 * Return: 0, or a negative error when this kernel has no rings for us or
 * refuses to pin.
 */
int ring_pin(void *addr, size_t pages)
{
	struct iovec range = { .iov_base = addr, .iov_len = pages * PAGE };

	memset(&params, 0, sizeof(params));
	ring_fd = syscall(SYS_io_uring_setup, 2, &params);
	if (ring_fd < 0)
		return -errno;
	sq = map_part(params.sq_off.array + params.sq_entries * 4,
		      IORING_OFF_SQ_RING);
	cq = map_part(params.cq_off.cqes +
		      params.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	sqes = map_part(params.sq_entries * sizeof(*sqes), IORING_OFF_SQES);
	if (syscall(SYS_io_uring_register, ring_fd, IORING_REGISTER_BUFFERS,
		    &range, 1)) {
		int err = errno;

		ring_unpin();
		return -err;
	}
	return 0;
}

/**
 * ring_read() - read from a file into the pinned frames
 * @fd: the file
 * @addr: where, inside the pinned range
 * @len: bytes
 *
 * Return: bytes read, or a negative error.
 */
int ring_read(int fd, void *addr, size_t len)
{
	uint32_t *tail = (uint32_t *)(sq + params.sq_off.tail);
	uint32_t *array = (uint32_t *)(sq + params.sq_off.array);
	uint32_t mask = *(uint32_t *)(sq + params.sq_off.ring_mask);
	uint32_t *head = (uint32_t *)(cq + params.cq_off.head);
	uint32_t cq_mask = *(uint32_t *)(cq + params.cq_off.ring_mask);
	struct io_uring_cqe *cqes = (void *)(cq + params.cq_off.cqes);
	uint32_t slot = *tail & mask;
	int result;

	memset(&sqes[slot], 0, sizeof(sqes[slot]));
	sqes[slot].opcode = IORING_OP_READ_FIXED;
	sqes[slot].fd = fd;
	sqes[slot].addr = (uintptr_t)addr;
	sqes[slot].len = len;
	sqes[slot].off = -1;
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring_fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) < 0)
		return -errno;
	result = cqes[*head & cq_mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

/**
 * ring_unpin() - let the pinned range go and remove the ring
 *
 * The kernel drops pins of a closed ring in its own time; the range is
 * unregistered first, so that it is free when this returns.
 */
void ring_unpin(void)
{
	syscall(SYS_io_uring_register, ring_fd, IORING_UNREGISTER_BUFFERS,
		NULL, 0);
	munmap(sq, params.sq_off.array + params.sq_entries * 4);
	munmap(cq, params.cq_off.cqes +
	       params.cq_entries * sizeof(struct io_uring_cqe));
	munmap(sqes, params.sq_entries * sizeof(*sqes));
	close(ring_fd);
	ring_fd = -1;
}
