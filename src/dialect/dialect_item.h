/*
 * What record formats do alike with items: naming one that is wrong, numbers,
 * the named attributes of clients, and what a page of a listing consumed.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_ITEM_H
#define DDBLOCKD_DIALECT_DIALECT_ITEM_H

#include "dialect/dialect.h"

struct json_object;

/*
 * Of contents that are read. A service writes numbers, and strings with what
 * may be escaped in them, in a form of its own, so what comes back may be a
 * little longer than what may be written. Much longer it is only if somebody
 * wrote it past us.
 */
#define DIALECT_CONTENTS_MAX (CONTENTS_MAX + 16 * 1024)

/* What is wrong with an item, and where. */
void dialect_describe(const struct dialect_table *, struct key partition,
    struct key sort, const char *attribute, const char *expected,
    char text[OUTCOME_TEXT_MAX]);

/* An attribute of contents, borrowed from its JSON. False: it cannot be one. */
bool dialect_read_attribute(const char *name, struct json_object *value,
    struct attribute *ret);

/* {"N":"17"} */
void dialect_append_number(struct buffer *, uint64_t);

/* "name":{"S":"value"},... without what stands around them. */
void dialect_append_attributes(struct buffer *, const struct contents *);

/* What was looked at for a page, and what that consumed. */
void dialect_read_cost(struct json_object *root, struct dialect_view *);

#endif
