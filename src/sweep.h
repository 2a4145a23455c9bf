/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sweeping: unmerging everything there is.
 */
#ifndef PKSM_SWEEP_H
#define PKSM_SWEEP_H

int pksm_sweep_spaces(void);
void pksm_sweep_processes(void);
int pksm_sweep_rest(bool forever);

#endif
