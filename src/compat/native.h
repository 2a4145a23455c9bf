/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Native: layouts that are private to the kernel's memory management and that
 * pksm reads. No header declares them; each names the file and the release it
 * was checked against.
 */
#ifndef PKSM_COMPAT_NATIVE_H
#define PKSM_COMPAT_NATIVE_H

#include <linux/list.h>
#include <linux/types.h>

struct mm_struct;

/**
 * struct pksm_native_slot - the kernel's struct mm_slot (mm/mm_slot.h, 6.12)
 * @hash: in the kernel's table of slots
 * @list: in the built-in engine's list of address spaces, under its
 *	ksm_mmlist_lock; it is also the first member of the list's head
 * @mm: the address space, of which the slot holds a reference; NULL in the head
 */
struct pksm_native_slot {
	struct hlist_node hash;
	struct list_head list;
	struct mm_struct *mm;
};

#endif
