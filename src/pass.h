/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes: which range is visited next, and by whom.
 */
#ifndef PKSM_PASS_H
#define PKSM_PASS_H

#include <linux/bitmap.h>
#include <linux/types.h>

#include "record.h"

struct pksm_mm;

/**
 * struct pksm_claim - a part of a space that one worker has to itself
 * @space: the space, referenced; NULL: no claim
 * @gap: from here to @start nothing is mapped: records there are dropped
 * @start: first address to visit
 * @end: one behind the last; in the same 2 MiB range as @start
 * @at: next address to visit
 * @tries: times that its locks were not to be had
 * @again: pages that have to be visited once more, by page of the range
 * @second: only those are visited now
 */
struct pksm_claim {
	struct pksm_mm *space;
	unsigned long gap;
	unsigned long start;
	unsigned long end;
	unsigned long at;
	unsigned int tries;
	DECLARE_BITMAP(again, PKSM_RANGE_PAGES);
	bool second;
};

/**
 * enum pksm_pass_step - what a worker gets when it asks for work
 * @PKSM_PASS_CLAIM: a claim
 * @PKSM_PASS_END: the pass has just ended
 * @PKSM_PASS_WAIT: others still work in this pass, or locks are busy: ask again
 * @PKSM_PASS_IDLE: nothing is registered that has mergeable memory
 */
enum pksm_pass_step {
	PKSM_PASS_CLAIM,
	PKSM_PASS_END,
	PKSM_PASS_WAIT,
	PKSM_PASS_IDLE,
};

enum pksm_pass_step pksm_pass_claim(struct pksm_claim *claim);
void pksm_pass_release(struct pksm_claim *claim);
void pksm_pass_return(struct pksm_claim *claim);
unsigned long pksm_pass_full_scans(void);
void pksm_pass_reset(void);

#endif
