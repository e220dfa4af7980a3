/*
 * Texts as JSON has them. Nothing is written but into the buffer, so that one
 * that is secret stays the only place where secrets are.
 */
#include "common/json_quote.h"

#include "common/utf8.h"

/* How many of @bytes stand for themselves. */
static size_t
json_quote_plain(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length) {
		size_t n = utf8_shown(bytes + i, length - i);

		if (n == 0 || bytes[i] == '"' || bytes[i] == '\\')
			break;
		i += n;
	}
	return i;
}

/* What does not stand for itself; the number of bytes that it was. */
static size_t
json_quote_other(struct buffer *b, const char *bytes, size_t length)
{
	size_t n = utf8_character(bytes, length);
	unsigned char c = (unsigned char)bytes[n == 2];

	if (c == '"' || c == '\\')
		(void)buffer_printf(b, "\\%c", c);
	else if (n > 0)	/* U+0080 to U+009F: the second byte says which */
		(void)buffer_printf(b, "\\u%04x", c);
	else
		(void)buffer_append_text(b, "\\ufffd");
	return n > 0 ? n : 1;
}

void
json_quote(struct buffer *b, const char *bytes, size_t length)
{
	(void)buffer_append(b, "\"", 1);
	for (size_t i = 0; i < length;) {
		size_t n = json_quote_plain(bytes + i, length - i);

		(void)buffer_append(b, bytes + i, n);
		i += n;
		if (i < length)
			i += json_quote_other(b, bytes + i, length - i);
	}
	(void)buffer_append(b, "\"", 1);
}
