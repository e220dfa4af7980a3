/*
 * What the fuzz targets share: reading their input, and how a property fails.
 *
 * An input is lines, so that a corpus can be read and written by people, and a
 * mutation of one line leaves the others.
 */
#ifndef DDBLOCKD_TESTS_FUZZ_FUZZ_H
#define DDBLOCKD_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer calls it with each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The property does not hold: this input is kept. */
#define FUZZ_CHECK(condition)                                                  \
	do {                                                                   \
		if (!(condition)) {                                            \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__,         \
			    __LINE__, #condition);                             \
			abort();                                               \
		}                                                              \
	} while (false)

struct fuzz_input {
	const char *at;
	size_t length;
};

static inline struct fuzz_input
fuzz_input(const uint8_t *data, size_t size)
{
	return (struct fuzz_input){ (const char *)data, size };
}

/* The next byte; 0 after the last. */
static inline unsigned
fuzz_byte(struct fuzz_input *in)
{
	if (in->length == 0)
		return 0;
	in->length--;
	return (unsigned char)*in->at++;
}

/* The next line, without its LF; false: there is none. */
static inline bool
fuzz_line(struct fuzz_input *in, struct fuzz_input *ret)
{
	const char *end;

	if (in->length == 0)
		return false;
	end = memchr(in->at, '\n', in->length);
	ret->at = in->at;
	ret->length = end == NULL ? in->length : (size_t)(end - in->at);
	in->at += ret->length + (end != NULL);
	in->length -= ret->length + (end != NULL);
	return true;
}

/* A copy with a NUL after it, in a piece of memory of its own, so that a read
 * beyond it is seen. */
static inline char *
fuzz_copy(const char *bytes, size_t length)
{
	char *copy = malloc(length + 1);

	FUZZ_CHECK(copy != NULL);
	if (length > 0)
		memcpy(copy, bytes, length);
	copy[length] = '\0';
	return copy;
}

/* The same without a NUL. */
static inline char *
fuzz_exact_copy(const char *bytes, size_t length)
{
	char *copy = malloc(length > 0 ? length : 1);

	FUZZ_CHECK(copy != NULL);
	if (length > 0)
		memcpy(copy, bytes, length);
	return copy;
}

#endif
