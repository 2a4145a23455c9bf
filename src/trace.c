// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints: the one place where they are made.
 */
#include <linux/mm_types.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
