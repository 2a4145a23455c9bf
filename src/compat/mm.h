/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory management of 6.12, where other releases spell it otherwise, and what
 * the kernel's headers offer only to mm itself.
 */
#ifndef PKSM_COMPAT_MM_H
#define PKSM_COMPAT_MM_H

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>

/*
 * The two counters that /proc shows for a process are plain words, because the
 * built-in engine has one thread; several workers may serve one process at once.
 */
static inline void pksm_mm_merging_add(struct mm_struct *mm, long n)
{
	BUILD_BUG_ON(sizeof(mm->ksm_merging_pages) != sizeof(atomic_long_t));
	atomic_long_add(n, (atomic_long_t *)&mm->ksm_merging_pages);
}

static inline void pksm_mm_records_add(struct mm_struct *mm, long n)
{
	BUILD_BUG_ON(sizeof(mm->ksm_rmap_items) != sizeof(atomic_long_t));
	atomic_long_add(n, (atomic_long_t *)&mm->ksm_rmap_items);
}

/*
 * The last level of page tables. The kernel's own inline functions tell sparse of
 * a lock that is taken if they succeed, which it cannot follow out of them; so
 * taking is not told at all here, and releasing balances itself.
 */
static inline pte_t *pksm_mm_pte_lock(struct mm_struct *mm, pmd_t *pmd, unsigned long addr,
				      spinlock_t **ptl)
{
	return __pte_offset_map_lock(mm, pmd, addr, ptl);
}

static inline void pksm_mm_pte_unlock(pte_t *ptep, spinlock_t *ptl)
{
	__acquire(ptl);
	__acquire(RCU);
	pte_unmap_unlock(ptep, ptl);
}

static inline void pksm_mm_pte_unmap(pte_t *ptep)
{
	__acquire(RCU);
	pte_unmap(ptep);
}

/*
 * The page of a present entry, NULL for special ones: vm_normal_page() without its
 * check of the entry's sanity.
 */
static inline struct page *pksm_mm_pte_page(pte_t pte)
{
#ifndef CONFIG_ARCH_HAS_PTE_SPECIAL
#error "pksm needs an architecture that marks special entries"
#endif
	return pte_special(pte) ? NULL : pfn_to_page(pte_pfn(pte));
}

/*
 * The index under which @addr is found in the interval tree of its VMA's
 * anon_vma: linear_page_index(), linear_anon_page_index() from 7.3 on.
 */
static inline unsigned long pksm_mm_index(const struct vm_area_struct *vma, unsigned long addr)
{
	return ((addr - vma->vm_start) >> PAGE_SHIFT) + vma->vm_pgoff;
}

/* The inverse; the index lies in the VMA. */
static inline unsigned long pksm_mm_address(const struct vm_area_struct *vma, unsigned long index)
{
	return vma->vm_start + ((index - vma->vm_pgoff) << PAGE_SHIFT);
}

/* The VMAs of an anon_vma, locked for reading, that hold one page index. */
#define pksm_mm_for_each_covering(vmac, anon_vma, index)				\
	for (vmac = anon_vma_interval_tree_iter_first(&(anon_vma)->rb_root, index, index); \
	     vmac; vmac = anon_vma_interval_tree_iter_next(vmac, index, index))

/*
 * The anon_vma that an anonymous page names; NULL for any other, merged ones too.
 * Kept alive by the VMAs that map the page.
 */
static inline struct anon_vma *pksm_mm_anon_vma(const struct folio *folio)
{
	unsigned long mapping = (unsigned long)READ_ONCE(folio->mapping);

	if ((mapping & PAGE_MAPPING_FLAGS) != PAGE_MAPPING_ANON)
		return NULL;
	return (struct anon_vma *)(mapping & ~PAGE_MAPPING_FLAGS);
}

/*
 * exit_mmap() has unmapped everything, or never will (mm/mmap.c, mm/oom_kill.c
 * of 6.12).
 */
static inline bool pksm_mm_unmapped(const struct mm_struct *mm)
{
	return test_bit(MMF_OOM_SKIP, &mm->flags);
}

static inline bool pksm_mm_merge_any(const struct mm_struct *mm)
{
	return test_bit(MMF_VM_MERGE_ANY, &mm->flags);
}

static inline void pksm_mm_merge_any_set(struct mm_struct *mm)
{
	set_bit(MMF_VM_MERGE_ANY, &mm->flags);
}

static inline void pksm_mm_merge_any_clear(struct mm_struct *mm)
{
	clear_bit(MMF_VM_MERGE_ANY, &mm->flags);
}

/*
 * Is fork done with this space, if it comes from one? A task is new from the very
 * beginning of fork until all of fork is over (sched_fork(), wake_up_new_task(),
 * kernel/sched/core.c of 6.12), and a new space belongs to it.
 */
static inline bool pksm_mm_settled(struct mm_struct *mm)
{
#ifndef CONFIG_MEMCG
#error "pksm needs a kernel with CONFIG_MEMCG: it tells whose an address space is"
#else
	struct task_struct *owner;
	bool settled;

	rcu_read_lock();
	owner = rcu_dereference(mm->owner);
	settled = owner && !(READ_ONCE(owner->__state) & TASK_NEW);
	rcu_read_unlock();
	return settled;
#endif
}

/* The kernel calls __ksm_exit() only for spaces that have this. */
static inline bool pksm_mm_registered(const struct mm_struct *mm)
{
	return test_bit(MMF_VM_MERGEABLE, &mm->flags);
}

#endif
