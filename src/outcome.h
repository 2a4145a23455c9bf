/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Outcomes: what became of one page on one visit. Every way out of the ladder
 * in page.c has a name here, so that "why was this page not merged?" has an
 * answer in the trace and in the counters.
 */
#ifndef PKSM_OUTCOME_H
#define PKSM_OUTCOME_H

/* X(symbol, printed name): the first column is what code says, the second what people read. */
#define PKSM_OUTCOMES(X)			\
	X(MERGED, "merged")			\
	X(ADOPTED, "adopted")			\
	X(ZERO, "zero")				\
	X(JOINED, "joined")			\
	X(PAIRED, "paired")			\
	X(WAITING, "waiting")			\
	X(RESTING, "resting")			\
	X(CHANGED, "changed")			\
	X(SKIPPED, "skipped")			\
	X(GONE, "gone")				\
	X(UNFIT, "unfit")			\
	X(POISONED, "poisoned")			\
	X(BUSY, "busy")				\
	X(CONTENDED, "contended")		\
	X(PINNED, "pinned")			\
	X(KEPT, "kept")				\
	X(DIFFERENT, "different")		\
	X(FULL, "full")				\
	X(NOMEM, "nomem")

/*
 * enum pksm_outcome: what became of a page.
 *
 * MERGED: was merged already and is where it should be. ADOPTED: was merged,
 * its item was missing (a fork) and was appended. ZERO, JOINED, PAIRED: merged
 * now, with the zero page, with a merged page, with another plain page.
 * WAITING: entered the unstable tree. RESTING: is there since an earlier pass.
 * CHANGED: content differs from the last visit. SKIPPED: by age. GONE: no
 * longer mapped there. UNFIT: not a kind of page that can be merged. POISONED:
 * hardware poison. BUSY: a lock was not to be had, or somebody had a reference for the
 * moment. CONTENDED: another worker is at this page or this content. PINNED: the page
 * is pinned (get_user_pages()). KEPT: a huge page with too few matches to be split for
 * them. DIFFERENT: equal hash, different bytes. FULL: what was
 * found was filled by others first: looked up again. NOMEM: no memory for a record or
 * a node.
 */
enum pksm_outcome {
#define X(symbol, name) PKSM_##symbol,
	PKSM_OUTCOMES(X)
#undef X
	PKSM_OUTCOME_MAX,
};

#endif
