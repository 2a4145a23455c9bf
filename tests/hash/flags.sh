# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced: how things are compiled here.

# What the kernel builds for x86-64 with, as far as it changes the code of a loop.
# shellcheck disable=SC2034
KERNEL_CFLAGS=(-std=gnu11 -O2 -m64 -mno-sse -mno-mmx -mno-sse2 -mno-3dnow -mno-avx -mno-80387
	-mgeneral-regs-only -march=x86-64 -mtune=generic -mno-red-zone -mcmodel=kernel
	-mpreferred-stack-boundary=3 -mskip-rax-setup -falign-jumps=1 -falign-loops=1
	-fno-strict-aliasing -fno-strict-overflow -fno-common -fno-pie -fcf-protection=branch
	-fno-asynchronous-unwind-tables -fno-delete-null-pointer-checks -fno-stack-protector)
# shellcheck disable=SC2034
WARNINGS=(-Wall -Wextra -Werror)
