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
#include "dynamodb_place.h"
#include "suite.h"

static const char table[] = "conformance";

/* ---- the table ---- */

static void
no_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	(void)operation;
	(void)outcome;
	ck_abort_msg("an outcome that nobody waits for");
}

/* The first case makes the table; the others find it. */
static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store *store =
	    place_open(base, NULL, table, NULL, outcome, arg);
	struct place_answer a = place_ask_table(base, store, true);

	ck_assert_msg(a.code == 0, "%s", a.text);
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
	struct aws_client *client = place_client(case_base());
	struct aws_call *call;
	int status = -1;

	ck_assert_int_eq(aws_client_call(client, AWS_LANE_LOCK, operation,
	    body, strlen(body), 10000, on_raw, &status, &call), 0);
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

START_TEST(test_init_twice)
{
	struct store *s = place_open(case_base(), NULL, unique("init"), "pk",
	    no_outcome, NULL);
	struct place_answer a;

	a = place_ask_table(case_base(), s, false);
	ck_assert_int_eq(a.code, DDBLOCK_E_NO_TABLE);
	ck_assert_ptr_nonnull(strstr(a.text, "does not exist"));
	a = place_ask_table(case_base(), s, true);
	ck_assert_msg(a.code == 0, "%s", a.text);
	ck_assert_ptr_nonnull(strstr(a.text, "created"));
	a = place_ask_table(case_base(), s, true);
	ck_assert_msg(a.code == 0, "%s", a.text);
	ck_assert_ptr_nonnull(strstr(a.text, "as it must be"));
	a = place_ask_table(case_base(), s, false);
	ck_assert_msg(a.code == 0, "%s", a.text);
	store_free(s);
}
END_TEST

START_TEST(test_wrong_table)
{
	const char *name = unique("wrong");
	struct store *s;
	struct place_answer a;
	char body[1024];

	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":["
	    "{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"},"
	    "{\"AttributeName\":\"at\",\"KeyType\":\"RANGE\"}],"
	    "\"AttributeDefinitions\":["
	    "{\"AttributeName\":\"id\",\"AttributeType\":\"B\"},"
	    "{\"AttributeName\":\"at\",\"AttributeType\":\"N\"}]}", name);
	raw("CreateTable", body);
	s = place_open(case_base(), NULL, name, NULL, no_outcome, NULL);
	a = place_ask_table(case_base(), s, true);
	ck_assert_int_eq(a.code, DDBLOCK_E_WRONG_TABLE);
	ck_assert_ptr_nonnull(strstr(a.text, "has partition key \"id\" (B), "
	    "sort key \"at\" (N), but the namespace needs partition key "
	    "\"key\" (S)"));
	store_free(s);
}
END_TEST

START_TEST(test_no_time_to_live)
{
	const char *name = unique("nottl");
	struct store *s;
	struct place_answer a;
	char body[1024];

	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":["
	    "{\"AttributeName\":\"key\",\"KeyType\":\"HASH\"}],"
	    "\"AttributeDefinitions\":["
	    "{\"AttributeName\":\"key\",\"AttributeType\":\"S\"}]}", name);
	raw("CreateTable", body);
	s = place_open(case_base(), NULL, name, NULL, no_outcome, NULL);
	a = place_ask_table(case_base(), s, false);
	ck_assert_int_eq(a.code, DDBLOCK_E_WRONG_TABLE);
	ck_assert_ptr_nonnull(strstr(a.text, "no time to live"));
	a = place_ask_table(case_base(), s, true);
	ck_assert_msg(a.code == 0, "%s", a.text);
	ck_assert_ptr_nonnull(strstr(a.text, "changed"));
	a = place_ask_table(case_base(), s, false);
	ck_assert_msg(a.code == 0, "%s", a.text);
	store_free(s);
}
END_TEST

/* An operation on a table that is not there says so, and why. */
static void
on_refused(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	struct place_answer *a = arg;

	(void)operation;
	ck_assert_int_eq(outcome->kind, OUTCOME_REFUSED);
	place_on_table(a, outcome->code, outcome->text);
}

START_TEST(test_operation_without_table)
{
	struct place_answer a = { .base = case_base() };
	struct operation o = case_operation(OPERATION_READ, case_key("none"));
	struct store *s = place_open(case_base(), NULL, unique("none"), NULL,
	    on_refused, &a);

	store_submit(s, &o);
	while (!a.called)
		ck_assert_int_eq(event_base_loop(case_base(), 0), 0);
	ck_assert_int_eq(a.code, DDBLOCK_E_NO_TABLE);
	ck_assert_ptr_nonnull(strstr(a.text, "does not exist"));
	store_free(s);
}
END_TEST

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
START_TEST(test_requests)
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
	s = case_acquire(key, &me, 8);
	case_done(s);
	ck_assert_uint_eq(count(), ++n);
	case_conflict(case_acquire(key, &you, 1));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_extend(key, &me, s->lock.record.token, 8));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_want(key, you.session));
	ck_assert_uint_eq(count(), ++n);
	s = case_release(key, &me);
	case_done(s);
	ck_assert_uint_eq(count(), ++n);
	ck_assert(case_wished(&s->lock, you.session));
	case_done(case_session(OPERATION_SESSION_BEAT, me.session, 0));
	ck_assert_uint_eq(count(), ++n);
	case_done(case_session(OPERATION_SESSION_CLOSE, me.session, 0));
	ck_assert_uint_eq(count(), ++n);
}
END_TEST

/* Of a free lock only, so that nobody cleans up one that is held. */
START_TEST(test_time_to_live)
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
	s = case_acquire(key, &me, 1);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
}
END_TEST

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

START_TEST(test_bad_record)
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
END_TEST

/* Refused with the lock's name, and the record is as it was. */
static void
check_no_room(const struct seen *s, struct key key, uint64_t token)
{
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(s->text, key.bytes));
	ck_assert_ptr_nonnull(strstr(s->text, "\"token\""));
	ck_assert(!s->unanswered);
	s = case_read(key);
	case_done(s);
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
START_TEST(test_last_tokens)
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
	/* Who only stands in line is told who stands in front. */
	case_conflict(case_acquire(key, &you, 9));
	case_done(case_extend(key, &me, TOKEN_MAX - 4, 4));
	case_done(case_release(key, &me));
	check_no_room(case_acquire(key, &you, 1), key, TOKEN_MAX);
	case_done(case_acquire(case_key("not last"), &you, 9));
}
END_TEST

/* The same for those who share: free, and joining. */
START_TEST(test_last_shared_tokens)
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
	/* Its own effect is none the less seen, and so is who is in front. */
	case_done(case_share(key, &a, 3));
	case_conflict(case_share(key, &c, 2));
	case_done(case_release(key, &a));
	check_no_room(case_share(key, &b, 0), key, TOKEN_MAX);
}
END_TEST

/* What such a record shows cannot be read, so it must not be written first. */
START_TEST(test_unreadable_tokens)
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
END_TEST

/* What is missing is absent; what is not ours is left alone. */
START_TEST(test_strange_record)
{
	struct key key = put_record("strange", "\"token\":{\"N\":\"7\"},"
	    "\"colour\":{\"M\":{\"a\":{\"NULL\":true}}}");
	struct holder me = case_holder();
	struct seen *s = case_acquire(key, &me, 1);

	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_uint_eq(s->lock.record.token, 8);
}
END_TEST

/* A record of the Java client, whose key happens to be that of ours. */
START_TEST(test_record_of_another_format)
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
END_TEST

/* Two hold it, as another version might have written it: each leaves. */
START_TEST(test_release_of_one)
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
	s = case_release(key, &a);
	case_done(s);
	ck_assert(case_holds(&s->lock, &b));
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
	s = case_release(key, &b);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert_uint_gt(s->lock.record.ttl_s, 0);
	ck_assert_uint_eq(s->lock.record.token, 7);
}
END_TEST

static void
target_close(struct store *store)
{
	store_free(store);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_dynamodb",
		.host = "web-1",
		.open = target_open,
		.close = target_close,
	};
	Suite *suite;
	TCase *cases;

	place_need_endpoint();
	suite = conformance_suite(&target);
	cases = tcase_create("dynamodb");
	tcase_add_test(cases, test_init_twice);
	tcase_add_test(cases, test_wrong_table);
	tcase_add_test(cases, test_no_time_to_live);
	tcase_add_test(cases, test_operation_without_table);
	tcase_add_test(cases, test_requests);
	tcase_add_test(cases, test_time_to_live);
	tcase_add_loop_test(cases, test_bad_record, 0, ROWS(others));
	tcase_add_test(cases, test_last_tokens);
	tcase_add_test(cases, test_last_shared_tokens);
	tcase_add_loop_test(cases, test_unreadable_tokens, 0, 2);
	tcase_add_test(cases, test_strange_record);
	tcase_add_test(cases, test_record_of_another_format);
	tcase_add_test(cases, test_release_of_one);
	conformance_add(suite, cases);
	return conformance_run(suite);
}
