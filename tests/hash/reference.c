// SPDX-License-Identifier: GPL-2.0-only
/*
 * reference.c - the hash of src/hash.h, written from its definition and with
 * nothing in common with it: digits of 16 bits, multiplied as on paper, and
 * words put together from bytes (of a little-endian machine).
 */
#include "reference.h"

#define DIGITS	8		/* of 16 bits: numbers modulo 2^128 */

struct number {
	__u32 digit[DIGITS];	/* the lowest first */
};

static struct number from_word(__u64 low, __u64 high)
{
	struct number n;
	int i;

	for (i = 0; i < DIGITS; i++)
		n.digit[i] = (i < 4 ? low : high) >> 16 * (i % 4) & 0xffff;
	return n;
}

static __u64 to_word(const struct number *n, int first)
{
	__u64 word = 0;
	int i;

	for (i = 3; i >= 0; i--)
		word = word * 65536 + n->digit[first + i];
	return word;
}

static struct number add(const struct number *a, const struct number *b)
{
	struct number sum;
	__u32 carry = 0;
	int i;

	for (i = 0; i < DIGITS; i++) {
		carry += a->digit[i] + b->digit[i];
		sum.digit[i] = carry % 65536;
		carry /= 65536;
	}
	return sum;
}

static struct number multiply(const struct number *a, const struct number *b)
{
	struct number product = { { 0 } };
	int i, j;

	for (i = 0; i < DIGITS; i++) {
		__u32 carry = 0;

		for (j = 0; i + j < DIGITS; j++) {
			/* At most (2^16 - 1)^2 + 2 * (2^16 - 1): fits. */
			carry += a->digit[i] * b->digit[j] + product.digit[i + j];
			product.digit[i + j] = carry % 65536;
			carry /= 65536;
		}
	}
	return product;
}

/* Modulo 2^64. */
static struct number cut(struct number n)
{
	int i;

	for (i = 4; i < DIGITS; i++)
		n.digit[i] = 0;
	return n;
}

static struct number keyed(const unsigned char *bytes, __u64 key)
{
	struct number k = from_word(key, 0), w;
	__u64 word = 0;
	int i;

	for (i = 7; i >= 0; i--)
		word = word << 8 | bytes[i];
	w = from_word(word, 0);
	return cut(add(&w, &k));
}

__u64 reference_hash(const unsigned char page[4096], const __u64 key[512],
		     const __u64 fold[6])
{
	struct number sum = from_word(0, 0), line = from_word(fold[1], fold[0]);
	struct number half, factor, product, golden = from_word(0x9e3779b97f4a7c15ULL, 0);
	__u64 h;
	int i;

	for (i = 0; i < 512; i += 2) {
		struct number a = keyed(page + 8 * i, key[i]);
		struct number b = keyed(page + 8 * i + 8, key[i + 1]);

		product = multiply(&a, &b);
		sum = add(&sum, &product);
	}
	for (i = 0; i < 2; i++) {
		half = from_word(to_word(&sum, 4 * i), 0);
		factor = from_word(fold[2 * i + 3], fold[2 * i + 2]);
		product = multiply(&half, &factor);
		line = add(&line, &product);
	}
	h = to_word(&line, 4);
	h = h ^ h / 4294967296;
	half = from_word(h, 0);
	product = multiply(&half, &golden);
	h = to_word(&product, 0);
	h = h ^ h / 536870912;
	half = from_word(h, 0);
	product = multiply(&half, &golden);
	h = to_word(&product, 0);
	return h ^ h / 4294967296;
}
