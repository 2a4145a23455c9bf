// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device: /dev/pksm, by which a program offers memory for merging, and takes
 * it back, in its own address space or in another process's.
 *
 * Entered by: any task that holds an open descriptor, in its own context, as
 * many at once as like; the module's start and stop.
 * Owns: no lock. The number of open descriptors, which stop waits for.
 * May be called under: nothing; every command sleeps and takes the target's
 * mmap lock.
 *
 * What a command does to an address space it does through the same doors as
 * madvise(2) and prctl(2), so there is one way into the engine. This room
 * checks arguments and rights. Rights are those of the task that issues the
 * command, at that moment, never those of whoever opened the descriptor.
 *
 * The mode is 0600 although the commands check their callers: a descriptor
 * pins the module, so whoever may open the device may keep the module loaded.
 * An administrator who accepts that can widen the mode.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "compat/symbol.h"
#include "device.h"
#include "entry.h"
#include "pksm.h"

#define FEATURES	(PKSM_FEATURE_RANGE | PKSM_FEATURE_ALL | PKSM_FEATURE_PIDFD)
#define TARGET_FLAGS	(PKSM_TARGET_PIDFD | PKSM_TARGET_ALL)

/* The first published sizes: no caller may come with less. */
#define INFO_SIZE_1	24
#define TARGET_SIZE_1	32

/* Descriptors open at this moment, and who waits for the last to go. */
static atomic_t open_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(open_wait);

/* The two directions of a command: what it needs and what it calls. */
struct direction {
	unsigned int access;	/* PTRACE_MODE_* on another process */
	bool nice;		/* also CAP_SYS_NICE on another process */
	bool foreign;		/* foreign mappings in a range are no error */
	int advice;		/* for a range */
	int (*all)(struct mm_struct *mm);	/* for all of a process */
};

static const struct direction direction_register = {
	.access = PTRACE_MODE_READ_FSCREDS,
	.nice = true,
	.foreign = false,
	.advice = MADV_MERGEABLE,
	.all = pksm_entry_enable_merge_any,
};

static const struct direction direction_unregister = {
	.access = PTRACE_MODE_ATTACH_FSCREDS,
	.nice = false,
	.foreign = true,
	.advice = MADV_UNMERGEABLE,
	.all = pksm_entry_disable,
};

/*
 * Look at the whole range before the first mapping of it is changed: madvise
 * would skip holes and foreign mappings and only tell of the holes when the
 * rest is done. The owner may change its mappings after this look; then the
 * outcome is madvise's.
 */
static int range_check(struct mm_struct *mm, unsigned long start,
		       unsigned long end, bool foreign_ok)
{
	struct vm_area_struct *vma;
	unsigned long next = start;
	int err = 0;

	VMA_ITERATOR(vmi, mm, start);

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > next)
			break;
		next = vma->vm_end;
		if (!foreign_ok && !pksm_entry_mergeable(vma))
			err = -EOPNOTSUPP;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			break;
		cond_resched();
	}
	if (!err && next < end)
		err = -ENOMEM;
	mmap_read_unlock(mm);
	return err;
}

static int range_apply(struct mm_struct *mm, const struct pksm_target *target,
		       const struct direction *dir)
{
	unsigned long start = target->start;
	int err;

	err = range_check(mm, start, start + target->length, dir->foreign);
	if (err)
		return err;
	return do_madvise(mm, start, target->length, dir->advice);
}

static int all_apply(struct mm_struct *mm, const struct direction *dir)
{
	int err;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	err = dir->all(mm);
	mmap_write_unlock(mm);
	/* As madvise does: ENOMEM is kept for holes. */
	return err == -ENOMEM ? -EAGAIN : err;
}

static int target_check(const struct pksm_target *target)
{
	unsigned long last;

	if (target->flags & ~TARGET_FLAGS || target->reserved)
		return -EINVAL;
	if (!(target->flags & PKSM_TARGET_PIDFD) && target->pidfd)
		return -EINVAL;
	if (target->flags & PKSM_TARGET_ALL)
		return target->start || target->length ? -EINVAL : 0;
	if (!target->length || !PAGE_ALIGNED(target->start) ||
	    !PAGE_ALIGNED(target->length))
		return -EINVAL;
	return check_add_overflow(target->start, target->length - 1, &last) ||
	       last == ULONG_MAX ? -EINVAL : 0;
}

/* The address space of the target, with a reference, if the caller has the right. */
static struct mm_struct *target_mm(const struct pksm_target *target,
				   const struct direction *dir)
{
	struct task_struct *task;
	struct mm_struct *mm;
	unsigned int unused;

	if (!(target->flags & PKSM_TARGET_PIDFD)) {
		mm = get_task_mm(current);
		return mm ? mm : ERR_PTR(-ESRCH);
	}

	task = pidfd_get_task(target->pidfd, &unused);
	if (IS_ERR(task))
		return ERR_CAST(task);
	mm = mm_access(task, dir->access);
	put_task_struct(task);
	if (IS_ERR_OR_NULL(mm))
		return mm ? mm : ERR_PTR(-ESRCH);
	if (dir->nice && mm != current->mm && !capable(CAP_SYS_NICE)) {
		mmput(mm);
		return ERR_PTR(-EPERM);
	}
	return mm;
}

/* Fetch a structure under the size rule of pksm.h; *size is what the caller said. */
static int fetch(void *to, size_t known, size_t least, void __user *arg, u32 *size)
{
	if (get_user(*size, (u32 __user *)arg))
		return -EFAULT;
	if (*size < least)
		return -EINVAL;
	if (*size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, known, arg, *size);
}

static long target_command(void __user *arg, const struct direction *dir)
{
	struct pksm_target target;
	struct mm_struct *mm;
	u32 size;
	int err;

	static_assert(sizeof(target) == TARGET_SIZE_1);

	err = fetch(&target, sizeof(target), TARGET_SIZE_1, arg, &size);
	if (!err)
		err = target_check(&target);
	if (err)
		return err;

	mm = target_mm(&target, dir);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	if (target.flags & PKSM_TARGET_ALL)
		err = all_apply(mm, dir);
	else
		err = range_apply(mm, &target, dir);
	mmput(mm);
	return err;
}

static long info_command(void __user *arg)
{
	struct pksm_info info;
	u32 size;
	int err;

	static_assert(sizeof(info) == INFO_SIZE_1);

	err = fetch(&info, sizeof(info), INFO_SIZE_1, arg, &size);
	if (err)
		return err;
	if (info.flags || info.reserved)
		return -EINVAL;

	/* Known and read are the same 24 bytes, so the answer fits the caller. */
	info.size = sizeof(info);
	info.version = PKSM_ABI_VERSION;
	info.features = FEATURES;
	if (copy_to_user(arg, &info, sizeof(info)))
		return -EFAULT;
	return 0;
}

static long command(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case PKSM_INFO:
		return info_command(user);
	case PKSM_REGISTER:
		return target_command(user, &direction_register);
	case PKSM_UNREGISTER:
		return target_command(user, &direction_unregister);
	default:
		return -ENOTTY;
	}
}

static int opened(struct inode *inode, struct file *file)
{
	atomic_inc(&open_count);
	return nonseekable_open(inode, file);
}

static int released(struct inode *inode, struct file *file)
{
	if (atomic_dec_and_test(&open_count))
		wake_up(&open_wait);
	return 0;
}

static const struct file_operations device_ops = {
	.owner = THIS_MODULE,
	.open = opened,
	.release = released,
	.unlocked_ioctl = command,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pksm",
	.fops = &device_ops,
	.mode = 0600,
};

/**
 * pksm_device_init() - offer /dev/pksm
 *
 * The last step of loading: commands can arrive before this returns, so the
 * engine and its entry points must be live.
 *
 * Context: process, may sleep, no lock held.
 * Return: 0, or the error of misc_register(), reported.
 */
int pksm_device_init(void)
{
	int err = misc_register(&device);

	if (err)
		pr_err("not loaded: %s cannot be made, error %d; remove what has its name\n",
		       PKSM_DEVICE, err);
	return err;
}

/**
 * pksm_device_exit() - withdraw /dev/pksm
 *
 * The first step of unloading. An ordinary removal finds no descriptor open,
 * since each one holds a reference to the module; a forced one waits here until
 * the last is closed, for the kernel would run into freed text at that moment.
 *
 * Context: process, sleeps without bound under a forced removal, no lock held.
 */
void pksm_device_exit(void)
{
	int open;

	misc_deregister(&device);
	open = atomic_read(&open_count);
	if (open)
		pr_warn("forced removal waits until %d open descriptors of %s are closed\n",
			open, PKSM_DEVICE);
	wait_event_idle(open_wait, !atomic_read(&open_count));
	/* Whoever closed the last one may still be on its way out of released(). */
	synchronize_rcu_tasks();
}
