// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks: functions of the kernel that are redirected to functions of pksm.
 *
 * The function tracer calls redirect() at the start of every hooked function,
 * in the context of its caller, which may be any; it only reads the table. The
 * table is written by the thread that loads or unloads the module, before the
 * first and after the last call. There is no lock.
 *
 * The tracer lets one user at most change where a function continues. To have
 * registered is to own the functions: a live patch that comes later is refused,
 * and if one is there already, so are we. Other users of the tracer and of
 * probes are not affected.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/kernel.h>

#include "compat/symbol.h"
#include "hook.h"
#include "inside.h"

DEFINE_PER_CPU(long, pksm_hook_inside);

static struct pksm_hook *table;
static size_t entries;
static bool live;

/* Nothing here may be traced, take a lock or fail. */
static void notrace redirect(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (!READ_ONCE(live))
		return;
	for (size_t i = 0; i < entries; i++) {
		if (table[i].ip == ip) {
			ftrace_regs_set_instruction_pointer(fregs,
							    (unsigned long)table[i].replacement);
			return;
		}
	}
}

/*
 * PERMANENT: the tracer cannot be switched off while we are registered, which
 * would let merged pages reach functions that misread them. No protection
 * against recursion is asked for, since redirect() calls nothing and a call
 * that the protection swallowed would do the same harm.
 */
static struct ftrace_ops ops = {
	.func = redirect,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

/* Asked of one function after another to find the one that is taken. */
static struct ftrace_ops scout = {
	.func = redirect,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

static const char *taken(void)
{
	const char *name = NULL;

	for (size_t i = 0; i < entries && !name; i++) {
		if (ftrace_set_filter_ip(&scout, table[i].ip, 0, 1))
			continue;
		if (register_ftrace_function(&scout))
			name = table[i].name;
		else
			unregister_ftrace_function(&scout);
	}
	ftrace_free_filter(&scout);
	return name;
}

/* Find where the function calls its tracer, and where it goes on after that. */
static int locate(struct pksm_hook *hook)
{
	hook->ip = ftrace_location(pksm_symbol_address(hook->name));
	if (!hook->ip) {
		pr_err("not loaded: this kernel cannot trace %s; use one that supports live patching\n",
		       hook->name);
		return -EOPNOTSUPP;
	}
	__static_call_update(hook->key, hook->tramp, (void *)(hook->ip + MCOUNT_INSN_SIZE));
	return ftrace_set_filter_ip(&ops, hook->ip, 0, 0);
}

static void explain(int err)
{
	const char *name;

	if (!READ_ONCE(*pksm_data_ftrace_enabled)) {
		pr_err("not loaded: the function tracer is off; write 1 to /proc/sys/kernel/ftrace_enabled\n");
		return;
	}
	name = err == -EBUSY ? taken() : NULL;
	if (name)
		pr_err("not loaded: %s is redirected already, by a live patch or another module; remove that first\n",
		       name);
	else
		pr_err("not loaded: the function tracer refuses the hooks with error %d\n", err);
}

/**
 * pksm_hook_register() - become the owner of a set of functions
 * @hooks: the table, which must stay until the hooks are unregistered
 * @count: entries of it
 *
 * The hooks are inert until pksm_hook_live(): every function still does what it
 * did. Their originals can be called from now on. A failure is reported in one
 * line that says what to do, and changes nothing.
 *
 * Context: loading the module, after pksm_symbol_init(). May sleep.
 * Return: 0; -EBUSY if a function is redirected by someone else, or the tracer
 * is off; -EOPNOTSUPP if a function cannot be traced; else the tracer's error.
 */
int pksm_hook_register(struct pksm_hook *hooks, size_t count)
{
	int err = 0;

	table = hooks;
	entries = count;
	for (size_t i = 0; i < count && !err; i++)
		err = locate(&hooks[i]);
	if (!err) {
		err = register_ftrace_function(&ops);
		if (err)
			explain(err);
	}
	if (err)
		ftrace_free_filter(&ops);
	return err;
}

/**
 * pksm_hook_live() - let the registered hooks redirect, or stop that
 * @on: true: calls that begin from now on go to the replacements
 *
 * Calls that have begun are not waited for: that is what pksm_hook_unregister()
 * does.
 *
 * Context: loading and unloading the module.
 */
void pksm_hook_live(bool on)
{
	WRITE_ONCE(live, on);
}

/**
 * pksm_hook_unregister() - give the functions back
 *
 * After success nobody is in a replacement, or on the way into or out of one.
 * After a failure the hooks are as they were, and the module must stay.
 *
 * Context: unloading the module. Sleeps for as long as anyone is inside.
 * Return: 0, or the tracer's error: -ENODEV if it has shut down after a bug.
 */
int pksm_hook_unregister(void)
{
	int err = unregister_ftrace_function(&ops);

	if (err)
		return err;
	pksm_inside_drain(&pksm_hook_inside);
	ftrace_free_filter(&ops);
	WRITE_ONCE(live, false);
	return 0;
}
