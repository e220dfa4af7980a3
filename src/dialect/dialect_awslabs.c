/*
 * The record format of the Java client, AmazonDynamoDBLockClient, and of
 * dynamolock, which is the same in Go, except for the text of a lease and the
 * form of a version.
 *
 * A hold lasts as long as `recordVersionNumber` keeps changing, within
 * `leaseDuration`, which is milliseconds or (Go) a duration such as "20s"; both
 * are read; the namespace says which is written. Java's versions are UUIDs;
 * those of dynamolock are any text. A release deletes the item or, to keep its
 * data, sets `isReleased`. All other attributes of the item belong to clients.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/duration.h"
#include "dialect/json.h"
#include "dialect/record/record.h"
#include "dialect/uuid.h"

#define AWSLABS_NS_OF_MS UINT64_C(1000000)

/* The attributes that a new holder sets. */
#define AWSLABS_SET "#ownerName = :owner, #leaseDuration = :lease, "           \
	"#recordVersionNumber = :version"
/* Ours, by any of its renewals so far; a release is the last of its writes. */
#define AWSLABS_OURS "#recordVersionNumber BETWEEN :low AND :high"
#define AWSLABS_OURS_STILL AWSLABS_OURS " AND attribute_not_exists(#isReleased)"
#define AWSLABS_AS_SEEN "#recordVersionNumber = :seen"

static void
awslabs_plan_acquire(const struct dialect_table *table,
    const struct operation *o, struct record_plan *p)
{
	p->set = AWSLABS_SET;
	if (o->version == NULL) {
		p->condition = "attribute_not_exists(#key)";
		return;
	}
	p->verb = table->keep_attributes || o->keeps_contents ? RECORD_UPDATE :
	    RECORD_PUT;
	p->remove = "#isReleased";
	p->condition = o->n_dead > 0 ? AWSLABS_AS_SEEN :
	    AWSLABS_AS_SEEN " AND #isReleased = :released";
}

/* A broken record that stays gets another version, too: so its holder sees the
 * break. */
static void
awslabs_plan_free(const struct dialect_table *table,
    const struct operation *o, struct record_plan *p)
{
	bool breaks = o->kind == OPERATION_BREAK;

	p->condition = breaks ? AWSLABS_AS_SEEN : AWSLABS_OURS;
	if (!table->keep_released && !o->keeps_contents)
		p->verb = RECORD_DELETE;
	else
		p->set = breaks ? "#isReleased = :released, "
		    "#recordVersionNumber = :version" :
		    "#isReleased = :released";
}

static void
awslabs_plan(const struct dialect_table *table, const struct operation *o,
    struct record_plan *p)
{
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		awslabs_plan_acquire(table, o, p);
		break;
	case OPERATION_UPDATE:
		p->verb = RECORD_PUT;
		p->contents = true;
		p->set = AWSLABS_SET;
		p->condition = AWSLABS_OURS_STILL;
		break;
	case OPERATION_RELEASE:
	case OPERATION_BREAK:
		awslabs_plan_free(table, o, p);
		break;
	default:
		p->set = "#leaseDuration = :lease, "
		    "#recordVersionNumber = :version";
		p->condition = AWSLABS_OURS_STILL;
		break;
	}
}

static void
awslabs_value_lease(struct record_writer *w, uint64_t lease_ms)
{
	char text[DURATION_SIZE];

	if (w->table->go_lease)
		duration_format(lease_ms * AWSLABS_NS_OF_MS, text);
	else
		(void)snprintf(text, sizeof(text), "%" PRIu64, lease_ms);
	record_append_text(w, text);
}

/*
 * The version of a broken record names no hold; it only differs from the last.
 */
static void
awslabs_value_version(struct record_writer *w, uint64_t beat)
{
	const struct operation *o = w->operation;
	struct ident hold = o->kind == OPERATION_BREAK ?
	    ident_renewable(ident_hash(o->version, strlen(o->version))) :
	    record_grant(o);
	char text[UUID_LENGTH + 1];

	uuid_format(hold, beat, text);
	record_append_text(w, text);
}

static void
awslabs_value(struct record_writer *w, const char *name)
{
	const struct operation *o = w->operation;
	uint64_t beat = w->attempt->beat;

	if (strcmp(name, "owner") == 0)
		record_append_text(w, record_owner(w->table, o));
	else if (strcmp(name, "lease") == 0)
		awslabs_value_lease(w, o->me.lease_ms);
	else if (strcmp(name, "version") == 0)
		awslabs_value_version(w, beat);
	else if (strcmp(name, "low") == 0)
		awslabs_value_version(w, 0);
	else if (strcmp(name, "high") == 0)
		awslabs_value_version(w, o->kind == OPERATION_RELEASE ?
		    IDENT_RENEWALS_MAX : beat - 1);
	else if (strcmp(name, "seen") == 0)
		record_append_text(w, o->version);
	else
		record_append_text(w, "1");	/* :released */
}

/* 1: milliseconds; 2: a duration of Go. 0: neither, or not a lease. */
static int
awslabs_read_lease(const char *text, uint64_t *ret_ms)
{
	size_t length = strlen(text);
	uint64_t ns;
	int form = 1;

	if (!json_read_number(text, length, RECORD_LEASE_MAX_MS, ret_ms)) {
		if (!duration_parse(text, length, &ns) || ns == 0)
			return 0;
		*ret_ms = (ns - 1) / AWSLABS_NS_OF_MS + 1;
		form = 2;
	}
	return *ret_ms > 0 && *ret_ms <= RECORD_LEASE_MAX_MS ? form : 0;
}

static void
awslabs_read_version(struct record_reader *r, const char *text, bool any,
    struct ident *ret_hold, uint64_t *ret_beat)
{
	size_t length = strlen(text);

	if (uuid_parse(text, length, ret_hold, ret_beat))
		return;
	if (!any || length == 0) {
		record_bad(r, "recordVersionNumber", any ?
		    "a text (S) that is not empty" : "a UUID (S)");
		return;
	}
	*ret_hold = ident_hash(text, length);
}

static void
awslabs_read(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	const char *lease, *released;
	struct ident hold = { 0 };
	uint64_t lease_ms = 0;
	size_t length;
	int form = 0;

	l->owner = record_text(r, item, "ownerName", "a text (S)");
	lease = record_text(r, item, "leaseDuration", "a text (S)");
	l->version = record_text(r, item, "recordVersionNumber", "a text (S)");
	released = record_scalar(r, item, "isReleased", "S",
	    "\"1\" (S), or none", &length);
	if (r->error == 0)
		form = awslabs_read_lease(lease, &lease_ms);
	if (form == 0)
		record_bad(r, "leaseDuration", "1 ms to 366 days: milliseconds "
		    "or a duration such as \"20s\" (S)");
	if (r->error == 0)
		awslabs_read_version(r, l->version, form == 2, &hold,
		    &l->beat);
	if (released != NULL && strcmp(released, "1") != 0)
		record_bad(r, "isReleased", "\"1\" (S), or none");
	record_read_contents(r, item, &l->contents);
	if (r->error == 0 && released == NULL)
		record_hold(r, l, hold, lease_ms);
}

static const struct record_format awslabs_format = {
	.name = "awslabs",
	.names = { "ownerName", "leaseDuration", "recordVersionNumber",
	    "isReleased", RECORD_MARKS, "data" },
	.features = DIALECT_FAIL_OPEN | DIALECT_DATA | DIALECT_ATTRIBUTES,
	.lease_min_ms = 1,
	.beat_max = IDENT_RENEWALS_MAX,
	.data = "data",
	.to_mark = AWSLABS_AS_SEEN " AND attribute_not_exists(#isReleased)",
	.is_ours = "attribute_exists(#recordVersionNumber)",
	.is_held = "attribute_not_exists(#isReleased)",
	.plan = awslabs_plan,
	.hold_of = record_hold_of_uuid,
	.value = awslabs_value,
	.read = awslabs_read,
};

static int
awslabs_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	return record_request(&awslabs_format, table, o, a, r, view);
}

static int
awslabs_answer(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, bool conflict, const char *body,
    size_t length, struct dialect_view *view)
{
	return record_answer(&awslabs_format, table, o, a, conflict, body,
	    length, view);
}

static bool
awslabs_key_attribute_ok(const char *name)
{
	return record_key_attribute_ok(&awslabs_format, name);
}

const struct dialect dialect_awslabs = {
	.name = "awslabs",
	.life = LOCK_LIFE_RECORD,
	.features = DIALECT_FAIL_OPEN | DIALECT_DATA | DIALECT_ATTRIBUTES,
	.request = awslabs_request,
	.answer = awslabs_answer,
	.key_attribute_ok = awslabs_key_attribute_ok,
};
