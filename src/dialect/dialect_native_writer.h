/*
 * The pieces that requests of the native format are put together from. What
 * the buffer has no room for is in its error, which is looked at once, at the
 * end.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_NATIVE_WRITER_H
#define DDBLOCKD_DIALECT_DIALECT_NATIVE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dialect/dialect_native.h"

struct native_writer {
	const struct dialect_table *table;
	struct buffer *to;
	bool more;	/* a value was written already */
	bool part;	/* it is one of several in a request */
};

/* What every request begins with. */
void native_begin(struct native_writer *);
/* A text of our own: nothing in it needs to be escaped. */
void native_member(struct native_writer *, const char *name,
    const char *text);

/* {"key":{"S":"lock:..."}}, with the sort value where the table has one */
void native_write_item(struct native_writer *, const struct native_item *);
/* The same of the item that the operation is about. */
void native_item_key(struct native_writer *, const struct operation *);

/* Every name in the expressions, once. */
void native_write_names(struct native_writer *, const char *update,
    const char *condition);

/* All of an update up to its values, which follow, and native_end(). */
void native_update(struct native_writer *, const struct operation *,
    const char *update, const char *condition);

/* A value: its placeholder's name, and what it is. */
void native_value_number(struct native_writer *, const char *name,
    uint64_t n);
void native_value_text(struct native_writer *, const char *name,
    const char *text);
/* One as a text, some as a set. */
void native_value_holder(struct native_writer *, const char *name,
    const struct holder *);
void native_value_holders(struct native_writer *, const char *name,
    const struct holder *, size_t n);
/* As the only element of a set, or as a text. */
void native_value_session(struct native_writer *, const char *name,
    struct ident session, bool set);

void native_value_bytes(struct native_writer *, const char *name,
    struct key bytes);
void native_value_revision(struct native_writer *, const char *name,
    struct revision);
/* As a map of its own. */
void native_value_attributes(struct native_writer *, const char *name,
    const struct contents *);

void native_end(struct native_writer *);

#endif
