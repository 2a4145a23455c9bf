// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols: kernel functions and variables that are not exported, found by name.
 *
 * Everything is resolved by pksm_symbol_init(), which the thread that loads the
 * module calls before anything else; a function of symbols.h may be called only
 * after that succeeded, from any context its original may be called from. There
 * is no lock: nothing here is written afterwards.
 *
 * Calls are static calls, patched to direct ones. That is more than speed: a
 * kernel that enforces indirect branch tracking has sealed the entry points of
 * functions whose address it never takes, and an indirect call to one traps.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "symbol.h"

/* A printk record ends at about 1000 bytes; a longer list takes more lines. */
#define LINE_BYTES 900

#define PKSM_FUNCTION(type, name, parameters, arguments)	\
DEFINE_STATIC_CALL_NULL(pksm_symbol_##name, name);		\
type name parameters						\
{								\
	return static_call(pksm_symbol_##name) arguments;	\
}

#define PKSM_DATA(type, name) type *pksm_data_##name;
#include "symbols.h"

/*
 * struct symbol - one line of symbols.h
 * @name: the kernel's name
 * @key, @tramp: the static call of a function, else NULL
 * @data: where the pointer to a variable goes, else NULL
 * @addr: what was found, 0 before
 */
struct symbol {
	const char *name;
	struct static_call_key *key;
	void *tramp;
	void **data;
	unsigned long addr;
};

static struct symbol symbols[] = {
#define PKSM_FUNCTION(type, name, parameters, arguments)		\
	{ #name, .key = &STATIC_CALL_KEY(pksm_symbol_##name),		\
	  .tramp = STATIC_CALL_TRAMP_ADDR(pksm_symbol_##name) },
#define PKSM_DATA(type, name) { #name, .data = (void **)&pksm_data_##name },
#define PKSM_ENTRY(name) { #name },
#include "symbols.h"
};

static struct symbol *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		if (strlen(symbols[i].name) == len && !memcmp(symbols[i].name, name, len))
			return &symbols[i];
	return NULL;
}

/**
 * pksm_symbol_address() - where a symbol of the table is
 * @name: its name
 *
 * Context: any, after pksm_symbol_init() succeeded.
 * Return: the address, or 0 if the table has no such name.
 */
unsigned long pksm_symbol_address(const char *name)
{
	const struct symbol *symbol = find(name, strlen(name));

	return symbol ? symbol->addr : 0;
}

/*
 * The only symbol that can be had without a lookup: a probe is told where the
 * function that it names is. Past its landing pad, where the kernel has those,
 * which a direct call does not mind. The table's first entry is this function.
 */
static int bootstrap(void)
{
	struct kprobe probe = { .symbol_name = symbols[0].name };
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("cannot look up kernel symbols: a probe on %s fails with error %d\n",
		       symbols[0].name, err);
		return err;
	}
	__static_call_update(symbols[0].key, symbols[0].tramp, probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

/* Does the comma separated list name it? */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

/* A misspelt name would make a test pass that tests nothing. */
static int check_missing(const char *missing)
{
	while (missing && *missing) {
		size_t n = strcspn(missing, ",");

		if (!find(missing, n)) {
			pr_err("missing=%.*s: pksm uses no symbol of this name\n",
			       (int)n, missing);
			return -EINVAL;
		}
		missing += n;
		missing += *missing == ',';
	}
	return 0;
}

/* Look everything up. Returns how many were not found. */
static unsigned int resolve(const char *missing)
{
	unsigned long start = kallsyms_lookup_name("_stext");
	unsigned long end = kallsyms_lookup_name("_end");
	unsigned int absent = 0;

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		struct symbol *symbol = &symbols[i];

		symbol->addr = kallsyms_lookup_name(symbol->name);
		/* Modules are searched too: a function of one may go away with it. */
		if (symbol->addr < start || symbol->addr > end || listed(missing, symbol->name))
			symbol->addr = 0;
		absent += !symbol->addr;
	}
	return absent;
}

static void report(unsigned int absent)
{
	const struct symbol *entry = find("__ksm_enter", strlen("__ksm_enter"));
	char *line = kmalloc(LINE_BYTES, GFP_KERNEL);
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(symbols) && line; i++) {
		const char *name = symbols[i].name;

		if (symbols[i].addr)
			continue;
		if (len && len + strlen(name) + 3 > LINE_BYTES) {
			pr_err("missing in this kernel: %s\n", line);
			len = 0;
		}
		len += scnprintf(line + len, LINE_BYTES - len, "%s%s", len ? ", " : "", name);
	}
	if (line)
		pr_err("missing in this kernel: %s\n", line);
	kfree(line);

	if (!entry->addr)
		pr_err("not loaded: kernel %s was built without CONFIG_KSM; use one that has it\n",
		       utsname()->release);
	else
		pr_err("not loaded: kernel %s lacks %u symbols; use a release that pksm supports\n",
		       utsname()->release, absent);
}

/**
 * pksm_symbol_init() - find every symbol of the table
 * @missing: comma separated names to treat as absent, or NULL: for tests
 *
 * On failure everything that is missing has been reported, with a line that
 * says what to do.
 *
 * Context: loading the module. May sleep.
 * Return: 0; -EINVAL if @missing has a name that is not in the table; -ENOENT
 * if symbols are missing; else the error of a probe that could not be set.
 */
int pksm_symbol_init(const char *missing)
{
	unsigned int absent;
	int err;

	err = check_missing(missing);
	if (err)
		return err;
	err = bootstrap();
	if (err)
		return err;
	absent = resolve(missing);
	if (absent) {
		report(absent);
		return -ENOENT;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		struct symbol *symbol = &symbols[i];

		if (symbol->key)
			__static_call_update(symbol->key, symbol->tramp, (void *)symbol->addr);
		if (symbol->data)
			*symbol->data = (void *)symbol->addr;
	}
	return 0;
}
