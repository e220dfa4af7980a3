/*
 * Shared by the files that read answers of the native format.
 */
#ifndef DDBLOCKD_DIALECT_NATIVE_READER_H
#define DDBLOCKD_DIALECT_NATIVE_READER_H

#include "dialect/native/native.h"

/* The place of reading, for messages. */
struct native_reader {
	const struct dialect_table *table;
	struct dialect_view *view;
	const struct native_item *item;
	int error;
};

/* Remember the first error. */
void native_bad(struct native_reader *, const char *attribute,
    const char *expected);

/* The value of an attribute of that type; NULL if it is absent or wrong. */
struct json_object *native_field(struct native_reader *,
    struct json_object *item, const char *attribute, const char *type,
    const char *expected);

/* The same of a number, with its meaning for messages; of a text; and of the
 * elements of a set or a list (@type), with their number. */
bool native_number(struct native_reader *, struct json_object *item,
    const char *attribute, uint64_t max, uint64_t *ret);
const char *native_text(struct native_reader *, struct json_object *item,
    const char *attribute);
size_t native_array(struct native_reader *, struct json_object *item,
    const char *attribute, const char *type, const char *expected,
    struct json_object **ret);

/* Memory of the view; NULL, and the reader's error, if there is none. */
void *native_alloc(struct native_reader *, size_t n, size_t size);

/* native_contents.c: the contents of a lock. */
void native_read_contents(struct native_reader *, struct json_object *item,
    struct lock_record *);

#endif
