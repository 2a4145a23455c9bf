/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * qemu-api.h - the part of QEMU's plugin interface, version 1, that is used here.
 *
 * Debian's QEMU takes plugins but has no package with the header. Names and
 * types are those of QEMU's documentation of the interface.
 */
#ifndef TESTS_BENCH_QEMU_API_H
#define TESTS_BENCH_QEMU_API_H

#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))
#define PLUGIN_VERSION 1

/* What a callback does with registers: nothing, here. */
#define QEMU_PLUGIN_CB_NO_REGS 0
#define QEMU_PLUGIN_INLINE_ADD_U64 0

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

typedef void (*plugin_translated)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*plugin_executed)(unsigned int vcpu, void *data);
typedef void (*plugin_exited)(uint64_t id, void *data);

/* What a plugin has. */
PLUGIN_EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info,
				      int argc, char **argv);

/* What QEMU has. */
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, plugin_translated f);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  plugin_executed f, int registers,
					  void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
					      int operation, void *counter,
					      uint64_t operand);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    plugin_executed f, int registers,
					    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#endif
