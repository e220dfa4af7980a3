/*
 * Texts, cut to their places.
 */
#include <config.h>

#include "cli/top/page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "common/time_text.h"
#include "common/utf8.h"

#define PAGE_SCRATCH_MAX (1024 * 1024)
#define PAGE_ESCAPE_COLUMNS 4	/* \xNN */

void
page_init(struct page *p, unsigned columns, unsigned lines, page_sink *sink,
    void *arg)
{
	*p = (struct page){ .columns = columns, .lines = lines, .sink = sink,
		.arg = arg };
	buffer_init(&p->scratch, PAGE_SCRATCH_MAX);
}

void
page_done(struct page *p)
{
	buffer_done(&p->scratch);
}

/* Of well-formed UTF-8. */
static wchar_t
page_decode(const char *bytes, size_t length)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned long c = (unsigned char)bytes[0] & masks[length];

	for (size_t i = 1; i < length; i++)
		c = c << 6 | ((unsigned char)bytes[i] & 0x3f);
	return (wchar_t)c;
}

/* Characters that have no shape, but turn or hide what is beside them. */
static bool
page_is_format(wchar_t c)
{
	return c == 0xad || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	    c == 0xfeff || (c >= 0xe0000 && c <= 0xe0fff);
}

/* The character at the start: its bytes, and how many columns it takes. 0: its
 * first byte is to be escaped. */
static size_t
page_character(const char *bytes, size_t length, unsigned *ret_columns)
{
	size_t n = utf8_shown(bytes, length);
	wchar_t c;
	int width;

	*ret_columns = PAGE_ESCAPE_COLUMNS;
	if (n == 0)
		return 0;
	c = page_decode(bytes, n);
	width = wcwidth(c);
	if (width < 0 || page_is_format(c))
		return 0;
	*ret_columns = (unsigned)width;
	return n;
}

unsigned
page_width(const char *bytes, size_t length)
{
	unsigned columns = 0;

	for (size_t i = 0; i < length;) {
		unsigned width;
		size_t n = page_character(bytes + i, length - i, &width);

		columns += width;
		i += n == 0 ? 1 : n;
	}
	return columns;
}

/* Append as much as fits into @width columns; returns how many it takes. */
static unsigned
page_clean(struct buffer *b, const char *bytes, size_t length, unsigned width)
{
	bool cut = page_width(bytes, length) > width;
	unsigned room = cut && width > 0 ? width - 1 : width;
	unsigned columns = 0;

	for (size_t i = 0; i < length;) {
		unsigned more;
		size_t n = page_character(bytes + i, length - i, &more);

		if (columns + more > room)
			break;
		if (n == 0)
			(void)buffer_printf(b, "\\x%02x",
			    (unsigned char)bytes[i]);
		else
			(void)buffer_append(b, bytes + i, n);
		columns += more;
		i += n == 0 ? 1 : n;
	}
	if (cut && width > 0) {
		(void)buffer_append_text(b, "~");
		columns++;
	}
	return columns;
}

static void
page_send(struct page *p, enum page_style style, unsigned columns)
{
	if (p->scratch.length > 0 && buffer_failed(&p->scratch) == 0 &&
	    p->line < p->lines)
		p->sink(p->arg, p->line, p->column, style, p->scratch.data,
		    p->scratch.length);
	p->column += columns;
	buffer_clear(&p->scratch);
}

void
page_put_bytes(struct page *p, enum page_style style, const char *bytes,
    size_t length)
{
	page_send(p, style, page_clean(&p->scratch, bytes, length,
	    p->columns - p->column));
}

void
page_put(struct page *p, enum page_style style, const char *text)
{
	page_put_bytes(p, style, text, strlen(text));
}

void
page_printf(struct page *p, enum page_style style, const char *format, ...)
{
	struct buffer b;
	va_list arguments;

	buffer_init(&b, PAGE_SCRATCH_MAX);
	va_start(arguments, format);
	(void)buffer_vprintf(&b, format, arguments);
	va_end(arguments);
	if (b.data != NULL && buffer_failed(&b) == 0)
		page_put_bytes(p, style, b.data, b.length);
	buffer_done(&b);
}

static void
page_spaces(struct buffer *b, unsigned n)
{
	while (n-- > 0)
		(void)buffer_append_text(b, " ");
}

void
page_cell(struct page *p, enum page_style style, const char *text,
    unsigned width, bool right)
{
	unsigned room = p->columns - p->column;
	unsigned columns;

	if (width > room)
		width = room;
	columns = page_width(text, strlen(text));
	if (right && columns < width)
		page_spaces(&p->scratch, width - columns);
	columns = page_clean(&p->scratch, text, strlen(text), width);
	if (!right)
		page_spaces(&p->scratch, width - columns);
	page_send(p, style, width);
}

void
page_fill(struct page *p, enum page_style style, unsigned column)
{
	if (column > p->columns)
		column = p->columns;
	if (column > p->column) {
		page_spaces(&p->scratch, column - p->column);
		page_send(p, style, column - p->column);
	}
}

bool
page_next(struct page *p)
{
	p->column = 0;
	if (p->line < p->lines)
		p->line++;
	return p->line < p->lines;
}

bool
page_is_full(const struct page *p)
{
	return p->line >= p->lines;
}

void
page_duration(char *ret, size_t size, uint64_t ms)
{
	char text[TIME_TEXT_MAX];

	if (ms < 1000)
		(void)snprintf(ret, size, "%" PRIu64 "ms", ms);
	else
		(void)snprintf(ret, size, "%s", time_text(ms, 60000, text));
}
