// SPDX-License-Identifier: GPL-2.0-only
/*
 * file.c - small files of /proc and /sys, read and written in one call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

/**
 * file_write() - write some bytes to a file in one write
 * @path: the file, which must exist
 * @buf: the bytes
 * @len: how many
 *
 * Return: 0, or a negative error; -EIO when the kernel took fewer bytes.
 */
int file_write(const char *path, const void *buf, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, buf, len);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != len)
		err = -EIO;
	close(fd);
	return err;
}

/**
 * file_put() - write a text to a file in one write
 * @path: the file, which must exist
 * @text: the text, ended by a zero byte that is not written
 *
 * Return: as file_write().
 */
int file_put(const char *path, const char *text)
{
	return file_write(path, text, strlen(text));
}

/**
 * file_read() - read a whole small file
 * @path: the file
 * @buf: where to; ended by a zero byte
 * @size: bytes that @buf holds
 *
 * Return: bytes read, or a negative error.
 */
ssize_t file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (have + 1 < size) {
		n = read(fd, buf + have, size - 1 - have);
		if (n <= 0)
			break;
		have += n;
	}
	if (n < 0)
		n = -errno;
	close(fd);
	buf[have] = 0;
	return n < 0 ? n : (ssize_t)have;
}

/**
 * file_number() - read the number that a file holds
 * @path: the file
 * @absent: what to return when it cannot be read
 *
 * Return: the number in front of the file.
 */
long file_number(const char *path, long absent)
{
	char text[64];

	if (file_read(path, text, sizeof(text)) <= 0)
		return absent;
	return strtol(text, NULL, 10);
}

/**
 * file_field() - read the number behind a name at the start of a line
 * @path: a file of lines such as "name 12" or "name: 12 kB"
 * @name: the name, without the colon
 * @absent: what to return when there is no such file or line
 *
 * Return: the number.
 */
long file_field(const char *path, const char *name, long absent)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(name);
	long value = absent;
	char text[512];

	if (!f)
		return absent;
	while (fgets(text, sizeof(text), f)) {
		char *rest = text + len;

		if (strncmp(text, name, len) || !strchr(": \t", *rest))
			continue;
		value = strtol(rest + strspn(rest, ": \t"), NULL, 10);
		break;
	}
	fclose(f);
	return value;
}
