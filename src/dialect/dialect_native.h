/*
 * What the files of the native format share: names, and the text forms
 * of holders and item keys.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_NATIVE_H
#define DDBLOCKD_DIALECT_DIALECT_NATIVE_H

#include "dialect/dialect.h"

#define NATIVE_LOCK_PREFIX "lock:"
#define NATIVE_SESSION_PREFIX "session:"

/* SID.GRANT.LEASE_MS.FLAGS and a NUL */
#define NATIVE_HOLDER_SIZE (2 * (IDENT_TEXT_LENGTH + 1) + 20 + 1 + 2)

void native_format_holder(const struct holder *,
    char text[NATIVE_HOLDER_SIZE]);
bool native_parse_holder(const char *text, size_t length, struct holder *ret);

/* The longest item key, of either kind, and a NUL */
#define NATIVE_ITEM_SIZE (sizeof(NATIVE_SESSION_PREFIX) + KEY_LENGTH_MAX)

/* "lock:KEY", without a NUL; returns its length. */
size_t native_lock_item(struct key key, char item[NATIVE_ITEM_SIZE]);

#define NATIVE_TOKEN_ROOM "a number (N) that leaves room for more below 2^53"

/* dialect_native_read.c */

/* What is wrong with a record, and where. @key: the item's, prefix and all. */
void native_describe(const struct dialect_table *, struct key key,
    const char *attribute, const char *expected, char text[OUTCOME_TEXT_MAX]);
int native_answer(const struct dialect_table *, const struct operation *,
    const struct dialect_attempt *, bool conflict, const char *body,
    size_t length, struct dialect_view *);

#endif
