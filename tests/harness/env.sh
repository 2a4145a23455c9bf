# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Names and small functions that every script of the harness shares.
# Sourced by the scripts beside it; changes nothing on the machine.
#
# PKSM_CACHE   where kernels are kept between runs (default ~/.cache/pksm)
# PKSM_KVER    another kernel of the 6.12 series, e.g. 6.12.115+deb12

set -euo pipefail
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin

HARNESS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HARNESS/../.." && pwd)
OUT=$ROOT/tests/out
CACHE=${PKSM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pksm}
JOBS=${PKSM_JOBS:-$(nproc)}
FLAVOUR=amd64

mkdir -p "$OUT" "$CACHE"

# The package version that all results of the project are stated for. Old
# versions leave Debian's archive one day: kernel-cache then takes the newest
# of the series and says so.
PINNED=6.12.117+deb12

say() {
	printf '%s\n' "$*" >&2
}

die() {
	say "$(basename "$0"): $*"
	exit 1
}

# known PACKAGE: can apt fetch it?
known() {
	[ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# locked NAME COMMAND...: one at a time for all users of the cache
locked() {
	local lock=$CACHE/.lock-$1

	shift
	(
		flock 9
		"$@"
	) 9>"$lock"
}
