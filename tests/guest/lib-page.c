// SPDX-License-Identifier: GPL-2.0-only
/*
 * page.c - memory with known bytes.
 *
 * A page's content is a number: two pages with the same number are equal in
 * all bytes, two with different numbers differ in nearly every byte. What
 * was written is recomputed and compared byte by byte, never remembered.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib.h"

#define WORDS (PAGE / sizeof(uint64_t))

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x9e3779b97f4a7c15ULL;
}

static void build(uint64_t *to, uint64_t content)
{
	uint64_t state = content * 0xd1342543de82ef95ULL + 0x632be59bd9b4e019ULL;
	size_t i;

	if (!state)
		state = 1;
	for (i = 0; i < WORDS; i++)
		to[i] = next(&state);
}

/**
 * page_map() - private anonymous memory of small pages, not populated
 * @pages: how many
 *
 * Return: the address, page-aligned. Ends the program on failure.
 */
void *page_map(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tap_die("map %zu pages: %s", pages, strerror(errno));
	/* A kernel without huge pages has nothing to be told. */
	if (madvise(p, pages * PAGE, MADV_NOHUGEPAGE) && errno != EINVAL)
		tap_die("MADV_NOHUGEPAGE: %s", strerror(errno));
	return p;
}

/**
 * page_unmap() - unmap what page_map() gave, or a part of it
 * @addr: first page
 * @pages: how many
 */
void page_unmap(void *addr, size_t pages)
{
	if (munmap(addr, pages * PAGE))
		tap_die("munmap: %s", strerror(errno));
}

/**
 * page_fill() - write the same content to each page
 * @addr: first page
 * @pages: how many
 * @content: the content's number
 */
void page_fill(void *addr, size_t pages, uint64_t content)
{
	uint64_t one[WORDS];
	size_t i;

	build(one, content);
	for (i = 0; i < pages; i++)
		memcpy((char *)addr + i * PAGE, one, PAGE);
}

/**
 * page_fill_each() - write a content of its own to each page
 * @addr: first page
 * @pages: how many
 * @first: content of the first; the next page has @first + 1, and so on
 */
void page_fill_each(void *addr, size_t pages, uint64_t first)
{
	size_t i;

	for (i = 0; i < pages; i++)
		page_fill((char *)addr + i * PAGE, 1, first + i);
}

/**
 * page_fill_tail() - write pages that differ in their last 8 bytes only
 * @addr: first page
 * @pages: how many
 * @content: what they share
 * @first: last word of the first; the next page has @first + 1, and so on
 */
void page_fill_tail(void *addr, size_t pages, uint64_t content,
		    uint64_t first)
{
	size_t i;

	page_fill(addr, pages, content);
	for (i = 0; i < pages; i++)
		((uint64_t *)addr)[(i + 1) * WORDS - 1] = first + i;
}

/**
 * page_is() - whether each page holds a content in every byte
 * @addr: first page
 * @pages: how many
 * @content: the content's number
 *
 * Return: true when all bytes are right.
 */
bool page_is(const void *addr, size_t pages, uint64_t content)
{
	uint64_t one[WORDS];
	size_t i;

	build(one, content);
	for (i = 0; i < pages; i++)
		if (memcmp((const char *)addr + i * PAGE, one, PAGE))
			return false;
	return true;
}

/**
 * page_is_each() - whether pages hold what page_fill_each() wrote
 * @addr: first page
 * @pages: how many
 * @first: content of the first
 *
 * Return: true when all bytes are right.
 */
bool page_is_each(const void *addr, size_t pages, uint64_t first)
{
	size_t i;

	for (i = 0; i < pages; i++)
		if (!page_is((const char *)addr + i * PAGE, 1, first + i))
			return false;
	return true;
}

/**
 * page_is_tail() - whether pages hold what page_fill_tail() wrote
 * @addr: first page
 * @pages: how many
 * @content: what they share
 * @first: last word of the first
 *
 * Return: true when all bytes are right.
 */
bool page_is_tail(const void *addr, size_t pages, uint64_t content,
		  uint64_t first)
{
	uint64_t one[WORDS];
	size_t i;

	build(one, content);
	for (i = 0; i < pages; i++) {
		one[WORDS - 1] = first + i;
		if (memcmp((const char *)addr + i * PAGE, one, PAGE))
			return false;
	}
	return true;
}

/**
 * page_is_zero() - whether pages hold zero in every byte
 * @addr: first page
 * @pages: how many
 *
 * Return: true when all bytes are right.
 */
bool page_is_zero(const void *addr, size_t pages)
{
	const uint64_t *word = addr;
	size_t i;

	for (i = 0; i < pages * WORDS; i++)
		if (word[i])
			return false;
	return true;
}

/**
 * page_register() - offer memory for merging by madvise
 * @addr: first page
 * @pages: how many
 */
void page_register(void *addr, size_t pages)
{
	if (madvise(addr, pages * PAGE, MADV_MERGEABLE))
		tap_die("MADV_MERGEABLE: %s", strerror(errno));
}

/**
 * page_unregister() - withdraw memory from merging by madvise
 * @addr: first page
 * @pages: how many
 */
void page_unregister(void *addr, size_t pages)
{
	if (madvise(addr, pages * PAGE, MADV_UNMERGEABLE))
		tap_die("MADV_UNMERGEABLE: %s", strerror(errno));
}

/**
 * page_witness() - one page that stays registered
 *
 * So that there are passes to wait for, whatever else comes and goes. It is like no
 * other that the tests write.
 */
void page_witness(void)
{
	char *p = page_map(1);

	page_fill(p, 1, 99);
	page_register(p, 1);
}
