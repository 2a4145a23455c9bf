/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Knobs: what each file under /sys/kernel/mm/ksm says and takes.
 */
#ifndef PKSM_KNOB_H
#define PKSM_KNOB_H

#include <linux/types.h>

#include "counter.h"

/**
 * struct pksm_knob - one file
 * @name: its name
 * @show: fills a page, and returns how much of it
 * @store: takes what was written, and returns 0 or an error; NULL: read-only
 * @number: the setting that @show and @store are about, or
 * @number_long: likewise, or
 * @flag: likewise, or
 * @count: the counter that @show is about
 */
struct pksm_knob {
	const char *name;
	int (*show)(const struct pksm_knob *knob, char *page);
	int (*store)(const struct pksm_knob *knob, const char *text);
	union {
		unsigned int *number;
		unsigned long *number_long;
		bool *flag;
		enum pksm_count count;
	};
};

extern const struct pksm_knob pksm_knob_workers;
extern const struct pksm_knob pksm_knob_huge;

const struct pksm_knob *pksm_knob_find(const char *name);

#endif
