// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control: what an administrator's writes set going, one at a time.
 *
 * Entered by writers of sysfs files, by memory hot-remove, and by loading and
 * removing. Owns the control lock, a mutex: it covers `run`, and the tunables
 * whose new value is only right while nothing is merged. It is the outermost lock
 * of the engine; it is not held while hot-remove keeps the gate shut, which is
 * waited for before anything else.
 */
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/oom.h>
#include <linux/workqueue.h>

#include "control.h"
#include "counter.h"
#include "gate.h"
#include "item.h"
#include "node.h"
#include "pass.h"
#include "reap.h"
#include "space.h"
#include "sweep.h"
#include "tunable.h"
#include "worker.h"

struct pksm_tunables pksm_tunables = {
	.pages_to_scan = 100,
	.sleep_millisecs = 20,
	.max_page_sharing = 256,
	.huge_min_matches = 1,
	.merge_across_nodes = 1,
	.smart_scan = true,
	.stable_node_chains_prune_millisecs = 2000,
	.advisor_max_cpu = 70,
	.advisor_min_pages_to_scan = 500,
	.advisor_max_pages_to_scan = 30000,
	.advisor_target_scan_time = 200,
};

static DEFINE_MUTEX(control_lock);
static unsigned int run = PKSM_RUN_STOP;
static unsigned int last = PKSM_RUN_STOP;

static void lock_online(void)
{
	mutex_lock(&control_lock);
	while (pksm_gate_closed(PKSM_GATE_OFFLINE)) {
		mutex_unlock(&control_lock);
		pksm_gate_wait(PKSM_GATE_OFFLINE);
		mutex_lock(&control_lock);
	}
}

/* Nobody of the engine touches anything when this returns. */
static void stop(void)
{
	lockdep_assert_held(&control_lock);
	pksm_gate_close(PKSM_GATE_STOPPED);
	pksm_worker_drop_claims();
}

static void start(void)
{
	lockdep_assert_held(&control_lock);
	pksm_gate_open(PKSM_GATE_STOPPED);
	pksm_worker_kick();
}

static int unmerge(void)
{
	int err;

	set_current_oom_origin();
	err = pksm_sweep_spaces();
	if (!err)
		err = pksm_sweep_rest(false);
	clear_current_oom_origin();
	if (!err)
		pksm_pass_reset();
	return err;
}

/**
 * pksm_control_run() - what `run` says
 *
 * Return: PKSM_RUN_*.
 */
unsigned int pksm_control_run(void)
{
	return READ_ONCE(run);
}

/**
 * pksm_control_run_last() - the last 0 or 1 that was written to `run`
 *
 * Return: PKSM_RUN_STOP or PKSM_RUN_MERGE.
 */
unsigned int pksm_control_run_last(void)
{
	return READ_ONCE(last);
}

/**
 * pksm_control_run_init() - take over `run` as it was
 * @value: PKSM_RUN_*, of the built-in engine
 *
 * Context: module load, once, when all else is ready.
 */
void pksm_control_run_init(unsigned int value)
{
	lock_online();
	run = value;
	if (value != PKSM_RUN_UNMERGE)
		last = value;
	if (value == PKSM_RUN_MERGE)
		start();
	mutex_unlock(&control_lock);
}

/**
 * pksm_control_run_set() - start, stop, or unmerge everything
 * @value: PKSM_RUN_*
 *
 * PKSM_RUN_STOP returns when no worker touches anything any more, after one batch
 * at most. PKSM_RUN_UNMERGE returns when no merged page is left.
 * Context: process; sleeps.
 * Return: 0; -EINVAL for another value; for PKSM_RUN_UNMERGE also -ERESTARTSYS or
 * -EINTR on a signal, -ENOMEM, and -EBUSY when an exiting process still holds
 * merged pages; `run` is PKSM_RUN_STOP then.
 */
int pksm_control_run_set(unsigned int value)
{
	int err = 0;

	if (value > PKSM_RUN_UNMERGE)
		return -EINVAL;
	lock_online();
	if (value != PKSM_RUN_UNMERGE)
		last = value;
	if (run == value)
		goto out;
	if (run == PKSM_RUN_MERGE)
		stop();
	WRITE_ONCE(run, value);
	if (value == PKSM_RUN_MERGE)
		start();
	if (value == PKSM_RUN_UNMERGE)
		err = unmerge();
	if (err)
		WRITE_ONCE(run, PKSM_RUN_STOP);
out:
	mutex_unlock(&control_lock);
	return err;
}

/**
 * pksm_control_offline_begin() - memory is about to go offline
 *
 * Context: process; sleeps until a change under way is done and nobody is inside
 * the gate.
 */
void pksm_control_offline_begin(void)
{
	mutex_lock(&control_lock);
	pksm_gate_close(PKSM_GATE_OFFLINE);
	mutex_unlock(&control_lock);
}

/**
 * pksm_control_offline_end() - memory is offline, or stays
 */
void pksm_control_offline_end(void)
{
	pksm_gate_open(PKSM_GATE_OFFLINE);
	pksm_worker_kick();
}

/* With the engine stopped: is there a merged page? */
static bool anything_merged(void)
{
	if (pksm_count_sum(PKSM_COUNT_NODES))
		return true;
	pksm_reap_now();
	pksm_item_orphans_sweep();
	return pksm_node_count();
}

/*
 * Run @apply between two batches, if nothing is merged. The engine goes on
 * afterwards as before.
 */
static int change_unmerged(void (*apply)(int value), int value)
{
	int err = 0;

	lockdep_assert_held(&control_lock);
	if (run == PKSM_RUN_MERGE)
		stop();
	if (anything_merged())
		err = -EBUSY;
	else
		apply(value);
	if (run == PKSM_RUN_MERGE)
		start();
	return err;
}

static void apply_across(int value)
{
	/* A page whose tree this changes is looked up afresh: it rests by NUMA node. */
	WRITE_ONCE(pksm_tunables.merge_across_nodes, value);
}

static void apply_sharing(int value)
{
	WRITE_ONCE(pksm_tunables.max_page_sharing, value);
}

/**
 * pksm_control_across_set() - merge across NUMA nodes, or not
 * @across: 0 or 1
 *
 * Context: process; sleeps.
 * Return: 0, or -EBUSY while pages are merged.
 */
int pksm_control_across_set(unsigned int across)
{
	int err = 0;

	lock_online();
	if (pksm_tunables.merge_across_nodes != across)
		err = change_unmerged(apply_across, across);
	mutex_unlock(&control_lock);
	return err;
}

/**
 * pksm_control_sharing_set() - set the limit of mappings for one merged frame
 * @sharing: at least 2
 *
 * Context: process; sleeps.
 * Return: 0, or -EBUSY while pages are merged.
 */
int pksm_control_sharing_set(int sharing)
{
	int err = 0;

	lock_online();
	if (pksm_tunables.max_page_sharing != sharing)
		err = change_unmerged(apply_sharing, sharing);
	mutex_unlock(&control_lock);
	return err;
}

/**
 * pksm_control_sleep_changed() - sleep_millisecs was written
 */
void pksm_control_sleep_changed(void)
{
	pksm_worker_hurry();
}

/**
 * pksm_control_pages_changed() - pages_to_scan was written
 */
void pksm_control_pages_changed(void)
{
	pksm_worker_kick();
}

/**
 * pksm_control_workers_set() - have another number of workers
 * @workers: the number
 *
 * What is being visited is finished first, one batch; the pass goes on with the
 * others.
 * Context: process; sleeps.
 * Return: 0; -EINVAL for a number out of range; -ENOMEM or -EINTR when one could
 * not be started: there are as many as before then.
 */
int pksm_control_workers_set(unsigned int workers)
{
	int err = 0;

	if (!workers || workers > pksm_worker_max())
		return -EINVAL;
	lock_online();
	if (workers != pksm_worker_count()) {
		if (run == PKSM_RUN_MERGE)
			stop();
		err = pksm_worker_set(workers);
		if (run == PKSM_RUN_MERGE)
			start();
	}
	mutex_unlock(&control_lock);
	return err;
}

static void unmerge_work(struct work_struct *work)
{
	while (pksm_sweep_spaces())
		msleep(100);
	pksm_sweep_rest(true);
}

/**
 * pksm_control_unmerge_all() - leave no merged page, whatever it takes
 *
 * For removal, which must not return before that. The work is done by a kworker,
 * whom no signal reaches.
 * Context: module exit; sleeps.
 */
void pksm_control_unmerge_all(void)
{
	struct work_struct work;

	INIT_WORK_ONSTACK(&work, unmerge_work);
	lock_online();
	if (run == PKSM_RUN_MERGE)
		stop();
	WRITE_ONCE(run, PKSM_RUN_UNMERGE);
	queue_work(system_unbound_wq, &work);
	flush_work(&work);
	mutex_unlock(&control_lock);
	destroy_work_on_stack(&work);
}
