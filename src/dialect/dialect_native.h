/*
 * What the two halves of the native format share: names, and the text forms
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

/* dialect_native_read.c */
int native_answer(const struct dialect_table *, const struct operation *,
    const struct dialect_attempt *, bool conflict, const char *body,
    size_t length, struct dialect_view *);

#endif
