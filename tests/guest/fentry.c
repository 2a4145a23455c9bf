// SPDX-License-Identifier: GPL-2.0-only
/*
 * fentry.c - a bpf program at the entry of functions that pksm redirects.
 *
 *	fentry [FUNCTION...]
 *
 * group: module native
 *
 * The kernel calls such programs by patching the function's first bytes, as
 * it does for redirection, so the two must share them. With functions named,
 * it counts calls until SIGTERM and prints a line for each: for scripts that
 * load and unload the module meanwhile.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define MOST 16

static char *btf;
static int map = -1;

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static bool read_btf(void)
{
	size_t size = 32UL << 20;
	ssize_t n;

	btf = malloc(size);
	n = btf ? file_read(BTF_PATH, btf, size) : -1;
	return n > (ssize_t)sizeof(struct btf_header) &&
	       ((struct btf_header *)btf)->magic == BTF_MAGIC;
}

/* Bytes that follow the common part of a type, by its kind. */
static size_t extra(const struct btf_type *t)
{
	size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

/* Number of the type that describes a function, or 0. */
static int find(const char *function)
{
	struct btf_header *h = (void *)btf;
	char *types = btf + h->hdr_len + h->type_off;
	char *names = btf + h->hdr_len + h->str_off;
	char *at = types;
	int id;

	for (id = 1; at < types + h->type_len; id++) {
		struct btf_type *t = (void *)at;

		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC &&
		    !strcmp(names + t->name_off, function))
			return id;
		at += sizeof(*t) + extra(t);
	}
	return 0;
}

static bool make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = MOST * 8,
		.max_entries = 1,
	};

	map = bpf(BPF_MAP_CREATE, &attr);
	return map >= 0;
}

/* Adds one to a word of the map; returns the link, or a negative error. */
static int attach(const char *function, int slot)
{
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map },
		{ .imm = slot * 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2,
		  .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static char log[4096];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(*code),
		.license = (uintptr_t)"GPL",
		.log_level = 1,
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.expected_attach_type = BPF_TRACE_FENTRY,
		.attach_btf_id = find(function),
	};
	union bpf_attr open = { 0 };
	int prog, link;

	if (!attr.attach_btf_id)
		return -ENOENT;
	prog = bpf(BPF_PROG_LOAD, &attr);
	if (prog < 0) {
		prog = -errno;
		tap_diag("%s: %s", function, log);
		return prog;
	}
	open.raw_tracepoint.prog_fd = prog;
	link = bpf(BPF_RAW_TRACEPOINT_OPEN, &open);
	return link < 0 ? -errno : link;
}

static unsigned long count_of(int slot)
{
	uint64_t value[MOST] = { 0 };
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)value,
	};

	bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	return value[slot];
}

static int stop;

static void on_term(int sig)
{
	(void)sig;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static int count_until_term(int argc, char **argv)
{
	int i;

	signal(SIGTERM, on_term);
	for (i = 0; i < argc && i < MOST; i++) {
		int link = attach(argv[i], i);

		if (link < 0) {
			printf("cannot attach to %s: %s\n", argv[i],
			       strerror(-link));
			return 2;
		}
	}
	printf("attached\n");
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		usleep(20000);
	for (i = 0; i < argc && i < MOST; i++)
		printf("%s %lu\n", argv[i], count_of(i));
	return 0;
}

/* Calls them all: registers, merges, migrates, forks, exits. */
static void use_engine(void)
{
	char *p = page_map(16);
	pid_t pid;

	page_fill(p, 16, 1);
	page_register(p, 16);
	knob_settle();
	if (node_two())
		tap_is(node_move(getpid(), p), 0, "traced: a page migrates");
	pid = fork();
	if (!pid)
		_exit(page_is(p, 16, 1) ? 0 : 1);
	waitpid(pid, NULL, 0);
	page_unregister(p, 16);
	page_unmap(p, 16);
}

static void test_counts(void)
{
	static const char * const name[] = {
		"ksm_madvise", "__ksm_enter", "__ksm_exit", "rmap_walk_ksm",
		"folio_migrate_ksm",
	};
	int link[5], i;

	for (i = 0; i < 5; i++) {
		link[i] = attach(name[i], i);
		tap_ok(link[i] >= 0, "a bpf program attaches to %s", name[i]);
		if (link[i] < 0)
			tap_diag("%s", strerror(-link[i]));
	}
	use_engine();
	for (i = 0; i < (node_two() ? 5 : 3); i++) {
		tap_ok(count_of(i) > 0, "it counts calls of %s", name[i]);
		tap_diag("%s %lu", name[i], count_of(i));
	}
	for (i = 0; i < 5; i++)
		close(link[i]);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!read_btf() || !make_map()) {
		if (argc > 1) {
			printf("no bpf tracing\n");
			return 3;
		}
		tap_skip("this kernel has no bpf tracing",
			 "bpf programs attach to hooked functions");
		return tap_done();
	}
	if (argc > 1)
		return count_until_term(argc - 1, argv + 1);
	knob_begin();
	test_counts();
	return tap_done();
}
