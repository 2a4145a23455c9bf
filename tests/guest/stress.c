// SPDX-License-Identifier: GPL-2.0-only
/*
 * stress.c - many processes do all to their memory that there is to do.
 *
 *	stress [SECONDS [PROCESSES [SEED]]]
 *
 * group: module native
 *
 * Each process keeps a model of its memory and compares every byte. The
 * order of operations of a process follows from the seed, which is printed;
 * when they meet the engine does not. Without arguments the knobs are turned
 * meanwhile; with arguments they are left alone, for scripts that load and
 * unload the module at the same time and end it with SIGTERM.
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

#define WORKERS 32

/* After exec: some equal memory, looked at once. */
static int brief(void)
{
	struct timespec t = { .tv_nsec = 5000000 };
	struct model m;

	model_init(&m, 64);
	madvise(m.memory, 64 * PAGE, MADV_MERGEABLE);
	for (size_t i = 0; i < 64; i++)
		model_write(&m, i, 1 + i % 4, 0);
	nanosleep(&t, NULL);
	return model_check(&m, 0, 64) < 0 ? 0 : 1;
}

static void work(uint64_t seed, unsigned int index, unsigned int life)
{
	struct worker w = {
		.random = seed + 1000003ULL * index + 7777777ULL * life,
		.seed = seed, .index = index,
	};
	int i;

	if (pipe2(w.pipe, O_CLOEXEC))
		_exit(2);
	w.mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	for (i = 0; i < AREAS; i++) {
		model_init(&w.area[i], PAGES);
		madvise(w.area[i].memory, PAGES * PAGE, MADV_MERGEABLE);
	}
	while (!__atomic_load_n(&operation_board->stop, __ATOMIC_RELAXED))
		operation_one(&w);
	w.doing = "at the end";
	operation_verify(&w);
	for (i = 0; i < CHILDREN; i++)
		if (w.child[i])
			operation_reap(w.child[i]);
	_exit(0);
}

static pid_t start(uint64_t seed, unsigned int index, unsigned int life)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		tap_die("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(seed, index, life);
	}
	return pid;
}

/* Turn a knob to where an administrator might. */
static void turn(uint64_t *random)
{
	static const struct {
		const char *knob;
		const char *value[4];
	} knob[] = {
		{ "run", { "1", "1", "0", "2" } },
		{ "pages_to_scan", { "10", "1000", "100000", "100" } },
		{ "sleep_millisecs", { "0", "1", "20", "0" } },
		{ "smart_scan", { "0", "1", "0", "0" } },
	};
	uint64_t r = model_random(random);

	knob_put(knob[r % 4].knob, knob[r % 4].value[(r >> 8) % 4]);
	/* Never stopped for long. */
	if (r % 4 == 0 && (r >> 8) % 4 > 1) {
		struct timespec t = { .tv_nsec = 20000000 };

		nanosleep(&t, NULL);
		knob_put("run", "1");
	}
}

static void on_term(int sig)
{
	(void)sig;
	__atomic_store_n(&operation_board->stop, 1, __ATOMIC_RELAXED);
}

static int run(unsigned int seconds, unsigned int count, uint64_t seed,
	       bool turning)
{
	unsigned int bad = 0, killed = 0, life[WORKERS] = { 0 }, i;
	uint64_t random = ~seed;
	time_t end = time(NULL) + seconds;
	pid_t pid[WORKERS], ended;
	int status;

	for (i = 0; i < count; i++)
		pid[i] = start(seed, i, 0);
	while (time(NULL) < end && !bad &&
	       !__atomic_load_n(&operation_board->stop, __ATOMIC_RELAXED)) {
		struct timespec t = { .tv_nsec = 100000000 };

		nanosleep(&t, NULL);
		if (turning)
			turn(&random);
		if (model_random(&random) % 10 == 0) {
			i = model_random(&random) % count;
			kill(pid[i], SIGKILL);
			killed++;
		}
		/* Also those whose parent was killed. */
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			bad += !(WIFSIGNALED(status) &&
				 WTERMSIG(status) == SIGKILL) && status;
			for (i = 0; i < count; i++)
				if (pid[i] == ended)
					pid[i] = start(seed, i, ++life[i]);
		}
	}
	__atomic_store_n(&operation_board->stop, 1, __ATOMIC_RELAXED);
	while ((ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		bad += ended > 0 && status &&
		       !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	tap_diag("%lu operations, %lu forks, %lu migrated, %lu times swapped out, %u killed",
		 operation_board->done, operation_board->forked,
		 operation_board->migrated, operation_board->swapped, killed);
	return bad;
}

int main(int argc, char **argv)
{
	bool turning = argc == 1;
	unsigned int seconds = argc > 1 ? atoi(argv[1]) : 20;
	unsigned int count = argc > 2 ? atoi(argv[2]) : 4;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) :
				   (uint64_t)time(NULL) * 1000003 + getpid();
	int bad, err;

	if (argc == 2 && !strcmp(argv[1], "--brief"))
		return brief();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!seconds || !count || count > WORKERS) {
		fprintf(stderr, "stress [SECONDS [PROCESSES (1..%d) [SEED]]]\n",
			WORKERS);
		return 2;
	}
	if (turning) {
		knob_begin();
		knob_run(1);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	operation_board = child_shared(1);
	signal(SIGTERM, on_term);
	err = swap_on(256);
	if (err)
		tap_diag("without swap: %s", strerror(-err));
	swap_enter(GROUP);
	tap_diag("seed %llu, %u processes, %u seconds",
		 (unsigned long long)seed, count, seconds);
	bad = run(seconds, count, seed, turning);
	tap_is(bad, 0, "stress: every byte of every process was right");
	if (!err)
		tap_is(swap_off(), 0, "stress: swap goes away");
	swap_leave(GROUP);
	return tap_done();
}
