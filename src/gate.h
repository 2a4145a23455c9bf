/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gate: lets the engine's threads in, and lets a controller wait until nobody
 * is inside any more.
 */
#ifndef PKSM_GATE_H
#define PKSM_GATE_H

#include <linux/types.h>

/* Reasons to keep the gate shut; each has one owner. */
#define PKSM_GATE_STOPPED	BIT(0)	/* control.c: workers must not run */
#define PKSM_GATE_OFFLINE	BIT(1)	/* hotplug.c: frames are going away */

bool pksm_gate_try_enter(int *idx);
void pksm_gate_enter_offline(int *idx);
void pksm_gate_leave(int idx);
void pksm_gate_close(unsigned long why);
void pksm_gate_open(unsigned long why);
bool pksm_gate_closed(unsigned long why);
bool pksm_gate_wanted(void);
void pksm_gate_wait(unsigned long why);

#endif
