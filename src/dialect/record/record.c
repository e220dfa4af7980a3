/*
 * Formats of one item and one holder: the supported operations.
 */
#include "dialect/record/record.h"

#include <stdio.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"

/* Is this a use of a lock that the format cannot express? */
static const char *
record_refuse_kind(const struct record_format *f,
    const struct dialect_table *table, const struct operation *o)
{
	switch (o->kind) {
	case OPERATION_MULTI:
		return "has no way to take several locks at once";
	case OPERATION_ADD_WAITER:
	case OPERATION_REMOVE_WAITER:
		return "has no place for waiters";
	case OPERATION_RAISE:
		return "has no tokens that say something of the time";
	case OPERATION_MARK:
		return f->to_mark == NULL ? "has no marks" : NULL;
	case OPERATION_ACQUIRE:
		if (o->mode != LOCK_MODE_EXCLUSIVE || o->limit != 0)
			return "has no shared use";
		if (o->me.fail_closed && (f->features & DIALECT_FAIL_CLOSED)
		    == 0)
			return "has no holds that outlive their lease";
		return NULL;
	case OPERATION_EXTEND:
		return (f->features & DIALECT_TOKENS) == 0 ?
		    "has no fencing tokens" : NULL;
	case OPERATION_UPDATE:
		if (o->contents.data.length > 0 &&
		    (f->features & DIALECT_DATA) == 0)
			return "has no place for data";
		if ((f->features & DIALECT_ATTRIBUTES) == 0)
			return "has no place for attributes";
		return record_refuse_contents(f, table, &o->contents);
	default:
		return dialect_is_session(o->kind) ? "has no sessions" : NULL;
	}
}

/* Does it contradict itself? */
static const char *
record_refuse_form(const struct record_format *f, const struct operation *o,
    const struct dialect_attempt *a)
{
	bool renews = o->kind == OPERATION_REFRESH ||
	    o->kind == OPERATION_EXTEND || o->kind == OPERATION_UPDATE;

	if (o->kind == OPERATION_ACQUIRE && o->tokens != 1)
		return "an acquire takes one token here";
	if (o->kind == OPERATION_EXTEND &&
	    (o->tokens == 0 || o->tokens > TOKEN_MAX))
		return "too many tokens at once";
	if (o->kind == OPERATION_RELEASE && o->n_holders != 1)
		return "a record has one holder here";
	if ((o->kind == OPERATION_BREAK || o->kind == OPERATION_MARK) &&
	    o->version == NULL)
		return "the record was not seen";
	if (o->kind == OPERATION_UPDATE && contents_refuse(&o->contents))
		return contents_refuse(&o->contents);
	if (renews && a->step != DIALECT_LOOK &&
	    (a->beat == 0 || a->beat > f->beat_max))
		return "it was renewed too often";
	if ((renews || o->kind == OPERATION_ACQUIRE) && f->lease_min_ms > 0 &&
	    (o->me.lease_ms < f->lease_min_ms ||
	    o->me.lease_ms > RECORD_LEASE_MAX_MS))
		return "the lease is too short or too long for this format";
	return NULL;
}

static const char *
record_refuse_keys(const struct dialect_table *table,
    const struct operation *o)
{
	char bytes[RECORD_KEY_MAX];
	struct key_parts item;
	bool many = o->kind == OPERATION_READ_MANY;
	const struct key *keys = many ? o->keys : &o->key;
	size_t n = many ? o->n_keys : 1;

	if (many && (n == 0 || n > READ_MANY_MAX))
		return "too few or too many keys at once";
	if (o->kind == OPERATION_SCAN) {
		if (o->cursor.length > 0 &&
		    !record_cursor_item(o->cursor, &item))
			return "there is no such place in the table";
		return json_is_utf8(o->prefix.bytes, o->prefix.length) ?
		    NULL : "the prefix is not UTF-8 text";
	}
	for (size_t i = 0; i < n; i++) {
		const char *refused =
		    record_item_of(table, keys[i], bytes, &item);

		if (refused != NULL)
			return refused;
	}
	return NULL;
}

int
record_refuse_record(const struct record_format *f,
    const struct dialect_table *table, const struct operation *o,
    const char *own_name, const char *expected, struct dialect_view *view)
{
	char bytes[RECORD_KEY_MAX];
	struct key_parts item = { { NULL, 0 }, { NULL, 0 } };

	(void)record_item_of(table, o->key, bytes, &item);
	dialect_describe(table, item.key, item.sort,
	    record_name(f, table, own_name), expected, view->text);
	return DDBLOCK_E_BAD_RECORD;
}

int
record_request(const struct record_format *f,
    const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	struct record_writer w = {
		.table = table, .operation = o, .attempt = a, .to = &r->body,
		.format = f,
	};
	const char *refused = record_refuse_kind(f, table, o);
	int code;

	if (refused != NULL) {
		(void)snprintf(view->text, sizeof(view->text),
		    "the record format %s %s", f->name, refused);
		return DDBLOCK_E_UNSUPPORTED;
	}
	refused = record_refuse_form(f, o, a);
	if (refused == NULL)
		refused = record_refuse_keys(table, o);
	if (refused != NULL) {
		(void)snprintf(view->text, sizeof(view->text), "%s", refused);
		return DDBLOCK_E_BAD_REQUEST;
	}
	code = f->refuse != NULL ? f->refuse(table, o, view) : 0;
	if (code != 0)
		return code;
	buffer_clear(&r->body);
	/* Reserved at first, so that no append below can leave it empty. */
	if (buffer_reserve(&r->body, DIALECT_BODY_ROOM) < 0)
		return DDBLOCK_E_NOMEM;
	r->operation = record_write(&w);
	return buffer_failed(&r->body);
}
