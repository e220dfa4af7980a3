/*
 * The pieces of requests of the native format. If the buffer has no room, its
 * error says so, which is checked once, at the end.
 */
#ifndef DDBLOCKD_DIALECT_NATIVE_WRITER_H
#define DDBLOCKD_DIALECT_NATIVE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dialect/native/native.h"

struct native_writer {
	const struct dialect_table *table;
	struct buffer *to;
	bool more;	/* a value was written already */
	bool part;	/* one item of several in a request */
};

/* The beginning of every request. */
void native_begin(struct native_writer *);
/* A text of our own: it needs no escapes. */
void native_member(struct native_writer *, const char *name,
    const char *text);

/* {"key":{"S":"lock:..."}}, with the sort value where the table has one */
void native_write_item(struct native_writer *, const struct native_item *);
/* The same for the item that the operation is about. */
void native_item_key(struct native_writer *, const struct operation *);

/* Every name in the expressions, once. */
void native_write_names(struct native_writer *, const char *update,
    const char *condition);

/* An update up to its values; the values and native_end() follow. */
void native_update(struct native_writer *, const struct operation *,
    const char *update, const char *condition);

/* A value: its placeholder's name, and its content. */
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

/* A list of this text, which needs no escapes; of nothing (NULL). */
void native_value_list(struct native_writer *, const char *name,
    const char *text);

void native_value_bytes(struct native_writer *, const char *name,
    struct key bytes);
void native_value_revision(struct native_writer *, const char *name,
    struct revision);
/* As a map of its own. */
void native_value_attributes(struct native_writer *, const char *name,
    const struct contents *);

void native_end(struct native_writer *);

/* native_write_session.c: the same, of a write of a session. */
const char *native_write_session(struct native_writer *,
    const struct operation *, const struct dialect_attempt *);

/* native_write.c: all of a request but native_end(); what it is called. */
const char *native_write(struct native_writer *, const struct operation *,
    const struct dialect_attempt *);

#endif
