// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-operation.c - what a process of the stress test does to its memory: one
 * operation at a time, chosen at random, with a model that says what every byte
 * has to be.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib-operation.h"

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define RECLAIM "/sys/fs/cgroup/" GROUP "/memory.reclaim"

struct board *operation_board;

static size_t below(struct worker *w, size_t bound)
{
	return model_random(&w->random) % bound;
}

static struct model *some_area(struct worker *w)
{
	return &w->area[below(w, AREAS)];
}

static size_t some_range(struct worker *w, size_t *from)
{
	*from = below(w, PAGES);
	return 1 + below(w, PAGES - *from);
}

/* What a wrong page holds instead, as far as it can be told. */
static void describe(const char *page, const struct model_page *want)
{
	static char right[PAGE];
	size_t i, wrong = 0, first = PAGE;

	if (want->tail)
		page_fill_tail(right, 1, want->content, want->tail);
	else if (want->content)
		page_fill(right, 1, want->content);
	for (i = 0; i < PAGE; i++) {
		if (page[i] == right[i])
			continue;
		wrong++;
		if (first == PAGE)
			first = i;
	}
	tap_diag("it has %zu wrong bytes, the first at %zu, and %s zero", wrong,
		 first, page_is_zero(page, 1) ? "is" : "is not");
	for (i = 1; i <= 5; i++)
		if (page_is(page, 1, i))
			tap_diag("it has content %zu", i);
	for (i = 1; i <= 3; i++)
		if (page_is_tail(page, 1, 5, i))
			tap_diag("it has content 5 with tail %zu", i);
}

/* Ends the process, and with it the whole test, when a byte is wrong. */
static void verify(struct worker *w, struct model *m, size_t from, size_t count)
{
	ssize_t bad = model_check(m, from, count);

	if (bad < 0)
		return;
	tap_diag("seed %llu worker %u step %lu (%s): area %zd page %zd is wrong",
		 (unsigned long long)w->seed, w->index, w->step, w->doing,
		 (ssize_t)(m - w->area), bad);
	tap_diag("want content %llu tail %llu, frame %#lx",
		 (unsigned long long)m->page[bad].content,
		 (unsigned long long)m->page[bad].tail,
		 frame_number(m->memory + bad * PAGE));
	describe(m->memory + bad * PAGE, &m->page[bad]);
	_exit(1);
}

/**
 * operation_verify() - compare all memory with its models
 * @w: the caller; ends when a byte is wrong, and the test with it
 */
void operation_verify(struct worker *w)
{
	for (int i = 0; i < AREAS; i++)
		verify(w, &w->area[i], 0, PAGES);
}

/* Mostly a few contents that all processes share. */
static void write_some(struct worker *w, struct model *m, size_t i)
{
	size_t kind = below(w, 10);

	if (kind < 6)
		model_write(m, i, 1 + below(w, 4), 0);
	else if (kind < 8)
		model_write(m, i, 5, 1 + below(w, 3));
	else
		model_write(m, i, model_random(&w->random) | 1UL << 63, 0);
}

static void do_write(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);

	for (; count--; from++)
		write_some(w, m, from);
}

static void do_verify(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);

	verify(w, m, from, count);
}

static void do_rest(struct worker *w)
{
	struct timespec t = { .tv_nsec = below(w, 20) * 1000000 };

	nanosleep(&t, NULL);
}

static void do_advise(struct worker *w)
{
	static const int kind[] = {
		MADV_MERGEABLE, MADV_MERGEABLE, MADV_MERGEABLE,
		MADV_UNMERGEABLE, MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLLAPSE,
		MADV_POPULATE_WRITE, MADV_POPULATE_READ,
	};
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);

	madvise(m->memory + from * PAGE, count * PAGE,
		kind[below(w, sizeof(kind) / sizeof(*kind))]);
}

static void do_discard(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);

	if (!madvise(m->memory + from * PAGE, count * PAGE, MADV_DONTNEED))
		model_zero(m, from, count);
}

static void do_move(struct worker *w)
{
	struct model *m = some_area(w);
	char *to = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		return;
	to = mremap(m->memory, PAGES * PAGE, PAGES * PAGE,
		    MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to != MAP_FAILED)
		m->memory = to;
}

static void do_protect(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);
	char *at = m->memory + from * PAGE;

	if (mprotect(at, count * PAGE, below(w, 2) ? PROT_READ : PROT_NONE))
		return;
	do_rest(w);
	if (mprotect(at, count * PAGE, PROT_READ | PROT_WRITE)) {
		tap_diag("mprotect: %s", strerror(errno));
		_exit(2);
	}
	verify(w, m, from, count);
}

static void do_remap(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);
	char *at = m->memory + from * PAGE;

	munmap(at, count * PAGE);
	if (mmap(at, count * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at) {
		tap_diag("mmap: %s", strerror(errno));
		_exit(2);
	}
	model_zero(m, from, count);
	if (below(w, 2))
		madvise(m->memory, PAGES * PAGE, MADV_MERGEABLE);
}

static void do_lock(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from);
	char *at = m->memory + from * PAGE;

	mlock(at, count * PAGE);
	verify(w, m, from, count);
	write_some(w, m, from);
	munlock(at, count * PAGE);
}

static void do_migrate(struct worker *w)
{
	struct model *m = some_area(w);
	size_t i = below(w, PAGES);

	if (!node_move(getpid(), m->memory + i * PAGE))
		__atomic_fetch_add(&operation_board->migrated, 1, __ATOMIC_RELAXED);
	verify(w, m, i, 1);
}

static void do_reclaim(struct worker *w)
{
	struct model *m = some_area(w);

	file_put(RECLAIM, "1M");
	if (frame_swapped(m->memory, PAGES))
		__atomic_fetch_add(&operation_board->swapped, 1, __ATOMIC_RELAXED);
}

/* A page in a pipe for a while: the bytes stay what they are. */
static void do_pin(struct worker *w)
{
	struct model *m = some_area(w);
	size_t i = below(w, PAGES), have = 0;
	struct iovec v = { m->memory + i * PAGE, PAGE };
	char bytes[PAGE];

	if (vmsplice(w->pipe[1], &v, 1, 0) != (ssize_t)PAGE)
		return;
	do_rest(w);
	verify(w, m, i, 1);
	while (have < PAGE) {
		ssize_t n = read(w->pipe[0], bytes + have, PAGE - have);

		if (n <= 0)
			_exit(2);
		have += n;
	}
	if (!model_matches(m, i, bytes)) {
		tap_diag("seed %llu worker %u step %lu: page %zu is wrong through a pipe",
			 (unsigned long long)w->seed, w->index, w->step, i);
		_exit(1);
	}
}

static void do_foreign_write(struct worker *w)
{
	struct model *m = some_area(w);
	size_t i = below(w, PAGES);
	uint64_t content = 1 + below(w, 4);
	char bytes[PAGE];

	page_fill(bytes, 1, content);
	if (pwrite(w->mem, bytes, PAGE, (uintptr_t)m->memory + i * PAGE) !=
	    (ssize_t)PAGE)
		return;
	m->page[i].content = content;
	m->page[i].tail = 0;
}

static void do_enrol(struct worker *w)
{
	if (prctl(PR_SET_MEMORY_MERGE, below(w, 4) != 0, 0, 0, 0))
		tap_diag("prctl: %s", strerror(errno));
}

/**
 * operation_reap() - the end of a child: well, or killed by us
 * @pid: the child
 */
void operation_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
		tap_diag("child %d ended with status %#x", (int)pid, status);
		_exit(1);
	}
}

/*
 * Freed lazily, a page is as before or zero until it is written. Not while
 * children share it: Linux 6.12 takes a page that came back from compressed
 * swap from all who share it when one of them frees it, without any merging.
 */
static void do_free(struct worker *w)
{
	struct model *m = some_area(w);
	size_t from, count = some_range(w, &from), i;

	for (i = 0; i < CHILDREN; i++) {
		if (w->child[i])
			operation_reap(w->child[i]);
		w->child[i] = 0;
	}
	madvise(m->memory + from * PAGE, count * PAGE, MADV_FREE);
	for (i = from; i < from + count; i++) {
		if (model_check(m, i, 1) >= 0 &&
		    !page_is_zero(m->memory + i * PAGE, 1))
			verify(w, m, i, 1);
		write_some(w, m, i);
	}
}

static void act_as_child(struct worker *w)
{
	w->random ^= getpid();
	w->mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	operation_verify(w);
	do_write(w);
	do_rest(w);
	if (below(w, 3) == 0)
		do_move(w);
	operation_verify(w);
	_exit(0);
}

static void do_fork(struct worker *w)
{
	pid_t *slot = &w->child[below(w, CHILDREN)];

	if (*slot) {
		if (below(w, 4) == 0)
			kill(*slot, SIGKILL);
		operation_reap(*slot);
	}
	w->doing = "in a child";
	*slot = fork();
	if (!*slot)
		act_as_child(w);
	if (*slot < 0)
		*slot = 0;
	__atomic_fetch_add(&operation_board->forked, 1, __ATOMIC_RELAXED);
}

static void do_exec(struct worker *w)
{
	char *args[] = { "stress", "--brief", NULL };
	pid_t pid = below(w, 2) ? vfork() : fork();

	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(2);
	}
	if (pid > 0)
		operation_reap(pid);
}

static const struct {
	const char *name;
	void (*run)(struct worker *w);
	unsigned int weight;
} operation[] = {
	{ "write", do_write, 20 }, { "verify", do_verify, 20 },
	{ "rest", do_rest, 10 }, { "advise", do_advise, 12 },
	{ "discard", do_discard, 4 }, { "free", do_free, 3 },
	{ "move", do_move, 6 }, { "protect", do_protect, 5 },
	{ "remap", do_remap, 4 }, { "lock", do_lock, 2 },
	{ "migrate", do_migrate, 10 }, { "reclaim", do_reclaim, 2 },
	{ "pin", do_pin, 4 }, { "foreign write", do_foreign_write, 4 },
	{ "enrol", do_enrol, 1 }, { "fork", do_fork, 8 },
	{ "exec", do_exec, 1 },
};

#define OPERATIONS (sizeof(operation) / sizeof(*operation))

/**
 * operation_one() - do one thing at random
 * @w: the caller
 */
void operation_one(struct worker *w)
{
	unsigned int sum = 0, at;
	size_t i;

	for (i = 0; i < OPERATIONS; i++)
		sum += operation[i].weight;
	at = below(w, sum);
	for (i = 0; at >= operation[i].weight; i++)
		at -= operation[i].weight;
	w->doing = operation[i].name;
	operation[i].run(w);
	w->step++;
	__atomic_fetch_add(&operation_board->done, 1, __ATOMIC_RELAXED);
}
