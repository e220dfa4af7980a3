/*
 * The fleet's store against the conformance suite, and what only it does: its
 * table, how many requests it sends, and records that others wrote.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_fixture.h"
#include "test.h"

static const char table[] = "conformance";

/* The first case makes the table; the others find it. */
static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store *store = fixture_open(base, table, NULL, NULL, outcome,
	    arg);

	fixture_expect(base, store, true, 0, "");
	return store;
}

/* ---- requests of our own ---- */

static void
on_raw(void *arg, const struct aws_answer *answer)
{
	int *status = arg;

	*status = answer->status;
	if (answer->status != 200)
		(void)fprintf(stderr, "%.*s %s\n", (int)answer->body_length,
		    answer->body_length > 0 ? answer->body : "",
		    answer->text);
	(void)event_base_loopbreak(case_base());
}

static void
raw(const char *operation, const char *body)
{
	struct aws_client *client = fixture_client(case_base());
	struct aws_call *call;
	int status = -1;

	ck_assert_int_eq(aws_client_call(client, AWS_LANE_LOCK, 0,
	    operation, body, strlen(body), 10000, on_raw, &status, &call), 0);
	while (status == -1)
		ck_assert_int_eq(event_base_loop(case_base(), 0), 0);
	ck_assert_int_eq(status, 200);
	aws_client_free(client);
}

static const char *
unique(const char *prefix)
{
	static char name[96];
	char id[IDENT_TEXT_LENGTH + 1];

	ident_format(case_ident(), id);
	(void)snprintf(name, sizeof(name), "%s-%s", prefix, id);
	return name;
}

/* ---- the table ---- */

/* What is said of a table, asked and asked to make it, one after the other. */
static const struct {
	const char *keys;	/* of one that is there; NULL: there is none */
	const char *types;
	const char *key_attribute;
	struct {
		bool init;
		int code;
		const char *text;	/* NULL: no more */
	} asked[4];
} tables[] = {
	{ NULL, NULL, "pk", {
	    { false, DDBLOCK_E_NO_TABLE, "does not exist" },
	    { true, 0, "created" },
	    { true, 0, "as it must be" },
	    { false, 0, "" } } },
	{ "{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"},"
	    "{\"AttributeName\":\"at\",\"KeyType\":\"RANGE\"}",
	    "{\"AttributeName\":\"id\",\"AttributeType\":\"B\"},"
	    "{\"AttributeName\":\"at\",\"AttributeType\":\"N\"}", NULL, {
	    { true, DDBLOCK_E_WRONG_TABLE, "has partition key \"id\" (B), "
		"sort key \"at\" (N), but the namespace needs partition key "
		"\"key\" (S)" } } },
	/* Without a time to live. */
	{ "{\"AttributeName\":\"key\",\"KeyType\":\"HASH\"}",
	    "{\"AttributeName\":\"key\",\"AttributeType\":\"S\"}", NULL, {
	    { false, DDBLOCK_E_WRONG_TABLE, "no time to live" },
	    { true, 0, "changed" },
	    { false, 0, "" } } },
};

TEST_ROWS(test_table, tables)
{
	const char *name = unique("table");
	struct store *s;
	char body[1024];

	if (tables[_i].keys != NULL) {
		(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
		    "\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":[%s],"
		    "\"AttributeDefinitions\":[%s]}", name, tables[_i].keys,
		    tables[_i].types);
		raw("CreateTable", body);
	}
	s = fixture_open(case_base(), name, tables[_i].key_attribute, NULL,
	    fixture_refuse, NULL);
	for (size_t i = 0; i < 4 && tables[_i].asked[i].text != NULL; i++)
		fixture_expect(case_base(), s, tables[_i].asked[i].init,
		    tables[_i].asked[i].code, tables[_i].asked[i].text);
	store_free(s);
}

/* An operation on a table that is not there says so, and why. */
TEST(test_operation_without_table)
{
	struct fixture_answer a = { .base = case_base() };
	struct operation o = case_operation(OPERATION_READ, case_key("none"));
	struct store *s = fixture_open(case_base(), unique("none"), NULL, NULL,
	    fixture_refuse, &a);

	fixture_expect_refusal(s, &o, &a, DDBLOCK_E_NO_TABLE, "does not exist");
	store_free(s);
}

/* ---- requests ---- */

static uint64_t
count(void)
{
	struct store_status status;

	store_view_status(case_store(), &status);
	ck_assert_uint_eq(status.repetitions, 0);
	ck_assert_uint_eq(status.in_flight, 0);
	return status.requests;
}

/* The first looks at the table; after it each operation is one request. */
TEST(test_requests)
{
	struct key key = case_key("count");
	struct holder me = case_holder();
	struct holder you = case_holder();
	struct seen *s;
	uint64_t n;

	n = count();
	case_done(case_session(OPERATION_SESSION_OPEN, me.session, 0));
	n += 2;
	ck_assert_uint_eq(count(), n);
	s = case_done(case_acquire(key, &me, 8));
	ck_assert_uint_eq(count(), ++n);
	case_conflict(case_acquire(key, &you, 1));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_extend(key, &me, s->lock.record.token, 8));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_add_waiter(key, you.session));
	ck_assert_uint_eq(count(), ++n);
	s = case_done(case_release(key, &me));
	ck_assert_uint_eq(count(), ++n);
	ck_assert(case_marked(&s->lock, you.session));
	case_done(case_session(OPERATION_SESSION_BEAT, me.session, 0));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_session(OPERATION_SESSION_CLOSE, me.session, 0));
	ck_assert_uint_eq(count(), ++n);
}

/* Of a free lock only, so that a held lock is never cleaned up. */
TEST(test_time_to_live)
{
	struct key key = case_key("ttl");
	struct holder me = case_holder();
	uint64_t week_s = UINT64_C(7) * 24 * 3600;
	struct seen *s = case_acquire(key, &me, 1);

	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
	s = case_release(key, &me);
	ck_assert_uint_ge(s->lock.record.ttl_s,
	    clock_wall_ms() / 1000 + week_s - 60);
	ck_assert_uint_le(s->lock.record.ttl_s,
	    clock_wall_ms() / 1000 + week_s + 60);
	s = case_done(case_acquire(key, &me, 1));
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
}

/* ---- records that others wrote ---- */

static const struct {
	const char *attributes;
	const char *named;
} others[] = {
	{ "\"holders\":{\"S\":\"me\"}", "\"holders\"" },
	{ "\"holders\":{\"SS\":[\"me\"]}", "\"holders\"" },
	{ "\"token\":{\"S\":\"7\"}", "\"token\"" },
	{ "\"xwait\":{\"N\":\"7\"}", "\"xwait\"" },
	{ "\"swait\":{\"S\":\"me\"},\"mode\":{\"S\":\"x\"}", "\"swait\"" },
	{ "\"mode\":{\"S\":\"z\"},\"swait\":{\"N\":\"1\"}", "\"mode\"" },
};

static struct key
put_record(const char *text, const char *attributes)
{
	struct key key = case_key(text);
	char body[1024];

	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\",\"Item\":{"
	    "\"key\":{\"S\":\"lock:%.*s\"},%s}}", table, (int)key.length,
	    key.bytes, attributes);
	raw("PutItem", body);
	return key;
}

TEST_ROWS(test_bad_record, others)
{
	struct key key = put_record("bad", others[_i].attributes);
	struct holder me = case_holder();
	struct seen *s = case_read(key);

	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	ck_assert_msg(strstr(s->text, others[_i].named) != NULL, "%s",
	    s->text);
	s = case_acquire(key, &me, 1);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	ck_assert_int_ne(s->kind, OUTCOME_DONE);
	ck_assert_ptr_nonnull(strstr(s->text, key.bytes));
	ck_assert_ptr_nonnull(strstr(s->text, table));
}

/* Refused with the lock's name, and the record is as it was. */
static void
check_no_room(struct seen *s, struct key key, uint64_t token)
{
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(s->text, key.bytes));
	ck_assert_ptr_nonnull(strstr(s->text, "\"token\""));
	ck_assert(!s->unanswered);
	s = case_done(case_read(key));
	ck_assert_uint_eq(s->lock.record.token, token);
}

static struct seen *
take_five(struct key key, const struct holder *me, const struct holder *dead)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = *me;
	o.session = me->session;
	o.tokens = 5;
	o.dead = dead;
	o.n_dead = 1;
	o.token_seen = TOKEN_MAX - 4;
	return case_do(&o);
}

/* A token set by hand: up to the last one it serves, and never beyond. */
TEST(test_last_tokens)
{
	struct key key = put_record("last",
	    "\"token\":{\"N\":\"9007199254740983\"}");
	struct holder me = case_holder();
	struct holder you = case_holder();

	check_no_room(case_acquire(key, &me, 9), key, TOKEN_MAX - 8);
	case_done(case_acquire(key, &me, 4));
	check_no_room(case_extend(key, &me, TOKEN_MAX - 4, 5), key,
	    TOKEN_MAX - 4);
	check_no_room(take_five(key, &you, &me), key,
	    TOKEN_MAX - 4);
	/* A waiter is told the holder. */
	case_conflict(case_acquire(key, &you, 9));
	case_done(case_extend(key, &me, TOKEN_MAX - 4, 4));
	case_done(case_release(key, &me));
	check_no_room(case_acquire(key, &you, 1), key, TOKEN_MAX);
	case_done(case_acquire(case_key("not last"), &you, 9));
}

/* The same for sharers: of a free lock, and joining. */
TEST(test_last_shared_tokens)
{
	struct key key = put_record("last shared",
	    "\"token\":{\"N\":\"9007199254740989\"}");
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct holder c = case_holder();

	case_done(case_share(key, &a, 2));
	case_done(case_release(key, &a));
	case_done(case_share(key, &a, 3));
	check_no_room(case_share(key, &b, 3), key, TOKEN_MAX);
	/* Its own effect is seen nevertheless, and so is the holder. */
	case_done(case_share(key, &a, 3));
	case_conflict(case_share(key, &c, 2));
	case_done(case_release(key, &a));
	check_no_room(case_share(key, &b, 0), key, TOKEN_MAX);
}

/* What such a record shows cannot be read, so it must not be written first. */
TEST_LOOP(test_unreadable_tokens, 0, 2)
{
	static const char *const tokens[] = { "9007199254740992", "-7" };
	struct key key;
	struct seen *s;
	char text[64];

	(void)snprintf(text, sizeof(text), "\"token\":{\"N\":\"%s\"}",
	    tokens[_i]);
	key = put_record("unreadable", text);
	for (int i = 0; i < 2; i++) {
		struct holder me = case_holder();

		s = case_acquire(key, &me, 1);
		case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
		ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	}
}

/* A missing attribute is absent; foreign attributes are left alone. */
TEST(test_strange_record)
{
	struct key key = put_record("strange", "\"token\":{\"N\":\"7\"},"
	    "\"colour\":{\"M\":{\"a\":{\"NULL\":true}}}");
	struct holder me = case_holder();
	struct seen *s = case_acquire(key, &me, 1);

	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_uint_eq(s->lock.record.token, 8);
}

/* A record of the Java client, whose key happens to be that of ours. */
TEST(test_record_of_another_format)
{
	struct key key = put_record("theirs", "\"ownerName\":{\"S\":\"x\"},"
	    "\"leaseDuration\":{\"S\":\"20000\"},"
	    "\"recordVersionNumber\":{\"S\":\"v\"}");
	struct holder me = case_holder();
	struct seen *s = case_acquire(key, &me, 1);

	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	/* Nothing of it was written to. */
	s = case_acquire(key, &me, 1);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
}

/* Two hold it, as another version might have written it: each leaves. */
TEST(test_release_of_one)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	char sessions[2][IDENT_TEXT_LENGTH + 1];
	char grants[2][IDENT_TEXT_LENGTH + 1];
	char attributes[512];
	struct key key;
	struct seen *s;

	ident_format(a.session, sessions[0]);
	ident_format(a.grant, grants[0]);
	ident_format(b.session, sessions[1]);
	ident_format(b.grant, grants[1]);
	(void)snprintf(attributes, sizeof(attributes),
	    "\"holders\":{\"SS\":[\"%s.%s.20000.-\",\"%s.%s.20000.-\"]},"
	    "\"mode\":{\"S\":\"s\"},\"token\":{\"N\":\"7\"}", sessions[0],
	    grants[0], sessions[1], grants[1]);
	key = put_record("shared", attributes);
	s = case_read(key);
	ck_assert_uint_eq(s->lock.record.n_holders, 2);
	s = case_done(case_release(key, &a));
	ck_assert(case_holds(&s->lock, &b));
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
	s = case_done(case_release(key, &b));
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert_uint_gt(s->lock.record.ttl_s, 0);
	ck_assert_uint_eq(s->lock.record.token, 7);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_dynamodb",
		.host = "web-1",
		.has_line = true,
		.open = target_open,
		.close = store_free,
	};

	fixture_need_endpoint();
	return conformance_main(&target, true, __FILE__);
}
