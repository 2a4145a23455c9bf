/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: how the engine allocates while it holds a process's VMA.
 *
 * It never waits there. Reclaim could take long; and an allocation that is charged
 * to the memory cgroup of the process, and may wait, is put to sleep for up to two
 * seconds when the cgroup is above its memory.high (mm/memcontrol.c of 6.12), while
 * the process, which cannot be asked, finds its locks taken.
 *
 * Metadata is charged to the process as long as its cgroup has room. If it has none
 * (a cgroup that is full of page cache is the usual case) it is not: records and
 * items are bounded by the pages that are mapped, which are charged.
 */
#ifndef PKSM_MEMORY_H
#define PKSM_MEMORY_H

#include <linux/gfp.h>
#include <linux/slab.h>

#define PKSM_GFP		(GFP_NOWAIT | __GFP_NOWARN)
#define PKSM_GFP_CHARGED	(PKSM_GFP | __GFP_ACCOUNT)

/**
 * pksm_memory_object() - an object of a cache, charged if there is room
 * @cache: the cache
 *
 * Context: process, also under a spinlock; does not sleep. Who is charged is set by
 * set_active_memcg().
 * Return: the object, zeroed, or NULL.
 */
static inline void *pksm_memory_object(struct kmem_cache *cache)
{
	void *object = kmem_cache_zalloc(cache, PKSM_GFP_CHARGED);

	return object ? object : kmem_cache_zalloc(cache, PKSM_GFP);
}

/**
 * pksm_memory_block() - bytes, charged if there is room
 * @size: how many
 *
 * Context: as pksm_memory_object().
 * Return: the bytes, not zeroed, or NULL.
 */
static inline void *pksm_memory_block(size_t size)
{
	void *block = kmalloc(size, PKSM_GFP_CHARGED);

	return block ? block : kmalloc(size, PKSM_GFP);
}

#endif
