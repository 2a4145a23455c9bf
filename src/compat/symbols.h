/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of every kernel symbol that pksm needs and that the kernel does
 * not export to modules. One entry is all it takes to add one.
 *
 * Read several times, each time with other meanings for its three words; so it
 * has no include guard, and undefines them at its end.
 *
 *   PKSM_FUNCTION(type, name, (parameters), (arguments))
 *	a function that pksm calls. Call it by its own name: rename.h gives that
 *	name another symbol, which symbol.c defines. A prototype that differs
 *	from the kernel's header does not compile.
 *   PKSM_DATA(type, name)
 *	a variable. Reached as *pksm_data_NAME. Where an inline function of the
 *	kernel's headers names it, rename.h has a line for it too.
 *   PKSM_ENTRY(name)
 *	an entry point of the built-in engine that a hook sits on (hook.h). Its
 *	prototype is checked where the hook is defined.
 *
 * What only exists under some kernel configurations is guarded here, and
 * nowhere else. Prototypes that no public header declares carry the file and
 * the release that they were checked against.
 */
#ifndef PKSM_FUNCTION
#define PKSM_FUNCTION(type, name, parameters, arguments)
#endif
#ifndef PKSM_DATA
#define PKSM_DATA(type, name)
#endif
#ifndef PKSM_ENTRY
#define PKSM_ENTRY(name)
#endif

/* Looking up. The first entry: the others are found with it. */
PKSM_FUNCTION(unsigned long, kallsyms_lookup_name, (const char *name), (name))
PKSM_FUNCTION(unsigned long, ftrace_location, (unsigned long ip), (ip))
PKSM_DATA(int, ftrace_enabled)
PKSM_DATA(char, _stext)
PKSM_DATA(char, _end)

/* Page tables and the pages in them. */
PKSM_FUNCTION(pte_t *, __pte_offset_map,
	      (pmd_t *pmd, unsigned long addr, pmd_t *pmdvalp),
	      (pmd, addr, pmdvalp))
PKSM_FUNCTION(pte_t *, __pte_offset_map_lock,
	      (struct mm_struct *mm, pmd_t *pmd, unsigned long addr, spinlock_t **ptlp),
	      (mm, pmd, addr, ptlp))
PKSM_FUNCTION(pte_t, ptep_clear_flush,
	      (struct vm_area_struct *vma, unsigned long address, pte_t *ptep),
	      (vma, address, ptep))
PKSM_FUNCTION(void, mm_trace_rss_stat, (struct mm_struct *mm, int member), (mm, member))
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
PKSM_FUNCTION(struct page *, vm_normal_page_pmd,
	      (struct vm_area_struct *vma, unsigned long addr, pmd_t pmd),
	      (vma, addr, pmd))
PKSM_FUNCTION(int, split_huge_page_to_list_to_order,
	      (struct page *page, struct list_head *list, unsigned int new_order),
	      (page, list, new_order))
#endif

/* The reverse map. */
PKSM_FUNCTION(void, folio_add_anon_rmap_ptes,
	      (struct folio *folio, struct page *page, int nr_pages,
	       struct vm_area_struct *vma, unsigned long address, rmap_t flags),
	      (folio, page, nr_pages, vma, address, flags))
PKSM_FUNCTION(void, folio_remove_rmap_ptes,
	      (struct folio *folio, struct page *page, int nr_pages, struct vm_area_struct *vma),
	      (folio, page, nr_pages, vma))
PKSM_FUNCTION(void, __put_anon_vma, (struct anon_vma *anon_vma), (anon_vma))
PKSM_FUNCTION(struct anon_vma_chain *, anon_vma_interval_tree_iter_first,
	      (struct rb_root_cached *root, unsigned long start, unsigned long last),
	      (root, start, last))
PKSM_FUNCTION(struct anon_vma_chain *, anon_vma_interval_tree_iter_next,
	      (struct anon_vma_chain *node, unsigned long start, unsigned long last),
	      (node, start, last))

/* Address spaces, their locks and whoever mirrors their page tables. */
PKSM_FUNCTION(struct mm_struct *, mm_access,
	      (struct task_struct *task, unsigned int mode), (task, mode))
PKSM_FUNCTION(struct task_struct *, pidfd_get_task, (int pidfd, unsigned int *flags),
	      (pidfd, flags))
PKSM_FUNCTION(int, do_madvise,
	      (struct mm_struct *mm, unsigned long start, size_t len_in, int behavior),
	      (mm, start, len_in, behavior))
#ifdef CONFIG_PER_VMA_LOCK
PKSM_FUNCTION(struct vm_area_struct *, lock_vma_under_rcu,
	      (struct mm_struct *mm, unsigned long address), (mm, address))
#endif
#ifdef CONFIG_MMU_NOTIFIER
PKSM_FUNCTION(int, __mmu_notifier_invalidate_range_start,
	      (struct mmu_notifier_range *range), (range))
PKSM_FUNCTION(void, __mmu_notifier_invalidate_range_end,
	      (struct mmu_notifier_range *range), (range))
#ifdef CONFIG_LOCKDEP
PKSM_DATA(struct lockdep_map, __mmu_notifier_invalidate_range_start_map)
#endif
#endif

/* Reclaim, swap and memory control groups. */
PKSM_FUNCTION(void, lru_add_drain_all, (void), ())
#ifdef CONFIG_SWAP
PKSM_FUNCTION(bool, folio_free_swap, (struct folio *folio), (folio))
#endif
#ifdef CONFIG_MEMCG
PKSM_FUNCTION(int, __mem_cgroup_charge,
	      (struct folio *folio, struct mm_struct *mm, gfp_t gfp), (folio, mm, gfp))
#endif

/* Memory failure. Both are declared in mm/internal.h alone (6.12). */
#ifdef CONFIG_MEMORY_FAILURE
PKSM_FUNCTION(struct task_struct *, task_early_kill,
	      (struct task_struct *tsk, int force_early), (tsk, force_early))
PKSM_FUNCTION(void, add_to_kill_ksm,
	      (struct task_struct *tsk, struct page *p, struct vm_area_struct *vma,
	       struct list_head *to_kill, unsigned long ksm_addr),
	      (tsk, p, vma, to_kill, ksm_addr))
#endif

/* The advisor. */
PKSM_FUNCTION(unsigned long long, task_sched_runtime, (struct task_struct *task), (task))

/* What the built-in engine owns: mm/ksm.c (6.12), static but for the first two. */
PKSM_DATA(atomic_long_t, ksm_zero_pages)
PKSM_DATA(struct kobject *, mm_kobj)
PKSM_DATA(const struct attribute_group, ksm_attr_group)
PKSM_DATA(struct mutex, ksm_thread_mutex)
PKSM_DATA(spinlock_t, ksm_mmlist_lock)
PKSM_DATA(struct pksm_native_slot, ksm_mm_head)
PKSM_DATA(struct rb_root *, root_stable_tree)
PKSM_DATA(struct list_head, migrate_nodes)
PKSM_DATA(unsigned long, ksm_pages_shared)
PKSM_DATA(int, ksm_nr_node_ids)

/* Where the rest of mm enters the built-in engine. */
PKSM_ENTRY(__ksm_enter)
PKSM_ENTRY(__ksm_exit)
PKSM_ENTRY(ksm_madvise)
PKSM_ENTRY(ksm_add_vma)
PKSM_ENTRY(ksm_enable_merge_any)
PKSM_ENTRY(ksm_disable_merge_any)
PKSM_ENTRY(ksm_disable)
#ifdef CONFIG_PROC_FS
PKSM_ENTRY(ksm_process_profit)
#endif
PKSM_ENTRY(rmap_walk_ksm)
#ifdef CONFIG_MIGRATION
PKSM_ENTRY(folio_migrate_ksm)
#endif
#ifdef CONFIG_MEMORY_FAILURE
PKSM_ENTRY(collect_procs_ksm)
#endif
PKSM_ENTRY(ksm_might_need_to_copy)

#undef PKSM_FUNCTION
#undef PKSM_DATA
#undef PKSM_ENTRY
