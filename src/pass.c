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
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mutex.h>

#include "advisor.h"
#include "compat/symbol.h"
#include "counter.h"
#include "gate.h"
#include "hold.h"
#include "item.h"
#include "pass.h"
#include "reap.h"
#include "space.h"
#include "table.h"
#include "takeover.h"
#include "trace.h"

/* Empty VMAs that one search for a claim passes before it lets others in. */
#define STEPS_MAX	256
/* Times in a row that a space whose locks are busy is put behind the others. */
#define DEFER_MAX	64

static DEFINE_MUTEX(pass_lock);
static unsigned long full_scans;
static unsigned int claims_out;
static bool running;

static void begin(void)
{
	lockdep_assert_held(&pass_lock);
	pksm_takeover_adopt(pksm_space_adopt);
	pksm_reap_now(PKSM_GATE_STOPPED | PKSM_GATE_OFFLINE);
	pksm_item_orphans_sweep();
	/* Pages waiting in a CPU's batch for the LRU carry a reference: pinned, for us. */
	lru_add_drain_all();
	pksm_space_pass_begin();
	running = true;
	pksm_advisor_begin();
	trace_pksm_pass_begin(full_scans, pksm_count_sum(PKSM_COUNT_RECORDS));
}

static void end(void)
{
	lockdep_assert_held(&pass_lock);
	running = false;
	pksm_advisor_end();
	trace_pksm_pass_end(full_scans, pksm_count_sum(PKSM_COUNT_RECORDS));
	WRITE_ONCE(full_scans, full_scans + 1);
}

/*
 * The end of a space. Without mergeable memory it is put to sleep, if the mmap
 * lock says that nobody is just making some.
 */
static void finish(struct pksm_mm *space)
{
	unsigned long addr = 0, stop;

	if (!space->found && mmap_read_trylock(space->mm)) {
		if (pksm_hold_next(space, &addr, &stop) == PKSM_HELD_NONE)
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
 * A child enters while fork still holds its mmap lock, and before the parent's
 * other threads have had their writable translations flushed: nothing of it may be
 * merged until fork has let go.
 */
static bool settled(struct pksm_mm *space)
{
	if (!space->settled && mmap_read_trylock(space->mm)) {
		mmap_read_unlock(space->mm);
		space->settled = true;
	}
	return space->settled;
}

/* A claim in @space, which is unfinished. Takes over the reference if it succeeds. */
static bool claim_in(struct pksm_mm *space, struct pksm_claim *claim)
{
	enum pksm_held held;

	if (!pksm_hold_alive(space))
		return false;
	held = settled(space) ? advance(space, claim) : PKSM_HELD_BUSY;
	if (held == PKSM_HELD_NONE)
		finish(space);
	pksm_hold_alive_end(space);
	if (held != PKSM_HELD_BUSY) {
		space->tries = 0;
		return true;
	}
	if (++space->tries < DEFER_MAX)
		pksm_space_defer(space);
	else
		pksm_space_done(space);
	return false;
}

/**
 * pksm_pass_claim() - get work
 * @claim: filled in when there is some
 *
 * Context: worker, inside the gate, holding nothing.
 * Return: see &enum pksm_pass_step.
 */
enum pksm_pass_step pksm_pass_claim(struct pksm_claim *claim)
{
	enum pksm_pass_step step = PKSM_PASS_WAIT;
	struct pksm_mm *space;

	mutex_lock(&pass_lock);
	if (!running) {
		step = PKSM_PASS_IDLE;
		if (!pksm_space_any_awake())
			goto out;
		begin();
	}
	space = pksm_space_todo_get();
	if (!space) {
		step = PKSM_PASS_WAIT;
		if (!claims_out) {
			end();
			step = PKSM_PASS_END;
		}
		goto out;
	}
	if (claim_in(space, claim)) {
		claims_out++;
		step = PKSM_PASS_CLAIM;
	} else {
		pksm_space_put(space);
		step = PKSM_PASS_WAIT;
	}
out:
	mutex_unlock(&pass_lock);
	return step;
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
	running = false;
	WRITE_ONCE(full_scans, 0);
	mutex_unlock(&pass_lock);
}
