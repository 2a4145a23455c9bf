/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunables: what an administrator sets under /sys/kernel/mm/ksm.
 *
 * Readers take no lock: each field is one word, read with READ_ONCE() where it
 * is used. Writers are the sysfs stores; those whose new value is only right
 * while nothing is merged go through control.h.
 */
#ifndef PKSM_TUNABLE_H
#define PKSM_TUNABLE_H

#include <linux/types.h>

/**
 * struct pksm_tunables - the settings, under the names of their files
 * @pages_to_scan: pages the whole engine visits between two sleeps
 * @sleep_millisecs: length of that sleep, in milliseconds
 * @max_page_sharing: mappings one merged frame takes before a copy is made, >= 2
 * @merge_across_nodes: 0 keeps the contents of each NUMA node apart
 * @use_zero_pages: merge all-zero pages with the kernel's zero page
 * @smart_scan: skip pages that were visited in vain before
 * @stable_node_chains_prune_millisecs: kept for its readers; copies need no pruning
 * @advisor_scan_time: the scan-time advisor chooses @pages_to_scan
 * @advisor_max_cpu: cap for the sum over all workers, percent of one CPU
 * @advisor_min_pages_to_scan: what the advisor starts from
 * @advisor_max_pages_to_scan: most that the advisor may choose
 * @advisor_target_scan_time: wanted length of a pass, in seconds
 * @huge_min_matches: parts of a huge page that must have a match before it is split
 */
struct pksm_tunables {
	unsigned int pages_to_scan;
	unsigned int sleep_millisecs;
	int max_page_sharing;
	unsigned int merge_across_nodes;
	bool use_zero_pages;
	bool smart_scan;
	unsigned int stable_node_chains_prune_millisecs;
	bool advisor_scan_time;
	unsigned int advisor_max_cpu;
	unsigned long advisor_min_pages_to_scan;
	unsigned long advisor_max_pages_to_scan;
	unsigned long advisor_target_scan_time;
	unsigned int huge_min_matches;
};

extern struct pksm_tunables pksm_tunables;

#endif
