// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advisor: after each pass it compares the time that the pass took with the time
 * that the administrator wants, and sets pages_to_scan.
 *
 * Entered at the borders of a pass, with the pass lock held, which covers its
 * memory. Owns no lock.
 *
 * The rules are those of the built-in engine's scan-time advisor, so that its
 * documentation holds: the rate follows the ratio of the times, weighted with how
 * fast that ratio changes (an exponentially weighted mean, new values counting
 * 30%), and stays between 10% of a CPU and advisor_max_cpu, of the time of all
 * workers together.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "advisor.h"
#include "tunable.h"
#include "worker.h"

#define WEIGHT_NEW	30UL
#define CPU_MIN		10UL

static struct {
	ktime_t began;
	u64 runtime;
	unsigned long seconds;
	unsigned long change;
} last;

/**
 * pksm_advisor_begin() - a pass begins
 *
 * Context: pass lock held.
 */
void pksm_advisor_begin(void)
{
	last.began = ktime_get();
}

static unsigned long percent(unsigned long value, unsigned long of)
{
	return max(value * 100 / max(of, 1UL), 1UL);
}

/**
 * pksm_advisor_end() - a pass has ended
 *
 * Context: pass lock held.
 */
void pksm_advisor_end(void)
{
	struct pksm_tunables *set = &pksm_tunables;
	unsigned long pages, per_cpu, cpu, seconds, change;
	u64 runtime, used;

	if (!READ_ONCE(set->advisor_scan_time))
		return;
	seconds = max_t(unsigned long, 1,
			div_s64(ktime_ms_delta(ktime_get(), last.began), MSEC_PER_SEC));
	runtime = pksm_worker_runtime();
	used = div_u64(runtime - last.runtime, NSEC_PER_MSEC);
	cpu = percent(used, seconds * MSEC_PER_SEC);

	change = percent(seconds, last.seconds ? last.seconds : seconds);
	change = ((100 - WEIGHT_NEW) * last.change + WEIGHT_NEW * change) / 100;
	pages = set->pages_to_scan * 100UL /
		percent(READ_ONCE(set->advisor_target_scan_time), seconds);
	pages = pages * change / 100;

	per_cpu = max(set->pages_to_scan / cpu, 1UL);
	pages = min(pages, per_cpu * READ_ONCE(set->advisor_max_cpu));
	pages = max(pages, per_cpu * CPU_MIN);
	pages = min(pages, READ_ONCE(set->advisor_max_pages_to_scan));

	last.change = change;
	last.seconds = seconds;
	last.runtime = runtime;
	WRITE_ONCE(set->pages_to_scan, pages);
	pksm_worker_kick();
}
