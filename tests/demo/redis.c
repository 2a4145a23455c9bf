// SPDX-License-Identifier: GPL-2.0-only
/*
 * redis.c - redis-server, spoken to by its protocol over a local socket.
 *
 * Every instance holds the same common documents and some of its own. What a
 * document contains follows from its key, so a check compares each byte with
 * what it must be, not with what was read before.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "demo.h"

#define COMMON 3200
#define OWN 320
#define SMALLEST 2048
#define SPREAD 10240
#define LARGEST (SMALLEST + SPREAD)
#define TEXT (4 << 20)

/* Commands sent before their answers are read; both fit into the socket. */
#define BATCH 8

#define PATIENCE_SECONDS 60

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ULL;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dULL;
	return x ^ x >> 33;
}

/* Key @k of instance @p names a document: the common ones do not tell instances apart. */
static uint64_t document_of(const struct program *p, int k)
{
	uint64_t id = k < COMMON ? 0 : (uint64_t)p->number << 32;

	id |= k;
	/* A touched document is another one of the same size. */
	return p->touched && k % 16 == 0 ? id | 1ULL << 60 : id;
}

static size_t size_of(uint64_t document)
{
	return SMALLEST + mix(document & ~(1ULL << 60)) % SPREAD;
}

/*
 * A document is a line that names it and a passage of one long text, at a
 * place of its own, so that no two documents have a page alike.
 */
static size_t write_document(char *to, uint64_t document)
{
	static char text[TEXT];
	size_t size = size_of(document), k;
	uint64_t x = 1;

	for (k = 0; !text[TEXT - 1] && k < TEXT; k++) {
		x = mix(x + k);
		text[k] = " etaoinshrdlcumwfgypbvkjxqz.,\n-"[x & 31];
	}
	k = sprintf(to, "document %016llx\n", (unsigned long long)document);
	memcpy(to + k, text + mix(document + 1) % (TEXT - LARGEST), size - k);
	return size;
}

/**
 * redis_common_kib() - data that every instance holds alike
 *
 * Return: KiB in one instance.
 */
long redis_common_kib(void)
{
	long bytes = 0;
	int k;

	for (k = 0; k < COMMON; k++)
		bytes += size_of(k);
	return bytes / 1024;
}

static void socket_path(const struct program *p, char *to, size_t size)
{
	snprintf(to, size, "/tmp/redis-%d.sock", p->number);
}

static void redis_start(struct program *p)
{
	char path[64];

	socket_path(p, path, sizeof(path));
	unlink(path);
	execl("/usr/bin/redis-server", "redis-server", "--port", "0",
	      "--unixsocket", path, "--save", "", "--appendonly", "no",
	      "--dir", "/tmp", (char *)NULL);
}

static void put(struct program *p, const void *data, size_t len)
{
	while (len) {
		ssize_t n = write(p->to, data, len);

		if (n <= 0)
			die("redis %d does not listen: %s", p->number, strerror(errno));
		data = (const char *)data + n;
		len -= n;
	}
}

static void get_line(struct program *p, char *to, size_t size)
{
	if (!fgets(to, size, p->from))
		die("redis %d does not answer", p->number);
}

static void connect_to(struct program *p)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	double limit = now() + PATIENCE_SECONDS;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	socket_path(p, to.sun_path, sizeof(to.sun_path));
	while (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		if (now() > limit)
			die("redis %d does not start: %s", p->number, strerror(errno));
		nap(0.05);
	}
	/* From here on the pipes of its start are of no use. */
	fclose(p->from);
	close(p->to);
	p->to = fd;
	p->from = fdopen(dup(fd), "r");
	if (!p->from)
		die("redis %d: %s", p->number, strerror(errno));
}

/* Give every @step-th document to the server. */
static void store(struct program *p, int step)
{
	static char text[LARGEST + 256];
	char answer[64];
	int k, waiting = 0;

	for (k = 0; k < COMMON + OWN; k += step) {
		uint64_t document = document_of(p, k);
		int head = sprintf(text, "*3\r\n$3\r\nSET\r\n$8\r\ndoc%05d\r\n$%zu\r\n",
				   k, size_of(document));
		size_t size = write_document(text + head, document);

		memcpy(text + head + size, "\r\n", 2);
		put(p, text, head + size + 2);
		waiting++;
		while (waiting && (waiting == BATCH || k + step >= COMMON + OWN)) {
			get_line(p, answer, sizeof(answer));
			if (strcmp(answer, "+OK\r\n"))
				die("redis %d: SET: %s", p->number, answer);
			waiting--;
		}
	}
}

/*
 * Its allocator gives freed memory back bit by bit over some ten seconds,
 * which would look like a saving; asked for it, it does so at once.
 */
static void give_back(struct program *p)
{
	static const char purge[] = "*2\r\n$6\r\nMEMORY\r\n$5\r\nPURGE\r\n";
	char answer[64];

	put(p, purge, sizeof(purge) - 1);
	get_line(p, answer, sizeof(answer));
	if (strcmp(answer, "+OK\r\n"))
		die("redis %d: MEMORY PURGE: %s", p->number, answer);
}

static void redis_ready(struct program *p)
{
	connect_to(p);
	store(p, 1);
	give_back(p);
}

static void ask(struct program *p, int k)
{
	char text[64];

	put(p, text, sprintf(text, "*2\r\n$3\r\nGET\r\n$8\r\ndoc%05d\r\n", k));
}

static bool same(struct program *p, int k)
{
	static char want[LARGEST], got[LARGEST + 2];
	size_t size = write_document(want, document_of(p, k));
	char text[64];

	get_line(p, text, sizeof(text));
	if (text[0] != '$' || strtoul(text + 1, NULL, 10) != size)
		return false;
	if (fread(got, 1, size + 2, p->from) != size + 2)
		die("redis %d stopped in the middle of an answer", p->number);
	return !memcmp(got, want, size);
}

static bool redis_right(struct program *p)
{
	int k, asked = 0;

	for (k = 0; k < COMMON + OWN; k++) {
		while (asked < COMMON + OWN && asked < k + BATCH)
			ask(p, asked++);
		/* Answers of another length would be misread from here on. */
		if (!same(p, k))
			return false;
	}
	return true;
}

static void redis_touch(struct program *p)
{
	p->touched = true;
	store(p, 16);
	give_back(p);
}

static void redis_end(struct program *p)
{
	kill(p->pid, SIGTERM);
}

const struct kind redis_kind = {
	.name = "redis-server",
	.start = redis_start,
	.ready = redis_ready,
	.right = redis_right,
	.touch = redis_touch,
	.end = redis_end,
};
