// SPDX-License-Identifier: GPL-2.0-only
/*
 * count - a plugin for QEMU: counts the guest's instructions between two marks.
 *
 *	-plugin count.so,out=FILE,cpus=N
 *
 * The guest executes the marks of lib-figure.c. With the first, all counters
 * become zero; with the second, they are added to FILE: a line "section N", and
 * for each block of code its address and how many instructions each virtual CPU
 * has executed in it. A block counts all of its instructions when it is entered,
 * so one that an exception leaves half way counts a little too much.
 *
 * Each counter has one writer, its CPU. The CPU that executes a mark reads and
 * clears the counters of the others while they may be counting: what is on its
 * way at that moment is lost or comes too late.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu-api.h"

#define CPUS 16
#define BLOCKS (4UL << 20)
#define MARK_BYTES 7
#define MARK_BEGIN "\x0f\x1f\x80\x01\x6d\x73\x6b"
#define MARK_END "\x0f\x1f\x80\x02\x6d\x73\x6b"

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_VERSION;

/* By the number of the block. Each CPU's counters are memory of its own. */
static uint64_t addresses[BLOCKS], lengths[BLOCKS];
static uint64_t *counts[CPUS];
static size_t blocks;
static unsigned int cpus = 1;
static const char *path;
static int sections;

static size_t known(void)
{
	size_t n = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);

	return n < BLOCKS ? n : BLOCKS;
}

static void begin(unsigned int vcpu, void *data)
{
	size_t n = known() * sizeof(**counts);
	unsigned int c;

	for (c = 0; c < cpus; c++)
		memset(counts[c], 0, n);
}

static void end(unsigned int vcpu, void *data)
{
	FILE *f = fopen(path, sections++ ? "a" : "w");
	size_t i, n = known();
	unsigned int c;

	if (!f)
		return;
	fprintf(f, "section %d\n", sections);
	for (i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (c = 0; c < cpus; c++)
			sum += counts[c][i];
		if (!sum)
			continue;
		fprintf(f, "%lx", addresses[i]);
		for (c = 0; c < cpus; c++)
			fprintf(f, " %lu", counts[c][i]);
		fputc('\n', f);
	}
	fclose(f);
}

static void count(unsigned int vcpu, void *data)
{
	size_t i = (size_t)data;

	counts[vcpu][i] += lengths[i];
}

static void count_block(struct qemu_plugin_tb *tb, size_t insns)
{
	size_t i = __atomic_fetch_add(&blocks, 1, __ATOMIC_ACQ_REL);

	if (i >= BLOCKS)
		abort();
	addresses[i] = qemu_plugin_tb_vaddr(tb);
	lengths[i] = insns;
	if (cpus == 1)
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &counts[0][i], insns);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, count, QEMU_PLUGIN_CB_NO_REGS,
						     (void *)i);
}

static void find_marks(struct qemu_plugin_tb *tb, size_t insns)
{
	size_t i;

	for (i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const void *code = qemu_plugin_insn_data(insn);
		plugin_executed f = NULL;

		if (qemu_plugin_insn_size(insn) != MARK_BYTES)
			continue;
		if (!memcmp(code, MARK_BEGIN, MARK_BYTES))
			f = begin;
		else if (!memcmp(code, MARK_END, MARK_BYTES))
			f = end;
		if (f)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, f,
							       QEMU_PLUGIN_CB_NO_REGS,
							       NULL);
	}
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);

	count_block(tb, insns);
	find_marks(tb, insns);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
			char **argv)
{
	unsigned int c;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			path = strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "cpus=", 5))
			cpus = atoi(argv[i] + 5);
	}
	if (!path || !cpus || cpus > CPUS)
		return -1;
	for (c = 0; c < cpus; c++) {
		counts[c] = calloc(BLOCKS, sizeof(**counts));
		if (!counts[c])
			return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
