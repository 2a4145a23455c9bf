// SPDX-License-Identifier: GPL-2.0-only
/*
 * device.c - /dev/pksm: what it takes, what it refuses, what it does.
 *
 * The scene: a region of four pages in the caller stands for "nothing
 * changed": its mappings and their flags are compared before and after each
 * refused command. Rights are in device_rights.c, the effect on other
 * processes in device_merge.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "lib.h"

#define REGION_PAGES 4
#define REGION (REGION_PAGES * PAGE)
#define GUARD (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE)

static int dev;
static char *region;
static uint64_t region_before;

static void region_mark(void)
{
	region_before = device_digest(getpid(), region, REGION);
}

static void refused(int got, int want, const char *what)
{
	tap_ok(got == want &&
	       device_digest(getpid(), region, REGION) == region_before,
	       "%s: %s, nothing changed", what, strerror(-want));
	if (got != want)
		tap_diag("  got %s", got ? strerror(-got) : "success");
}

static struct pksm_target target(void)
{
	struct pksm_target t = {
		.size = sizeof(t),
		.start = (uintptr_t)region,
		.length = REGION,
	};

	return t;
}

static void test_node(void)
{
	struct stat st;
	char byte;

	if (stat(PKSM_DEVICE, &st))
		tap_die("stat %s: %s", PKSM_DEVICE, strerror(errno));
	tap_ok(S_ISCHR(st.st_mode) && (st.st_mode & 07777) == 0600 &&
	       !st.st_uid, "device is a character device, root's, mode 0600");
	tap_ok(read(dev, &byte, 1) == -1 && errno == EINVAL, "no read");
	tap_ok(write(dev, "x", 1) == -1 && errno == EINVAL, "no write");
	tap_ok(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, 0) == MAP_FAILED &&
	       errno == ENODEV, "no mmap");
}

static void test_pin(void)
{
	const char *path = "/sys/module/pksm/refcnt";
	long before, during;
	int fd;

	if (!knob_pksm()) {
		tap_skip("the module is not loaded under its own name",
			 "an open descriptor pins the module");
		return;
	}
	before = file_number(path, -1);
	fd = device_open();
	during = file_number(path, -1);
	tap_is(during - before, 1, "an open descriptor is one reference to the module");
	tap_ok(syscall(SYS_delete_module, "pksm", O_NONBLOCK) == -1 &&
	       errno == EAGAIN, "removal is refused while a descriptor is open");
	close(fd);
	tap_is(file_number(path, -1), before, "closing gives the reference back");
}

static void test_info(void)
{
	struct pksm_info i = { .size = sizeof(i), .version = 77, .features = 77 };
	unsigned char wide[256];
	size_t k, dirt = 0;

	tap_is(device_call(dev, PKSM_INFO, &i), 0, "info");
	tap_ok(i.size == sizeof(i) && i.version == PKSM_ABI_VERSION &&
	       !i.flags && !i.reserved, "info: size, version, nothing reserved");
	tap_ok(i.features == (PKSM_FEATURE_RANGE | PKSM_FEATURE_ALL |
			      PKSM_FEATURE_PIDFD), "info: features");
	tap_is(device_call(dev, PKSM_INFO, &i), 0, "info: its answer can be asked again");

	i.flags = 1;
	tap_is(device_call(dev, PKSM_INFO, &i), -EINVAL, "info: unknown flag");
	i.flags = 0;
	i.reserved = 1;
	tap_is(device_call(dev, PKSM_INFO, &i), -EINVAL, "info: reserved member");

	memset(wide, 0, sizeof(wide));
	*(uint32_t *)wide = sizeof(wide);
	tap_is(device_call(dev, PKSM_INFO, wide), 0, "info: a longer structure, zero beyond");
	for (k = sizeof(i); k < sizeof(wide); k++)
		dirt += !!wide[k];
	tap_ok(!dirt && *(uint32_t *)wide == sizeof(i),
	       "info: module's size is told, the rest stays zero");
	wide[sizeof(wide) - 1] = 1;
	*(uint32_t *)wide = sizeof(wide);
	tap_is(device_call(dev, PKSM_INFO, wide), -E2BIG,
	       "info: a longer structure, not zero beyond");
}

static void test_commands(void)
{
	struct pksm_target t = target();
	int nr, bad = 0;

	region_mark();
	for (nr = 0; nr < 256; nr++)
		if (nr > 2 && device_call(dev, _IO(PKSM_IOC_TYPE, nr), &t) != -ENOTTY)
			bad++;
	tap_is(bad, 0, "all other numbers of the type are ENOTTY");
	refused(device_call(dev, _IO(PKSM_IOC_TYPE + 1, 1), &t), -ENOTTY, "another type");
	refused(device_call(dev, _IOW(PKSM_IOC_TYPE, 1, struct pksm_target), &t),
		-ENOTTY, "a number that carries a size");
}

/* A structure of @size bytes, the first of which are @t, the rest @fill. */
static int sized(unsigned int size, unsigned char fill)
{
	static union {
		struct pksm_target t;
		unsigned char bytes[3 * PAGE];
	} u;

	memset(&u, fill, sizeof(u));
	u.t = target();
	u.t.size = size;
	return device_call(dev, PKSM_REGISTER, &u);
}

static void test_sizes(void)
{
	char *edge = page_map(2);
	struct pksm_target t = target();

	region_mark();
	refused(sized(0, 0), -EINVAL, "size 0");
	refused(sized(4, 0), -EINVAL, "size 4");
	refused(sized(sizeof(t) - 1, 0), -EINVAL, "size one less than the first");
	refused(sized(sizeof(t) + 1, 1), -E2BIG, "one byte more, not zero");
	refused(sized(PAGE, 0x80), -E2BIG, "a page, not zero beyond");
	refused(sized(PAGE + 1, 0), -E2BIG, "more than a page, zero");
	refused(sized(~0U, 0), -E2BIG, "largest size");
	refused(device_call(dev, PKSM_REGISTER, NULL), -EFAULT, "null pointer");
	refused(device_call(dev, PKSM_REGISTER, (void *)-8UL), -EFAULT, "kernel pointer");

	munmap(edge + PAGE, PAGE);
	memcpy(edge + PAGE - sizeof(t) + 4, &t, sizeof(t) - 4);
	refused(device_call(dev, PKSM_REGISTER, edge + PAGE - sizeof(t) + 4),
		-EFAULT, "structure that ends in a hole");
	memcpy(edge + PAGE - 3, &t, 3);
	refused(device_call(dev, PKSM_REGISTER, edge + PAGE - 3), -EFAULT,
		"size that ends in a hole");
	t.size = sizeof(t) + 8;
	memcpy(edge + PAGE - sizeof(t), &t, sizeof(t));
	refused(device_call(dev, PKSM_REGISTER, edge + PAGE - sizeof(t)),
		-EFAULT, "longer structure that ends in a hole");

	tap_is(sized(sizeof(t) + 1, 0), 0, "one byte more, zero, is taken");
	tap_is(sized(PAGE, 0), 0, "a page, zero beyond, is taken");
	t.size = sizeof(t);
	memcpy(edge + 1, &t, sizeof(t));
	tap_is(device_call(dev, PKSM_UNREGISTER, edge + 1), 0, "structure at an odd address");
	page_unmap(edge, 1);
}

static void test_members(unsigned long command, const char *name)
{
	struct pksm_target t;
	char what[64];
	int bit;

	region_mark();
	for (bit = 2; bit < 32; bit++) {
		t = target();
		t.flags = 1U << bit;
		if (device_call(dev, command, &t) == -EINVAL)
			continue;
		snprintf(what, sizeof(what), "%s: flag bit %d", name, bit);
		refused(0, -EINVAL, what);
	}
	snprintf(what, sizeof(what), "%s: each unknown flag", name);
	refused(-EINVAL, -EINVAL, what);
#define WITH(member, value) ({ \
	t = target(); \
	t.member = (value); \
	snprintf(what, sizeof(what), "%s: " #member " = " #value, name); \
	device_call(dev, command, &t); })
	refused(WITH(reserved, 1), -EINVAL, what);
	refused(WITH(reserved, 0x80000000), -EINVAL, what);
	refused(WITH(pidfd, 1), -EINVAL, what);
	refused(WITH(pidfd, -1), -EINVAL, what);
	refused(WITH(start, t.start + 1), -EINVAL, what);
	refused(WITH(start, t.start + PAGE - 1), -EINVAL, what);
	refused(WITH(length, 0), -EINVAL, what);
	refused(WITH(length, 1), -EINVAL, what);
	refused(WITH(length, REGION - 1), -EINVAL, what);
	refused(WITH(length, -PAGE), -EINVAL, what);
	refused(WITH(length, -t.start), -EINVAL, what);
	refused(WITH(length, PAGE - t.start), -EINVAL, what);
	refused(WITH(start, -PAGE), -EINVAL, what);
	/* With all of a process there is no range. */
	refused(WITH(flags, PKSM_TARGET_ALL), -EINVAL, what);
#undef WITH
	t = target();
	t.flags = PKSM_TARGET_ALL;
	t.start = 0;
	refused(device_call(dev, command, &t), -EINVAL, "all, with a length");
	t = target();
	t.flags = PKSM_TARGET_ALL;
	t.length = 0;
	refused(device_call(dev, command, &t), -EINVAL, "all, with a start");
}

static void test_holes(unsigned long command, const char *name)
{
	struct pksm_target t;
	char *p;

	/* The middle of the region goes; what is left of it must not be touched. */
	munmap(region + PAGE, PAGE);
	region_mark();
	refused(device_range(dev, command, region, REGION), -ENOMEM, name);
	p = mmap(region + PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != region + PAGE)
		tap_die("the hole was filled by somebody else");
	madvise(p, PAGE, MADV_NOHUGEPAGE);

	region_mark();
	refused(device_range(dev, command, NULL, PAGE), -ENOMEM, "the null page");
	t = target();
	t.start = 1UL << 47;
	t.length = PAGE;
	refused(device_call(dev, command, &t), -ENOMEM, "above user space");
	t.start = 0;
	t.length = 1UL << 63;
	refused(device_call(dev, command, &t), -ENOMEM, "half of all addresses");
	/* The page below the top of all addresses: no overflow, not mapped. */
	t.start = -2 * PAGE;
	t.length = PAGE;
	refused(device_call(dev, command, &t), -ENOMEM, "the last page but one");
	t = target();
	t.start |= 1UL << 62;
	refused(device_call(dev, command, &t), -ENOMEM, "an address with a tag");
}

/* A foreign mapping over the second page of the region; NULL when there is none to be had. */
static void *foreign(int kind)
{
	int prot = PROT_READ | PROT_WRITE, fd = -1;
	int flags = MAP_SHARED | MAP_FIXED;
	void *p;

	if (kind == 0)
		return mmap(region + PAGE, PAGE, prot, flags | MAP_ANONYMOUS, -1, 0);
	if (kind == 1)
		fd = memfd_create("foreign", 0);
	else
		fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || (kind == 1 && ftruncate(fd, PAGE)))
		tap_die("file to map: %s", strerror(errno));
	p = mmap(region + PAGE, PAGE, kind == 1 ? prot : PROT_READ, flags, fd, 0);
	close(fd);
	return p;
}

static void test_foreign(void)
{
	static const char *const names[] = {
		"shared anonymous memory", "a shared writable file",
		"a shared read-only file",
	};
	unsigned long start, end;
	char line[256];
	unsigned int k;
	FILE *f;

	for (k = 0; k < 3; k++) {
		if (foreign(k) == MAP_FAILED)
			tap_die("map %s: %s", names[k], strerror(errno));
		region_mark();
		refused(device_range(dev, PKSM_REGISTER, region, REGION),
			-EOPNOTSUPP, names[k]);
		tap_is(device_range(dev, PKSM_UNREGISTER, region, REGION), 0,
		       "%s is nothing to take back", names[k]);
		tap_ok(device_digest(getpid(), region, REGION) == region_before,
		       "  and nothing changed");
	}
	if (mmap(region + PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		tap_die("map: %s", strerror(errno));
	madvise(region + PAGE, PAGE, MADV_NOHUGEPAGE);
	region_mark();

	f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar]") &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2)
			refused(device_range(dev, PKSM_REGISTER, (void *)start,
					     end - start),
				-EOPNOTSUPP, "the kernel's own page [vvar]");
	if (f)
		fclose(f);
}

static void test_huge_file(void)
{
	void *p;

	file_put("/proc/sys/vm/nr_hugepages", "2");
	p = mmap(NULL, HUGE_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED) {
		tap_skip("no huge page to be had", "huge page file");
	} else {
		refused(device_range(dev, PKSM_REGISTER, p, HUGE_PAGE),
			-EOPNOTSUPP, "huge page file");
		munmap(p, HUGE_PAGE);
	}
	file_put("/proc/sys/vm/nr_hugepages", "0");
}

static void test_range(void)
{
	pid_t me = getpid();
	void *p;
	int fd;

	tap_is(device_range(dev, PKSM_REGISTER, region + PAGE, 2 * PAGE), 0,
	       "register the middle of a mapping");
	tap_is(device_registered(me, region, REGION), 2 * PAGE,
	       "two pages of four are registered");
	tap_is(device_registered(me, region + PAGE, 2 * PAGE), 2 * PAGE,
	       "they are the two in the middle");
	region_mark();
	tap_is(device_range(dev, PKSM_REGISTER, region + PAGE, 2 * PAGE), 0,
	       "register again");
	tap_ok(device_digest(me, region, REGION) == region_before,
	       "  which changes nothing");
	tap_is(device_range(dev, PKSM_REGISTER, region, REGION), 0,
	       "register the whole, part of which is registered");
	tap_is(device_registered(me, region, REGION), REGION, "all of it is registered");
	tap_is(device_range(dev, PKSM_UNREGISTER, region + 3 * PAGE, PAGE), 0,
	       "unregister the last page");
	tap_is(device_registered(me, region, REGION), REGION - PAGE, "the others stay");
	tap_is(device_range(dev, PKSM_UNREGISTER, region, REGION), 0, "unregister the whole");
	tap_is(device_registered(me, region, REGION), 0, "nothing is registered");
	region_mark();
	tap_is(device_range(dev, PKSM_UNREGISTER, region, REGION), 0, "unregister again");
	tap_ok(device_digest(me, region, REGION) == region_before,
	       "  which changes nothing");

	fd = open("/proc/self/exe", O_RDONLY);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	tap_ok(p != MAP_FAILED && !device_range(dev, PKSM_REGISTER, p, PAGE) &&
	       device_registered(me, p, PAGE) == PAGE,
	       "a private mapping of a file can be registered");
	munmap(p, PAGE);
	p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tap_ok(p != MAP_FAILED && !device_range(dev, PKSM_REGISTER, p, PAGE) &&
	       device_registered(me, p, PAGE) == PAGE,
	       "memory without access can be registered");
	munmap(p, PAGE);
}

/* The same call as a 32-bit program makes it; pointers must be below 4 GiB. */
static long call32(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

static void test_compat(void)
{
	const long nr_getpid = 20, nr_ioctl = 54;
	struct pksm_target *t;
	struct pksm_info *i;
	void *low;

	low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED || call32(nr_getpid, 0, 0, 0) != getpid()) {
		tap_skip("no 32-bit system calls here", "32-bit caller");
		return;
	}
	i = low;
	i->size = sizeof(*i);
	tap_is(call32(nr_ioctl, dev, PKSM_INFO, (long)low), 0, "32-bit caller: info");
	tap_is(i->version, PKSM_ABI_VERSION, "32-bit caller: version");

	/* The range lies above what a 32-bit pointer holds. */
	t = low;
	*t = target();
	tap_is(call32(nr_ioctl, dev, PKSM_REGISTER, (long)low), 0, "32-bit caller: register");
	tap_is(device_registered(getpid(), region, REGION), REGION,
	       "32-bit caller: range above 4 GiB is registered");
	t->reserved = 1;
	tap_is(call32(nr_ioctl, dev, PKSM_UNREGISTER, (long)low), -EINVAL,
	       "32-bit caller: reserved member");
	t->reserved = 0;
	tap_is(call32(nr_ioctl, dev, PKSM_UNREGISTER, (long)low), 0, "32-bit caller: unregister");
	tap_is(device_registered(getpid(), region, REGION), 0,
	       "32-bit caller: nothing is registered");
	munmap(low, PAGE);
}

int main(void)
{
	/* Without neighbours, or a mapping of another test could become part of it. */
	region = (char *)page_map(REGION_PAGES + 2) + PAGE;
	if (munmap(region - PAGE, PAGE) || munmap(region + REGION, PAGE) ||
	    mmap(region - PAGE, PAGE, PROT_NONE, GUARD, -1, 0) == MAP_FAILED ||
	    mmap(region + REGION, PAGE, PROT_NONE, GUARD, -1, 0) == MAP_FAILED)
		tap_die("guard pages: %s", strerror(errno));
	page_fill(region, REGION_PAGES, 7);
	dev = device_open();

	test_node();
	test_pin();
	test_info();
	test_commands();
	test_sizes();
	test_members(PKSM_REGISTER, "register");
	test_members(PKSM_UNREGISTER, "unregister");
	test_holes(PKSM_REGISTER, "register a range with a hole");
	test_holes(PKSM_UNREGISTER, "unregister a range with a hole");
	test_foreign();
	test_huge_file();
	test_range();
	test_compat();
	tap_ok(page_is(region, 1, 7) && page_is(region + 2 * PAGE, 2, 7),
	       "the bytes of the region are as they were");
	return tap_done();
}
