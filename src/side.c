// SPDX-License-Identifier: GPL-2.0-only
/*
 * Side: holds the door of a busy process open for the workers.
 *
 * A worker never waits for a process. It needs the lock of one area, or the mmap lock,
 * and tries; a process that changes its areas without pause could keep it out for
 * ever, since who only tries is in no queue. So this thread, which may wait, takes its
 * place in the queue of the mmap lock, for reading. Once it has that nobody has an area
 * locked for writing, and the workers get in for as long as it is held: a moment.
 *
 * The wait can be without end (somebody may hold the lock behind FUSE or userfaultfd);
 * then other busy processes are not helped, and nothing else waits.
 *
 * The thread, pksmd-side, is outside the gate and touches a space's mmap lock alone,
 * which the space's reference to the mm keeps; it does not hold mm_users, so it never
 * has somebody's exit to do. Entered by workers that ask. Owns the asked lock, a
 * spinlock: it covers the list of those to be helped; innermost.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "side.h"
#include "space.h"

/* For how long the door is held open: workers try once in a jiffy. */
#define OPEN_JIFFIES	(2 + HZ / 50)

static DEFINE_SPINLOCK(asked_lock);
static LIST_HEAD(asked);
static DECLARE_WAIT_QUEUE_HEAD(asking);
static struct task_struct *thread;

/* Take the first off the list; it may be asked for again from here on. */
static struct pksm_mm *next(void)
{
	struct pksm_mm *space;

	spin_lock(&asked_lock);
	space = list_first_entry_or_null(&asked, struct pksm_mm, asked);
	if (space)
		list_del_init(&space->asked);
	spin_unlock(&asked_lock);
	return space;
}

static void help(struct pksm_mm *space)
{
	if (READ_ONCE(space->dead) || mmap_read_lock_killable(space->mm))
		return;
	if (!READ_ONCE(space->dead))
		schedule_timeout_idle(OPEN_JIFFIES);
	mmap_read_unlock(space->mm);
}

static int run(void *data)
{
	struct pksm_mm *space;

	/* From the kernel alone: pksm_side_exit() ends a wait by it. */
	allow_kernel_signal(SIGKILL);
	while (!kthread_should_stop()) {
		space = next();
		if (space) {
			help(space);
			pksm_space_put(space);
		} else {
			wait_event_idle(asking,
					!list_empty_careful(&asked) || kthread_should_stop());
		}
	}
	return 0;
}

/**
 * pksm_side_ask() - the locks of a space are busy for long
 * @space: a reference is held
 *
 * Context: any; does not sleep.
 */
void pksm_side_ask(struct pksm_mm *space)
{
	spin_lock(&asked_lock);
	if (list_empty(&space->asked) && !READ_ONCE(space->dead)) {
		pksm_space_hold(space);
		list_add_tail(&space->asked, &asked);
	}
	spin_unlock(&asked_lock);
	wake_up(&asking);
}

/**
 * pksm_side_forget() - a space is dead
 * @space: a reference is held
 *
 * Nothing may keep it while the thread waits for another, maybe for ever. It was
 * marked dead before, so nobody asks for it any more.
 * Context: any; does not sleep.
 */
void pksm_side_forget(struct pksm_mm *space)
{
	bool was;

	spin_lock(&asked_lock);
	was = !list_empty(&space->asked);
	list_del_init(&space->asked);
	spin_unlock(&asked_lock);
	if (was)
		pksm_space_put(space);
}

/**
 * pksm_side_init() - start the thread
 *
 * Return: 0 or -errno.
 */
int __init pksm_side_init(void)
{
	thread = kthread_run(run, NULL, "pksmd-side");
	return PTR_ERR_OR_ZERO(thread);
}

/**
 * pksm_side_exit() - stop the thread, whatever it waits for
 *
 * Context: nobody asks any more; sleeps.
 */
void pksm_side_exit(void)
{
	struct pksm_mm *space;

	send_sig(SIGKILL, thread, 1);
	kthread_stop(thread);
	while ((space = next()))
		pksm_space_put(space);
}
