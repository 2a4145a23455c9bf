// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers: they take claims, scan them batch by batch, and sleep as the
 * administrator said.
 *
 * The threads are kthreads named pksmd/N, niced and freezable, bound to no CPU.
 * They hold nothing when they sleep, and are outside the gate then. Owns no lock;
 * a worker's claims are its own, and the controller's once the gate is shut. Which
 * workers there are changes with the gate shut alone.
 */
#include <linux/atomic.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "budget.h"
#include "compat/symbol.h"
#include "gate.h"
#include "pass.h"
#include "scan.h"
#include "side.h"
#include "space.h"
#include "tunable.h"
#include "worker.h"

/* Claims that a worker puts aside at once because their locks are busy. */
#define PARKED		32
/*
 * Times that they are tried, a jiffy apart, before they are given up for this pass;
 * after half of them the side thread is asked for help.
 */
#define PARKED_TRIES	64

/* Pages between two sleeps for which it is worth to wake one more worker. */
#define WORTH		256U

/**
 * struct pksm_worker - a worker
 * @task: its thread
 * @index: its number
 * @share: what it has of the budget
 * @claim: what it works on
 * @parked: claims whose locks were busy
 * @retries: parked claims that are to be tried before the next nap
 * @seen: what there was to claim when it last asked
 * @deaths: of processes, as far as it has let go of what they left
 * @scan: its room for scanning
 */
struct pksm_worker {
	struct task_struct *task;
	unsigned int index;
	struct pksm_share share;
	struct pksm_claim claim;
	struct pksm_claim parked[PARKED];
	unsigned int retries;
	unsigned long seen;
	int deaths;
	struct pksm_scan scan;
};

static struct pksm_worker **workers;
static unsigned int nr_workers;
static u64 runtime_gone;
static atomic_t deaths = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(kicked);
static DECLARE_WAIT_QUEUE_HEAD(hurried);

/* How many workers the budget is worth waking. */
static unsigned int wanted(void)
{
	unsigned int pages = READ_ONCE(pksm_tunables.pages_to_scan);

	return clamp(pages / WORTH + !!(pages % WORTH), 1U, READ_ONCE(nr_workers));
}

/* A claim is worked on to its end even when nothing else is left: it keeps its space. */
static bool may_run(const struct pksm_worker *w)
{
	if (pksm_gate_closed(PKSM_GATE_STOPPED | PKSM_GATE_OFFLINE))
		return false;
	if (w->claim.space || w->parked[0].space)
		return true;
	return pksm_space_any_awake() && w->index < wanted();
}

/* Should what is inside the gate come out? */
static bool leave(void)
{
	return pksm_gate_closed(PKSM_GATE_STOPPED | PKSM_GATE_OFFLINE) ||
	       freezing(current) || kthread_should_stop();
}

/* Put the claim aside; false when there is no room. */
static bool park(struct pksm_worker *w)
{
	unsigned int i;

	for (i = 0; i < PARKED; i++) {
		if (w->parked[i].space)
			continue;
		w->parked[i] = w->claim;
		w->claim.space = NULL;
		return true;
	}
	return false;
}

static unsigned int parked(const struct pksm_worker *w)
{
	unsigned int n = 0;

	while (n < PARKED && w->parked[n].space)
		n++;
	return n;
}

/* Parked claims stand without gaps: take out the one at @at. */
static void close_gap(struct pksm_worker *w, unsigned int at)
{
	memmove(&w->parked[at], &w->parked[at + 1], (PARKED - 1 - at) * sizeof(w->parked[0]));
	w->parked[PARKED - 1].space = NULL;
}

/* Take a claim up again that was put aside. */
static bool unpark(struct pksm_worker *w)
{
	if (!w->parked[0].space)
		return false;
	w->claim = w->parked[0];
	close_gap(w, 0);
	return true;
}

/* How a worker goes on. */
enum step {
	GO_ON,		/* at once */
	NAP,		/* after a jiffy: what there is to do is busy */
	WAIT,		/* when there is something to claim: others do what is left */
	REST,		/* with another share: a pass has ended, or there is nothing to do */
};

/* Nothing may keep what a dead process has left, busy or not. */
static void release_dead(struct pksm_worker *w)
{
	unsigned int i = 0;

	while (i < PARKED && w->parked[i].space) {
		if (READ_ONCE(w->parked[i].space->dead)) {
			pksm_pass_release(&w->parked[i]);
			close_gap(w, i);
		} else {
			i++;
		}
	}
}

static enum step get_claim(struct pksm_worker *w)
{
	enum step step = NAP;

	release_dead(w);
	/* Those put aside, once each after a nap. */
	if (w->retries && unpark(w)) {
		w->retries--;
		return GO_ON;
	}
	switch (pksm_pass_claim(&w->claim, &w->share, &w->seen)) {
	case PKSM_PASS_CLAIM:
		return GO_ON;
	case PKSM_PASS_END:
	case PKSM_PASS_IDLE:
		return REST;
	case PKSM_PASS_WAIT:
		if (!w->parked[0].space)
			step = WAIT;
		break;
	case PKSM_PASS_BUSY:
		break;
	}
	w->retries = parked(w);
	return step;
}

/* A claim is busy: put it aside, or give it up for this pass. */
static enum step defer(struct pksm_worker *w)
{
	struct pksm_claim claim;

	if (w->claim.tries == PARKED_TRIES / 2)
		pksm_side_ask(w->claim.space);
	if (w->claim.tries >= PARKED_TRIES) {
		pksm_pass_release(&w->claim);
		return GO_ON;
	}
	if (park(w))
		return GO_ON;
	/* Too many: it takes the place of the oldest; no new ones before all were tried again. */
	claim = w->claim;
	unpark(w);
	w->parked[PARKED - 1] = claim;
	w->retries = parked(w);
	return NAP;
}

static enum step work(struct pksm_worker *w, unsigned int budget, unsigned int *scanned)
{
	if (!w->claim.space)
		return get_claim(w);
	switch (pksm_scan_batch(&w->scan, &w->claim, budget, scanned)) {
	case PKSM_SCAN_DONE:
		pksm_pass_release(&w->claim);
		return GO_ON;
	case PKSM_SCAN_MORE:
		return GO_ON;
	case PKSM_SCAN_BUSY:
		break;
	}
	return defer(w);
}

/* Scan up to *@share pages, and take them off it. */
static enum step scan_some(struct pksm_worker *w, unsigned int *share)
{
	enum step step = GO_ON;
	unsigned int scanned;
	int idx;

	if (!pksm_gate_try_enter(&idx))
		return step;
	while (*share && step == GO_ON && !leave()) {
		scanned = 0;
		step = work(w, *share, &scanned);
		*share -= min(*share, scanned);
		cond_resched();
	}
	pksm_gate_leave(idx);
	return step;
}

/* Let go of what dead processes have left, rest or not. */
static void bury(struct pksm_worker *w)
{
	int seen = atomic_read(&deaths);
	int idx;

	/* Shut, what it claimed is the controller's, or waits for memory to go offline. */
	if (!pksm_gate_try_enter(&idx))
		return;
	w->deaths = seen;
	if (w->claim.space && READ_ONCE(w->claim.space->dead))
		pksm_pass_release(&w->claim);
	release_dead(w);
	pksm_gate_leave(idx);
}

/* Is there a reason to end a rest that was begun with this value? */
static bool called(const struct pksm_worker *w, unsigned int msecs)
{
	return kthread_should_stop() || w->deaths != atomic_read(&deaths) ||
	       msecs != READ_ONCE(pksm_tunables.sleep_millisecs);
}

static void rest(const struct pksm_worker *w)
{
	unsigned int msecs = READ_ONCE(pksm_tunables.sleep_millisecs);

	wait_event_freezable_timeout(hurried, called(w, msecs), pksm_budget_rest());
}

static int run(void *data)
{
	struct pksm_worker *w = data;
	enum step step;

	set_freezable();
	set_user_nice(current, 5);
	while (!kthread_should_stop()) {
		if (!may_run(w)) {
			wait_event_freezable(kicked, may_run(w) || kthread_should_stop());
			continue;
		}
		if (w->deaths != atomic_read(&deaths))
			bury(w);
		if (!pksm_budget_take(READ_ONCE(nr_workers), &w->share)) {
			rest(w);
			continue;
		}
		step = scan_some(w, &w->share.pages);
		pksm_budget_give(&w->share);
		if (step == NAP || step == WAIT)
			pksm_pass_wait(w->seen, step == NAP ? 1 : HZ);
		try_to_freeze();
		cond_resched();
	}
	return 0;
}

/**
 * pksm_worker_kick() - there may be work again
 *
 * Context: any.
 */
void pksm_worker_kick(void)
{
	wake_up(&kicked);
}

/**
 * pksm_worker_hurry() - the length of the sleep has changed
 *
 * Context: any.
 */
void pksm_worker_hurry(void)
{
	wake_up(&hurried);
}

/**
 * pksm_worker_bury() - a process has died of which a worker may have a claim
 *
 * Context: any.
 */
void pksm_worker_bury(void)
{
	atomic_inc(&deaths);
	wake_up(&hurried);
}

/**
 * pksm_worker_drop_claims() - give back what the workers have not finished
 *
 * While nothing runs, nothing may keep a dead process's memory.
 * Context: controller, gate shut.
 */
void pksm_worker_drop_claims(void)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++) {
		if (workers[i]->claim.space)
			pksm_pass_return(&workers[i]->claim);
		while (unpark(workers[i]))
			pksm_pass_return(&workers[i]->claim);
	}
}

/**
 * pksm_worker_runtime() - CPU time that the workers have used
 *
 * Context: inside the gate, or controller with the gate shut.
 * Return: nanoseconds, summed over all workers, those that have ended too.
 */
u64 pksm_worker_runtime(void)
{
	u64 sum = runtime_gone;
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		sum += task_sched_runtime(workers[i]->task);
	return sum;
}

/**
 * pksm_worker_count() - how many workers there are
 *
 * Return: their number.
 */
unsigned int pksm_worker_count(void)
{
	return READ_ONCE(nr_workers);
}

/**
 * pksm_worker_max() - how many workers there may be
 *
 * More than CPUs, since a worker may sleep for memory.
 * Return: their number.
 */
unsigned int pksm_worker_max(void)
{
	return max(64U, 4 * num_possible_cpus());
}

/* Start one more worker. It takes part only once it has been counted. */
static int start(void)
{
	struct pksm_worker *w = kvzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return -ENOMEM;
	w->index = nr_workers;
	w->task = kthread_create(run, w, "pksmd/%u", w->index);
	if (IS_ERR(w->task)) {
		int err = PTR_ERR(w->task);

		kvfree(w);
		return err;
	}
	workers[nr_workers] = w;
	WRITE_ONCE(nr_workers, nr_workers + 1);
	wake_up_process(w->task);
	return 0;
}

/* Stop the last worker, which has no claim. */
static void stop(void)
{
	struct pksm_worker *w = workers[nr_workers - 1];

	get_task_struct(w->task);
	kthread_stop(w->task);
	runtime_gone += task_sched_runtime(w->task);
	put_task_struct(w->task);
	WRITE_ONCE(nr_workers, nr_workers - 1);
	kvfree(w);
}

/**
 * pksm_worker_set() - have this many workers
 * @n: from 1 to pksm_worker_max()
 *
 * Context: controller, gate shut, claims dropped; sleeps.
 * Return: 0; -ENOMEM or -EINTR when one could not be started, nothing has changed
 * then.
 */
int pksm_worker_set(unsigned int n)
{
	unsigned int old = nr_workers;
	int err = 0;

	while (nr_workers < n && !err)
		err = start();
	while (nr_workers > (err ? old : n))
		stop();
	return err;
}

/**
 * pksm_worker_init() - start the workers; the gate keeps them out
 *
 * By default half of the CPUs that are online, up to eight: even with
 * sleep_millisecs at 0 the other half is left to those whose memory is scanned, and
 * a budget as small as the default one wakes a single worker anyway.
 * Return: 0 or -errno.
 */
int __init pksm_worker_init(void)
{
	int err;

	workers = kcalloc(pksm_worker_max(), sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	err = pksm_worker_set(clamp(num_online_cpus() / 2, 1U, 8U));
	if (err)
		kfree(workers);
	return err;
}

/**
 * pksm_worker_exit() - stop the workers
 *
 * Context: module exit, or a load that failed; gate shut; sleeps.
 */
void pksm_worker_exit(void)
{
	pksm_worker_drop_claims();
	while (nr_workers)
		stop();
	kfree(workers);
}
