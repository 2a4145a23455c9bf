/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device.h - what the tests of /dev/pksm share (lib-device.c).
 */
#ifndef TESTS_GUEST_DEVICE_H
#define TESTS_GUEST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pksm.h"

int device_open(void);
int device_call(int fd, unsigned long command, void *arg);
int device_range(int fd, unsigned long command, const void *addr, size_t len);
int device_all(int fd, unsigned long command);
int device_range_of(int fd, unsigned long command, int pidfd, const void *addr,
		    size_t len);
int device_all_of(int fd, unsigned long command, int pidfd);
int device_pidfd(pid_t pid, unsigned int flags);
size_t device_registered(pid_t pid, const void *addr, size_t len);
uint64_t device_digest(pid_t pid, const void *addr, size_t len);

#endif
