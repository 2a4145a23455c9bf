/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control: start, stop and unmerge the engine; the door for sysfs and for
 * taking over and giving back.
 */
#ifndef PKSM_CONTROL_H
#define PKSM_CONTROL_H

#include <linux/types.h>

/* Values of the run file; the meaning is that of the kernel's documentation. */
#define PKSM_RUN_STOP		0U
#define PKSM_RUN_MERGE		1U
#define PKSM_RUN_UNMERGE	2U

unsigned int pksm_control_run(void);
int pksm_control_run_set(unsigned int run);
unsigned int pksm_control_run_last(void);
void pksm_control_run_init(unsigned int run);
int pksm_control_across_set(unsigned int across);
int pksm_control_sharing_set(int sharing);
void pksm_control_sleep_changed(void);
void pksm_control_pages_changed(void);
int pksm_control_workers_set(unsigned int workers);
void pksm_control_unmerge_all(void);
void pksm_control_offline_begin(void);
void pksm_control_offline_end(void);

#endif
