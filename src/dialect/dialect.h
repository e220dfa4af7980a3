/*
 * A dialect is a record format: it turns an operation of the core into one
 * DynamoDB request, and an answer back into a view of the record. It knows
 * nothing of attempts, losses and time-outs (store/translation.h) and sends
 * nothing.
 *
 * A new format is one file dialect_NAME.c and one row in formats.def. The
 * common base of the older clients' formats is in record/, the native format in
 * native/.
 */
#ifndef DDBLOCKD_DIALECT_DIALECT_H
#define DDBLOCKD_DIALECT_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "core/operation.h"

#define DIALECT_BODY_MAX (4u << 20)	/* of a request */
#define DIALECT_BODY_ROOM 2000	/* of most: 2 KB with the NUL */

/* The type of a key attribute, as DynamoDB calls it. */
enum dialect_key_type {
	DIALECT_KEY_TEXT = 0,	/* S */
	DIALECT_KEY_NUMBER,	/* N */
	DIALECT_KEY_BYTES,	/* B */
};

/* The features of a format beside an exclusive hold. */
enum dialect_feature {
	DIALECT_SHARED = 1,	/* shared use, with a limit or without */
	DIALECT_FAIL_CLOSED = 2,	/* holds that only a release ends, */
	DIALECT_FAIL_OPEN = 4,	/* and holds that end with their lease */
	DIALECT_DATA = 8,
	DIALECT_ATTRIBUTES = 16,	/* named ones */
	DIALECT_TOKENS = 32,
	DIALECT_WAITER_MARKS = 64,	/* a holder sees that others wait */
	DIALECT_MULTI = 128,	/* several locks in one request */
	DIALECT_EVERY = 256,	/* runs that count for a period */
};

/* An attribute of a format that has another name in a table. */
struct dialect_name {
	const char *own;	/* as the format's other clients call it */
	const char *here;
};

/*
 * The settings of a namespace for its table and this daemon. Borrowed. A
 * setting of some formats has no meaning in the others.
 */
struct dialect_table {
	const char *table;
	const char *key_attribute;
	const char *sort_attribute;	/* NULL: the table has no sort key */
	enum dialect_key_type key_type;
	enum dialect_key_type sort_type;
	const char *ttl_attribute;	/* NULL: "ttl" in native, elsewhere the
					 * format's own name */
	const struct dialect_name *renamed;
	size_t n_renamed;
	const char *prefix;		/* of keys in the table only; NULL:
					 * none */
	bool go_lease;		/* the lease is a Go duration such as "20s" */
	bool keep_released;	/* a release marks the record as free */
	bool keep_attributes;	/* an acquisition leaves clients' attributes
				 * there */
	bool local_time;	/* the record says when it was acquired */
	bool fencing;		/* it has a token, and stays for ever */
	uint64_t expiry_s;	/* of a record, since its last renewal */
	uint64_t skew_ms;	/* hosts' clocks may differ by this */
	uint64_t read_capacity;		/* of a table that we create; */
	uint64_t write_capacity;	/* 0: it is paid by request */
	uint64_t retention_s;		/* of the record of a free lock */
	const char *host;		/* for people, in the session's item */
	const char *pid;
	const char *boot_id;		/* NULL: left out */
	const char *version;
};

enum dialect_step {
	DIALECT_DO = 1,	/* what the operation says */
	DIALECT_DO_STAYS,	/* RELEASE: the form for "other holders stay" */
	DIALECT_LOOK,	/* a consistent read of the item that it writes */
};

/* The values that differ from one attempt to the next. */
struct dialect_attempt {
	enum dialect_step step;
	uint64_t beat;		/* SESSION_BEAT, REFRESH and similar: the new
				 * one; in formats with deadlines, ACQUIRE,
				 * too */
	uint64_t wall_ms;	/* the endpoint's clock; same in all attempts,
				 * but if @host_clock */
};

struct dialect_request {
	const char *operation;	/* "UpdateItem" */
	struct buffer body;
};

/* What an answer shows of one key of several. */
enum dialect_part {
	DIALECT_PART_UNSEEN = 0,	/* nothing */
	DIALECT_PART_SPARED,	/* that its condition held */
	DIALECT_PART_SEEN,	/* its record */
	DIALECT_PART_BAD,	/* that its record is not in this format */
};

struct dialect_memory;		/* freed with the view */
struct json_object;
struct json_tokener;

/*
 * What an answer shows. The view owns everything that it points to, until
 * dialect_view_clear().
 */
struct dialect_view {
	bool has_record;	/* or the answer did not say */
	struct lock_record lock;
	struct session_record session;
	struct lock_record *locks;	/* READ_MANY, MULTI */
	bool *processed;
	enum dialect_part *parts;	/* MULTI */
	struct scan_row *rows;		/* SCAN */
	size_t n_rows;
	struct key next_cursor;
	uint64_t n_examined;
	uint64_t read_milliunits;
	char text[OUTCOME_TEXT_MAX];	/* what is wrong with a record */

	struct json_object *json;
	struct dialect_memory *memory;
	struct json_tokener *tokener;	/* lent to it, or NULL */
};

struct dialect {
	const char *name;
	enum lock_life life;
	unsigned features;	/* enum dialect_feature */
	bool host_clock;	/* its times are those of hosts' clocks */

	/*
	 * Write the request for @attempt of @operation.
	 *
	 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_UNSUPPORTED, DDBLOCK_E_LIMIT
	 *     The format cannot carry the operation; @view->text says why.
	 * DDBLOCK_E_BAD_RECORD
	 *     The record is known to be one that we must not write;
	 *     @view->text says which and why.
	 * DDBLOCK_E_NOMEM
	 */
	int (*request)(const struct dialect_table *,
	    const struct operation *, const struct dialect_attempt *,
	    struct dialect_request *, struct dialect_view *);

	/*
	 * Read the body of a successful answer, or (@conflict) that of a
	 * failed condition, into an empty @view.
	 *
	 * DDBLOCK_E_BAD_RECORD
	 *     The record is not in this format; @view->text says where.
	 * DDBLOCK_E_PROTOCOL
	 *     This is not an answer to that request.
	 * DDBLOCK_E_NOMEM
	 */
	int (*answer)(const struct dialect_table *,
	    const struct operation *, const struct dialect_attempt *,
	    bool conflict, const char *body, size_t length,
	    struct dialect_view *);

	/* May this be the name of a key attribute, of either kind? */
	bool (*key_attribute_ok)(const char *);
};

#define FORMAT(name, own, ...) extern const struct dialect dialect_##own;
#include "dialect/formats.def"

/* dialect.c. NULL: there is no such format. */
const struct dialect *dialect_find(const char *name);

/* dialect_view.c: helpers of the formats. */

/* The name in this table of the attribute that its format calls @own. */
const char *dialect_name_here(const struct dialect_table *, const char *own);

/* Does the operation change a record? */
bool dialect_is_write(enum operation_kind);

/* Is the operation about a session's item, not a lock's? */
bool dialect_is_session(enum operation_kind);

void dialect_request_init(struct dialect_request *);
void dialect_request_done(struct dialect_request *);

void dialect_view_init(struct dialect_view *);
/* Free everything that it points to; the view is empty again. */
void dialect_view_clear(struct dialect_view *);
/* Zeroed memory that dies with the view; NULL if there is none. */
void *dialect_view_alloc(struct dialect_view *, size_t n, size_t size);
/* The name of the lock with these keys, in the view's memory if it needs some.
 * 1 or DDBLOCK_E_NOMEM */
int dialect_view_name(struct dialect_view *, const struct key_parts *,
    struct key *ret);
/*
 * The place of an item with these keys in its table, from which a listing goes
 * on, in the view's memory: the length of the partition key in two bytes, that
 * key, and the sort value.
 *
 * DDBLOCK_E_PROTOCOL
 *     The keys are longer than any may be.
 * DDBLOCK_E_NOMEM
 */
int dialect_view_cursor(struct dialect_view *, const struct key_parts *,
    struct key *ret);
/* And back; they point into the cursor. False: it is no such place. */
bool dialect_cursor_parts(struct key cursor, struct key_parts *ret);

#endif
