/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Debug: what the engine did, for people; never a contract.
 */
#ifndef PKSM_DEBUG_H
#define PKSM_DEBUG_H

void pksm_debug_init(void);
void pksm_debug_exit(void);

#endif
