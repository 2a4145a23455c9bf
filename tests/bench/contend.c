// SPDX-License-Identifier: GPL-2.0-only
/*
 * contend - merging beside a process that keeps changing its memory layout.
 *
 *	contend CPUS
 *
 *	 holder			 churner		 victim
 *	 64 MiB unique		 two threads, each	 2,048 pages four times,
 *	 pages, registered	 maps and unmaps	 registered while the
 *				 256 MiB, for ever	 others are at work
 *
 * The cases: "none", nobody churns; "sep", holder and churner are two
 * processes, so that they compete for CPUs only; "notouch", they are one, so
 * that the engine meets a memory map that is locked most of the time; "touch",
 * as notouch, and every page is written.
 *
 * Figures by case: "victim", seconds until the victim's pages are merged; "own",
 * the same for 2,048 other pages, four times each, of the holder itself;
 * "scanned", pages a second, and "cpu", time of the engine for each page
 * scanned, both while the victim waits; "churn", rounds a second.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define HELD (64UL << 8)
#define CHURNED (256UL << 20)
#define CONTENTS 2048UL
#define COPIES 4
#define LIMIT_NS (120 * 1000000000ULL)

static const char *const cases[] = { "none", "sep", "notouch", "touch" };

static bool touching;
static unsigned long *rounds;

static void sleep_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

/* Memory as a program has it where huge pages are on. */
static char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tap_die("map: %s", strerror(errno));
	return p;
}

static void *churn(void *arg)
{
	unsigned long *count = arg;
	size_t i;

	for (;;) {
		char *p = map(CHURNED);

		if (touching)
			for (i = 0; i < CHURNED; i += PAGE)
				p[i] = 1;
		munmap(p, CHURNED);
		__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void start_churn(bool touch)
{
	pthread_t thread;
	int i;

	touching = touch;
	for (i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, churn, rounds))
			tap_die("no thread");
}

static int churner(struct child *c, void *arg)
{
	child_wait(c);
	start_churn(false);
	child_report(c);
	child_wait(c);
	return 0;
}

static void fill_copies(char *p, uint64_t first)
{
	size_t i;

	for (i = 0; i < CONTENTS * COPIES; i++)
		page_fill(p + i * PAGE, 1, first + i % CONTENTS);
}

static bool copies_right(const char *p, uint64_t first)
{
	size_t i;

	for (i = 0; i < CONTENTS * COPIES; i++)
		if (!page_is(p + i * PAGE, 1, first + i % CONTENTS))
			return false;
	return true;
}

/* Steps: hold and churn; register more; compare. */
static int holder(struct child *c, void *arg)
{
	const char *what = arg;
	char *held = map(HELD * PAGE), *own = map(CONTENTS * COPIES * PAGE);
	bool good;

	page_fill_each(held, HELD, 1);
	fill_copies(own, 2000000);
	page_register(held, HELD);
	child_wait(c);
	if (!strcmp(what, "touch") || !strcmp(what, "notouch"))
		start_churn(!strcmp(what, "touch"));
	child_report(c);
	child_wait(c);
	page_register(own, CONTENTS * COPIES);
	child_report(c);
	child_wait(c);
	good = page_is_each(held, HELD, 1) && copies_right(own, 2000000);
	return !good;
}

/*
 * Return: seconds until that many pages share, or the limit: that the built-in
 * engine comes to no end is a result, too.
 */
static double until_sharing(long want, uint64_t start, const char *what)
{
	bool good = true;

	while (good && knob_get("pages_sharing") < want) {
		good = clock_ns() - start < LIMIT_NS;
		sleep_ns(4000000);
	}
	if (knob_pksm())
		tap_ok(good, "contend %s: merged in time", what);
	else if (!good)
		tap_diag("contend %s: not merged in time", what);
	return (clock_ns() - start) / 1e9;
}

static void report(const char *what, const char *cpus, const char *name,
		   double value, const char *unit)
{
	figure(value, unit, "contend.smp%s.%s.%s", cpus, what, name);
}

/* Return: seconds until the victim was merged. */
static double victim(const char *what, const char *cpus)
{
	const long gone = CONTENTS * (COPIES - 1);
	char *p = map(CONTENTS * COPIES * PAGE);
	unsigned long turned;
	uint64_t start, cpu;
	double took;
	long scanned;

	fill_copies(p, 1000000);
	turned = __atomic_load_n(rounds, __ATOMIC_RELAXED);
	scanned = knob_get("pages_scanned");
	cpu = engine_cpu_ns();
	start = clock_ns();
	page_register(p, CONTENTS * COPIES);
	took = until_sharing(gone, start, what);
	cpu = engine_cpu_ns() - cpu;
	scanned = knob_get("pages_scanned") - scanned;
	turned = __atomic_load_n(rounds, __ATOMIC_RELAXED) - turned;
	report(what, cpus, "victim", took, "seconds");
	report(what, cpus, "scanned", scanned / took, "pages/second");
	report(what, cpus, "cpu", (double)cpu / scanned, "ns/page");
	report(what, cpus, "churn", turned / took, "rounds/second");
	tap_ok(copies_right(p, 1000000), "contend %s: the victim's bytes are right", what);
	return took;
}

static double contend(const char *what, const char *cpus)
{
	const long gone = CONTENTS * (COPIES - 1);
	struct child hold, apart = {};
	bool sep = !strcmp(what, "sep");
	double took;
	uint64_t start;

	knob_run(1);
	if (sep)
		child_start(&apart, churner, NULL);
	child_start(&hold, holder, (void *)what);
	child_step(&hold);
	if (sep)
		child_step(&apart);
	sleep_ns(500000000);
	took = victim(what, cpus);

	start = clock_ns();
	child_step(&hold);
	report(what, cpus, "own", until_sharing(2 * gone, start, what), "seconds");
	if (sep)
		child_join(&apart);
	tap_ok(child_join(&hold) == 0, "contend %s: the holder's bytes are right", what);
	return took;
}

int main(int argc, char **argv)
{
	double took[4];
	size_t i;

	if (argc != 2)
		tap_die("usage: contend CPUS");
	rounds = child_shared(1);
	engine_begin(false);
	knob_set("pages_to_scan", 100000);
	knob_set("sleep_millisecs", 0);
	for (i = 0; i < 4; i++) {
		pid_t pid;
		int status, fd[2];

		/* Each victim in a process of its own, gone when the next one comes. */
		if (pipe(fd))
			tap_die("pipe: %s", strerror(errno));
		pid = fork();
		if (!pid) {
			took[i] = contend(cases[i], argv[1]);
			if (write(fd[1], &took[i], sizeof(*took)) != sizeof(*took))
				_exit(1);
			_exit(tap_done());
		}
		waitpid(pid, &status, 0);
		tap_ok(!status, "contend %s", cases[i]);
		close(fd[1]);
		if (read(fd[0], &took[i], sizeof(*took)) != sizeof(*took))
			tap_die("no answer");
		close(fd[0]);
		knob_clear();
	}
	figure(took[2] / took[1], "ratio", "contend.smp%s.notouch-to-sep", argv[1]);
	figure(took[3] / took[1], "ratio", "contend.smp%s.touch-to-sep", argv[1]);
	return tap_done();
}
