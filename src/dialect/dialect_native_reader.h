/*
 * What the files that read answers of the native format share.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_NATIVE_READER_H
#define DDBLOCKD_DIALECT_DIALECT_NATIVE_READER_H

#include "dialect/dialect_native.h"

/* Where we read, for messages. */
struct native_reader {
	const struct dialect_table *table;
	struct dialect_view *view;
	const struct native_item *item;
	int error;
};

/* Remember the first thing that is wrong. */
void native_bad(struct native_reader *, const char *attribute,
    const char *expected);

/* The value of an attribute of that type; NULL if it is absent or wrong. */
struct json_object *native_field(struct native_reader *,
    struct json_object *item, const char *attribute, const char *type,
    const char *expected);

/* Memory of the view; NULL, and the reader's error, if there is none. */
void *native_alloc(struct native_reader *, size_t n, size_t size);

/* dialect_native_contents.c: what clients keep in a lock. */
void native_read_contents(struct native_reader *, struct json_object *item,
    struct lock_record *);

#endif
