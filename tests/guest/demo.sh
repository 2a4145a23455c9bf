# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Real programs, merged by the built-in engine and by pksm: tests/demo.
#
# group: demo

if [ -x /t/demo/demo ]; then
	/t/demo/demo || notok "the demonstration ends well"
else
	notok "the guest has no demonstration (payload demo)"
fi
