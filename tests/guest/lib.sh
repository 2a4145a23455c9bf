# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What shell tests and the guest's init share. Sourced by busybox sh in the
# guest as /t/lib.sh, before a test starts; docs/testing.md lists it.

KSM=/sys/kernel/mm/ksm
PKSM_KO=/lib/modules/pksm.ko
failures=0

# --- TAP

ok() {
	echo "ok - $*"
}

notok() {
	echo "not ok - $*"
	failures=$((failures + 1))
}

# skip WHAT WHY
skip() {
	echo "ok - $1 # SKIP $2"
}

diag() {
	echo "# $*"
}

# check WHAT COMMAND...: ok when the command succeeds
check() {
	_what=$1
	shift
	if "$@"; then
		ok "$_what"
	else
		notok "$_what ($*)"
	fi
}

# equal WHAT GOT WANTED
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		notok "$1: got '$2', wanted '$3'"
	fi
}

# --- waiting

# until_true SECONDS COMMAND...: tries five times a second
until_true() {
	_tries=$(($1 * 5))
	shift
	until "$@"; do
		_tries=$((_tries - 1))
		[ "$_tries" -gt 0 ] || return 1
		sleep 0.2
	done
}

# --- the engine's files

ksm_get() {
	cat "$KSM/$1"
}

# ksm_set FILE VALUE: fails with the errno's text on standard error
ksm_set() {
	echo "$2" >"$KSM/$1"
}

passes_reached() {
	[ "$(ksm_get full_scans)" -ge "$1" ]
}

# wait_passes N [SECONDS]: until N further passes have ended
wait_passes() {
	until_true "${2:-60}" passes_reached $(($(ksm_get full_scans) + $1))
}

# Every knob of the engine as text, to be compared before and after.
ksm_settings() {
	for _f in "$KSM"/*; do
		[ -w "$_f" ] || continue
		case $_f in
		*/advisor_*) ;;
		*/run | */pages_to_scan | */sleep_millisecs | */use_zero_pages | \
			*/merge_across_nodes | */max_page_sharing | */smart_scan | \
			*/stable_node_chains_prune_millisecs) ;;
		*) continue ;;
		esac
		echo "$(basename "$_f")=$(cat "$_f")"
	done
}

# --- the module

pksm_loaded() {
	[ -d /sys/module/pksm ]
}

# load_pksm [PARAMETER=VALUE...]: with the lane's number of workers
load_pksm() {
	insmod "$PKSM_KO" "$@" || return 1
	[ -z "$PKSM_WORKERS" ] || ksm_set workers "$PKSM_WORKERS"
}

# unload_pksm: unmerges everything first; rmmod may find the module busy for
# a moment while a process is still on its way out.
unload_pksm() {
	ksm_set run 2 || return 1
	until_true 20 rmmod_quiet
}

rmmod_quiet() {
	rmmod pksm 2>/tmp/rmmod.err
}

# load_kmod NAME: a module of the kernel, after those that it needs; nothing
# to do where it is built in
load_kmod() {
	_list=/lib/modules/$1.load
	[ -e "$_list" ] || return 0
	while read -r _ko; do
		_name=$(basename "$_ko" .ko | tr - _)
		[ -d "/sys/module/$_name" ] || insmod "$_ko" || return 1
	done <"$_list"
}

# swap_on [MIB]: compressed swap in memory. swap_off takes it away.
swap_on() {
	load_kmod zram || return 1
	echo "$((${1:-512} * 1048576))" >/sys/block/zram0/disksize || return 1
	mkswap /dev/zram0 >/dev/null && swapon /dev/zram0
}

swap_off() {
	swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset
}

# What must be the same before the first load and after the last unload.
footprint() {
	echo "hooks: $(cat /sys/kernel/tracing/enabled_functions)"
	echo "files: $(ls "$KSM")"
	echo "device: $(ls /dev/pksm /sys/class/misc/pksm 2>/dev/null)"
	echo "module: $(ls -d /sys/module/pksm 2>/dev/null)"
	echo "caches: $(ls -d /sys/kernel/slab/*pksm* 2>/dev/null)"
	echo "threads: $(cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^pksm')"
	ksm_settings
}
