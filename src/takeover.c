// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takeover: from the built-in engine to pksm, and back.
 *
 * The built-in engine is stopped, emptied, set and started again through its own
 * files; its list of address spaces is read and never written. Entered by the
 * threads that load and unload the module, and pksm_takeover_adopt() by the
 * engine as well. All may sleep. It owns no lock; it takes the built-in engine's
 * ksm_mmlist_lock, under which it takes none.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "builtin.h"
#include "compat/symbol.h"
#include "control.h"
#include "knob.h"
#include "takeover.h"
#include "tunable.h"

/* A process that is exiting may keep a merged page for a moment: try for 10 s. */
#define DRAIN_TRIES	100
#define DRAIN_MSECS	100
/* One try in so many looks at every process. */
#define DRAIN_SWEEP	8

/* The two bits of the built-in run that are not about memory going offline. */
#define RUN_MASK	3UL

/* As many address spaces are picked up at a time as pointers fit in a page. */
#define ADOPT_BATCH	(PAGE_SIZE / sizeof(struct mm_struct *))

/* What an administrator wrote to the built-in run last. */
static unsigned long run_found;

/*
 * The settings that are carried over and back. Those of the advisor come before
 * its mode, since switching it on makes use of one of them; pages_to_scan, which
 * switching it either way sets, is seen to after all of these.
 */
static const char *const settings[] = {
	"sleep_millisecs",
#ifdef CONFIG_NUMA
	"merge_across_nodes",
#endif
	"max_page_sharing",
	"stable_node_chains_prune_millisecs",
	"use_zero_pages",
	"smart_scan",
	"advisor_max_cpu",
	"advisor_min_pages_to_scan",
	"advisor_max_pages_to_scan",
	"advisor_target_scan_time",
	"advisor_mode",
};

static int read_run(unsigned long *run)
{
	int err = pksm_builtin_read("run", run);

	*run &= RUN_MASK;
	return err;
}

/**
 * pksm_takeover_preflight() - can the built-in engine let go of what it merged?
 * @force: try it even if there is not enough memory
 *
 * Context: loading the module, after pksm_builtin_init(); nothing has changed.
 * Return: 0; -ENOMEM, reported, if memory is short; else the error of reading
 * the built-in engine's files.
 */
int pksm_takeover_preflight(bool force)
{
	unsigned long sharing, zero, free = si_mem_available();
	int err = pksm_builtin_read("pages_sharing", &sharing);

	if (!err)
		err = pksm_builtin_read("ksm_zero_pages", &zero);
	if (!err)
		err = read_run(&run_found);
	if (err) {
		pr_err("not loaded: the built-in KSM's files cannot be read, error %d\n", err);
		return err;
	}
	/* Each of these becomes a page of its own. */
	sharing += zero;
	if (sharing <= free || force)
		return 0;
	pr_err("not loaded: the built-in KSM saves %lu MiB and %lu MiB are available; free memory, or load with force=1\n",
	       sharing >> (20 - PAGE_SHIFT), free >> (20 - PAGE_SHIFT));
	return -ENOMEM;
}

/*
 * Have the built-in engine unmerge everything, and stop. It does nothing when
 * told what it was told last, so 2 may take two steps.
 */
static int unmerge(void)
{
	int err = pksm_builtin_write("run", PKSM_RUN_STOP);

	if (!err)
		err = pksm_builtin_write("run", PKSM_RUN_UNMERGE);
	if (!err)
		err = pksm_builtin_write("run", PKSM_RUN_STOP);
	return err;
}

/*
 * A write that was begun before the files were redirected, and that waits for
 * the built-in engine's mutex, shows in pksm_builtin_empty() except while it
 * gives way to others on its way to the queue. A grace period gets it there.
 */
static bool settled(void)
{
	if (!pksm_builtin_empty())
		return false;
	synchronize_rcu_tasks();
	return pksm_builtin_empty();
}

/**
 * pksm_takeover_drain() - empty the built-in engine and stop it for good
 * @sweep: unmerges what any process maps
 *
 * The built-in engine unmerges the processes that it knows. Others may map its
 * pages too: when it merges what a child shares with its parent since a fork,
 * the page becomes a merged one in the parent's page tables as well, and the
 * parent need not be registered. For those there is @sweep.
 *
 * A run value that a late writer brings is remembered like the one that was
 * found. A failure is reported, and leaves what pksm_takeover_undo() undoes.
 *
 * Context: loading the module, after pksm_sysfs_attach(). Sleeps long: pages
 * are unmerged.
 * Return: 0; -EBUSY if something stays merged; -EINTR or -ERESTARTSYS on a
 * signal; else the error of unmerging, mostly -ENOMEM.
 */
int pksm_takeover_drain(void (*sweep)(void))
{
	unsigned long run = 0;
	int err = 0;

	for (int tries = 0; !err && tries < DRAIN_TRIES; tries++) {
		err = read_run(&run);
		/* From the second time on, 0 is what we left there. */
		if (!err && (run || !tries))
			run_found = run;
		if (!err)
			err = unmerge();
		if (!err && settled())
			return 0;
		if (!err && tries % DRAIN_SWEEP == 1)
			sweep();
		if (!err && msleep_interruptible(DRAIN_MSECS) && fatal_signal_pending(current))
			err = -EINTR;
	}
	if (err == -EINTR || err == -ERESTARTSYS)
		pr_err("not loaded: interrupted, or killed for lack of memory, while the built-in KSM unmerged its pages; try again\n");
	else if (err)
		pr_err("not loaded: the built-in KSM cannot unmerge its pages, error %d; free memory and try again\n",
		       err);
	else
		pr_err("not loaded: the built-in KSM still holds merged pages of processes that are exiting; try again\n");
	return err ?: -EBUSY;
}

/**
 * pksm_takeover_run() - the run value that was found
 *
 * Context: after pksm_takeover_drain() succeeded.
 * Return: 0, 1 or 2.
 */
unsigned int pksm_takeover_run(void)
{
	return run_found;
}

/* A file that lists its choices is written with the one in brackets. */
static const char *choice(char *text)
{
	char *from = strchr(text, '[');
	char *to = from ? strchr(from, ']') : NULL;

	if (!to)
		return text;
	*to = '\0';
	return from + 1;
}

/**
 * pksm_takeover_carry() - take over the built-in engine's settings
 *
 * Context: loading the module, after pksm_takeover_drain(), with the engine
 * ready. May sleep.
 * Return: 0; -ENOMEM; or the error, reported, of a setting that was not
 * accepted.
 */
int pksm_takeover_carry(void)
{
	char *page = (char *)__get_free_page(GFP_KERNEL);
	unsigned long pages;
	int err = page ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !err; i++) {
		const struct pksm_knob *knob = pksm_knob_find(settings[i]);

		err = pksm_builtin_show(settings[i], page);
		if (!err)
			err = knob->store(knob, choice(page));
		if (err)
			pr_err("not loaded: the built-in KSM's setting of %s cannot be kept, error %d\n",
			       settings[i], err);
	}
	/* Its file cannot be written while the advisor is on. */
	if (!err)
		err = pksm_builtin_read("pages_to_scan", &pages);
	if (!err)
		WRITE_ONCE(pksm_tunables.pages_to_scan, pages);
	free_page((unsigned long)page);
	return err;
}

/* Note a batch of address spaces of the built-in list, holding each. */
static size_t collect(struct mm_struct **mms, size_t skip)
{
	struct pksm_native_slot *slot;
	size_t n = 0;

	spin_lock(pksm_data_ksm_mmlist_lock);
	list_for_each_entry(slot, &pksm_data_ksm_mm_head->list, list) {
		if (skip) {
			skip--;
			continue;
		}
		mmgrab(slot->mm);
		mms[n++] = slot->mm;
		if (n == ADOPT_BATCH)
			break;
	}
	spin_unlock(pksm_data_ksm_mmlist_lock);
	return n;
}

/**
 * pksm_takeover_adopt() - enter the address spaces that the built-in engine knows
 * @enter: enters one; called without locks, with a reference on the address
 *	space that ends when it returns, and again for those entered before
 *
 * A process may have been in the original enter when the hooks went live, and
 * when there are more than fit in one batch, an exit between two batches moves
 * others ahead unseen: so this is to be repeated, at the start of each pass.
 * Those that have no user any more are left out.
 *
 * Context: may sleep; with the hooks live.
 * Return: 0, -ENOMEM, or the first error of @enter, which ends it.
 */
int pksm_takeover_adopt(int (*enter)(struct mm_struct *mm))
{
	struct mm_struct **mms = (struct mm_struct **)__get_free_page(GFP_KERNEL);
	size_t n, skip = 0;
	int err = 0;

	if (!mms)
		return -ENOMEM;
	do {
		n = collect(mms, skip);
		skip += n;
		for (size_t i = 0; i < n; i++) {
			if (!err && atomic_read(&mms[i]->mm_users))
				err = enter(mms[i]);
			mmdrop(mms[i]);
		}
		cond_resched();
	} while (n == ADOPT_BATCH && !err);
	free_page((unsigned long)mms);
	return err;
}

static void restart(unsigned long run)
{
	int err = pksm_builtin_write("run", run);

	if (err)
		pr_warn("the built-in KSM does not take back run=%lu, error %d; write it again\n",
			run, err);
}

/**
 * pksm_takeover_undo() - let the built-in engine go on as if nothing had been
 *
 * Context: a load that failed, after pksm_takeover_drain(), whatever that
 * returned; before pksm_sysfs_detach(). May sleep.
 */
void pksm_takeover_undo(void)
{
	restart(run_found);
}

/**
 * pksm_takeover_give_back() - let the built-in engine go on with our settings
 * @run: the run value that it gets
 *
 * Context: unloading the module, when no page is merged and the hooks are off;
 * before pksm_sysfs_detach(). May sleep.
 */
void pksm_takeover_give_back(unsigned int run)
{
	char *page = (char *)__get_free_page(GFP_KERNEL);

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct pksm_knob *knob = pksm_knob_find(settings[i]);
		int err = -ENOMEM;

		if (page && knob->show(knob, page) > 0)
			err = pksm_builtin_store(settings[i], choice(page));
		if (err)
			pr_warn("the built-in KSM does not take back %s, error %d; set it again\n",
				settings[i], err);
	}
	if (!pksm_tunables.advisor_scan_time)
		pksm_builtin_write("pages_to_scan", pksm_tunables.pages_to_scan);
	free_page((unsigned long)page);
	restart(run);
}
