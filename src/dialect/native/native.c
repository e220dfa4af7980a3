/*
 * The native record format: which operations it supports, and the request and
 * the answer of each. (native_write.c describes the format.)
 */
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/json.h"
#include "dialect/native/native.h"
#include "dialect/native/native_writer.h"

static const char *const native_names[] = {
	"holders", "mode", "limit", "token", "owner", "acquired_at",
	"broken_by", "data", "attrs", "rev", "xwait", "swait", "line", "ttl",
	"kept", "beat", "lease_ms", "host", "pid", "boot_id", "version", "dead",
	"contact", "ran", "ran_before",
};

static bool
native_key_attribute_ok(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(native_names) / sizeof(char *); i++) {
		if (strcmp(native_names[i], name) == 0)
			return false;
	}
	return length >= 1 && length <= 255 && json_is_utf8(name, length);
}

/* Can the format store this name? NULL, or why not. */
static const char *
native_refuse_key(const struct dialect_table *table, struct key name)
{
	const struct key_parts parts = key_split(name);

	if (parts.key.length > KEY_LENGTH_MAX ||
	    parts.sort.length > KEY_SORT_MAX)
		return "the key is too long";
	if (!json_is_utf8(name.bytes, name.length))
		return "the key is not UTF-8 text";
	if (name.length > 0 && !key_is_sound(name))
		return "the key has an empty part, or too many";
	if (table->sort_attribute == NULL && key_is_sorted(&parts))
		return "the table has no sort key";
	return NULL;
}

/* Does the format support the operation? NULL, or why not. */
static const char *
native_refuse(const struct dialect_table *table, const struct operation *o)
{
	bool many = o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_MULTI;
	const struct key *keys = many ?
	    o->keys : o->kind == OPERATION_SCAN ? &o->prefix : &o->key;
	size_t n = many ? o->n_keys : 1;
	struct native_item from;

	if (o->kind == OPERATION_REFRESH || o->kind == OPERATION_MARK)
		return "holders live by their session";
	if (dialect_is_session(o->kind))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *refused = native_refuse_key(table, keys[i]);

		if (refused != NULL)
			return refused;
	}
	if (o->kind == OPERATION_SCAN && o->cursor.length > 0 &&
	    !native_cursor_item(o->cursor, &from))
		return "there is no such place in the table";
	if (many && (n == 0 || n > READ_MANY_MAX))
		return "too few or too many keys at once";
	if (!operation_is_sound(o))
		return "the operation contradicts itself";
	if (o->tokens > (o->kind == OPERATION_EXTEND ||
	    o->kind == OPERATION_RAISE ? TOKEN_MAX : TOKENS_MAX))
		return "too many tokens at once";
	for (size_t i = 0; o->kind == OPERATION_MULTI && i < n; i++) {
		if (o->parts[i]->tokens > TOKENS_MAX)
			return "too many tokens at once";
	}
	return NULL;
}

/* Is it known that the token would rise too high? Where no token was seen, the
 * condition says so. */
static bool
native_has_no_room(const struct operation *o)
{
	return (o->kind == OPERATION_EXTEND ||
	    (o->kind == OPERATION_ACQUIRE && o->n_dead > 0)) &&
	    o->token_seen > TOKEN_MAX - o->tokens;
}

static int
native_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	struct native_writer w = { .table = table, .to = &r->body };
	const char *refused = native_refuse(table, o);

	if (refused != NULL) {
		(void)snprintf(view->text, sizeof(view->text), "%s", refused);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (native_has_no_room(o)) {
		struct native_item item;

		native_lock_item(o->key, &item);
		native_describe(table, &item, "token", NATIVE_TOKEN_ROOM,
		    view->text);
		return DDBLOCK_E_BAD_RECORD;
	}
	buffer_clear(&r->body);
	/* Reserved at first, so that no append below can leave it empty. */
	if (buffer_reserve(&r->body, DIALECT_BODY_ROOM) < 0)
		return DDBLOCK_E_NOMEM;
	r->operation = native_write(&w, o, a);
	native_end(&w);
	return buffer_failed(&r->body);
}

/* The answer to a put shows no record; the record is what the request says. */
static void
native_read_put(const struct dialect_table *table, const struct operation *o,
    struct dialect_view *view)
{
	view->has_record = true;
	view->session.exists = true;
	if (o->kind == OPERATION_SESSION_BURY) {
		view->session.dead = true;
		view->session.dead_by = o->owner != NULL ? o->owner : "";
	} else {
		view->session.lease_ms = o->lease_ms;
		view->session.host = table->host;
		view->session.contact = o->contact;
	}
}

static int
native_read_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	struct json_object *item;

	view->json = json_read_object(view->tokener, body, length);
	if (view->json == NULL)
		return DDBLOCK_E_PROTOCOL;
	if (o->kind == OPERATION_MULTI)
		return native_read_multi(table, o, a, conflict, view);
	item = json_find(view->json, "Item");
	if (conflict) {
		/* Absent, or an endpoint that does not return it. */
		return item == NULL ? 0 :
		    native_read_item(table, o, item, view);
	}
	if (a->step == DIALECT_LOOK)
		return native_read_item(table, o, item, view);
	switch (o->kind) {
	case OPERATION_READ:
	case OPERATION_SESSION_READ:
		return native_read_item(table, o, item, view);
	case OPERATION_READ_MANY:
		return native_read_many(table, o, view->json, view);
	case OPERATION_SCAN:
		return native_read_page(table, view->json, view);
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BURY:
		native_read_put(table, o, view);
		return 0;
	default:
		item = json_find(view->json, "Attributes");
		if (item == NULL)
			return DDBLOCK_E_PROTOCOL;
		return native_read_item(table, o, item, view);
	}
}

static int
native_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	view->lock.asked_s = a->wall_ms / 1000;
	return native_read_answer(table, o, a, conflict, body, length, view);
}

const struct dialect dialect_native = {
	.name = "native",
	.life = LOCK_LIFE_SESSION,
	.features = DIALECT_SHARED | DIALECT_FAIL_CLOSED | DIALECT_FAIL_OPEN |
	    DIALECT_DATA | DIALECT_ATTRIBUTES | DIALECT_TOKENS |
	    DIALECT_WAITER_MARKS | DIALECT_MULTI | DIALECT_EVERY,
	.request = native_request,
	.answer = native_answer,
	.key_attribute_ok = native_key_attribute_ok,
};
