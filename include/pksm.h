/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * pksm.h - the contract between /dev/pksm and the programs that use it.
 *
 * Compiles alone in C99 and in C++11. Every structure has the same layout for
 * 32-bit and 64-bit callers: fixed-width members, each on its natural
 * boundary, no padding.
 *
 * Rules that hold for every command:
 *
 * - The argument points to a structure whose first member, @size, is set by
 *   the caller to sizeof() of that structure as its own copy of this header
 *   declares it. Structures only ever grow at their end. A @size below the
 *   first published one is EINVAL. A @size beyond what the module knows is
 *   accepted as long as all the bytes beyond are zero, else E2BIG; a @size
 *   beyond one page is E2BIG always.
 * - Members named reserved, unknown bits of @flags, and members that the given
 *   flags do not use must be zero, else EINVAL.
 * - A command that this version of the module does not have is ENOTTY. A bad
 *   pointer is EFAULT.
 * - After an error in the arguments nothing has been changed.
 *
 * Described at length in docs/abi-ioctl.md.
 */
#ifndef PKSM_H
#define PKSM_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Where the device is. */
#define PKSM_DEVICE	"/dev/pksm"

/*
 * Version of this contract. It grows when a command, a flag or a member is
 * added; what one version has, later versions keep.
 */
#define PKSM_ABI_VERSION	1

/**
 * struct pksm_info - what the loaded module offers
 * @size: in: sizeof(struct pksm_info) of the caller; out: that of the module
 * @flags: in: zero
 * @version: out: PKSM_ABI_VERSION of the module
 * @reserved: in: zero; out: zero
 * @features: out: bits PKSM_FEATURE_*
 *
 * Bytes that the caller has and the module does not know are returned as zero.
 */
struct pksm_info {
	__u32 size;
	__u32 flags;
	__u32 version;
	__u32 reserved;
	__aligned_u64 features;
};

/* PKSM_REGISTER and PKSM_UNREGISTER take a range of addresses. */
#define PKSM_FEATURE_RANGE	0x1ULL
/* They take PKSM_TARGET_ALL. */
#define PKSM_FEATURE_ALL	0x2ULL
/* They take PKSM_TARGET_PIDFD. */
#define PKSM_FEATURE_PIDFD	0x4ULL

/**
 * struct pksm_target - which memory, of which process, a command is about
 * @size: in: sizeof(struct pksm_target) of the caller
 * @flags: in: bits PKSM_TARGET_*
 * @pidfd: in: with PKSM_TARGET_PIDFD a descriptor of the process, as returned
 *	by pidfd_open(2) or clone(2); else zero
 * @reserved: in: zero
 * @start: in: first address, a multiple of the page size; zero with
 *	PKSM_TARGET_ALL
 * @length: in: bytes, a multiple of the page size, not zero; zero with
 *	PKSM_TARGET_ALL
 */
struct pksm_target {
	__u32 size;
	__u32 flags;
	__s32 pidfd;
	__u32 reserved;
	__aligned_u64 start;
	__aligned_u64 length;
};

/* The process is the one that @pidfd refers to, not the caller. */
#define PKSM_TARGET_PIDFD	0x1U
/* All memory of the process, now and later, instead of one range. */
#define PKSM_TARGET_ALL		0x2U

/*
 * The command numbers do not carry the size of the structure, because the
 * structure may grow; numbers from 0x10 on are free for later versions.
 */
#define PKSM_IOC_TYPE	0xBA

/**
 * PKSM_INFO - ask for version and features; &struct pksm_info
 *
 * Needs no right beyond an open descriptor.
 */
#define PKSM_INFO	_IO(PKSM_IOC_TYPE, 0x00)

/**
 * PKSM_REGISTER - offer memory for merging; &struct pksm_target
 *
 * A range is what madvise(2) with MADV_MERGEABLE is to the process itself;
 * all of a process is what prctl(2) with PR_SET_MEMORY_MERGE is: memory mapped
 * later is included, and children and executed programs inherit it.
 *
 * The caller's own memory needs no right. Another process's memory needs what
 * process_madvise(2) needs for a hint: the right to read it (PTRACE_MODE_READ)
 * and CAP_SYS_NICE in the initial user namespace.
 *
 * Errors: EINVAL (arguments); EBADF (@pidfd is not one); ESRCH (the process
 * has no memory any more, or @pidfd is of a thread that is not the leader of
 * its process); EACCES (no right to read the process); EPERM (no
 * CAP_SYS_NICE); ENOMEM (part of the range is not mapped); EOPNOTSUPP (part of
 * the range can never be merged: shared, huge page file, device or droppable
 * memory); EAGAIN (out of memory, or out of mappings); EINTR (killed).
 */
#define PKSM_REGISTER	_IO(PKSM_IOC_TYPE, 0x01)

/**
 * PKSM_UNREGISTER - take memory back; &struct pksm_target
 *
 * Every merged page in it gets a frame of its own again before the command
 * returns. A range is what madvise(2) with MADV_UNMERGEABLE is; all of a
 * process takes back every range of it, however registered, and ends the
 * inclusion of memory mapped later. Memory that is not registered is left
 * alone without an error.
 *
 * The caller's own memory needs no right. Another process's needs the right to
 * attach to it (PTRACE_MODE_ATTACH), since it is the one that pays with memory.
 *
 * Errors: as for PKSM_REGISTER, without EPERM and EOPNOTSUPP; EACCES means no
 * right to attach. EAGAIN (no memory for the frames) and EINTR may leave part
 * of the memory taken back and the rest registered; the command can be repeated
 * at any time.
 */
#define PKSM_UNREGISTER	_IO(PKSM_IOC_TYPE, 0x02)

#endif
