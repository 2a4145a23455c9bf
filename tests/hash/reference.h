/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hash once more, slowly.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <linux/types.h>

__u64 reference_hash(const unsigned char page[4096], const __u64 add[512],
		     const __u64 fold[6]);

#endif
