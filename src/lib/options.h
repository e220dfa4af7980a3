/*
 * Structures of options that callers fill: how a structure of another version
 * of the library is read, and which argument of a request each option becomes.
 */
#ifndef DDBLOCKD_LIB_OPTIONS_H
#define DDBLOCKD_LIB_OPTIONS_H

#include <stddef.h>

#include "ipc/protocol.h"

/* The type of an option's field, and which values are not the default. */
enum option_kind {
	OPTION_TEXT,		/* const char *: not NULL */
	OPTION_FLAG,		/* int: the second of two words */
	OPTION_COUNT,		/* uint32_t: not 0 */
	OPTION_TIME,		/* int64_t: from 1; INT64_MAX: for ever */
	OPTION_TIME_OR_NEVER,	/* int64_t: from 1; negative: never */
	OPTION_FUNCTION,	/* any function: not NULL */
	OPTION_DESCRIPTOR,	/* int: from 0 */
};

struct option {
	size_t offset;
	enum option_kind kind;
	enum protocol_argument argument;
};

/*
 * Copy what the caller filled (@size bytes of it) over the defaults in @to.
 * A newer caller may set only fields that we know; the rest must be zero.
 *
 * DDBLOCK_E_UNSUPPORTED
 */
int options_copy(void *to, size_t to_size, const void *from, size_t size);

/* Write the options that are not the default and that the verb takes. */
void options_write(struct buffer *, enum protocol_verb, const void *options,
    const struct option *table, size_t n);

#endif
