// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scanning: one batch of a claim at a time.
 *
 * Entered by the holder of the claim, a worker, inside the gate. Owns no lock;
 * holds the space's life and a VMA for the length of a batch, which exit and
 * whoever changes the VMA may have to wait for: a batch is short, and ends early
 * when somebody waits.
 */
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "counter.h"
#include "gate.h"
#include "hold.h"
#include "item.h"
#include "page.h"
#include "pass.h"
#include "scan.h"
#include "space.h"
#include "trace.h"
#include "tunable.h"

/* Rounds in vain over pages that were busy, before a claim is put aside for a jiffy ... */
#define ROUNDS_NOW	3
/*
 * ... and before it is given up for this pass: as long as busy locks are tried. Who is
 * in the way may be a worker whose CPU was taken away ...
 */
#define ROUNDS_MAX	64
/* ... which is certain here. */
#define ROUNDS_CONTENDED 512

/* Pages that did not change, after which to see whether somebody waits. */
#define QUICK		16

/* Ranges that are forgotten in one batch. */
#define GAP_RANGES	8

static bool noteworthy(enum pksm_outcome outcome)
{
	return outcome != PKSM_MERGED && outcome != PKSM_RESTING && outcome != PKSM_SKIPPED;
}

/* Visit one page; returns true when it took longer than to see that it has not changed. */
static bool visit(struct pksm_scan *scan, struct pksm_claim *claim,
		  const struct pksm_visit *how, const struct pksm_entry *entry,
		  unsigned int *hint)
{
	unsigned int index = pksm_range_index(entry->addr);
	enum pksm_outcome outcome = PKSM_NOMEM;
	u64 *record;

	if (how->again && !__test_and_clear_bit(index, claim->again))
		return false;
	record = pksm_record_slot(claim->range, entry->addr, hint);
	/* What pksm_page_visit() would find first, without the call. */
	if (record && entry->node && pksm_item_on(pksm_record_item(*record), entry->node))
		outcome = PKSM_MERGED;
	else if (record)
		outcome = pksm_page_visit(how, entry, record);
	scan->outcome[outcome]++;
	if (!noteworthy(outcome))
		return false;
	if (outcome == PKSM_KEPT) {
		__set_bit(index, claim->kept);
	} else if (pksm_page_transient(outcome)) {
		__set_bit(index, claim->again);
		claim->busy |= outcome == PKSM_BUSY;
		claim->contended |= outcome == PKSM_CONTENDED;
	} else {
		claim->progress |= how->again;
	}
	trace_pksm_page(claim->space->mm, entry->addr, entry->pfn, outcome);
	return true;
}

/* Does somebody wait for the CPU, for what is held, or for us to leave the gate? */
static bool wanted(const struct pksm_hold *hold)
{
	return need_resched() || pksm_hold_wanted(hold) || pksm_gate_wanted();
}

/* Returns the number of pages visited and not skipped. */
static unsigned int account(struct pksm_scan *scan)
{
	unsigned int i, visited = 0;

	for (i = 0; i < PKSM_OUTCOME_MAX; i++) {
		if (!scan->outcome[i])
			continue;
		this_cpu_add(pksm_counters.outcome[i], scan->outcome[i]);
		if (i != PKSM_SKIPPED)
			visited += scan->outcome[i];
	}
	pksm_count_add(PKSM_COUNT_SCANNED, visited);
	pksm_count_add(PKSM_COUNT_SKIPPED, scan->outcome[PKSM_SKIPPED]);
	memset(scan->outcome, 0, sizeof(scan->outcome));
	return visited;
}

/* Visit up to @budget pages of the held VMA from claim->at on. */
static void scan_vma(struct pksm_scan *scan, struct pksm_claim *claim,
		     const struct pksm_hold *hold, unsigned int budget)
{
	struct pksm_visit how = {
		.hold = hold,
		.gone = &scan->gone,
		.again = claim->round,
		.smart = !claim->round && READ_ONCE(pksm_tunables.smart_scan),
		.whole = !claim->split && READ_ONCE(pksm_tunables.huge_min_matches) > 1,
	};
	unsigned long start = claim->at, stop;
	unsigned int nr, i, hint = 0;
	bool took;

	stop = min3(claim->end, hold->vma->vm_end,
		    start + min(budget, PKSM_SCAN_BATCH) * PAGE_SIZE);
	nr = pksm_table_collect(hold->vma, start, stop, scan->entries);
	pksm_record_sync(claim->space, &claim->range, start, stop, scan->entries, nr,
			 &scan->scratch);
	for (i = 0; i < nr; i++) {
		took = visit(scan, claim, &how, &scan->entries[i], &hint);
		if ((took || i % QUICK == QUICK - 1) && i + 1 < nr && wanted(hold)) {
			stop = scan->entries[i].addr + PAGE_SIZE;
			break;
		}
	}
	claim->at = stop;
	pksm_record_close(claim->space, &claim->range, stop >= claim->end, &scan->scratch);
}

/*
 * Nothing mergeable at claim->at: go on where there is, and forget what lies
 * between.
 */
static void skip_hole(struct pksm_claim *claim)
{
	unsigned long addr = claim->at, stop;

	if (pksm_hold_next(claim->space, &addr, &stop) == PKSM_HELD_NONE || addr > claim->end)
		addr = claim->end;
	/* Within one range, which may go with its last record. */
	claim->range = NULL;
	claim->at = pksm_record_drop(claim->space, claim->at, addr, 1);
}

/*
 * A round is over. What failed for a reason that passes is visited again: at once as
 * long as that helps and a few times more, and if somebody was in the way, also a
 * little later. So is what a huge page was kept whole for, when that is enough by now.
 */
static enum pksm_scan_step next_round(struct pksm_claim *claim)
{
	unsigned int rounds = claim->contended ? ROUNDS_CONTENDED :
			      claim->busy ? ROUNDS_MAX : ROUNDS_NOW;
	bool now = claim->progress;

	if (!claim->split && bitmap_weight(claim->kept, PKSM_RANGE_PAGES) >=
	    READ_ONCE(pksm_tunables.huge_min_matches)) {
		claim->split = true;
		bitmap_or(claim->again, claim->again, claim->kept, PKSM_RANGE_PAGES);
	}
	if (bitmap_empty(claim->again, PKSM_RANGE_PAGES))
		return PKSM_SCAN_DONE;
	if (!now && ++claim->round >= rounds)
		return PKSM_SCAN_DONE;
	claim->at = claim->start;
	if (now) {
		claim->progress = false;
		claim->busy = false;
		claim->contended = false;
	}
	return now || claim->round < ROUNDS_NOW ? PKSM_SCAN_MORE : PKSM_SCAN_BUSY;
}

/* Go to the next page that is to be visited in this round. */
static void skip_visited(struct pksm_claim *claim)
{
	unsigned long base = claim->start & PKSM_RANGE_MASK, bit;

	if (!claim->round)
		return;
	bit = find_next_bit(claim->again, PKSM_RANGE_PAGES, (claim->at - base) >> PAGE_SHIFT);
	claim->at = min(claim->end, base + bit * PAGE_SIZE);
}

static enum pksm_scan_step step(struct pksm_scan *scan, struct pksm_claim *claim,
				unsigned int budget)
{
	struct pksm_hold hold;

	skip_visited(claim);
	if (claim->at >= claim->end)
		return next_round(claim);
	switch (pksm_hold_try(&hold, claim->space, claim->at)) {
	case PKSM_HELD_BUSY:
		if (!claim->tries || time_after(jiffies, claim->tried))
			claim->tries++;
		claim->tried = jiffies;
		return PKSM_SCAN_BUSY;
	case PKSM_HELD_NONE:
		skip_hole(claim);
		break;
	case PKSM_HELD:
		claim->tries = 0;
		scan_vma(scan, claim, &hold, budget);
		pksm_hold_end(&hold);
		folios_put(&scan->gone);
		break;
	}
	return claim->at < claim->end ? PKSM_SCAN_MORE : next_round(claim);
}

static enum pksm_scan_step whole(const struct pksm_claim *claim)
{
	return claim->at < claim->end ? PKSM_SCAN_MORE : PKSM_SCAN_DONE;
}

/**
 * pksm_scan_batch() - visit some pages of a claim
 * @scan: the caller's
 * @claim: the caller's
 * @budget: how many pages at most, at least one
 * @scanned: increased by the number of pages visited and not skipped
 *
 * The memory that records take is charged to the process whose pages they are; what
 * remains of a directory when records are dropped in a gap is not.
 * Context: process, inside the gate, holding nothing; sleeps for the locks of merged
 * pages.
 * Return: see &enum pksm_scan_step.
 */
enum pksm_scan_step pksm_scan_batch(struct pksm_scan *scan, struct pksm_claim *claim,
				    unsigned int budget, unsigned int *scanned)
{
	struct pksm_mm *space = claim->space;
	enum pksm_scan_step result = PKSM_SCAN_DONE;
	struct mem_cgroup *memcg, *old;

	if (claim->gap < claim->start) {
		claim->gap = pksm_record_drop(space, claim->gap, claim->start, GAP_RANGES);
		return claim->gap < claim->start ? PKSM_SCAN_MORE : whole(claim);
	}
	if (claim->at >= claim->end || !pksm_hold_alive(space))
		return PKSM_SCAN_DONE;
	memcg = get_mem_cgroup_from_mm(space->mm);
	old = set_active_memcg(memcg);
	result = step(scan, claim, budget);
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	pksm_hold_alive_end(space);
	*scanned += account(scan);
	return result;
}
