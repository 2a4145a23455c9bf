// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - the story that the demonstration tells.
 *
 * The same programs, with the same data, are started twice in one boot: first
 * the built-in engine merges them, then pksm. Each time: memory before,
 * merged, and after everything was taken back, and the data of every program
 * checked byte by byte at each of these points, and after it was changed
 * while merged.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"
#include "pksm.h"

#define REDIS 4
#define PYTHON 4
#define PROGRAMS (REDIS + PYTHON)

/* The fastest that the usual managers of KSM go on a machine in need. */
#define PAGES_TO_SCAN 1250
#define SLEEP_MILLISECS 10

static int failed;

static void line(const char *head, const char *fmt, va_list ap)
{
	fputs(head, stdout);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
}

/**
 * die() - end the demonstration: its scene cannot be set
 * @fmt: why
 */
void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("not ok - demo cannot go on: ", fmt, ap);
	va_end(ap);
	kill(0, SIGTERM);
	exit(1);
}

/**
 * say() - print a line for people
 * @fmt: the line
 */
void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("# ", fmt, ap);
	va_end(ap);
}

/**
 * state() - print a statement and whether it holds
 * @good: whether it does
 * @fmt: the statement
 *
 * Return: @good.
 */
bool state(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line(good ? "ok - " : "not ok - ", fmt, ap);
	va_end(ap);
	failed += !good;
	return good;
}

/**
 * now() - the time
 *
 * Return: seconds since some moment.
 */
double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/**
 * nap() - sleep
 * @seconds: how long
 */
void nap(double seconds)
{
	struct timespec t = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (seconds - (time_t)seconds) * 1e9,
	};

	nanosleep(&t, NULL);
}

static void check(struct gain *g, const char *when)
{
	int k, right = 0;

	for (k = 0; k < g->count; k++) {
		struct program *p = &g->programs[k];
		bool ok = p->kind->right(p);

		if (!ok)
			say("  %s %d: WRONG DATA", p->kind->name, p->number);
		p->right &= ok;
		right += ok;
	}
	state(right == g->count, "%s: every byte of %d programs is right %s",
	      g->engine, g->count, when);
}

static void measure(struct gain *g, size_t which)
{
	int k;

	for (k = 0; k < g->count; k++)
		program_measure(&g->programs[k],
				(void *)((char *)&g->programs[k] + which));
}

#define MEASURE(g, member) measure(g, offsetof(struct program, member))

static void start(struct gain *g, bool all_by_prctl)
{
	int k;

	for (k = 0; k < PROGRAMS; k++) {
		struct program *p = &g->programs[k];

		p->kind = k < REDIS ? &redis_kind : &python_kind;
		p->number = k < REDIS ? k + 1 : k - REDIS + 1;
		p->by_prctl = all_by_prctl || p->number == 1;
		p->right = true;
		program_start(p);
	}
	for (k = 0; k < PROGRAMS; k++)
		g->programs[k].kind->ready(&g->programs[k]);
	g->count = PROGRAMS;
}

static void enrol(struct gain *g)
{
	int k, fd = open(PKSM_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("open %s: %s", PKSM_DEVICE, strerror(errno));
	for (k = 0; k < g->count; k++)
		if (!g->programs[k].by_prctl)
			program_enrol(fd, &g->programs[k]);
	close(fd);
}

/* One engine, from starting the programs to ending them. */
static void act(struct gain *g, bool pksm)
{
	int k, ended = 0;
	long left = 0;

	say("starting %d redis-server and %d python3 and giving them their data",
	    REDIS, PYTHON);
	start(g, !pksm);
	check(g, "before merging");
	MEASURE(g, before);
	if (pksm)
		enrol(g);
	g->free_before = engine_free_kib();
	say("merging");
	engine_settle(g);
	g->free_during = engine_free_kib();
	MEASURE(g, during);
	check(g, "while merged");
	for (k = 0; k < g->count; k++)
		g->programs[k].kind->touch(&g->programs[k]);
	check(g, "after each changed a part of it while merged");
	engine_clear();
	MEASURE(g, after);
	check(g, "after unmerging");
	for (k = 0; k < g->count; k++)
		left += g->programs[k].after.merged;
	state(!left && !engine_get("pages_shared"), "%s: no page is merged any more",
	      g->engine);
	table_print(g);
	for (k = 0; k < g->count; k++)
		ended += program_end(&g->programs[k]);
	state(ended == g->count, "%s: %d programs end as they should", g->engine,
	      g->count);
}

static void judge(const struct gain *builtin, const struct gain *pksm)
{
	/* Pages at the borders of the common data hold something else too. */
	long common = ((REDIS - 1) * redis_common_kib() +
		       (PYTHON - 1) * python_common_kib()) / 100 * 95;

	state(builtin->settled && pksm->settled, "both engines came to rest");
	state(table_saved_kib(pksm) >= common,
	      "pksm saves what is equal by construction (%ld MiB of at least %ld MiB)",
	      table_saved_kib(pksm) / 1024, common / 1024);
	state(pksm->pages >= builtin->pages / 100 * 98,
	      "pksm merges as much as the built-in engine (%ld pages, %ld pages)",
	      pksm->pages, builtin->pages);
}

int main(void)
{
	static struct program first[PROGRAMS], second[PROGRAMS];
	struct gain builtin = { .programs = first, .engine = "built-in engine" };
	struct gain pksm = { .programs = second, .engine = "pksm" };

	setpgid(0, 0);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	engine_clear();
	engine_set("pages_to_scan", PAGES_TO_SCAN);
	engine_set("sleep_millisecs", SLEEP_MILLISECS);

	say("--- the built-in engine");
	act(&builtin, false);
	say("--- pksm.ko is loaded into the same running kernel");
	engine_load();
	state(engine_get("pages_to_scan") == PAGES_TO_SCAN &&
	      engine_get("sleep_millisecs") == SLEEP_MILLISECS,
	      "pksm has taken over the settings");
	act(&pksm, true);
	engine_unload();
	state(access(PKSM_DEVICE, F_OK) != 0, "pksm is unloaded, its device is gone");
	table_compare(&builtin, &pksm);
	judge(&builtin, &pksm);
	return failed != 0;
}
