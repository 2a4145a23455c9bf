/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters: what the engine has done and holds.
 *
 * Written per CPU without a lock by whoever did the thing; a sum is exact
 * whenever nothing moves (run is 0, or a pass has just ended).
 */
#ifndef PKSM_COUNTER_H
#define PKSM_COUNTER_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "outcome.h"

/**
 * enum pksm_count - what is counted
 * @PKSM_COUNT_NODES: stable nodes that carry at least one item (pages_shared)
 * @PKSM_COUNT_STABLE: items on stable nodes (pages_shared + pages_sharing)
 * @PKSM_COUNT_UNSTABLE: items in the unstable trees (pages_unshared)
 * @PKSM_COUNT_RECORDS: page records of living spaces
 * @PKSM_COUNT_SCANNED: pages visited and not skipped by age
 * @PKSM_COUNT_SKIPPED: pages skipped by age
 * @PKSM_COUNT_CHAINS: contents that have more than one stable node
 * @PKSM_COUNT_DUPS: stable nodes of such contents
 * @PKSM_COUNT_BYTES: bytes of metadata held, slab slack left out
 * @PKSM_COUNT_MAX: number of these
 */
enum pksm_count {
	PKSM_COUNT_NODES,
	PKSM_COUNT_STABLE,
	PKSM_COUNT_UNSTABLE,
	PKSM_COUNT_RECORDS,
	PKSM_COUNT_SCANNED,
	PKSM_COUNT_SKIPPED,
	PKSM_COUNT_CHAINS,
	PKSM_COUNT_DUPS,
	PKSM_COUNT_BYTES,
	PKSM_COUNT_MAX,
};

/**
 * struct pksm_counters - one CPU's share, or a sum
 * @count: by &enum pksm_count; a CPU's share may be negative
 * @outcome: visits of a page by &enum pksm_outcome
 */
struct pksm_counters {
	long count[PKSM_COUNT_MAX];
	long outcome[PKSM_OUTCOME_MAX];
};

DECLARE_PER_CPU(struct pksm_counters, pksm_counters);

/**
 * pksm_count_add() - add to a counter
 * @which: the counter
 * @n: what to add, may be negative
 *
 * Context: any.
 */
static inline void pksm_count_add(enum pksm_count which, long n)
{
	this_cpu_add(pksm_counters.count[which], n);
}

void pksm_counter_sum(struct pksm_counters *sum);
long pksm_count_sum(enum pksm_count which);

#endif
