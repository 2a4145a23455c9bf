/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Side: the one thread that may wait for a busy process.
 */
#ifndef PKSM_SIDE_H
#define PKSM_SIDE_H

struct pksm_mm;

int pksm_side_init(void);
void pksm_side_exit(void);
void pksm_side_ask(struct pksm_mm *space);
void pksm_side_forget(struct pksm_mm *space);

#endif
