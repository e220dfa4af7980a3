/*
 * Lines of cells: texts with a style, each of a width, for a terminal or a
 * file. All text goes through here, so that nothing from outside drives a
 * terminal: what is no character that is shown becomes \xNN. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_PAGE_H
#define DDBLOCKD_CLI_TOP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

enum page_style {
	PAGE_PLAIN,
	PAGE_TITLE,
	PAGE_HEADING,
	PAGE_SELECTED,
	PAGE_GOOD,
	PAGE_WARNING,
	PAGE_BAD,
	PAGE_FAINT,
	PAGE_STYLES,
};

/* Text at a place; it fits there. */
typedef void page_sink(void *arg, unsigned line, unsigned column,
    enum page_style, const char *bytes, size_t length);

struct page {
	unsigned columns, lines;
	unsigned line, column;	/* where the next text goes */
	page_sink *sink;
	void *arg;
	struct buffer scratch;
};

void page_init(struct page *, unsigned columns, unsigned lines, page_sink *,
    void *arg);
void page_done(struct page *);

/* How many columns a text takes. */
unsigned page_width(const char *bytes, size_t length);

/* As much as fits of a text; what does not ends in "~". */
void page_put(struct page *, enum page_style, const char *text);
void page_put_bytes(struct page *, enum page_style, const char *bytes,
    size_t length);
void page_printf(struct page *, enum page_style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same in a cell of @width columns, filled with spaces; to the right: so
 * that the text ends there. */
void page_cell(struct page *, enum page_style, const char *text,
    unsigned width, bool right);

/* Spaces up to that column, or to the end of the line. */
void page_fill(struct page *, enum page_style, unsigned column);

/* The next line. False: there is none. */
bool page_next(struct page *);
bool page_is_full(const struct page *);

/* "350ms", "4.2s", "5m03s", "3h05m", "12d04h": six columns at most, up to 99
 * days. */
void page_duration(char *ret, size_t size, uint64_t ms);
#define PAGE_DURATION_SIZE 24

#endif
