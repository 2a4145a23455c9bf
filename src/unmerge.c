// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmerging: walks page tables by range, finds merged pages a batch at a time,
 * and takes an unsharing fault on each.
 *
 * Entered by processes for their own memory (madvise, prctl, mremap: the mmap
 * lock held for writing) and by the controller (the mmap lock held for reading,
 * the gate shut). Owns no lock.
 *
 * Records and items are left to the next visit of the range: they belong to the
 * holder of its claim.
 */
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/sched/signal.h>

#include "table.h"
#include "trace.h"
#include "unmerge.h"

#define BATCH	64

/*
 * The fault handler may give up for many small reasons, so the entry has the last
 * word. Errors other than a lack of memory (a poisoned frame, a truncated file)
 * leave nothing that could be unmerged.
 */
static int unshare(struct vm_area_struct *vma, unsigned long addr)
{
	unsigned long still;
	vm_fault_t fault;

	do {
		cond_resched();
		fault = handle_mm_fault(vma, addr, FAULT_FLAG_UNSHARE | FAULT_FLAG_REMOTE, NULL);
		if (fault & VM_FAULT_OOM)
			return -ENOMEM;
		if (fault & VM_FAULT_ERROR)
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (pksm_table_merged(vma, addr, addr + PAGE_SIZE, &still, 1));
	return 0;
}

/**
 * pksm_unmerge_range() - unmerge a part of a VMA
 * @vma: the VMA; its mmap lock is held
 * @start: from where; set to how far it went
 * @end: one behind the last address
 * @gently: stop with -EAGAIN when somebody waits for the mmap lock
 *
 * Context: process; sleeps for memory.
 * Return: 0 when done; -EINTR after a fatal signal; -ERESTARTSYS, if @gently, on
 * any signal; -ENOMEM, and then pages from *@start on may be merged still;
 * -EAGAIN as said.
 */
int pksm_unmerge_range(struct vm_area_struct *vma, unsigned long *start, unsigned long end,
		       bool gently)
{
	unsigned long addrs[BATCH], stop;
	unsigned int nr, i;
	int err;

	mmap_assert_locked(vma->vm_mm);
	while (*start < end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (gently && signal_pending(current))
			return -ERESTARTSYS;
		if (gently && mmap_lock_is_contended(vma->vm_mm))
			return -EAGAIN;
		cond_resched();
		*start = pksm_table_next(vma->vm_mm, *start, end);
		if (*start >= end)
			break;
		stop = min(end, (*start & PMD_MASK) + PMD_SIZE);
		nr = pksm_table_merged(vma, *start, stop, addrs, BATCH);
		for (i = 0; i < nr; i++) {
			err = unshare(vma, addrs[i]);
			if (err)
				return err;
			*start = addrs[i] + PAGE_SIZE;
		}
		if (nr < BATCH)
			*start = stop;
	}
	return 0;
}

/**
 * pksm_unmerge_vma() - unmerge a part of a VMA that is about to change
 * @vma: the VMA; the mmap lock is held for writing
 * @start: from where
 * @end: one behind the last address
 *
 * The VMA is write-locked first, also where there is nothing to unmerge: our
 * callers clear the mergeable flag or move page tables only after this returns,
 * and a worker that holds the VMA's lock could merge in between.
 * Context: process; sleeps.
 * Return: as pksm_unmerge_range().
 */
int pksm_unmerge_vma(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	unsigned long at = start;
	int err;

	vma_start_write(vma);
	if (!vma->anon_vma)
		return 0;
	err = pksm_unmerge_range(vma, &at, end, false);
	trace_pksm_unmerge(vma->vm_mm, start, end, err);
	return err;
}
