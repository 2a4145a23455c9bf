// SPDX-License-Identifier: GPL-2.0-only
/*
 * Budget: pages_to_scan for each sleep_millisecs, shared by all workers.
 *
 * A worker takes a share, visits pages, and gives back what it did not use. When
 * nothing is left the engine rests, and the next one to come after that gets a new
 * budget for all.
 *
 * Entered by workers. Owns the budget lock, a spinlock: it covers what is left and
 * the rest. It is innermost, and taken once for hundreds of pages.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include "budget.h"
#include "tunable.h"

/* A share: enough to make the lock rare, little enough to leave some to others. */
#define SHARE_MIN	64U
#define SHARE_MAX	512U

static DEFINE_SPINLOCK(budget_lock);
static unsigned int left;
static unsigned long ends;
static unsigned long rest_end = INITIAL_JIFFIES;
static unsigned int rest_msecs;

static void begin_rest(void)
{
	lockdep_assert_held(&budget_lock);
	rest_end = jiffies + msecs_to_jiffies(rest_msecs);
}

/*
 * How long the engine still has to rest, in jiffies. Whoever writes another value to
 * sleep_millisecs ends the rest, as with the built-in engine; if it was not resting,
 * there is none after this budget, so that no such call is lost.
 */
static unsigned long rest(void)
{
	lockdep_assert_held(&budget_lock);
	if (left || rest_msecs != READ_ONCE(pksm_tunables.sleep_millisecs) ||
	    time_after_eq(jiffies, rest_end))
		return 0;
	return rest_end - jiffies;
}

/**
 * pksm_budget_take() - get a share of the budget
 * @workers: among how many it is shared
 * @share: filled in
 *
 * Return: true; false while the engine rests.
 */
bool pksm_budget_take(unsigned int workers, struct pksm_share *share)
{
	share->pages = 0;

	spin_lock(&budget_lock);
	if (!left && !rest()) {
		left = READ_ONCE(pksm_tunables.pages_to_scan);
		rest_msecs = READ_ONCE(pksm_tunables.sleep_millisecs);
		if (!left)
			begin_rest();
	}
	if (left) {
		share->pages = min(left, clamp(left / (2 * workers), SHARE_MIN, SHARE_MAX));
		share->ends = ends;
		left -= share->pages;
		/* From now on; whoever finishes later puts it off. */
		if (!left)
			begin_rest();
	}
	spin_unlock(&budget_lock);
	return share->pages;
}

/**
 * pksm_budget_give() - a share is used up, or given back
 * @share: the share, less the pages that were visited
 */
void pksm_budget_give(const struct pksm_share *share)
{
	spin_lock(&budget_lock);
	/* Of a budget that was ended nothing comes back. */
	if (share->ends == ends)
		left += share->pages;
	if (!left)
		begin_rest();
	spin_unlock(&budget_lock);
}

/**
 * pksm_budget_ended() - has the budget been ended of which this is a share?
 * @share: a share
 *
 * Return: true when whoever has it may finish what was begun, and begin nothing.
 */
bool pksm_budget_ended(const struct pksm_share *share)
{
	bool ended;

	spin_lock(&budget_lock);
	ended = share->ends != ends;
	spin_unlock(&budget_lock);
	return ended;
}

/**
 * pksm_budget_end() - the engine rests now, whatever is left
 */
void pksm_budget_end(void)
{
	spin_lock(&budget_lock);
	left = 0;
	ends++;
	begin_rest();
	spin_unlock(&budget_lock);
}

/**
 * pksm_budget_rest() - how long to wait for a budget
 *
 * Return: jiffies, at least 1.
 */
unsigned long pksm_budget_rest(void)
{
	unsigned long jiffies_left;

	spin_lock(&budget_lock);
	jiffies_left = rest();
	spin_unlock(&budget_lock);
	return max(jiffies_left, 1UL);
}
