// SPDX-License-Identifier: GPL-2.0-only
/*
 * Knobs: what each file under /sys/kernel/mm/ksm says and takes.
 *
 * The names, the accepted texts, the errors and the printed texts are those of
 * the built-in engine, because programs depend on them to the letter.
 *
 * Entered by whoever reads or writes a file, through sysfs.c, and by the thread
 * that loads or unloads the module, with nothing held that matters here. All
 * may sleep. It owns mode_lock; the settings themselves need no lock (tunable.h)
 * and what needs a quiet engine is control.h's business.
 */
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "compat/symbol.h"
#include "control.h"
#include "counter.h"
#include "knob.h"
#include "pass.h"
#include "record.h"
#include "tunable.h"
#include "worker.h"

/* What pages_to_scan becomes when the advisor is switched off. */
#define PAGES_TO_SCAN_DEFAULT 100U

/*
 * Orders switching the advisor and writing pages_to_scan, so that a number
 * written by a person never ends up under an advisor that was just switched on.
 * Nothing is taken under it.
 */
static DEFINE_MUTEX(mode_lock);

static int show_number(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(*knob->number));
}

static int show_long(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%lu\n", READ_ONCE(*knob->number_long));
}

static int show_flag(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(*knob->flag));
}

/* Numbers that are too big are not told from texts that are no numbers. */
static int store_number(const struct pksm_knob *knob, const char *text)
{
	unsigned int value;

	if (kstrtouint(text, 10, &value))
		return -EINVAL;
	WRITE_ONCE(*knob->number, value);
	return 0;
}

static int store_long(const struct pksm_knob *knob, const char *text)
{
	unsigned long value;

	if (kstrtoul(text, 10, &value))
		return -EINVAL;
	WRITE_ONCE(*knob->number_long, value);
	return 0;
}

static int store_flag(const struct pksm_knob *knob, const char *text)
{
	bool value;

	if (kstrtobool(text, &value))
		return -EINVAL;
	WRITE_ONCE(*knob->flag, value);
	return 0;
}

static int store_sleep(const struct pksm_knob *knob, const char *text)
{
	int err = store_number(knob, text);

	if (!err)
		pksm_control_sleep_changed();
	return err;
}

static int store_pages_to_scan(const struct pksm_knob *knob, const char *text)
{
	int err;

	guard(mutex)(&mode_lock);
	if (READ_ONCE(pksm_tunables.advisor_scan_time))
		return -EINVAL;
	err = store_number(knob, text);
	if (!err)
		pksm_control_pages_changed();
	return err;
}

static int show_run(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%u\n", pksm_control_run());
}

static int store_run(const struct pksm_knob *knob, const char *text)
{
	unsigned int run;

	if (kstrtouint(text, 10, &run) || run > PKSM_RUN_UNMERGE)
		return -EINVAL;
	return pksm_control_run_set(run);
}

#ifdef CONFIG_NUMA
static int store_across(const struct pksm_knob *knob, const char *text)
{
	unsigned long across;
	int err = kstrtoul(text, 10, &across);

	if (err)
		return err;
	if (across > 1)
		return -EINVAL;
	return pksm_control_across_set(across);
}
#endif

static int show_sharing_limit(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(pksm_tunables.max_page_sharing));
}

static int store_sharing_limit(const struct pksm_knob *knob, const char *text)
{
	int limit;
	int err = kstrtoint(text, 10, &limit);

	if (err)
		return err;
	if (limit < 2)
		return -EINVAL;
	return pksm_control_sharing_set(limit);
}

static int show_mode(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%s\n", READ_ONCE(*knob->flag) ? "none [scan-time]" :
								 "[none] scan-time");
}

static int store_mode(const struct pksm_knob *knob, const char *text)
{
	bool scan_time = sysfs_streq(text, "scan-time");
	unsigned long pages;

	if (!scan_time && !sysfs_streq(text, "none"))
		return -EINVAL;
	guard(mutex)(&mode_lock);
	if (scan_time == READ_ONCE(*knob->flag))
		return 0;
	WRITE_ONCE(*knob->flag, scan_time);
	pages = scan_time ? READ_ONCE(pksm_tunables.advisor_min_pages_to_scan) :
			    PAGES_TO_SCAN_DEFAULT;
	WRITE_ONCE(pksm_tunables.pages_to_scan, pages);
	pksm_control_pages_changed();
	return 0;
}

/* Takes numbers that do not fit, and keeps their low bits, as it always did. */
static int store_max_cpu(const struct pksm_knob *knob, const char *text)
{
	unsigned long value;

	if (kstrtoul(text, 10, &value))
		return -EINVAL;
	WRITE_ONCE(*knob->number, value);
	return 0;
}

static int store_target(const struct pksm_knob *knob, const char *text)
{
	unsigned long value;

	if (kstrtoul(text, 10, &value) || !value)
		return -EINVAL;
	WRITE_ONCE(*knob->number_long, value);
	return 0;
}

/* Sums of parts that move while they are read may come out below zero. */
static long positive(long value)
{
	return max(value, 0L);
}

static int show_count(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%ld\n", positive(pksm_count_sum(knob->count)));
}

static int show_sharing(const struct pksm_knob *knob, char *page)
{
	struct pksm_counters sum;

	pksm_counter_sum(&sum);
	return sysfs_emit(page, "%ld\n", positive(sum.count[PKSM_COUNT_STABLE] -
						  sum.count[PKSM_COUNT_NODES]));
}

static int show_volatile(const struct pksm_knob *knob, char *page)
{
	struct pksm_counters sum;

	pksm_counter_sum(&sum);
	return sysfs_emit(page, "%ld\n", positive(sum.count[PKSM_COUNT_RECORDS] -
						  sum.count[PKSM_COUNT_STABLE] -
						  sum.count[PKSM_COUNT_UNSTABLE]));
}

static int show_zero(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%ld\n", atomic_long_read(pksm_data_ksm_zero_pages));
}

static int show_profit(const struct pksm_knob *knob, char *page)
{
	struct pksm_counters sum;
	long saved;

	pksm_counter_sum(&sum);
	saved = positive(sum.count[PKSM_COUNT_STABLE] - sum.count[PKSM_COUNT_NODES]) +
		atomic_long_read(pksm_data_ksm_zero_pages);
	return sysfs_emit(page, "%ld\n", saved * (long)PAGE_SIZE - sum.count[PKSM_COUNT_BYTES]);
}

static int show_full_scans(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%lu\n", pksm_pass_full_scans());
}

static int show_workers(const struct pksm_knob *knob, char *page)
{
	return sysfs_emit(page, "%u\n", pksm_worker_count());
}

static int store_workers(const struct pksm_knob *knob, const char *text)
{
	unsigned int workers;

	if (kstrtouint(text, 10, &workers))
		return -EINVAL;
	return pksm_control_workers_set(workers);
}

static int store_huge(const struct pksm_knob *knob, const char *text)
{
	unsigned int parts;

	if (kstrtouint(text, 10, &parts) || !parts || parts > PKSM_RANGE_PAGES)
		return -EINVAL;
	WRITE_ONCE(*knob->number, parts);
	return 0;
}

/* The files that the built-in engine does not have. */
const struct pksm_knob pksm_knob_workers = { "workers", show_workers, store_workers };
const struct pksm_knob pksm_knob_huge = { "huge_min_matches", show_number, store_huge,
					  { .number = &pksm_tunables.huge_min_matches } };

#define SETTING(field, by_show, by_store, member) \
	{ #field, by_show, by_store, { .member = &pksm_tunables.field } }
#define COUNTER(name, which) \
	{ #name, show_count, NULL, { .count = PKSM_COUNT_##which } }

static const struct pksm_knob knobs[] = {
	SETTING(sleep_millisecs, show_number, store_sleep, number),
	SETTING(pages_to_scan, show_number, store_pages_to_scan, number),
	{ "run", show_run, store_run },
	COUNTER(pages_scanned, SCANNED),
	COUNTER(pages_shared, NODES),
	{ "pages_sharing", show_sharing },
	COUNTER(pages_unshared, UNSTABLE),
	{ "pages_volatile", show_volatile },
	COUNTER(pages_skipped, SKIPPED),
	{ "ksm_zero_pages", show_zero },
	{ "full_scans", show_full_scans },
#ifdef CONFIG_NUMA
	SETTING(merge_across_nodes, show_number, store_across, number),
#endif
	{ "max_page_sharing", show_sharing_limit, store_sharing_limit },
	COUNTER(stable_node_chains, CHAINS),
	COUNTER(stable_node_dups, DUPS),
	SETTING(stable_node_chains_prune_millisecs, show_number, store_number, number),
	SETTING(use_zero_pages, show_flag, store_flag, flag),
	{ "general_profit", show_profit },
	SETTING(smart_scan, show_flag, store_flag, flag),
	{ "advisor_mode", show_mode, store_mode,
	  { .flag = &pksm_tunables.advisor_scan_time } },
	SETTING(advisor_max_cpu, show_number, store_max_cpu, number),
	SETTING(advisor_min_pages_to_scan, show_long, store_long, number_long),
	SETTING(advisor_max_pages_to_scan, show_long, store_long, number_long),
	SETTING(advisor_target_scan_time, show_long, store_target, number_long),
};

/**
 * pksm_knob_find() - what there is to know about a file
 * @name: its name
 *
 * Context: any.
 * Return: the knob, or NULL if there is no file of that name.
 */
const struct pksm_knob *pksm_knob_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!strcmp(knobs[i].name, name))
			return &knobs[i];
	return NULL;
}
