/*
 * Blanks and lines as Python's texts have them. The texts are well-formed
 * UTF-8; that was seen to before.
 */
#include "identity/profile_text.h"

#include <string.h>

#define BLANK_MAX 3	/* bytes of one */

/* Those of more than one byte. The second half ends lines, too. */
static const char *const wide_blanks[] = {
	"\302\240", "\341\232\200", "\342\200\200", "\342\200\201",
	"\342\200\202", "\342\200\203", "\342\200\204", "\342\200\205",
	"\342\200\206", "\342\200\207", "\342\200\210", "\342\200\211",
	"\342\200\212", "\342\200\257", "\342\201\237", "\343\200\200",
};
static const char *const wide_ends[] = {
	"\302\205", "\342\200\250", "\342\200\251",
};

static size_t
text_find(const char *const *table, size_t n, const char *at, size_t length)
{
	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(table[i]);

		if (length >= size && memcmp(at, table[i], size) == 0)
			return size;
	}
	return 0;
}

/* The length of what ends a line there, or 0. */
static size_t
text_end(const char *at, size_t length)
{
	unsigned char c = (unsigned char)at[0];

	if (c == '\r' && length > 1 && at[1] == '\n')
		return 2;
	if ((c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e))
		return 1;
	return text_find(wide_ends, sizeof(wide_ends) / sizeof(wide_ends[0]),
	    at, length);
}

/* The length of the blank there, or 0. */
static size_t
text_blank(const char *at, size_t length)
{
	unsigned char c = (unsigned char)at[0];
	size_t size;

	if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f))
		return 1;
	if (c < 0x80)
		return 0;
	size = text_find(wide_ends, sizeof(wide_ends) / sizeof(wide_ends[0]),
	    at, length);
	return size > 0 ? size : text_find(wide_blanks,
	    sizeof(wide_blanks) / sizeof(wide_blanks[0]), at, length);
}

/* The length of the blank that ends there, or 0. */
static size_t
text_blank_before(const struct profile_span *s)
{
	for (size_t size = 1; size <= BLANK_MAX && size <= s->length; size++)
		if (text_blank(s->at + s->length - size, size) == size)
			return size;
	return 0;
}

struct profile_span
profile_strip(struct profile_span s, size_t *indent)
{
	size_t size, n = 0;

	while (s.length > 0 && (size = text_blank(s.at, s.length)) > 0) {
		s.at += size;
		s.length -= size;
		n++;
	}
	while (s.length > 0 && (size = text_blank_before(&s)) > 0)
		s.length -= size;
	if (indent != NULL)
		*indent = n;
	return s;
}

bool
profile_line(struct profile_span *rest, bool inner, struct profile_span *line)
{
	size_t length = 0, size = 0;

	if (rest->length == 0)
		return false;
	while (length < rest->length) {
		char c = rest->at[length];

		if (inner || c == '\n' || c == '\r')
			size = text_end(rest->at + length,
			    rest->length - length);
		if (size > 0)
			break;
		length++;
	}
	line->at = rest->at;
	line->length = length;
	rest->at += length + size;
	rest->length -= length + size;
	return true;
}
