/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside: how many threads are inside functions of the module that the kernel
 * calls without holding the module.
 *
 * The kernel may be made to forget such a function at any moment, but a thread
 * that it sent there before may sleep in it for long. Everyone who enters adds
 * one to a counter per CPU, whoever leaves takes one off, and such functions
 * may only go away after pksm_inside_drain().
 */
#ifndef PKSM_INSIDE_H
#define PKSM_INSIDE_H

#include <linux/percpu-defs.h>

void pksm_inside_drain(long __percpu *inside);

#endif
