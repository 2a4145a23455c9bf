/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scanning: visiting the pages of a claim in batches.
 */
#ifndef PKSM_SCAN_H
#define PKSM_SCAN_H

#include <linux/pagevec.h>

#include "outcome.h"
#include "record.h"
#include "table.h"

struct pksm_claim;

/* Pages of one batch: some 30 microseconds of hashing. */
#define PKSM_SCAN_BATCH	64U

/**
 * struct pksm_scan - what a scanning thread works with
 * @entries: pages of the batch
 * @scratch: for arranging records
 * @gone: references to pages that were given up in this batch
 * @outcome: of the visits of the batch
 */
struct pksm_scan {
	struct pksm_entry entries[PKSM_SCAN_BATCH];
	struct pksm_scratch scratch;
	struct folio_batch gone;
	unsigned int outcome[PKSM_OUTCOME_MAX];
};

/**
 * enum pksm_scan_step - how far a batch brought a claim
 * @PKSM_SCAN_DONE: all of it was visited, or its process is gone
 * @PKSM_SCAN_MORE: there is more to visit
 * @PKSM_SCAN_BUSY: its locks were not to be had, or pages of it stayed busy; come
 *	back later
 */
enum pksm_scan_step {
	PKSM_SCAN_DONE,
	PKSM_SCAN_MORE,
	PKSM_SCAN_BUSY,
};

enum pksm_scan_step pksm_scan_batch(struct pksm_scan *scan, struct pksm_claim *claim,
				    unsigned int budget, unsigned int *scanned);

#endif
