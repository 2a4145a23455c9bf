# SPDX-License-Identifier: GPL-2.0-only
#
# For people; Kbuild is for kbuild. "make help" lists the targets.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
H := tests/harness

all: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

$(KDIR)/Makefile:
	@echo "no kernel headers in $(KDIR): install linux-headers-$(KVER), or name another kernel with KVER= or KDIR=" >&2
	@false

clean:
	@if [ -e $(KDIR)/Makefile ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi
	rm -rf tests/out

check:
	@$(H)/check

demo:
	@tests/demo/run

style sparse warn dkms:
	@$(H)/static $@

bench:
	@tests/bench/all

bench-report:
	@tests/bench/report tests/out/bench/results.jsonl docs

planted:
	@$(H)/host-packages
	@$(H)/planted

debug-kernel:
	@$(H)/host-packages
	@$(H)/debug-kernel

stock-kernel:
	@$(H)/host-packages
	@$(H)/kernel-cache stock

help:
	@echo "make              pksm.ko for the running kernel; KVER= or KDIR= for another"
	@echo "make check        every check and every test; LANES= and TESTS= for some of them"
	@echo "make demo         real programs, merged by pksm and by the built-in engine"
	@echo "make bench        what the engines cost, built-in and pksm; BENCH=\"scan rmap\" for some"
	@echo "make bench-report docs/benchmarks.md and its plots from the results"
	@echo "make style        checkpatch, shellcheck and the project's own rules"
	@echo "make sparse       sparse over the module"
	@echo "make warn         the module with W=1, any warning is an error"
	@echo "make dkms         the module built by dkms"
	@echo "make planted      faults on purpose: shows that the harness finds them"
	@echo "make stock-kernel fetch the stock kernel into the cache, print its folder"
	@echo "make debug-kernel build the debug twin into the cache, print its folder"
	@echo "make clean        remove what was built here (the cache stays)"

.PHONY: all clean check demo bench bench-report style sparse warn dkms planted debug-kernel stock-kernel help
