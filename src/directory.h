/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories: which ranges of a space have records, in eight bytes for each.
 */
#ifndef PKSM_DIRECTORY_H
#define PKSM_DIRECTORY_H

#include <linux/types.h>

struct pksm_mm;
struct pksm_range;

/* Bytes of a leaf, at most; what an insertion may have to move. */
#define PKSM_DIRECTORY_LEAF	4096

struct pksm_range *pksm_directory_open(struct pksm_mm *space, unsigned long start,
				       unsigned long end, struct pksm_range *one);
bool pksm_directory_lonely_outside(struct pksm_mm *space, unsigned long start,
				   unsigned long end);
bool pksm_directory_insert(struct pksm_mm *space, struct pksm_range *range);
void pksm_directory_replace(struct pksm_mm *space, struct pksm_range *range);
void pksm_directory_fold(struct pksm_mm *space, struct pksm_range *range);
void pksm_directory_remove(struct pksm_mm *space, unsigned long start);

#endif
