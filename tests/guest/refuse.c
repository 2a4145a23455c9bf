// SPDX-License-Identifier: GPL-2.0-only
/*
 * refuse.c - loads that are refused, with one clear line, and change nothing.
 *
 * group: loading
 *
 * While the built-in engine holds merged pages: symbols missing (simulated),
 * a hook taken by another module, the function tracer off, too little memory
 * to unmerge. Afterwards the pages are merged as before, settings and run are
 * the same, and the load succeeds as soon as the reason is gone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#define N 64
#define RIVAL "/lib/modules/rival.ko"
#define TRACER "/proc/sys/kernel/ftrace_enabled"
#define HUGE "/proc/sys/vm/nr_hugepages"

static char *memory;
static unsigned long frame;

static void scene(void)
{
	memory = page_map(N);
	page_fill(memory, N, 1);
	page_register(memory, N);
	knob_settle();
	knob_set("pages_to_scan", 4321);
	knob_set("sleep_millisecs", 7);
	frame = frame_number(memory);
	if (!frame_same(memory, N))
		tap_die("the built-in engine does not merge");
}

static void unchanged(const char *what)
{
	tap_ok(!knob_pksm(), "%s: pksm is not loaded", what);
	tap_is(knob_get("run"), 0, "%s: run as before", what);
	tap_ok(knob_get("pages_to_scan") == 4321 &&
	       knob_get("sleep_millisecs") == 7, "%s: settings as before", what);
	tap_ok(frame_same(memory, N) && frame_number(memory) == frame,
	       "%s: the built-in engine's pages are merged as before", what);
	knob_counts(1, N - 1, 0, 0, what);
}

/* The line that says why must be one, and have a word that helps. */
static void refused(const char *parameters, int want, const char *what,
		    const char *word)
{
	int log = module_log_open(), err = module_pksm_load(parameters);
	bool helps;

	tap_is(err, want, "%s: refused", what);
	if (!err) {
		knob_run(2);
		module_pksm_unload();
	}
	tap_is(module_log_count(log, "pksm: not loaded: ", word, &helps), 1,
	       "%s: one line says why", what);
	if (word)
		tap_ok(helps, "%s: it says \"%s\"", what, word);
	close(log);
	unchanged(what);
}

static void test_symbols(void)
{
	int log = module_log_open();
	bool first, second;

	refused("missing=rmap_walk_ksm", -ENOENT, "a symbol missing", NULL);
	tap_ok(module_log_count(log, "pksm: ", "rmap_walk_ksm", &first) &&
	       first, "a symbol missing: it is named");
	refused("missing=ksm_madvise,folio_migrate_ksm", -ENOENT,
		"two symbols missing", NULL);
	close(log);
	log = module_log_open();
	module_pksm_load("missing=ksm_madvise,folio_migrate_ksm");
	module_log_count(log, "pksm: ", "ksm_madvise", &first);
	close(log);
	log = module_log_open();
	module_pksm_load("missing=ksm_madvise,folio_migrate_ksm");
	module_log_count(log, "pksm: ", "folio_migrate_ksm", &second);
	close(log);
	tap_ok(first && second, "two symbols missing: both are named");
	tap_is(module_pksm_load("missing=no_such_symbol"), -EINVAL,
	       "a name that nothing needs: refused");
	unchanged("a name that nothing needs");
}

static void test_rival(void)
{
	static const char * const taken[] = {
		"rmap_walk_ksm", "__ksm_exit", "ksm_madvise",
	};
	char text[64];
	size_t i;

	if (access(RIVAL, F_OK)) {
		tap_ok(false, "there is a rival module to be refused for");
		return;
	}
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "function=%s", taken[i]);
		tap_is(module_insert(RIVAL, text), 0, "a rival owns %s",
		       taken[i]);
		refused("", -EBUSY, "a hook is taken", taken[i]);
		tap_is(module_remove("rival", false), 0, "the rival goes");
	}
}

static void test_tracer(void)
{
	if (file_put(TRACER, "0")) {
		tap_skip("the function tracer cannot be switched off",
			 "the tracer is off: refused");
		return;
	}
	refused("", -EBUSY, "the tracer is off", "ftrace_enabled");
	file_put(TRACER, "1");
}

/* Memory taken away until some MiB are available, with what cannot swap. */
static bool leave_available(long mebibytes)
{
	long want, have = 0;
	char text[32];
	int tries;

	for (tries = 0; tries < 10; tries++) {
		long now = file_field("/proc/meminfo", "MemAvailable", 0) / 1024;

		if (now <= mebibytes)
			return true;
		have = file_number(HUGE, 0);
		want = have + (now - mebibytes + 1) / 2;
		snprintf(text, sizeof(text), "%ld", want);
		if (file_put(HUGE, text))
			return false;
	}
	return false;
}

#define BULK (192UL * 256)

static void test_memory(void)
{
	char *bulk;
	bool helps;
	int err, log;

	knob_set("pages_to_scan", 100000);
	bulk = page_map(BULK);
	page_fill(bulk, BULK, 2);
	page_register(bulk, BULK);
	knob_settle();
	tap_ok(frame_distinct(bulk, BULK) <= BULK / 200,
	       "the built-in engine saves 190 MiB");
	err = swap_on(1024);
	if (err || !leave_available(150)) {
		tap_skip("memory cannot be made short here",
			 "memory is short: refused");
		goto out;
	}
	tap_diag("%ld kB available", file_field("/proc/meminfo", "MemAvailable", 0));
	log = module_log_open();
	err = module_pksm_load("");
	tap_is(err, -ENOMEM, "memory is short: refused");
	tap_is(module_log_count(log, "pksm: not loaded: ", "force=1", &helps), 1,
	       "memory is short: one line says why");
	tap_ok(helps, "memory is short: it says \"force=1\"");
	close(log);
	tap_ok(!knob_pksm(), "memory is short: pksm is not loaded");
	tap_is(knob_get("run"), 0, "memory is short: run as before");
	tap_ok(frame_distinct(bulk, BULK) <= BULK / 200,
	       "memory is short: the pages are merged as before");
	err = module_pksm_load("force=1");
	tap_is(err, 0, "memory is short, force=1: loads");
	file_put(HUGE, "0");
	tap_ok(page_is(bulk, BULK, 2), "force=1: every byte is right");
	tap_is(frame_distinct(bulk, BULK), BULK, "force=1: all is unmerged");
	knob_run(2);
	if (knob_pksm())
		tap_is(module_pksm_unload(), 0, "force=1: pksm is removed");
out:
	file_put(HUGE, "0");
	page_unmap(bulk, BULK);
	swap_off();
	knob_clear();
}

/* What holds for a load that is not refused. */
static void test_loaded(void)
{
	tap_is(module_pksm_load(""), 0, "no reason is left: pksm loads");
	tap_is(module_pksm_load(""), -EEXIST, "a second time: refused");
	if (!access(RIVAL, F_OK))
		tap_is(module_insert(RIVAL, "function=rmap_walk_ksm"), -EBUSY,
		       "loaded: a rival is refused");
	tap_is(file_put(TRACER, "0"), -EBUSY,
	       "loaded: the tracer cannot be switched off");
	tap_is(file_number(TRACER, -1), 1, "loaded: it is on");
	knob_settle();
	tap_ok(frame_same(memory, N) && page_is(memory, N, 1),
	       "loaded: pksm merges");
	knob_run(2);
	tap_is(module_pksm_unload(), 0, "pksm is removed");
	knob_run(0);
	knob_settle();
	tap_ok(frame_same(memory, N) && page_is(memory, N, 1),
	       "the built-in engine merges again");
}

int main(void)
{
	if (knob_pksm())
		tap_die("pksm is loaded already");
	knob_begin();
	scene();
	test_symbols();
	test_rival();
	test_tracer();
	test_loaded();
	test_memory();
	return tap_done();
}
