/*
 * The native record format: one record, of a lock or of a session.
 *
 * Records are written by us, by other versions of us, and by hand. A missing
 * optional attribute is absent. An attribute of a wrong type or form is refused
 * with its place named, because to guess the holder is worse than to stop.
 * Attributes that are not ours do not matter.
 */
#include <string.h>

#include <json-c/json.h>

#include "core/apply.h"
#include "ddblock.h"
#include "dialect/json.h"
#include "dialect/native/native.h"
#include "dialect/native/native_reader.h"

#define NATIVE_NUMBER_MAX INT64_MAX

static void
native_read_holders(struct native_reader *r, struct json_object *item,
    struct lock_record *l)
{
	static const char expected[] =
	    "a set (SS) of at most 1024 SESSION.GRANT.LEASE.FLAGS";
	struct json_object *set;
	size_t n = native_array(r, item, "holders", "SS", expected, &set);
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

/*
 * The sessions in a set, or in a list, of which @most have room. More waiter
 * marks than fit do no harm: one mark is enough for holders to yield. A line
 * that is longer was written by hand: those at its end have no place yet.
 */
static size_t
native_read_sessions(struct native_reader *r, struct json_object *item,
    const char *attribute, bool list, size_t most, const struct ident **ret)
{
	const char *expected = list ?
	    "a list (L) of sessions (S)" : "a set (SS) of sessions";
	struct json_object *all;
	size_t n = native_array(r, item, attribute, list ? "L" : "SS",
	    expected, &all);
	struct ident *sessions;

	if (n == 0)
		return 0;
	if (n > most)
		n = most;
	sessions = native_alloc(r, n, sizeof(*sessions));
	if (sessions == NULL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(all, i);
		size_t length = 0;
		const char *text = json_string(list ?
		    json_find(one, "S") : one, &length);

		if (text == NULL || !ident_parse(text, length, &sessions[i])) {
			native_bad(r, attribute, expected);
			return 0;
		}
	}
	*ret = sessions;
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

/* A text for people: if it has another type, it counts as absent. */
static const char *
native_remark(struct json_object *item, const char *attribute)
{
	size_t length;

	return json_string(json_find(json_find(item, attribute), "S"),
	    &length);
}

/* Anything else than a grant is none: it is only a reason to wait a moment. */
static struct ident
native_read_kept(struct json_object *item)
{
	const char *text = native_remark(item, "kept");
	struct ident kept = { 0, 0 };

	if (text == NULL || strlen(text) != IDENT_TEXT_LENGTH ||
	    !ident_parse(text, IDENT_TEXT_LENGTH, &kept))
		kept = (struct ident){ 0, 0 };
	return kept;
}

static int
native_read_lock(struct native_reader *r, struct json_object *item,
    struct lock_record *ret)
{
	struct lock_record l = {
		.exists = true, .asked_s = r->view->lock.asked_s,
	};

	native_read_holders(r, item, &l);
	l.mode = native_read_mode(r, item);
	(void)native_number(r, item, "limit", NATIVE_NUMBER_MAX, &l.limit);
	l.n_exclusive_waiters = native_read_sessions(r, item, "xwait", false,
	    WAITER_MARKS_MAX, &l.exclusive_waiters);
	l.n_shared_waiters = native_read_sessions(r, item, "swait", false,
	    WAITER_MARKS_MAX, &l.shared_waiters);
	l.n_line = native_read_sessions(r, item, "line", true,
	    LINE_PLACES_MAX, &l.line);
	l.kept = native_read_kept(item);
	l.owner = native_text(r, item, "owner");
	l.broken_by = native_text(r, item, "broken_by");
	(void)native_number(r, item, "acquired_at", NATIVE_NUMBER_MAX,
	    &l.acquired_at_s);
	(void)native_number(r, item, "ran", NATIVE_NUMBER_MAX, &l.ran_s);
	l.marked = native_number(r, item, "ran_before", NATIVE_NUMBER_MAX,
	    &l.ran_before_s);
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

/* It is only of use to this daemon if it has the form that its users know. */
static const char *
native_contact(struct json_object *item)
{
	const char *contact = native_remark(item, "contact");

	return contact != NULL && strlen(contact) <= CONTACT_TEXT_MAX ?
	    contact : NULL;
}

/*
 * A session with this attribute, of any type, is dead: the conditions of beats
 * and kills say the same. A dead session's other attributes do not matter.
 */
static int
native_read_session(struct native_reader *r, struct json_object *item,
    struct session_record *ret)
{
	struct session_record s = {
		.exists = true, .dead = json_find(item, "dead") != NULL,
		.host = native_remark(item, "host"),
		.contact = native_contact(item),
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

/* A lock that admits us but could not be acquired, because of its token. */
static int
native_check_room(struct native_reader *r, const struct operation *o,
    const struct lock_record *l)
{
	const struct apply a = {
		.life = LOCK_LIFE_SESSION, .wall_s = l->asked_s,
	};

	if (o->kind == OPERATION_ACQUIRE &&
	    apply_judge_lock(&a, o, l) == DDBLOCK_E_BAD_RECORD)
		native_bad(r, "token", NATIVE_TOKEN_ROOM);
	return r->error;
}

int
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
 * One record of many. A record that is not in the format does not affect the
 * others: it is left out, and the view's text names the first such record.
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
