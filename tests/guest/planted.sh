# SPDX-License-Identifier: GPL-2.0-only
# group: planted
#
# A fault on purpose, its kind taken from the kernel's command line. Every
# guest that runs this has to be found failing (tests/harness/planted).

kind=$(sed -n 's/.*planted=\([a-z]*\).*/\1/p' /proc/cmdline)

case $kind in
status)
	ok "before an exit status"
	exit 3
	;;
silent)
	exit 0
	;;
hang)
	ok "before a hang"
	sleep 1000
	;;
notok)
	notok "on purpose"
	;;
left)
	# A program left behind, and with it a pipe that stays open.
	setsid sleep 1000 &
	ok "the only good one: what is left behind is killed"
	;;
knob)
	ok "before an unset that the harness has to do"
	ksm_set run 1
	ksm_set pages_to_scan 77
	;;
panic)
	ok "before a panic"
	echo c >/proc/sysrq-trigger
	;;
*)
	insmod /lib/modules/planted.ko kind="$kind"
	check "planted: $kind" rmmod planted
	;;
esac
