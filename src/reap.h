/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reaper: frees what dead processes have left.
 */
#ifndef PKSM_REAP_H
#define PKSM_REAP_H

struct pksm_mm;

void pksm_reap_add(struct pksm_mm *space);
void pksm_reap_now(void);
void pksm_reap_exit(void);

#endif
