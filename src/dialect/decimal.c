/*
 * Numbers of any size.
 */
#include "dialect/decimal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DECIMAL_BASE 1000000000u
#define DECIMAL_DIGITS 9
#define DECIMAL_WORDS (DECIMAL_BYTES_MAX / 4)

/* Without the zeros in front. */
static size_t
decimal_skip(const unsigned char **bytes, size_t n)
{
	while (n > 0 && **bytes == 0) {
		++*bytes;
		n--;
	}
	return n;
}

bool
decimal_small(const unsigned char *bytes, size_t n, uint64_t *ret)
{
	uint64_t number = 0;

	n = decimal_skip(&bytes, n);
	if (n > sizeof(number))
		return false;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes[i];
	*ret = number;
	return true;
}

/* Divide the words, the most significant first, and return the rest. */
static uint32_t
decimal_divide(uint32_t *words, size_t n)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < n; i++) {
		rest = rest << 32 | words[i];
		words[i] = (uint32_t)(rest / DECIMAL_BASE);
		rest %= DECIMAL_BASE;
	}
	return (uint32_t)rest;
}

void
decimal_text(const unsigned char *bytes, size_t n, char *text)
{
	uint32_t words[DECIMAL_WORDS] = { 0 };
	size_t first = 0, n_words, room, at;
	char digits[DECIMAL_DIGITS + 2];

	assert(n <= DECIMAL_BYTES_MAX);
	n = decimal_skip(&bytes, n);
	room = DECIMAL_ROOM(n);
	n_words = (n + 3) / 4;
	for (size_t i = 0; i < n; i++) {
		size_t low = n - 1 - i;	/* how many bytes are below it */

		words[n_words - 1 - low / 4] |=
		    (uint32_t)bytes[i] << 8 * (low % 4);
	}
	/* From the end of the text to its beginning. */
	at = room - 1;
	text[at] = '\0';
	do {
		uint32_t part = decimal_divide(words + first,
		    n_words - first);

		while (first < n_words && words[first] == 0)
			first++;
		(void)snprintf(digits, sizeof(digits),
		    first < n_words ? "%09" PRIu32 : "%" PRIu32, part);
		at -= strlen(digits);
		memcpy(text + at, digits, strlen(digits));
	} while (first < n_words);
	memmove(text, text + at, room - at);
}

size_t
decimal_add(const unsigned char *bytes, size_t n, uint64_t more,
    unsigned char *ret)
{
	uint64_t carry = more;

	for (size_t i = n; i > 0; i--) {
		/* The sum's part above the byte is carried whole. */
		uint64_t sum = bytes[i - 1] + (carry & 0xff);

		ret[i - 1] = (unsigned char)sum;
		carry = (carry >> 8) + (sum >> 8);
	}
	while (carry > 0) {
		memmove(ret + 1, ret, n++);
		ret[0] = (unsigned char)carry;
		carry >>= 8;
	}
	return n;
}
