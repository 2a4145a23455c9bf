// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: one set for each CPU, summed when somebody reads.
 *
 * Entered by everybody, in any context; owns no lock.
 */
#include <linux/cpumask.h>

#include "counter.h"

DEFINE_PER_CPU(struct pksm_counters, pksm_counters);

/**
 * pksm_count_sum() - the value of one counter
 * @which: the counter
 *
 * Context: any.
 * Return: the sum over all possible CPUs, exact when nothing moves.
 */
long pksm_count_sum(enum pksm_count which)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(pksm_counters, cpu).count[which]);
	return sum;
}

/**
 * pksm_counter_sum() - the values of all counters
 * @sum: filled in
 *
 * Context: any.
 */
void pksm_counter_sum(struct pksm_counters *sum)
{
	int cpu, i;

	for (i = 0; i < PKSM_COUNT_MAX; i++)
		sum->count[i] = pksm_count_sum(i);
	for (i = 0; i < PKSM_OUTCOME_MAX; i++) {
		sum->outcome[i] = 0;
		for_each_possible_cpu(cpu)
			sum->outcome[i] += READ_ONCE(per_cpu(pksm_counters, cpu).outcome[i]);
	}
}
