// SPDX-License-Identifier: GPL-2.0-only
/*
 * knob.c - the files of /sys/kernel/mm/ksm.
 *
 * The same files whichever engine answers: the tests run on the built-in
 * one first, which says what is right, and then on pksm.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define KNOB_DIR "/sys/kernel/mm/ksm/"

/*
 * How long the engine may take for one pass before the test calls it stuck.
 * Emulated CPUs under the checks of a debug kernel are slow; nothing else
 * depends on this figure.
 */
#define PATIENCE_SECONDS 250

static const struct {
	const char *name;
	long value;
} scene[] = {
	{ "smart_scan", 0 },
	{ "use_zero_pages", 0 },
	{ "pages_to_scan", 100000 },
	{ "sleep_millisecs", 0 },
};

static long before[sizeof(scene) / sizeof(scene[0])];
static pid_t owner;

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), KNOB_DIR "%s", name);
	return path;
}

/**
 * knob_pksm() - whether pksm answers, and not the built-in engine
 *
 * Return: true when the module is loaded.
 */
bool knob_pksm(void)
{
	return access("/sys/module/pksm/refcnt", F_OK) == 0;
}

/**
 * knob_write() - write bytes to a knob in one write
 * @name: file name of the knob
 * @buf: the bytes
 * @len: how many
 *
 * Return: 0 or the negative error that the write gave.
 */
int knob_write(const char *name, const void *buf, size_t len)
{
	return file_write(path_of(name), buf, len);
}

/**
 * knob_put() - write a text to a knob
 * @name: file name of the knob
 * @text: the text
 *
 * Return: 0 or the negative error that the write gave.
 */
int knob_put(const char *name, const char *text)
{
	return knob_write(name, text, strlen(text));
}

/**
 * knob_set() - write a number to a knob that must take it
 * @name: file name of the knob
 * @value: the number
 *
 * Ends the program when the write fails.
 */
void knob_set(const char *name, long value)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%ld\n", value);
	err = knob_put(name, text);
	if (err)
		tap_die("write %ld to %s: %s", value, name, strerror(-err));
}

/**
 * knob_get() - read the number of a knob or counter that must be there
 * @name: file name
 *
 * Return: the number.
 */
long knob_get(const char *name)
{
	char text[64], *end;
	ssize_t n = file_read(path_of(name), text, sizeof(text));
	long value;

	if (n <= 0)
		tap_die("read %s: %s", name, n ? strerror(-n) : "empty");
	value = strtol(text, &end, 10);
	if (end == text || *end != '\n')
		tap_die("%s holds \"%s\", which is no number", name, text);
	return value;
}

static void put_back(void)
{
	size_t i;

	if (getpid() != owner)
		return;
	knob_put("run", "2");
	for (i = 0; i < sizeof(scene) / sizeof(scene[0]); i++) {
		char text[32];

		snprintf(text, sizeof(text), "%ld", before[i]);
		knob_put(scene[i].name, text);
	}
	knob_put("run", "0");
}

/**
 * knob_begin() - set the scene: nothing merged, nothing running
 *
 * Skipping by age and merging with the zero page are off, the budget is
 * large and there is no sleep, so that a pass is soon over and visits every
 * page. The tunables are put back when the program ends, with run at 0.
 */
void knob_begin(void)
{
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	owner = getpid();
	for (i = 0; i < sizeof(scene) / sizeof(scene[0]); i++)
		before[i] = knob_get(scene[i].name);
	atexit(put_back);
	knob_run(2);
	for (i = 0; i < sizeof(scene) / sizeof(scene[0]); i++)
		knob_set(scene[i].name, scene[i].value);
	knob_run(0);
	tap_diag("engine: %s", knob_pksm() ? "pksm" : "built-in");
}

/**
 * knob_run() - write to run
 * @value: 0, 1 or 2
 */
void knob_run(long value)
{
	knob_set("run", value);
}

static void wait_passed(long want)
{
	time_t limit = time(NULL) + PATIENCE_SECONDS;
	struct timespec nap = { .tv_nsec = 2000000 };

	while (knob_get("full_scans") < want) {
		if (time(NULL) > limit)
			tap_die("pass %ld has not ended in %d seconds", want,
				PATIENCE_SECONDS);
		nanosleep(&nap, NULL);
	}
}

/**
 * knob_passes() - wait until the engine has ended some more passes
 * @count: how many
 *
 * Somebody must have mergeable memory, or there are no passes. Ends the
 * program when the engine stands still: that is a failed test.
 */
void knob_passes(long count)
{
	wait_passed(knob_get("full_scans") + count);
}

static void wait_asleep(void)
{
	time_t limit = time(NULL) + PATIENCE_SECONDS;
	struct timespec nap = { .tv_nsec = 2000000 };

	while (!thread_all_asleep()) {
		if (time(NULL) > limit)
			tap_die("the engine does not sleep after a pass");
		nanosleep(&nap, NULL);
	}
}

/* Each new value of the sleep wakes the sleeper once. */
static void wake(void)
{
	static long sleep_ms = 40000000;

	knob_set("sleep_millisecs", ++sleep_ms);
}

/**
 * knob_pass() - let the engine make exactly one pass
 *
 * The engine sleeps for hours between two batches, a batch is larger than a
 * pass, a pass ends its batch, and a new value of sleep_millisecs wakes the
 * sleeper: so each new value buys one pass. Call it with run at 1 only, and
 * knob_pass_begin() first.
 */
void knob_pass(void)
{
	/* Read first: a short pass may have ended before wake() returns. */
	long want = knob_get("full_scans") + 1;

	wake();
	wait_passed(want);
	wait_asleep();
}

/**
 * knob_batch() - let the engine make exactly one batch shorter than a pass
 *
 * As knob_pass(), with pages_to_scan below the number of pages that there
 * are. The counter of scanned pages must move, or the program ends.
 */
void knob_batch(void)
{
	long before = knob_get("pages_scanned");
	time_t limit = time(NULL) + PATIENCE_SECONDS;

	wake();
	while (knob_get("pages_scanned") == before)
		if (time(NULL) > limit)
			tap_die("the engine does not make a batch");
	wait_asleep();
}

/**
 * knob_wait_still() - wait until the engine makes no more passes
 *
 * For a scene in which nothing mergeable is left. Ends the program when
 * the passes go on.
 */
void knob_wait_still(void)
{
	time_t limit = time(NULL) + PATIENCE_SECONDS;
	struct timespec nap = { .tv_nsec = 300000000 };
	long before;

	do {
		if (time(NULL) > limit)
			tap_die("passes go on with nothing to merge");
		before = knob_get("full_scans");
		nanosleep(&nap, NULL);
	} while (knob_get("full_scans") != before);
}

/**
 * knob_pass_begin() - set the engine asleep at the border of a pass
 *
 * Somebody must have mergeable memory. Whatever pass was under way is over
 * when this returns.
 */
void knob_pass_begin(void)
{
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	knob_passes(1);
	knob_set("sleep_millisecs", 40000000);
	wait_asleep();
}

/**
 * knob_settle() - run the engine until all that can be merged is merged
 *
 * The contract is two whole passes. The pass that is under way when the
 * wait begins may have gone by already, so three ends are waited for. The
 * engine is stopped afterwards: what the test then reads does not move.
 */
void knob_settle(void)
{
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	knob_passes(3);
	knob_run(0);
}

/**
 * knob_clear() - unmerge everything and leave the engine stopped
 */
void knob_clear(void)
{
	knob_run(2);
	knob_run(0);
}

/**
 * knob_counts() - state the four counters of the engine at rest
 * @shared: expected pages_shared
 * @sharing: expected pages_sharing
 * @unshared: expected pages_unshared
 * @volat: expected pages_volatile
 * @what: the situation, for the line printed
 *
 * Return: whether all four are exact.
 */
bool knob_counts(long shared, long sharing, long unshared, long volat,
		 const char *what)
{
	long a = knob_get("pages_shared"), b = knob_get("pages_sharing");
	long c = knob_get("pages_unshared"), d = knob_get("pages_volatile");
	bool good = a == shared && b == sharing && c == unshared && d == volat;

	tap_ok(good, "%s: counters exact", what);
	if (!good)
		tap_diag("  got shared %ld sharing %ld unshared %ld volatile %ld", a, b, c, d);
	if (!good)
		tap_diag("  want shared %ld sharing %ld unshared %ld volatile %ld",
			 shared, sharing, unshared, volat);
	return good;
}
