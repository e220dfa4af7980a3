/*
 * What the files of the native format share: names, the text forms of holders,
 * and the keys of items.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_NATIVE_H
#define DDBLOCKD_DIALECT_DIALECT_NATIVE_H

#include "dialect/dialect.h"

struct json_object;

#define NATIVE_LOCK_PREFIX "lock:"
#define NATIVE_SESSION_PREFIX "session:"

/* The attribute that says when an item may be deleted. */
const char *native_ttl(const struct dialect_table *);

/* SID.GRANT.LEASE_MS.FLAGS and a NUL */
#define NATIVE_HOLDER_SIZE (2 * (IDENT_TEXT_LENGTH + 1) + 20 + 1 + 2)

void native_format_holder(const struct holder *,
    char text[NATIVE_HOLDER_SIZE]);
bool native_parse_holder(const char *text, size_t length, struct holder *ret);

/*
 * What names an item: "lock:KEY" or "session:SID", and the sort value, which
 * is written only where the table has a sort key.
 */
struct native_item {
	struct key partition;
	struct key sort;
	char bytes[sizeof(NATIVE_SESSION_PREFIX) + KEY_LENGTH_MAX];
};

/* dialect_native_item.c: the item that an operation on a lock or a session is
 * about, or that of a lock. It refers to itself and to what it was made of. */
void native_item_of(const struct operation *, struct native_item *ret);
void native_lock_item(struct key name, struct native_item *ret);

/*
 * The name of a lock whose item this is: 1, and @ret is the view's. 0: it is
 * none, or has a name that we would not have written.
 *
 * DDBLOCK_E_NOMEM
 */
int native_item_name(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);

/*
 * The place of an item in its table, from which a listing goes on: the length
 * of the partition key in two bytes, that key, and the sort value.
 *
 * DDBLOCK_E_PROTOCOL
 *     It has not the keys that it must have.
 * DDBLOCK_E_NOMEM
 */
int native_item_cursor(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);
/* And back; it refers to the cursor. False: it is no such place. */
bool native_cursor_item(struct key cursor, struct native_item *ret);

#define NATIVE_TOKEN_ROOM "a number (N) that leaves room for more below 2^53"

/* Of the random part of a revision, behind its sequence. */
#define NATIVE_REVISION_DIGITS 20

/* dialect_native_read.c */

/* What is wrong with a record, and where. */
void native_describe(const struct dialect_table *, const struct native_item *,
    const char *attribute, const char *expected, char text[OUTCOME_TEXT_MAX]);
int native_answer(const struct dialect_table *, const struct operation *,
    const struct dialect_attempt *, bool conflict, const char *body,
    size_t length, struct dialect_view *);

/* One record of many. @acquire: what could not be done with it, or NULL. */
int native_read_row(const struct dialect_table *, struct json_object *item,
    struct key name, const struct operation *acquire,
    struct dialect_view *, struct lock_record *ret);

/* dialect_native_many.c */
int native_read_many(const struct dialect_table *, const struct operation *,
    struct json_object *root, struct dialect_view *);
int native_read_page(const struct dialect_table *, struct json_object *root,
    struct dialect_view *);
int native_read_together(const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *, bool conflict,
    struct dialect_view *);

#endif
