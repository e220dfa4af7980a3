/*
 * What names a lock within its namespace. To the core and to the stores these
 * are bytes, to be compared; only code that talks to clients, to people and to
 * tables with a sort key sees two parts in them.
 *
 * `KEY` is the lock with that key and the sort value "-", which is also what a
 * client means that gives none; any other sort value stands behind a NUL:
 * `KEY NUL SORT`. A lock has one name only, so "-" never stands there; and what
 * begins with a text without NUL is what has a key that begins with it.
 */
#ifndef DDBLOCKD_CORE_KEY_H
#define DDBLOCKD_CORE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#define KEY_LENGTH_MAX 1024	/* of a client's key */
#define KEY_SORT_MAX 1024	/* of a sort value; what DynamoDB takes */
#define KEY_BYTES_MAX (KEY_LENGTH_MAX + 1 + KEY_SORT_MAX)
#define KEY_SORT_NONE "-"

/* Bytes, not a C string; also of what else is bytes. */
struct key {
	const char *bytes;
	size_t length;
};

struct key_parts {
	struct key key;
	struct key sort;
};

/* A key of a C string. */
struct key key_text(const char *text);

bool key_equal(struct key, struct key);
bool key_begins_with(struct key, struct key prefix);

/* The order of two keys, byte by byte, for tsearch(3) and its like. */
int key_compare(const void *, const void *);

/* The parts of a name, in its bytes. */
struct key_parts key_split(struct key name);

/* The name of these parts, which fit, in @bytes or in those of the key. */
struct key key_join(const struct key_parts *, char bytes[KEY_BYTES_MAX]);

/* Has it a sort value other than `-`? */
bool key_is_sorted(const struct key_parts *);

/* Has it parts of lengths that are allowed, put together as above? */
bool key_is_sound(struct key name);

#endif
