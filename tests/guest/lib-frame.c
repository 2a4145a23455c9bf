// SPDX-License-Identifier: GPL-2.0-only
/*
 * frame.c - which frame of memory is behind an address.
 *
 * Two addresses are merged when their pagemap entries name one frame. The
 * KSM bit of /proc/kpageflags says nothing on 6.12 (it is set for every
 * anonymous page), so it is not looked at; the "KSM:" line of smaps counts
 * truly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define NUMBER_MASK ((1ULL << 55) - 1)

static void read_at(const char *path, off_t at, void *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		tap_die("open %s: %s", path, strerror(errno));
	while (len) {
		ssize_t n = pread(fd, buf, len, at);

		if (n <= 0)
			tap_die("read %s: %s", path,
				n ? strerror(errno) : "ended early");
		buf = (char *)buf + n;
		at += n;
		len -= n;
	}
	close(fd);
}

static void entries(pid_t pid, const void *addr, size_t pages, uint64_t *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	read_at(path, (uintptr_t)addr / PAGE * 8, out, pages * 8);
}

/**
 * frame_entry_of() - pagemap entry of an address in some process
 * @pid: the process
 * @addr: the address
 *
 * Return: the entry as the kernel gives it.
 */
uint64_t frame_entry_of(pid_t pid, const void *addr)
{
	uint64_t entry;

	entries(pid, addr, 1, &entry);
	return entry;
}

/**
 * frame_entry() - pagemap entry of an address of the caller
 * @addr: the address
 *
 * Return: the entry as the kernel gives it.
 */
uint64_t frame_entry(const void *addr)
{
	return frame_entry_of(getpid(), addr);
}

/**
 * frame_number_of() - frame behind an address in some process
 * @pid: the process
 * @addr: the address
 *
 * Return: the frame's number, or 0 when no page is present.
 */
unsigned long frame_number_of(pid_t pid, const void *addr)
{
	uint64_t entry = frame_entry_of(pid, addr);

	return entry & FRAME_PRESENT ? entry & NUMBER_MASK : 0;
}

/**
 * frame_number() - frame behind an address of the caller
 * @addr: the address
 *
 * Return: the frame's number, or 0 when no page is present.
 */
unsigned long frame_number(const void *addr)
{
	return frame_number_of(getpid(), addr);
}

/**
 * frame_numbers_of() - frames behind a range in some process
 * @pid: the process
 * @addr: first page
 * @pages: how many
 * @out: the numbers, 0 where no page is present
 *
 * Return: how many pages are present.
 */
size_t frame_numbers_of(pid_t pid, const void *addr, size_t pages,
			unsigned long *out)
{
	size_t i, present = 0;

	entries(pid, addr, pages, (uint64_t *)out);
	for (i = 0; i < pages; i++) {
		if (out[i] & FRAME_PRESENT) {
			out[i] &= NUMBER_MASK;
			present++;
		} else {
			out[i] = 0;
		}
	}
	return present;
}

static int by_number(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/**
 * frame_distinct_of() - how many different frames back a range
 * @pid: the process
 * @addr: first page
 * @pages: how many
 *
 * Return: the count, pages that are not present not counted.
 */
size_t frame_distinct_of(pid_t pid, const void *addr, size_t pages)
{
	unsigned long *n = malloc(pages * sizeof(*n));
	size_t i, count = 0;

	if (!n)
		tap_die("no memory for %zu frame numbers", pages);
	frame_numbers_of(pid, addr, pages, n);
	qsort(n, pages, sizeof(*n), by_number);
	for (i = 0; i < pages; i++)
		if (n[i] && (!i || n[i] != n[i - 1]))
			count++;
	free(n);
	return count;
}

/**
 * frame_distinct() - how many different frames back a range of the caller
 * @addr: first page
 * @pages: how many
 *
 * Return: the count, pages that are not present not counted.
 */
size_t frame_distinct(const void *addr, size_t pages)
{
	return frame_distinct_of(getpid(), addr, pages);
}

static size_t count_entries(const void *addr, size_t pages, uint64_t mask,
			    uint64_t want)
{
	uint64_t *e = malloc(pages * sizeof(*e));
	size_t i, count = 0;

	if (!e)
		tap_die("no memory for %zu entries", pages);
	entries(getpid(), addr, pages, e);
	for (i = 0; i < pages; i++)
		if ((e[i] & mask) == want)
			count++;
	free(e);
	return count;
}

/**
 * frame_same() - whether one frame backs the whole range of the caller
 * @addr: first page
 * @pages: how many
 *
 * Return: true when every page is present and all name one frame.
 */
bool frame_same(const void *addr, size_t pages)
{
	return !count_entries(addr, pages, FRAME_PRESENT, 0) &&
	       frame_distinct(addr, pages) == 1;
}

/**
 * frame_swapped() - how many pages of the caller's range are swapped out
 * @addr: first page
 * @pages: how many
 *
 * Return: the count.
 */
size_t frame_swapped(const void *addr, size_t pages)
{
	return count_entries(addr, pages, FRAME_SWAPPED, FRAME_SWAPPED);
}

/**
 * frame_absent() - how many pages of the caller's range have nothing behind
 * @addr: first page
 * @pages: how many
 *
 * Return: the count of pages that are neither present nor swapped out.
 */
size_t frame_absent(const void *addr, size_t pages)
{
	return count_entries(addr, pages, FRAME_PRESENT | FRAME_SWAPPED, 0);
}

/**
 * frame_mapcount() - how many page-table entries of the machine map a frame
 * @number: the frame
 *
 * Return: the count.
 */
long frame_mapcount(unsigned long number)
{
	uint64_t count;

	read_at("/proc/kpagecount", (off_t)number * 8, &count, sizeof(count));
	return count;
}

/**
 * frame_flags() - what /proc/kpageflags says of a frame
 * @number: the frame
 *
 * Return: the flags; the KSM bit among them is not to be trusted.
 */
uint64_t frame_flags(unsigned long number)
{
	uint64_t flags;

	read_at("/proc/kpageflags", (off_t)number * 8, &flags, sizeof(flags));
	return flags;
}

/**
 * frame_smaps_of() - sum of one smaps line over the areas of a range
 * @pid: the process
 * @addr: first page, or NULL for the whole process
 * @pages: how many; an area that overlaps the range counts whole
 * @field: name of the line, without the colon
 *
 * Return: the sum in kB.
 */
long frame_smaps_of(pid_t pid, const void *addr, size_t pages,
		    const char *field)
{
	unsigned long first = (uintptr_t)addr, last = first + pages * PAGE;
	size_t len = strlen(field);
	bool inside = false;
	char text[512];
	long sum = 0;
	FILE *f;

	snprintf(text, sizeof(text), "/proc/%d/smaps", (int)pid);
	f = fopen(text, "re");
	if (!f)
		tap_die("open %s: %s", text, strerror(errno));
	while (fgets(text, sizeof(text), f)) {
		unsigned long start, end;

		if (sscanf(text, "%lx-%lx ", &start, &end) == 2)
			inside = !addr || (start < last && end > first);
		else if (inside && !strncmp(text, field, len) &&
			 text[len] == ':')
			sum += strtol(text + len + 1, NULL, 10);
	}
	fclose(f);
	return sum;
}

/**
 * frame_ksm_of() - merged memory that smaps shows for a process
 * @pid: the process
 *
 * Return: kB.
 */
long frame_ksm_of(pid_t pid)
{
	return frame_smaps_of(pid, NULL, 0, "KSM");
}

/**
 * frame_ksm() - merged memory that smaps shows for a range of the caller
 * @addr: first page
 * @pages: how many; an area that overlaps the range counts whole
 *
 * Return: kB.
 */
long frame_ksm(const void *addr, size_t pages)
{
	return frame_smaps_of(getpid(), addr, pages, "KSM");
}
