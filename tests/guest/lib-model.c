// SPDX-License-Identifier: GPL-2.0-only
/*
 * model.c - memory, and what its owner knows of its bytes.
 *
 * Each page has an entry in the model: the content that was last written,
 * and its last word where that was written apart. A page is judged by all of
 * its bytes. Contents come from a small stock, so that many pages of many
 * processes are equal, or from an endless one, so that none is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib.h"

/**
 * model_random() - next number of a sequence that a seed determines
 * @state: the sequence
 *
 * Return: 64 random bits.
 */
uint64_t model_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/**
 * model_init() - make memory whose every page is zero
 * @m: filled in
 * @pages: how many
 */
void model_init(struct model *m, size_t pages)
{
	m->memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m->page = calloc(pages, sizeof(*m->page));
	if (m->memory == MAP_FAILED || !m->page)
		tap_die("no memory for a model of %zu pages", pages);
	m->pages = pages;
}

/**
 * model_write() - write a page and remember it
 * @m: the memory
 * @i: the page
 * @content: its content
 * @tail: its last word, or 0 for the content's own
 */
void model_write(struct model *m, size_t i, uint64_t content, uint64_t tail)
{
	char *at = m->memory + i * PAGE;

	if (tail)
		page_fill_tail(at, 1, content, tail);
	else
		page_fill(at, 1, content);
	m->page[i].content = content;
	m->page[i].tail = tail;
}

/**
 * model_zero() - remember that pages read as zero from now on
 * @m: the memory
 * @i: first page
 * @count: how many
 */
void model_zero(struct model *m, size_t i, size_t count)
{
	memset(&m->page[i], 0, count * sizeof(*m->page));
}

/**
 * model_matches() - whether bytes are those of a page of the model
 * @m: the memory
 * @i: the page
 * @bytes: a page of bytes
 *
 * Return: true when all are right.
 */
bool model_matches(const struct model *m, size_t i, const void *bytes)
{
	const struct model_page *p = &m->page[i];

	if (p->tail)
		return page_is_tail(bytes, 1, p->content, p->tail);
	if (p->content)
		return page_is(bytes, 1, p->content);
	return page_is_zero(bytes, 1);
}

/**
 * model_check() - look at pages of the memory
 * @m: the memory
 * @i: first page
 * @count: how many
 *
 * Return: the first page that is wrong, or -1.
 */
ssize_t model_check(const struct model *m, size_t i, size_t count)
{
	for (; count--; i++)
		if (!model_matches(m, i, m->memory + i * PAGE))
			return i;
	return -1;
}
