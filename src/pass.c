// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes: the cursor through all registered memory.
 *
 * Entered by workers inside the gate, and by the controller with the gate shut.
 * Owns the pass lock, a mutex: it covers the number of the pass, the claims that
 * are out, and each space's cursor. Inside it: a space's life lock and a VMA's
 * lock or the mmap lock, all tried, and the registry lock. It is taken once for
 * each claim, not for each page.
 *
 * A claim is the next populated 2 MiB of a space. The page tables are walked from
 * the top, so a hole of terabytes is one step. A pass ends when no space is
 * unfinished and no claim is out.
 */
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "advisor.h"
#include "budget.h"
#include "compat/mm.h"
#include "compat/symbol.h"
#include "counter.h"
#include "gate.h"
#include "hold.h"
#include "item.h"
#include "pass.h"
#include "reap.h"
#include "side.h"
#include "space.h"
#include "table.h"
#include "takeover.h"
#include "trace.h"

/* Empty VMAs that one search for a claim passes before it lets others in. */
#define STEPS_MAX	256
/*
 * Jiffies in a row in which a space's locks were tried in vain, until it is left to
 * the next pass; after half of them the side thread is asked for help.
 */
#define DEFER_MAX	64
/* Busy spaces that one search for a claim passes. */
#define SPACES_MAX	8

static DEFINE_MUTEX(pass_lock);
static unsigned long full_scans;
static unsigned int claims_out;
static enum {
	NONE,
	BEGINNING,
	RUNNING,
} state;

/* How often there was something new to claim, for those who wait for that. */
static unsigned long news;
static DECLARE_WAIT_QUEUE_HEAD(waiting);

static void tell(void)
{
	lockdep_assert_held(&pass_lock);
	WRITE_ONCE(news, news + 1);
	wake_up_all(&waiting);
}

/*
 * Begin a pass. What comes before it can take long, so the lock is let go of; there
 * is nothing to be claimed meanwhile, which adoption needs.
 */
static void begin(void)
{
	lockdep_assert_held(&pass_lock);
	state = BEGINNING;
	mutex_unlock(&pass_lock);
	pksm_takeover_adopt(pksm_space_adopt);
	pksm_reap_now();
	pksm_item_orphans_sweep();
	/* Pages waiting in a CPU's batch for the LRU carry a reference: busy, for us. */
	lru_add_drain_all();
	mutex_lock(&pass_lock);
	pksm_space_pass_begin();
	state = RUNNING;
	tell();
	pksm_advisor_begin();
	trace_pksm_pass_begin(full_scans, pksm_count_sum(PKSM_COUNT_RECORDS));
}

static void end(void)
{
	lockdep_assert_held(&pass_lock);
	state = NONE;
	/* Together with the pass, or what others have left would begin the next one. */
	pksm_budget_end();
	pksm_advisor_end();
	trace_pksm_pass_end(full_scans, pksm_count_sum(PKSM_COUNT_RECORDS));
	WRITE_ONCE(full_scans, full_scans + 1);
}

/* Has it a mergeable area? The first write to one, which wakes nobody, may be to come. */
static bool has_mergeable(struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	VMA_ITERATOR(vmi, mm, 0);

	mmap_assert_locked(mm);
	for_each_vma(vmi, vma)
		if (vma->vm_flags & VM_MERGEABLE)
			return true;
	return false;
}

/*
 * The end of a space. Without a mergeable area it is put to sleep, if the mmap lock
 * says that nobody is just making one.
 */
static void finish(struct pksm_mm *space)
{
	if (!space->found && mmap_read_trylock(space->mm)) {
		if (!has_mergeable(space->mm))
			pksm_space_sleep(space);
		mmap_read_unlock(space->mm);
	}
	pksm_space_done(space);
}

static void fill(struct pksm_claim *claim, struct pksm_mm *space, unsigned long start,
		 unsigned long end)
{
	*claim = (struct pksm_claim){
		.space = space,
		.gap = space->cursor,
		.start = start,
		.end = end,
		.at = start,
	};
	space->cursor = end;
}

/*
 * The next claim in a space that is alive. PKSM_HELD: @claim is filled in. NONE:
 * it is filled in with the rest of the space, where nothing is mapped. BUSY: the
 * locks were not to be had.
 */
static enum pksm_held advance(struct pksm_mm *space, struct pksm_claim *claim)
{
	unsigned long addr = space->cursor, stop;
	struct pksm_hold hold;
	enum pksm_held held;
	unsigned int steps;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		if (pksm_hold_next(space, &addr, &stop) == PKSM_HELD_NONE) {
			fill(claim, space, TASK_SIZE_MAX, TASK_SIZE_MAX);
			return PKSM_HELD_NONE;
		}
		space->found = true;
		held = pksm_hold_try(&hold, space, addr);
		if (held == PKSM_HELD_BUSY)
			return held;
		if (held == PKSM_HELD_NONE)
			continue;
		stop = hold.vma->vm_end;
		addr = pksm_table_next(space->mm, addr, stop);
		pksm_hold_end(&hold);
		if (addr < stop) {
			fill(claim, space, addr, (addr & PKSM_RANGE_MASK) + PKSM_RANGE_SIZE);
			return PKSM_HELD;
		}
	}
	/*
	 * Far enough: what was passed is empty. Ranges are never cut in two, so if
	 * that was less than one range the scan has to look at the whole of it.
	 */
	addr &= PKSM_RANGE_MASK;
	if (addr > space->cursor)
		fill(claim, space, addr, addr);
	else
		fill(claim, space, space->cursor,
		     (space->cursor & PKSM_RANGE_MASK) + PKSM_RANGE_SIZE);
	return PKSM_HELD;
}

/*
 * A child enters in the middle of fork: nothing of it may be merged until fork is
 * done with the parent, so it is left to the next pass. Its own mmap lock does not
 * tell: fork lets go of that before it flushes the parent's writable translations
 * (dup_mmap(), kernel/fork.c of 6.12).
 */
static bool settled(struct pksm_mm *space)
{
	if (!space->settled)
		space->settled = pksm_mm_settled(space->mm);
	return space->settled;
}

/*
 * A claim in @space, which is unfinished. Takes over the reference if it succeeds.
 * A space whose locks are busy is tried once in a jiffy, however many ask.
 */
static bool claim_in(struct pksm_mm *space, struct pksm_claim *claim)
{
	enum pksm_held held;

	if (space->tries && time_before_eq(jiffies, space->tried))
		goto defer;
	if (!pksm_hold_alive(space))
		goto busy;
	if (!settled(space)) {
		pksm_space_done(space);
		pksm_hold_alive_end(space);
		return false;
	}
	held = advance(space, claim);
	if (held == PKSM_HELD_NONE)
		finish(space);
	pksm_hold_alive_end(space);
	if (held != PKSM_HELD_BUSY) {
		space->tries = 0;
		return true;
	}
busy:
	space->tried = jiffies;
	if (++space->tries == DEFER_MAX / 2)
		pksm_side_ask(space);
	if (space->tries >= DEFER_MAX) {
		pksm_space_done(space);
		return false;
	}
defer:
	pksm_space_defer(space);
	return false;
}

/* With a pass under way: the next claim of the first space that is not busy. */
static enum pksm_pass_step claim_any(struct pksm_claim *claim)
{
	struct pksm_mm *space;
	unsigned int i;

	for (i = 0; i < SPACES_MAX; i++) {
		space = pksm_space_todo_get();
		if (!space)
			return claims_out ? PKSM_PASS_WAIT : PKSM_PASS_END;
		if (claim_in(space, claim))
			return PKSM_PASS_CLAIM;
		pksm_space_put(space);
	}
	return PKSM_PASS_BUSY;
}

/**
 * pksm_pass_claim() - get work
 * @claim: filled in when there is some
 * @share: of the budget, for which this is done
 * @seen: set to what pksm_pass_wait() wants to know
 *
 * Context: worker, inside the gate, holding nothing.
 * Return: see &enum pksm_pass_step.
 */
enum pksm_pass_step pksm_pass_claim(struct pksm_claim *claim, const struct pksm_share *share,
				    unsigned long *seen)
{
	enum pksm_pass_step step = PKSM_PASS_BUSY;

	mutex_lock(&pass_lock);
	/* Who waited for the lock may be wanted outside by now. */
	if (pksm_gate_wanted())
		goto out;
	if (state == NONE) {
		step = PKSM_PASS_IDLE;
		if (!pksm_space_any_awake() || pksm_budget_ended(share))
			goto out;
		begin();
	}
	if (state == RUNNING)
		step = claim_any(claim);
	else
		step = PKSM_PASS_WAIT;
	if (step == PKSM_PASS_CLAIM)
		claims_out++;
	else if (step == PKSM_PASS_END)
		end();
out:
	*seen = news;
	mutex_unlock(&pass_lock);
	return step;
}

/**
 * pksm_pass_wait() - wait for something new to be claimed
 * @seen: what there was already, from pksm_pass_claim()
 * @timeout: for how long at most, in jiffies
 *
 * Context: worker, outside the gate.
 */
void pksm_pass_wait(unsigned long seen, unsigned long timeout)
{
	wait_event_freezable_timeout(waiting, READ_ONCE(news) != seen || kthread_should_stop(),
				     timeout);
}

static void release(struct pksm_claim *claim, bool unfinished)
{
	struct pksm_mm *space = claim->space;

	mutex_lock(&pass_lock);
	claims_out--;
	if (unfinished) {
		space->cursor = min(space->cursor, min(claim->gap, claim->at) & PKSM_RANGE_MASK);
		pksm_space_redo(space);
	}
	/* Somebody has to end the pass, or to go on with it. */
	if (unfinished || !claims_out)
		tell();
	mutex_unlock(&pass_lock);
	pksm_space_put(space);
	claim->space = NULL;
}

/**
 * pksm_pass_release() - done with a claim, or it is given up
 * @claim: the claim
 *
 * Context: worker, inside the gate; holding nothing.
 */
void pksm_pass_release(struct pksm_claim *claim)
{
	release(claim, false);
}

/**
 * pksm_pass_return() - a claim is given back unfinished
 * @claim: the claim
 *
 * The pass will come to its range again; ranges behind it that were visited
 * already are visited twice, which harms nothing.
 * Context: controller, gate shut.
 */
void pksm_pass_return(struct pksm_claim *claim)
{
	release(claim, true);
}

/**
 * pksm_pass_full_scans() - how many passes have ended
 *
 * Return: their number since the last time everything was unmerged.
 */
unsigned long pksm_pass_full_scans(void)
{
	return READ_ONCE(full_scans);
}

/**
 * pksm_pass_reset() - everything was unmerged: begin anew
 *
 * Context: controller, gate shut, no claim out.
 */
void pksm_pass_reset(void)
{
	mutex_lock(&pass_lock);
	WARN_ON_ONCE(claims_out);
	state = NONE;
	WRITE_ONCE(full_scans, 0);
	mutex_unlock(&pass_lock);
}
