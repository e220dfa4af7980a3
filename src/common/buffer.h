/*
 * A growable array of bytes with a cap: every queue of bytes in the program is
 * one of these, so that each has a bound and one way of failing.
 */
#ifndef DDBLOCKD_COMMON_BUFFER_H
#define DDBLOCKD_COMMON_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer {
	char *data;		/* always followed by a NUL once not NULL */
	size_t length;
	size_t size;		/* allocated bytes */
	size_t length_max;
	int error;		/* of the first append that failed */
	bool secret;
};

/* An empty buffer that never holds more than @length_max bytes. */
void buffer_init(struct buffer *, size_t length_max);

/* The same for secrets: its content is overwritten whenever its memory is given
 * back, also when it grew into another piece. */
void buffer_init_secret(struct buffer *, size_t length_max);

/* Free the memory. The buffer is empty and usable again. */
void buffer_done(struct buffer *);

/* As buffer_done(), but overwrite the bytes first. What was there before it
 * grew is not found any more: see buffer_init_secret(). */
void buffer_wipe(struct buffer *);

/* Forget the content and the failure; keep the memory. */
void buffer_clear(struct buffer *);

/*
 * Appending returns 0, or DDBLOCK_E_LIMIT or DDBLOCK_E_NOMEM with nothing
 * appended. The failure sticks until buffer_clear(), and later appends fail
 * too, so a writer may append many pieces and ask once at the end.
 */
static inline int buffer_append(struct buffer *, const void *bytes,
    size_t length);
static inline int buffer_append_text(struct buffer *, const char *text);
int buffer_append_number(struct buffer *, uint64_t);	/* in decimal */
int buffer_printf(struct buffer *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *, const char *format, va_list)
    __attribute__((format(printf, 2, 0)));

/* 0 if all appends since the last clear succeeded, else the first error. */
int buffer_failed(const struct buffer *);

/* Make room for @length more bytes without appending. */
int buffer_reserve(struct buffer *, size_t length);

/* Remove the first @length bytes (at most all). */
void buffer_consume(struct buffer *, size_t length);

/* Give back memory beyond the content; all of it when the buffer is empty. */
void buffer_shrink(struct buffer *);

/* ---- appending --------------------------------------------------------- */

/* Most of what is appended is short, and there is room for it. */
static inline int
buffer_append(struct buffer *b, const void *bytes, size_t length)
{
	if (b->error != 0 || length >= b->size - b->length ||
	    length > b->length_max - b->length) {
		int r = buffer_reserve(b, length);

		if (r < 0)
			return r;
	}
	if (length > 0)
		memcpy(b->data + b->length, bytes, length);
	b->length += length;
	b->data[b->length] = '\0';
	return 0;
}

static inline int
buffer_append_text(struct buffer *b, const char *text)
{
	return buffer_append(b, text, strlen(text));
}

#endif
