/*
 * The record format of python_dynamodb_lock.
 *
 * A hold lasts as long as `record_version_number` updates changing, within
 * `lease_duration` seconds. A release deletes the item, and all that clients
 * keep there. `expiry_time` is for the table's TTL, and for a fork of that
 * client which judges by it; so we write it exactly, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialect/json.h"
#include "dialect/record/record.h"
#include "dialect/uuid.h"

#define PYTHON_EXPIRY_S 3600		/* where the namespace says nothing */
#define PYTHON_TIME_MAX_S UINT64_C(253402300799)	/* the year 9999 */

#define PYTHON_RENEW "#lease_duration = :lease, "                              \
	"#record_version_number = :version, #expiry_time = :expiry"
#define PYTHON_SET "#owner_name = :owner, " PYTHON_RENEW
#define PYTHON_OURS "#record_version_number BETWEEN :low AND :high"
#define PYTHON_AS_SEEN "#record_version_number = :seen"

static void
python_plan(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	bool updates = o->version == NULL || table->keep_attributes;

	p->condition = PYTHON_OURS;
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		p->verb = updates ? RECORD_UPDATE : RECORD_PUT;
		p->set = PYTHON_SET;
		p->condition = o->version == NULL ?
		    "attribute_not_exists(#key)" : PYTHON_AS_SEEN;
		break;
	case OPERATION_UPDATE:
		p->verb = RECORD_PUT;
		p->contents = true;
		p->set = PYTHON_SET;
		break;
	case OPERATION_RELEASE:
		p->verb = RECORD_DELETE;
		break;
	case OPERATION_BREAK:
		p->verb = RECORD_DELETE;
		p->condition = PYTHON_AS_SEEN;
		break;
	default:
		p->set = PYTHON_RENEW;
		break;
	}
}

/* Seconds, with a fraction if needed. */
static void
python_value_lease(struct record_writer *w, uint64_t lease_ms)
{
	uint64_t rest = lease_ms % 1000;
	int digits = 3;

	if (rest == 0) {
		record_append_number(w, lease_ms / 1000);
		return;
	}
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	(void)buffer_printf(w->to, "{\"N\":\"%" PRIu64 ".%0*" PRIu64 "\"}",
	    lease_ms / 1000, digits, rest);
}

static void
python_value_version(struct record_writer *w, uint64_t beat)
{
	char text[UUID_LENGTH + 1];

	uuid_format(record_grant(w->operation), beat, text);
	record_append_text(w, text);
}

static void
python_value(struct record_writer *w, const char *name)
{
	const struct operation *o = w->operation;
	uint64_t beat = w->attempt->beat;
	uint64_t expiry_s = w->table->expiry_s != 0 ? w->table->expiry_s :
	    PYTHON_EXPIRY_S;

	if (strcmp(name, "owner") == 0)
		record_append_text(w, record_owner(w->table, o));
	else if (strcmp(name, "lease") == 0)
		python_value_lease(w, o->me.lease_ms);
	else if (strcmp(name, "expiry") == 0)
		record_append_number(w,
		    w->attempt->wall_ms / 1000 + expiry_s);
	else if (strcmp(name, "version") == 0)
		python_value_version(w, beat);
	else if (strcmp(name, "low") == 0)
		python_value_version(w, 0);
	else if (strcmp(name, "high") == 0)
		python_value_version(w, o->kind == OPERATION_RELEASE ?
		    IDENT_RENEWALS_MAX : beat - 1);
	else
		record_append_text(w, o->version);	/* :seen */
}

/* Digits behind a point as milliseconds, rounded up. */
static bool
python_read_fraction(const char *text, size_t length, uint64_t *ret_ms)
{
	uint64_t ms = 0;
	bool more = false;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (i < 3)
			ms = ms * 10 + (uint64_t)(text[i] - '0');
		else if (text[i] != '0')
			more = true;
	}
	for (size_t i = length; i < 3; i++)
		ms *= 10;
	*ret_ms = ms + (more ? 1 : 0);
	return length > 0;
}

static void
python_read_lease(struct record_reader *r, struct json_object *item,
    uint64_t *ret_ms)
{
	static const char expected[] =
	    "seconds, more than 0 and at most 366 days (N)";
	size_t length = 0;
	const char *text = record_scalar(r, item, "lease_duration", "N",
	    expected, &length);
	const char *point = text != NULL ? memchr(text, '.', length) : NULL;
	size_t n = point != NULL ? (size_t)(point - text) : length;
	uint64_t seconds = 0, ms = 0;

	if (text == NULL ||
	    !json_read_number(text, n, RECORD_LEASE_MAX_MS / 1000, &seconds) ||
	    (point != NULL &&
	    !python_read_fraction(point + 1, length - n - 1, &ms)) ||
	    seconds * 1000 + ms == 0 ||
	    seconds * 1000 + ms > RECORD_LEASE_MAX_MS)
		record_bad(r, "lease_duration", expected);
	*ret_ms = seconds * 1000 + ms;
}

static void
python_read(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	uint64_t lease_ms;
	struct ident hold;

	l->owner = record_text(r, item, "owner_name", "a text (S)");
	l->version = record_text(r, item, "record_version_number",
	    "a UUID (S)");
	python_read_lease(r, item, &lease_ms);
	(void)record_number(r, item, "expiry_time", PYTHON_TIME_MAX_S,
	    "a time in whole seconds (N)", &l->ttl_s);
	record_read_contents(r, item, &l->contents);
	if (r->error != 0)
		return;
	if (uuid_parse(l->version, strlen(l->version), &hold, &l->beat))
		record_hold(r, l, hold, lease_ms);
	else
		record_bad(r, "record_version_number", "a UUID (S)");
}

static const struct record_format python_format = {
	.name = "python",
	.names = { "owner_name", "lease_duration", "record_version_number",
	    "expiry_time", RECORD_MARKS },
	.features = DIALECT_FAIL_OPEN | DIALECT_ATTRIBUTES,
	.lease_min_ms = 1,
	.beat_max = IDENT_RENEWALS_MAX,
	.ttl = "expiry_time",
	.to_mark = PYTHON_AS_SEEN,
	.is_ours = "attribute_exists(#record_version_number)",
	.is_held = "attribute_exists(#owner_name)",
	.plan = python_plan,
	.hold_of = record_hold_of_uuid,
	.value = python_value,
	.read = python_read,
};

static int
python_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	return record_request(&python_format, table, o, a, r, view);
}

static int
python_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	return record_answer(&python_format, table, o, a, conflict, body,
	    length, view);
}

static bool
python_key_attribute_ok(const char *name)
{
	return record_key_attribute_ok(&python_format, name);
}

const struct dialect dialect_python = {
	.name = "python",
	.life = LOCK_LIFE_RECORD,
	.features = DIALECT_FAIL_OPEN | DIALECT_ATTRIBUTES,
	.request = python_request,
	.answer = python_answer,
	.key_attribute_ok = python_key_attribute_ok,
};
