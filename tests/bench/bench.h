/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what the benchmark programs share.
 *
 * A program measures the engine that answers when it starts, prints its
 * figures, and states in TAP that no byte has changed. It sets every knob that
 * matters itself. Memory, knobs and TAP come from tests/guest/lib.h.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <lib.h>

/* lib-figure.c */
void figure(double value, const char *unit, const char *name, ...)
	PRINTF_LIKE(3, 4);
uint64_t clock_ns(void);
void mark_begin(void);
void mark_end(const char *what, size_t pages);

/* lib-engine.c */
uint64_t engine_cpu_ns(void);
void engine_begin(bool smart_scan);
void engine_register(void *addr, size_t pages);
void engine_pass(void);
bool engine_workers(long count);

extern long engine_poll_ns;

/* lib-lock.c */
bool lock_begin(void);
double lock_end(void);

/* lib-memory.c */
/**
 * struct memory - kernel memory in use, in bytes
 * @slabs: slab caches of the engine, slack included
 * @nodes: those among them that hold the nodes of merged frames
 * @kmalloc: all general slab caches, and what is too large for a cache
 * @vmalloc: virtually mapped memory
 */
struct memory {
	long slabs;
	long nodes;
	long kmalloc;
	long vmalloc;
};

struct memory memory_now(void);
long memory_grown(const struct memory *since, long *nodes);

#endif
