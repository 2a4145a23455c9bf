// SPDX-License-Identifier: GPL-2.0-only
/*
 * Content: hashing and comparing pages.
 *
 * The hash finds candidates and tells whether a page changed; it never decides
 * a merge, so a collision costs time and nothing else. Its key is drawn at each
 * load and never leaves the module, so that nobody can make pages that collide
 * (hash.h).
 *
 * Entered by workers; owns no lock. A page that is hashed may be written to
 * meanwhile; the caller holds a reference to it, or it could be offlined.
 */
#include <linux/highmem.h>
#include <linux/random.h>

#include "content.h"
#include "hash.h"

static struct pksm_hash_key key ____cacheline_aligned __ro_after_init;
static u64 zero_hash __ro_after_init;

/**
 * pksm_content_init() - draw the key
 *
 * Context: module load, before any worker runs.
 */
void __init pksm_content_init(void)
{
	BUILD_BUG_ON(PKSM_HASH_WORDS * sizeof(u64) != PAGE_SIZE);
	get_random_bytes(&key, sizeof(key));
	zero_hash = pksm_content_hash(ZERO_PAGE(0));
}

/**
 * pksm_content_zero_hash() - the hash of an all-zero page
 *
 * Return: what pksm_content_hash() gives for it.
 */
u64 pksm_content_zero_hash(void)
{
	return zero_hash;
}

/**
 * pksm_content_hash() - hash one page
 * @page: a reference is held
 *
 * Context: any that may touch the page; does not sleep.
 * Return: 64 bits that depend on all bytes and on the key.
 */
u64 pksm_content_hash(struct page *page)
{
	const void *bytes = kmap_local_page(page);
	u64 hash = pksm_hash_page(bytes, &key);

	kunmap_local(bytes);
	return hash;
}

static __always_inline bool differ4(const u64 *p, const u64 *q)
{
	return p[0] != q[0] || p[1] != q[1] || p[2] != q[2] || p[3] != q[3];
}

/**
 * pksm_content_equal() - compare two pages byte for byte
 * @a: one page, write-protected, so that the answer stays true
 * @b: the other, likewise
 *
 * A branch for each word and 16 words a step: fewer instructions and less time
 * than to gather differences (docs/hash.md).
 * Context: does not sleep.
 * Return: true when all bytes are equal.
 */
bool pksm_content_equal(struct page *a, struct page *b)
{
	const u64 *p = kmap_local_page(a);
	const u64 *q = kmap_local_page(b);
	unsigned int i;

	for (i = 0; i < PAGE_SIZE / sizeof(u64); i += 16) {
		if (differ4(p + i, q + i) || differ4(p + i + 4, q + i + 4) ||
		    differ4(p + i + 8, q + i + 8) || differ4(p + i + 12, q + i + 12))
			break;
	}
	kunmap_local(q);
	kunmap_local(p);
	return i == PAGE_SIZE / sizeof(u64);
}
