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
		unsigned char c = (unsigned char)bytes[i];
		size_t n = utf8_character(bytes + i, length - i);

		if (n == 0 || c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			break;
		i += n;
	}
	return i;
}

static void
json_quote_other(struct buffer *b, unsigned char c)
{
	if (c == '"' || c == '\\')
		(void)buffer_printf(b, "\\%c", c);
	else if (c < 0x80)
		(void)buffer_printf(b, "\\u%04x", c);
	else
		(void)buffer_append_text(b, "\\ufffd");
}

void
json_quote(struct buffer *b, const char *bytes, size_t length)
{
	(void)buffer_append(b, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		size_t n = json_quote_plain(bytes + i, length - i);

		(void)buffer_append(b, bytes + i, n);
		i += n;
		if (i < length)
			json_quote_other(b, (unsigned char)bytes[i]);
	}
	(void)buffer_append(b, "\"", 1);
}
