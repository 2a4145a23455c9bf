/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib.h - what the guest tests of the engine share.
 *
 * Rooms: lib-tap.c (verdict lines), lib-knob.c (files of
 * /sys/kernel/mm/ksm), lib-page.c (memory with known bytes), lib-huge.c (made
 * of huge pages), lib-frame.c (which frame is behind an address), lib-node.c
 * (which node it is on), lib-child.c (processes that take steps on demand),
 * lib-file.c (small files of /proc and /sys), lib-swap.c (swap, and pages that
 * go there),
 * lib-ring.c (pages that the kernel has pinned), lib-model.c (memory and what
 * its owner knows of it), lib-module.c (modules and the kernel's log),
 * lib-thread.c (threads of the engine).
 *
 * A test program is one process that runs as root in the test guest. It
 * states only what it has looked at itself: bytes, frames, counters.
 */
#ifndef TESTS_GUEST_LIB_H
#define TESTS_GUEST_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes in a page of the only architecture that the tests know. */
#define PAGE 4096UL
/* Bytes in a huge page of it. */
#define HUGE_PAGE (512 * PAGE)
#define HUGE_PARTS (HUGE_PAGE / PAGE)

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* lib-tap.c */
bool tap_ok(bool good, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool tap_is(long got, long want, const char *fmt, ...) PRINTF_LIKE(3, 4);
void tap_skip(const char *why, const char *fmt, ...) PRINTF_LIKE(2, 3);
void tap_diag(const char *fmt, ...) PRINTF_LIKE(1, 2);
void tap_die(const char *fmt, ...) PRINTF_LIKE(1, 2)
	__attribute__((noreturn));
int tap_done(void);

/* lib-file.c */
int file_write(const char *path, const void *buf, size_t len);
int file_put(const char *path, const char *text);
ssize_t file_read(const char *path, char *buf, size_t size);
long file_number(const char *path, long absent);
long file_field(const char *path, const char *name, long absent);

/* lib-thread.c */
void thread_each(const char *name, void (*see)(long pid, const char *text, void *arg),
		 void *arg);
bool thread_all_asleep(void);

/* lib-knob.c */
bool knob_pksm(void);
int knob_write(const char *name, const void *buf, size_t len);
int knob_put(const char *name, const char *text);
void knob_set(const char *name, long value);
long knob_get(const char *name);
void knob_begin(void);
void knob_run(long value);
void knob_passes(long count);
void knob_pass_begin(void);
void knob_pass(void);
void knob_batch(void);
void knob_wait_still(void);
void knob_settle(void);
void knob_clear(void);
bool knob_counts(long shared, long sharing, long unshared, long volat,
		 const char *what);

/* lib-page.c */
void *page_map(size_t pages);
void page_unmap(void *addr, size_t pages);
void page_fill(void *addr, size_t pages, uint64_t content);
void page_fill_each(void *addr, size_t pages, uint64_t first);
void page_fill_tail(void *addr, size_t pages, uint64_t content,
		    uint64_t first);
bool page_is(const void *addr, size_t pages, uint64_t content);
bool page_is_each(const void *addr, size_t pages, uint64_t first);
bool page_is_tail(const void *addr, size_t pages, uint64_t content,
		  uint64_t first);
bool page_is_zero(const void *addr, size_t pages);
void page_register(void *addr, size_t pages);
void page_unregister(void *addr, size_t pages);
void page_witness(void);

/* lib-huge.c */
char *huge_map(size_t count, char **base, size_t *length);
long huge_kb(const char *p, size_t count);

/* lib-frame.c */
/* Bits of a pagemap entry, as the kernel documents them. */
#define FRAME_PRESENT (1ULL << 63)
#define FRAME_SWAPPED (1ULL << 62)
#define FRAME_UFFD_WP (1ULL << 57)
#define FRAME_SOFT_DIRTY (1ULL << 55)

uint64_t frame_entry_of(pid_t pid, const void *addr);
uint64_t frame_entry(const void *addr);
unsigned long frame_number_of(pid_t pid, const void *addr);
unsigned long frame_number(const void *addr);
size_t frame_numbers_of(pid_t pid, const void *addr, size_t pages,
			unsigned long *out);
size_t frame_distinct(const void *addr, size_t pages);
size_t frame_distinct_of(pid_t pid, const void *addr, size_t pages);
bool frame_same(const void *addr, size_t pages);
size_t frame_swapped(const void *addr, size_t pages);
size_t frame_absent(const void *addr, size_t pages);
long frame_mapcount(unsigned long number);
uint64_t frame_flags(unsigned long number);
long frame_smaps_of(pid_t pid, const void *addr, size_t pages,
		    const char *field);
long frame_ksm_of(pid_t pid);
long frame_ksm(const void *addr, size_t pages);

/* lib-node.c */
bool node_two(void);
int node_of(pid_t pid, const void *addr);
int node_move(pid_t pid, const void *addr);

/* lib-swap.c */
int swap_on(size_t mebibytes);
int swap_off(void);
void swap_enter(const char *group);
void swap_leave(const char *group);
bool swap_out(const char *group, const void *addr, size_t pages);

/* lib-ring.c */
int ring_pin(void *addr, size_t pages);
int ring_read(int fd, void *addr, size_t len);
void ring_unpin(void);

/* lib-module.c */
int module_insert(const char *path, const char *parameters);
int module_load(const char *name);
int module_remove(const char *name, bool force);
int module_pksm_load(const char *parameters);
int module_pksm_unload(void);
int module_log_open(void);
int module_log_count(int fd, const char *begin, const char *word,
		     bool *has_word);

/* lib-model.c */
/**
 * struct model_page - what a page holds
 * @content: number of its content; 0: zero in every byte
 * @tail: its last word where it was written apart, else 0
 */
struct model_page {
	uint64_t content;
	uint64_t tail;
};

/**
 * struct model - memory, and what its owner knows of it
 * @memory: first page
 * @pages: how many
 * @page: what each of them holds
 */
struct model {
	char *memory;
	size_t pages;
	struct model_page *page;
};

uint64_t model_random(uint64_t *state);
void model_init(struct model *m, size_t pages);
void model_write(struct model *m, size_t i, uint64_t content, uint64_t tail);
void model_zero(struct model *m, size_t i, size_t count);
bool model_matches(const struct model *m, size_t i, const void *bytes);
ssize_t model_check(const struct model *m, size_t i, size_t count);

/* lib-child.c */
/**
 * struct child - a forked process that takes steps when it is told to
 * @pid: its process
 * @down: the parent writes and the child reads one byte for each step
 * @up: the child writes and the parent reads one byte for each step done
 */
struct child {
	pid_t pid;
	int down;
	int up;
};

void child_start(struct child *c, int (*body)(struct child *c, void *arg),
		 void *arg);
void child_go(struct child *c);
bool child_done(struct child *c);
bool child_step(struct child *c);
void child_wait(struct child *c);
void child_report(struct child *c);
int child_join(struct child *c);
void *child_shared(size_t pages);

#endif
