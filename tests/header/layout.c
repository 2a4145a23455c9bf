// SPDX-License-Identifier: GPL-2.0-only
/*
 * layout.c - what programs that were compiled long ago rely on.
 *
 * Compiled as C and as C++, for 64-bit and for 32-bit callers, with pksm.h and
 * nothing else included: sizes, places and command numbers must be those that
 * were published. A member may be added at an end; then its line is added here.
 */
#include "pksm.h"

/* A line that does not hold divides by zero. */
enum {
	INFO_SIZE = 1 / (__builtin_offsetof(struct pksm_info, size) == 0),
	INFO_SIZE_WIDTH = 1 / (sizeof(((struct pksm_info *)0)->size) == 4),
	INFO_FLAGS = 1 / (__builtin_offsetof(struct pksm_info, flags) == 4),
	INFO_FLAGS_WIDTH = 1 / (sizeof(((struct pksm_info *)0)->flags) == 4),
	INFO_VERSION = 1 / (__builtin_offsetof(struct pksm_info, version) == 8),
	INFO_VERSION_WIDTH = 1 / (sizeof(((struct pksm_info *)0)->version) == 4),
	INFO_RESERVED = 1 / (__builtin_offsetof(struct pksm_info, reserved) == 12),
	INFO_RESERVED_WIDTH = 1 / (sizeof(((struct pksm_info *)0)->reserved) == 4),
	INFO_FEATURES = 1 / (__builtin_offsetof(struct pksm_info, features) == 16),
	INFO_FEATURES_WIDTH = 1 / (sizeof(((struct pksm_info *)0)->features) == 8),
	INFO_WHOLE = 1 / (sizeof(struct pksm_info) == 24),

	TARGET_SIZE = 1 / (__builtin_offsetof(struct pksm_target, size) == 0),
	TARGET_SIZE_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->size) == 4),
	TARGET_FLAGS = 1 / (__builtin_offsetof(struct pksm_target, flags) == 4),
	TARGET_FLAGS_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->flags) == 4),
	TARGET_PIDFD = 1 / (__builtin_offsetof(struct pksm_target, pidfd) == 8),
	TARGET_PIDFD_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->pidfd) == 4),
	TARGET_RESERVED = 1 / (__builtin_offsetof(struct pksm_target, reserved) == 12),
	TARGET_RESERVED_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->reserved) == 4),
	TARGET_START = 1 / (__builtin_offsetof(struct pksm_target, start) == 16),
	TARGET_START_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->start) == 8),
	TARGET_LENGTH = 1 / (__builtin_offsetof(struct pksm_target, length) == 24),
	TARGET_LENGTH_WIDTH = 1 / (sizeof(((struct pksm_target *)0)->length) == 8),
	TARGET_WHOLE = 1 / (sizeof(struct pksm_target) == 32),

	COMMAND_INFO = 1 / (PKSM_INFO == 0xba00),
	COMMAND_REGISTER = 1 / (PKSM_REGISTER == 0xba01),
	COMMAND_UNREGISTER = 1 / (PKSM_UNREGISTER == 0xba02),

	ABI_VERSION = 1 / (PKSM_ABI_VERSION == 1),
	FEATURE_RANGE = 1 / (PKSM_FEATURE_RANGE == 1),
	FEATURE_ALL = 1 / (PKSM_FEATURE_ALL == 2),
	FEATURE_PIDFD = 1 / (PKSM_FEATURE_PIDFD == 4),
	TARGET_FLAG_PIDFD = 1 / (PKSM_TARGET_PIDFD == 1),
	TARGET_FLAG_ALL = 1 / (PKSM_TARGET_ALL == 2),
};
