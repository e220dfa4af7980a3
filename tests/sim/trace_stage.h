/*
 * A table that older clients and our record formats share in a test: what we
 * do goes through the format, and what they do is what they sent in their
 * recordings, with the values that their conditions compare taken from the
 * record that they would have seen. So each condition is the client's own.
 */
#ifndef DDBLOCKD_TESTS_TRACE_STAGE_H
#define DDBLOCKD_TESTS_TRACE_STAGE_H

#include "dialect/dialect.h"
#include "traces.h"

#define SKEW_MS 1000		/* of the recordings of dlock */

struct stage {
	const struct trace_client *client;
	const struct dialect *dialect;
	struct dialect_table table;
	struct dynamo *dynamo;
	uint64_t wall_ms;
	const char *key;
	struct dialect_request request;
	struct dialect_view view;
};

/* What we hold. */
extern const struct holder us;

void stage_init(struct stage *, const struct trace_client *, const char *key);
void stage_done(struct stage *);
/* The item as it is; NULL: there is none. The caller's to put. */
struct json_object *stage_item(struct stage *);
/* The content of an attribute; "" if it has none. */
const char *text_of(struct json_object *item, const char *name,
    const char *type);
struct json_object *member(struct json_object *, const char *name);

/* Carry out an operation of ours. Did its condition hold? */
bool we_do(struct stage *, enum operation_kind, uint64_t beat);
/* A beat; in formats with deadlines a hold is what its end is. */
uint64_t beat_of(const struct stage *, uint64_t n);
const struct lock_record *we_look(struct stage *);
/* Take what we have seen: dead, or free. */
bool we_take(struct stage *, const struct lock_record *seen);

/*
 * What the client would send, as in that row, for this key after it saw @seen
 * (NULL: nothing). Does its condition hold?
 */
bool they(struct stage *, const struct trace_row *, struct json_object *seen);

enum row_kind { ROW_NEW, ROW_TAKEOVER, ROW_RENEWAL, ROW_RELEASE };
/* The first of them in that scene. */
const struct trace_row *row_of(struct trace *, const struct trace_client *,
    enum row_kind);

#endif
