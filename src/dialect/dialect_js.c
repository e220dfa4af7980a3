/*
 * The record formats of dynamodb-lock-client for JavaScript.
 *
 * Fail open: a hold lasts as long as `guid` keeps changing, within
 * `leaseDurationMs`. Its item stays for ever, because it has the token; a
 * release sets a lease of 1 ms. That client releases under the same `guid`, we
 * under another, so that a renewal that lands late cannot bring the hold back.
 * With `lockAcquiredTimeUnixMs`, which some of those clients trust, a lease
 * counts from that time; it is therefore renewed with the hold.
 *
 * Fail closed: `guid` names the holder, until the holder deletes the item.
 *
 * A guid of ours is the name of the hold, the number of the renewal, and bytes
 * that follow from the name.
 */
#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "ddblock.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

#define JS_GUID_LENGTH 64
#define JS_RELEASED_MS 1	/* the lease after a release */
#define JS_LAST_BEAT UINT64_MAX	/* of a hold that was released */
#define JS_TIME_MAX_MS (UINT64_C(253402300800) * 1000)

#define JS_OURS "#guid BETWEEN :low AND :high"
/* And it was not freed by hand. */
#define JS_OURS_STILL JS_OURS " AND #leaseDurationMs > :released"
#define JS_RENEW "#guid = :version, #leaseDurationMs = :lease"
#define JS_HOLD "#owner = :owner, " JS_RENEW
#define JS_TIME ", #lockAcquiredTimeUnixMs = :wall"
#define JS_COUNT ", #fencingToken = if_not_exists(#fencingToken, :zero) + "    \
	":tokens"
#define JS_TOKEN ", #fencingToken = :token"
#define JS_ROOM "#fencingToken BETWEEN :zero AND :last"
/*
 * For a hold of ours: raises the token to this value, even if it lands twice.
 */
#define JS_BELOW "#fencingToken BETWEEN :zero AND :token"
/* A record in another form is overwritten only as it was seen. */
#define JS_FREE "attribute_not_exists(#key) OR "                               \
	"(#leaseDurationMs = :released AND " JS_ROOM                           \
	" AND attribute_type(#owner, :text)"                                   \
	" AND attribute_type(#guid, :bytes) AND size(#guid) = :size)"
#define JS_AS_SEEN "#guid = :seen"
#define JS_TOKEN_SEEN " AND #fencingToken = :tokenSeen"

static const char js_guid_expected[] = "64 bytes (B)";
static const char js_lease_expected[] =
    "whole milliseconds, 1 (free) to 366 days (N)";
static const char js_token_room[] =
    "a number (N) that leaves room for more below 2^53";

/* ---- guids ------------------------------------------------------------- */

static void
js_put(unsigned char *to, uint64_t n)
{
	for (int i = 7; i >= 0; i--) {
		to[i] = (unsigned char)n;
		n >>= 8;
	}
}

static uint64_t
js_get(const unsigned char *from)
{
	uint64_t n = 0;

	for (int i = 0; i < 8; i++)
		n = n << 8 | from[i];
	return n;
}

static void
js_guid(struct ident hold, uint64_t beat, unsigned char guid[JS_GUID_LENGTH])
{
	js_put(guid, hold.high);
	js_put(guid + 8, hold.low);
	js_put(guid + 16, beat);
	for (size_t at = 24; at < JS_GUID_LENGTH; at += 16) {
		struct ident next = ident_hash((const char *)guid, 16);

		next.low += at;
		next.high ^= next.low * UINT64_C(0x9e3779b97f4a7c15);
		js_put(guid + at, next.high);
		if (at + 8 < JS_GUID_LENGTH)
			js_put(guid + at + 8, next.low);
	}
}

static bool
js_parse_guid(const char *text, size_t length, struct ident *ret_hold,
    uint64_t *ret_beat)
{
	unsigned char guid[JS_GUID_LENGTH + 3], ours[JS_GUID_LENGTH];
	size_t n = 0;

	if (base64_room(length) > sizeof(guid) ||
	    !base64_read(text, length, guid, &n) || n != JS_GUID_LENGTH)
		return false;
	*ret_hold = (struct ident){ js_get(guid), js_get(guid + 8) };
	*ret_beat = js_get(guid + 16);
	js_guid(*ret_hold, *ret_beat, ours);
	if (ident_is_none(*ret_hold) || memcmp(guid, ours, sizeof(ours)) != 0) {
		*ret_hold = ident_hash((const char *)guid, JS_GUID_LENGTH);
		*ret_beat = 0;
	}
	return true;
}

static struct ident
js_hold_of(const char *version)
{
	struct ident hold = { 0 };
	uint64_t beat;

	(void)js_parse_guid(version, strlen(version), &hold, &beat);
	return hold;
}

/* ---- requests ---------------------------------------------------------- */

static void
js_value_guid(struct record_writer *w, uint64_t beat)
{
	const struct operation *o = w->operation;
	struct ident hold = o->kind == OPERATION_BREAK ?
	    ident_hash(o->version, strlen(o->version)) : record_grant(o);
	unsigned char guid[JS_GUID_LENGTH];

	js_guid(hold, beat, guid);
	record_append_bytes(w, guid, sizeof(guid));
}

/* The guid that is written: a release writes the last one. */
static void
js_value_version(struct record_writer *w)
{
	enum operation_kind kind = w->operation->kind;
	bool ends = kind == OPERATION_RELEASE || kind == OPERATION_BREAK;

	js_value_guid(w, ends ? JS_LAST_BEAT : w->attempt->beat);
}

static void
js_value(struct record_writer *w, const char *name)
{
	const struct operation *o = w->operation;
	uint64_t beat = w->attempt->beat;

	if (strcmp(name, "owner") == 0)
		record_append_text(w, record_owner(w->table, o));
	else if (strcmp(name, "lease") == 0)
		record_append_number(w, o->me.lease_ms);
	else if (strcmp(name, "version") == 0)
		js_value_version(w);
	else if (strcmp(name, "low") == 0)
		js_value_guid(w, 0);
	else if (strcmp(name, "high") == 0)
		js_value_guid(w, o->kind == OPERATION_RELEASE ?
		    JS_LAST_BEAT : beat - 1);
	else if (strcmp(name, "wall") == 0)
		record_append_number(w, w->attempt->wall_ms);
	else if (strcmp(name, "tokens") == 0)
		record_append_number(w, o->tokens);
	else if (strcmp(name, "token") == 0)
		record_append_number(w, o->token_seen + o->tokens);
	else if (strcmp(name, "tokenSeen") == 0)
		record_append_number(w, o->token_seen);
	else if (strcmp(name, "zero") == 0)
		record_append_number(w, 0);
	else if (strcmp(name, "last") == 0)
		record_append_number(w, TOKEN_MAX - o->tokens);
	else if (strcmp(name, "released") == 0)
		record_append_number(w, JS_RELEASED_MS);
	else if (strcmp(name, "size") == 0)
		record_append_number(w, JS_GUID_LENGTH);
	else if (strcmp(name, "text") == 0)
		record_append_text(w, "S");
	else if (strcmp(name, "bytes") == 0)
		record_append_text(w, "B");
	else {			/* :seen, in base64 as it came */
		(void)buffer_append_text(w->to, "{\"B\":");
		json_append_text(w->to, o->version);
		(void)buffer_append_text(w->to, "}");
	}
}

/* ---- fail open --------------------------------------------------------- */

static void
js_open_plan_acquire(const struct dialect_table *table,
    const struct operation *o, struct record_plan *p)
{
	bool timed = table->local_time;

	if (!timed)
		p->remove = "#lockAcquiredTimeUnixMs";
	if (o->version == NULL) {
		p->set = timed ? JS_HOLD JS_COUNT JS_TIME : JS_HOLD JS_COUNT;
		p->condition = JS_FREE;
		return;
	}
	p->verb = table->keep_attributes ? RECORD_UPDATE : RECORD_PUT;
	p->set = timed ? JS_HOLD JS_TOKEN JS_TIME : JS_HOLD JS_TOKEN;
	p->condition = o->n_dead > 0 ? JS_AS_SEEN JS_TOKEN_SEEN :
	    JS_AS_SEEN JS_TOKEN_SEEN " AND #leaseDurationMs = :released";
}

static void
js_open_plan(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	bool timed = table->local_time;

	p->condition = JS_OURS;
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		js_open_plan_acquire(table, o, p);
		break;
	case OPERATION_RELEASE:
	case OPERATION_BREAK:
		p->set = "#guid = :version, #leaseDurationMs = :released";
		if (o->kind == OPERATION_BREAK)
			p->condition = JS_AS_SEEN;
		break;
	case OPERATION_EXTEND:
		p->set = timed ? JS_RENEW JS_TOKEN JS_TIME :
		    JS_RENEW JS_TOKEN;
		p->condition = JS_OURS_STILL " AND " JS_BELOW;
		break;
	default:
		p->set = timed ? JS_RENEW JS_TIME : JS_RENEW;
		p->condition = JS_OURS_STILL;
		break;
	}
}

/* ---- fail closed ------------------------------------------------------- */

static void
js_closed_plan(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	(void)table;
	p->condition = JS_OURS;
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		p->set = "#owner = :owner, #guid = :version";
		p->condition = "attribute_not_exists(#key)";
		break;
	case OPERATION_RELEASE:
		p->verb = RECORD_DELETE;
		break;
	case OPERATION_BREAK:
		p->verb = RECORD_DELETE;
		p->condition = JS_AS_SEEN;
		break;
	default:
		p->set = "#guid = :version";
		break;
	}
}

/* ---- answers ----------------------------------------------------------- */

/* In a guid that is not ours each byte counts: no document says which bytes
 * change with a renewal. */
static void
js_read_guid(struct record_reader *r, struct json_object *item,
    struct lock_record *l, struct ident *ret_hold)
{
	size_t length = 0;

	l->version = record_scalar(r, item, "guid", "B", js_guid_expected,
	    &length);
	if (l->version == NULL ||
	    !js_parse_guid(l->version, length, ret_hold, &l->beat))
		record_bad(r, "guid", js_guid_expected);
}

/* The time of acquisition, here for people only; an invalid time is ignored. */
static uint64_t
js_read_time(struct record_reader *r, struct json_object *item)
{
	size_t length = 0;
	const char *text = json_string(json_find(json_find(item,
	    record_name(r->format, r->table, "lockAcquiredTimeUnixMs")), "N"),
	    &length);
	uint64_t ms;

	return text != NULL &&
	    json_read_number(text, length, JS_TIME_MAX_MS, &ms) ?
	    ms / 1000 : 0;
}

static void
js_open_read(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	const struct operation *o = r->operation;
	struct ident hold = { 0 };
	uint64_t lease_ms = 0;

	l->owner = record_text(r, item, "owner", "a text (S)");
	js_read_guid(r, item, l, &hold);
	if (record_number(r, item, "leaseDurationMs", RECORD_LEASE_MAX_MS,
	    js_lease_expected, &lease_ms) && lease_ms == 0)
		record_bad(r, "leaseDurationMs", js_lease_expected);
	(void)record_number(r, item, "fencingToken", TOKEN_MAX,
	    "a whole number from 0 to 2^53 - 1 (N)", &l->token);
	l->acquired_at_s = js_read_time(r, item);
	if (r->error != 0)
		return;
	if (lease_ms > JS_RELEASED_MS)
		record_hold(r, l, hold, lease_ms);
	else if (o != NULL && o->kind == OPERATION_ACQUIRE &&
	    l->token > TOKEN_MAX - o->tokens)
		record_bad(r, "fencingToken", js_token_room);
}

static void
js_closed_read(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	struct ident hold = { 0 };

	l->owner = record_text(r, item, "owner", "a text (S)");
	js_read_guid(r, item, l, &hold);
	if (json_find(item, "leaseDurationMs") != NULL)
		record_bad(r, "leaseDurationMs",
		    "none: that is a record of the format js-fail-open");
	if (r->error == 0)
		record_hold(r, l, hold, 0);
}

/*
 * ---- unsupported operations -----------------------------------------------
 */

static int
js_open_refuse(const struct dialect_table *, const struct operation *,
    struct dialect_view *);

/* The record that a client names may have any form. */
static int
js_refuse_version(const struct operation *o, struct dialect_view *view)
{
	struct ident hold;
	uint64_t beat;

	if (o->version == NULL || js_parse_guid(o->version,
	    strlen(o->version), &hold, &beat))
		return 0;
	(void)snprintf(view->text, sizeof(view->text), "%s",
	    "the record was not seen");
	return DDBLOCK_E_BAD_REQUEST;
}

/* A fail-closed lock is never taken from its holder. */
static int
js_closed_refuse(const struct dialect_table *table, const struct operation *o,
    struct dialect_view *view)
{
	(void)table;
	if (o->kind != OPERATION_ACQUIRE || o->version == NULL)
		return js_refuse_version(o, view);
	(void)snprintf(view->text, sizeof(view->text), "%s",
	    "nobody takes a lock from its holder in this record format");
	return DDBLOCK_E_UNSUPPORTED;
}

static const struct record_format js_open_format = {
	.name = "js-fail-open",
	.names = { "owner", "guid", "leaseDurationMs", "fencingToken",
	    "lockAcquiredTimeUnixMs", RECORD_MARKS },
	.features = DIALECT_FAIL_OPEN | DIALECT_TOKENS,
	.lease_min_ms = JS_RELEASED_MS + 1,
	.beat_max = JS_LAST_BEAT - 1,
	.to_mark = JS_AS_SEEN " AND #leaseDurationMs > :released",
	.is_ours = "attribute_exists(#leaseDurationMs)",
	.is_held = "#leaseDurationMs > :released",
	.refuse = js_open_refuse,
	.plan = js_open_plan,
	.hold_of = js_hold_of,
	.value = js_value,
	.read = js_open_read,
};

static int
js_open_refuse(const struct dialect_table *table, const struct operation *o,
    struct dialect_view *view)
{
	bool counts = o->kind == OPERATION_EXTEND ||
	    (o->kind == OPERATION_ACQUIRE && o->version != NULL);

	if (!counts || o->token_seen <= TOKEN_MAX - o->tokens)
		return js_refuse_version(o, view);
	return record_refuse_record(&js_open_format, table, o,
	    "fencingToken", js_token_room, view);
}

static const struct record_format js_closed_format = {
	.name = "js-fail-closed",
	.names = { "owner", "guid" },
	.features = DIALECT_FAIL_CLOSED,
	.beat_max = JS_LAST_BEAT - 1,
	.is_ours = "attribute_exists(#guid)",
	.is_held = "attribute_exists(#owner)",
	.refuse = js_closed_refuse,
	.plan = js_closed_plan,
	.hold_of = js_hold_of,
	.value = js_value,
	.read = js_closed_read,
};

static int
js_open_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	return record_request(&js_open_format, table, o, a, r, view);
}

static int
js_open_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	return record_answer(&js_open_format, table, o, a, conflict, body,
	    length, view);
}

static bool
js_open_key_attribute_ok(const char *name)
{
	return record_key_attribute_ok(&js_open_format, name);
}

const struct dialect dialect_js_fail_open = {
	.name = "js-fail-open",
	.life = LOCK_LIFE_RECORD,
	.features = DIALECT_FAIL_OPEN | DIALECT_TOKENS,
	.host_clock = true,	/* in lockAcquiredTimeUnixMs */
	.request = js_open_request,
	.answer = js_open_answer,
	.key_attribute_ok = js_open_key_attribute_ok,
};

static int
js_closed_request(const struct dialect_table *table,
    const struct operation *o, const struct dialect_attempt *a,
    struct dialect_request *r, struct dialect_view *view)
{
	return record_request(&js_closed_format, table, o, a, r, view);
}

static int
js_closed_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	return record_answer(&js_closed_format, table, o, a, conflict, body,
	    length, view);
}

static bool
js_closed_key_attribute_ok(const char *name)
{
	return record_key_attribute_ok(&js_closed_format, name);
}

const struct dialect dialect_js_fail_closed = {
	.name = "js-fail-closed",
	.life = LOCK_LIFE_NEVER,
	.features = DIALECT_FAIL_CLOSED,
	.request = js_closed_request,
	.answer = js_closed_answer,
	.key_attribute_ok = js_closed_key_attribute_ok,
};
