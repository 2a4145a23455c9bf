// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries: the functions that stand in for the built-in engine's.
 *
 * Entered by every process that registers, forks, execs, exits, maps or unmaps
 * memory, and by reclaim, migration, swap-in and memory failure, in the contexts
 * that the kernel calls its own functions in. Owns no lock. Each replacement
 * counts who is inside, since nobody holds the module for them (hook.h), and is
 * only that; what it does is a function of its own.
 *
 * The built-in engine's own list of spaces is kept exact, by calling its enter
 * and exit too: it is idle, and gets its registered processes back as they are
 * when the module goes.
 */
#include <linux/dax.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/ksm.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include "compat/mm.h"
#include "compat/symbol.h"
#include "control.h"
#include "entry.h"
#include "hook.h"
#include "node.h"
#include "rmap.h"
#include "space.h"
#include "unmerge.h"

PKSM_HOOK_ORIGINAL(__ksm_enter);
PKSM_HOOK_ORIGINAL(__ksm_exit);
PKSM_HOOK_ORIGINAL(ksm_madvise);
PKSM_HOOK_ORIGINAL(ksm_add_vma);
PKSM_HOOK_ORIGINAL(ksm_enable_merge_any);
PKSM_HOOK_ORIGINAL(ksm_disable_merge_any);
PKSM_HOOK_ORIGINAL(ksm_disable);
PKSM_HOOK_ORIGINAL(ksm_process_profit);
PKSM_HOOK_ORIGINAL(rmap_walk_ksm);
PKSM_HOOK_ORIGINAL(folio_migrate_ksm);
#ifdef CONFIG_MEMORY_FAILURE
PKSM_HOOK_ORIGINAL(collect_procs_ksm);
#endif
PKSM_HOOK_ORIGINAL(ksm_might_need_to_copy);

/* Ours first, since it can be taken back without a trace when theirs fails. */
static int enter(struct mm_struct *mm)
{
	int err = pksm_space_enter(mm);

	if (err == -EEXIST && pksm_mm_registered(mm))
		return 0;
	if (err && err != -EEXIST)
		return err;
	err = static_call(pksm_original___ksm_enter)(mm);
	if (err)
		pksm_space_leave(mm);
	return err;
}

/* An area of a process becomes mergeable. The mmap lock is held for writing. */
static int enrol(struct mm_struct *mm)
{
	if (!pksm_mm_registered(mm))
		return enter(mm);
	pksm_space_wake(mm);
	return 0;
}

/**
 * pksm_entry_mergeable() - whether pages of an area could ever be merged
 * @vma: the area; the mmap lock is held
 *
 * Return: false for shared, device, huge page file and droppable memory.
 */
bool pksm_entry_mergeable(const struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_SHARED | VM_MAYSHARE | VM_PFNMAP | VM_IO | VM_DONTEXPAND |
				  VM_HUGETLB | VM_MIXEDMAP | VM_DROPPABLE)) &&
	       !vma_is_dax(vma);
}

static int madvise(struct vm_area_struct *vma, unsigned long start, unsigned long end,
		   int advice, unsigned long *vm_flags)
{
	int err;

	switch (advice) {
	case MADV_MERGEABLE:
		/* Advice for an area that cannot be merged is ignored, not refused. */
		if ((vma->vm_flags & VM_MERGEABLE) || !pksm_entry_mergeable(vma))
			return 0;
		err = enrol(vma->vm_mm);
		if (err)
			return err;
		*vm_flags |= VM_MERGEABLE;
		return 0;
	case MADV_UNMERGEABLE:
		if (!(*vm_flags & VM_MERGEABLE))
			return 0;
		err = pksm_unmerge_vma(vma, start, end);
		if (err)
			return err;
		*vm_flags &= ~VM_MERGEABLE;
		return 0;
	}
	return 0;
}

static void add_vma(struct vm_area_struct *vma)
{
	if (!pksm_mm_merge_any(vma->vm_mm) || (vma->vm_flags & VM_MERGEABLE) ||
	    !pksm_entry_mergeable(vma))
		return;
	vm_flags_set(vma, VM_MERGEABLE);
	/* As a fork: without memory the area is not scanned; nothing else follows. */
	enrol(vma->vm_mm);
}

static void add_vmas(struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	VMA_ITERATOR(vmi, mm, 0);

	for_each_vma(vmi, vma)
		if (!(vma->vm_flags & VM_MERGEABLE) && pksm_entry_mergeable(vma))
			vm_flags_set(vma, VM_MERGEABLE);
}

static int del_vmas(struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	int err;

	VMA_ITERATOR(vmi, mm, 0);

	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_MERGEABLE))
			continue;
		err = pksm_unmerge_vma(vma, vma->vm_start, vma->vm_end);
		if (err)
			return err;
		vm_flags_clear(vma, VM_MERGEABLE);
	}
	return 0;
}

/**
 * pksm_entry_enable_merge_any() - register all memory of a process, also to come
 * @mm: its space; the mmap lock is held for writing
 *
 * What prctl(PR_SET_MEMORY_MERGE) does.
 * Return: 0 or -ENOMEM.
 */
int pksm_entry_enable_merge_any(struct mm_struct *mm)
{
	int err;

	mmap_assert_write_locked(mm);
	if (pksm_mm_merge_any(mm))
		return 0;
	err = enrol(mm);
	if (err)
		return err;
	pksm_mm_merge_any_set(mm);
	add_vmas(mm);
	return 0;
}

/**
 * pksm_entry_disable_merge_any() - undo that, and unmerge all memory of a process
 * @mm: its space; the mmap lock is held for writing
 *
 * Return: 0, or as pksm_unmerge_vma(), and then everything is registered still.
 */
int pksm_entry_disable_merge_any(struct mm_struct *mm)
{
	int err;

	mmap_assert_write_locked(mm);
	if (!pksm_mm_merge_any(mm))
		return 0;
	err = del_vmas(mm);
	if (err) {
		add_vmas(mm);
		return err;
	}
	pksm_mm_merge_any_clear(mm);
	return 0;
}

/**
 * pksm_entry_disable() - take back all memory of a process, however registered
 * @mm: its space; the mmap lock is held for writing
 *
 * Return: 0, or as pksm_unmerge_vma(); areas may have been taken back by then,
 * unless all of the process was registered: then all of it is still.
 */
int pksm_entry_disable(struct mm_struct *mm)
{
	mmap_assert_write_locked(mm);
	if (pksm_mm_merge_any(mm))
		return pksm_entry_disable_merge_any(mm);
	return pksm_mm_registered(mm) ? del_vmas(mm) : 0;
}

static long profit(struct mm_struct *mm)
{
	long saved = READ_ONCE(mm->ksm_merging_pages) + atomic_long_read(&mm->ksm_zero_pages);

	return saved * (long)PAGE_SIZE - pksm_space_bytes(mm);
}

static struct folio *copy(struct folio *folio, struct vm_area_struct *vma, unsigned long addr)
{
	struct folio *fresh;

	fresh = vma_alloc_folio(GFP_HIGHUSER_MOVABLE, 0, vma, addr, false);
	if (!fresh)
		return NULL;
	if (mem_cgroup_charge(fresh, vma->vm_mm, GFP_KERNEL)) {
		folio_put(fresh);
		return NULL;
	}
	if (copy_mc_user_highpage(folio_page(fresh, 0), folio_page(folio, 0), addr, vma)) {
		folio_put(fresh);
		return ERR_PTR(-EHWPOISON);
	}
	folio_set_dirty(fresh);
	__folio_mark_uptodate(fresh);
	__folio_set_locked(fresh);
#ifdef CONFIG_SWAP
	count_vm_event(KSM_SWPIN_COPY);
#endif
	return fresh;
}

/*
 * A page comes back from swap to @addr: can it be mapped there as it is? A merged
 * page can, unless everything is being unmerged; a plain one only where its
 * reverse map finds it.
 */
static bool fits(struct folio *folio, struct vm_area_struct *vma, unsigned long addr)
{
	struct anon_vma *anon_vma;

	if (folio_test_large(folio))
		return true;
	if (folio_test_ksm(folio))
		return pksm_node_of(folio) && pksm_control_run() != PKSM_RUN_UNMERGE;
	anon_vma = pksm_mm_anon_vma(folio);
	return !anon_vma || (folio->index == pksm_mm_index(vma, addr) &&
			     anon_vma->root == vma->anon_vma->root);
}

static struct folio *might_need_to_copy(struct folio *folio, struct vm_area_struct *vma,
					unsigned long addr)
{
	if (fits(folio, vma, addr))
		return folio;
	if (folio_test_hwpoison(folio))
		return ERR_PTR(-EHWPOISON);
	/* A failed read is reported by the caller. */
	if (!folio_test_uptodate(folio))
		return folio;
	return copy(folio, vma, addr);
}

/* REPLACE(type, name, (parameters), (arguments)): counts who is inside @name. */
#define REPLACE(type, name, parameters, call)		\
static type replace_##name parameters			\
{							\
	type result;					\
							\
	pksm_hook_enter();				\
	result = call;					\
	pksm_hook_leave();				\
	return result;					\
}

#define REPLACE_VOID(name, parameters, call)		\
static void replace_##name parameters			\
{							\
	pksm_hook_enter();				\
	call;						\
	pksm_hook_leave();				\
}

REPLACE(int, __ksm_enter, (struct mm_struct *mm), enter(mm))
REPLACE_VOID(__ksm_exit, (struct mm_struct *mm),
	     (static_call(pksm_original___ksm_exit)(mm), pksm_space_leave(mm)))
REPLACE(int, ksm_madvise, (struct vm_area_struct *vma, unsigned long start, unsigned long end,
			   int advice, unsigned long *vm_flags),
	madvise(vma, start, end, advice, vm_flags))
REPLACE_VOID(ksm_add_vma, (struct vm_area_struct *vma), add_vma(vma))
REPLACE(int, ksm_enable_merge_any, (struct mm_struct *mm), pksm_entry_enable_merge_any(mm))
REPLACE(int, ksm_disable_merge_any, (struct mm_struct *mm), pksm_entry_disable_merge_any(mm))
REPLACE(int, ksm_disable, (struct mm_struct *mm), pksm_entry_disable(mm))
REPLACE(long, ksm_process_profit, (struct mm_struct *mm), profit(mm))
REPLACE_VOID(rmap_walk_ksm, (struct folio *folio, struct rmap_walk_control *rwc),
	     pksm_rmap_walk(folio, rwc))
REPLACE_VOID(folio_migrate_ksm, (struct folio *newfolio, struct folio *folio),
	     pksm_rmap_migrate(newfolio, folio))
#ifdef CONFIG_MEMORY_FAILURE
REPLACE_VOID(collect_procs_ksm, (struct folio *folio, struct page *page,
				 struct list_head *to_kill, int force_early),
	     pksm_rmap_collect(folio, page, to_kill, force_early))
#endif
REPLACE(struct folio *, ksm_might_need_to_copy,
	(struct folio *folio, struct vm_area_struct *vma, unsigned long addr),
	might_need_to_copy(folio, vma, addr))

struct pksm_hook pksm_entry_hooks[] = {
	PKSM_HOOK(__ksm_enter, replace___ksm_enter),
	PKSM_HOOK(__ksm_exit, replace___ksm_exit),
	PKSM_HOOK(ksm_madvise, replace_ksm_madvise),
	PKSM_HOOK(ksm_add_vma, replace_ksm_add_vma),
	PKSM_HOOK(ksm_enable_merge_any, replace_ksm_enable_merge_any),
	PKSM_HOOK(ksm_disable_merge_any, replace_ksm_disable_merge_any),
	PKSM_HOOK(ksm_disable, replace_ksm_disable),
	PKSM_HOOK(ksm_process_profit, replace_ksm_process_profit),
	PKSM_HOOK(rmap_walk_ksm, replace_rmap_walk_ksm),
	PKSM_HOOK(folio_migrate_ksm, replace_folio_migrate_ksm),
#ifdef CONFIG_MEMORY_FAILURE
	PKSM_HOOK(collect_procs_ksm, replace_collect_procs_ksm),
#endif
	PKSM_HOOK(ksm_might_need_to_copy, replace_ksm_might_need_to_copy),
};

const size_t pksm_entry_count = ARRAY_SIZE(pksm_entry_hooks);
