# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Rounds of load and unload under programs that do all that there is to do.
# group: loading
#
#   stress (4 processes, models of every byte)  ------------------------->
#   poll (reads all 24 files)                   ------------------------->
#   here:  insmod, work, run=2, rmmod, work of the built-in engine; 20 times
#
# Afterwards nothing of pksm is left: hooks, slab caches, threads, files and
# settings are as before the first load, and the built-in engine merges.

ROUNDS=20
# Under every checker a round takes longer than five on the stock kernel.
[ ! -e /proc/lockdep ] || ROUNDS=5

traced() {
	cat /sys/kernel/tracing/enabled_functions
}

# What would tell that something was left behind.
left_behind() {
	grep -i pksm /proc/slabinfo
	grep -i pksm /sys/kernel/tracing/enabled_functions
	ls -d /sys/module/pksm /dev/pksm 2>/dev/null
	grep -l -i '^pksm' /proc/[0-9]*/comm 2>/dev/null
}

merging() {
	[ "$(ksm_get pages_sharing)" -gt 0 ]
}

one_round() {
	load_pksm || return 1
	ksm_set run 1
	until_true 60 merging || return 2
	wait_passes 2 120 || return 3
	ksm_set run 2 || return 4
	until_true 60 rmmod_quiet || return 5
	ksm_set run 1
	until_true 60 merging || return 6
	wait_passes 1 120 || return 7
}

files_before=$(ls "$KSM")
traced_before=$(traced)
settings_before=$(ksm_settings)
ksm_set sleep_millisecs 0
ksm_set pages_to_scan 2000
ksm_set smart_scan 0
ksm_set run 1

/t/bin/poll 3600 >/tmp/poll.out 2>&1 &
poll=$!
/t/bin/stress 3600 4 "${STRESS_SEED:-$(date +%s)}" >/tmp/stress.out 2>&1 &
stress=$!

round=0
while [ $round -lt $ROUNDS ]; do
	round=$((round + 1))
	one_round
	step=$?
	[ $step = 0 ] || break
	kill -0 $stress 2>/dev/null || break
done
equal "rounds of load, work, run=2 and removal done" "$round, step $step" "$ROUNDS, step 0"
if pksm_loaded; then
	cat /tmp/rmmod.err
	ksm_set run 2
fi

kill -TERM $stress
wait $stress
equal "stress: exit status" $? 0
kill -TERM $poll
wait $poll
equal "monitor: exit status" $? 0
grep -v '^ok' /tmp/stress.out
grep -v '^ok' /tmp/poll.out

ksm_set run 2
check "pksm is not loaded" [ ! -d /sys/module/pksm ]
equal "no slab cache, hook, device, thread is left" "$(left_behind)" ""
equal "traced functions as before" "$(traced)" "$traced_before"
equal "files as before" "$(ls "$KSM")" "$files_before"
echo "$settings_before" | while IFS='=' read -r knob value; do
	[ "$(ksm_get "$knob")" = "$value" ] || ksm_set "$knob" "$value"
done
ksm_set run 0
equal "settings as before" "$(ksm_settings | grep -v ^run=)" \
	"$(echo "$settings_before" | grep -v ^run=)"
/t/bin/merge >/tmp/merge.out 2>&1
equal "the built-in engine merges as ever" $? 0
grep '^not ok' /tmp/merge.out
