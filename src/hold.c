// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds: how a worker keeps an address space and one VMA of it in place.
 *
 * Two things are needed. The space's life lock, for reading, keeps exit from
 * tearing it down: looking up a VMA under RCU is only safe while its mm cannot
 * exit (exit_mmap() of 6.12 frees VMAs at once). The VMA's own lock keeps its
 * borders, flags and anon_vma, and the page tables beneath it; where it is not to
 * be had, because its process holds the mmap lock for writing, the mmap lock is
 * tried once. Nobody ever waits here: what is busy is come back to later.
 *
 * Entered by workers inside the gate. The locks are the kernel's and the space's;
 * order: life, then VMA or mmap lock. Two VMAs may be held at once, since all of
 * it is trying.
 */
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>

#include "hold.h"
#include "space.h"

/* VMAs passed in one RCU section: a process may have a million of them. */
#define STEPS_MAX	512

static bool mergeable(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_MERGEABLE) && vma->anon_vma;
}

/**
 * pksm_hold_alive() - keep a space from exiting
 * @space: a reference is held
 *
 * Context: does not sleep. To be ended after one bounded batch: exit waits.
 * Return: false when it is exiting, or about to.
 */
bool pksm_hold_alive(struct pksm_mm *space)
{
	if (!down_read_trylock(&space->life))
		return false;
	if (!space->dead)
		return true;
	up_read(&space->life);
	return false;
}

/**
 * pksm_hold_alive_end() - let a space exit
 * @space: from pksm_hold_alive()
 */
void pksm_hold_alive_end(struct pksm_mm *space)
{
	up_read(&space->life);
}

/**
 * pksm_hold_try() - hold the mergeable VMA at an address
 * @hold: filled in
 * @space: kept alive by the caller
 * @addr: the address
 *
 * Context: does not sleep.
 * Return: see &enum pksm_held.
 */
enum pksm_held pksm_hold_try(struct pksm_hold *hold, struct pksm_mm *space, unsigned long addr)
{
	struct mm_struct *mm = space->mm;
	struct vm_area_struct *vma;

	lockdep_assert_held_read(&space->life);
	*hold = (struct pksm_hold){ .space = space };
	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		if (mergeable(vma)) {
			hold->vma = vma;
			return PKSM_HELD;
		}
		vma_end_read(vma);
		return PKSM_HELD_NONE;
	}
	if (!mmap_read_trylock(mm))
		return PKSM_HELD_BUSY;
	vma = vma_lookup(mm, addr);
	if (vma && mergeable(vma)) {
		hold->vma = vma;
		hold->mmap = true;
		return PKSM_HELD;
	}
	mmap_read_unlock(mm);
	return PKSM_HELD_NONE;
}

/**
 * pksm_hold_end() - let the VMA go
 * @hold: held or not
 */
void pksm_hold_end(struct pksm_hold *hold)
{
	if (!hold->vma)
		return;
	if (hold->mmap)
		mmap_read_unlock(hold->space->mm);
	else
		vma_end_read(hold->vma);
	hold->vma = NULL;
}

/**
 * pksm_hold_wanted() - does somebody wait for what is held?
 * @hold: held
 *
 * Return: true when the batch should end early.
 */
bool pksm_hold_wanted(const struct pksm_hold *hold)
{
	if (rwsem_is_contended(&hold->space->life))
		return true;
	if (hold->mmap)
		return mmap_lock_is_contended(hold->space->mm);
	return rwsem_is_contended(&hold->vma->vm_lock->lock);
}

/**
 * pksm_hold_covers() - is an address in the VMA that is held, or under its mmap lock?
 * @hold: held
 * @space: the space of the address
 * @addr: the address
 *
 * Return: true when no further lock is needed for the VMA at @addr: it is either
 * the held one, or the mmap lock covers it.
 */
bool pksm_hold_covers(const struct pksm_hold *hold, struct pksm_mm *space, unsigned long addr)
{
	if (hold->space != space)
		return false;
	return hold->mmap || (addr >= hold->vma->vm_start && addr < hold->vma->vm_end);
}

/**
 * pksm_hold_next() - find mergeable memory
 * @space: kept alive by the caller
 * @addr: from where; set to an address in a VMA that looked mergeable
 * @end: set to where that VMA looked to end
 *
 * The VMAs are walked under RCU alone: what is found has to be held and looked at
 * again. VMAs freed meanwhile stay readable until rcu_read_unlock().
 * Return: PKSM_HELD when something was found, else PKSM_HELD_NONE.
 */
enum pksm_held pksm_hold_next(struct pksm_mm *space, unsigned long *addr, unsigned long *end)
{
	struct vm_area_struct *vma;
	unsigned int steps;

	VMA_ITERATOR(vmi, space->mm, 0);

	lockdep_assert_held_read(&space->life);
	do {
		steps = 0;
		rcu_read_lock();
		vma_iter_set(&vmi, *addr);
		while ((vma = vma_next(&vmi)) && ++steps < STEPS_MAX) {
			*end = READ_ONCE(vma->vm_end);
			if (*end <= *addr)
				continue;
			if ((READ_ONCE(vma->vm_flags) & VM_MERGEABLE) && READ_ONCE(vma->anon_vma)) {
				*addr = max(*addr, READ_ONCE(vma->vm_start));
				rcu_read_unlock();
				return PKSM_HELD;
			}
			*addr = *end;
		}
		rcu_read_unlock();
		cond_resched();
	} while (vma);
	return PKSM_HELD_NONE;
}
