/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takeover: from the built-in engine to pksm, and back.
 */
#ifndef PKSM_TAKEOVER_H
#define PKSM_TAKEOVER_H

#include <linux/types.h>

struct mm_struct;

int pksm_takeover_preflight(bool force);
int pksm_takeover_drain(void (*sweep)(void));
unsigned int pksm_takeover_run(void);
int pksm_takeover_carry(void);
int pksm_takeover_adopt(int (*enter)(struct mm_struct *mm));
void pksm_takeover_undo(void);
void pksm_takeover_give_back(unsigned int run);

#endif
