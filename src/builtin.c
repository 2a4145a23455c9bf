// SPDX-License-Identifier: GPL-2.0-only
/*
 * Builtin: the kernel's own engine, reached through its sysfs files.
 *
 * Everything it can be told, it is told by the functions behind its files,
 * which do their own locking and are there in every kernel that has it. Entered
 * by the threads that load and unload the module, and for pksm_builtin_files by
 * whoever uses a file. No lock: the table is written once, at load.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "builtin.h"
#include "compat/mutex.h"
#include "compat/symbol.h"

struct pksm_builtin_file pksm_builtin_files[PKSM_BUILTIN_MAX];
size_t pksm_builtin_count;

static const struct pksm_builtin_file *find(const char *name)
{
	for (size_t i = 0; i < pksm_builtin_count; i++)
		if (!strcmp(pksm_builtin_files[i].attr->attr.name, name))
			return &pksm_builtin_files[i];
	return NULL;
}

/**
 * pksm_builtin_init() - find the files of the built-in engine
 *
 * Context: loading the module, after pksm_symbol_init() and before anything
 * changed the files.
 * Return: 0, or -ENOSPC if there are more than any supported kernel has.
 */
int pksm_builtin_init(void)
{
	struct attribute **attrs = pksm_data_ksm_attr_group->attrs;

	for (; *attrs; attrs++) {
		struct kobj_attribute *attr = container_of(*attrs, struct kobj_attribute, attr);

		if (pksm_builtin_count == PKSM_BUILTIN_MAX) {
			pr_err("not loaded: this kernel's KSM has too many files; use a release that pksm supports\n");
			return -ENOSPC;
		}
		pksm_builtin_files[pksm_builtin_count++] = (struct pksm_builtin_file) {
			.attr = attr,
			.show = attr->show,
			.store = attr->store,
		};
	}
	return 0;
}

/**
 * pksm_builtin_show() - the text of a file of the built-in engine
 * @name: the file
 * @page: a whole page that takes the text, ended by NUL
 *
 * Context: may sleep.
 * Return: 0, -ENOENT if there is no such file, or the file's own error.
 */
int pksm_builtin_show(const char *name, char *page)
{
	const struct pksm_builtin_file *file = find(name);
	ssize_t len;

	if (!file)
		return -ENOENT;
	len = file->show(*pksm_data_mm_kobj, file->attr, page);
	return len < 0 ? len : 0;
}

/**
 * pksm_builtin_store() - write a file of the built-in engine
 * @name: the file
 * @text: what to write
 *
 * Context: may sleep; for long if what it asks for takes long.
 * Return: 0, -ENOENT if no such file can be written, or the file's own error.
 */
int pksm_builtin_store(const char *name, const char *text)
{
	const struct pksm_builtin_file *file = find(name);
	ssize_t len;

	if (!file || !file->store)
		return -ENOENT;
	len = file->store(*pksm_data_mm_kobj, file->attr, text, strlen(text));
	return len < 0 ? len : 0;
}

/**
 * pksm_builtin_read() - the number in a file of the built-in engine
 * @name: the file
 * @value: takes the number
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, -ENOENT if there is no such file, -EINVAL if what it has
 * is not a number.
 */
int pksm_builtin_read(const char *name, unsigned long *value)
{
	char *page = (char *)__get_free_page(GFP_KERNEL);
	int err;

	if (!page)
		return -ENOMEM;
	err = pksm_builtin_show(name, page);
	if (!err)
		err = kstrtoul(page, 10, value);
	free_page((unsigned long)page);
	return err;
}

/**
 * pksm_builtin_write() - write a number to a file of the built-in engine
 * @name: the file
 * @value: the number
 *
 * Context: may sleep; for long if what it asks for takes long.
 * Return: as pksm_builtin_store().
 */
int pksm_builtin_write(const char *name, unsigned long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu\n", value);
	return pksm_builtin_store(name, text);
}

static bool trees_empty(void)
{
	for (int nid = 0; nid < *pksm_data_ksm_nr_node_ids; nid++)
		if (!RB_EMPTY_ROOT(&(*pksm_data_root_stable_tree)[nid]))
			return false;
	return list_empty(pksm_data_migrate_nodes);
}

/**
 * pksm_builtin_empty() - is the built-in engine stopped, and does it hold nothing?
 *
 * Nobody else may be able to begin a write to its files any more. Writes that
 * were begun before then either hold the engine's mutex, or sleep until they
 * get it: as long as there are any, the answer is no. So a yes lasts.
 *
 * Context: may sleep.
 * Return: true if so.
 */
bool pksm_builtin_empty(void)
{
	unsigned long run;
	bool empty;

	mutex_lock(pksm_data_ksm_thread_mutex);
	empty = !pksm_builtin_read("run", &run) && !run && !*pksm_data_ksm_pages_shared &&
		trees_empty() && !pksm_mutex_awaited(pksm_data_ksm_thread_mutex);
	mutex_unlock(pksm_data_ksm_thread_mutex);
	return empty;
}
