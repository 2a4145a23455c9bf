/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutex: looking at who waits for one. Its layout is the same in every
 * supported release, but another one in kernels built with PREEMPT_RT.
 */
#ifndef PKSM_COMPAT_MUTEX_H
#define PKSM_COMPAT_MUTEX_H

#include <linux/lockdep.h>
#include <linux/mutex.h>

/**
 * pksm_mutex_awaited() - does anyone sleep until a mutex is free?
 * @lock: the mutex, held by the caller
 *
 * Return: true if so.
 */
static inline bool pksm_mutex_awaited(struct mutex *lock)
{
	lockdep_assert_held(lock);
#ifdef CONFIG_PREEMPT_RT
	return !RB_EMPTY_ROOT(&lock->rtmutex.waiters.rb_root);
#else
	return !list_empty(&lock->wait_list);
#endif
}

#endif
