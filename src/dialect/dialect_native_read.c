/*
 * The native record format: answers.
 *
 * Records are written by us, by other versions of us, and by hand. What is
 * missing where the format allows it is absent; what has another type or
 * another form than it must have is refused with the place named, because to
 * guess who holds a lock is worse than to stop. Attributes that are not ours
 * are nobody's business.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "core/apply.h"
#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/dialect_native.h"
#include "dialect/dialect_native_reader.h"
#include "dialect/json.h"

#define NATIVE_NUMBER_MAX INT64_MAX

bool
native_parse_holder(const char *text, size_t length, struct holder *ret)
{
	const size_t start = 2 * (IDENT_TEXT_LENGTH + 1);
	struct holder h = { 0 };
	const char *dot;
	size_t left;

	if (length < start || text[IDENT_TEXT_LENGTH] != '.' ||
	    text[start - 1] != '.' ||
	    !ident_parse(text, IDENT_TEXT_LENGTH, &h.session) ||
	    !ident_parse(text + IDENT_TEXT_LENGTH + 1, IDENT_TEXT_LENGTH,
	    &h.grant))
		return false;
	dot = memchr(text + start, '.', length - start);
	if (dot == NULL || !json_read_number(text + start,
	    (size_t)(dot - text) - start, TOKEN_MAX, &h.lease_ms) ||
	    h.lease_ms == 0)
		return false;
	left = length - (size_t)(dot + 1 - text);
	if (left != 1 || (dot[1] != '-' && dot[1] != 'c'))
		return false;
	h.fail_closed = dot[1] == 'c';
	*ret = h;
	return true;
}

void
native_describe(const struct dialect_table *table,
    const struct native_item *item, const char *attribute,
    const char *expected, char text[OUTCOME_TEXT_MAX])
{
	dialect_describe(table, item->partition, item->sort, attribute,
	    expected, text);
}

void
native_bad(struct native_reader *r, const char *attribute,
    const char *expected)
{
	if (r->error != 0)
		return;
	r->error = DDBLOCK_E_BAD_RECORD;
	native_describe(r->table, r->item, attribute, expected,
	    r->view->text);
}

struct json_object *
native_field(struct native_reader *r, struct json_object *item,
    const char *attribute, const char *type, const char *expected)
{
	struct json_object *field = json_find(item, attribute);
	struct json_object *value;

	if (field == NULL)
		return NULL;
	value = json_find(field, type);
	if (value == NULL)
		native_bad(r, attribute, expected);
	return value;
}

static bool
native_number(struct native_reader *r, struct json_object *item,
    const char *attribute, uint64_t max, uint64_t *ret)
{
	static const char expected[] =
	    "a whole number that is not negative (N) and not beyond its limit";
	struct json_object *value =
	    native_field(r, item, attribute, "N", expected);
	const char *text;
	size_t length;

	if (value == NULL)
		return false;
	text = json_string(value, &length);
	if (text == NULL || !json_read_number(text, length, max, ret)) {
		native_bad(r, attribute, expected);
		return false;
	}
	return true;
}

static const char *
native_text(struct native_reader *r, struct json_object *item,
    const char *attribute)
{
	struct json_object *value =
	    native_field(r, item, attribute, "S", "a text (S)");
	const char *text = NULL;
	size_t length;

	if (value != NULL) {
		text = json_string(value, &length);
		if (text == NULL)
			native_bad(r, attribute, "a text (S)");
	}
	return text;
}

/* The elements of a set of texts; none if it is absent. */
static size_t
native_set(struct native_reader *r, struct json_object *item,
    const char *attribute, const char *expected, struct json_object **ret)
{
	*ret = native_field(r, item, attribute, "SS", expected);
	if (*ret == NULL)
		return 0;
	if (!json_object_is_type(*ret, json_type_array)) {
		native_bad(r, attribute, expected);
		return 0;
	}
	return json_object_array_length(*ret);
}

void *
native_alloc(struct native_reader *r, size_t n, size_t size)
{
	void *memory = dialect_view_alloc(r->view, n, size);

	if (memory == NULL && r->error == 0)
		r->error = DDBLOCK_E_NOMEM;
	return memory;
}

static void
native_read_holders(struct native_reader *r, struct json_object *item,
    struct lock_record *l)
{
	static const char expected[] =
	    "a set (SS) of at most 1024 SESSION.GRANT.LEASE.FLAGS";
	struct json_object *set;
	size_t n = native_set(r, item, "holders", expected, &set);
	struct holder *holders;

	if (n == 0)
		return;
	if (n > HOLDERS_MAX) {
		native_bad(r, "holders", expected);
		return;
	}
	holders = native_alloc(r, n, sizeof(*holders));
	if (holders == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t length = 0;
		const char *text = json_string(
		    json_object_array_get_idx(set, i), &length);

		if (text == NULL ||
		    !native_parse_holder(text, length, &holders[i])) {
			native_bad(r, "holders", expected);
			return;
		}
	}
	l->holders = holders;
	l->n_holders = n;
}

/* More wishes than we remember are no harm: one is enough to stand back. */
static size_t
native_read_wishes(struct native_reader *r, struct json_object *item,
    const char *attribute, const struct ident **ret)
{
	static const char expected[] = "a set (SS) of sessions";
	struct json_object *set;
	size_t n = native_set(r, item, attribute, expected, &set);
	struct ident *wishes;

	if (n == 0)
		return 0;
	if (n > WISHES_MAX)
		n = WISHES_MAX;
	wishes = native_alloc(r, n, sizeof(*wishes));
	if (wishes == NULL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		size_t length = 0;
		const char *text = json_string(
		    json_object_array_get_idx(set, i), &length);

		if (text == NULL || !ident_parse(text, length, &wishes[i])) {
			native_bad(r, attribute, expected);
			return 0;
		}
	}
	*ret = wishes;
	return n;
}

static enum lock_mode
native_read_mode(struct native_reader *r, struct json_object *item)
{
	const char *mode = native_text(r, item, "mode");

	if (mode == NULL)
		return LOCK_MODE_NONE;
	if (strcmp(mode, "x") == 0)
		return LOCK_MODE_EXCLUSIVE;
	if (strcmp(mode, "s") == 0)
		return LOCK_MODE_SHARED;
	native_bad(r, "mode", "\"x\" or \"s\"");
	return LOCK_MODE_NONE;
}

static int
native_read_lock(struct native_reader *r, struct json_object *item,
    struct lock_record *ret)
{
	struct lock_record l = { .exists = true };

	native_read_holders(r, item, &l);
	l.mode = native_read_mode(r, item);
	(void)native_number(r, item, "limit", NATIVE_NUMBER_MAX, &l.limit);
	l.n_exclusive_wishes =
	    native_read_wishes(r, item, "xwait", &l.exclusive_wishes);
	l.n_shared_wishes =
	    native_read_wishes(r, item, "swait", &l.shared_wishes);
	l.owner = native_text(r, item, "owner");
	l.broken_by = native_text(r, item, "broken_by");
	(void)native_number(r, item, "acquired_at", NATIVE_NUMBER_MAX,
	    &l.acquired_at_s);
	(void)native_number(r, item, native_ttl(r->table), NATIVE_NUMBER_MAX,
	    &l.ttl_s);
	native_read_contents(r, item, &l);
	if (!native_number(r, item, "token", TOKEN_MAX, &l.token))
		native_bad(r, "token", "a number (N)");
	if (l.mode == LOCK_MODE_NONE && l.n_holders > 0)
		native_bad(r, "mode", "\"x\" or \"s\", because it is held");
	if (l.mode == LOCK_MODE_EXCLUSIVE && l.n_holders > 1)
		native_bad(r, "holders", "one holder, because mode is \"x\"");
	if (r->error == 0)
		*ret = l;
	return r->error;
}

/* A text for people: of another type, it is absent. */
static const char *
native_remark(struct json_object *item, const char *attribute)
{
	size_t length;

	return json_string(json_find(json_find(item, attribute), "S"),
	    &length);
}

/*
 * Dead is what has the attribute, of whatever type: so do the conditions of
 * beats and kills see it. Of one that is dead nothing else matters.
 */
static int
native_read_session(struct native_reader *r, struct json_object *item,
    struct session_record *ret)
{
	struct session_record s = {
		.exists = true, .dead = json_find(item, "dead") != NULL,
		.host = native_remark(item, "host"),
	};

	if (!native_number(r, item, "beat", NATIVE_NUMBER_MAX, &s.beat))
		native_bad(r, "beat", "a number (N)");
	if (!native_number(r, item, "lease_ms", TOKEN_MAX, &s.lease_ms))
		native_bad(r, "lease_ms", "a number (N)");
	if (s.dead) {
		s.dead_by = native_remark(item, "dead");
		if (s.dead_by == NULL)
			s.dead_by = "";
		r->error = 0;
		r->view->text[0] = '\0';
	}
	if (r->error == 0)
		*ret = s;
	return r->error;
}

/* A lock that let us in and could not be acquired, because of its token. */
static int
native_check_room(struct native_reader *r, const struct operation *o,
    const struct lock_record *l)
{
	const struct apply a = { .life = LOCK_LIFE_SESSION };

	if (o->kind == OPERATION_ACQUIRE &&
	    apply_judge_lock(&a, o, l) == DDBLOCK_E_BAD_RECORD)
		native_bad(r, "token", NATIVE_TOKEN_ROOM);
	return r->error;
}

/* The item of a request for one; an absent one is a record too. */
static int
native_read_item(const struct dialect_table *table, const struct operation *o,
    struct json_object *item, struct dialect_view *view)
{
	struct native_item named;
	struct native_reader r = {
		.table = table, .view = view, .item = &named,
	};
	int error;

	view->has_record = true;
	if (item == NULL)
		return 0;
	if (!json_object_is_type(item, json_type_object))
		return DDBLOCK_E_PROTOCOL;
	native_item_of(o, &named);
	if (dialect_is_session(o->kind))
		return native_read_session(&r, item, &view->session);
	error = native_read_lock(&r, item, &view->lock);
	return error != 0 ? error :
	    native_check_room(&r, o, &view->lock);
}

/*
 * One record of many. One that is not in the format spoils no other: it stays
 * out, and the first of them is named in the view's text.
 */
int
native_read_row(const struct dialect_table *table, struct json_object *item,
    struct key name, const struct operation *acquire,
    struct dialect_view *view, struct lock_record *ret)
{
	struct native_item named;
	struct native_reader r = {
		.table = table, .view = view, .item = &named,
	};
	char first[OUTCOME_TEXT_MAX];
	int error;

	native_lock_item(name, &named);
	memcpy(first, view->text, sizeof(first));
	error = native_read_lock(&r, item, ret);
	if (error == 0 && acquire != NULL)
		error = native_check_room(&r, acquire, ret);
	if (first[0] != '\0')
		memcpy(view->text, first, sizeof(first));
	return error;
}

/* A put shows nothing; what it wrote is what it said. */
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
	}
}

int
native_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	struct json_object *item;

	view->json = json_read_object(view->tokener, body, length);
	if (view->json == NULL)
		return DDBLOCK_E_PROTOCOL;
	if (o->kind == OPERATION_TOGETHER)
		return native_read_together(table, o, a, conflict, view);
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
