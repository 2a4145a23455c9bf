/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Budget: how many pages all workers together may visit between two sleeps.
 */
#ifndef PKSM_BUDGET_H
#define PKSM_BUDGET_H

#include <linux/types.h>

/**
 * struct pksm_share - a part of the budget
 * @pages: pages that may be visited
 * @ends: budgets that had been ended when it was taken
 */
struct pksm_share {
	unsigned int pages;
	unsigned long ends;
};

bool pksm_budget_take(unsigned int workers, struct pksm_share *share);
void pksm_budget_give(const struct pksm_share *share);
bool pksm_budget_ended(const struct pksm_share *share);
void pksm_budget_end(void);
unsigned long pksm_budget_rest(void);

#endif
