# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Guests for benchmarks. Sourced after env.sh.

BOOTS=4

# by_clock CPUS GUESTS: several CPUs, and what they do takes real time
by_clock() {
	clock=real
	timeout=1200
	smp=$1
	repeat=$2
	# So that spinlocks queue, as they do where there is no hypervisor.
	cpu=$cpu,-hypervisor
}

# machine_for PROGRAM ARGUMENT...: sets what start_guest needs, and repeat
machine_for() {
	smp=1
	mem=2G
	numa=
	cpu=max,-erms,-fsrm	# the guest is not to believe that copying is fast
	clock=instructions	# or real
	timeout=3000		# seconds for one guest
	repeat=1		# guests
	engines=${BENCH_ENGINES:-builtin pksm}
	counting=		# QEMU counts instructions by function
	case $1 in
	scan | metadata) ;;
	# The built-in engine would take hours.
	sparse) [ "$2" -le 64 ] || engines=pksm ;;
	rmap) numa=2 ;;
	merge | contend) by_clock "${*: -1}" 5 ;;
	workers) by_clock "${*: -1}" 1 ;;
	*) die "no benchmark $1" ;;
	esac
	if [ "${2:-}" = count ]; then
		counting=yes
		# A virtual CPU may lose the host's while it holds a lock; mostly it does not.
		repeat=3
	fi
}

# plan PROGRAM ARGUMENT...: what the guest does, for its init
plan() {
	local engine

	for engine in $engines; do
		[ "$engine" = builtin ] || echo "load"
		[ -z "$counting" ] || echo "symbols"
		echo "bench $*"
	done
}

# guest_prepare FOLDER PROGRAM ARGUMENT...
guest_prepare() {
	local out=$1

	shift
	rm -rf "$out"
	mkdir -p "$out"
	echo "$*" >"$out/command"
	plan "$@" >"$out/plan"
	kernel=$("$HARNESS/kernel-cache" stock)
	make -s -C "$ROOT/tests/bench" O="$OUT/bench/build" >&2
	"$HARNESS/build-guest" "$kernel" stock
	"$HARNESS/mkinitramfs" "$kernel" stock "$out/plan" "$out/initramfs" ../bench/payload
}

start_guest() {
	local out=$1 how=(-accel "tcg,thread=multi")

	if [ "$clock" = instructions ]; then
		how=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -seed 1
			-rtc "base=2026-01-01T00:00:00,clock=vm")
	fi
	[ -z "$counting" ] ||
		how+=(-plugin "$OUT/bench/build/count.so,out=$out/blocks,cpus=$smp")
	: >"$out/lines"
	rm -f "$out/console.log" "$out/symbols"
	timeout --kill-after=10 "$timeout" qemu-system-x86_64 \
		-nodefaults -no-user-config -display none -monitor none -no-reboot \
		-M pc "${how[@]}" -cpu "$cpu" -smp "$smp" -m "$mem" \
		-kernel "$kernel/vmlinuz" -initrd "$out/initramfs" \
		-append "console=ttyS0,115200 loglevel=4 panic=-1 oops=panic log_buf_len=4M \
mitigations=off nokaslr slab_nomerge tsc=reliable clocksource=tsc nowatchdog \
rcupdate.rcu_cpu_stall_timeout=180 ${numa:+numa=fake=$numa} ${cmdline:-}" \
		-serial "file:$out/console.log" -serial "file:$out/lines" \
		-serial "file:$out/symbols" </dev/null >"$out/qemu.log" 2>&1 &
	guest=$!
}

# up FOLDER: waits until the guest has come to its first line
up() {
	local left=240

	until grep -q '^up' "$1/lines"; do
		kill -0 "$guest" 2>/dev/null || return 1
		left=$((left - 1))
		if [ "$left" = 0 ]; then
			kill "$guest" 2>/dev/null || true
			return 1
		fi
		sleep 0.5
	done
}

boot() {
	local try

	# Multi-threaded emulation may lose a guest while the kernel starts.
	for ((try = 1; try <= BOOTS; try++)); do
		start_guest "$1"
		trap 'kill "$guest" 2>/dev/null' EXIT
		up "$1" && break
		wait "$guest" || true
		say "guest lost before its first line (boot $try of $BOOTS)"
	done
	wait "$guest" || true
	trap - EXIT
}

# guest_run FOLDER: one guest; its lines are added to FOLDER/figures
guest_run() {
	local out=$1

	echo "# load $(cut -d' ' -f1 /proc/loadavg)" >>"$out/figures"
	boot "$out"
	tr -d '\r' <"$out/lines" >>"$out/figures"
	[ ! -s "$out/symbols" ] || gzip -dc "$out/symbols" >"$out/kallsyms"
	if [ "$(tail -n 1 "$out/figures")" != end ]; then
		echo "not ok - the guest did not come to its end" >>"$out/figures"
		tail -n 20 "$out/console.log" >&2
	fi
	! grep '^not ok' "$out/figures" >&2
}
