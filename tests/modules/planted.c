// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose, to see that the harness and the debug twin notice them.
 *
 * Entered by the loading of the module alone, with one kind of fault as its
 * parameter; never loaded by an ordinary test. Owns two mutexes and a spinlock
 * that nobody else takes.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *kind = "none";
module_param(kind, charp, 0);
MODULE_PARM_DESC(kind, "warn, leak, freed, order, atomic or list");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static void lose_memory(void)
{
	int i;

	/* Several: a stale pointer on a stack may hide one of them. */
	for (i = 0; i < 16; i++)
		memset(kmalloc(200, GFP_KERNEL), i, 200);
}

static int read_freed(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return 0;
	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
	return READ_ONCE(*p);
}

static void lock_in_both_orders(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_with_spinlock(void)
{
	spin_lock(&spin);
	kfree(kmalloc(64, GFP_KERNEL));
	spin_unlock(&spin);
}

static void add_twice(void)
{
	LIST_HEAD(head);
	LIST_HEAD(entry);

	list_add(&entry, &head);
	list_add(&entry, &head);
}

static int __init planted_init(void)
{
	if (!strcmp(kind, "warn"))
		WARN(1, "planted");
	else if (!strcmp(kind, "leak"))
		lose_memory();
	else if (!strcmp(kind, "freed"))
		pr_info("%d\n", read_freed());
	else if (!strcmp(kind, "order"))
		lock_in_both_orders();
	else if (!strcmp(kind, "atomic"))
		sleep_with_spinlock();
	else if (!strcmp(kind, "list"))
		add_twice();
	else
		return -EINVAL;
	return 0;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("faults on purpose, for the test harness of pksm");
MODULE_LICENSE("GPL");
