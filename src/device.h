/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device: the door for start and stop; the contract with user space is
 * include/pksm.h.
 */
#ifndef PKSM_DEVICE_H
#define PKSM_DEVICE_H

int pksm_device_init(void);
void pksm_device_exit(void);

#endif
