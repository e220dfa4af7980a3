/*
 * The record format of dlock.
 *
 * A hold lasts until the wall-clock time `until`, as all hosts' clocks show it
 * within the namespace's skew. `owner` is the holder; ours ends in the name of
 * the hold. With fencing an item has a token, bytes that are a number of any
 * size, and therefore stays: a release sets `until` to 1000. That client
 * doubles its tokens, so they outgrow every integer; ours is one more than the
 * last. Without fencing a release deletes the item.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "ddblock.h"
#include "dialect/decimal.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

#define DLOCK_FREE_MS 1000	/* until then: the lock is free */
#define DLOCK_TIME_MAX_MS INT64_MAX
#define DLOCK_SUFFIX (1 + IDENT_TEXT_LENGTH)	/* "-", and the hold's name */

#define DLOCK_SET "#owner = :owner, #until = :until"
/* A record in another form is overwritten only as it was seen. */
#define DLOCK_OVER "#until BETWEEN :zero AND :past"
#define DLOCK_ANY "attribute_not_exists(#key) OR "                             \
	"(" DLOCK_OVER " AND attribute_type(#owner, :text))"
#define DLOCK_OURS "contains(#owner, :grant)"
/* Forward only, and never after the release. */
#define DLOCK_OURS_STILL DLOCK_OURS                                            \
	" AND #until > :free AND #until < :until"
#define DLOCK_AS_SEEN "#owner = :ownerSeen AND #until = :untilSeen"
#define DLOCK_PAST " AND #until <= :past"
#define DLOCK_TOKEN " AND #fencingToken = :tokenSeen"
#define DLOCK_NO_TOKEN " AND attribute_not_exists(#fencingToken)"

static const char dlock_until_expected[] =
    "a time in whole milliseconds, at most 366 days ahead (N)";
static const char dlock_token_expected[] = "1 to 1024 bytes (B)";

/* ---- "UNTIL:TOKENHEX:OWNER" -------------------------------------------- */

/* The parts of the record that was seen, in its version. */
struct dlock_seen {
	uint64_t until_ms;
	const char *token;	/* hexadecimal digits */
	size_t token_length;
	const char *owner;
};

static bool
dlock_parse_seen(const char *version, struct dlock_seen *ret)
{
	const char *token = strchr(version, ':');
	const char *owner = token != NULL ? strchr(token + 1, ':') : NULL;

	if (owner == NULL || !json_read_number(version,
	    (size_t)(token - version), DLOCK_TIME_MAX_MS, &ret->until_ms))
		return false;
	ret->token = token + 1;
	ret->token_length = (size_t)(owner - token - 1);
	ret->owner = owner + 1;
	return ret->token_length % 2 == 0 &&
	    ret->token_length <= 2 * DECIMAL_BYTES_MAX &&
	    strspn(ret->token, "0123456789abcdef") == ret->token_length;
}

static void
dlock_format_seen(struct record_reader *r, struct lock_record *l,
    const char *owner, const unsigned char *token, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t size = 20 + 1 + 2 * n + 1 + strlen(owner) + 1;
	char *text = record_alloc(r, size, 1);
	size_t at;

	if (text == NULL)
		return;
	at = (size_t)snprintf(text, size, "%" PRIu64 ":", l->beat);
	for (size_t i = 0; i < n; i++) {
		text[at++] = digits[token[i] >> 4];
		text[at++] = digits[token[i] & 15];
	}
	(void)snprintf(text + at, size - at, ":%s", owner);
	l->version = text;
}

static unsigned char
dlock_digit(char c)
{
	return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* ---- tokens ------------------------------------------------------------ */

/* The record's token as the operation has seen it, in bytes. None: 0. */
static size_t
dlock_token_seen(const struct operation *o,
    unsigned char token[DECIMAL_BYTES_MAX])
{
	struct dlock_seen seen;
	size_t n = 0;

	if (o->version != NULL && dlock_parse_seen(o->version, &seen)) {
		for (; 2 * n < seen.token_length; n++)
			token[n] = (unsigned char)
			    (dlock_digit(seen.token[2 * n]) << 4 |
			    dlock_digit(seen.token[2 * n + 1]));
	} else if (o->kind == OPERATION_EXTEND) {
		for (uint64_t t = o->token_seen; t > 0; t >>= 8)
			n++;
		for (size_t i = 0; i < n; i++)
			token[i] = (unsigned char)
			    (o->token_seen >> 8 * (n - 1 - i));
	}
	return n;
}

/* ---- requests ---------------------------------------------------------- */

static void
dlock_plan_acquire(const struct dialect_table *table,
    const struct operation *o, struct record_plan *p)
{
	struct dlock_seen seen = { .token_length = 0 };

	p->set = table->fencing ? DLOCK_SET ", #fencingToken = :token" :
	    DLOCK_SET;
	if (o->version == NULL) {
		p->condition = table->fencing ?
		    "attribute_not_exists(#key)" : DLOCK_ANY;
		return;
	}
	(void)dlock_parse_seen(o->version, &seen);
	p->verb = table->keep_attributes ? RECORD_UPDATE : RECORD_PUT;
	if (!table->fencing)
		p->condition = DLOCK_AS_SEEN DLOCK_PAST;
	else if (seen.token_length > 0)
		p->condition = DLOCK_AS_SEEN DLOCK_TOKEN DLOCK_PAST;
	else
		p->condition = DLOCK_AS_SEEN DLOCK_NO_TOKEN DLOCK_PAST;
}

static void
dlock_plan_free(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	struct dlock_seen seen = { .token_length = 0 };

	if (table->fencing)
		p->set = "#until = :free";
	else
		p->verb = RECORD_DELETE;
	if (o->kind == OPERATION_RELEASE) {
		p->condition = DLOCK_OURS;
		return;
	}
	(void)dlock_parse_seen(o->version, &seen);
	p->condition = !table->fencing ? DLOCK_AS_SEEN :
	    seen.token_length > 0 ? DLOCK_AS_SEEN DLOCK_TOKEN :
	    DLOCK_AS_SEEN DLOCK_NO_TOKEN;
}

static void
dlock_plan(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		dlock_plan_acquire(table, o, p);
		break;
	case OPERATION_RELEASE:
	case OPERATION_BREAK:
		dlock_plan_free(table, o, p);
		break;
	case OPERATION_EXTEND:
		p->set = "#until = :until, #fencingToken = :token";
		p->condition = DLOCK_OURS_STILL DLOCK_TOKEN;
		break;
	default:
		p->set = "#until = :until";
		p->condition = DLOCK_OURS_STILL;
		break;
	}
}

static void
dlock_value_owner(struct record_writer *w, const char *name)
{
	char grant[IDENT_TEXT_LENGTH + 1];
	struct buffer owner;	/* has as much room as it needs */

	ident_format(record_grant(w->operation), grant);
	buffer_init(&owner, strlen(name) + sizeof(grant) + 1);
	if (buffer_printf(&owner, "%s-%s", name, grant) < 0)
		w->to->error = buffer_failed(&owner);
	else
		record_append_text(w, owner.data);
	buffer_done(&owner);
}

static void
dlock_value_token(struct record_writer *w, bool next)
{
	const struct operation *o = w->operation;
	unsigned char seen[DECIMAL_BYTES_MAX];
	unsigned char token[DECIMAL_BYTES_MAX + 8];
	size_t n = dlock_token_seen(o, seen);

	if (next)
		n = decimal_add(seen, n, o->tokens, token);
	record_append_bytes(w, next ? token : seen, n);
}

static void
dlock_value(struct record_writer *w, const char *name)
{
	const struct operation *o = w->operation;
	const struct dialect_attempt *a = w->attempt;
	uint64_t skew_ms = w->table->skew_ms;
	struct dlock_seen seen = { .owner = "" };

	if (o->version != NULL)
		(void)dlock_parse_seen(o->version, &seen);
	if (strcmp(name, "owner") == 0)
		dlock_value_owner(w, record_owner(w->table, o));
	else if (strcmp(name, "grant") == 0)
		dlock_value_owner(w, "");
	else if (strcmp(name, "until") == 0)
		record_append_number(w, a->beat);
	else if (strcmp(name, "past") == 0)
		record_append_number(w,
		    a->wall_ms > skew_ms ? a->wall_ms - skew_ms : 0);
	else if (strcmp(name, "zero") == 0)
		record_append_number(w, 0);
	else if (strcmp(name, "free") == 0)
		record_append_number(w, DLOCK_FREE_MS);
	else if (strcmp(name, "text") == 0)
		record_append_text(w, "S");
	else if (strcmp(name, "ownerSeen") == 0)
		record_append_text(w, seen.owner);
	else if (strcmp(name, "untilSeen") == 0)
		record_append_number(w, seen.until_ms);
	else
		dlock_value_token(w, strcmp(name, "token") == 0);
}

/* ---- answers ----------------------------------------------------------- */

static size_t
dlock_read_token(struct record_reader *r, struct json_object *item,
    struct lock_record *l, unsigned char **ret)
{
	size_t length = 0, n = 0;
	const char *text = record_scalar(r, item, "fencingToken", "B",
	    dlock_token_expected, &length);
	char *digits;

	if (text == NULL)
		return 0;
	*ret = record_alloc(r, base64_room(length) + 1, 1);
	if (*ret == NULL)
		return 0;
	if (!base64_read(text, length, *ret, &n) || n == 0 ||
	    n > DECIMAL_BYTES_MAX) {
		record_bad(r, "fencingToken", dlock_token_expected);
		return 0;
	}
	if (decimal_small(*ret, n, &l->token) && l->token <= TOKEN_MAX)
		return n;
	l->token = TOKEN_MAX;
	digits = record_alloc(r, DECIMAL_ROOM(n), 1);
	if (digits != NULL)
		decimal_text(*ret, n, digits);
	l->token_text = digits;
	return n;
}

/* The hold's name at the end of an owner of ours; the text before it has
 * @ret_length bytes. False: it is not ours. */
static bool
dlock_parse_owner(const char *owner, size_t *ret_length, struct ident *ret)
{
	size_t length = strlen(owner);
	size_t n = length > DLOCK_SUFFIX ? length - DLOCK_SUFFIX : 0;

	*ret_length = n;
	return n > 0 && owner[n] == '-' &&
	    ident_parse(owner + n + 1, IDENT_TEXT_LENGTH, ret) &&
	    !ident_is_none(*ret);
}

static struct ident
dlock_hold_of(const char *version)
{
	struct ident hold = { 0 };
	struct dlock_seen seen;
	size_t n;

	if (!dlock_parse_seen(version, &seen) ||
	    !dlock_parse_owner(seen.owner, &n, &hold))
		return (struct ident){ 0 };
	return hold;
}

/* The hold: its name, which is not shown to people, or a name derived from an
 * owner that is not ours. */
static struct ident
dlock_read_hold(struct record_reader *r, const char *owner,
    struct lock_record *l)
{
	struct ident hold;
	char *name;
	size_t n;

	l->owner = owner;
	if (!dlock_parse_owner(owner, &n, &hold))
		return ident_hash(owner, strlen(owner));
	name = record_alloc(r, n + 1, 1);
	if (name != NULL)
		memcpy(name, owner, n);
	l->owner = name;
	return hold;
}

static void
dlock_read(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	uint64_t wall_ms = r->attempt->wall_ms, end_ms;
	const char *owner = record_text(r, item, "owner", "a text (S)");
	unsigned char *token = NULL;
	size_t n = r->table->fencing ?
	    dlock_read_token(r, item, l, &token) : 0;
	struct ident hold;

	(void)record_number(r, item, "until", wall_ms + RECORD_LEASE_MAX_MS,
	    dlock_until_expected, &l->beat);
	if (r->error != 0)
		return;
	hold = dlock_read_hold(r, owner, l);
	dlock_format_seen(r, l, owner, token, n);
	if (l->beat <= DLOCK_FREE_MS)
		return;
	end_ms = l->beat + r->table->skew_ms;
	l->ends_in_ms = end_ms > wall_ms ? end_ms - wall_ms : 0;
	record_hold(r, l, hold, l->ends_in_ms > 0 ? l->ends_in_ms : 1);
}

/* ---- the format -------------------------------------------------------- */

static int
dlock_refuse(const struct dialect_table *table, const struct operation *o,
    struct dialect_view *view)
{
	struct dlock_seen seen;
	bool counts = o->kind == OPERATION_EXTEND;

	if (counts && !table->fencing) {
		(void)snprintf(view->text, sizeof(view->text), "%s",
		    "the record format dlock has no tokens without fencing");
		return DDBLOCK_E_UNSUPPORTED;
	}
	if (o->version != NULL ? !dlock_parse_seen(o->version, &seen) :
	    counts && o->token_seen >= TOKEN_MAX) {
		(void)snprintf(view->text, sizeof(view->text), "%s",
		    "the record was not seen");
		return DDBLOCK_E_BAD_REQUEST;
	}
	return 0;
}

static const struct record_format dlock_format = {
	.name = "dlock",
	.names = { "owner", "until", "fencingToken" },
	.features = DIALECT_FAIL_OPEN | DIALECT_TOKENS,
	.lease_min_ms = 1,
	.beat_max = DLOCK_TIME_MAX_MS,
	.is_ours = "attribute_exists(#until)",
	.is_held = "#until > :free",
	.refuse = dlock_refuse,
	.plan = dlock_plan,
	.hold_of = dlock_hold_of,
	.value = dlock_value,
	.read = dlock_read,
};

static int
dlock_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	return record_request(&dlock_format, table, o, a, r, view);
}

static int
dlock_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	return record_answer(&dlock_format, table, o, a, conflict, body,
	    length, view);
}

static bool
dlock_key_attribute_ok(const char *name)
{
	return record_key_attribute_ok(&dlock_format, name);
}

const struct dialect dialect_dlock = {
	.name = "dlock",
	.life = LOCK_LIFE_DEADLINE,
	.features = DIALECT_FAIL_OPEN | DIALECT_TOKENS,
	.host_clock = true,
	.request = dlock_request,
	.answer = dlock_answer,
	.key_attribute_ok = dlock_key_attribute_ok,
};
