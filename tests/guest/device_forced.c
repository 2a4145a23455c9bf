// SPDX-License-Identifier: GPL-2.0-only
/*
 * device_forced.c - a forced removal while somebody has /dev/pksm open.
 *
 * The scene: the test holds a descriptor and merged pages when another process
 * removes the module by force. The removal must wait for the descriptor, which
 * keeps working; then everything is unmerged and gone. The kernel would run
 * into text that is not there any more if it did not wait.
 *
 * A forced removal taints the kernel, which switches lockdep off: its group comes
 * last in a lane.
 *
 * group: forced
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "lib.h"

#define PAGES 64

static int remover(struct child *c, void *arg)
{
	int dev = *(int *)arg;

	close(dev);
	child_report(c);
	return module_remove("pksm", true) ? 1 : 0;
}

int main(void)
{
	struct timespec while_it_waits = { .tv_sec = 2 };
	struct pksm_info info = { .size = sizeof(info) };
	struct child c;
	char *region;
	int dev;

	if (module_pksm_load(""))
		tap_die("pksm does not load");
	knob_begin();
	region = page_map(PAGES);
	page_fill(region, PAGES, 11);
	dev = device_open();
	tap_is(device_range(dev, PKSM_REGISTER, region, PAGES * PAGE), 0, "register");
	knob_settle();
	tap_ok(frame_same(region, PAGES), "the pages are merged");

	child_start(&c, remover, &dev);
	child_done(&c);
	nanosleep(&while_it_waits, NULL);
	tap_is(waitpid(c.pid, NULL, WNOHANG), 0,
	       "a forced removal waits for an open descriptor");
	tap_is(device_call(dev, PKSM_INFO, &info), 0, "the descriptor works");
	tap_ok(access("/sys/kernel/mm/ksm/run", F_OK) == 0, "the files are there");
	close(dev);
	tap_is(child_join(&c), 0, "it ends when the descriptor is closed");
	tap_ok(!knob_pksm() && access(PKSM_DEVICE, F_OK), "module and device are gone");
	tap_is(frame_distinct(region, PAGES), PAGES, "every page has a frame of its own");
	tap_ok(page_is(region, PAGES, 11), "its bytes are right");

	/* Still registered, and the built-in engine knows. */
	knob_settle();
	tap_ok(frame_same(region, PAGES), "the built-in engine merges them");
	tap_ok(page_is(region, PAGES, 11), "their bytes are right");
	page_unregister(region, PAGES);
	return tap_done();
}
