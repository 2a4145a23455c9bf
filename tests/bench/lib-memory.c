// SPDX-License-Identifier: GPL-2.0-only
/*
 * lib-memory.c - kernel memory that an engine's records take.
 *
 * The guest boots with slab_nomerge, so that caches are told apart by name.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static struct memory look(void)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	long pages, slabs, all = 0;
	struct memory m = {};
	char line[512];

	if (!f)
		tap_die("no /proc/slabinfo");
	while (fgets(line, sizeof(line), f)) {
		char *data = strstr(line, ": slabdata");

		if (!data || sscanf(line, "%*s %*d %*d %*d %*d %ld", &pages) != 1 ||
		    sscanf(data, ": slabdata %*d %ld", &slabs) != 1)
			continue;
		if (begins(line, "ksm_") || begins(line, "pksm_"))
			m.slabs += slabs * pages * PAGE;
		if (begins(line, "ksm_stable_node") || begins(line, "pksm_node"))
			m.nodes += slabs * pages * PAGE;
		if (begins(line, "kmalloc-") && !begins(line, "kmalloc-rcl"))
			m.kmalloc += slabs * pages * PAGE;
		all += slabs * pages * PAGE;
	}
	fclose(f);
	/*
	 * The kernel counts allocations too large for a cache as slabs, too; each
	 * CPU adds what it has counted now and then, or when asked.
	 */
	file_put("/proc/sys/vm/stat_refresh", "1");
	m.kmalloc += (file_field("/proc/meminfo", "SUnreclaim", 0) +
		      file_field("/proc/meminfo", "SReclaimable", 0)) * 1024 - all;
	m.vmalloc = file_field("/proc/meminfo", "VmallocUsed", 0) * 1024;
	return m;
}

/**
 * memory_now() - what is in use now
 *
 * Looks twice: what looking itself makes the kernel keep is there already when
 * it counts.
 *
 * Return: bytes by kind.
 */
struct memory memory_now(void)
{
	engine_cpu_ns();
	thread_all_asleep();
	look();
	return look();
}

/**
 * memory_grown() - how much more is in use than before
 * @since: what was in use then
 * @nodes: where to put how much of it is nodes of merged frames, or NULL
 *
 * Return: bytes of all kinds.
 */
long memory_grown(const struct memory *since, long *nodes)
{
	struct memory now = memory_now();

	if (nodes)
		*nodes = now.nodes - since->nodes;
	tap_diag("memory: slabs %ld, kmalloc %ld, vmalloc %ld bytes more",
		 now.slabs - since->slabs, now.kmalloc - since->kmalloc,
		 now.vmalloc - since->vmalloc);
	return now.slabs - since->slabs + now.kmalloc - since->kmalloc +
	       now.vmalloc - since->vmalloc;
}
