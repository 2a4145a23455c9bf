/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by Kbuild ahead of every file. Gives the C name of each function of
 * symbols.h another symbol: the kernel's prototypes and inline functions work
 * as they stand, and bind to the functions of symbol.c. The symbols are our
 * own, because a second one of the kernel's name would make probes by that
 * name ambiguous, and a lookup could find it in place of the kernel's.
 */
#ifndef PKSM_RENAME_H
#define PKSM_RENAME_H

#define PKSM_PRAGMA(text) _Pragma(#text)
#define PKSM_FUNCTION(type, name, parameters, arguments) \
	PKSM_PRAGMA(redefine_extname name pksm_symbol_##name)
#include "symbols.h"
#undef PKSM_PRAGMA

/*
 * Variables that inline functions of the headers name. The header's own
 * declaration becomes one of our pointer.
 */
#define __mmu_notifier_invalidate_range_start_map \
	(*pksm_data___mmu_notifier_invalidate_range_start_map)

#endif
