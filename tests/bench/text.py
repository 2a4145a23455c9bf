# SPDX-License-Identifier: GPL-2.0-only
"""The words of docs/benchmarks.md; the figures come from the results."""

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made by "make bench-report" from the results of "make bench". -->
# Benchmarks

The built-in engine of the stock kernel and pksm, measured on the same kernel in
the same guest: the built-in engine first, then `insmod pksm.ko`, then the same
again. `make bench` measures, `make bench-report` writes this file;
[testing.md](testing.md) says how to measure one thing.

*Instructions* are what the guest's only CPU executed in the threads of the
engine (or in the system call named): QEMU's clock advances by one nanosecond
with each instruction, so the kernel's own accounting counts them, exactly and
repeatably. They are not cycles: a comparison of memory retires several
instructions in a cycle, a walk through page tables waits for memory.
`smart_scan` is 0 unless a name says `smart`.

*Seconds and rates* come from guests with several CPUs under multi-threaded
emulation and depend on the host: medians, with the least and the largest value
in parentheses. All runs are in `tests/out/bench/results.jsonl`.
"""

SECTIONS = [
    ("scan", "The cost of a page", """\
By content and MiB. `random`: unique pages. `tail`: unique, but equal up to their
last 8 bytes. `dup4`: each page four times. `zero`: merged with the zero page.
`converge`: from the registration until all is merged, for unique pages until the
end of the second pass. `steady`: a later pass. `metadata`: memory that the
engine's records take after that, slab slack included, and whatever else the kernel
has come to keep meanwhile (at 64 MiB, up to 2 bytes a page); `records`: without the
nodes of merged frames. `unmerge`: `MADV_UNMERGEABLE`."""),
    ("metadata", "Memory for records", """\
`changing`: pages that are rewritten before each pass. `lonely`: one page in each
range of 2 MiB."""),
    ("rmap", "Moving a merged page", """\
`move_pages` in a process with 20,000 mappings on one anon_vma, of a page that 32
or 2 of them share, and of a `plain` page."""),
    ("sparse", "A mapping with one page", """\
By GiB. `unmerge`: `MADV_UNMERGEABLE`. `pass`: a pass of the engine over it."""),
    ("merge", "Time to merge", """\
Each page is there four times; seconds from the registration until 90 and 99
percent of what can be merged is merged, and the time that the engine ran."""),
    ("contend", "Beside a process that changes its layout", """\
A holder has 64 MiB of unique pages. `none`: nothing else. `sep`: another process
maps and unmaps 256 MiB in two threads. `notouch`: the holder itself does.
`touch`: and writes each page. `victim`: seconds until a quiet process's 2,048
pages, four times each, are merged; `own`: the same for pages of the holder.
`notouch-to-sep`: what the locked memory map costs the victim, beyond the
competition for CPUs, in the same guest."""),
    ("workers", "More workers", """\
By virtual CPUs, job and number of threads. `scan`: a pass over unique pages that
rest. `merge`: from the registration until 99 percent is merged. `speedup`: over
one thread in the same turn. `waiting`: time in lock contention as the kernel's
tracepoints see it, of the threads' time. `instructions`: of all CPUs of the guest,
from QEMU's plugin interface; `work`: over one thread; `spinning`: the share of
them in the slow paths of locks."""),
]

PLOTS = {"scan": "benchmarks-cost.svg", "workers": "benchmarks-workers.svg"}

PLOT_HEAD = """\
set terminal svg size 760,440 dynamic background rgb 'white' font 'sans,13'
set output 'OUTPUT'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside right top
"""

COST_PLOT = """\
set logscale x 2
set logscale y 10
set xtics (64, 256, 1024)
set xlabel 'MiB registered'
set ylabel 'instructions for each page and pass'
"""

WORKERS_PLOT = """\
set xrange [0.5:8.5]
set yrange [0:]
set xtics (1, 2, 4, 8)
set xlabel 'workers'
set ylabel 'pages a second'
"""
