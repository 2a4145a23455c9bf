/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builtin: the kernel's own engine, reached through its sysfs files.
 */
#ifndef PKSM_BUILTIN_H
#define PKSM_BUILTIN_H

#include <linux/kobject.h>
#include <linux/types.h>

/* More files than any supported kernel has under /sys/kernel/mm/ksm. */
#define PKSM_BUILTIN_MAX 32

/**
 * struct pksm_builtin_file - a sysfs file of the built-in engine
 * @attr: its attribute; what it points to may be ours by now
 * @show: the built-in engine's own way to read it
 * @store: the built-in engine's own way to write it, NULL if there is none
 */
struct pksm_builtin_file {
	struct kobj_attribute *attr;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *attr, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count);
};

extern struct pksm_builtin_file pksm_builtin_files[PKSM_BUILTIN_MAX];
extern size_t pksm_builtin_count;

int pksm_builtin_init(void);
int pksm_builtin_show(const char *name, char *page);
int pksm_builtin_store(const char *name, const char *text);
int pksm_builtin_read(const char *name, unsigned long *value);
int pksm_builtin_write(const char *name, unsigned long value);
bool pksm_builtin_empty(void);

#endif
