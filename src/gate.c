// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gate: who is inside may hold pointers to struct page of frames that a stable
 * node names, and may edit records, trees and page tables.
 *
 * Entered by workers and by the device (pksm_gate_try_enter()) and by the
 * reaper, which only memory hot-remove stops (pksm_gate_enter_offline()). The
 * lock is the SRCU domain below: being inside is a read-side section, and
 * closing waits for it to end. Nothing may be held around pksm_gate_close()
 * that somebody inside waits for.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/srcu.h>
#include <linux/wait.h>

#include "gate.h"

DEFINE_STATIC_SRCU(inside);
static DECLARE_WAIT_QUEUE_HEAD(opened);
static unsigned long shut = PKSM_GATE_STOPPED;
static atomic_t closers;

static bool try_enter(unsigned long why, int *idx)
{
	*idx = srcu_read_lock(&inside);
	/* For sparse, which cannot follow a lock that is taken if a function succeeds. */
	__release(&inside);
	/*
	 * srcu_read_lock() is a full barrier: either the closer's flag is seen
	 * here, or the closer's synchronize_srcu() waits for this section.
	 */
	if (!(READ_ONCE(shut) & why))
		return true;
	pksm_gate_leave(*idx);
	return false;
}

/**
 * pksm_gate_try_enter() - go inside, unless the gate is shut
 * @idx: to be given to pksm_gate_leave()
 *
 * Context: process; may be held across sleeping.
 * Return: true when inside.
 */
bool pksm_gate_try_enter(int *idx)
{
	return try_enter(PKSM_GATE_STOPPED | PKSM_GATE_OFFLINE, idx);
}

/**
 * pksm_gate_enter_offline() - go inside, waiting while memory goes offline
 * @idx: to be given to pksm_gate_leave()
 *
 * For threads that free what dead processes left, whatever `run` says.
 * Context: process; sleeps.
 */
void pksm_gate_enter_offline(int *idx)
{
	while (!try_enter(PKSM_GATE_OFFLINE, idx))
		pksm_gate_wait(PKSM_GATE_OFFLINE);
}

/**
 * pksm_gate_leave() - go outside
 * @idx: from entering
 */
void pksm_gate_leave(int idx)
{
	__acquire(&inside);
	srcu_read_unlock(&inside, idx);
}

/**
 * pksm_gate_close() - shut the gate and wait until nobody is inside
 * @why: the reason, one of PKSM_GATE_*
 *
 * Context: process; sleeps for as long as one batch takes. The caller must not
 * be inside.
 */
void pksm_gate_close(unsigned long why)
{
	atomic_inc(&closers);
	set_bit(__ffs(why), &shut);
	synchronize_srcu(&inside);
	atomic_dec(&closers);
}

/**
 * pksm_gate_wanted() - does somebody wait for those inside to leave?
 *
 * For those whom that reason does not keep out: they leave, and come back.
 * Return: true while somebody shuts the gate.
 */
bool pksm_gate_wanted(void)
{
	return atomic_read(&closers);
}

/**
 * pksm_gate_open() - take one reason back
 * @why: the reason, one of PKSM_GATE_*
 */
void pksm_gate_open(unsigned long why)
{
	clear_bit(__ffs(why), &shut);
	wake_up_all(&opened);
}

/**
 * pksm_gate_closed() - is the gate shut for one of these reasons?
 * @why: reasons, or-ed
 *
 * Return: the state at some moment during the call.
 */
bool pksm_gate_closed(unsigned long why)
{
	return READ_ONCE(shut) & why;
}

/**
 * pksm_gate_wait() - wait until none of these reasons holds
 * @why: reasons, or-ed
 *
 * Context: process; sleeps, not inside the gate.
 */
void pksm_gate_wait(unsigned long why)
{
	wait_event(opened, !pksm_gate_closed(why));
}
