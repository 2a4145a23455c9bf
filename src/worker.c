// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers: they take claims, scan them batch by batch, and sleep as the
 * administrator said.
 *
 * The threads are kthreads named pksmd/N, niced and freezable. They hold nothing
 * when they sleep, and are outside the gate then. Owns no lock; a worker's claims
 * are its own, and the controller's once the gate is shut.
 */
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "compat/symbol.h"
#include "gate.h"
#include "pass.h"
#include "scan.h"
#include "space.h"
#include "tunable.h"
#include "worker.h"

/* Claims that a worker puts aside at once because their locks are busy. */
#define PARKED		8
/* Rounds over them before they are given up for this pass, a jiffy apart. */
#define PARKED_TRIES	64
/* Answers without work in a row after which a worker sleeps for a jiffy. */
#define WAITS		4

/**
 * struct pksm_worker - a worker
 * @task: its thread
 * @claim: what it works on
 * @parked: claims whose locks were busy
 * @waits: answers without work in a row
 * @scan: its room for scanning
 */
struct pksm_worker {
	struct task_struct *task;
	struct pksm_claim claim;
	struct pksm_claim parked[PARKED];
	unsigned int waits;
	struct pksm_scan scan;
};

static struct pksm_worker *worker;
static DECLARE_WAIT_QUEUE_HEAD(kicked);
static DECLARE_WAIT_QUEUE_HEAD(hurried);

/* A claim is worked on to its end even when nothing else is left: it keeps its space. */
static bool may_run(const struct pksm_worker *w)
{
	return !pksm_gate_closed(PKSM_GATE_STOPPED | PKSM_GATE_OFFLINE) &&
	       (pksm_space_any_awake() || w->claim.space || w->parked[0].space);
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
	REST,		/* after the administrator's sleep: a pass has ended */
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
	release_dead(w);
	switch (pksm_pass_claim(&w->claim)) {
	case PKSM_PASS_CLAIM:
		w->waits = 0;
		return GO_ON;
	case PKSM_PASS_END:
	case PKSM_PASS_IDLE:
		return REST;
	case PKSM_PASS_WAIT:
		break;
	}
	if (unpark(w))
		return NAP;
	if (++w->waits < WAITS)
		return GO_ON;
	w->waits = 0;
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
	if (w->claim.tries >= PARKED_TRIES)
		pksm_pass_release(&w->claim);
	else if (!park(w))
		return NAP;
	return GO_ON;
}

/* Scan up to @budget pages; return how many are left of it. */
static unsigned int scan_some(struct pksm_worker *w, unsigned int budget)
{
	enum step step = GO_ON;
	unsigned int scanned;
	int idx;

	if (!pksm_gate_try_enter(&idx))
		return 0;
	while (budget && step == GO_ON && !leave()) {
		scanned = 0;
		step = work(w, budget, &scanned);
		budget -= min(budget, scanned);
		cond_resched();
	}
	pksm_gate_leave(idx);
	return step == NAP ? budget : 0;
}

/* Is there a reason to end a sleep that was to take this long? */
static bool called(unsigned int msecs)
{
	return kthread_should_stop() || msecs != READ_ONCE(pksm_tunables.sleep_millisecs);
}

static int run(void *data)
{
	struct pksm_worker *w = data;
	unsigned int budget = 0, msecs;
	unsigned long nap;

	set_freezable();
	set_user_nice(current, 5);
	while (!kthread_should_stop()) {
		if (!may_run(w)) {
			wait_event_freezable(kicked, may_run(w) || kthread_should_stop());
			continue;
		}
		budget = scan_some(w, budget ? budget : READ_ONCE(pksm_tunables.pages_to_scan));
		msecs = READ_ONCE(pksm_tunables.sleep_millisecs);
		nap = budget ? 1 : msecs_to_jiffies(msecs);
		wait_event_freezable_timeout(hurried, called(msecs), nap);
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
 * pksm_worker_drop_claims() - give back what the workers have not finished
 *
 * While nothing runs, nothing may keep a dead process's memory.
 * Context: controller, gate shut.
 */
void pksm_worker_drop_claims(void)
{
	if (worker->claim.space)
		pksm_pass_return(&worker->claim);
	while (unpark(worker))
		pksm_pass_return(&worker->claim);
}

/**
 * pksm_worker_runtime() - CPU time that the workers have used
 *
 * Return: nanoseconds, summed over all workers.
 */
u64 pksm_worker_runtime(void)
{
	return task_sched_runtime(worker->task);
}

/**
 * pksm_worker_init() - start the workers; the gate keeps them out
 *
 * Return: 0 or -errno.
 */
int __init pksm_worker_init(void)
{
	worker = kvzalloc(sizeof(*worker), GFP_KERNEL);
	if (!worker)
		return -ENOMEM;
	worker->task = kthread_run(run, worker, "pksmd/0");
	if (IS_ERR(worker->task)) {
		int err = PTR_ERR(worker->task);

		kvfree(worker);
		return err;
	}
	return 0;
}

/**
 * pksm_worker_exit() - stop the workers
 *
 * Context: module exit; sleeps until they have left the gate.
 */
void pksm_worker_exit(void)
{
	kthread_stop(worker->task);
	pksm_worker_drop_claims();
	kvfree(worker);
}
