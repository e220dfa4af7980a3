/*
 * Bounded byte buffers.
 */
#include "common/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define BUFFER_SIZE_MIN 128
#define BUFFER_DIGITS_MAX 20	/* of 64 bits */

void
buffer_init(struct buffer *b, size_t length_max)
{
	*b = (struct buffer){ .length_max = length_max };
}

void
buffer_init_secret(struct buffer *b, size_t length_max)
{
	*b = (struct buffer){ .length_max = length_max, .secret = true };
}

static void
buffer_release(struct buffer *b)
{
	if (b->secret && b->data != NULL)
		explicit_bzero(b->data, b->size);
	free(b->data);
	b->data = NULL;
	b->size = 0;
}

void
buffer_done(struct buffer *b)
{
	buffer_release(b);
	*b = (struct buffer){
		.length_max = b->length_max, .secret = b->secret,
	};
}

void
buffer_wipe(struct buffer *b)
{
	if (b->data != NULL)
		explicit_bzero(b->data, b->size);
	buffer_done(b);
}

void
buffer_clear(struct buffer *b)
{
	b->length = 0;
	b->error = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}

static int
buffer_fail(struct buffer *b, int code)
{
	if (b->error == 0)
		b->error = code;
	return b->error;
}

/* Other memory of @size bytes for what there is, which fits. */
static char *
buffer_move(struct buffer *b, size_t size)
{
	char *data;

	if (!b->secret)
		return realloc(b->data, size);
	data = malloc(size);
	if (data != NULL && b->data != NULL)
		memcpy(data, b->data, b->length + 1);
	if (data != NULL)
		buffer_release(b);
	return data;
}

int
buffer_reserve(struct buffer *b, size_t length)
{
	size_t size = b->size < BUFFER_SIZE_MIN ? BUFFER_SIZE_MIN : b->size;
	char *data;

	if (b->error != 0)
		return b->error;
	if (length > b->length_max - b->length)
		return buffer_fail(b, DDBLOCK_E_LIMIT);
	if (b->length + length < b->size)
		return 0;
	while (size <= b->length + length)
		size *= 2;

	data = buffer_move(b, size);
	if (data == NULL)
		return buffer_fail(b, DDBLOCK_E_NOMEM);
	b->data = data;
	b->size = size;
	return 0;
}

int
buffer_append_number(struct buffer *b, uint64_t number)
{
	char digits[BUFFER_DIGITS_MAX];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return buffer_append(b, digits + at, sizeof(digits) - at);
}

/* Most of what is printed has room already, and is formatted once only. */
int
buffer_vprintf(struct buffer *b, const char *format, va_list arguments)
{
	va_list again;
	size_t room;
	int length;
	int r;

	r = buffer_reserve(b, 0);
	if (r < 0)
		return r;
	room = b->size - b->length;
	va_copy(again, arguments);
	length = vsnprintf(b->data + b->length, room, format, again);
	va_end(again);
	if (length >= 0 && (size_t)length < room &&
	    (size_t)length <= b->length_max - b->length) {
		b->length += (size_t)length;
		return 0;
	}

	b->data[b->length] = '\0';
	if (length < 0)
		return buffer_fail(b, DDBLOCK_E_INTERNAL);
	r = buffer_reserve(b, (size_t)length);
	if (r < 0)
		return r;
	(void)vsnprintf(b->data + b->length, (size_t)length + 1, format,
	    arguments);
	b->length += (size_t)length;
	return 0;
}

int
buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = buffer_vprintf(b, format, arguments);
	va_end(arguments);
	return r;
}

int
buffer_failed(const struct buffer *b)
{
	return b->error;
}

void
buffer_consume(struct buffer *b, size_t length)
{
	assert(length <= b->length);
	if (length == 0)
		return;
	b->length -= length;
	memmove(b->data, b->data + length, b->length + 1);
}

void
buffer_shrink(struct buffer *b)
{
	char *data;

	if (b->length == 0) {
		buffer_release(b);
		return;
	}
	if (b->size <= BUFFER_SIZE_MIN || b->length >= b->size / 4)
		return;
	data = buffer_move(b, b->length + 1);
	if (data == NULL)
		return; /* the larger block still serves */
	b->data = data;
	b->size = b->length + 1;
}
