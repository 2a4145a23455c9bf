/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stable trees: merged pages by content.
 */
#ifndef PKSM_STABLE_H
#define PKSM_STABLE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct pksm_match;
struct pksm_node;
struct rb_root;

spinlock_t *pksm_stable_lock(const struct pksm_node *node);
struct pksm_node *pksm_stable_find(struct rb_root *root, u64 hash);
void pksm_stable_match(struct rb_root *root, u64 hash, unsigned int skip,
		       struct pksm_match *match);
void pksm_stable_renew(struct pksm_node *node, struct rb_root *root);
void pksm_stable_insert(struct pksm_node *node, s16 nid);
void pksm_stable_erase(struct pksm_node *node);
void pksm_stable_forget(unsigned long start, unsigned long end);

#endif
