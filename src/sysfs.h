/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sysfs: who answers the files under /sys/kernel/mm/ksm.
 *
 * attach, open, close, detach: in this order, from loading to unloading; a load
 * that fails between attach and open goes on with detach.
 */
#ifndef PKSM_SYSFS_H
#define PKSM_SYSFS_H

int pksm_sysfs_attach(void);
void pksm_sysfs_open(void);
void pksm_sysfs_close(void);
void pksm_sysfs_detach(void);

#endif
