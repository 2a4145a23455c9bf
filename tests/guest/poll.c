// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll.c - a monitor that reads the files of KSM without end.
 *
 *	poll [SECONDS]
 *
 * Reads all 24 files again and again, by opening them and by descriptors
 * that it holds open all the time, lists the folder, and counts whatever
 * fails. Ends after SECONDS, or on SIGTERM, which is how scripts end it that
 * load and unload the module meanwhile. One error is a failure.
 *
 * group: module native
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define DIR_PATH "/sys/kernel/mm/ksm/"

static const char * const files[] = {
	"run", "pages_to_scan", "sleep_millisecs", "merge_across_nodes",
	"use_zero_pages", "max_page_sharing", "smart_scan",
	"stable_node_chains_prune_millisecs", "advisor_mode",
	"advisor_max_cpu", "advisor_min_pages_to_scan",
	"advisor_max_pages_to_scan", "advisor_target_scan_time",
	"pages_scanned", "pages_shared", "pages_sharing", "pages_unshared",
	"pages_volatile", "pages_skipped", "ksm_zero_pages",
	"general_profit", "stable_node_dups", "stable_node_chains",
	"full_scans",
};

#define COUNT (sizeof(files) / sizeof(*files))

static int held[COUNT];
static unsigned long reads, errors;
static int stop;

static void on_term(int sig)
{
	(void)sig;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static void complain(const char *what, const char *file, const char *how)
{
	if (errors++ < 20)
		tap_diag("%s %s: %s", what, file, how);
}

/* One line: the advisor's choice, or a number. */
static void judge(const char *what, size_t i, const char *text, ssize_t n,
		  int err)
{
	char *end;

	reads++;
	if (n <= 0) {
		complain(what, files[i], n < 0 ? strerror(err) : "empty");
		return;
	}
	if (text[n - 1] != '\n') {
		complain(what, files[i], "no whole line");
	} else if (!strcmp(files[i], "advisor_mode")) {
		if (!strchr(text, '['))
			complain(what, files[i], text);
	} else {
		strtol(text, &end, 10);
		if (end == text || *end != '\n')
			complain(what, files[i], text);
	}
}

static void read_once(size_t i)
{
	char text[128], path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DIR_PATH "%s", files[i]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		complain("open", files[i], strerror(errno));
		return;
	}
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	judge("read", i, text, n, errno);
	close(fd);
	n = pread(held[i], text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	judge("read again", i, text, n, errno);
}

static void list_once(void)
{
	DIR *dir = opendir(DIR_PATH);
	unsigned int seen = 0;
	struct dirent *d;
	size_t i;

	if (!dir) {
		complain("list", DIR_PATH, strerror(errno));
		return;
	}
	while ((d = readdir(dir)))
		for (i = 0; i < COUNT; i++)
			seen |= !strcmp(d->d_name, files[i]) ? 1U << i : 0;
	closedir(dir);
	for (i = 0; i < COUNT; i++)
		if (!(seen & 1U << i))
			complain("list", files[i], "not in the folder");
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 3;
	struct sigaction sa = { .sa_handler = on_term };
	struct timespec now, end;
	size_t i;

	sigaction(SIGTERM, &sa, NULL);
	for (i = 0; i < COUNT; i++) {
		char path[256];

		snprintf(path, sizeof(path), DIR_PATH "%s", files[i]);
		held[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (held[i] < 0)
			complain("open", files[i], strerror(errno));
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		for (i = 0; i < COUNT; i++)
			read_once(i);
		list_once();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) &&
		 (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec &&
					      now.tv_nsec < end.tv_nsec)));
	tap_is(errors, 0, "a monitor of the 24 files sees no error");
	tap_diag("%lu reads", reads);
	return tap_done();
}
