// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sweeping: leaves no merged page, for `run` = 2 and for removal.
 *
 * Entered by the controller with the gate shut, so that nothing is merged
 * meanwhile. First every registered space is walked; children of a fork enter
 * behind the walk. What is left then belongs to processes that are exiting, or to
 * children whose registration failed for lack of memory: for the second, every
 * process's page tables are walked; the first are waited for.
 *
 * Waits for each space's mmap lock, for reading, and lets go of it now and then.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "item.h"
#include "node.h"
#include "reap.h"
#include "record.h"
#include "space.h"
#include "sweep.h"
#include "unmerge.h"

/* How long exiting processes are waited for before `run` = 2 says so. */
#define REST_TRIES	500
#define REST_MSECS	20
/* Processes looked at in one go. */
#define MMS_MAX		16

/*
 * Unmerge from *@addr on, with the mmap lock held. Returns -EAGAIN when it has to
 * be let go of.
 */
static int unmerge_from(struct mm_struct *mm, unsigned long *addr)
{
	struct vm_area_struct *vma;
	int err;

	VMA_ITERATOR(vmi, mm, *addr);

	for_each_vma(vmi, vma) {
		*addr = max(*addr, vma->vm_start);
		if (!vma->anon_vma)
			continue;
		err = pksm_unmerge_range(vma, addr, vma->vm_end, true);
		if (err)
			return err;
	}
	return 0;
}

static int unmerge_mm(struct mm_struct *mm, unsigned long *addr)
{
	int err;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	err = unmerge_from(mm, addr);
	mmap_read_unlock(mm);
	return err;
}

/*
 * The space's users are held instead of its life: who registers a process may have
 * to take that back, which waits for its life with the mmap lock held.
 */
static int unmerge_space(struct pksm_mm *space)
{
	unsigned long addr = 0;
	int err = -EAGAIN;

	while (err == -EAGAIN) {
		if (!mmget_not_zero(space->mm))
			return 0;
		err = unmerge_mm(space->mm, &addr);
		mmput_async(space->mm);
		cond_resched();
	}
	/* Our reference keeps the reaper away. */
	if (!err)
		pksm_record_drop_all(space);
	return err;
}

/**
 * pksm_sweep_spaces() - unmerge all registered spaces
 *
 * Context: process, gate shut; sleeps for locks and memory; interruptible.
 * Return: 0, or why it stopped: -ERESTARTSYS, -EINTR, -ENOMEM.
 */
int pksm_sweep_spaces(void)
{
	struct pksm_mm *space;
	int err = 0;

	pksm_space_sweep_begin();
	while (!err && (space = pksm_space_sweep_get())) {
		err = unmerge_space(space);
		pksm_space_put(space);
	}
	return err;
}

/* Some process's space; threads may live on when the first has gone. */
static struct mm_struct *process_mm_get(struct task_struct *process)
{
	struct task_struct *thread;
	struct mm_struct *mm = NULL;

	for_each_thread(process, thread) {
		mm = get_task_mm(thread);
		if (mm)
			break;
	}
	return mm;
}

/* Up to MMS_MAX spaces of processes, @skip of them passed over. */
static unsigned int processes_get(struct mm_struct **mms, unsigned int skip)
{
	struct task_struct *process;
	unsigned int nr = 0;

	rcu_read_lock();
	for_each_process(process) {
		if (process->flags & PF_KTHREAD)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		mms[nr] = process_mm_get(process);
		if (mms[nr] && ++nr == MMS_MAX)
			break;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * pksm_sweep_processes() - unmerge whatever any process maps, registered or not
 *
 * Of the built-in engine's pages as well as of ours. Processes that come and go
 * meanwhile may be missed: the caller comes back as long as nodes are left.
 *
 * Context: process, nothing is merged meanwhile; sleeps for locks and memory.
 */
void pksm_sweep_processes(void)
{
	struct mm_struct *mms[MMS_MAX];
	unsigned int nr, i, skip = 0;
	unsigned long addr;

	do {
		nr = processes_get(mms, skip);
		skip += nr;
		for (i = 0; i < nr; i++) {
			addr = 0;
			while (unmerge_mm(mms[i], &addr) == -EAGAIN)
				cond_resched();
			mmput_async(mms[i]);
		}
	} while (nr == MMS_MAX);
}

/**
 * pksm_sweep_rest() - wait until no stable node is left
 * @forever: do not give up, whatever happens
 *
 * Context: process, gate shut, after pksm_sweep_spaces(); sleeps.
 * Return: 0; unless @forever, -ERESTARTSYS on a signal and -EBUSY when exiting
 * processes take too long.
 */
int pksm_sweep_rest(bool forever)
{
	unsigned int try;

	for (try = 0;; try++) {
		pksm_reap_now();
		pksm_item_orphans_sweep();
		if (!pksm_node_count())
			return 0;
		if (!forever && signal_pending(current))
			return -ERESTARTSYS;
		if (!forever && try == REST_TRIES)
			return -EBUSY;
		/* Exits end by themselves, mostly: look at everybody only now and then. */
		if (try % 16 == 4)
			pksm_sweep_processes();
		msleep(REST_MSECS);
	}
}
