// SPDX-License-Identifier: GPL-2.0-only
/*
 * device_rights.c - who may register and unregister whose memory.
 *
 * The scene: targets (root's, another user's, an undumpable one, one in a
 * user namespace of its own) that sleep on one page of memory each, and
 * callers that take an identity, inherit the open device and a descriptor
 * of each target, and try both commands on each. The rules are those of
 * process_madvise(2) for registering and of attaching for unregistering;
 * whoever is refused has changed nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "lib.h"

#define USER 1000
#define OTHER 1001
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

#define CAP(n) (1ULL << (n))
#define ALL_CAPS (~0ULL)

static int dev;
static char *region;

/* Identity of a process that the test starts. */
struct identity {
	const char *name;
	uid_t uid;
	uint64_t caps;		/* kept, as far as root has them */
	bool undumpable;
	bool namespace;		/* enters a user namespace of its own */
};

static void caps_set(uint64_t mask)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	int k;

	if (syscall(SYS_capget, &head, data))
		tap_die("capget: %s", strerror(errno));
	for (k = 0; k < 2; k++) {
		data[k].permitted &= mask >> (32 * k);
		data[k].effective = data[k].permitted;
		data[k].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data))
		tap_die("capset: %s", strerror(errno));
}

static void become(const struct identity *id)
{
	if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(id->uid, id->uid, id->uid) ||
	    setresuid(id->uid, id->uid, id->uid))
		tap_die("change of identity: %s", strerror(errno));
	caps_set(id->caps);
	/* As after the exec that usually follows a change of identity. */
	prctl(PR_SET_DUMPABLE, !id->undumpable);
	if (id->namespace && unshare(CLONE_NEWUSER))
		tap_die("new user namespace: %s", strerror(errno));
	if (id->namespace)
		prctl(PR_SET_DUMPABLE, 1);
}

static int sleeper(struct child *c, void *arg)
{
	become(arg);
	child_report(c);
	child_wait(c);
	return 0;
}

/* A target and how it looked when nothing had been tried. */
struct target {
	struct identity id;
	struct child child;
	int pidfd;
};

#define TARGETS 5
#define CALLERS 8

static struct target targets[TARGETS] = {
	{ .id = { "root", 0, ALL_CAPS, false, false } },
	{ .id = { "user", USER, 0, false, false } },
	{ .id = { "undumpable", USER, 0, true, false } },
	{ .id = { "other", OTHER, 0, false, false } },
	{ .id = { "namespace", USER, 0, false, true } },
};

/* One caller, and what it gets: register and unregister, for each target. */
struct caller {
	struct identity id;
	int want[TARGETS][2];
};

#define YES { 0, 0 }
#define NO { -EACCES, -EACCES }
#define HINT_NO { -EPERM, 0 }

static const struct caller callers[CALLERS] = {
	{ { "root", 0, ALL_CAPS, false, false },
	  { YES, YES, YES, YES, YES } },
	{ { "root without CAP_SYS_NICE", 0, ~CAP(CAP_SYS_NICE), false, false },
	  { HINT_NO, HINT_NO, HINT_NO, HINT_NO, HINT_NO } },
	{ { "root without CAP_SYS_PTRACE", 0, ~CAP(CAP_SYS_PTRACE), false, false },
	  { NO, NO, NO, NO, NO } },
	{ { "user", USER, 0, false, false },
	  { NO, HINT_NO, NO, NO, HINT_NO } },
	{ { "user with CAP_SYS_NICE", USER, CAP(CAP_SYS_NICE), false, false },
	  { NO, YES, NO, NO, YES } },
	{ { "user with CAP_SYS_PTRACE", USER, CAP(CAP_SYS_PTRACE), false, false },
	  { HINT_NO, HINT_NO, HINT_NO, HINT_NO, HINT_NO } },
	{ { "user with both", USER, CAP(CAP_SYS_NICE) | CAP(CAP_SYS_PTRACE),
	    false, false },
	  { YES, YES, YES, YES, YES } },
	{ { "root of a namespace of its own", USER, 0, false, true },
	  { NO, NO, NO, NO, NO } },
};

/* What a caller reports: the errors of each command on each target. */
struct report {
	int got[TARGETS][2];
	int got_all[TARGETS][2];
	int own, own_pidfd, child;
};

static struct report *report;

static int child_of_caller(struct child *c, void *arg)
{
	(void)arg;
	child_report(c);
	child_wait(c);
	return 0;
}

static int try_all(struct child *c, void *arg)
{
	static const unsigned long command[] = { PKSM_REGISTER, PKSM_UNREGISTER };
	struct child own;
	unsigned int k, i;
	int fd;

	become(arg);
	for (k = 0; k < TARGETS; k++) {
		fd = targets[k].pidfd;
		for (i = 0; i < 2; i++)
			report->got[k][i] = device_range_of(dev, command[i], fd,
							    region, PAGE);
		for (i = 0; i < 2; i++)
			report->got_all[k][i] = device_all_of(dev, command[i], fd);
	}
	report->own = device_range(dev, PKSM_REGISTER, region, PAGE) ?:
		      device_range(dev, PKSM_UNREGISTER, region, PAGE) ?:
		      device_all(dev, PKSM_REGISTER) ?:
		      device_all(dev, PKSM_UNREGISTER);
	fd = device_pidfd(getpid(), 0);
	report->own_pidfd = device_range_of(dev, PKSM_REGISTER, fd, region, PAGE) ?:
			    device_all_of(dev, PKSM_UNREGISTER, fd);
	close(fd);

	child_start(&own, child_of_caller, NULL);
	child_done(&own);
	fd = device_pidfd(own.pid, 0);
	report->child = device_all_of(dev, PKSM_UNREGISTER, fd);
	close(fd);
	child_join(&own);
	(void)c;
	return 0;
}

static const char *say(int err)
{
	return err ? strerrorname_np(-err) : "yes";
}

static bool as_wanted(const struct caller *caller, unsigned int k,
		      const int got[2], const char *what)
{
	const int *want = caller->want[k];

	if (got[0] == want[0] && got[1] == want[1])
		return true;
	tap_diag("  %s on %s, %s: got %s/%s, want %s/%s", caller->id.name,
		 targets[k].id.name, what, say(got[0]), say(got[1]),
		 say(want[0]), say(want[1]));
	return false;
}

static void test_caller(const struct caller *caller)
{
	uint64_t before[TARGETS];
	struct child c;
	unsigned int k;
	bool ok;

	for (k = 0; k < TARGETS; k++)
		before[k] = device_digest(targets[k].child.pid, NULL, 0);
	memset(report, 0x55, sizeof(*report));
	child_start(&c, try_all, (void *)&caller->id);
	if (child_join(&c)) {
		tap_ok(false, "%s: caller ended well", caller->id.name);
		return;
	}
	for (k = 0; k < TARGETS; k++) {
		ok = as_wanted(caller, k, report->got[k], "range");
		ok &= as_wanted(caller, k, report->got_all[k], "all");
		tap_ok(ok, "%s on %s: register %s, unregister %s",
		       caller->id.name, targets[k].id.name,
		       say(caller->want[k][0]), say(caller->want[k][1]));
		tap_ok(device_digest(targets[k].child.pid, NULL, 0) == before[k],
		       "  and it is as before");
	}
	tap_is(report->own, 0, "%s: its own memory", caller->id.name);
	tap_is(report->own_pidfd, 0, "%s: its own memory by pidfd", caller->id.name);
}

/* Whoever has less than its child may not attach to it, so only equals. */
static void test_own_child(void)
{
	struct identity id = { "user", USER, 0, false, false };
	struct child c;
	int scope = file_number(YAMA, -1), k;

	for (k = 0; k < 2; k++) {
		if (k && scope < 0) {
			tap_skip("no Yama in this kernel", "attach to children alone");
			return;
		}
		if (k)
			file_put(YAMA, "1");
		child_start(&c, try_all, &id);
		tap_is(child_join(&c), 0, "user%s: caller ended well",
		       k ? " under Yama" : "");
		tap_is(report->child, 0, "user%s: may unregister its own child",
		       k ? " under Yama" : "");
	}
	tap_is(report->got[1][1], -EACCES,
	       "user under Yama: may not unregister a stranger of the same user");
	tap_is(report->got[1][0], -EPERM,
	       "user under Yama: registering asks for reading and CAP_SYS_NICE only");
	file_put(YAMA, "0");
}

static void gone(int pidfd, int want, const char *what)
{
	int got[4] = {
		device_range_of(dev, PKSM_REGISTER, pidfd, region, PAGE),
		device_range_of(dev, PKSM_UNREGISTER, pidfd, region, PAGE),
		device_all_of(dev, PKSM_REGISTER, pidfd),
		device_all_of(dev, PKSM_UNREGISTER, pidfd),
	};
	int k, bad = 0;

	for (k = 0; k < 4; k++)
		bad += got[k] != want;
	tap_is(bad, 0, "%s: %s", what, strerrorname_np(-want));
	if (bad)
		tap_diag("  got %s %s %s %s", say(got[0]), say(got[1]),
			 say(got[2]), say(got[3]));
}

static void test_dead(void)
{
	struct child c;
	siginfo_t si;
	int fd;

	child_start(&c, child_of_caller, NULL);
	child_done(&c);
	fd = device_pidfd(c.pid, 0);
	kill(c.pid, SIGKILL);
	if (waitid(P_PID, c.pid, &si, WEXITED | WNOWAIT))
		tap_die("waitid: %s", strerror(errno));
	gone(fd, -ESRCH, "a zombie");
	waitpid(c.pid, NULL, 0);
	gone(fd, -ESRCH, "a process that is gone");
	close(fd);
	close(c.up);
	close(c.down);
}

/* A second thread that waits until it is told to end. */
static int thread_pipe[2];

static int thread_body(void *arg)
{
	char byte;

	(void)arg;
	return read(thread_pipe[0], &byte, 1) != 1;
}

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static void test_thread(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t tid;
	int fd;

	if (pipe(thread_pipe))
		tap_die("pipe: %s", strerror(errno));
	tid = clone(thread_body, stack + sizeof(stack), CLONE_VM | CLONE_FS |
		    CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		    NULL);
	if (tid < 0)
		tap_die("clone: %s", strerror(errno));
	fd = device_pidfd(tid, PIDFD_THREAD);
	gone(fd, -ESRCH, "a thread that is not the leader");
	close(fd);
	fd = device_pidfd(getpid(), PIDFD_THREAD);
	gone(fd, 0, "the leader's thread stands for its process");
	close(fd);
	if (write(thread_pipe[1], "", 1) != 1)
		tap_die("the thread does not listen");
}

static void test_no_pidfd(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int proc = open("/proc/self", O_RDONLY | O_CLOEXEC);

	gone(-1, -EBADF, "descriptor -1");
	gone(9999, -EBADF, "a descriptor that is not open");
	gone(null, -EBADF, "/dev/null");
	gone(proc, -EBADF, "a folder of /proc");
	gone(dev, -EBADF, "the device itself");
	close(null);
	close(proc);
}

static void test_kernel_thread(void)
{
	int fd = device_pidfd(2, 0);

	gone(fd, -ESRCH, "a kernel thread");
	close(fd);
}

/* A process may die, or become another program, at any moment of a command. */
static void test_dying(void)
{
	int k, bad = 0, done = 0;

	for (k = 0; k < 300; k++) {
		int fd, err;
		pid_t pid = fork();

		if (!pid) {
			if (k & 1)
				execl("/proc/self/exe", "device_rights", "-", NULL);
			_exit(0);
		}
		if (pid < 0)
			tap_die("fork: %s", strerror(errno));
		fd = device_pidfd(pid, 0);
		err = device_all_of(dev, k & 2 ? PKSM_REGISTER : PKSM_UNREGISTER, fd);
		done += !err;
		bad += err && err != -ESRCH;
		err = device_range_of(dev, PKSM_REGISTER, fd, region, PAGE);
		/* After exec the address means something else or nothing. */
		bad += err && err != -ESRCH && err != -ENOMEM && err != -EOPNOTSUPP;
		close(fd);
		waitpid(pid, NULL, 0);
	}
	tap_is(bad, 0, "commands on dying processes end well or with ESRCH");
	tap_diag("  %d of %d reached a living process", done, k);
}

int main(int argc, char **argv)
{
	unsigned int k;
	long scope = file_number(YAMA, -1);

	(void)argv;
	if (argc > 1)
		return 0;
	region = page_map(1);
	page_fill(region, 1, 3);
	report = child_shared(1);
	dev = device_open();
	if (scope > 0)
		file_put(YAMA, "0");
	for (k = 0; k < TARGETS; k++) {
		struct target *t = &targets[k];

		child_start(&t->child, sleeper, &t->id);
		if (!child_done(&t->child))
			tap_die("target %s did not start", t->id.name);
		t->pidfd = device_pidfd(t->child.pid, 0);
	}
	for (k = 0; k < CALLERS; k++)
		test_caller(&callers[k]);
	test_own_child();
	test_dead();
	test_thread();
	test_no_pidfd();
	test_kernel_thread();
	test_dying();
	for (k = 0; k < TARGETS; k++)
		child_join(&targets[k].child);
	if (scope > 0)
		file_put(YAMA, "1");
	return tap_done();
}
