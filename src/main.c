// SPDX-License-Identifier: GPL-2.0-only
/*
 * Main: the order in which the module starts, and the reverse.
 *
 * Entered by the threads that load and unload the module; both may sleep. It
 * owns no lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/module.h>

#include "builtin.h"
#include "compat/symbol.h"
#include "content.h"
#include "control.h"
#include "debug.h"
#include "device.h"
#include "entry.h"
#include "hook.h"
#include "hotplug.h"
#include "item.h"
#include "node.h"
#include "record.h"
#include "side.h"
#include "space.h"
#include "sweep.h"
#include "sysfs.h"
#include "takeover.h"
#include "trees.h"
#include "worker.h"

/* Between two tries to give back hooks that the tracer does not let go of. */
#define RETRY_MSECS 10000

static char *missing;
module_param(missing, charp, 0400);
MODULE_PARM_DESC(missing, "symbols to treat as missing, separated by commas (for tests)");

static bool force;
module_param(force, bool, 0400);
MODULE_PARM_DESC(force, "load even if unmerging what the built-in KSM merged may exhaust memory");

/*
 * As long as the kernel could still enter a replacement the module cannot go
 * away, and by now nothing can stop its going but not to return.
 */
static void release_hooks(void)
{
	int err;

	while ((err = pksm_hook_unregister())) {
		pr_err("cannot be unloaded: the function tracer keeps the hooks, error %d; reboot\n",
		       err);
		msleep(RETRY_MSECS);
	}
}

/* What the engine keeps, from the inside out; the workers wait at the gate. */
static int __init engine_start(void)
{
	int err;

	pksm_content_init();
	err = pksm_trees_init();
	if (err)
		return err;
	err = pksm_node_init();
	if (err)
		goto fail_node;
	err = pksm_item_init();
	if (err)
		goto fail_item;
	err = pksm_record_init();
	if (err)
		goto fail_record;
	err = pksm_space_init();
	if (err)
		goto fail_space;
	err = pksm_hotplug_init();
	if (err)
		goto fail_hotplug;
	err = pksm_side_init();
	if (err)
		goto fail_side;
	err = pksm_worker_init();
	if (err)
		goto fail_worker;
	return 0;

fail_worker:
	pksm_side_exit();
fail_side:
	pksm_hotplug_exit();
fail_hotplug:
	pksm_space_exit();
fail_space:
	pksm_record_exit();
fail_record:
	pksm_item_exit();
fail_item:
	pksm_node_exit();
fail_node:
	pksm_trees_exit();
	return err;
}

static void engine_stop(void)
{
	pksm_worker_exit();
	pksm_side_exit();
	pksm_hotplug_exit();
	pksm_space_exit();
	pksm_item_exit();
	pksm_record_exit();
	pksm_node_exit();
	pksm_trees_exit();
}

static int __init start(void)
{
	int err;

	err = pksm_symbol_init(missing);
	if (err)
		return err;
	err = pksm_builtin_init();
	if (err)
		return err;
	err = pksm_takeover_preflight(force);
	if (err)
		return err;
	err = engine_start();
	if (err)
		return err;
	err = pksm_hook_register(pksm_entry_hooks, pksm_entry_count);
	if (err)
		goto fail_hooks;
	err = pksm_sysfs_attach();
	if (err)
		goto fail_attach;
	err = pksm_takeover_drain(pksm_sweep_processes);
	if (err)
		goto fail_drain;
	err = pksm_takeover_carry();
	if (err)
		goto fail_drain;
	pksm_hook_live(true);
	err = pksm_takeover_adopt(pksm_space_adopt);
	if (err)
		goto fail_drain;
	err = pksm_device_init();
	if (err)
		goto fail_drain;
	pksm_debug_init();
	pksm_control_run_init(pksm_takeover_run());
	pksm_sysfs_open();
	return 0;

	/*
	 * The hooks were registered before the files were attached, but go
	 * before the built-in engine goes on: what it merges is not for them.
	 */
fail_drain:
	release_hooks();
	pksm_takeover_undo();
	pksm_sysfs_detach();
	engine_stop();
	return err;
fail_attach:
	release_hooks();
fail_hooks:
	engine_stop();
	return err;
}

static void __exit stop(void)
{
	pksm_debug_exit();
	pksm_device_exit();
	pksm_sysfs_close();
	pksm_control_unmerge_all();
	release_hooks();
	pksm_takeover_give_back(pksm_control_run_last());
	pksm_sysfs_detach();
	engine_stop();
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Parallel kernel samepage merging in place of the built-in one");
