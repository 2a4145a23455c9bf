/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * demo.h - rooms of the demonstration.
 *
 * main.c (the story), program.c (processes: start, measure, end), redis.c and
 * python.c (what each kind of program is asked), engine.c (files of
 * /sys/kernel/mm/ksm and the module), table.c (what people read).
 *
 * One thread. Whatever fails for want of a scene ends the program through
 * die(); what the demonstration states goes through state().
 */
#ifndef TESTS_DEMO_H
#define TESTS_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

struct program;

/**
 * struct kind - a kind of program
 * @name: as people call it
 * @start: in the new process: execute it; returns only on failure
 * @ready: wait until it answers, and give it its data
 * @right: ask whether every byte of its data is what it must be
 * @touch: let it change a sixteenth of its data
 * @end: ask it to end
 */
struct kind {
	const char *name;
	void (*start)(struct program *p);
	void (*ready)(struct program *p);
	bool (*right)(struct program *p);
	void (*touch)(struct program *p);
	void (*end)(struct program *p);
};

/**
 * struct footprint - memory of one program
 * @pss: its proportional set size, in KiB: a page shared by N counts 1/N
 * @merged: pages of it that are merged
 */
struct footprint {
	long pss;
	long merged;
};

/**
 * struct program - a running program
 * @kind: what it is
 * @number: which of its kind, from 1
 * @by_prctl: enrolled by PR_SET_MEMORY_MERGE before it is executed
 * @pid: its process
 * @pidfd: descriptor of that process
 * @to: its standard input, or its socket
 * @from: its answers
 * @touched: its data was changed by touch()
 * @right: every check so far found every byte right
 * @before: before anything is merged
 * @during: when the engine has nothing more to merge
 * @after: when everything is unmerged again
 */
struct program {
	const struct kind *kind;
	int number;
	bool by_prctl;
	pid_t pid;
	int pidfd;
	int to;
	FILE *from;
	bool touched;
	bool right;
	struct footprint before, during, after;
};

/**
 * struct gain - what an engine made of the programs
 * @programs: all of them
 * @count: how many
 * @engine: name of the engine
 * @pages: merged pages that gave their frame back, at the end
 * @at90: seconds until 90 % of them were reached
 * @at99: seconds until 99 % of them were reached
 * @settled: the number stood still before the patience ran out
 * @free_before: free memory of the machine before merging, KiB
 * @free_during: the same at the end of merging, KiB
 */
struct gain {
	struct program *programs;
	int count;
	const char *engine;
	long pages;
	double at90, at99;
	bool settled;
	long free_before, free_during;
};

/* main.c */
void die(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
void say(const char *fmt, ...) PRINTF_LIKE(1, 2);
bool state(bool good, const char *fmt, ...) PRINTF_LIKE(2, 3);
double now(void);
void nap(double seconds);

/* program.c */
void program_start(struct program *p);
void program_measure(const struct program *p, struct footprint *f);
bool program_end(struct program *p);
void program_enrol(int device, struct program *p);

/* redis.c, python.c */
extern const struct kind redis_kind, python_kind;
long redis_common_kib(void);
long python_common_kib(void);

/* engine.c */
long engine_get(const char *name);
void engine_set(const char *name, long value);
void engine_settle(struct gain *g);
void engine_clear(void);
void engine_load(void);
void engine_unload(void);
long engine_free_kib(void);

/* table.c */
void table_print(const struct gain *g);
void table_compare(const struct gain *a, const struct gain *b);
long table_saved_kib(const struct gain *g);

#endif
