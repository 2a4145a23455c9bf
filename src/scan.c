// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scanning: one batch of a claim at a time.
 *
 * Entered by the holder of the claim, a worker, inside the gate. Owns no lock;
 * holds the space's life and a VMA for the length of a batch, which exit and
 * whoever changes the VMA may have to wait for: a batch is short, and ends early
 * when somebody waits.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "counter.h"
#include "hold.h"
#include "page.h"
#include "pass.h"
#include "scan.h"
#include "space.h"
#include "trace.h"

/* Pages of one batch: some 30 microseconds of hashing. */
#define BATCH	64U

/* Ranges that are forgotten in one batch. */
#define GAP_RANGES	8

static bool noteworthy(enum pksm_outcome outcome)
{
	return outcome != PKSM_MERGED && outcome != PKSM_RESTING && outcome != PKSM_SKIPPED;
}

static void visit(struct pksm_scan *scan, struct pksm_claim *claim,
		  const struct pksm_hold *hold, struct pksm_range *range,
		  const struct pksm_entry *entry)
{
	unsigned int index = (entry->addr & ~PKSM_RANGE_MASK) >> PAGE_SHIFT;
	u64 *record = pksm_record_slot(range, entry->addr);
	enum pksm_outcome outcome = PKSM_NOMEM;

	if (claim->second && !test_bit(index, claim->again))
		return;
	if (record)
		outcome = pksm_page_visit(hold, entry, record, claim->second);
	if (pksm_page_transient(outcome) && !claim->second)
		__set_bit(index, claim->again);
	scan->outcome[outcome]++;
	if (noteworthy(outcome))
		trace_pksm_page(hold->space->mm, entry->addr, entry->pfn, outcome);
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
	unsigned long start = claim->at, stop;
	struct pksm_range *range;
	unsigned int nr, i;

	stop = min3(claim->end, hold->vma->vm_end, start + min(budget, BATCH) * PAGE_SIZE);
	nr = pksm_table_collect(hold->vma, start, stop, scan->entries);
	range = pksm_record_sync(claim->space, start, stop, scan->entries, nr, &scan->scratch);
	for (i = 0; i < nr; i++) {
		visit(scan, claim, hold, range, &scan->entries[i]);
		if (i + 1 < nr && (need_resched() || pksm_hold_wanted(hold))) {
			stop = scan->entries[i].addr + PAGE_SIZE;
			break;
		}
	}
	claim->at = stop;
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
	/* Within one range. */
	claim->at = pksm_record_drop(claim->space, claim->at, addr, 1);
}

static enum pksm_scan_step step(struct pksm_scan *scan, struct pksm_claim *claim,
				unsigned int budget)
{
	struct pksm_hold hold;

	switch (pksm_hold_try(&hold, claim->space, claim->at)) {
	case PKSM_HELD_BUSY:
		claim->tries++;
		return PKSM_SCAN_BUSY;
	case PKSM_HELD_NONE:
		skip_hole(claim);
		break;
	case PKSM_HELD:
		claim->tries = 0;
		scan_vma(scan, claim, &hold, budget);
		pksm_hold_end(&hold);
		break;
	}
	if (claim->at < claim->end)
		return PKSM_SCAN_MORE;
	if (claim->second || bitmap_empty(claim->again, PKSM_RANGE_PAGES))
		return PKSM_SCAN_DONE;
	/* What failed for a reason that passes: once more before the claim ends. */
	claim->second = true;
	claim->at = claim->start;
	return PKSM_SCAN_MORE;
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
 * The memory that this takes is charged to the process whose pages are recorded.
 * Context: process, inside the gate, holding nothing; sleeps for memory and for
 * the locks of merged pages.
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
