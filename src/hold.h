/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Holds: a VMA that stays what it is for the length of a batch.
 */
#ifndef PKSM_HOLD_H
#define PKSM_HOLD_H

#include <linux/types.h>

struct pksm_mm;
struct vm_area_struct;

/**
 * struct pksm_hold - a held VMA
 * @space: its space; the holder has a reference and @space->life for reading
 * @vma: mergeable, with an anon_vma; NULL: nothing is held
 * @mmap: the mmap lock of the space is held, for reading, instead of the VMA's
 */
struct pksm_hold {
	struct pksm_mm *space;
	struct vm_area_struct *vma;
	bool mmap;
};

/**
 * enum pksm_held - what came of an attempt
 * @PKSM_HELD: the VMA is held
 * @PKSM_HELD_NONE: there is no mergeable VMA with memory at that address
 * @PKSM_HELD_BUSY: the locks were not to be had without waiting
 */
enum pksm_held {
	PKSM_HELD,
	PKSM_HELD_NONE,
	PKSM_HELD_BUSY,
};

bool pksm_hold_alive(struct pksm_mm *space);
void pksm_hold_alive_end(struct pksm_mm *space);
enum pksm_held pksm_hold_try(struct pksm_hold *hold, struct pksm_mm *space, unsigned long addr);
void pksm_hold_end(struct pksm_hold *hold);
bool pksm_hold_wanted(const struct pksm_hold *hold);
bool pksm_hold_covers(const struct pksm_hold *hold, struct pksm_mm *space, unsigned long addr);
enum pksm_held pksm_hold_next(struct pksm_mm *space, unsigned long *addr, unsigned long *end);

#endif
