// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-figure.c - figures for the report, and marks for QEMU's counters.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "bench.h"

/**
 * figure() - print one figure
 * @value: the figure
 * @unit: its unit, one word
 * @name: its name, one word of parts with dots in between
 *
 * The harness pairs the figures of both engines by their names.
 */
void figure(double value, const char *unit, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	printf("figure %s ", knob_pksm() ? "pksm" : "builtin");
	vprintf(name, ap);
	printf(" %.10g %s\n", value, unit);
	va_end(ap);
	fflush(stdout);
}

/**
 * clock_ns() - a clock that counts instructions under -icount
 *
 * Return: nanoseconds since some moment.
 */
uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/*
 * Long no-ops that no compiler emits. The plugin of plugin/count.c knows them;
 * for every other machine they are what they are.
 */
/**
 * mark_begin() - QEMU's counters start from zero here
 */
void mark_begin(void)
{
	asm volatile("nopl 0x6b736d01(%%rax)" ::: "memory");
}

/**
 * mark_end() - QEMU writes its counters here
 * @what: what was done since mark_begin(), one word
 * @pages: by how many pages the counts are to be divided
 */
void mark_end(const char *what, size_t pages)
{
	asm volatile("nopl 0x6b736d02(%%rax)" ::: "memory");
	printf("marked %s %s %zu\n", knob_pksm() ? "pksm" : "builtin", what, pages);
}
