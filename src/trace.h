/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: phases of the engine and what became of pages.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pksm

#if !defined(PKSM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PKSM_TRACE_H

#include <linux/tracepoint.h>

#include "outcome.h"

DECLARE_EVENT_CLASS(pksm_space,
	TP_PROTO(struct mm_struct *mm),
	TP_ARGS(mm),
	TP_STRUCT__entry(__field(void *, mm)),
	TP_fast_assign(__entry->mm = mm;),
	TP_printk("mm %p", __entry->mm)
);

/* A process was registered. */
DEFINE_EVENT(pksm_space, pksm_space_enter, TP_PROTO(struct mm_struct *mm), TP_ARGS(mm));

/* A registered process exits; nothing touches its memory any more. */
DEFINE_EVENT(pksm_space, pksm_space_leave, TP_PROTO(struct mm_struct *mm), TP_ARGS(mm));

DECLARE_EVENT_CLASS(pksm_pass,
	TP_PROTO(unsigned long seq, long records),
	TP_ARGS(seq, records),
	TP_STRUCT__entry(__field(unsigned long, seq) __field(long, records)),
	TP_fast_assign(__entry->seq = seq; __entry->records = records;),
	TP_printk("seq %lu records %ld", __entry->seq, __entry->records)
);

/* A pass over all registered spaces begins. */
DEFINE_EVENT(pksm_pass, pksm_pass_begin,
	TP_PROTO(unsigned long seq, long records), TP_ARGS(seq, records));

/* A pass has ended: every range was visited. */
DEFINE_EVENT(pksm_pass, pksm_pass_end,
	TP_PROTO(unsigned long seq, long records), TP_ARGS(seq, records));

/*
 * What became of a page that was visited, unless it was merged or resting already
 * or was skipped: those visits are the many, and are only counted.
 */
#define X(symbol, name) { PKSM_##symbol, name },
TRACE_EVENT(pksm_page,
	TP_PROTO(struct mm_struct *mm, unsigned long addr, unsigned long pfn, int outcome),
	TP_ARGS(mm, addr, pfn, outcome),
	TP_STRUCT__entry(
		__field(void *, mm)
		__field(unsigned long, addr)
		__field(unsigned long, pfn)
		__field(int, outcome)
	),
	TP_fast_assign(
		__entry->mm = mm;
		__entry->addr = addr;
		__entry->pfn = pfn;
		__entry->outcome = outcome;
	),
	TP_printk("mm %p addr 0x%lx pfn 0x%lx outcome %s", __entry->mm, __entry->addr,
		  __entry->pfn, __print_symbolic(__entry->outcome, PKSM_OUTCOMES(X) { -1, "" }))
);

/* A page's item left the list of a merged page. */
TRACE_EVENT(pksm_item_detach,
	TP_PROTO(struct mm_struct *mm, unsigned long addr, unsigned long pfn),
	TP_ARGS(mm, addr, pfn),
	TP_STRUCT__entry(
		__field(void *, mm)
		__field(unsigned long, addr)
		__field(unsigned long, pfn)
	),
	TP_fast_assign(
		__entry->mm = mm;
		__entry->addr = addr;
		__entry->pfn = pfn;
	),
	TP_printk("mm %p addr 0x%lx pfn 0x%lx", __entry->mm, __entry->addr, __entry->pfn)
);

/* A merged page has moved to another frame. */
TRACE_EVENT(pksm_node_migrate,
	TP_PROTO(unsigned long from, unsigned long to),
	TP_ARGS(from, to),
	TP_STRUCT__entry(__field(unsigned long, from) __field(unsigned long, to)),
	TP_fast_assign(__entry->from = from; __entry->to = to;),
	TP_printk("pfn 0x%lx to 0x%lx", __entry->from, __entry->to)
);

/* Merged pages of an area were given frames of their own. */
TRACE_EVENT(pksm_unmerge,
	TP_PROTO(struct mm_struct *mm, unsigned long start, unsigned long end, int err),
	TP_ARGS(mm, start, end, err),
	TP_STRUCT__entry(
		__field(void *, mm)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->mm = mm;
		__entry->start = start;
		__entry->end = end;
		__entry->err = err;
	),
	TP_printk("mm %p 0x%lx-0x%lx err %d", __entry->mm, __entry->start, __entry->end,
		  __entry->err)
);
#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
