/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hooks: functions of the kernel that are redirected to functions of pksm.
 *
 * A replacement begins with pksm_hook_enter(), ends with pksm_hook_leave() and
 * may call what it replaces with static_call(pksm_original_NAME)(...).
 */
#ifndef PKSM_HOOK_H
#define PKSM_HOOK_H

#include <linux/build_bug.h>
#include <linux/percpu.h>
#include <linux/static_call.h>
#include <linux/types.h>

/**
 * struct pksm_hook - one redirected function
 * @name: the kernel's function, a PKSM_ENTRY() of compat/symbols.h
 * @replacement: the function that is entered in its stead
 * @key: static call that reaches the function behind the redirection
 * @tramp: the trampoline of @key
 * @ip: private to hook.c: where the function calls its tracer
 */
struct pksm_hook {
	const char *name;
	void *replacement;
	struct static_call_key *key;
	void *tramp;
	unsigned long ip;
};

/* Defines the way to the original of a function, in the file of its replacement. */
#define PKSM_HOOK_ORIGINAL(function) \
	DEFINE_STATIC_CALL_NULL(pksm_original_##function, function)

/* An element of a table of hooks. A replacement of another type does not compile. */
#define PKSM_HOOK(function, by) {						\
	.name = #function,							\
	.replacement = BUILD_BUG_ON_ZERO(!__same_type(function, by)) ? NULL : (by), \
	.key = &STATIC_CALL_KEY(pksm_original_##function),			\
	.tramp = STATIC_CALL_TRAMP_ADDR(pksm_original_##function),		\
}

DECLARE_PER_CPU(long, pksm_hook_inside);

/**
 * pksm_hook_enter() - the first statement of every replacement
 *
 * Context: any.
 */
static inline void pksm_hook_enter(void)
{
	this_cpu_inc(pksm_hook_inside);
}

/**
 * pksm_hook_leave() - the last statement before a replacement returns
 *
 * Context: any; not necessarily on the CPU that it entered on.
 */
static inline void pksm_hook_leave(void)
{
	this_cpu_dec(pksm_hook_inside);
}

int pksm_hook_register(struct pksm_hook *hooks, size_t count);
void pksm_hook_live(bool live);
int pksm_hook_unregister(void);

#endif
