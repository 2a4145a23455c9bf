// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rival: another module that redirects a function of the kernel.
 *
 * What a live patch does, and nothing else: it owns where the function goes
 * on, and lets it go on where it would. For tests of who is refused. Entered
 * by the threads that load and unload it, and by the tracer in any context.
 * It owns no lock.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>

static char *function = "rmap_walk_ksm";
module_param(function, charp, 0400);
MODULE_PARM_DESC(function, "name of the function to own");

static void notrace stay(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops ops = {
	.func = stay,
	.flags = FTRACE_OPS_FL_IPMODIFY,
};

static int __init start(void)
{
	int err = ftrace_set_filter(&ops, function, strlen(function), 1);

	if (!err)
		err = register_ftrace_function(&ops);
	if (err)
		ftrace_free_filter(&ops);
	return err;
}

static void __exit stop(void)
{
	unregister_ftrace_function(&ops);
	ftrace_free_filter(&ops);
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("owner of a traced function, for tests");
