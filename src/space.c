// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spaces: registering, waking, leaving, and the reaper of dead ones.
 *
 * Entered by processes through the hooks (enter, leave, wake), by workers
 * (lists of a pass), by the controller (walk over all) and by the reaper's
 * kworkers. Owns the registry lock: it covers the hash table, the lists, and
 * each space's state. A spinlock, innermost but for nothing; taken in process
 * context only.
 *
 * The life of a space: entered (on a list, one reference of the registry) ->
 * its process exits: unlinked, marked dead with the life lock held for writing,
 * registry reference dropped -> the last user's reference goes: the reaper, a
 * kworker or the next pass, drops records and items, lets go of the mm and frees
 * it. Nothing but an item in a
 * shard's tree points to a space without a reference; whoever finds it there
 * uses pksm_space_get() under the shard lock, and the reaper takes the items out
 * of the trees before it frees.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "reap.h"
#include "side.h"
#include "space.h"
#include "trace.h"
#include "worker.h"

#define SPACE_HASH_BITS	10
/* How long the reaper waits for an exit to unmap. */
#define REAP_PATIENCE	(2 * HZ)

static DEFINE_SPINLOCK(registry);
static DEFINE_HASHTABLE(table, SPACE_HASH_BITS);
static LIST_HEAD(todo);
static LIST_HEAD(done);
static LIST_HEAD(asleep);
static struct kmem_cache *cache;
static unsigned long awake;
static unsigned long sweep;

static struct pksm_mm *find(const struct mm_struct *mm)
{
	struct pksm_mm *space;

	lockdep_assert_held(&registry);
	hash_for_each_possible(table, space, hash, (unsigned long)mm)
		if (space->mm == mm)
			return space;
	return NULL;
}

/**
 * pksm_space_enter() - register an address space
 * @mm: a living space
 *
 * The new space is visited from the next pass on, so that a fork followed by
 * exec is not scanned for nothing.
 * Context: process; sleeps for memory; any locks of mm may be held.
 * Return: 0, -ENOMEM, or -EEXIST when it is registered already, and awake now.
 */
int pksm_space_enter(struct mm_struct *mm)
{
	struct pksm_mm *space, *old;

	space = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!space)
		return -ENOMEM;
	space->mm = mm;
	refcount_set(&space->refs, 1);
	init_rwsem(&space->life);
	space->ranges = RB_ROOT;
	space->state = PKSM_MM_DONE;
	spin_lock_init(&space->ranges_lock);
	INIT_LIST_HEAD(&space->asked);
	mmgrab(mm);

	spin_lock(&registry);
	old = find(mm);
	if (!old) {
		hash_add(table, &space->hash, (unsigned long)mm);
		list_add_tail(&space->list, &done);
		awake++;
	}
	spin_unlock(&registry);

	if (old) {
		kmem_cache_free(cache, space);
		mmdrop(mm);
		pksm_space_wake(mm);
		return -EEXIST;
	}
	trace_pksm_space_enter(mm);
	pksm_worker_kick();
	return 0;
}

/**
 * pksm_space_adopt() - register a space that the built-in engine has on its list
 * @mm: mm_count is held; may be exiting or gone from that list by now
 *
 * Our exit hook takes a space off the built-in list first, which clears its flag,
 * and calls pksm_space_leave() then: an exit that we do not see here finds the
 * space registered there.
 * Context: process; no worker can claim memory meanwhile (pass lock held, or the
 * gate shut); sleeps.
 * Return: 0 or -ENOMEM.
 */
int pksm_space_adopt(struct mm_struct *mm)
{
	struct pksm_mm *known;
	int err;

	spin_lock(&registry);
	known = find(mm);
	spin_unlock(&registry);
	if (known)
		return 0;
	err = pksm_space_enter(mm);
	if (err == -EEXIST)
		return 0;
	if (!err && (!pksm_mm_registered(mm) || !atomic_read(&mm->mm_users)))
		pksm_space_leave(mm);
	return err;
}

/**
 * pksm_space_leave() - an address space is about to be torn down
 * @mm: any space, registered or not
 *
 * When this returns, nobody of the engine touches @mm's page tables or VMAs any
 * more, and nobody will.
 * Context: process, the last user of @mm or one whose exec failed; sleeps until
 * the batches under way in @mm end.
 */
void pksm_space_leave(struct mm_struct *mm)
{
	struct pksm_mm *space;

	spin_lock(&registry);
	space = find(mm);
	if (space) {
		hash_del(&space->hash);
		list_del_init(&space->list);
		if (space->state != PKSM_MM_ASLEEP)
			awake--;
		space->state = PKSM_MM_DEAD;
	}
	spin_unlock(&registry);
	if (!space)
		return;

	down_write(&space->life);
	space->dead = true;
	up_write(&space->life);
	pksm_side_forget(space);
	if (refcount_read(&space->refs) > 1)
		pksm_worker_bury();
	space->deadline = jiffies + (atomic_read(&mm->mm_users) ? 0 : REAP_PATIENCE);
	trace_pksm_space_leave(mm);
	pksm_space_put(space);
}

/**
 * pksm_space_wake() - a space may have got mergeable memory
 * @mm: any space, registered or not
 *
 * Context: process; does not sleep. When called for an area that becomes
 * mergeable, the mmap lock is held for writing, which pksm_space_sleep() relies
 * on.
 */
void pksm_space_wake(struct mm_struct *mm)
{
	struct pksm_mm *space;
	bool woken = false;

	spin_lock(&registry);
	space = find(mm);
	if (space && space->state == PKSM_MM_ASLEEP) {
		space->state = PKSM_MM_DONE;
		list_move_tail(&space->list, &done);
		awake++;
		woken = true;
	}
	spin_unlock(&registry);
	if (woken)
		pksm_worker_kick();
}

/**
 * pksm_space_sleep() - put a space aside that has no mergeable memory
 * @space: a reference is held; the caller saw no mergeable area in it while
 *	holding its mmap lock, and holds it still, so that nobody can be between
 *	waking it and making an area mergeable
 *
 * Context: process; mmap lock of the space held.
 * Return: true when it sleeps now.
 */
bool pksm_space_sleep(struct pksm_mm *space)
{
	bool slept = false;

	mmap_assert_locked(space->mm);
	spin_lock(&registry);
	if (space->state == PKSM_MM_TODO || space->state == PKSM_MM_DONE) {
		space->state = PKSM_MM_ASLEEP;
		list_move_tail(&space->list, &asleep);
		awake--;
		slept = true;
	}
	spin_unlock(&registry);
	return slept;
}

/**
 * pksm_space_bytes() - metadata held on behalf of a process
 * @mm: any space, registered or not
 *
 * Context: process; does not sleep.
 * Return: bytes.
 */
long pksm_space_bytes(struct mm_struct *mm)
{
	struct pksm_mm *space;
	long bytes = 0;

	spin_lock(&registry);
	space = find(mm);
	if (space)
		bytes = sizeof(*space) + atomic_long_read(&space->bytes);
	spin_unlock(&registry);
	return bytes;
}

/**
 * pksm_space_get() - take a reference to a space found through an item
 * @space: the space; the shard lock of the item's tree is held
 *
 * Context: any.
 * Return: false when the reaper has it already.
 */
bool pksm_space_get(struct pksm_mm *space)
{
	return refcount_inc_not_zero(&space->refs);
}

/**
 * pksm_space_hold() - take one more reference
 * @space: the caller has a reference
 */
void pksm_space_hold(struct pksm_mm *space)
{
	refcount_inc(&space->refs);
}

/**
 * pksm_space_put() - let go of a reference
 * @space: the space; not to be touched afterwards
 *
 * Context: any; the last reference wakes the reaper.
 */
void pksm_space_put(struct pksm_mm *space)
{
	if (refcount_dec_and_test(&space->refs))
		pksm_reap_add(space);
}

/**
 * pksm_space_any_awake() - is there anything to scan?
 *
 * Return: true when a registered space may have mergeable memory.
 */
bool pksm_space_any_awake(void)
{
	return READ_ONCE(awake);
}

/**
 * pksm_space_todo_get() - a space that this pass has not finished
 *
 * Context: pass lock held.
 * Return: with a reference, or NULL when there is none.
 */
struct pksm_mm *pksm_space_todo_get(void)
{
	struct pksm_mm *space;

	spin_lock(&registry);
	space = list_first_entry_or_null(&todo, struct pksm_mm, list);
	if (space)
		refcount_inc(&space->refs);
	spin_unlock(&registry);
	return space;
}

/**
 * pksm_space_done() - this pass has finished with a space
 * @space: a reference is held
 *
 * Context: pass lock held.
 */
void pksm_space_done(struct pksm_mm *space)
{
	spin_lock(&registry);
	if (space->state == PKSM_MM_TODO) {
		space->state = PKSM_MM_DONE;
		list_move_tail(&space->list, &done);
	}
	spin_unlock(&registry);
}

/**
 * pksm_space_redo() - this pass has not finished with a space after all
 * @space: a reference is held
 *
 * Context: pass lock held.
 */
void pksm_space_redo(struct pksm_mm *space)
{
	spin_lock(&registry);
	if (space->state == PKSM_MM_DONE || space->state == PKSM_MM_ASLEEP) {
		if (space->state == PKSM_MM_ASLEEP)
			awake++;
		space->state = PKSM_MM_TODO;
		list_move(&space->list, &todo);
	}
	spin_unlock(&registry);
}

/**
 * pksm_space_defer() - come to a space after the others
 * @space: a reference is held
 *
 * Context: pass lock held.
 */
void pksm_space_defer(struct pksm_mm *space)
{
	spin_lock(&registry);
	if (space->state == PKSM_MM_TODO)
		list_move_tail(&space->list, &todo);
	spin_unlock(&registry);
}

/**
 * pksm_space_pass_begin() - everything awake is to be visited again
 *
 * Context: pass lock held; no space is on the list of unfinished ones.
 */
void pksm_space_pass_begin(void)
{
	struct pksm_mm *space;

	spin_lock(&registry);
	list_splice_tail_init(&done, &todo);
	list_for_each_entry(space, &todo, list) {
		space->state = PKSM_MM_TODO;
		space->cursor = 0;
		space->found = false;
		space->tries = 0;
	}
	spin_unlock(&registry);
}

static struct pksm_mm *unswept(struct list_head *list)
{
	struct pksm_mm *space;

	list_for_each_entry(space, list, list)
		if (space->sweep != sweep)
			return space;
	return NULL;
}

/**
 * pksm_space_sweep_begin() - begin a walk over all registered spaces
 *
 * Context: controller.
 */
void pksm_space_sweep_begin(void)
{
	spin_lock(&registry);
	sweep++;
	spin_unlock(&registry);
}

/**
 * pksm_space_sweep_get() - the next space of the walk
 *
 * Spaces that enter during the walk are met too.
 * Context: controller.
 * Return: with a reference; NULL when all were met.
 */
struct pksm_mm *pksm_space_sweep_get(void)
{
	struct pksm_mm *space;

	spin_lock(&registry);
	space = unswept(&asleep);
	if (!space)
		space = unswept(&todo);
	if (!space)
		space = unswept(&done);
	if (space) {
		space->sweep = sweep;
		refcount_inc(&space->refs);
	}
	spin_unlock(&registry);
	return space;
}

/**
 * pksm_space_free() - the end of a space
 * @space: dead, without records; not to be touched afterwards
 */
void pksm_space_free(struct pksm_mm *space)
{
	mmdrop(space->mm);
	kmem_cache_free(cache, space);
}

/**
 * pksm_space_init() - make the cache
 *
 * Context: module load.
 * Return: 0 or -ENOMEM.
 */
int __init pksm_space_init(void)
{
	cache = KMEM_CACHE(pksm_mm, SLAB_ACCOUNT | SLAB_NO_MERGE);
	return cache ? 0 : -ENOMEM;
}

static struct mm_struct *any(void)
{
	struct pksm_mm *space;
	struct mm_struct *mm = NULL;
	int i;

	spin_lock(&registry);
	hash_for_each(table, i, space, hash) {
		mm = space->mm;
		mmgrab(mm);
		break;
	}
	spin_unlock(&registry);
	return mm;
}

/**
 * pksm_space_exit() - let go of every space, and of the cache
 *
 * Context: module exit, hooks and workers gone; sleeps.
 */
void pksm_space_exit(void)
{
	struct mm_struct *mm;

	while ((mm = any())) {
		pksm_space_leave(mm);
		mmdrop(mm);
	}
	pksm_reap_exit();
	kmem_cache_destroy(cache);
}
