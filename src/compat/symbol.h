/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols: kernel functions and variables that are not exported, found by name
 * once, when the module is loaded. What there is, is listed in symbols.h.
 */
#ifndef PKSM_COMPAT_SYMBOL_H
#define PKSM_COMPAT_SYMBOL_H

#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/huge_mm.h>
#include <linux/kallsyms.h>
#include <linux/kobject.h>
#include <linux/ksm.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/pid.h>
#include <linux/rmap.h>
#include <linux/sched/cputime.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/sysfs.h>

#include "native.h"

#ifndef CONFIG_KSM
#error "pksm takes the place of the kernel's KSM: this kernel is built without CONFIG_KSM"
#endif

/* Declared once more, so that a prototype that drifted stops the build. */
#define PKSM_FUNCTION(type, name, parameters, arguments) type name parameters;
#define PKSM_DATA(type, name) extern typeof(type) *pksm_data_##name;
#include "symbols.h"

int pksm_symbol_init(const char *missing);
unsigned long pksm_symbol_address(const char *name);

#endif
