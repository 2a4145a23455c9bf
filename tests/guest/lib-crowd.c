// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd.c - processes whose pages meet on few contents.
 *
 * They write, unmap, fork and exit as long as the order says so, and come to rest
 * when it says that. What each page holds is noted where the parent can read it, so
 * that the parent can tell which pages are equal, and which frames they have.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib-crowd.h"

/* A process ends like this when it wants to be started again. */
#define AGAIN 77

/* Pages of one step. */
#define STEP 64

#define PATIENCE_SECONDS 250

/**
 * struct self - a process of the crowd, as it sees itself
 * @crowd: all
 * @me: its place there
 * @index: number of that place
 * @random: state of its random numbers
 * @fresh: contents of its own so far
 * @twin: its child at rest, or 0
 */
struct self {
	struct crowd *crowd;
	struct crowd_member *me;
	int index;
	uint64_t random;
	uint64_t fresh;
	pid_t twin;
};

static void nap(long us)
{
	struct timespec t = { .tv_nsec = us * 1000 };

	nanosleep(&t, NULL);
}

static int order_of(const struct crowd *crowd)
{
	return __atomic_load_n(&crowd->order, __ATOMIC_ACQUIRE);
}

static void count(unsigned long *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static size_t below(struct self *s, size_t bound)
{
	return model_random(&s->random) % bound;
}

static void fail(struct self *s, const char *what, size_t page)
{
	tap_diag("seed %llu member %d life %u: page %zu: %s",
		 (unsigned long long)s->crowd->seed, s->index, s->me->life, page, what);
	__atomic_store_n(&s->crowd->bad, 1, __ATOMIC_RELAXED);
	_exit(1);
}

static void verify(struct self *s, size_t from, size_t n)
{
	for (; n--; from++) {
		const char *at = s->me->memory + from * PAGE;
		uint64_t want = s->me->content[from];

		if (want ? !page_is(at, 1, want) : !page_is_zero(at, 1))
			fail(s, "wrong bytes", from);
	}
}

/* A content that no other page has. */
static uint64_t own(struct self *s)
{
	return 1ULL << 63 | (uint64_t)s->index << 52 | (uint64_t)(s->me->life & 0xfff) << 40 |
	       s->fresh++;
}

static void write_page(struct self *s, size_t i, uint64_t content)
{
	page_fill(s->me->memory + i * PAGE, 1, content);
	s->me->content[i] = content;
}

/* One in eight is unlike all others. */
static void write_some(struct self *s, size_t i)
{
	write_page(s, i, below(s, 8) ? 1 + below(s, s->crowd->contents) : own(s));
}

static void do_write(struct self *s, size_t from, size_t n)
{
	for (; n--; from++)
		write_some(s, from);
	count(&s->crowd->writes);
}

/* All of a range alike: it arrives at once. */
static void do_level(struct self *s, size_t from, size_t n)
{
	uint64_t content = 1 + below(s, s->crowd->contents);

	for (; n--; from++)
		write_page(s, from, content);
	count(&s->crowd->writes);
}

/* A write that changes nothing gives a page another frame. */
static void do_touch(struct self *s, size_t from, size_t n)
{
	for (; n--; from++) {
		char *at = s->me->memory + from * PAGE;

		if (s->me->content[from])
			__atomic_store_n(at, *at, __ATOMIC_RELAXED);
	}
}

static void do_unmap(struct self *s, size_t from, size_t n)
{
	char *at = s->me->memory + from * PAGE;

	memset(&s->me->content[from], 0, n * sizeof(s->me->content[0]));
	munmap(at, n * PAGE);
	if (mmap(at, n * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		fail(s, "mmap", from);
	madvise(at, n * PAGE, MADV_NOHUGEPAGE);
	page_register(at, n);
	count(&s->crowd->unmaps);
	if (below(s, 4))
		do_write(s, from, n);
}

static void do_withdraw(struct self *s, size_t from, size_t n)
{
	page_unregister(s->me->memory + from * PAGE, n);
	verify(s, from, n);
	page_register(s->me->memory + from * PAGE, n);
}

/* What the parent notes from now on is not ours, and nobody notes what we write. */
static int short_life(struct self *s, size_t from, size_t n, const uint64_t *was)
{
	char *at = s->me->memory + from * PAGE;
	bool good = true;
	size_t i;

	nap(below(s, 10000));
	for (i = 0; i < n; i++)
		good = (was[i] ? page_is(at + i * PAGE, 1, was[i]) :
				 page_is_zero(at + i * PAGE, 1)) && good;
	page_fill(at, n, 1);
	nap(below(s, 10000));
	return good && page_is(at, n, 1) ? 0 : 1;
}

/* A child that lives for a moment. */
static void do_fork(struct self *s, size_t from, size_t n)
{
	bool kill_it = below(s, 3) == 0;
	uint64_t was[STEP];
	pid_t pid;
	int status;

	memcpy(was, &s->me->content[from], n * sizeof(was[0]));
	pid = fork();
	if (pid < 0)
		return;
	count(&s->crowd->forks);
	if (!pid)
		_exit(short_life(s, from, n, was));
	do_write(s, from, n);
	if (kill_it)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status && !(kill_it && WIFSIGNALED(status)))
		fail(s, "a child went wrong", from);
	count(&s->crowd->exits);
}

/* A child goes on in the place of its parent, which ends. */
static void do_succeed(struct self *s, size_t from, size_t n)
{
	pid_t pid = fork();

	if (pid < 0)
		return;
	count(&s->crowd->forks);
	if (pid) {
		count(&s->crowd->exits);
		_exit(0);
	}
	__atomic_store_n(&s->me->pid, getpid(), __ATOMIC_RELEASE);
	verify(s, from, n);
}

static void do_exit(struct self *s, size_t from, size_t n)
{
	verify(s, from, n);
	count(&s->crowd->exits);
	_exit(AGAIN);
}

static void do_nap(struct self *s, size_t from, size_t n)
{
	nap(below(s, 10000));
	verify(s, from, n);
}

static const struct {
	void (*run)(struct self *s, size_t from, size_t n);
	unsigned int weight;
} step[] = {
	{ do_write, 20 }, { do_level, 20 }, { do_touch, 6 }, { verify, 20 }, { do_unmap, 8 },
	{ do_withdraw, 2 }, { do_fork, 8 }, { do_succeed, 4 }, { do_exit, 1 }, { do_nap, 12 },
};

static void one_step(struct self *s)
{
	size_t from = below(s, s->crowd->pages), n = 1 + below(s, STEP), i;
	unsigned int at = below(s, 101);

	if (n > s->crowd->pages - from)
		n = s->crowd->pages - from;
	for (i = 0; at >= step[i].weight; i++)
		at -= step[i].weight;
	step[i].run(s, from, n);
}

static void acknowledge(struct self *s, int order)
{
	__atomic_store_n(&s->me->ack, order, __ATOMIC_RELEASE);
}

static void wait_order(const struct self *s, int order)
{
	while (order_of(s->crowd) == order)
		nap(5000);
}

/* At rest every second member may have a child that shares the most of its pages. */
static void twin(struct self *s, int order)
{
	const struct crowd_member *parent = s->me;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s->index += CROWD_MEMBERS;
	s->me = &s->crowd->member[s->index];
	s->me->memory = parent->memory;
	s->me->life = parent->life;
	memcpy(s->me->content, parent->content, sizeof(parent->content));
	for (i = 0; i < s->crowd->pages; i++)
		if (s->me->content[i] >> 63)
			write_page(s, i, own(s));
	verify(s, 0, s->crowd->pages);
	__atomic_store_n(&s->me->pid, getpid(), __ATOMIC_RELEASE);
	acknowledge(s, order);
	wait_order(s, order);
	verify(s, 0, s->crowd->pages);
	s->me->pid = 0;
	_exit(0);
}

/* A third of the memory is written anew, equal: it arrives with all the others'. */
static void rest(struct self *s, int order)
{
	size_t third = s->crowd->pages / 3;
	int status;

	do_level(s, below(s, 2 * third), third);
	verify(s, 0, s->crowd->pages);
	if (s->crowd->twins && s->index % 2 == 0) {
		s->twin = fork();
		if (!s->twin)
			twin(s, order);
		while (s->twin > 0 && !s->crowd->bad &&
		       __atomic_load_n(&s->crowd->member[s->index + CROWD_MEMBERS].ack,
				       __ATOMIC_ACQUIRE) != order)
			nap(2000);
	}
	acknowledge(s, order);
	wait_order(s, order);
	verify(s, 0, s->crowd->pages);
	if (s->twin > 0 && waitpid(s->twin, &status, 0) == s->twin && status)
		fail(s, "the child at rest went wrong", 0);
	s->twin = 0;
}

static void live(struct crowd *crowd, int index)
{
	struct self self = { .crowd = crowd, .me = &crowd->member[index], .index = index };
	int order;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	self.me->pid = getpid();
	self.random = crowd->seed + 1000003ULL * index + 7777777ULL * self.me->life;
	self.me->memory = page_map(crowd->pages);
	page_register(self.me->memory, crowd->pages);
	for (i = 0; i < crowd->pages; i++)
		write_some(&self, i);
	for (;;) {
		order = order_of(crowd);
		if (order == CROWD_END)
			_exit(0);
		if (order % 2)
			one_step(&self);
		else
			rest(&self, order);
	}
}

static void give_birth(struct crowd *crowd, int index)
{
	struct crowd_member *m = &crowd->member[index];
	pid_t pid;

	m->life++;
	m->ack = 0;
	memset(m->content, 0, sizeof(m->content));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		tap_die("fork: %s", strerror(errno));
	/* It notes its own number: by now it may have gone, and another be in its place. */
	if (!pid)
		live(crowd, index);
}

/* Those who ended as they wished are started again; any other end is a failure. */
static void reap(struct crowd *crowd)
{
	pid_t pid;
	int status, i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!status)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != AGAIN) {
			tap_diag("process %d ended with status %#x", (int)pid, status);
			crowd->bad = 1;
			continue;
		}
		for (i = 0; i < crowd->members; i++)
			if (crowd->member[i].pid == pid)
				give_birth(crowd, i);
	}
}

/**
 * crowd_start() - start the processes; they change things at once
 * @members: how many, at most CROWD_MEMBERS
 * @pages: of each, at most CROWD_PAGES
 * @contents: how many contents most pages have
 * @seed: what they do follows from it, when it meets the engine does not
 *
 * Return: the crowd.
 */
struct crowd *crowd_start(int members, size_t pages, unsigned int contents, uint64_t seed)
{
	struct crowd *crowd = child_shared((sizeof(*crowd) + PAGE - 1) / PAGE);
	int i;

	/* Whose parent ended is ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	crowd->order = 1;
	crowd->members = members;
	crowd->pages = pages;
	crowd->contents = contents;
	crowd->seed = seed;
	for (i = 0; i < members; i++)
		give_birth(crowd, i);
	return crowd;
}

/**
 * crowd_churn() - let them change things for a while
 * @crowd: all
 * @msecs: for how long
 */
void crowd_churn(struct crowd *crowd, long msecs)
{
	struct timespec t = { .tv_nsec = 20000000 };

	if (crowd->order % 2 == 0)
		__atomic_store_n(&crowd->order, crowd->order + 1, __ATOMIC_RELEASE);
	for (; msecs > 0 && !crowd->bad; msecs -= 20) {
		nanosleep(&t, NULL);
		reap(crowd);
	}
}

static bool resting(const struct crowd *crowd)
{
	int i;

	for (i = 0; i < crowd->members; i++)
		if (__atomic_load_n(&crowd->member[i].ack, __ATOMIC_ACQUIRE) != crowd->order)
			return false;
	return true;
}

/**
 * crowd_rest() - let them come to rest
 * @crowd: all
 *
 * Return: false when something was wrong with one of them, or it took too long.
 */
bool crowd_rest(struct crowd *crowd)
{
	time_t limit = time(NULL) + PATIENCE_SECONDS;

	__atomic_store_n(&crowd->order, crowd->order + 1, __ATOMIC_RELEASE);
	while (!resting(crowd) && !crowd->bad && time(NULL) < limit) {
		nap(5000);
		reap(crowd);
	}
	reap(crowd);
	return resting(crowd) && !crowd->bad;
}

/**
 * crowd_end() - end them all
 * @crowd: all; at rest; not to be used any more
 *
 * Return: whether every byte was right to the end.
 */
bool crowd_end(struct crowd *crowd)
{
	bool bad;
	int status;

	__atomic_store_n(&crowd->order, CROWD_END, __ATOMIC_RELEASE);
	bad = crowd->bad;
	while (waitpid(-1, &status, 0) > 0 || errno == EINTR)
		bad = bad || (status && !(WIFEXITED(status) && WEXITSTATUS(status) == AGAIN));
	bad = bad || crowd->bad;
	munmap(crowd, (sizeof(*crowd) + PAGE - 1) / PAGE * PAGE);
	return !bad;
}
