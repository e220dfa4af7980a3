/*
 * UTF-8, by the table of well-formed byte sequences in the Unicode standard:
 * only the second byte's range depends on the first.
 */
#include "common/utf8.h"

#include <string.h>

static size_t
utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

size_t
utf8_character(const char *bytes, size_t length)
{
	const unsigned char *u = (const unsigned char *)bytes;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t n;

	if (length == 0)
		return 0;
	n = utf8_length(u[0]);
	if (n <= 1 || n > length)
		return n == 1 ? 1 : 0;

	if (u[0] == 0xe0)
		low = 0xa0; /* shorter forms exist */
	else if (u[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (u[0] == 0xf0)
		low = 0x90;
	else if (u[0] == 0xf4)
		high = 0x8f;
	if (u[1] < low || u[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

size_t
utf8_shown(const char *bytes, size_t length)
{
	const unsigned char *u = (const unsigned char *)bytes;
	size_t n = utf8_character(bytes, length);

	if (n == 1 && (u[0] < 0x20 || u[0] == 0x7f))
		return 0;
	if (n == 2 && u[0] == 0xc2 && u[1] < 0xa0)
		return 0;
	return n;
}

bool
utf8_is_shown(const char *text)
{
	size_t length = strlen(text);
	size_t n;

	for (size_t i = 0; i < length; i += n) {
		n = utf8_shown(text + i, length - i);
		if (n == 0)
			return false;
	}
	return true;
}

void
utf8_make_shown(char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t n = utf8_shown(text + i, length - i);

		if (n == 0)
			text[i] = '?';
		i += n > 0 ? n : 1;
	}
}
