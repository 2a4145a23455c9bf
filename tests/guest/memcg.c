// SPDX-License-Identifier: GPL-2.0-only
/*
 * memcg.c - pages shared by processes of different memory groups.
 *
 * A merged frame is charged once, to the group whose page it was. The others are
 * charged for what they write, when they write it, and a group that is gone takes
 * nothing with it.
 *
 * group: module native
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define N 4096UL
#define MEMBERS 2
/* What a process needs besides: page tables, records, its stack. */
#define BESIDES (4L << 20)
#define GROUP_DIR "/sys/fs/cgroup/"

static const char * const group[MEMBERS] = { "memcg-one", "memcg-two" };

/**
 * struct member - a process in a group of its own
 * @index: which
 * @write: to write to every page in the next step
 * @good: every byte was right in the last step
 */
struct member {
	int index;
	bool write;
	bool good;
};

static long charged(int index)
{
	char path[128];

	snprintf(path, sizeof(path), GROUP_DIR "%s/memory.current", group[index]);
	return file_number(path, -1);
}

static bool mebibytes(long bytes, long low, long high, const char *what)
{
	return tap_ok(bytes >= low << 20 && bytes <= (high << 20) + BESIDES,
		      "%s: %ld KiB, of %ld to %ld MiB and what it needs besides", what,
		      bytes >> 10, low, high);
}

static int body(struct child *c, void *arg)
{
	struct member *m = arg;
	uint64_t first = 1;
	char *p;

	swap_enter(group[m->index]);
	p = page_map(N);
	page_fill_each(p, N, first);
	page_register(p, N);
	m->good = true;
	while (m->good) {
		child_report(c);
		child_wait(c);
		m->good = page_is_each(p, N, first);
		if (m->write) {
			first += 100000 * (1 + m->index);
			page_fill_each(p, N, first);
			m->good = m->good && page_is_each(p, N, first);
		}
	}
	return 1;
}

int main(void)
{
	struct member *m = child_shared(1);
	struct child child[MEMBERS];
	char path[128];

	knob_begin();
	for (int i = 0; i < MEMBERS; i++) {
		m[i].index = i;
		child_start(&child[i], body, &m[i]);
		child_done(&child[i]);
		mebibytes(charged(i), 16, 16, "before, a group");
	}
	knob_settle();
	knob_counts(N, N, 0, 0, "two processes of two groups");
	mebibytes(charged(0) + charged(1), 16, 16 + 4, "merged, both groups");

	kill(child[0].pid, SIGKILL);
	tap_is(child_join(&child[0]), -SIGKILL, "a process is killed");
	snprintf(path, sizeof(path), GROUP_DIR "%s", group[0]);
	tap_ok(!rmdir(path), "its group can be removed");
	child_step(&child[1]);
	tap_ok(m[1].good, "every byte of the other is right");
	m[1].write = true;
	child_step(&child[1]);
	tap_ok(m[1].good, "also when it has written to all");
	mebibytes(charged(1), 16, 16, "written, its group");
	m[1].write = false;
	knob_settle();
	knob_counts(0, 0, N, 0, "all written");
	child_step(&child[1]);
	tap_ok(m[1].good, "later: every byte is right");
	kill(child[1].pid, SIGKILL);
	tap_is(child_join(&child[1]), -SIGKILL, "the other is killed");
	snprintf(path, sizeof(path), GROUP_DIR "%s", group[1]);
	tap_ok(!rmdir(path), "its group can be removed");
	return tap_done();
}
