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
struct pksm_range;
struct pksm_share;

/**
 * struct pksm_claim - a part of a space that one worker has to itself
 * @space: the space, referenced; NULL: no claim
 * @gap: from here to @start nothing is mapped: records there are dropped
 * @start: first address to visit
 * @end: one behind the last; in the same 2 MiB range as @start
 * @at: next address to visit
 * @range: the records, when they were met already
 * @tries: jiffies in which its locks were not to be had
 * @tried: the last of them
 * @again: pages that have to be visited once more, by page of the range
 * @round: rounds in vain; from the second round on only pages in @again are visited
 * @progress: a page of @again was done with in this round
 * @busy: a page met since there was progress was busy, and may not be in a moment
 * @contended: one was contended, and will not be in a moment
 * @kept: parts of a huge page that have a match, by page of the range
 * @split: these are enough, it is split
 */
struct pksm_claim {
	struct pksm_mm *space;
	unsigned long gap;
	unsigned long start;
	unsigned long end;
	unsigned long at;
	struct pksm_range *range;
	unsigned int tries;
	unsigned long tried;
	DECLARE_BITMAP(again, PKSM_RANGE_PAGES);
	u16 round;
	bool progress;
	bool busy;
	bool contended;
	bool split;
	DECLARE_BITMAP(kept, PKSM_RANGE_PAGES);
};

/**
 * enum pksm_pass_step - what a worker gets when it asks for work
 * @PKSM_PASS_CLAIM: a claim
 * @PKSM_PASS_END: the pass has just ended
 * @PKSM_PASS_WAIT: others do what is left of this pass, or begin the next
 * @PKSM_PASS_BUSY: what there is to do is busy: ask again in a moment
 * @PKSM_PASS_IDLE: nothing is to be begun: nothing is registered that has mergeable
 *	memory, or the budget ended with the last pass
 */
enum pksm_pass_step {
	PKSM_PASS_CLAIM,
	PKSM_PASS_END,
	PKSM_PASS_WAIT,
	PKSM_PASS_BUSY,
	PKSM_PASS_IDLE,
};

enum pksm_pass_step pksm_pass_claim(struct pksm_claim *claim, const struct pksm_share *share,
				    unsigned long *seen);
void pksm_pass_wait(unsigned long seen, unsigned long timeout);
void pksm_pass_release(struct pksm_claim *claim);
void pksm_pass_return(struct pksm_claim *claim);
unsigned long pksm_pass_full_scans(void);
void pksm_pass_reset(void);

#endif
