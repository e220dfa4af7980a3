/*
 * The locks of one hold, in the order in which they were named, each with its
 * token, which may be 0: not every record format has tokens.
 */
#ifndef DDBLOCKD_LIB_PARTS_H
#define DDBLOCKD_LIB_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/codec.h"

struct parts {
	size_t n;
	struct part {
		const char *key;
		uint64_t token;
		char *token_text;	/* too large for a number; or NULL */
		bool granted;	/* the daemon has said so */
	} part[];
};

/* NULL: out of memory. */
struct parts *parts_new(const char *const *keys, size_t n);

/* Accepts NULL. */
void parts_free(struct parts *);

struct part *parts_find(struct parts *, const char *key);

/* Take the token from the row about one of many locks, or from a grant of one.
 * DDBLOCK_E_NOMEM */
int parts_granted(struct parts *, const struct codec_line *);
/* Add the lock of that line. DDBLOCK_E_NOMEM */
int parts_add(struct parts **, const char *key, const struct codec_line *);
bool parts_are_granted(const struct parts *);

#endif
