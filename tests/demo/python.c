// SPDX-License-Identifier: GPL-2.0-only
/*
 * python.c - python3 with worker.py, spoken to by lines over pipes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

/* Blocks of 64 KiB in the table of each interpreter; worker.py is told. */
#define BLOCKS 256

/**
 * python_common_kib() - data that every interpreter holds alike
 *
 * Return: KiB in one interpreter.
 */
long python_common_kib(void)
{
	return BLOCKS * 64L;
}

static void python_start(struct program *p)
{
	char blocks[16];

	snprintf(blocks, sizeof(blocks), "%d", BLOCKS);
	(void)p;
	execl("/usr/bin/python3", "python3", "/t/demo/worker.py", blocks, (char *)NULL);
}

static bool answer_is(struct program *p, const char *want)
{
	char text[64];

	if (!fgets(text, sizeof(text), p->from))
		die("python3 %d does not answer", p->number);
	text[strcspn(text, "\n")] = 0;
	return !strcmp(text, want);
}

static bool ask(struct program *p, const char *question, const char *want)
{
	if (dprintf(p->to, "%s\n", question) < 0)
		die("python3 %d does not listen: %s", p->number, strerror(errno));
	return answer_is(p, want);
}

static void python_ready(struct program *p)
{
	if (!answer_is(p, "ready"))
		die("python3 %d does not start", p->number);
}

static bool python_right(struct program *p)
{
	return ask(p, "check", "right");
}

static void python_touch(struct program *p)
{
	p->touched = true;
	if (!ask(p, "touch", "touched"))
		die("python3 %d does not change its data", p->number);
}

static void python_end(struct program *p)
{
	dprintf(p->to, "end\n");
}

const struct kind python_kind = {
	.name = "python3",
	.start = python_start,
	.ready = python_ready,
	.right = python_right,
	.touch = python_touch,
	.end = python_end,
};
