// SPDX-License-Identifier: GPL-2.0-only
/*
 * program.c - processes of the demonstration: start, measure, enrol, end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"
#include "pksm.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif

/* How long an emulated machine may take to end a program. */
#define PATIENCE_SECONDS 30

static void run(struct program *p, int in, int out)
{
	if (p->by_prctl && prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		_exit(126);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(in, 0);
	dup2(out, 1);
	p->kind->start(p);
	_exit(127);
}

/**
 * program_start() - execute a program, unchanged
 * @p: which; with @p->by_prctl the process asks for merging just before
 *
 * Its standard input and output are @p->to and @p->from.
 */
void program_start(struct program *p)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	fflush(stdout);
	p->pid = fork();
	if (p->pid < 0)
		die("fork: %s", strerror(errno));
	if (!p->pid)
		run(p, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	p->to = in[1];
	p->from = fdopen(out[0], "r");
	p->pidfd = syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0 || !p->from)
		die("%s %d: %s", p->kind->name, p->number, strerror(errno));
}

static long field(const struct program *p, const char *file, const char *name)
{
	char path[64], text[256];
	size_t len = strlen(name);
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)p->pid, file);
	f = fopen(path, "re");
	if (!f)
		die("%s %d has ended", p->kind->name, p->number);
	while (value < 0 && fgets(text, sizeof(text), f))
		if (!strncmp(text, name, len))
			value = strtol(text + len, NULL, 10);
	fclose(f);
	if (value < 0)
		die("%s has no %s", path, name);
	return value;
}

/**
 * program_measure() - how much memory a program takes
 * @p: which
 * @f: filled in
 */
void program_measure(const struct program *p, struct footprint *f)
{
	f->pss = field(p, "smaps_rollup", "Pss:");
	f->merged = field(p, "ksm_merging_pages", "");
}

/**
 * program_enrol() - offer all of a running program for merging
 * @device: /dev/pksm, open
 * @p: which; it does not notice
 */
void program_enrol(int device, struct program *p)
{
	struct pksm_target t = {
		.size = sizeof(t),
		.flags = PKSM_TARGET_PIDFD | PKSM_TARGET_ALL,
		.pidfd = p->pidfd,
	};

	if (ioctl(device, PKSM_REGISTER, &t))
		die("enrol %s %d: %s", p->kind->name, p->number, strerror(errno));
}

/**
 * program_end() - end a program and wait until it is gone
 * @p: which
 *
 * Return: whether it ended by itself and without an error.
 */
bool program_end(struct program *p)
{
	double limit = now() + PATIENCE_SECONDS;
	int status = 0;

	p->kind->end(p);
	while (waitpid(p->pid, &status, WNOHANG) == 0) {
		if (now() > limit)
			kill(p->pid, SIGKILL);
		nap(0.02);
	}
	close(p->pidfd);
	close(p->to);
	fclose(p->from);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}
