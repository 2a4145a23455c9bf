/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers: the threads that scan.
 */
#ifndef PKSM_WORKER_H
#define PKSM_WORKER_H

#include <linux/types.h>

int pksm_worker_init(void);
void pksm_worker_exit(void);
void pksm_worker_kick(void);
void pksm_worker_hurry(void);
void pksm_worker_bury(void);
void pksm_worker_drop_claims(void);
u64 pksm_worker_runtime(void);
unsigned int pksm_worker_count(void);
unsigned int pksm_worker_max(void);
int pksm_worker_set(unsigned int n);

#endif
