// SPDX-License-Identifier: GPL-2.0-only
/*
 * module.c - modules loaded and removed, and what the kernel's log says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define MODULE_DIR "/lib/modules/"

/* How long a process on its way out may keep a module from going. */
#define PATIENCE_SECONDS 60

/**
 * module_insert() - load one file as a module
 * @path: the file
 * @parameters: as on the command line of insmod
 *
 * Return: 0 or a negative error; -EEXIST when it is there already.
 */
int module_insert(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		err = -errno;
	close(fd);
	return err;
}

/**
 * module_load() - load a module of the kernel after those that it needs
 * @name: its name
 *
 * Return: 0, also when the harness left no list of files, as with a kernel
 * that has it built in; else the error of the first file that did not load.
 */
int module_load(const char *name)
{
	char path[256];
	int err = 0;
	FILE *list;

	snprintf(path, sizeof(path), MODULE_DIR "%s.load", name);
	list = fopen(path, "re");
	if (!list)
		return 0;
	while (!err && fgets(path, sizeof(path), list)) {
		path[strcspn(path, "\n")] = 0;
		err = module_insert(path, "");
		if (err == -EEXIST)
			err = 0;
	}
	fclose(list);
	return err;
}

/**
 * module_remove() - remove a module at once
 * @name: its name
 * @force: also when it is in use, if the kernel allows that
 *
 * Return: 0 or a negative error; -EAGAIN when it is in use.
 */
int module_remove(const char *name, bool force)
{
	if (syscall(SYS_delete_module, name, O_NONBLOCK | (force ? O_TRUNC : 0)))
		return -errno;
	return 0;
}

/**
 * module_pksm_load() - load pksm as the harness built it
 * @parameters: as on the command line of insmod
 *
 * It gets the lane's number of workers, if the lane has one.
 *
 * Return: 0 or a negative error.
 */
int module_pksm_load(const char *parameters)
{
	const char *workers = getenv("PKSM_WORKERS");
	int err = module_insert(MODULE_DIR "pksm.ko", parameters);

	if (!err && workers && *workers)
		err = knob_put("workers", workers);
	return err;
}

/**
 * module_pksm_unload() - remove pksm after run=2
 *
 * Only the answer that it is in use is asked again, for a bounded time: a
 * process on its way out may map its last merged page for a moment.
 *
 * Return: 0 or a negative error.
 */
int module_pksm_unload(void)
{
	time_t limit = time(NULL) + PATIENCE_SECONDS;
	struct timespec nap = { .tv_nsec = 50000000 };
	int err;

	for (;;) {
		err = module_remove("pksm", false);
		if (err != -EAGAIN || time(NULL) > limit)
			return err;
		nanosleep(&nap, NULL);
	}
}

/**
 * module_log_open() - note the end of the kernel's log
 *
 * Return: a descriptor for module_log_count().
 */
int module_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		tap_die("open /dev/kmsg: %s", strerror(errno));
	return fd;
}

/**
 * module_log_count() - read on in the kernel's log
 * @fd: from module_log_open(); at the end of the log afterwards
 * @begin: what lines of interest begin with
 * @word: what a line must have besides, or NULL
 * @has_word: set to whether one had it, or NULL
 *
 * The lines of interest are shown as diagnostics.
 *
 * Return: how many lines of interest there were.
 */
int module_log_count(int fd, const char *begin, const char *word,
		     bool *has_word)
{
	static char record[8192];
	ssize_t n;
	int count = 0;

	if (has_word)
		*has_word = false;
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 ||
	       (n < 0 && errno == EPIPE)) {
		char *text;

		if (n < 0)
			continue;
		record[n] = 0;
		text = strchr(record, ';');
		if (!text || strncmp(text + 1, begin, strlen(begin)))
			continue;
		text++;
		text[strcspn(text, "\n")] = 0;
		tap_diag("log: %.200s", text);
		count++;
		if (word && has_word && strstr(text, word))
			*has_word = true;
	}
	return count;
}
