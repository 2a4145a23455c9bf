# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Whoever traces the functions that pksm redirects goes on seeing their calls.
# group: loading
#
#   built-in | pksm loaded | tracers taken off and on | pksm removed
#   ---------+-------------+--------------------------+-------------
#   kprobe, kretprobe, function, function_graph, bpf fentry: at each stage
#   the calls that one migration of merged pages makes are counted by each.

T=/sys/kernel/tracing
I=$T/instances/pksm_test
FUNCTIONS="ksm_madvise __ksm_enter __ksm_exit rmap_walk_ksm folio_migrate_ksm"

probes_on() {
	for f in $FUNCTIONS; do
		echo "p:pksm_test/$f $f" >>$T/kprobe_events || return 1
		echo "r:pksm_test/${f}_ret $f" >>$T/kprobe_events || return 1
	done
	echo 1 >$T/events/pksm_test/enable
}

probes_off() {
	echo 0 >$T/events/pksm_test/enable
	for f in $FUNCTIONS; do
		echo "-:pksm_test/$f" >>$T/kprobe_events
		echo "-:pksm_test/${f}_ret" >>$T/kprobe_events
	done
}

tracers_on() {
	mkdir -p $I
	echo "$FUNCTIONS" | tr ' ' '\n' >$I/set_ftrace_filter || return 1
	echo "$FUNCTIONS" | tr ' ' '\n' >$T/set_ftrace_filter || return 1
	echo function >$I/current_tracer || return 1
	echo function_graph >$T/current_tracer || return 1
	echo 1 >$I/tracing_on
	echo 1 >$T/tracing_on
}

tracers_off() {
	echo nop >$T/current_tracer
	echo nop >$I/current_tracer
	echo >$T/set_ftrace_filter
	rmdir $I
}

# The file is emptied here: the child may open it after the first look at it.
bpf_on() {
	: >/tmp/fentry.out
	# shellcheck disable=SC2086
	/t/bin/fentry $FUNCTIONS >/tmp/fentry.out 2>&1 &
	bpf=$!
	until_true 30 grep -q . /tmp/fentry.out
	grep -q '^attached' /tmp/fentry.out
}

# A program finds the function it attaches to through the kernel's BTF.
have_btf() {
	[ -e /sys/kernel/btf/vmlinux ]
}

# attach WHAT: before something happens to the hooks
attach() {
	if have_btf; then
		check "$1" bpf_on
	else
		skip "$1" "this kernel has no BTF"
	fi
}

bpf_off() {
	[ -n "$bpf" ] || return 0
	kill -TERM "$bpf"
	wait "$bpf"
	bpf=
}

# hits EVENT: how often a probe was hit so far
hits() {
	awk -v e="$1" '$1 == e { print $2 }' $T/kprobe_profile
}

seen() {
	[ "${2:-0}" -gt "${3:-0}" ] && ok "$1" && return
	notok "$1: ${2:-nothing} after ${3:-nothing}"
}

# stage NAME: each tracer must see the calls of one migration
stage() {
	for f in $FUNCTIONS; do
		eval "p_$f=$(hits "$f") r_$f=$(hits "${f}_ret")"
	done
	echo >$T/trace
	echo >$I/trace
	[ -n "$bpf" ] || attach "$1: bpf fentry attaches"
	/t/bin/migrate brief >/tmp/migrate.out 2>&1
	equal "$1: merged pages migrate" $? 0
	grep '^not ok' /tmp/migrate.out
	bpf_off
	cat $I/trace >/tmp/function.trace
	cat $T/trace >/tmp/graph.trace
	for f in $FUNCTIONS; do
		eval "p=\$p_$f r=\$r_$f"
		# shellcheck disable=SC2154
		seen "$1: kprobe on $f" "$(hits "$f")" "$p"
		# shellcheck disable=SC2154
		seen "$1: kretprobe on $f" "$(hits "${f}_ret")" "$r"
		seen "$1: function tracer on $f" \
			"$(grep -c ": $f <-" /tmp/function.trace)" 0
		seen "$1: function_graph tracer on $f" \
			"$(grep -c " $f()" /tmp/graph.trace)" 0
		have_btf || continue
		seen "$1: bpf fentry on $f" \
			"$(awk -v f="$f" '$1 == f { print $2 }' /tmp/fentry.out)" 0
	done
}

bpf=
check "kprobes and kretprobes go on" probes_on
check "function tracers go on" tracers_on
stage "built-in"
attach "bpf fentry attaches before the load"
check "pksm loads under all of them" load_pksm
stage "pksm"
probes_off
tracers_off
check "pksm: kprobes go on again" probes_on
check "pksm: function tracers go on again" tracers_on
stage "pksm, traced later"
attach "bpf fentry attaches before the removal"
check "pksm is removed under all of them" unload_pksm
stage "pksm removed"
probes_off
tracers_off
equal "nothing of pksm is traced any more" \
	"$(grep -c pksm $T/enabled_functions)" 0
