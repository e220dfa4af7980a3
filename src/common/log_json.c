/*
 * Log entries as lines of JSON.
 */
#include "common/log_json.h"

#include <string.h>

#include "common/utf8.h"

void
log_json_begin(struct buffer *b)
{
	(void)buffer_append_text(b, "{");
}

void
log_json_end(struct buffer *b)
{
	(void)buffer_append_text(b, "}\n");
}

static void
log_json_text(struct buffer *b, const char *text)
{
	size_t length = strlen(text);

	(void)buffer_append_text(b, "\"");
	for (size_t i = 0, n; i < length; i += n > 0 ? n : 1) {
		unsigned char c = (unsigned char)text[i];

		n = utf8_character(text + i, length - i);
		if (c == '"' || c == '\\')
			(void)buffer_printf(b, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			(void)buffer_printf(b, "\\u%04x", (unsigned)c);
		else if (n == 0)
			(void)buffer_append_text(b, "\\ufffd");
		else
			(void)buffer_append(b, text + i, n);
	}
	(void)buffer_append_text(b, "\"");
}

void
log_json_field(struct buffer *b, const char *name, const char *value)
{
	if (b->length > 1)
		(void)buffer_append_text(b, ",");
	log_json_text(b, name);
	(void)buffer_append_text(b, ":");
	log_json_text(b, value);
}
