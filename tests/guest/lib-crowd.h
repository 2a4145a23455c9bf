/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib-crowd.h - processes whose pages meet on few contents.
 */
#ifndef LIB_CROWD_H
#define LIB_CROWD_H

#include "lib.h"

/* Members, and as many again for the children that they have at rest. */
#define CROWD_MEMBERS	16
#define CROWD_SLOTS	(2 * CROWD_MEMBERS)
/* Pages of a member, at most. */
#define CROWD_PAGES	8192

/**
 * struct crowd_member - a process, as all see it
 * @pid: the process; 0: there is none
 * @memory: its pages
 * @ack: the last order to rest that it has obeyed
 * @life: how often it was started
 * @content: what each page holds; 0: nothing was written to it
 */
struct crowd_member {
	pid_t pid;
	char *memory;
	int ack;
	unsigned int life;
	uint64_t content[CROWD_PAGES];
};

/**
 * struct crowd - all of them, in memory that they share
 * @order: odd: change things; even: come to rest; CROWD_END
 * @members: how many there are
 * @pages: of each
 * @contents: how many contents most of the pages have
 * @seed: of the test
 * @twins: every second member has a child at rest, too, with pages in common
 * @bad: a byte was wrong, or something else went wrong
 * @writes: ranges written
 * @unmaps: ranges unmapped and mapped again
 * @forks: forks
 * @exits: processes that ended
 * @member: the processes
 */
struct crowd {
	int order;
	int members;
	size_t pages;
	unsigned int contents;
	uint64_t seed;
	bool twins;
	int bad;
	unsigned long writes;
	unsigned long unmaps;
	unsigned long forks;
	unsigned long exits;
	struct crowd_member member[CROWD_SLOTS];
};

#define CROWD_END	(-1)

/**
 * struct crowd_census - what is behind the pages of all members at rest
 * @pages: how many hold something
 * @frames: how many frames they have
 * @merged: pages that smaps shows as merged
 * @single: contents of one page alone
 * @apart: contents of which one more page could have been merged
 * @most: pages that may rightly be unmerged
 */
struct crowd_census {
	long pages;
	long frames;
	long merged;
	long single;
	long apart;
	long most;
};

struct crowd *crowd_start(int members, size_t pages, unsigned int contents, uint64_t seed);
void crowd_churn(struct crowd *crowd, long msecs);
bool crowd_rest(struct crowd *crowd);
void crowd_count(const struct crowd *crowd, long sharing, struct crowd_census *census);
bool crowd_end(struct crowd *crowd);

#endif
