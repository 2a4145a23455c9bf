// SPDX-License-Identifier: GPL-2.0-only
/*
 * engine.c - the engine that answers at the moment, and the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "demo.h"

#define KSM "/sys/kernel/mm/ksm/"
#define MODULE "/lib/modules/pksm.ko"

/* Looks at the counters each second, and how long an engine may take. */
#define LOOKS_PER_SECOND 50
#define PATIENCE_SECONDS 100
#define LOOKS (LOOKS_PER_SECOND * PATIENCE_SECONDS)

/* At rest: so many passes in which the saving grew by less than 1/1000. */
#define QUIET_PASSES 2

static long number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("read %s: %s", path, strerror(errno));
	close(fd);
	return strtol(text, NULL, 10);
}

/**
 * engine_get() - read a knob or counter
 * @name: its file
 *
 * Return: its number.
 */
long engine_get(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), KSM "%s", name);
	return number(path);
}

/**
 * engine_set() - write a knob
 * @name: its file
 * @value: the number
 */
void engine_set(const char *name, long value)
{
	char path[128], text[32];
	int fd, len = sprintf(text, "%ld\n", value);

	snprintf(path, sizeof(path), KSM "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != len)
		die("write %ld to %s: %s", value, path, strerror(errno));
	close(fd);
}

static double reached(const long *saving, int looks, long wanted)
{
	int k;

	for (k = 0; k < looks; k++)
		if (saving[k] >= wanted)
			break;
	return (double)k / LOOKS_PER_SECOND;
}

/**
 * engine_settle() - let the engine merge until it has nothing more to do
 * @g: gets the number of pages saved and the times
 *
 * The clock starts with the write to run; everybody is enrolled before.
 */
void engine_settle(struct gain *g)
{
	const double look = 1.0 / LOOKS_PER_SECOND;
	static long saving[LOOKS];
	long pass = engine_get("full_scans"), at_quiet = 0, quiet_since = pass;
	double start = now();
	int k = 0;

	engine_set("run", 1);
	g->settled = false;
	while (k < LOOKS && !g->settled) {
		long scans;

		saving[k] = engine_get("pages_sharing");
		scans = engine_get("full_scans");
		if (saving[k] - at_quiet > at_quiet / 1000) {
			at_quiet = saving[k];
			quiet_since = scans;
		}
		g->settled = at_quiet && scans > quiet_since + QUIET_PASSES;
		k++;
		while (now() < start + k * look)
			nap(start + k * look - now());
		/* A look that came late stands for those that it has missed. */
		for (; k < LOOKS && now() > start + (k + 1) * look; k++)
			saving[k] = saving[k - 1];
	}
	g->pages = saving[k - 1];
	g->at90 = reached(saving, k, g->pages * 90 / 100);
	g->at99 = reached(saving, k, g->pages * 99 / 100);
	engine_set("run", 0);
}

/**
 * engine_clear() - unmerge everything and stop
 */
void engine_clear(void)
{
	engine_set("run", 2);
	engine_set("run", 0);
}

/**
 * engine_load() - load the module into the running kernel
 */
void engine_load(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		die("load %s: %s", MODULE, strerror(errno));
	close(fd);
}

/**
 * engine_unload() - unload the module; nothing is merged any more
 */
void engine_unload(void)
{
	double limit = now() + 10;

	/* A process on its way out may hold a merged page for a moment. */
	while (syscall(SYS_delete_module, "pksm", O_NONBLOCK)) {
		if (errno != EAGAIN || now() > limit)
			die("unload pksm: %s", strerror(errno));
		nap(0.1);
	}
}

/* Sum of the numbers behind @name wherever it starts a line of a file. */
static long sum_of(const char *path, const char *name)
{
	size_t len = strlen(name);
	char text[256];
	long sum = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		die("no %s", path);
	while (fgets(text, sizeof(text), f)) {
		const char *at = text + strspn(text, " ");

		if (!strncmp(at, name, len))
			sum += strtol(at + len, NULL, 10);
	}
	fclose(f);
	return sum;
}

/**
 * engine_free_kib() - free memory of the machine
 *
 * Pages that wait on the lists of a CPU are free, too: what an engine frees
 * goes there first.
 *
 * Return: KiB.
 */
long engine_free_kib(void)
{
	return sum_of("/proc/meminfo", "MemFree:") +
	       sum_of("/proc/zoneinfo", "count:") * 4;
}
