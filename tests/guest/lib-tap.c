// SPDX-License-Identifier: GPL-2.0-only
/*
 * tap.c - verdict lines of a test program.
 *
 * One line for each statement, on standard output, at once: the guest may
 * die at the next step, and what was seen before must have left it. Only
 * the process that started main() prints verdicts; children report to it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib.h"

static unsigned int failures, statements;

static void line(const char *head, const char *fmt, va_list ap,
		 const char *tail)
{
	fputs(head, stdout);
	vprintf(fmt, ap);
	fputs(tail, stdout);
	putchar('\n');
	fflush(stdout);
}

/**
 * tap_ok() - print whether a statement holds
 * @good: whether it does
 * @fmt: the statement
 *
 * Return: @good.
 */
bool tap_ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line(good ? "ok - " : "not ok - ", fmt, ap, "");
	va_end(ap);
	statements++;
	if (!good)
		failures++;
	return good;
}

/**
 * tap_is() - print whether a figure is the one expected
 * @got: the figure seen
 * @want: the figure expected
 * @fmt: what the figure is
 *
 * Return: whether they are equal; both figures are printed when not.
 */
bool tap_is(long got, long want, const char *fmt, ...)
{
	bool good = got == want;
	va_list ap;

	va_start(ap, fmt);
	line(good ? "ok - " : "not ok - ", fmt, ap, "");
	va_end(ap);
	statements++;
	if (!good) {
		tap_diag("  got %ld, want %ld", got, want);
		failures++;
	}
	return good;
}

/**
 * tap_skip() - print that a statement was not looked at
 * @why: the reason, one line
 * @fmt: the statement
 */
void tap_skip(const char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok - ");
	vprintf(fmt, ap);
	printf(" # SKIP %s\n", why);
	va_end(ap);
	fflush(stdout);
	statements++;
}

/**
 * tap_diag() - print something that is no verdict
 * @fmt: the text, one line
 */
void tap_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("# ", fmt, ap, "");
	va_end(ap);
}

/**
 * tap_die() - give up: the scene of the test could not be set
 * @fmt: what failed
 *
 * Prints a failed statement and ends the program with status 1. In a child
 * it is the exit status that tells the parent.
 */
void tap_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("not ok - ", fmt, ap, " (cannot go on)");
	va_end(ap);
	exit(1);
}

/**
 * tap_done() - print the sum
 *
 * Return: the exit status of the program: 0 when at least one statement
 * was made and none failed.
 */
int tap_done(void)
{
	tap_diag("%u statements, %u failed", statements, failures);
	return failures || !statements;
}
