// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reaper: frees what dead processes have left.
 *
 * Entered by whoever drops the last reference to a dead space (pksm_reap_add()),
 * by a kworker, whatever `run` says, and at the beginning of each pass. Owns two
 * locks: a spinlock that covers the list of those to be reaped and nests inside
 * everything; and a mutex, under which spaces are taken off that list and freed,
 * so that who comes later has waited for all that were there.
 */
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "compat/mm.h"
#include "gate.h"
#include "reap.h"
#include "record.h"
#include "space.h"

/* Ranges freed at a time. */
#define CHUNK		64
#define REAP_DELAY	DIV_ROUND_UP(HZ, 50)

static DEFINE_SPINLOCK(dying_lock);
static LIST_HEAD(dying);
static DEFINE_MUTEX(reap_lock);
static void reap_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(reaper, reap_work);

/* Returns false when the gate is to be shut before all is freed. */
static bool reap(struct pksm_mm *space)
{
	while (pksm_record_drop(space, 0, ULONG_MAX, CHUNK) != ULONG_MAX)
		if (pksm_gate_wanted())
			return false;
	list_del(&space->list);
	pksm_space_free(space);
	return true;
}

/*
 * While exit is still unmapping, merged pages look as if somebody without an item
 * mapped them, and each item would become an orphan for nothing: so it is waited
 * for, within reason.
 */
static bool ripe(const struct pksm_mm *space)
{
	return pksm_mm_unmapped(space->mm) || time_after_eq(jiffies, space->deadline);
}

static void reap_dying(bool all)
{
	struct pksm_mm *space, *next;
	LIST_HEAD(now);
	LIST_HEAD(later);

	mutex_lock(&reap_lock);
	spin_lock(&dying_lock);
	list_splice_init(&dying, &now);
	spin_unlock(&dying_lock);
	list_for_each_entry_safe(space, next, &now, list) {
		if (!(all || ripe(space)) || !reap(space))
			list_move_tail(&space->list, &later);
	}
	spin_lock(&dying_lock);
	list_splice(&later, &dying);
	spin_unlock(&dying_lock);
	mutex_unlock(&reap_lock);
}

/**
 * pksm_reap_now() - free what dead processes have left
 *
 * So that a pass that begins after a process has gone ends with counters that know
 * nothing of it.
 * Context: process, inside the gate, when it stops early if the gate is to be
 * shut; or with the gate shut and hot-remove kept away; sleeps.
 */
void pksm_reap_now(void)
{
	reap_dying(false);
}

static void reap_work(struct work_struct *work)
{
	bool more;
	int idx;

	pksm_gate_enter_offline(&idx);
	pksm_reap_now();
	pksm_gate_leave(idx);
	spin_lock(&dying_lock);
	more = !list_empty(&dying);
	spin_unlock(&dying_lock);
	if (more)
		queue_delayed_work(system_unbound_wq, &reaper, REAP_DELAY);
}

/**
 * pksm_reap_add() - a dead space has no user left
 * @space: the reaper's from now on
 *
 * Context: process; does not sleep.
 */
void pksm_reap_add(struct pksm_mm *space)
{
	spin_lock(&dying_lock);
	list_add_tail(&space->list, &dying);
	spin_unlock(&dying_lock);
	queue_delayed_work(system_unbound_wq, &reaper, 0);
}

/**
 * pksm_reap_exit() - reap the last ones
 *
 * Context: module exit, nobody adds any more; sleeps.
 */
void pksm_reap_exit(void)
{
	cancel_delayed_work_sync(&reaper);
	reap_dying(true);
}
