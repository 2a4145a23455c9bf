/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hotplug: memory that goes away.
 */
#ifndef PKSM_HOTPLUG_H
#define PKSM_HOTPLUG_H

int pksm_hotplug_init(void);
void pksm_hotplug_exit(void);

#endif
