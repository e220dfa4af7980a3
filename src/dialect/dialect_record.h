/*
 * The base of the formats in which a lock is one item with one holder, who
 * renews it: what the older clients have. Such a format is a `record_format`,
 * in one file: expressions for each operation, with placeholders; what the
 * placeholders of values stand for; and how an item is read. All that the
 * formats have in common is here: what is refused, keys and names, the frames
 * of requests and answers.
 *
 * A record is written so that its next reader recognises it: a version of ours
 * is made of the name of the hold and the number of the renewal, so that a
 * condition can ask for "any renewal of this hold before that one".
 *
 * Where life is a version, observers mark the record (dialect_record_mark.c):
 * `ddblockd_marks` is the version that they saw, and a name of each. A holder's
 * put wipes it, and all that is written here does but a mark.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_RECORD_H
#define DDBLOCKD_DIALECT_DIALECT_RECORD_H

#include "dialect/dialect.h"

struct json_object;

#define RECORD_LEASE_MAX_MS (UINT64_C(366) * 24 * 60 * 60 * 1000)
#define RECORD_KEY_MAX 2048	/* what DynamoDB takes */
#define RECORD_NAMES_MAX 8	/* attributes of a format, without its keys */
#define RECORD_MARKS "ddblockd_marks"	/* one of these, if it has to_mark */
#define RECORD_CONDITION_SIZE 256

/* What a request is put together from. */
struct record_writer {
	const struct dialect_table *table;
	const struct operation *operation;
	const struct dialect_attempt *attempt;
	struct buffer *to;
	const struct record_format *format;
};

/* How an operation is written. Names of attributes are `#own_name`, the keys
 * `#key` and `#sort`, that of a time to live that is not in the format `#ttl`;
 * values are `:name`. */
enum record_verb {
	RECORD_UPDATE = 1,
	RECORD_PUT,		/* the item becomes what @set says, no more */
	RECORD_DELETE,
};

struct record_plan {
	enum record_verb verb;
	const char *set;	/* "#a = :b, ...". A PUT: nothing else */
	const char *remove;	/* "#a, ..." or NULL */
	const char *condition;
	bool contents;		/* PUT: and those of the operation */
	const char *add;	/* "#a :b", of an UPDATE that sets nothing */
	char of_mark[RECORD_CONDITION_SIZE];	/* @condition's memory */
};

/* Where we read, for messages. */
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
	const char *is_held;	/* filter of a listing: what has a holder, */
	const char *is_ours;	/* and what is in this format at all */

	/* What more cannot be done: 0, or what to refuse it with and, in the
	 * view's text, why. It may be NULL. */
	int (*refuse)(const struct dialect_table *, const struct operation *,
	    struct dialect_view *);
	/* Only of ACQUIRE, REFRESH, EXTEND, UPDATE, RELEASE and BREAK that are
	 * not refused. */
	void (*plan)(const struct dialect_table *, const struct operation *,
	    struct record_plan *ret);
	/* The hold that this version names, if it is one of ours. */
	struct ident (*hold_of)(const char *version);
	/* {"S":"..."} of the value that the plan calls @name. */
	void (*value)(struct record_writer *, const char *name);
	/* What is wrong goes to record_bad(). Its caller looks at @error. */
	void (*read)(struct record_reader *, struct json_object *item,
	    struct lock_record *ret);
};

/* ---- dialect_record.c: a dialect's functions, for its format ----------- */

int record_request(const struct record_format *, const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *,
    struct dialect_request *, struct dialect_view *);
bool record_key_attribute_ok(const struct record_format *, const char *);

/* The same, of a version that is a UUID. */
struct ident record_hold_of_uuid(const char *version);

/* What an attribute is called in this table. */
const char *record_name(const struct record_format *,
    const struct dialect_table *, const char *own);

/* Is it one of the format's, or a key? The name is that in this table. */
bool record_is_own(const struct record_format *, const struct dialect_table *,
    const char *here);

/* Whose hold the operation is about; who that is, for people. */
struct ident record_grant(const struct operation *);
const char *record_owner(const struct dialect_table *,
    const struct operation *);

/* What is wrong with the record that an operation is about. */
int record_refuse_record(const struct record_format *,
    const struct dialect_table *, const struct operation *,
    const char *own_name, const char *expected, struct dialect_view *);

/* ---- dialect_record_mark.c --------------------------------------------- */

/* What this operation writes: the format's plan, with what marks add to it. */
void record_plan(const struct record_format *, const struct dialect_table *,
    const struct operation *, struct record_plan *ret);

/* The value that it calls @name; false: it is the format's. */
bool record_mark_value(struct record_writer *, const char *name);

/* The marks of @l's version. */
void record_read_marks(struct record_reader *, struct json_object *item,
    struct lock_record *l);

/* ---- dialect_record_item.c: keys --------------------------------------- */

/* The keys of the item of a lock; @bytes are where they may be put. NULL, or
 * why it cannot have such a name. */
const char *record_item_of(const struct dialect_table *, struct key name,
    char bytes[RECORD_KEY_MAX], struct key_parts *ret);

/* {"key":{"S":"..."}} without the braces around it. */
void record_append_item(struct buffer *, const struct dialect_table *,
    const struct key_parts *);

/*
 * The name of the lock whose item this is: 1, and it is the view's. 0: none
 * that we would have written.
 *
 * DDBLOCK_E_NOMEM
 */
int record_item_name(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);

/*
 * The place of an item in its table, and back.
 *
 * DDBLOCK_E_PROTOCOL
 *     It has not the keys that it must have.
 * DDBLOCK_E_NOMEM
 */
int record_item_cursor(const struct dialect_table *, struct json_object *item,
    struct dialect_view *, struct key *ret);
bool record_cursor_item(struct key cursor, struct key_parts *ret);

/* ---- dialect_record_write.c -------------------------------------------- */

/* Write the request; what it is called. */
const char *record_write(struct record_writer *);

/* The item that a RECORD_PUT puts, as an object. */
void record_write_item(struct record_writer *, const struct record_plan *);

void record_append_number(struct record_writer *, uint64_t n);
void record_append_text(struct record_writer *, const char *text);
void record_append_bytes(struct record_writer *, const void *bytes,
    size_t length);

/* ---- dialect_record_read.c --------------------------------------------- */

int record_answer(const struct record_format *, const struct dialect_table *,
    const struct operation *, const struct dialect_attempt *, bool conflict,
    const char *body, size_t length, struct dialect_view *);

/* Remember the first thing that is wrong. */
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

/* It is held, by one. */
void record_hold(struct record_reader *, struct lock_record *,
    struct ident grant, uint64_t lease_ms);

/* dialect_record_contents.c: every attribute that is not the format's. */
void record_read_contents(struct record_reader *, struct json_object *item,
    struct contents *ret);
/* Why these cannot be written as attributes of an item; or NULL. */
const char *record_refuse_contents(const struct record_format *,
    const struct dialect_table *, const struct contents *);

#endif
