/*
 * The native record format: requests are well-formed and say what they must;
 * records that are not in the format are refused with the place named.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect.h"
#include "dialect/json.h"

#define SID "00000000000000000000000000000001"
#define GRANT "00000000000000000000000000000002"
#define ME SID "." GRANT ".20000.-"
#define OTHER "00000000000000000000000000000003." \
	"00000000000000000000000000000004.20000.c"
#define VALUES "ExpressionAttributeValues"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "pk", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct holder me = { { 0, 1 }, { 0, 2 }, 20000, false };
static const struct holder other = { { 0, 3 }, { 0, 4 }, 20000, true };
static const struct key keys[] = { { "a", 1 }, { "b", 1 } };

static struct operation
make(enum operation_kind kind)
{
	return (struct operation){
		.kind = kind, .key = { "jobs/\"x\"\n", 9 }, .me = me,
		.tokens = 5, .token_seen = 41, .holders = &me, .n_holders = 1,
		.owner = "web-1/nightly:9", .session = { 0, 1 }, .beat = 7,
		.lease_ms = 20000, .keys = keys, .n_keys = 2,
		.prefix = { "jobs/", 5 },
	};
}

struct request {
	struct dialect_request request;
	struct dialect_view view;
	struct json_object *json;
	int r;
};

static struct request
ask(const struct operation *o, enum dialect_step step)
{
	struct dialect_attempt a = {
		.step = step, .beat = 99, .wall_ms = 1800000000123,
	};
	struct request q = { .json = NULL };

	dialect_request_init(&q.request);
	dialect_view_init(&q.view);
	q.r = dialect_native.request(&table, o, &a, &q.request, &q.view);
	if (q.r == 0) {
		q.json = json_read_object(q.request.body.data,
		    q.request.body.length);
		ck_assert_msg(q.json != NULL, "%s", q.request.body.data);
	}
	return q;
}

static void
ask_done(struct request *q)
{
	json_object_put(q->json);
	dialect_request_done(&q->request);
	dialect_view_clear(&q->view);
}

static const char *
text_at(struct json_object *o, const char *a, const char *b, const char *c)
{
	o = json_find(o, a);
	if (b != NULL)
		o = json_find(o, b);
	if (c != NULL)
		o = json_find(o, c);
	return o != NULL ? json_object_get_string(o) : "(absent)";
}

static size_t
name_length(const char *at)
{
	return 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
}

/* Does the expression mention the placeholder, as a whole word? */
static bool
mentions(const char *expression, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strpbrk(expression, "#:"); at != NULL;
	    at = strpbrk(at + 1, "#:")) {
		if (name_length(at) == n && memcmp(at, name, n) == 0)
			return true;
	}
	return false;
}

/* Real DynamoDB refuses placeholders that are not used or not defined. */
static void
check_placeholders(struct json_object *json)
{
	static const char *const places[] = {
		"ExpressionAttributeNames", VALUES,
	};
	char all[8192];
	char name[64];

	(void)snprintf(all, sizeof(all), "%s %s %s",
	    text_at(json, "UpdateExpression", NULL, NULL),
	    text_at(json, "ConditionExpression", NULL, NULL),
	    text_at(json, "FilterExpression", NULL, NULL));
	for (size_t i = 0; i < 2; i++) {
		struct json_object *defined = json_find(json, places[i]);

		if (defined == NULL)
			continue;
		json_object_object_foreach(defined, placeholder, value) {
			(void)value;
			ck_assert_msg(mentions(all, placeholder), "%s in %s",
			    placeholder, all);
		}
	}
	for (char *at = strpbrk(all, "#:"); at != NULL;
	    at = strpbrk(at + 1, "#:")) {
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)name_length(at), at);
		ck_assert_msg(json_find(json_find(json,
		    places[*at == ':']), name) != NULL, "%s", name);
	}
}

static const struct {
	enum operation_kind kind;
	enum dialect_step step;
	bool dead;
	const char *operation;
	const char *update;
	const char *condition;
} requests[] = {
	{ OPERATION_READ, DIALECT_DO, false, "GetItem", NULL, NULL },
	{ OPERATION_ACQUIRE, DIALECT_LOOK, false, "GetItem", NULL, NULL },
	{ OPERATION_READ_MANY, DIALECT_DO, false, "BatchGetItem", NULL, NULL },
	{ OPERATION_SCAN, DIALECT_DO, false, "Scan", NULL, NULL },
	{ OPERATION_ACQUIRE, DIALECT_DO, false, "UpdateItem",
	    "SET #token = if_not_exists(#token, :first) + :n, #mode = :mode, "
	    "#acquired_at = :wall, #owner = :owner REMOVE #ttl, #limit, "
	    "#broken_by ADD #holders :me DELETE #xwait :session",
	    "attribute_not_exists(#holders) AND "
	    "(attribute_not_exists(#swait) OR #mode <> :mode) AND "
	    "(attribute_not_exists(#token) OR "
	    "#token BETWEEN :zero AND :last)" },
	{ OPERATION_ACQUIRE, DIALECT_DO, true, "UpdateItem",
	    "SET #holders = :me, #token = #token + :n, #mode = :mode, "
	    "#acquired_at = :wall, #owner = :owner REMOVE #ttl, #limit, "
	    "#broken_by DELETE #xwait :session",
	    "#holders = :dead AND #token = :seen" },
	{ OPERATION_RELEASE, DIALECT_DO, false, "UpdateItem",
	    "SET #ttl = :ttl DELETE #holders :them", "#holders = :them" },
	{ OPERATION_RELEASE, DIALECT_DO_STAYS, false, "UpdateItem",
	    "DELETE #holders :them",
	    "contains(#holders, :h0) AND #holders <> :them" },
	{ OPERATION_EXTEND, DIALECT_DO, false, "UpdateItem",
	    "SET #token = #token + :n", "#holders = :me AND #token = :seen" },
	{ OPERATION_WANT, DIALECT_DO, false, "UpdateItem",
	    "ADD #xwait :session", "attribute_exists(#holders)" },
	{ OPERATION_UNWANT, DIALECT_DO, false, "UpdateItem",
	    "DELETE #xwait :session", "contains(#xwait, :it)" },
	{ OPERATION_SESSION_OPEN, DIALECT_DO, false, "PutItem", NULL,
	    "attribute_not_exists(#key)" },
	{ OPERATION_SESSION_BEAT, DIALECT_DO, false, "UpdateItem",
	    "SET #beat = :n, #ttl = :ttl",
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n" },
	{ OPERATION_SESSION_READ, DIALECT_DO, false, "GetItem", NULL, NULL },
	{ OPERATION_SESSION_KILL, DIALECT_DO, false, "UpdateItem",
	    "SET #dead = :by",
	    "#beat = :seen AND attribute_not_exists(#dead)" },
	{ OPERATION_SESSION_BURY, DIALECT_DO, false, "PutItem", NULL,
	    "attribute_not_exists(#key)" },
	{ OPERATION_SESSION_CLOSE, DIALECT_DO, false, "UpdateItem",
	    "SET #dead = if_not_exists(#dead, :by), #ttl = :ttl",
	    "attribute_exists(#key)" },
};

START_TEST(test_requests)
{
	struct operation o = make(requests[_i].kind);
	const char *expected_key = dialect_is_session(o.kind) ?
	    "session:" SID : "lock:jobs/\"x\"\n";
	struct request q;

	if (requests[_i].dead) {
		o.dead = &other;
		o.n_dead = 1;
	}
	q = ask(&o, requests[_i].step);
	ck_assert_int_eq(q.r, 0);
	ck_assert_str_eq(q.request.operation, requests[_i].operation);
	ck_assert_str_eq(text_at(q.json, "ReturnConsumedCapacity", NULL, NULL),
	    "TOTAL");
	check_placeholders(q.json);
	ck_assert_str_eq(text_at(q.json, "UpdateExpression", NULL, NULL),
	    requests[_i].update != NULL ? requests[_i].update : "(absent)");
	ck_assert_str_eq(text_at(q.json, "ConditionExpression", NULL, NULL),
	    requests[_i].condition != NULL ?
	    requests[_i].condition : "(absent)");
	if (requests[_i].condition != NULL)
		ck_assert_str_eq(text_at(q.json,
		    "ReturnValuesOnConditionCheckFailure", NULL, NULL),
		    "ALL_OLD");
	if (strcmp(requests[_i].operation, "GetItem") == 0)
		ck_assert_str_eq(text_at(q.json, "ConsistentRead", NULL,
		    NULL), "true");
	if (strcmp(requests[_i].operation, "PutItem") == 0)
		ck_assert_str_eq(text_at(q.json, "Item", "pk", "S"),
		    expected_key);
	else if (json_find(q.json, "Key") != NULL)
		ck_assert_str_eq(text_at(q.json, "Key", "pk", "S"),
		    expected_key);
	ask_done(&q);
}
END_TEST

START_TEST(test_values_of_locks)
{
	struct operation o = make(OPERATION_ACQUIRE);
	struct request q = ask(&o, DIALECT_DO);

	ck_assert_str_eq(text_at(q.json, VALUES, ":first", "N"),
	    "1887436800000000");
	ck_assert_str_eq(text_at(q.json, VALUES, ":n", "N"), "5");
	ck_assert_str_eq(text_at(q.json, VALUES, ":zero", "N"), "0");
	ck_assert_str_eq(text_at(q.json, VALUES, ":last", "N"),
	    "9007199254740986");
	ck_assert_str_eq(text_at(q.json, VALUES, ":me", "SS"),
	    "[ \"" ME "\" ]");
	ck_assert_str_eq(text_at(q.json, VALUES, ":wall", "N"), "1800000000");
	ask_done(&q);

	o.kind = OPERATION_RELEASE;
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, VALUES, ":ttl", "N"), "1800604800");
	ask_done(&q);

	o.kind = OPERATION_SCAN;
	o.cursor = (struct key){ "lock:jobs/1", 11 };
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, "ExclusiveStartKey", "pk", "S"),
	    "lock:jobs/1");
	ck_assert_str_eq(text_at(q.json, VALUES, ":prefix", "S"),
	    "lock:jobs/");
	ask_done(&q);
}
END_TEST

START_TEST(test_values_of_sessions)
{
	struct operation o = make(OPERATION_SESSION_BEAT);
	struct request q = ask(&o, DIALECT_DO);

	ck_assert_str_eq(text_at(q.json, VALUES, ":n", "N"), "99");
	ck_assert_str_eq(text_at(q.json, "ExpressionAttributeNames", "#key",
	    NULL), "pk");
	ask_done(&q);

	o.kind = OPERATION_SESSION_OPEN;
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, "Item", "lease_ms", "N"), "20000");
	ck_assert_str_eq(text_at(q.json, "Item", "beat", "N"), "0");
	ck_assert_str_eq(text_at(q.json, "Item", "dead", NULL), "(absent)");
	ask_done(&q);

	o.kind = OPERATION_SESSION_BURY;
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, "Item", "dead", "S"),
	    "web-1/nightly:9");
	ck_assert_str_eq(text_at(q.json, "Item", "beat", NULL), "(absent)");
	ask_done(&q);
}
END_TEST

START_TEST(test_requests_refused)
{
	struct operation o = make(OPERATION_ACQUIRE);
	struct request q;

	o.key = (struct key){ "a\xff", 2 };
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_ne(q.view.text, "");
	ask_done(&q);

	/* What is for people only never stands in the way. */
	o = make(OPERATION_ACQUIRE);
	o.owner = "b\xff\xc3\xa4";
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, VALUES, ":owner", "S"),
	    "b?\xc3\xa4");
	ask_done(&q);

	o.owner = NULL;
	q = ask(&o, DIALECT_DO);
	check_placeholders(q.json);
	ck_assert_ptr_nonnull(strstr(text_at(q.json, "UpdateExpression", NULL,
	    NULL), "REMOVE #ttl, #limit, #broken_by, #owner ADD"));
	o.dead = &other;
	o.n_dead = 1;
	ask_done(&q);
	q = ask(&o, DIALECT_DO);
	check_placeholders(q.json);
	ask_done(&q);

	o = make(OPERATION_RELEASE);
	o.n_holders = 0;
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, DDBLOCK_E_BAD_REQUEST);
	ask_done(&q);
}
END_TEST

static int
answer(enum operation_kind kind, bool conflict, const char *body,
    struct dialect_view *view)
{
	static struct operation o;
	struct dialect_attempt a = { .step = DIALECT_DO };

	o = make(kind);
	dialect_view_init(view);
	return dialect_native.answer(&table, &o, &a, conflict, body,
	    strlen(body), view);
}

START_TEST(test_record)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_ACQUIRE, true,
	    "{\"__type\":\"x#ConditionalCheckFailedException\",\"Item\":{"
	    "\"pk\":{\"S\":\"lock:x\"},\"holders\":{\"SS\":[\"" OTHER "\"]},"
	    "\"mode\":{\"S\":\"x\"},\"token\":{\"N\":\"9007199254740991\"},"
	    "\"xwait\":{\"SS\":[\"" SID "\"]},\"owner\":{\"S\":\"o\"},"
	    "\"ttl\":{\"N\":\"5\"},\"limit\":{\"N\":\"3\"},"
	    "\"acquired_at\":{\"N\":\"12\"},\"broken_by\":{\"S\":\"b\"},"
	    "\"somebody\":{\"M\":{}}}}", &v), 0);
	ck_assert(v.has_record && v.lock.exists);
	ck_assert_uint_eq(v.lock.n_holders, 1);
	ck_assert(v.lock.holders[0].fail_closed);
	ck_assert(ident_equal(v.lock.holders[0].grant, other.grant));
	ck_assert_uint_eq(v.lock.holders[0].lease_ms, 20000);
	ck_assert_uint_eq(v.lock.token, TOKEN_MAX);
	ck_assert_int_eq(v.lock.mode, LOCK_MODE_EXCLUSIVE);
	ck_assert_uint_eq(v.lock.n_exclusive_wishes, 1);
	ck_assert_uint_eq(v.lock.n_shared_wishes, 0);
	ck_assert_str_eq(v.lock.owner, "o");
	ck_assert_str_eq(v.lock.broken_by, "b");
	ck_assert_uint_eq(v.lock.limit, 3);
	ck_assert_uint_eq(v.lock.acquired_at_s, 12);
	ck_assert_uint_eq(v.lock.ttl_s, 5);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_ACQUIRE, true,
	    "{\"message\":\"no\"}", &v), 0);
	ck_assert(!v.has_record);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_READ, false, "{}", &v), 0);
	ck_assert(v.has_record && !v.lock.exists);
	dialect_view_clear(&v);
}
END_TEST

START_TEST(test_shared_record)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_READ, false,
	    "{\"Item\":{\"holders\":{\"SS\":[\"" ME "\",\"" OTHER "\"]},"
	    "\"mode\":{\"S\":\"s\"},\"token\":{\"N\":\"4\"},"
	    "\"swait\":{\"SS\":[\"" SID "\"]}}}", &v), 0);
	ck_assert_uint_eq(v.lock.n_holders, 2);
	ck_assert_int_eq(v.lock.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(v.lock.n_shared_wishes, 1);
	dialect_view_clear(&v);
}
END_TEST

#define LOCK OPERATION_READ
#define SESSION OPERATION_SESSION_READ
#define HELD(element) "\"holders\":{\"SS\":[\"" element "\"]}"

static const struct {
	enum operation_kind kind;
	const char *item;
	const char *attribute;	/* NULL: it is fine */
} records[] = {
	{ LOCK, "\"token\":{\"N\":\"7\"}", NULL },
	{ LOCK, "", NULL },
	{ LOCK, "\"token\":{\"S\":\"7\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"-7\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"1.5\"}", "token" },
	{ LOCK, "\"token\":{\"N\":7}", "token" },
	{ LOCK, "\"token\":{\"N\":\"9007199254740992\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"99999999999999999999\"}", "token" },
	{ LOCK, "\"token\":7", "token" },
	{ LOCK, "\"mode\":{\"S\":\"z\"}", "mode" },
	{ LOCK, "\"mode\":{\"N\":\"1\"}", "mode" },
	{ LOCK, "\"holders\":{\"S\":\"" ME "\"}", "holders" },
	{ LOCK, "\"holders\":{\"SS\":\"" ME "\"}", "holders" },
	{ LOCK, "\"holders\":{\"SS\":[7]}", "holders" },
	{ LOCK, HELD("me"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".0.-"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".020.-"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20.q"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20."), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20"), "holders" },
	{ LOCK, HELD(SID "." GRANT "."), "holders" },
	{ LOCK, HELD(ME), "token" },
	{ LOCK, HELD(ME) ",\"token\":{\"N\":\"1\"}", "mode" },
	{ LOCK, HELD(ME "\",\"" OTHER)
	    ",\"token\":{\"N\":\"1\"},\"mode\":{\"S\":\"x\"}", "holders" },
	{ LOCK, "\"xwait\":{\"SS\":[\"x\"]}", "xwait" },
	{ LOCK, "\"swait\":{\"N\":\"1\"}", "swait" },
	{ LOCK, "\"ttl\":{\"S\":\"1\"}", "ttl" },
	{ LOCK, "\"limit\":{\"N\":\"x\"}", "limit" },
	{ LOCK, "\"owner\":{\"N\":\"1\"}", "owner" },
	{ SESSION, "\"beat\":{\"N\":\"1\"},\"lease_ms\":{\"N\":\"20000\"}",
	    NULL },
	{ SESSION, "\"dead\":{\"S\":\"x\"}", NULL },
	/* Death is enough, of whatever type; and the host is for people. */
	{ SESSION, "\"dead\":{\"BOOL\":true}", NULL },
	{ SESSION, "\"dead\":{\"S\":\"x\"},\"beat\":{\"S\":\"1\"}", NULL },
	{ SESSION, "\"beat\":{\"N\":\"1\"},\"lease_ms\":{\"N\":\"20000\"},"
	    "\"host\":{\"N\":\"1\"}", NULL },
	{ SESSION, "\"lease_ms\":{\"N\":\"1\"}", "beat" },
	{ SESSION, "\"beat\":{\"N\":\"1\"}", "lease_ms" },
	{ SESSION, "\"beat\":{\"S\":\"1\"}", "beat" },
};

START_TEST(test_bad_records)
{
	struct dialect_view v;
	char body[1024];
	char named[64];
	int r;

	(void)snprintf(body, sizeof(body), "{\"Item\":{%s}}",
	    records[_i].item);
	r = answer(records[_i].kind, false, body, &v);
	if (records[_i].attribute == NULL) {
		ck_assert_int_eq(r, 0);
	} else {
		ck_assert_int_eq(r, DDBLOCK_E_BAD_RECORD);
		(void)snprintf(named, sizeof(named), "attribute \"%s\"",
		    records[_i].attribute);
		ck_assert_msg(strstr(v.text, named) != NULL, "%s", v.text);
		ck_assert_ptr_nonnull(strstr(v.text, "table locks"));
		ck_assert_ptr_nonnull(strstr(v.text, "expected"));
		ck_assert_ptr_nonnull(strstr(v.text,
		    records[_i].kind == LOCK ?
		    "lock:jobs/\"x\"?" : "session:" SID));
	}
	dialect_view_clear(&v);
}
END_TEST

static const char *const garbage[] = {
	"", "<html>", "{", "[]", "7", "null", "{\"Item\":7}",
	"{\"Item\":{\"holders\":{\"SS\":[\"",
};

START_TEST(test_garbage)
{
	static const enum operation_kind kinds[] = {
		OPERATION_READ, OPERATION_ACQUIRE, OPERATION_SCAN,
		OPERATION_READ_MANY,
	};
	struct dialect_view v;

	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(answer(kinds[i], false, garbage[_i], &v),
		    DDBLOCK_E_PROTOCOL);
		dialect_view_clear(&v);
	}
}
END_TEST

/* An unprocessed key is not an absent one, and a bad one spoils no other. */
START_TEST(test_read_many)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_READ_MANY, false,
	    "{\"Responses\":{\"locks\":[{\"pk\":{\"S\":\"lock:b\"},"
	    "\"token\":{\"N\":\"8\"}}]},\"UnprocessedKeys\":{\"locks\":{"
	    "\"Keys\":[{\"pk\":{\"S\":\"lock:a\"}}]}}}", &v), 0);
	ck_assert(!v.processed[0] && v.processed[1]);
	ck_assert_uint_eq(v.locks[1].token, 8);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_READ_MANY, false,
	    "{\"Responses\":{\"locks\":[{\"pk\":{\"S\":\"lock:b\"},"
	    "\"token\":{\"S\":\"8\"}}]},\"UnprocessedKeys\":{}}", &v), 0);
	ck_assert(v.processed[0] && !v.processed[1]);
	ck_assert(!v.locks[0].exists);
	ck_assert_ptr_nonnull(strstr(v.text, "lock:b"));
	dialect_view_clear(&v);
}
END_TEST

START_TEST(test_scan)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_SCAN, false,
	    "{\"Items\":[{\"pk\":{\"S\":\"lock:b\"}},"
	    "{\"pk\":{\"S\":\"session:1\"}},{\"pk\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"lock:bad\"},\"token\":{\"S\":\"1\"}}],"
	    "\"LastEvaluatedKey\":{\"pk\":{\"S\":\"session:1\"}}}", &v), 0);
	ck_assert_uint_eq(v.n_rows, 1);
	ck_assert_uint_eq(v.rows[0].key.length, 1);
	ck_assert_int_eq(v.rows[0].key.bytes[0], 'b');
	ck_assert_uint_eq(v.next_cursor.length, 9);
	ck_assert_ptr_nonnull(strstr(v.text, "lock:bad"));
	dialect_view_clear(&v);
}
END_TEST

START_TEST(test_names)
{
	ck_assert(dialect_native.key_attribute_ok("key"));
	ck_assert(!dialect_native.key_attribute_ok("holders"));
	ck_assert(!dialect_native.key_attribute_ok(""));
	ck_assert_ptr_eq(dialect_find("native"), &dialect_native);
	ck_assert_ptr_null(dialect_find("nativ"));
}
END_TEST

#define ROWS(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *suite = suite_create("dialect_native");
	TCase *tests = tcase_create("dialect_native");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tests, test_requests, 0, ROWS(requests));
	tcase_add_test(tests, test_values_of_locks);
	tcase_add_test(tests, test_values_of_sessions);
	tcase_add_test(tests, test_requests_refused);
	tcase_add_test(tests, test_record);
	tcase_add_test(tests, test_shared_record);
	tcase_add_loop_test(tests, test_bad_records, 0, ROWS(records));
	tcase_add_loop_test(tests, test_garbage, 0, ROWS(garbage));
	tcase_add_test(tests, test_read_many);
	tcase_add_test(tests, test_scan);
	tcase_add_test(tests, test_names);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
