// SPDX-License-Identifier: GPL-2.0-only
/*
 * exact.c - the contract of the files of /sys/kernel/mm/ksm.
 *
 * What a write is answered with and what is read back, to the letter, and
 * what run, pages_to_scan and sleep_millisecs promise. The expected answers
 * are those of the built-in engine of 6.12.
 *
 * group: module native
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define DIR_PATH "/sys/kernel/mm/ksm/"
#define N 64

static const char * const writable[] = {
	"run", "pages_to_scan", "sleep_millisecs", "merge_across_nodes",
	"use_zero_pages", "max_page_sharing", "smart_scan",
	"stable_node_chains_prune_millisecs", "advisor_mode",
	"advisor_max_cpu", "advisor_min_pages_to_scan",
	"advisor_max_pages_to_scan", "advisor_target_scan_time",
};

static const char * const readable[] = {
	"pages_scanned", "pages_shared", "pages_sharing", "pages_unshared",
	"pages_volatile", "pages_skipped", "ksm_zero_pages",
	"general_profit", "stable_node_dups", "stable_node_chains",
	"full_scans",
};

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), DIR_PATH "%s", name);
	return path;
}

static void one_file(const char *name, unsigned int mode)
{
	char text[128];
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path_of(name), &st)) {
		tap_ok(false, "%s is there", name);
		return;
	}
	tap_is(st.st_mode & 07777, mode, "%s: mode", name);
	n = file_read(path_of(name), text, sizeof(text));
	tap_ok(n > 1 && text[n - 1] == '\n' && strchr(text, '\n') == text + n - 1,
	       "%s: one line", name);
	if (mode == 0444) {
		fd = open(path_of(name), O_WRONLY);
		tap_ok(fd < 0 && errno == EACCES, "%s: cannot be written", name);
	}
}

static void test_files(void)
{
	size_t i, count = 0;
	struct dirent *d;
	DIR *dir;

	for (i = 0; i < sizeof(writable) / sizeof(*writable); i++)
		one_file(writable[i], 0644);
	for (i = 0; i < sizeof(readable) / sizeof(*readable); i++)
		one_file(readable[i], 0444);
	dir = opendir(DIR_PATH);
	while (dir && (d = readdir(dir)))
		count += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	if (knob_pksm())
		tap_ok(count >= 24, "%zu files", count);
	else
		tap_is(count, 24, "24 files");
}

/* One write: the text, the error that answers it, what is read then. */
struct attempt {
	const char *text;
	int err;
	long value;
};

static void attempts(const char *knob, const struct attempt *a, size_t count)
{
	for (; count--; a++) {
		int err = knob_put(knob, a->text);
		long value = knob_get(knob);
		char shown[40];
		size_t i;

		snprintf(shown, sizeof(shown), "%.30s", a->text);
		for (i = 0; shown[i]; i++)
			if (shown[i] == '\n')
				shown[i] = '~';
		tap_ok(err == -a->err && value == a->value,
		       "%s: write \"%s\"", knob, shown);
		if (err != -a->err || value != a->value)
			tap_diag("  got %d and %ld, want %d and %ld", -err,
				 value, a->err, a->value);
	}
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void test_run_values(void)
{
	static const struct attempt list[] = {
		{ "1", 0, 1 }, { "0\n", 0, 0 }, { "2", 0, 2 }, { "1\n", 0, 1 },
		{ "3", EINVAL, 1 }, { "-1", EINVAL, 1 }, { "abc", EINVAL, 1 },
		{ "", 0, 1 }, { "1 x", EINVAL, 1 }, { "1 ", EINVAL, 1 },
		{ " 1", EINVAL, 1 }, { "\n", EINVAL, 1 },
		{ "0\n\n", EINVAL, 1 }, { "0x0", EINVAL, 1 },
		{ "00", 0, 0 }, { "+1", 0, 1 }, { "+", EINVAL, 1 },
		{ "++0", EINVAL, 1 }, { "0.", EINVAL, 1 },
		{ "4294967296", EINVAL, 1 }, { "4294967295", EINVAL, 1 },
		{ "18446744073709551616", EINVAL, 1 },
		{ "0000000000000000000000000000000000000002", 0, 2 },
		{ "0", 0, 0 },
	};

	attempts("run", list, COUNT(list));
}

static void test_number_values(const char *knob)
{
	static const struct attempt list[] = {
		{ "100", 0, 100 }, { "200\n", 0, 200 }, { "0", 0, 0 },
		{ "4294967295", 0, 4294967295 },
		{ "4294967296", EINVAL, 4294967295 },
		{ "18446744073709551615", EINVAL, 4294967295 },
		{ "99999999999999999999999", EINVAL, 4294967295 },
		{ "-1", EINVAL, 4294967295 }, { "abc", EINVAL, 4294967295 },
		{ "", 0, 4294967295 }, { "7 ", EINVAL, 4294967295 },
		{ " 7", EINVAL, 4294967295 }, { "7\n\n", EINVAL, 4294967295 },
		{ "0x7", EINVAL, 4294967295 }, { "+7", 0, 7 },
		{ "007", 0, 7 }, { "7,5", EINVAL, 7 }, { "\n", EINVAL, 7 },
		{ "1000", 0, 1000 },
	};

	attempts(knob, list, COUNT(list));
}

static void test_odd_writes(const char *knob)
{
	long was = knob_get(knob);
	char zero[4] = { '1', 0, '2', '\n' };
	char *big = malloc(10000);

	if (!big)
		tap_die("no memory");
	memset(big, '1', 10000);
	tap_is(knob_write(knob, big, 10000), -EINVAL,
	       "%s: 10000 digits are refused", knob);
	memset(big, '0', 10000);
	big[4095] = '1';
	knob_write(knob, big, 4096);
	tap_is(knob_get(knob), 1, "%s: 4096 characters are read whole", knob);
	knob_write(knob, zero, sizeof(zero));
	tap_is(knob_get(knob), 1, "%s: a zero byte ends the text", knob);
	knob_set(knob, was);
	free(big);
}

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static bool same_counters(void)
{
	long a[11];
	size_t i;

	for (i = 0; i < 11; i++)
		a[i] = knob_get(readable[i]);
	nap(300);
	for (i = 0; i < 11; i++) {
		long now = knob_get(readable[i]);

		if (now == a[i])
			continue;
		tap_diag("%s went from %ld to %ld", readable[i], a[i], now);
		return false;
	}
	return true;
}

/* run=0 returns when nothing is touched any more, at whatever moment. */
static void test_barrier(void)
{
	char *p = page_map(4096);
	bool still = true;
	int i, j;

	page_fill_each(p, 4096, 100);
	page_fill(p, 2000, 5);
	page_register(p, 4096);
	knob_set("sleep_millisecs", 0);
	for (i = 0; i < 8; i++) {
		knob_run(1);
		/* Work for the engine, and another moment each time. */
		for (j = 0; j < 100 * i; j++)
			page_fill(p + j * PAGE, 1, 6 + i);
		knob_run(0);
		still = still && same_counters();
	}
	tap_ok(still, "run=0: when it returns, no counter moves");
	page_unmap(p, 4096);
	knob_clear();
}

/* A batch is pages_to_scan pages, and then there is sleep. */
static void test_batch(void)
{
	char *p = page_map(N);
	long before;
	int i;

	page_fill_each(p, N, 100);
	page_register(p, N);
	knob_pass_begin();
	knob_pass();
	before = knob_get("pages_scanned");
	knob_set("pages_to_scan", 10);
	for (i = 1; i <= 3; i++) {
		knob_batch();
		tap_is(knob_get("pages_scanned") - before, 10 * i,
		       "pages_to_scan 10: batch %d", i);
	}
	knob_set("pages_to_scan", 0);
	before = knob_get("pages_scanned");
	for (i = 0; i < 2; i++)
		knob_set("sleep_millisecs", 50000000 + i);
	tap_ok(same_counters() && knob_get("pages_scanned") == before,
	       "pages_to_scan 0: nothing is scanned");
	knob_run(0);
	tap_ok(true, "pages_to_scan 0: run=0 returns");
	knob_set("pages_to_scan", 100000);
	knob_settle();
	tap_is(frame_distinct(p, N), N, "and the engine goes on when it may");
	knob_counts(0, 0, N, 0, "after it");
	page_unmap(p, N);
	knob_clear();
}

static void test_standing_still(void)
{
	long before;
	char *p;

	knob_clear();
	knob_set("sleep_millisecs", 0);
	knob_run(1);
	/* A pass may pass before the engine has seen that all is unmapped. */
	knob_wait_still();
	before = knob_get("full_scans");
	nap(500);
	tap_is(knob_get("full_scans"), before,
	       "nothing registered: full_scans stands still");
	p = page_map(N);
	page_fill(p, N, 1);
	page_register(p, N);
	knob_passes(3);
	tap_ok(frame_same(p, N), "registered: passes are made");
	page_unmap(p, N);
	knob_wait_still();
	before = knob_get("full_scans");
	nap(500);
	tap_is(knob_get("full_scans"), before,
	       "unmapped: full_scans stands still again");
	knob_run(0);
	knob_clear();
}

static void test_run_states(void)
{
	char *p = page_map(N);

	page_fill(p, N, 1);
	page_register(p, N);
	knob_settle();
	tap_ok(frame_same(p, N), "run: merged");
	knob_run(0);
	tap_ok(frame_same(p, N), "run=0: what is merged stays merged");
	knob_counts(1, N - 1, 0, 0, "run=0");
	knob_run(2);
	tap_is(frame_distinct(p, N), N, "run=2: unmerged");
	knob_run(2);
	tap_is(knob_get("run"), 2, "run=2 again: no error");
	knob_run(0);
	tap_is(frame_distinct(p, N), N, "run=0 after it: nothing is merged");
	tap_is(knob_get("pages_shared"), 0, "run=0 after it: pages_shared");
	knob_settle();
	tap_ok(frame_same(p, N), "run=1: the registration was kept");
	page_unmap(p, N);
	knob_clear();
}

int main(void)
{
	knob_begin();
	test_files();
	test_run_values();
	test_number_values("pages_to_scan");
	test_number_values("sleep_millisecs");
	test_odd_writes("pages_to_scan");
	test_odd_writes("sleep_millisecs");
	knob_set("pages_to_scan", 100000);
	test_run_states();
	test_barrier();
	test_batch();
	test_standing_still();
	return tap_done();
}
