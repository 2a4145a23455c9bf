// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inside: waiting until no thread is inside functions the kernel was sent to.
 *
 * Entered by the thread that loads or unloads the module. It owns no lock: the
 * counters are the callers', and of a counter's parts only the sum means
 * anything, since a thread may leave on another CPU than it entered on.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include "inside.h"

#define POLL_MSECS 10

static bool anyone(long __percpu *inside)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(inside, cpu));
	return sum;
}

/**
 * pksm_inside_drain() - wait until nobody is inside
 * @inside: the counter that those who are inside are counted in
 *
 * The caller has made sure already that the kernel sends nobody there any more.
 * A thread between being sent and counting itself in, or between counting
 * itself out and its return, has not slept of its own will: for those it waits
 * with grace periods. Between the two the sum only falls, so a sum of zero is
 * true though its parts are read one after the other.
 *
 * Context: may sleep, for as long as anyone sleeps inside.
 */
void pksm_inside_drain(long __percpu *inside)
{
	synchronize_rcu_tasks();
	while (anyone(inside))
		msleep(POLL_MSECS);
	synchronize_rcu_tasks();
}
