// SPDX-License-Identifier: GPL-2.0-only
/*
 * huge.c - memory made of huge pages.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

/**
 * huge_map() - memory on the border of a huge page, populated with huge pages
 * @count: how many
 * @base: set to what is to be unmapped
 * @length: set to the bytes of that
 *
 * Return: the memory; NULL when the kernel has no huge pages.
 */
char *huge_map(size_t count, char **base, size_t *length)
{
	size_t size = (count + 1) * HUGE_PAGE;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & -HUGE_PAGE);

	if (p == MAP_FAILED)
		tap_die("map: %s", strerror(errno));
	*base = p;
	*length = size;
	if (madvise(at, count * HUGE_PAGE, MADV_HUGEPAGE))
		return NULL;
	for (size_t i = 0; i < count; i++)
		at[i * HUGE_PAGE] = 1;
	return at;
}

/**
 * huge_kb() - how much of it is in huge pages now
 * @p: from huge_map()
 * @count: huge pages to look at
 *
 * Return: KiB, from smaps.
 */
long huge_kb(const char *p, size_t count)
{
	return frame_smaps_of(getpid(), p, count * HUGE_PARTS, "AnonHugePages");
}
