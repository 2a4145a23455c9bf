// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sysfs: who answers the files under /sys/kernel/mm/ksm.
 *
 * The files stay the kernel's own, so they are there at every moment and a
 * descriptor that was opened long ago keeps working: what changes is which
 * functions their attributes point to.
 *
 * Entered by whoever reads or writes a file, and by the thread that loads and
 * unloads the module. May sleep. It owns handover, which readers of files do not
 * take: a monitor is answered at once, whatever goes on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/magic.h>
#include <linux/namei.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>

#include "builtin.h"
#include "compat/symbol.h"
#include "inside.h"
#include "knob.h"
#include "sysfs.h"

/*
 * Writers of files hold it for read, through the write. The module holds it for
 * write while it takes over and while it gives back: who writes meanwhile waits,
 * interruptibly, and is then served by whichever engine it is. So nothing that
 * an administrator writes gets lost between the two.
 *
 * Outermost: under it, whatever a write needs. Nothing of ours is held when it
 * is taken.
 */
static DECLARE_RWSEM(handover);

/* Ours are the answers, or else the built-in engine's. Changed under handover. */
static bool ours;

/* Counts threads in show() and store(). */
static DEFINE_PER_CPU(long, inside);

/* By the index of pksm_builtin_files. */
static const struct pksm_knob *knobs[PKSM_BUILTIN_MAX];

static size_t index_of(const struct kobj_attribute *attr)
{
	size_t i = 0;

	while (pksm_builtin_files[i].attr != attr)
		i++;
	return i;
}

static ssize_t show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	ssize_t ret;
	size_t i;

	this_cpu_inc(inside);
	i = index_of(attr);
	if (READ_ONCE(ours))
		ret = knobs[i]->show(knobs[i], buf);
	else
		ret = pksm_builtin_files[i].show(kobj, attr, buf);
	this_cpu_dec(inside);
	return ret;
}

static ssize_t store_ordered(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	size_t i = index_of(attr);
	ssize_t ret;

	if (down_read_interruptible(&handover))
		return -ERESTARTSYS;
	if (ours) {
		ret = knobs[i]->store(knobs[i], buf);
		if (!ret)
			ret = count;
	} else {
		ret = pksm_builtin_files[i].store(kobj, attr, buf, count);
	}
	up_read(&handover);
	return ret;
}

static ssize_t store(struct kobject *kobj, struct kobj_attribute *attr,
		     const char *buf, size_t count)
{
	ssize_t ret;

	this_cpu_inc(inside);
	ret = store_ordered(kobj, attr, buf, count);
	this_cpu_dec(inside);
	return ret;
}

/* Our own files are there, and not about to go. Changed under handover. */
static bool own_group_added;

/**
 * struct own_file - a file of ours
 * @attr: what the kernel knows of it
 * @knob: what it says and takes
 *
 * It is there only while the answers are ours, or about to be.
 */
struct own_file {
	struct kobj_attribute attr;
	const struct pksm_knob *knob;
};

static const struct pksm_knob *own_knob(struct kobj_attribute *attr)
{
	return container_of(attr, struct own_file, attr)->knob;
}

static ssize_t own_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct pksm_knob *knob = own_knob(attr);
	ssize_t ret;

	this_cpu_inc(inside);
	ret = knob->show(knob, buf);
	this_cpu_dec(inside);
	return ret;
}

static ssize_t own_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count)
{
	const struct pksm_knob *knob = own_knob(attr);
	ssize_t ret = -ERESTARTSYS;

	this_cpu_inc(inside);
	if (!down_read_interruptible(&handover)) {
		ret = -ENODEV;
		if (ours && own_group_added)
			ret = knob->store(knob, buf);
		up_read(&handover);
	}
	this_cpu_dec(inside);
	return ret ? ret : count;
}

static struct own_file own_workers = {
	__ATTR(workers, 0644, own_show, own_store), &pksm_knob_workers,
};

static struct own_file own_huge = {
	__ATTR(huge_min_matches, 0644, own_show, own_store), &pksm_knob_huge,
};

static struct attribute *own_attrs[] = { &own_workers.attr.attr, &own_huge.attr.attr, NULL };
static const struct attribute_group own_group = { .name = "ksm", .attrs = own_attrs };

/* How long a removal waits for those who list the folder, at most. */
#define LISTED_MS 5000

/*
 * The folder's inode lock, which whoever lists it holds shared. Tried only, for
 * a bounded time: a reader may sleep under it for as long as it likes, on a page
 * of its buffer.
 */
static bool folder_lock(struct inode *folder)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LISTED_MS);

	do {
		if (inode_trylock(folder))
			return true;
		fsleep(1000);
	} while (time_before(jiffies, limit));
	return false;
}

/*
 * Takes our own files away. The kernel sends a reader of the folder who stands at
 * a file that goes past its neighbour (kernfs_dir_next_pos(), 6.12), and a file of
 * the kernel's own would be missing in that list: so nobody stands anywhere. That
 * holds for the superblock of sysfs that this thread sees; those of other network
 * namespaces have inodes of their own.
 */
static void own_group_remove(void)
{
	bool locked = false, found;
	struct path path;

	if (!own_group_added)
		return;
	/* A write that is under way can take long; with the folder locked all would wait. */
	down_write(&handover);
	own_group_added = false;
	up_write(&handover);
	found = !kern_path("/sys/kernel/mm/ksm", LOOKUP_DIRECTORY, &path);
	if (found && path.dentry->d_sb->s_magic == SYSFS_MAGIC)
		locked = folder_lock(d_inode(path.dentry));
	sysfs_unmerge_group(*pksm_data_mm_kobj, &own_group);
	if (locked)
		inode_unlock(d_inode(path.dentry));
	if (found)
		path_put(&path);
}

/* Both engines must have the same files, of the same kind. */
static int match(void)
{
	for (size_t i = 0; i < pksm_builtin_count; i++) {
		const struct pksm_builtin_file *file = &pksm_builtin_files[i];

		knobs[i] = pksm_knob_find(file->attr->attr.name);
		if (!knobs[i] || !knobs[i]->store != !file->store) {
			pr_err("not loaded: pksm cannot answer /sys/kernel/mm/ksm/%s of this kernel; use a release that pksm supports\n",
			       file->attr->attr.name);
			return -EOPNOTSUPP;
		}
	}
	return 0;
}

/**
 * pksm_sysfs_attach() - stand between the files and the built-in engine
 *
 * On return the files can be read as before, and no new write reaches the
 * built-in engine: writers wait until pksm_sysfs_open() or pksm_sysfs_detach().
 *
 * Context: loading the module, after pksm_builtin_init(). May sleep.
 * Return: 0, or with nothing changed -EOPNOTSUPP if the kernel has a file that
 * pksm does not know, -EEXIST if it has one that is ours, or -ENOMEM.
 */
int pksm_sysfs_attach(void)
{
	int err = match();

	if (!err)
		err = sysfs_merge_group(*pksm_data_mm_kobj, &own_group);
	if (err)
		return err;
	down_write(&handover);
	own_group_added = true;
	for (size_t i = 0; i < pksm_builtin_count; i++) {
		const struct pksm_builtin_file *file = &pksm_builtin_files[i];

		WRITE_ONCE(file->attr->show, show);
		if (file->store)
			WRITE_ONCE(file->attr->store, store);
	}
	/* Whoever was sent to the built-in engine has begun its write, or slept in it. */
	synchronize_rcu_tasks();
	return 0;
}

/**
 * pksm_sysfs_open() - answer the files from now on, and let writers through
 *
 * Context: loading the module, as the last step.
 */
void pksm_sysfs_open(void)
{
	WRITE_ONCE(ours, true);
	up_write(&handover);
}

/**
 * pksm_sysfs_close() - make writers wait again
 *
 * On return no write is under way, and our own files are gone: their going waits for
 * their writers, which wait for the handover.
 *
 * Context: unloading the module, as the first step. Sleeps as long as a write
 * takes, and for LISTED_MS at most for those who list the folder.
 */
void pksm_sysfs_close(void)
{
	own_group_remove();
	down_write(&handover);
}

/**
 * pksm_sysfs_detach() - give the files back to the built-in engine
 *
 * On return nobody is in a function of ours, and the writers that waited have
 * been served by the built-in engine.
 *
 * Context: unloading the module, or a load that failed. Sleeps as long as
 * those writes take.
 */
void pksm_sysfs_detach(void)
{
	WRITE_ONCE(ours, false);
	for (size_t i = 0; i < pksm_builtin_count; i++) {
		const struct pksm_builtin_file *file = &pksm_builtin_files[i];

		WRITE_ONCE(file->attr->show, file->show);
		WRITE_ONCE(file->attr->store, file->store);
	}
	up_write(&handover);
	own_group_remove();
	pksm_inside_drain(&inside);
}
