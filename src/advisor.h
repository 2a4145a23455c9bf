/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Advisor: chooses pages_to_scan so that a pass takes the wanted time.
 */
#ifndef PKSM_ADVISOR_H
#define PKSM_ADVISOR_H

void pksm_advisor_begin(void);
void pksm_advisor_end(void);

#endif
