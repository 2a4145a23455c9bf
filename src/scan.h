/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scanning: visiting the pages of a claim in batches.
 */
#ifndef PKSM_SCAN_H
#define PKSM_SCAN_H

#include "outcome.h"
#include "record.h"
#include "table.h"

struct pksm_claim;

/**
 * struct pksm_scan - what a scanning thread works with
 * @entries: pages of the batch
 * @scratch: for arranging records
 * @outcome: of the visits of the batch
 */
struct pksm_scan {
	struct pksm_entry entries[PKSM_RANGE_PAGES];
	struct pksm_scratch scratch;
	unsigned int outcome[PKSM_OUTCOME_MAX];
};

/**
 * enum pksm_scan_step - how far a batch brought a claim
 * @PKSM_SCAN_DONE: all of it was visited, or its process is gone
 * @PKSM_SCAN_MORE: there is more to visit
 * @PKSM_SCAN_BUSY: the locks were not to be had; come back later
 */
enum pksm_scan_step {
	PKSM_SCAN_DONE,
	PKSM_SCAN_MORE,
	PKSM_SCAN_BUSY,
};

enum pksm_scan_step pksm_scan_batch(struct pksm_scan *scan, struct pksm_claim *claim,
				    unsigned int budget, unsigned int *scanned);

#endif
