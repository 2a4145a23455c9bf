// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debug: /sys/kernel/debug/pksm/outcomes tells how often a visit of a page ended in
 * which way, so that "why was this page not merged?" has an answer without
 * tracing.
 *
 * Entered by readers of the file; owns no lock. Without debugfs there is no file,
 * and nothing else changes.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "counter.h"
#include "debug.h"

static struct dentry *dir;

static const char * const names[PKSM_OUTCOME_MAX] = {
#define X(symbol, name) name,
	PKSM_OUTCOMES(X)
#undef X
};

static int outcomes_show(struct seq_file *file, void *unused)
{
	struct pksm_counters sum;
	unsigned int i;

	pksm_counter_sum(&sum);
	for (i = 0; i < PKSM_OUTCOME_MAX; i++)
		seq_printf(file, "%s %ld\n", names[i], sum.outcome[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(outcomes);

/**
 * pksm_debug_init() - make the file
 *
 * Context: module load.
 */
void __init pksm_debug_init(void)
{
	dir = debugfs_create_dir("pksm", NULL);
	debugfs_create_file("outcomes", 0444, dir, NULL, &outcomes_fops);
}

/**
 * pksm_debug_exit() - remove it; waits for readers
 *
 * Context: module exit.
 */
void pksm_debug_exit(void)
{
	debugfs_remove_recursive(dir);
}
