/*
 * Shared by the files of the native format: names, the text forms of holders,
 * and the keys of items.
 */
#ifndef DDBLOCKD_DIALECT_NATIVE_H
#define DDBLOCKD_DIALECT_NATIVE_H

#include "dialect/dialect.h"

struct json_object;

#define NATIVE_LOCK_PREFIX "lock:"
#define NATIVE_SESSION_PREFIX "session:"
#define NATIVE_SESSION_TTL_S (2 * 86400)	/* ahead of its renewal */

/* native_holder.c: SID.GRANT.LEASE_MS.FLAGS and a NUL */
#define NATIVE_HOLDER_SIZE (2 * (IDENT_TEXT_LENGTH + 1) + 20 + 1 + 2)

void native_format_holder(const struct holder *,
    char text[NATIVE_HOLDER_SIZE]);
bool native_parse_holder(const char *text, size_t length, struct holder *ret);

/* The attribute that says when an item may be deleted. */
const char *native_ttl(const struct dialect_table *);

/*
 * The name of an item: "lock:KEY" or "session:SID", and the sort value, which
 * is written only where the table has a sort key.
 */
struct native_item {
	struct key partition;
	struct key sort;
	char bytes[sizeof(NATIVE_SESSION_PREFIX) + KEY_LENGTH_MAX];
};

/* native_item.c: the item of an operation on a lock or a session, or of a lock.
 * It points into itself and into its sources. */
void native_item_of(const struct operation *, struct native_item *ret);
void native_lock_item(struct key name, struct native_item *ret);

/*
 * The name of a lock whose item this is: 1, and @ret is the view's. 0: it is no
 * lock's, or has a name that we would not write.
 *
 * DDBLOCK_E_NOMEM
 */
int native_item_name(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);

/*
 * The place of an item in its table, from which a listing goes on
 * (dialect_view_cursor()).
 *
 * DDBLOCK_E_PROTOCOL
 *     The keys that it must have are missing.
 * DDBLOCK_E_NOMEM
 */
int native_item_cursor(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);
/* And back; it points into the cursor. False: it is no such place. */
bool native_cursor_item(struct key cursor, struct native_item *ret);

#define NATIVE_TOKEN_ROOM "a number (N) that leaves room for more below 2^53"

/* Of the random part of a revision, behind its sequence. */
#define NATIVE_REVISION_DIGITS 20

/* native_reader.c: report why a record is invalid, and where. */
void native_describe(const struct dialect_table *, const struct native_item *,
    const char *attribute, const char *expected, char text[OUTCOME_TEXT_MAX]);

/* native_record.c: the item of a request for one; an absent one is a record,
 * too. */
int native_read_item(const struct dialect_table *, const struct operation *,
    struct json_object *item, struct dialect_view *);

/* One record of many. @acquire: the acquire of it that failed, or NULL. */
int native_read_row(const struct dialect_table *, struct json_object *item,
    struct key name, const struct operation *acquire,
    struct dialect_view *, struct lock_record *ret);

/* native_many.c: answers that show many records. */
int native_read_many(const struct dialect_table *, const struct operation *,
    struct json_object *root, struct dialect_view *);
int native_read_page(const struct dialect_table *, struct json_object *root,
    struct dialect_view *);
int native_read_multi(const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *, bool conflict,
    struct dialect_view *);

#endif
