/*
 * Base64.
 */
#include "common/base64.h"

#include <stdint.h>
#include <string.h>

#define BASE64_CHUNK 768	/* bytes at a time: a multiple of 3 */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four characters. */
static void
base64_write_group(const unsigned char *p, size_t n, char text[4])
{
	uint32_t bits = (uint32_t)p[0] << 16;

	if (n > 1)
		bits |= (uint32_t)p[1] << 8;
	if (n > 2)
		bits |= p[2];
	for (size_t i = 0; i < 4; i++) {
		text[i] = i > n ? '=' : base64_digits[bits >> 18 & 63];
		bits <<= 6;
	}
}

void
base64_append(struct buffer *to, const void *bytes, size_t length)
{
	const unsigned char *p = bytes;
	char text[BASE64_CHUNK / 3 * 4];

	while (length > 0) {
		size_t n = length < BASE64_CHUNK ? length : BASE64_CHUNK;
		size_t used = 0;

		for (size_t i = 0; i < n; i += 3, used += 4)
			base64_write_group(p + i, n - i < 3 ? n - i : 3,
			    text + used);
		(void)buffer_append(to, text, used);
		p += n;
		length -= n;
	}
}

size_t
base64_room(size_t length)
{
	return length / 4 * 3;
}

/* The six bits of a character, or -1. */
static int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

bool
base64_read(const char *text, size_t length, void *ret, size_t *ret_length)
{
	unsigned char *to = ret;
	size_t padding = 0;

	if (length % 4 != 0)
		return false;
	while (padding < 2 && padding < length &&
	    text[length - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < length; i += 4) {
		uint32_t bits = 0;

		for (size_t k = i; k < i + 4; k++) {
			int value = k >= length - padding ? 0 :
			    base64_value(text[k]);

			if (value < 0)
				return false;
			bits = bits << 6 | (uint32_t)value;
		}
		*to++ = (unsigned char)(bits >> 16);
		if (i + 4 < length || padding < 2)
			*to++ = (unsigned char)(bits >> 8 & 0xff);
		if (i + 4 < length || padding < 1)
			*to++ = (unsigned char)(bits & 0xff);
	}
	*ret_length = length / 4 * 3 - padding;
	return true;
}
