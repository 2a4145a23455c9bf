// SPDX-License-Identifier: GPL-2.0-only
/*
 * table.c - what people read.
 */
#include "demo.h"

static double mib(long kib)
{
	return kib / 1024.0;
}

/**
 * table_saved_kib() - memory that the programs take less of, merged
 * @g: what an engine made of them
 *
 * Return: KiB, by the sum of their proportional set sizes.
 */
long table_saved_kib(const struct gain *g)
{
	long kib = 0;
	int k;

	for (k = 0; k < g->count; k++)
		kib += g->programs[k].before.pss - g->programs[k].during.pss;
	return kib;
}

static void row(const char *name, const char *how, const struct footprint f[3],
		const char *data)
{
	say("  %-16s %-14s %8.1f %8.1f %8.1f %9ld %8.1f   %s", name, how,
	    mib(f[0].pss), mib(f[1].pss), mib(f[0].pss - f[1].pss),
	    f[1].merged, mib(f[2].pss), data);
}

/**
 * table_print() - memory of each program before, merged and after
 * @g: what an engine made of them
 */
void table_print(const struct gain *g)
{
	struct footprint sum[3] = { 0 };
	bool right = true;
	char name[32];
	int k;

	say(" ");
	say("  %s, memory in MiB (a page of N programs counts 1/N in each), pages merged",
	    g->engine);
	say("  %-16s %-14s %8s %8s %8s %9s %8s   %s", "program", "enrolled by",
	    "before", "merged", "saved", "pages", "after", "data");
	for (k = 0; k < g->count; k++) {
		const struct program *p = &g->programs[k];
		struct footprint f[3] = { p->before, p->during, p->after };
		int i;

		snprintf(name, sizeof(name), "%s %d", p->kind->name, p->number);
		row(name, p->by_prctl ? "prctl at exec" : "/dev/pksm", f,
		    p->right ? "right" : "WRONG");
		for (i = 0; i < 3; i++) {
			sum[i].pss += f[i].pss;
			sum[i].merged += f[i].merged;
		}
		right &= p->right;
	}
	row("all together", "", sum, right ? "right" : "WRONG");
	say("  free memory of the machine grew by %.1f MiB",
	    mib(g->free_during - g->free_before));
	say("  90 %% of the saving after %.2f s, 99 %% after %.2f s", g->at90, g->at99);
	say(" ");
}

/**
 * table_compare() - both engines side by side
 * @a: what the one made of the programs
 * @b: what the other made of them
 */
void table_compare(const struct gain *a, const struct gain *b)
{
	say("  %-44s %16s %16s", "the same programs, the same machine", a->engine,
	    b->engine);
	say("  %-44s %16.1f %16.1f", "memory of the programs saved, MiB",
	    mib(table_saved_kib(a)), mib(table_saved_kib(b)));
	say("  %-44s %16.1f %16.1f", "free memory gained, metadata paid, MiB",
	    mib(a->free_during - a->free_before),
	    mib(b->free_during - b->free_before));
	say("  %-44s %16.2f %16.2f", "time to 90 % of the final saving, s",
	    a->at90, b->at90);
	say("  %-44s %16.2f %16.2f", "time to 99 % of the final saving, s",
	    a->at99, b->at99);
	say("  times are those of an emulated machine: compare the columns with each other only");
	say(" ");
}
