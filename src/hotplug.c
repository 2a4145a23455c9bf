// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hotplug: keeps the engine off memory that goes offline.
 *
 * Entered by the kernel's memory notifier, in the context of whoever offlines a
 * block. Migration needs the nodes until the frames are gone, so they are told to
 * forget their frames only then; in between the gate is shut, since a node looks
 * at the struct page of its frame. Owns no lock: the kernel offlines one range at
 * a time (mem_hotplug_lock).
 */
#include <linux/memory.h>
#include <linux/notifier.h>

#include "control.h"
#include "hotplug.h"
#include "stable.h"

/*
 * A listener before us may refuse, and then CANCEL comes without GOING_OFFLINE:
 * only what we shut is opened.
 */
static bool shut;

static int notified(struct notifier_block *self, unsigned long action, void *arg)
{
	const struct memory_notify *range = arg;

	switch (action) {
	case MEM_GOING_OFFLINE:
		pksm_control_offline_begin();
		shut = true;
		break;
	case MEM_OFFLINE:
		pksm_stable_forget(range->start_pfn, range->start_pfn + range->nr_pages);
		fallthrough;
	case MEM_CANCEL_OFFLINE:
		if (!shut)
			break;
		shut = false;
		pksm_control_offline_end();
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block notifier = {
	.notifier_call = notified,
	.priority = KSM_CALLBACK_PRI,
};

/**
 * pksm_hotplug_init() - listen to memory going offline
 *
 * Return: 0 or -errno.
 */
int __init pksm_hotplug_init(void)
{
	return register_memory_notifier(&notifier);
}

/**
 * pksm_hotplug_exit() - listen no more
 */
void pksm_hotplug_exit(void)
{
	unregister_memory_notifier(&notifier);
}
