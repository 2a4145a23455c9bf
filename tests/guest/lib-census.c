// SPDX-License-Identifier: GPL-2.0-only
/*
 * census.c - which frames the pages of a crowd have, and whether that is right.
 *
 * The members have noted what their pages hold; frames are read from their page
 * maps. Nothing is taken from the engine's counters, which are compared with this.
 */
#include <stdlib.h>

#include "lib-crowd.h"

/* A page at rest. */
struct seat {
	uint64_t content;
	unsigned long frame;
};

static int by_content(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;

	if (x->content != y->content)
		return x->content < y->content ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static size_t collect(const struct crowd *crowd, struct seat *seat, long *merged)
{
	unsigned long *frame = calloc(crowd->pages, sizeof(*frame));
	size_t i, n = 0;
	int slot;

	if (!frame)
		tap_die("no memory for frame numbers");
	for (slot = 0; slot < CROWD_SLOTS; slot++) {
		const struct crowd_member *m = &crowd->member[slot];

		if (!m->pid)
			continue;
		frame_numbers_of(m->pid, m->memory, crowd->pages, frame);
		for (i = 0; i < crowd->pages; i++)
			if (m->content[i])
				seat[n++] = (struct seat){ m->content[i], frame[i] };
		*merged += frame_ksm_of(m->pid) * 1024 / (long)PAGE;
	}
	free(frame);
	return n;
}

/*
 * Pages of one content, sorted by frame. With frames that have room, or two frames
 * of one page each, more could have been merged; one page may be left over when all
 * frames are full.
 */
static void judge(const struct seat *seat, size_t n, long sharing, struct crowd_census *c)
{
	size_t i, same, room = 0, frames = 0, alone = 0;

	for (i = 0; i < n; i += same) {
		for (same = 1; i + same < n && seat[i + same].frame == seat[i].frame; same++)
			;
		frames++;
		alone += same == 1;
		room += same > 1 && (long)same < sharing;
	}
	c->frames += frames;
	c->single += n == 1;
	/* With room for all there is one frame, whatever happened before. */
	if (n > 1 && (size_t)sharing >= n)
		c->apart += frames != 1;
	c->most += n == 1 || (alone && !room && (size_t)sharing < n);
}

/**
 * crowd_count() - look at the frames of all, at rest
 * @crowd: all
 * @sharing: how many pages may share a frame
 * @census: filled in
 */
void crowd_count(const struct crowd *crowd, long sharing, struct crowd_census *census)
{
	struct seat *seat = calloc(CROWD_SLOTS * crowd->pages, sizeof(*seat));
	size_t n, i, same;

	if (!seat)
		tap_die("no memory for a census");
	*census = (struct crowd_census){ };
	n = collect(crowd, seat, &census->merged);
	census->pages = n;
	qsort(seat, n, sizeof(*seat), by_content);
	for (i = 0; i < n; i += same) {
		for (same = 1; i + same < n && seat[i + same].content == seat[i].content; same++)
			;
		judge(&seat[i], same, sharing, census);
	}
	free(seat);
}
