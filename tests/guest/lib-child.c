// SPDX-License-Identifier: GPL-2.0-only
/*
 * child.c - processes that take steps when they are told to.
 *
 * A body waits with child_wait(), acts, and answers with child_report();
 * the parent calls child_go() and child_done(), or child_step() for both.
 * So nothing depends on who is faster. A child whose parent is gone ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

/**
 * child_start() - fork a process
 * @c: filled in
 * @body: what it runs; its result is the exit status
 * @arg: given to @body
 */
void child_start(struct child *c, int (*body)(struct child *c, void *arg),
		 void *arg)
{
	int down[2], up[2];

	/* A dead child is seen by its status, not by a signal to the parent. */
	signal(SIGPIPE, SIG_IGN);
	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		tap_die("pipe: %s", strerror(errno));
	fflush(stdout);
	c->pid = fork();
	if (c->pid < 0)
		tap_die("fork: %s", strerror(errno));
	if (!c->pid) {
		close(down[1]);
		close(up[0]);
		c->pid = getpid();
		c->down = down[0];
		c->up = up[1];
		_exit(body(c, arg));
	}
	close(down[0]);
	close(up[1]);
	c->down = down[1];
	c->up = up[0];
}

/**
 * child_go() - tell a child to take its next step
 * @c: the child
 */
void child_go(struct child *c)
{
	if (write(c->down, "", 1) != 1)
		tap_die("child %d does not listen", (int)c->pid);
}

/**
 * child_done() - wait until a child has taken its step
 * @c: the child
 *
 * Return: false when the child ended instead.
 */
bool child_done(struct child *c)
{
	char byte;
	ssize_t n;

	do {
		n = read(c->up, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

/**
 * child_step() - let a child take its next step and wait for it
 * @c: the child
 *
 * Return: false when the child ended instead.
 */
bool child_step(struct child *c)
{
	child_go(c);
	return child_done(c);
}

/**
 * child_wait() - in the child: wait until the parent wants the next step
 * @c: the child itself
 */
void child_wait(struct child *c)
{
	char byte;
	ssize_t n;

	do {
		n = read(c->down, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(99);
}

/**
 * child_report() - in the child: say that the step is taken
 * @c: the child itself
 */
void child_report(struct child *c)
{
	if (write(c->up, "", 1) != 1)
		_exit(99);
}

/**
 * child_join() - wait for the end of a child
 * @c: the child; it is told to go on first, in case it waits
 *
 * Return: its exit status, or the negative number of the signal that
 * ended it.
 */
int child_join(struct child *c)
{
	int status;

	if (write(c->down, "", 1) != 1 && errno != EPIPE)
		tap_die("child %d: %s", (int)c->pid, strerror(errno));
	close(c->down);
	close(c->up);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			tap_die("wait for child: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/**
 * child_shared() - memory that children forked later share with the caller
 * @pages: how many
 *
 * Return: the address; all zero; never merged, since it is shared memory.
 */
void *child_shared(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tap_die("map shared memory: %s", strerror(errno));
	return p;
}
