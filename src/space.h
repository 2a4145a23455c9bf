/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spaces: the address spaces that are registered.
 */
#ifndef PKSM_SPACE_H
#define PKSM_SPACE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>

#include "counter.h"

struct mm_struct;

/**
 * enum pksm_mm_state - where a living space stands in the pass
 * @PKSM_MM_TODO: not finished in this pass
 * @PKSM_MM_DONE: finished in this pass, or entered during it
 * @PKSM_MM_ASLEEP: has no mergeable memory; not scanned, not counted
 * @PKSM_MM_DEAD: its process is gone or going; on no list
 */
enum pksm_mm_state {
	PKSM_MM_TODO,
	PKSM_MM_DONE,
	PKSM_MM_ASLEEP,
	PKSM_MM_DEAD,
};

/**
 * struct pksm_mm - a registered address space
 * @mm: the space; mm_count is held until the reaper has finished with it
 * @hash: in the table by @mm; registry lock
 * @list: on the list of its @state, or of those to be reaped; registry lock
 * @state: see &enum pksm_mm_state; registry lock
 * @refs: one of the registry while alive, one of each claim, of each claimer of
 *	an item, of each control walk; the last one wakes the reaper
 * @life: held for reading by whoever touches @mm's memory, for one bounded
 *	batch; taken for writing once, by exit
 * @dead: exit has begun: @mm's memory must not be touched; under @life
 * @ranges: page records by 2 MiB range (directory.c); what a range holds belongs
 *	to the holder of its claim (pass.c), the reaper or the controller
 * @ranges_lock: covers what @ranges itself is made of; innermost
 * @cursor: next address that no worker has claimed in this pass; pass lock
 * @found: mergeable memory was seen in this pass; pass lock
 * @settled: it is not in the middle of a fork any more; pass lock
 * @tries: jiffies in a row in which its locks were not to be had; pass lock
 * @tried: when they were tried last
 * @asked: on the list of those that the side thread is to help (side.c)
 * @bytes: metadata held on its behalf, in bytes
 * @sweep: number of the controller's last walk that met it; registry lock
 * @deadline: when the reaper stops waiting for the page tables to be torn down
 */
struct pksm_mm {
	struct mm_struct *mm;
	struct hlist_node hash;
	struct list_head list;
	enum pksm_mm_state state;
	refcount_t refs;
	struct rw_semaphore life;
	bool dead;
	struct rb_root ranges;
	spinlock_t ranges_lock;
	unsigned long cursor;
	bool found;
	bool settled;
	unsigned int tries;
	unsigned long tried;
	struct list_head asked;
	atomic_long_t bytes;
	unsigned long sweep;
	unsigned long deadline;
};

/**
 * pksm_space_bytes_add() - metadata was made or freed on behalf of a space
 * @space: the space, referenced, or the reaper's
 * @bytes: of metadata; negative when freed
 */
static inline void pksm_space_bytes_add(struct pksm_mm *space, long bytes)
{
	atomic_long_add(bytes, &space->bytes);
	pksm_count_add(PKSM_COUNT_BYTES, bytes);
}

int pksm_space_init(void);
void pksm_space_exit(void);

int pksm_space_enter(struct mm_struct *mm);
int pksm_space_adopt(struct mm_struct *mm);
void pksm_space_leave(struct mm_struct *mm);
void pksm_space_wake(struct mm_struct *mm);
bool pksm_space_sleep(struct pksm_mm *space);
long pksm_space_bytes(struct mm_struct *mm);

bool __must_check pksm_space_get(struct pksm_mm *space);
void pksm_space_put(struct pksm_mm *space);
void pksm_space_hold(struct pksm_mm *space);

bool pksm_space_any_awake(void);
struct pksm_mm *pksm_space_todo_get(void);
void pksm_space_done(struct pksm_mm *space);
void pksm_space_redo(struct pksm_mm *space);
void pksm_space_defer(struct pksm_mm *space);
void pksm_space_pass_begin(void);
void pksm_space_sweep_begin(void);
struct pksm_mm *pksm_space_sweep_get(void);
void pksm_space_free(struct pksm_mm *space);

#endif
