/*
 * Log entries as lines of JSON.
 */
#include "common/log_json.h"

#include <stdbool.h>

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

/* The lowest character that needs a form of @n bytes. */
static unsigned long
log_json_least(size_t n)
{
	return n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
}

/* The length of the well-formed character at @p, not ASCII; or 0. */
static size_t
log_json_character(const unsigned char *p)
{
	size_t n = *p >= 0xf0 && *p < 0xf8 ? 4 : *p >= 0xe0 ? 3 : 2;
	unsigned long c = *p & (0xffu >> (n + 1));

	if (*p < 0xc2 || *p >= 0xf8)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < log_json_least(n) || c > 0x10ffff || (c >= 0xd800 &&
	    c < 0xe000))
		return 0;
	return n;
}

static void
log_json_text(struct buffer *b, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	(void)buffer_append_text(b, "\"");
	while (*p != '\0') {
		size_t n = *p < 0x80 ? 1 : log_json_character(p);

		if (*p == '"' || *p == '\\')
			(void)buffer_printf(b, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			(void)buffer_printf(b, "\\u%04x", (unsigned)*p);
		else if (n == 0)
			(void)buffer_append_text(b, "\\ufffd");
		else
			(void)buffer_append(b, p, n);
		p += n == 0 ? 1 : n;
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
