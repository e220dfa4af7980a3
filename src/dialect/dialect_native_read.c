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

#include "ddblock.h"
#include "dialect/dialect_native.h"
#include "dialect/json.h"

#define NATIVE_NUMBER_MAX INT64_MAX
#define NATIVE_KEY_SHOWN 80	/* bytes of a key in a message */
#define NATIVE_UNITS_MAX 1e6	/* no request consumes as much */

/* Where we read, for messages. */
struct native_reader {
	const struct dialect_table *table;
	struct dialect_view *view;
	struct key key;		/* of the item, with its prefix */
	int error;
};

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
native_describe(const struct dialect_table *table, struct key key,
    const char *attribute, const char *expected, char text[OUTCOME_TEXT_MAX])
{
	char shown[NATIVE_KEY_SHOWN + 1];
	size_t n = key.length < NATIVE_KEY_SHOWN ?
	    key.length : NATIVE_KEY_SHOWN;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)key.bytes[i];

		shown[i] = c >= 0x20 && c < 0x7f ? key.bytes[i] : '?';
	}
	shown[n] = '\0';
	(void)snprintf(text, OUTCOME_TEXT_MAX,
	    "table %.60s, item \"%s\"%s, attribute \"%.40s\": expected %s",
	    table->table, shown, n < key.length ? "..." : "", attribute,
	    expected);
}

/* Remember the first thing that is wrong. */
static void
native_bad(struct native_reader *r, const char *attribute,
    const char *expected)
{
	if (r->error != 0)
		return;
	r->error = DDBLOCK_E_BAD_RECORD;
	native_describe(r->table, r->key, attribute, expected,
	    r->view->text);
}

/* The value of an attribute of that type; NULL if it is absent or wrong. */
static struct json_object *
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

static void *
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
	(void)native_number(r, item, "ttl", NATIVE_NUMBER_MAX, &l.ttl_s);
	if (!native_number(r, item, "token", TOKEN_MAX, &l.token) &&
	    l.n_holders > 0)
		native_bad(r, "token", "a number (N), because it is held");
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
native_check_room(struct native_reader *r, const struct operation *o)
{
	const struct lock_record *l = &r->view->lock;

	if (o->kind == OPERATION_ACQUIRE && operation_may_enter(o, l) &&
	    l->token > TOKEN_MAX - o->tokens)
		native_bad(r, "token", NATIVE_TOKEN_ROOM);
	return r->error;
}

/* The item of a request for one; an absent one is a record too. */
static int
native_read_item(const struct dialect_table *table, const struct operation *o,
    struct json_object *item, struct dialect_view *view)
{
	struct native_reader r = { .table = table, .view = view };
	char key[NATIVE_ITEM_SIZE];
	char session[IDENT_TEXT_LENGTH + 1];
	int error;

	view->has_record = true;
	if (item == NULL)
		return 0;
	if (!json_object_is_type(item, json_type_object))
		return DDBLOCK_E_PROTOCOL;
	r.key.bytes = key;
	if (dialect_is_session(o->kind)) {
		ident_format(o->session, session);
		r.key.length = (size_t)snprintf(key, sizeof(key),
		    NATIVE_SESSION_PREFIX "%s", session);
		return native_read_session(&r, item, &view->session);
	}
	r.key.length = native_lock_item(o->key, key);
	error = native_read_lock(&r, item, &view->lock);
	return error != 0 ? error : native_check_room(&r, o);
}

/* The bytes of an item's key if it is a lock's, without the prefix. */
static bool
native_lock_key(const struct dialect_table *table, struct json_object *item,
    struct key *ret)
{
	const size_t n = strlen(NATIVE_LOCK_PREFIX);
	size_t length;
	const char *bytes = json_string(json_find(
	    json_find(item, table->key_attribute), "S"), &length);

	if (bytes == NULL || length < n ||
	    memcmp(bytes, NATIVE_LOCK_PREFIX, n) != 0 ||
	    length - n > KEY_LENGTH_MAX)
		return false;
	*ret = (struct key){ bytes + n, length - n };
	return true;
}

/*
 * One record of many. One that is not in the format spoils no other: it stays
 * out, and the first of them is named in the view's text.
 */
static int
native_read_row(const struct dialect_table *table, struct json_object *item,
    const struct key *key, struct dialect_view *view, struct lock_record *ret)
{
	const size_t prefix = strlen(NATIVE_LOCK_PREFIX);
	struct native_reader r = {
		/* native_lock_key() cut the prefix off. */
		.table = table, .view = view,
		.key = { key->bytes - prefix, prefix + key->length },
	};
	char first[OUTCOME_TEXT_MAX];
	int error;

	memcpy(first, view->text, sizeof(first));
	error = native_read_lock(&r, item, ret);
	if (first[0] != '\0')
		memcpy(view->text, first, sizeof(first));
	return error;
}

static size_t
native_find_key(const struct operation *o, const struct key *key)
{
	size_t i;

	for (i = 0; i < o->n_keys; i++) {
		if (o->keys[i].length == key->length && memcmp(
		    o->keys[i].bytes, key->bytes, key->length) == 0)
			break;
	}
	return i;
}

/* An unprocessed key is not an absent one. */
static void
native_read_unprocessed(const struct dialect_table *table,
    const struct operation *o, struct json_object *root,
    struct dialect_view *view)
{
	struct json_object *keys = json_find(json_find(json_find(root,
	    "UnprocessedKeys"), table->table), "Keys");
	size_t n = json_object_is_type(keys, json_type_array) ?
	    json_object_array_length(keys) : 0;
	struct key key;

	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!native_lock_key(table,
		    json_object_array_get_idx(keys, i), &key))
			continue;
		at = native_find_key(o, &key);
		if (at < o->n_keys)
			view->processed[at] = false;
	}
}

static int
native_read_many(const struct dialect_table *table, const struct operation *o,
    struct json_object *root, struct dialect_view *view)
{
	struct json_object *items = json_find(
	    json_find(root, "Responses"), table->table);
	size_t n = json_object_is_type(items, json_type_array) ?
	    json_object_array_length(items) : 0;
	struct key key;
	int r;

	if (json_find(root, "Responses") == NULL)
		return DDBLOCK_E_PROTOCOL;
	view->locks = dialect_view_alloc(view, o->n_keys,
	    sizeof(*view->locks));
	view->processed = dialect_view_alloc(view, o->n_keys, sizeof(bool));
	if (view->locks == NULL || view->processed == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < o->n_keys; i++)
		view->processed[i] = true;
	native_read_unprocessed(table, o, root, view);
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		size_t at;

		if (!native_lock_key(table, item, &key))
			continue;
		at = native_find_key(o, &key);
		if (at == o->n_keys)
			continue;
		r = native_read_row(table, item, &key, view, &view->locks[at]);
		if (r == DDBLOCK_E_NOMEM)
			return r;
		view->processed[at] = r == 0;
	}
	view->has_record = true;
	return 0;
}

/* What was looked at for a page, and what that consumed. Neither is a reason
 * to refuse the page. */
static void
native_read_cost(struct json_object *root, struct dialect_view *view)
{
	int64_t examined =
	    json_object_get_int64(json_find(root, "ScannedCount"));
	double units = json_object_get_double(
	    json_find(json_find(root, "ConsumedCapacity"), "CapacityUnits"));

	view->n_examined = examined > 0 && examined <= SCAN_PAGE_MAX ?
	    (uint64_t)examined : view->n_rows;
	if (units > 0 && units <= NATIVE_UNITS_MAX)
		view->read_milliunits = (uint64_t)(units * 1000 + 0.5);
}

static int
native_read_page(const struct dialect_table *table, struct json_object *root,
    struct dialect_view *view)
{
	struct json_object *items = json_find(root, "Items");
	struct json_object *last = json_find(root, "LastEvaluatedKey");
	size_t n;
	int r;

	if (!json_object_is_type(items, json_type_array))
		return DDBLOCK_E_PROTOCOL;
	n = json_object_array_length(items);
	if (n > SCAN_PAGE_MAX)
		return DDBLOCK_E_PROTOCOL;
	view->rows = dialect_view_alloc(view, n + 1, sizeof(*view->rows));
	if (view->rows == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		struct scan_row *row = &view->rows[view->n_rows];

		if (!native_lock_key(table, item, &row->key))
			continue;
		r = native_read_row(table, item, &row->key, view,
		    &row->record);
		if (r == DDBLOCK_E_NOMEM)
			return r;
		if (r == 0)
			view->n_rows++;
	}
	if (last != NULL) {
		view->next_cursor.bytes = json_string(json_find(json_find(last,
		    table->key_attribute), "S"), &view->next_cursor.length);
		if (view->next_cursor.bytes == NULL)
			return DDBLOCK_E_PROTOCOL;
	}
	native_read_cost(root, view);
	view->has_record = true;
	return 0;
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

	view->json = json_read_object(body, length);
	if (view->json == NULL)
		return DDBLOCK_E_PROTOCOL;
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
