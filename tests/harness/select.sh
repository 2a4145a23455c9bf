# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Which tests a lane runs. Sourced after env.sh.
#
# A test says in a comment near its head to which groups it belongs:
#
#	group: module		pksm is loaded before it (the default)
#	group: loading		pksm is absent; the test loads and removes it
#	group: native		the built-in engine; pksm is absent
#	group: forced		as loading, but taints the kernel: last in a lane
#
# and a lane names the groups that it runs. A test of two groups of a lane is
# run twice there. An entry of the guest's list is TEST:GROUP.

all_tests() {
	local f

	for f in "$ROOT"/tests/guest/*.c "$ROOT"/tests/guest/*.sh; do
		f=$(basename "$f")
		case $f in
		lib*.c | lib.sh | '*.c' | '*.sh') ;;
		*) echo "${f%.*}" ;;
		esac
	done | sort
}

groups_of() {
	local f found

	for f in "$ROOT/tests/guest/$1.c" "$ROOT/tests/guest/$1.sh"; do
		[ -e "$f" ] || continue
		found=$(head -n 30 "$f" | sed -n 's/^[ */#]*group: *//p' | head -n 1)
		echo "${found:-module}"
		return
	done
	return 1
}

has_word() {
	[[ " $1 " == *" $2 "* ]]
}

# entries GROUPS WITHOUT [TEST...]: the lane's list, or the named tests of it
entries() {
	local groups=$1 without=$2 t g

	shift 2
	for g in $groups; do
		for t in $(all_tests); do
			[ $# = 0 ] || has_word "$*" "$t" || continue
			has_word "$without" "$t" && continue
			has_word "$(groups_of "$t")" "$g" && echo "$t:$g"
		done
	done
	return 0
}
