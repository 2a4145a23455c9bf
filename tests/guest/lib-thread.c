// SPDX-License-Identifier: GPL-2.0-only
/*
 * thread.c - the threads of the engine, the built-in one or pksm.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/**
 * thread_each() - look at a file of every thread of the engine
 * @name: of the file, in /proc/PID
 * @see: is told the thread's number and what the file says
 * @arg: passed on to @see
 *
 * Those are the ones whose names begin with ksmd or pksmd. One that ends meanwhile is
 * passed over.
 */
void thread_each(const char *name, void (*see)(long pid, const char *text, void *arg),
		 void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	if (!dir)
		tap_die("open /proc: %s", strerror(errno));
	while ((d = readdir(dir))) {
		char path[300], text[512];

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		if (file_read(path, text, sizeof(text)) <= 0 ||
		    (strncmp(text, "ksmd", 4) && strncmp(text, "pksmd", 5)))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", d->d_name, name);
		if (file_read(path, text, sizeof(text)) > 0)
			see(atol(d->d_name), text, arg);
	}
	closedir(dir);
}

static void see_state(long pid, const char *text, void *arg)
{
	const char *end = strrchr(text, ')');
	bool *asleep = arg;

	*asleep = *asleep && end && strchr("SI", end[2]);
}

/**
 * thread_all_asleep() - whether every thread of the engine sleeps
 *
 * Return: true when they do.
 */
bool thread_all_asleep(void)
{
	bool asleep = true;

	thread_each("stat", see_state, &asleep);
	return asleep;
}
