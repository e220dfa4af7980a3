/*
 * Our record formats against recorded requests of older clients: we read each
 * recorded record correctly, and those clients read our records correctly. The
 * expected view of a record is computed here, from its JSON.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "suite.h"
#include "trace_stage.h"

#define TRACES_MS 100000	/* longer than all of them took */
#define BYTES_MAX 128

/* ---- we read their records ------------------------------------------ */

static uint64_t
digits(const char *text, int base)
{
	return strtoull(text, NULL, base);
}

static size_t
bytes_of(const char *text, unsigned char *ret)
{
	size_t n = 0;

	ck_assert_uint_le(base64_room(strlen(text)), BYTES_MAX);
	ck_assert(base64_read(text, strlen(text), ret, &n));
	return n;
}

static uint64_t
big_endian(const unsigned char *bytes, size_t n)
{
	uint64_t number = 0;

	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Of the text of a UUID: the last four bytes count its renewals. */
static void
expect_uuid(const struct lock_record *l, const char *uuid)
{
	char hex[33];
	size_t n = 0;

	for (; *uuid != '\0'; uuid++)
		if (*uuid != '-')
			hex[n++] = *uuid;
	hex[32] = '\0';
	ck_assert_uint_eq(l->beat, digits(hex + 24, 16));
	memcpy(hex + 24, "00000000", 9);
	ck_assert_uint_eq(l->holders[0].grant.low, digits(hex + 16, 16));
	hex[16] = '\0';
	ck_assert_uint_eq(l->holders[0].grant.high, digits(hex, 16));
}

static void
expect_versioned(const struct trace_client *c, const struct lock_record *l,
    struct json_object *item)
{
	bool python = strcmp(c->name, "python") == 0;
	const char *version = text_of(item, python ? "record_version_number" :
	    "recordVersionNumber", "S");
	const char *lease = python ? text_of(item, "lease_duration", "N") :
	    text_of(item, "leaseDuration", "S");
	bool ms = strcmp(c->name, "java") == 0;

	ck_assert_str_eq(l->version, version);
	ck_assert_str_eq(l->owner, text_of(item, python ? "owner_name" :
	    "ownerName", "S"));
	ck_assert_uint_eq(l->holders[0].lease_ms,
	    digits(lease, 10) * (ms ? 1 : 1000));
	if (strcmp(c->name, "dynamolock") != 0)
		expect_uuid(l, version);
	else
		ck_assert_uint_eq(l->beat, 0);
}

static bool
expect_js(const struct lock_record *l, struct json_object *item)
{
	unsigned char guid[BYTES_MAX];
	const char *text = text_of(item, "guid", "B");
	uint64_t lease_ms = digits(text_of(item, "leaseDurationMs", "N"), 10);
	bool open = *text_of(item, "leaseDurationMs", "N") != '\0';

	ck_assert_uint_eq(bytes_of(text, guid), 64);
	ck_assert_str_eq(l->version, text);
	ck_assert_str_eq(l->owner, text_of(item, "owner", "S"));
	ck_assert_uint_eq(l->token,
	    digits(text_of(item, "fencingToken", "N"), 10));
	ck_assert_uint_eq(l->beat, 0);	/* of ours it is a part */
	if (open && lease_ms <= 1)
		return false;
	ck_assert_uint_eq(l->n_holders, 1);
	ck_assert(!ident_is_none(l->holders[0].grant));
	if (open)
		ck_assert_uint_eq(l->holders[0].lease_ms, lease_ms);
	else
		ck_assert(l->holders[0].fail_closed);
	return true;
}

static bool
expect_dlock(const struct stage *s, const struct lock_record *l,
    struct json_object *item)
{
	unsigned char token[BYTES_MAX];
	uint64_t until_ms = digits(text_of(item, "until", "N"), 10);
	size_t n = bytes_of(text_of(item, "fencingToken", "B"), token);
	uint64_t end_ms = until_ms + SKEW_MS;

	ck_assert_str_eq(l->owner, text_of(item, "owner", "S"));
	ck_assert_uint_eq(l->token, big_endian(token, n));
	ck_assert_uint_eq(l->beat, until_ms);
	if (until_ms <= 1000)
		return false;
	ck_assert_uint_eq(l->ends_in_ms, end_ms > s->wall_ms ?
	    end_ms - s->wall_ms : 0);
	return true;
}

static void
expect_record(struct stage *s, struct json_object *item)
{
	const struct lock_record *l = we_look(s);
	bool held = true;

	ck_assert_int_eq(l->exists, item != NULL);
	if (item == NULL) {
		ck_assert_uint_eq(l->n_holders, 0);
		ck_assert_ptr_eq(l->version, NULL);
		return;
	}
	ck_assert_ptr_ne(l->version, NULL);
	if (strncmp(s->client->name, "js", 2) == 0)
		held = expect_js(l, item);
	else if (strncmp(s->client->name, "dlock", 5) == 0)
		held = expect_dlock(s, l, item);
	else
		expect_versioned(s->client, l, item);
	ck_assert_uint_eq(l->n_holders, held ? 1 : 0);
	if (held)
		ck_assert(ident_equal(l->holders[0].session,
		    l->holders[0].grant));
	ck_assert_uint_eq(l->contents.data.length, 0);
	ck_assert_uint_eq(l->contents.n_attributes, 0);
}

static const char *
key_of(const struct stage *s, const struct trace_row *row)
{
	struct json_object *where = member(row->request, "Key") != NULL ?
	    member(row->request, "Key") : member(row->request, "Item");

	return text_of(where, s->client->key, "S");
}

/* After each request, and from each answer that shows a record. */
static size_t
read_scene(struct stage *s, struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct trace_row *row = &t->rows[i];
		struct json_object *item;
		int status;

		s->key = key_of(s, row);
		json_object_put(trace_ask(s->dynamo, row->operation,
		    row->request, &status));
		/* As if time went on with it. */
		s->wall_ms += 1000;
		item = stage_item(s);
		expect_record(s, item);
		n += item != NULL;
		json_object_put(item);
	}
	return n;
}

START_TEST(we_read_each_recorded_record)
{
	const struct trace_client *c = &trace_clients[_i];
	struct trace t;
	struct stage s;
	size_t n = 0;

	stage_init(&s, c, "");
	for (enum trace_scene scene = 0; scene < TRACE_SCENES; scene++) {
		if (scene == TRACE_TAKEOVER && c->fails_closed)
			continue;
		trace_read(&t, c, scene);
		n += read_scene(&s, &t);
		trace_done(&t);
	}
	ck_assert_uint_ge(n, 8);
	stage_done(&s);
}
END_TEST

/* ---- they read our records --------------------------------- */

static void
after_a_lease(struct stage *s)
{
	s->wall_ms += us.lease_ms + SKEW_MS;
}

/*
 * A takeover of dlock without fencing names a time, not the record that it saw.
 */
static bool
names_a_time(const struct trace_client *c)
{
	return strcmp(c->name, "dlock") == 0;
}

static void
set_past(struct trace_row *row, uint64_t past_ms)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu",
	    (unsigned long long)past_ms);
	json_object_object_add(member(member(row->request,
	    "ExpressionAttributeValues"), ":0"), "N",
	    json_object_new_string(text));
}

/*
 * Our hold is valid: no client acquires it as new, and no client takes it for
 * its own.
 */
START_TEST(what_we_have_they_have_not)
{
	const struct trace_client *c = &trace_clients[_i];
	struct trace t, death;
	struct stage s;

	stage_init(&s, c, "ours");
	/* Their clock conditions hold only after our hold has ended. */
	s.wall_ms = TRACES_WALL_MS + TRACES_MS;
	trace_read(&t, c, TRACE_UNCONTENDED);
	trace_read(&death, c, TRACE_DEATH);
	ck_assert(we_do(&s, OPERATION_ACQUIRE, beat_of(&s, 0)));
	for (unsigned beat = 0; beat < 3; beat++) {
		for (size_t i = 0; i < t.n; i++)
			if (strcmp(t.rows[i].operation, "GetItem") != 0)
				ck_assert(!they(&s, &t.rows[i], NULL));
		for (size_t i = 0; i < death.n; i++)
			if (strcmp(death.rows[i].operation, "GetItem") != 0)
				ck_assert(!they(&s, &death.rows[i], NULL));
		if (s.dialect->life != LOCK_LIFE_NEVER)
			ck_assert(we_do(&s, OPERATION_REFRESH,
			    beat_of(&s, beat + 1)));
	}
	ck_assert(we_do(&s, OPERATION_RELEASE, 0));
	trace_done(&death);
	trace_done(&t);
	stage_done(&s);
}
END_TEST

/* A client that waited for a lease takes it; then our hold is lost. */
START_TEST(they_take_ours_over)
{
	const struct trace_client *c = &trace_clients[_i];
	struct json_object *before, *seen;
	struct trace_row *row;
	struct trace t;
	struct stage s;

	if (c->fails_closed)
		return;
	stage_init(&s, c, "ours");
	trace_read(&t, c, TRACE_TAKEOVER);
	row = (struct trace_row *)row_of(&t, c, ROW_TAKEOVER);
	ck_assert(we_do(&s, OPERATION_ACQUIRE, beat_of(&s, 0)));
	before = stage_item(&s);
	ck_assert(we_do(&s, OPERATION_REFRESH, beat_of(&s, 1)));
	seen = stage_item(&s);
	/*
	 * The version that it saw has changed; then the version stands still.
	 */
	if (names_a_time(c))
		set_past(row, beat_of(&s, 1) - 1);
	ck_assert(!they(&s, row, before));
	if (names_a_time(c))
		set_past(row, beat_of(&s, 1));
	ck_assert(they(&s, row, seen));
	json_object_put(before);
	before = stage_item(&s);
	ck_assert(!we_do(&s, OPERATION_REFRESH, beat_of(&s, 2)));
	ck_assert(!we_do(&s, OPERATION_RELEASE, 0));
	json_object_put(seen);
	seen = stage_item(&s);
	ck_assert(json_object_equal(before, seen));
	ck_assert(!ident_equal(we_look(&s)->holders[0].grant, us.grant));
	json_object_put(seen);
	json_object_put(before);
	trace_done(&t);
	stage_done(&s);
}
END_TEST

/* After our release the lock is free to them, with its tokens. */
START_TEST(they_take_what_we_released)
{
	const struct trace_client *c = &trace_clients[_i];
	struct json_object *seen;
	struct trace t;
	struct stage s;
	uint64_t token = 0;

	stage_init(&s, c, "ours");
	trace_read(&t, c, TRACE_UNCONTENDED);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(i == 0 ? we_do(&s, OPERATION_ACQUIRE,
		    beat_of(&s, 0)) : we_take(&s, we_look(&s)));
		ck_assert_uint_eq(s.view.lock.n_holders, 1);
		ck_assert(s.view.lock.token == 0 ||
		    s.view.lock.token == token + 1);
		token = s.view.lock.token;
		ck_assert(we_do(&s, OPERATION_RELEASE, 0));
		seen = stage_item(&s);
		/* A record that keeps its tokens is taken as it was seen. */
		if (seen == NULL) {
			ck_assert(they(&s, row_of(&t, c, ROW_NEW), NULL));
			break;
		}
		json_object_put(seen);
	}
	seen = stage_item(&s);
	if (token > 0)
		ck_assert(they(&s, row_of(&t, c, ROW_TAKEOVER), seen));
	ck_assert(!ident_equal(us.grant, (we_look(&s)->n_holders > 0 ?
	    s.view.lock.holders[0].grant : (struct ident){ 0, 0 })));
	json_object_put(seen);
	trace_done(&t);
	stage_done(&s);
}
END_TEST

/* ---- we take theirs --------------------------------------------------- */

/* We take a dead client's lock after its lease, but not while it renews; when
 * the client comes back, it learns of the loss. */
START_TEST(we_take_theirs_over)
{
	const struct trace_client *c = &trace_clients[_i];
	struct json_object *theirs, *ours, *after;
	const struct trace_row *renewal, *release;
	struct trace death, takeover;
	struct dialect_view early;
	struct stage s;
	int status;

	if (c->fails_closed)
		return;
	stage_init(&s, c, "h0");
	trace_read(&death, c, TRACE_DEATH);
	trace_read(&takeover, c, TRACE_TAKEOVER);
	for (size_t i = 0; i + 1 < death.n; i++)
		json_object_put(trace_ask(s.dynamo, death.rows[i].operation,
		    death.rows[i].request, &status));
	ck_assert(!we_do(&s, OPERATION_ACQUIRE, beat_of(&s, 0)));
	(void)we_look(&s);
	early = s.view;
	dialect_view_init(&s.view);
	/* It renews once more: the record that we saw is old. */
	json_object_put(trace_ask(s.dynamo, death.rows[death.n - 1].operation,
	    death.rows[death.n - 1].request, &status));
	ck_assert_int_eq(status, 200);
	s.wall_ms = early.lock.beat + SKEW_MS;
	if (s.dialect->life != LOCK_LIFE_DEADLINE)
		s.wall_ms = TRACES_WALL_MS;
	after_a_lease(&s);
	ck_assert(!we_take(&s, &early.lock));
	dialect_view_clear(&early);
	theirs = stage_item(&s);
	(void)we_look(&s);
	early = s.view;
	dialect_view_init(&s.view);
	ck_assert(we_take(&s, &early.lock));
	ck_assert(ident_equal(s.view.lock.holders[0].grant, us.grant));
	dialect_view_clear(&early);
	ours = stage_item(&s);
	renewal = &death.rows[death.n - 1];
	release = row_of(&takeover, c, ROW_RELEASE);
	ck_assert(!they(&s, renewal, theirs));
	ck_assert(!they(&s, release, theirs));
	after = stage_item(&s);
	ck_assert(json_object_equal(ours, after));
	json_object_put(after);
	json_object_put(ours);
	json_object_put(theirs);
	trace_done(&takeover);
	trace_done(&death);
	stage_done(&s);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		we_read_each_recorded_record,
		what_we_have_they_have_not,
		they_take_ours_over,
		they_take_what_we_released,
		we_take_theirs_over,
		NULL,
	};

	return suite_run_loops("trace formats", tests, TRACE_CLIENTS);
}
