// SPDX-License-Identifier: GPL-2.0-only
/*
 * workers.c - the number of workers: the file, the threads, and what is the same
 * whatever the number is.
 *
 * group: module loading
 *
 * With pksm loaded: what the file takes and answers, before, between and during
 * passes; that one budget is for all workers; that a pass ends when all is done; and
 * that run=0 is a barrier for all. Without it: the file comes and goes with the
 * module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define FILE_PATH "/sys/kernel/mm/ksm/workers"
#define SECONDS 60

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* As many as there may be. */
static long most(void)
{
	char text[128];
	long last = 0;
	char *at;

	if (file_read("/sys/devices/system/cpu/possible", text, sizeof(text)) > 0) {
		at = strrchr(text, '-');
		last = strtol(at ? at + 1 : text, NULL, 10);
	}
	return 4 * (last + 1) > 64 ? 4 * (last + 1) : 64;
}

/**
 * struct tally - the engine's workers
 * @below: their numbers have to be below this
 * @count: how many there are; -1: one of another name
 */
struct tally {
	long below;
	long count;
};

static void see_name(long pid, const char *name, void *arg)
{
	struct tally *t = arg;
	long number;
	char *end;

	if (t->count < 0 || strncmp(name, "pksmd/", 6))
		return;
	number = strtol(name + 6, &end, 10);
	if (end != name + 6 && *end == '\n' && number < t->below)
		t->count++;
	else
		t->count = -1;
}

/* How many threads there are named pksmd/N with N below @n; -1: there is another. */
static long threads(long n)
{
	struct tally t = { .below = n };

	thread_each("comm", see_name, &t);
	return t.count;
}

/* A thread that has ended may be seen for a moment. */
static void state_threads(long n)
{
	time_t limit = time(NULL) + SECONDS;

	while (threads(n) != n && time(NULL) < limit)
		nap(5);
	tap_is(threads(n), n, "workers %ld: threads pksmd/0 to pksmd/%ld and no other", n,
	       n - 1);
}

static void test_values(void)
{
	long max = most(), i;
	char text[32];
	const long good[] = { 1, 2, 3, 8, 5, max, 1 };
	const char * const bad[] = {
		"0", "-1", "abc", "\n", "2 ", " 2", "2 3", "2\n\n", "0x2", "2.5",
		"4294967297", "18446744073709551617", "99999999999999999999999",
	};

	for (i = 0; i < (long)(sizeof(good) / sizeof(*good)); i++) {
		knob_set("workers", good[i]);
		tap_is(knob_get("workers"), good[i], "workers %ld: read back", good[i]);
		state_threads(good[i]);
	}
	knob_set("workers", 3);
	for (i = 0; i < (long)(sizeof(bad) / sizeof(*bad)); i++) {
		tap_is(knob_put("workers", bad[i]), -EINVAL, "workers: wrong value %ld is refused",
		       i);
		tap_is(knob_get("workers"), 3, "workers: wrong value %ld changes nothing", i);
	}
	snprintf(text, sizeof(text), "%ld", max + 1);
	tap_is(knob_put("workers", text), -EINVAL, "workers: more than %ld are refused", max);
	tap_is(knob_put("workers", ""), 0, "workers: an empty write is none");
	tap_is(knob_put("workers", "+4"), 0, "workers: a sign is allowed");
	tap_is(knob_get("workers"), 4, "workers: and understood");
	state_threads(4);
}

#define FRESH 100000

/**
 * struct owner - a process with memory, and what it is to do with it
 * @pages: how many
 * @memory: where; a third is equal in all processes
 * @own: number of the first content that no other has
 * @good: every byte was right
 * @order: 1: write equal contents again and again; 2: end
 */
struct owner {
	size_t pages;
	char *memory;
	uint64_t own;
	bool good;
	int order;
};

static void fill(struct owner *o)
{
	size_t third = o->pages / 3;

	page_fill(o->memory, third, 1);
	page_fill(o->memory + third * PAGE, third, 2);
	page_fill_each(o->memory + 2 * third * PAGE, o->pages - 2 * third, o->own);
}

static bool right(const struct owner *o)
{
	size_t third = o->pages / 3;

	return page_is(o->memory, third, 1) && page_is(o->memory + third * PAGE, third, 2) &&
	       page_is_each(o->memory + 2 * third * PAGE, o->pages - 2 * third, o->own);
}

static int owner_body(struct child *c, void *arg)
{
	struct owner *o = arg;

	o->memory = page_map(o->pages);
	fill(o);
	page_register(o->memory, o->pages);
	o->good = true;
	child_report(c);
	for (;;) {
		child_wait(c);
		/* Work for the engine as long as it is wanted. */
		while (__atomic_load_n(&o->order, __ATOMIC_RELAXED) == 1) {
			fill(o);
			o->good = right(o) && o->good;
		}
		o->good = right(o) && o->good;
		child_report(c);
		if (o->order == 2)
			return o->good ? 0 : 1;
	}
}

static void owners_start(struct child *c, struct owner *o, int count, size_t pages)
{
	int i;

	for (i = 0; i < count; i++) {
		o[i] = (struct owner){ .pages = pages, .own = (i + 1) * FRESH };
		child_start(&c[i], owner_body, &o[i]);
		child_done(&c[i]);
	}
}

static void owners_end(struct child *c, struct owner *o, int count, const char *what)
{
	bool good = true;
	int i;

	for (i = 0; i < count; i++) {
		o[i].order = 2;
		good = child_step(&c[i]) && good;
		good = !child_join(&c[i]) && good;
	}
	tap_ok(good, "%s: every byte of every process is right", what);
	knob_clear();
	knob_counts(0, 0, 0, 0, what);
}

#define OWNERS 6

/* The number is changed in every state of the engine, and the last one counts. */
static void test_changes(void)
{
	static const long step[] = { 8, 1, 16, 2, 64, 4, 1, 3, 32, 8 };
	struct owner *o = child_shared(1);
	struct child c[OWNERS];
	bool same = true;
	int i, round;

	knob_set("workers", 1);
	owners_start(c, o, OWNERS, 600);
	knob_run(1);
	for (i = 0; i < OWNERS; i++) {
		o[i].order = 1;
		child_go(&c[i]);
	}
	for (round = 0; round < 6; round++)
		for (i = 0; i < 10; i++) {
			knob_set("workers", step[i]);
			same = same && knob_get("workers") == step[i];
			nap(10 * round);
		}
	knob_passes(2);
	tap_ok(same, "changed 60 times amid merging: read back each time");
	state_threads(8);
	knob_run(0);
	knob_set("workers", 5);
	state_threads(5);
	knob_run(2);
	knob_set("workers", 2);
	state_threads(2);
	knob_run(1);
	knob_passes(1);
	for (i = 0; i < OWNERS; i++) {
		o[i].order = 0;
		child_done(&c[i]);
	}
	knob_set("workers", 8);
	knob_settle();
	knob_counts(2, OWNERS * 400 - 2, OWNERS * 200, 0, "changed amid merging");
	owners_end(c, o, OWNERS, "changed amid merging");
}

/* What is claimed when the workers go is taken up by those who stay. */
static void test_dropped_claims(void)
{
	char *p = page_map(4096);
	int i;

	page_fill(p, 2048, 3);
	page_fill_each(p + 2048 * PAGE, 2048, FRESH);
	page_register(p, 4096);
	knob_pass_begin();
	knob_set("pages_to_scan", 700);
	for (i = 0; i < 12; i++) {
		knob_set("workers", i % 2 ? 1 : 16);
		knob_batch();
	}
	knob_set("pages_to_scan", 100000);
	knob_settle();
	knob_counts(1, 2047, 2048, 0, "changed in the middle of passes");
	tap_ok(frame_same(p, 2048) && page_is(p, 2048, 3) &&
	       page_is_each(p + 2048 * PAGE, 2048, FRESH),
	       "changed in the middle of passes: merged, every byte is right");
	page_unmap(p, 4096);
	knob_clear();
}

/* The counter of visited pages once it stands still for a while. */
static long scanned_at_rest(void)
{
	long now = knob_get("pages_scanned"), before;

	do {
		before = now;
		nap(150);
		now = knob_get("pages_scanned");
	} while (now != before);
	return now;
}

static void test_budget(long workers)
{
	static const long budget[] = { 10, 100, 1000, 3000 };
	char *p = page_map(16384);
	long before, i, j;

	knob_set("workers", workers);
	page_fill_each(p, 16384, FRESH);
	page_register(p, 16384);
	knob_pass_begin();
	for (i = 0; i < 4; i++) {
		knob_set("pages_to_scan", budget[i]);
		before = scanned_at_rest();
		for (j = 1; j <= 3; j++) {
			knob_batch();
			tap_is(scanned_at_rest() - before, j * budget[i],
			       "%ld workers, pages_to_scan %ld: round %ld", workers, budget[i], j);
		}
	}
	knob_set("pages_to_scan", 100000);
	knob_run(0);
	page_unmap(p, 16384);
	knob_clear();
}

/* A pass ends the round: what is left of the budget is not for the next one. */
static void test_one_pass(long workers)
{
	char *p = page_map(8192);
	long before, extra = 0;
	int i;

	knob_set("workers", workers);
	page_fill_each(p, 8192, FRESH);
	page_register(p, 8192);
	knob_pass_begin();
	for (i = 0; i < 20; i++) {
		before = knob_get("pages_scanned");
		knob_pass();
		extra += scanned_at_rest() - before - 8192;
	}
	tap_is(extra, 0, "%ld workers: each of 20 passes visits each page once, then rests",
	       workers);
	knob_run(0);
	page_unmap(p, 8192);
	knob_clear();
}

/* Nothing is left over when a pass ends, however the memory lies. */
static void test_two_passes(long workers, int count, size_t pages)
{
	long equal = count * (pages / 3), own = count * (pages - 2 * (pages / 3));
	struct owner *o = child_shared(1);
	struct child c[OWNERS * 2];
	char what[80], *p = page_map(1);

	snprintf(what, sizeof(what), "%ld workers, %d processes of %zu pages", workers, count,
		 pages);
	knob_set("workers", workers);
	page_fill(p, 1, 5);
	page_register(p, 1);
	/* The engine begins with this page; the others have not got it. */
	if (madvise(p, PAGE, MADV_DONTFORK))
		tap_die("MADV_DONTFORK: %s", strerror(errno));
	knob_pass_begin();
	owners_start(c, o, count, pages);
	knob_pass();
	knob_pass();
	knob_run(0);
	knob_counts(2, 2 * equal - 2, own + 1, 0, what);
	page_unmap(p, 1);
	owners_end(c, o, count, what);
}

static bool same_counters(void)
{
	static const char * const name[] = {
		"pages_scanned", "pages_shared", "pages_sharing", "pages_unshared",
		"pages_volatile", "full_scans", "general_profit",
	};
	long was[7];
	int i;

	for (i = 0; i < 7; i++)
		was[i] = knob_get(name[i]);
	nap(200);
	for (i = 0; i < 7; i++) {
		if (knob_get(name[i]) == was[i])
			continue;
		tap_diag("%s went from %ld to %ld", name[i], was[i], knob_get(name[i]));
		return false;
	}
	return true;
}

static void test_barrier(long workers)
{
	struct owner *o = child_shared(1);
	struct child c[OWNERS];
	bool still = true;
	int i, round;

	knob_set("workers", workers);
	owners_start(c, o, OWNERS, 1500);
	for (round = 0; round < 8; round++) {
		for (i = 0; i < OWNERS; i++) {
			o[i].order = 1;
			child_go(&c[i]);
		}
		knob_run(1);
		nap(30 * round);
		for (i = 0; i < OWNERS; i++) {
			o[i].order = 0;
			child_done(&c[i]);
		}
		nap(20 * (round % 3));
		knob_run(0);
		still = same_counters() && still;
	}
	tap_ok(still, "%ld workers: when run=0 returns, no counter moves", workers);
	owners_end(c, o, OWNERS, "stopped amid merging");
}

static bool threads_gone(void)
{
	time_t limit = time(NULL) + SECONDS;

	while (threads(0) && time(NULL) < limit)
		nap(5);
	return !threads(0);
}

/* The file is there as long as the module is. */
static void test_loading(void)
{
	char text[16];
	long cpus;
	int fd;

	tap_ok(access(FILE_PATH, F_OK) && errno == ENOENT, "before it is loaded: no file");
	unsetenv("PKSM_WORKERS");
	tap_is(module_pksm_load(""), 0, "pksm loads");
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	tap_is(knob_get("workers"), cpus / 2 < 1 ? 1 : cpus / 2 > 8 ? 8 : cpus / 2,
	       "loaded: half as many workers as CPUs");
	state_threads(knob_get("workers"));
	knob_set("workers", 16);
	state_threads(16);
	fd = open(FILE_PATH, O_RDWR | O_CLOEXEC);
	tap_ok(fd >= 0 && pread(fd, text, sizeof(text), 0) == 3 && !memcmp(text, "16\n", 3),
	       "the file can be held open");
	knob_run(2);
	tap_is(module_pksm_unload(), 0, "pksm is removed");
	tap_ok(access(FILE_PATH, F_OK) && errno == ENOENT, "removed: no file");
	tap_ok(pread(fd, text, sizeof(text), 0) < 0 && errno == ENODEV,
	       "removed: a descriptor that was open cannot be read");
	tap_ok(pwrite(fd, "4", 1, 0) < 0 && errno == ENODEV,
	       "removed: a descriptor that was open cannot be written");
	close(fd);
	tap_ok(threads_gone(), "removed: no threads");
	tap_is(module_pksm_load(""), 0, "pksm loads again");
	tap_ok(knob_get("workers") != 16, "loaded again: the number is the default");
	knob_run(2);
	tap_is(module_pksm_unload(), 0, "and is removed");
}

int main(void)
{
	static const long number[] = { 1, 2, 8, 16 };
	long found, sharing;
	size_t i;

	knob_begin();
	if (!knob_pksm()) {
		test_loading();
		return tap_done();
	}
	found = knob_get("workers");
	sharing = knob_get("max_page_sharing");
	knob_set("max_page_sharing", 1000000);
	test_values();
	test_changes();
	test_dropped_claims();
	for (i = 0; i < sizeof(number) / sizeof(*number); i++) {
		test_budget(number[i]);
		test_one_pass(number[i]);
		test_two_passes(number[i], OWNERS * 2, 300);
		test_two_passes(number[i], 1, 9000);
		test_barrier(number[i]);
	}
	knob_set("max_page_sharing", sharing);
	knob_set("workers", found);
	return tap_done();
}
