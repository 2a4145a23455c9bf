/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib-operation.h - what a process of the stress test does to its memory.
 */
#ifndef LIB_OPERATION_H
#define LIB_OPERATION_H

#include <sys/types.h>

#include "lib.h"

#define GROUP "pksm-stress"
#define AREAS 3
#define PAGES 96
#define CHILDREN 3

/**
 * struct board - what all processes see
 * @stop: the order to stop
 * @done: operations
 * @migrated: pages moved to another node
 * @swapped: reclaims
 * @forked: forks
 */
struct board {
	int stop;
	unsigned long done;
	unsigned long migrated;
	unsigned long swapped;
	unsigned long forked;
};

/**
 * struct worker - a process
 * @random: state of its random numbers
 * @seed: of the test
 * @index: which process it is
 * @step: operations so far
 * @doing: the one under way
 * @area: the models of its memory
 * @child: its children
 * @pipe: a pipe of its own
 * @mem: /proc/self/mem
 */
struct worker {
	uint64_t random;
	uint64_t seed;
	unsigned int index;
	unsigned long step;
	const char *doing;
	struct model area[AREAS];
	pid_t child[CHILDREN];
	int pipe[2];
	int mem;
};

extern struct board *operation_board;

void operation_one(struct worker *w);
void operation_verify(struct worker *w);
void operation_reap(pid_t pid);

#endif
