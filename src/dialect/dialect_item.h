/*
 * Functions for items that all record formats share: the name of an invalid
 * item, numbers, the named attributes of clients, and the capacity that a page
 * of a listing consumed.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_ITEM_H
#define DDBLOCKD_DIALECT_DIALECT_ITEM_H

#include "dialect/dialect.h"

struct json_object;

/*
 * Of contents that are read. A service writes numbers, and escapes in strings,
 * in a form of its own, so an answer may be a little longer than we may write.
 * It is much longer only if another program wrote it.
 */
#define DIALECT_CONTENTS_MAX (CONTENTS_MAX + 16 * 1024)

/* Report why an item is invalid, and where. */
void dialect_describe(const struct dialect_table *, struct key partition,
    struct key sort, const char *attribute, const char *expected,
    char text[OUTCOME_TEXT_MAX]);

/*
 * An attribute of the contents, borrowed from its JSON. False: it is not valid.
 */
bool dialect_read_attribute(const char *name, struct json_object *value,
    struct attribute *ret);

/* {"N":"17"} */
void dialect_append_number(struct buffer *, uint64_t);

/* "name":{"S":"value"},... without the braces around them. */
void dialect_append_attributes(struct buffer *, const struct contents *);

/* How many items a page has examined, and the capacity consumed. */
void dialect_read_cost(struct json_object *root, struct dialect_view *);

#endif
