// SPDX-License-Identifier: GPL-2.0-only
/*
 * hotplug.c - blocks of memory with merged pages taken offline and back.
 *
 * Every merged page of the block must have been moved with all that map it;
 * the engine must forget the frames and go on merging.
 *
 * group: module native
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

#define DIR "/sys/devices/system/memory/"
/* Contents, each of them in two places. */
#define CONTENTS 4096
#define BLOCKS 4096

/* From the kernel's ABI: a memory policy. */
#define PREFERRED 1

static unsigned long block_pages(void)
{
	char text[64];

	if (file_read(DIR "block_size_bytes", text, sizeof(text)) <= 0)
		return 0;
	return strtoul(text, NULL, 16) / PAGE;
}

static int set_block(unsigned long block, const char *state)
{
	char path[128];

	snprintf(path, sizeof(path), DIR "memory%lu/state", block);
	return file_put(path, state);
}

/*
 * Kernel memory keeps a block in place, so some blocks are first given back
 * as room for movable pages only, from the top, where little is in use.
 * Movable pages go there before anywhere else.
 */
static unsigned int make_room(unsigned long *blocks, unsigned int want)
{
	unsigned int have = 0;
	unsigned long b;

	for (b = BLOCKS; b-- && have < want;) {
		if (set_block(b, "offline"))
			continue;
		if (set_block(b, "online_movable"))
			tap_die("block %lu does not come back", b);
		blocks[have++] = b;
	}
	return have;
}

/* New pages of the caller are to come from the node of a block. */
static void prefer_node_of(unsigned long block)
{
	unsigned long mask = 1;
	char path[128];
	int node;

	for (node = 0; node < 8; node++, mask <<= 1) {
		snprintf(path, sizeof(path), DIR "memory%lu/node%d", block,
			 node);
		if (access(path, F_OK))
			continue;
		if (syscall(SYS_set_mempolicy, PREFERRED, &mask, 64UL))
			tap_die("set_mempolicy: %s", strerror(errno));
		return;
	}
}

static void give_back(const unsigned long *blocks, unsigned int have)
{
	while (have--)
		if (set_block(blocks[have], "offline") ||
		    set_block(blocks[have], "online"))
			tap_diag("block %lu stays as room for movable pages",
				 blocks[have]);
}

/* How many of the merged pages are in each block. */
static void census(const char *p, unsigned long per_block,
		   unsigned int *count)
{
	unsigned long *n = malloc(CONTENTS * sizeof(*n));
	int i;

	if (!n)
		tap_die("no memory");
	memset(count, 0, BLOCKS * sizeof(*count));
	frame_numbers_of(getpid(), p, CONTENTS, n);
	for (i = 0; i < CONTENTS; i++)
		if (n[i] && n[i] / per_block < BLOCKS)
			count[n[i] / per_block]++;
	free(n);
}

static bool in_pairs(const char *p)
{
	const char *q = p + CONTENTS * PAGE;
	unsigned long *a = malloc(2 * CONTENTS * sizeof(*a));
	bool good;

	if (!a)
		tap_die("no memory");
	good = frame_numbers_of(getpid(), p, CONTENTS, a) == CONTENTS &&
	       frame_numbers_of(getpid(), q, CONTENTS, a + CONTENTS) ==
	       CONTENTS &&
	       !memcmp(a, a + CONTENTS, CONTENTS * sizeof(*a));
	free(a);
	return good && frame_distinct(p, CONTENTS) == CONTENTS;
}

static void test_blocks(bool running)
{
	static unsigned int before[BLOCKS], after[BLOCKS];
	const char *how = running ? "engine running" : "engine stopped";
	unsigned long per_block = block_pages(), b;
	unsigned int taken = 0, refused = 0, left = 0, moved = 0;
	char *p = page_map(2 * CONTENTS);
	bool good = true;

	page_fill_each(p, CONTENTS, 1000);
	page_fill_each(p + CONTENTS * PAGE, CONTENTS, 1000);
	page_register(p, 2 * CONTENTS);
	knob_settle();
	tap_ok(in_pairs(p), "%s: %d merged pages", how, CONTENTS);
	if (running)
		knob_run(1);
	census(p, per_block, before);
	for (b = 0; b < BLOCKS && taken < 8; b++) {
		if (before[b] < 16)
			continue;
		if (set_block(b, "offline")) {
			refused++;
			continue;
		}
		taken++;
		moved += before[b];
		census(p, per_block, after);
		left += after[b];
		good = good && page_is_each(p, CONTENTS, 1000) &&
		       page_is_each(p + CONTENTS * PAGE, CONTENTS, 1000);
		if (set_block(b, "online"))
			tap_die("block %lu does not come back", b);
	}
	tap_diag("%s: %u blocks taken, %u refused, %u merged pages moved", how,
		 taken, refused, moved);
	if (!taken) {
		tap_ok(false, "%s: a block with merged pages goes offline", how);
		return;
	}
	tap_ok(true, "%s: blocks with merged pages go offline", how);
	tap_is(left, 0, "%s: no merged page is left in them", how);
	tap_ok(good, "%s: every byte is right after each", how);
	knob_settle();
	tap_ok(in_pairs(p), "%s: still in pairs afterwards", how);
	knob_counts(CONTENTS, CONTENTS, 0, 0, how);
	page_fill_each(p, CONTENTS, 9000);
	page_fill_each(p + CONTENTS * PAGE, CONTENTS, 9000);
	knob_settle();
	tap_ok(in_pairs(p), "%s: new contents merge", how);
	knob_counts(CONTENTS, CONTENTS, 0, 0, how);
	page_unmap(p, 2 * CONTENTS);
	knob_clear();
}

int main(void)
{
	unsigned long blocks[4];
	unsigned int have;

	knob_begin();
	if (!block_pages()) {
		tap_skip("this kernel cannot take memory offline",
			 "blocks with merged pages go offline");
		return tap_done();
	}
	have = make_room(blocks, 4);
	tap_diag("%u blocks of %lu MiB hold movable pages only", have,
		 block_pages() / 256);
	if (have)
		prefer_node_of(blocks[0]);
	test_blocks(false);
	test_blocks(true);
	give_back(blocks, have);
	return tap_done();
}
