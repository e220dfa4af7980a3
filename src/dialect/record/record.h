/*
 * The base of the older clients' formats, in which a lock is one item with one
 * holder that renews it. Such a format is a `record_format`, in one file:
 * expressions for each operation, with placeholders; the values of the
 * placeholders; and how an item is read. The common part of these formats is
 * here: refusals, keys and names, the frames of requests and answers.
 *
 * A record is written so that its next reader recognises it: a version of ours
 * is made of the name of the hold and the number of the renewal, so that a
 * condition can ask for "any renewal of this hold before that one".
 *
 * If a version is the sign of life, observers mark the record (record_mark.c):
 * `ddblockd_marks` is the version that they saw, and a name of each observer. A
 * holder's put removes it, and so does every write of ours except a mark.
 */
#ifndef DDBLOCKD_DIALECT_RECORD_H
#define DDBLOCKD_DIALECT_RECORD_H

#include "dialect/dialect.h"

struct json_object;

#define RECORD_LEASE_MAX_MS (UINT64_C(366) * 24 * 60 * 60 * 1000)
#define RECORD_KEY_MAX 2048	/* DynamoDB's limit */
#define RECORD_NAMES_MAX 8	/* attributes of a format, without its keys */
#define RECORD_MARKS "ddblockd_marks"	/* one of them, if it has to_mark */
#define RECORD_CONDITION_SIZE 256

/* The parts of a request. */
struct record_writer {
	const struct dialect_table *table;
	const struct operation *operation;
	const struct dialect_attempt *attempt;
	struct buffer *to;
	const struct record_format *format;
};

/* How an operation is written. Names of attributes are `#own_name`, the keys
 * `#key` and `#sort`, a time to live outside the format `#ttl`; values are
 * `:name`. */
enum record_verb {
	RECORD_UPDATE = 1,
	RECORD_PUT,		/* the item becomes exactly what @set says */
	RECORD_DELETE,
};

struct record_plan {
	enum record_verb verb;
	const char *set;	/* "#a = :b, ...". A PUT: nothing else */
	const char *remove;	/* "#a, ..." or NULL */
	const char *condition;
	bool contents;		/* PUT: add the operation's contents */
	const char *add;	/* "#a :b", of an UPDATE that sets nothing */
	char of_mark[RECORD_CONDITION_SIZE];	/* @condition's memory */
};

/* The place of reading, for messages. */
struct record_reader {
	const struct record_format *format;
	const struct dialect_table *table;
	const struct operation *operation;	/* NULL: one record of many */
	const struct dialect_attempt *attempt;
	struct dialect_view *view;
	struct key_parts item;
	int error;
};

struct record_format {
	const char *name;
	const char *names[RECORD_NAMES_MAX];	/* NULL: no more */
	unsigned features;	/* enum dialect_feature */
	uint64_t lease_min_ms;	/* 0: there is none */
	uint64_t beat_max;
	const char *ttl;	/* which of the names is the TTL attribute's;
				 * NULL: it has none */
	const char *data;	/* which of them is contents' data; NULL */
	const char *to_mark;	/* condition: it is held, and has the version
				 * that was seen; NULL: there are no marks */
	const char *is_held;	/* filter of a listing: items with a holder, */
	const char *is_ours;	/* and items in this format at all */

	/* Refuse more operations: 0, or the error and, in the view's text, the
	 * reason. It may be NULL. */
	int (*refuse)(const struct dialect_table *, const struct operation *,
	    struct dialect_view *);
	/* Only of ACQUIRE, REFRESH, EXTEND, UPDATE, RELEASE and BREAK that are
	 * not refused. */
	void (*plan)(const struct dialect_table *, const struct operation *,
	    struct record_plan *ret);
	/* The hold that this version names, if the version is ours. */
	struct ident (*hold_of)(const char *version);
	/* {"S":"..."} of the value that the plan calls @name. */
	void (*value)(struct record_writer *, const char *name);
	/* Errors go to record_bad(). The caller of read() checks @error. */
	void (*read)(struct record_reader *, struct json_object *item,
	    struct lock_record *ret);
};

/* ---- record.c: a dialect's functions, for its format ------------------- */

int record_request(const struct record_format *, const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *,
    struct dialect_request *, struct dialect_view *);
/* Why the record that an operation is about is invalid. */
int record_refuse_record(const struct record_format *,
    const struct dialect_table *, const struct operation *,
    const char *own_name, const char *expected, struct dialect_view *);

/* ---- record_names.c ---------------------------------------------------- */

/* The name of an attribute in this table. */
const char *record_name(const struct record_format *,
    const struct dialect_table *, const char *own);

/* Is it an attribute of the format, or a key? @name as in this table. */
bool record_is_own(const struct record_format *, const struct dialect_table *,
    const char *here);

/* The hold that the operation is about; its owner, for people. */
struct ident record_grant(const struct operation *);
const char *record_owner(const struct dialect_table *,
    const struct operation *);

/* The hold that a version, a UUID, names. */
struct ident record_hold_of_uuid(const char *version);

/* Can the table's key attributes have these names? */
bool record_key_attribute_ok(const struct record_format *, const char *);

/* ---- record_value.c ---------------------------------------------------- */

void record_append_number(struct record_writer *, uint64_t n);
void record_append_text(struct record_writer *, const char *text);
void record_append_bytes(struct record_writer *, const void *bytes,
    size_t length);

/* ---- record_reader.c --------------------------------------------------- */

/* Remember the first error. */
void record_bad(struct record_reader *, const char *own_name,
    const char *expected);
void *record_alloc(struct record_reader *, size_t n, size_t size);

/* The text of a value of that type; NULL if it is absent, or wrong. */
const char *record_scalar(struct record_reader *, struct json_object *item,
    const char *own_name, const char *type, const char *expected,
    size_t *ret_length);
/* The same of a text (S) without NUL that must be there. */
const char *record_text(struct record_reader *, struct json_object *item,
    const char *own_name, const char *expected);
bool record_number(struct record_reader *, struct json_object *item,
    const char *own_name, uint64_t max, const char *expected, uint64_t *ret);

/* Set the record as held by one holder. */
void record_hold(struct record_reader *, struct lock_record *,
    struct ident grant, uint64_t lease_ms);

/* ---- record_contents.c ------------------------------------------------- */

/* Read every attribute that is not the format's. */
void record_read_contents(struct record_reader *, struct json_object *item,
    struct contents *ret);
/* Why these contents cannot be written as attributes of an item; or NULL. */
const char *record_refuse_contents(const struct record_format *,
    const struct dialect_table *, const struct contents *);

/* ---- record_mark.c ----------------------------------------------------- */

/* The plan of this operation: the format's plan, with the part of marks. */
void record_plan(const struct record_format *, const struct dialect_table *,
    const struct operation *, struct record_plan *ret);

/* The value of @name, if it is a mark's; false: it is the format's. */
bool record_mark_value(struct record_writer *, const char *name);

/* The marks of @l's version. */
void record_read_marks(struct record_reader *, struct json_object *item,
    struct lock_record *l);

/* ---- record_item.c: keys ----------------------------------------------- */

/* The keys of the item of a lock; @bytes is memory for them. NULL, or why it
 * cannot have such a name. */
const char *record_item_of(const struct dialect_table *, struct key name,
    char bytes[RECORD_KEY_MAX], struct key_parts *ret);

/* {"key":{"S":"..."}} without the braces around it. */
void record_append_item(struct buffer *, const struct dialect_table *,
    const struct key_parts *);

/*
 * The name of the lock whose item this is: 1, and it is the view's. 0: we would
 * not write such a name.
 *
 * DDBLOCK_E_NOMEM
 */
int record_item_name(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);

/*
 * The place of an item in its table, and back.
 *
 * DDBLOCK_E_PROTOCOL
 *     The keys that it must have are missing.
 * DDBLOCK_E_NOMEM
 */
int record_item_cursor(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);
bool record_cursor_item(struct key cursor, struct key_parts *ret);

/* ---- record_write.c ---------------------------------------------------- */

/* Write the request; the name of its API call. */
const char *record_write(struct record_writer *);

/* The item that a RECORD_PUT puts, as an object. */
void record_write_item(struct record_writer *, const struct record_plan *);

/* ---- record_read.c ----------------------------------------------------- */

int record_answer(const struct record_format *, const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *, bool conflict,
    const char *body, size_t length, struct dialect_view *);

#endif
