# SPDX-License-Identifier: GPL-2.0-only
"""What pksm is to reach, and figures that follow from others."""
import fnmatch

# (name or pattern, field, "<=" or ">=", bound); the first that matches counts.
TARGETS = [
    ("scan.random.*.smart.steady", "pksm", "<=", 2169 / 3),
    ("scan.random.*.steady", "ratio", "<=", 1 / 4),
    ("scan.random.flat", "pksm", "<=", 1.10),
    ("scan.tail.*.steady", "ratio", "<=", 1 / 16),
    ("scan.tail.*.to-random", "pksm", "<=", 1.05),
    ("scan.dup4.*.steady", "ratio", "<=", 1 / 5),
    ("scan.dup4.*.converge", "ratio", "<=", 1 / 2),
    ("scan.random.*.converge", "ratio", "<=", 2 / 5),
    ("scan.random.*.metadata", "pksm", "<=", 66),
    ("scan.dup4.*.records", "pksm", "<=", 66),
    ("metadata.changing.*", "pksm", "<=", 16),
    ("metadata.lonely.*", "ratio", "<=", 1),
    ("rmap.20000.32.average", "pksm", "<=", 101204),
    ("sparse.32768.unmerge", "pksm", "<=", 68756),
    ("contend.*.notouch-to-sep", "pksm", "<=", 1.2),
    ("workers.smp2.*.speedup", "pksm", ">=", 1.8),
    ("workers.smp?.*.work", "pksm", "<=", 1.1),
    ("workers.smp4.*.waiting", "pksm", "<=", 2),
    ("workers.smp?.*.spinning", "pksm", "<=", 2),
]

# (name, figure, divided by figure, what it says)
DERIVED = [
    ("scan.random.flat", "scan.random.1024.steady", "scan.random.64.steady",
     "1024 MiB over 64 MiB"),
] + [
    (f"scan.tail.{mib}.to-random", f"scan.tail.{mib}.steady",
     f"scan.random.{mib}.steady", "tail over random") for mib in (64, 256, 1024)
] + [
    (f"workers.smp{cpus}.{job}.{n}.work", f"workers.smp{cpus}.{job}.{n}.instructions",
     f"workers.smp{cpus}.{job}.1.instructions", f"{n} workers over 1")
    for cpus in (2, 4) for job in ("scan", "merge") for n in (2, 4, 8)
]

# (name, figure of the built-in engine, times)
EXTRAPOLATED = [("sparse.32768.unmerge", "sparse.64.unmerge", 512)]


def judge(item):
    """Adds the target and whether it is met, where there is one."""
    for pattern, field, sign, bound in TARGETS:
        if not fnmatch.fnmatch(item["name"], pattern):
            continue
        value = item[field]
        met = None
        if value is not None:
            met = value <= bound if sign == "<=" else value >= bound
        item["target"] = f"{field} {sign} {bound:,.0f}" if bound > 1000 else \
            f"{field} {sign} {bound:.3g}"
        item["met"] = met
        item["verdict"] = {True: "met", False: "MISSED", None: ""}[met]
        return
