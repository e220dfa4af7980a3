/*
 * The native record format: requests are well-formed and say what they must.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect.h"
#include "dialect/json.h"
#include "test.h"

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
static const struct attribute attribute = {
	{ "stage", 5 }, { "\"2\"", 3 }, false,
};
static const struct key keys[] = { { "a", 1 }, { "b", 1 } };

static struct operation
make(enum operation_kind kind)
{
	return (struct operation){
		.kind = kind, .key = { "jobs/\"x\"\n", 9 }, .me = me,
		.tokens = 5, .token_seen = 41, .holders = &me, .n_holders = 1,
		.owner = "web-1/nightly:9", .session = { 0, 1 }, .beat = 7,
		.lease_ms = 20000, .keys = keys, .n_keys = 2,
		.prefix = { "jobs/", 5 }, .mode = LOCK_MODE_EXCLUSIVE,
		.contents = { { "hi", 2 }, &attribute, 1 },
		.revision = { 17, 5 },
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
		q.json = json_read_object(NULL, q.request.body.data,
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

	(void)snprintf(all, sizeof(all), "%s %s %s %s",
	    text_at(json, "ProjectionExpression", NULL, NULL),
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
	uint32_t place;		/* in the line; ADD_WAITER: how long that is */
} requests[] = {
	{ OPERATION_READ, DIALECT_DO, false, "GetItem", NULL, NULL, 0 },
	{ OPERATION_ACQUIRE, DIALECT_LOOK, false, "GetItem", NULL, NULL, 0 },
	{ OPERATION_READ_MANY, DIALECT_DO, false, "BatchGetItem",
	    NULL, NULL, 0 },
	{ OPERATION_SCAN, DIALECT_DO, false, "Scan", NULL, NULL, 0 },
	{ OPERATION_ACQUIRE, DIALECT_DO, false, "UpdateItem",
	    "SET #token = if_not_exists(#token, :first) + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #owner = :owner "
	    "REMOVE #ttl, #limit, "
	    "#broken_by, #ran_before ADD #holders :me DELETE #xwait :session",
	    "attribute_not_exists(#holders) AND "
	    "(attribute_not_exists(#swait) OR #mode <> :mode) AND "
	    "attribute_not_exists(#line[0]) AND "
	    "(attribute_not_exists(#key) OR "
	    "#token BETWEEN :zero AND :last)", 0 },
	{ OPERATION_ACQUIRE, DIALECT_DO, false, "UpdateItem",
	    "SET #token = if_not_exists(#token, :first) + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #owner = :owner "
	    "REMOVE #ttl, #limit, "
	    "#broken_by, #ran_before, #line[0], #line[1] "
	    "ADD #holders :me DELETE #xwait :session",
	    "attribute_not_exists(#holders) AND "
	    "(attribute_not_exists(#swait) OR #mode <> :mode) AND "
	    "(attribute_not_exists(#key) OR "
	    "#token BETWEEN :zero AND :last) AND #line[1] = :sid AND "
	    "#token = :seen", 2 },
	{ OPERATION_ACQUIRE, DIALECT_DO, true, "UpdateItem",
	    "SET #holders = :me, #token = #token + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #owner = :owner "
	    "REMOVE #ttl, #limit, "
	    "#broken_by, #ran_before, #line[0] DELETE #xwait :session",
	    "#holders = :dead AND #token = :seen AND #line[0] = :sid", 1 },
	{ OPERATION_ADD_WAITER, DIALECT_DO, false, "UpdateItem",
	    "SET #line = list_append(if_not_exists(#line, :none), :last) "
	    "ADD #xwait :session",
	    "(attribute_exists(#holders) OR attribute_exists(#line[0])) AND "
	    "attribute_not_exists(#line[31]) AND NOT contains(#line, :it)",
	    32 },
	{ OPERATION_REMOVE_WAITER, DIALECT_DO, false, "UpdateItem",
	    "REMOVE #line[4] DELETE #xwait :session",
	    "#line[4] = :it AND #token = :seen", 5 },
	{ OPERATION_ACQUIRE, DIALECT_DO, true, "UpdateItem",
	    "SET #holders = :me, #token = #token + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #owner = :owner "
	    "REMOVE #ttl, #limit, "
	    "#broken_by, #ran_before DELETE #xwait :session",
	    "attribute_not_exists(#line[0]) AND "
	    "#holders = :dead AND #token = :seen", 0 },
	{ OPERATION_RELEASE, DIALECT_DO, false, "UpdateItem",
	    "SET #ttl = :ttl DELETE #holders :them", "#holders = :them", 0 },
	{ OPERATION_RELEASE, DIALECT_DO_STAYS, false, "UpdateItem",
	    "DELETE #holders :them",
	    "contains(#holders, :h0) AND #holders <> :them", 0 },
	{ OPERATION_EXTEND, DIALECT_DO, false, "UpdateItem",
	    "SET #token = #token + :n",
	    "#holders = :me AND #token = :seen", 0 },
	{ OPERATION_UPDATE, DIALECT_DO, false, "UpdateItem",
	    "SET #rev = :rev, #data = :data, #attrs = :attrs",
	    "contains(#holders, :hold) AND "
	    "(attribute_not_exists(#rev) OR #rev < :rev)", 0 },
	{ OPERATION_ADD_WAITER, DIALECT_DO, false, "UpdateItem",
	    "ADD #xwait :session", "attribute_exists(#holders)", 0 },
	{ OPERATION_REMOVE_WAITER, DIALECT_DO, false, "UpdateItem",
	    "DELETE #xwait :session",
	    "contains(#xwait, :it) AND NOT contains(#line, :it)", 0 },
	{ OPERATION_BREAK, DIALECT_DO, false, "UpdateItem",
	    "SET #broken_by = :by, #ttl = :ttl REMOVE #holders",
	    "attribute_exists(#holders) AND #token = :seen", 0 },
	{ OPERATION_RAISE, DIALECT_DO, false, "UpdateItem",
	    "SET #token = :to", "#token BETWEEN :zero AND :below", 0 },
	{ OPERATION_SESSION_OPEN, DIALECT_DO, false, "PutItem", NULL,
	    "attribute_not_exists(#key)", 0 },
	{ OPERATION_SESSION_BEAT, DIALECT_DO, false, "UpdateItem",
	    "SET #beat = :n, #ttl = :ttl",
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n", 0 },
	{ OPERATION_SESSION_READ, DIALECT_DO, false, "GetItem", NULL, NULL, 0 },
	{ OPERATION_SESSION_KILL, DIALECT_DO, false, "UpdateItem",
	    "SET #dead = :by",
	    "#beat = :seen AND attribute_not_exists(#dead)", 0 },
	{ OPERATION_SESSION_BURY, DIALECT_DO, false, "PutItem", NULL,
	    "attribute_not_exists(#key)", 0 },
	{ OPERATION_SESSION_CLOSE, DIALECT_DO, false, "UpdateItem",
	    "SET #dead = if_not_exists(#dead, :by), #ttl = :ttl",
	    "attribute_exists(#key)", 0 },
};

TEST_ROWS(test_requests, requests)
{
	struct operation o = make(requests[_i].kind);
	const char *expected_key = dialect_is_session(o.kind) ?
	    "session:" SID : "lock:jobs/\"x\"\n";
	struct request q;

	if (requests[_i].dead) {
		o.dead = &other;
		o.n_dead = 1;
	}
	if (o.kind == OPERATION_RAISE)
		o.tokens = TOKENS_RAISED;
	if (o.kind == OPERATION_ADD_WAITER)
		o.line_max = requests[_i].place;
	else
		o.place = requests[_i].place;
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

static const struct {
	enum operation_kind kind;
	bool dead;
	uint64_t limit;
	const char *owner;
	const char *update;
	const char *condition;
} shared[] = {
	{ OPERATION_ACQUIRE, false, 0, "o",
	    "SET #token = if_not_exists(#token, :first) + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #owner = :owner "
	    "REMOVE #ttl, #broken_by, #ran_before, #limit "
	    "ADD #holders :me DELETE #xwait :session, #swait :session",
	    "((attribute_not_exists(#holders) AND "
	    "(attribute_not_exists(#xwait) OR #mode <> :mode OR "
	    "contains(#xwait, :sid))) OR "
	    "(attribute_not_exists(#xwait) AND #mode = :mode AND "
	    "attribute_not_exists(#limit) AND size(#holders) < :most AND "
	    "NOT contains(#holders, :hold))) AND "
	    "(attribute_not_exists(#key) OR "
	    "#token BETWEEN :zero AND :last)" },
	{ OPERATION_ACQUIRE, false, 3, NULL,
	    "SET #token = if_not_exists(#token, :first) + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #limit = :limit "
	    "REMOVE #ttl, #broken_by, #ran_before, #owner "
	    "ADD #holders :me DELETE #xwait :session, #swait :session",
	    "((attribute_not_exists(#holders) AND "
	    "(attribute_not_exists(#xwait) OR #mode <> :mode OR "
	    "contains(#xwait, :sid))) OR "
	    "(attribute_not_exists(#xwait) AND #mode = :mode AND "
	    "#limit = :limit AND size(#holders) < :limit AND "
	    "NOT contains(#holders, :hold))) AND "
	    "(attribute_not_exists(#key) OR "
	    "#token BETWEEN :zero AND :last)" },
	{ OPERATION_ACQUIRE, true, 0, NULL,
	    "SET #holders = :me, #token = #token + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept "
	    "REMOVE #ttl, #broken_by, #ran_before, #limit, #owner "
	    "DELETE #xwait :session, #swait :session",
	    "#holders = :dead AND #token = :seen" },
	{ OPERATION_ACQUIRE, true, 3, "o",
	    "SET #holders = :me, #token = #token + :n, #mode = :mode, "
	    "#acquired_at = :wall, #kept = :kept, #limit = :limit, "
	    "#owner = :owner "
	    "REMOVE #ttl, #broken_by, #ran_before "
	    "DELETE #xwait :session, #swait :session",
	    "#holders = :dead AND #token = :seen" },
	{ OPERATION_ADD_WAITER, false, 0, NULL, "ADD #swait :session",
	    "attribute_exists(#holders)" },
	{ OPERATION_REMOVE_WAITER, false, 0, NULL, "DELETE #swait :session",
	    "contains(#swait, :it)" },
};

TEST_ROWS(test_shared_requests, shared)
{
	struct operation o = make(shared[_i].kind);
	struct request q;

	o.mode = LOCK_MODE_SHARED;
	o.tokens = 1;
	o.limit = shared[_i].limit;
	o.owner = shared[_i].owner;
	o.dead = &other;
	o.n_dead = shared[_i].dead;
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, 0);
	check_placeholders(q.json);
	ck_assert_str_eq(text_at(q.json, "UpdateExpression", NULL, NULL),
	    shared[_i].update);
	ck_assert_str_eq(text_at(q.json, "ConditionExpression", NULL, NULL),
	    shared[_i].condition);
	if (o.kind == OPERATION_ACQUIRE) {
		ck_assert_str_eq(text_at(q.json, VALUES, ":mode", "S"), "s");
		ck_assert_str_eq(text_at(q.json, VALUES, ":n", "N"), "1");
		ck_assert_str_eq(text_at(q.json, VALUES, ":limit", "N"),
		    o.limit == 3 ? "3" : "(absent)");
	}
	if (o.kind == OPERATION_ACQUIRE && o.n_dead == 0) {
		ck_assert_str_eq(text_at(q.json, VALUES, ":most", "N"),
		    o.limit == 3 ? "(absent)" : "1024");
		ck_assert_str_eq(text_at(q.json, VALUES, ":hold", "S"), ME);
		ck_assert_str_eq(text_at(q.json, VALUES, ":sid", "S"), SID);
	}
	ask_done(&q);
}

TEST(test_values_of_locks)
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

	o.kind = OPERATION_BREAK;
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, VALUES, ":by", "S"),
	    "web-1/nightly:9");
	ck_assert_str_eq(text_at(q.json, VALUES, ":seen", "N"), "41");
	ck_assert_str_eq(text_at(q.json, VALUES, ":ttl", "N"), "1800604800");
	ask_done(&q);

	o.kind = OPERATION_SCAN;
	o.cursor = (struct key){ "\0\x0block:jobs/1-", 14 };
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, "ExclusiveStartKey", "pk", "S"),
	    "lock:jobs/1");
	ck_assert_str_eq(text_at(q.json, VALUES, ":prefix", "S"),
	    "lock:jobs/");
	ask_done(&q);
}

TEST(test_values_of_sessions)
{
	struct operation o = make(OPERATION_SESSION_BEAT);
	struct request q = ask(&o, DIALECT_DO);

	ck_assert_str_eq(text_at(q.json, VALUES, ":n", "N"), "99");
	ck_assert_str_eq(text_at(q.json, "ExpressionAttributeNames", "#key",
	    NULL), "pk");
	ask_done(&q);

	o.beat_below = 8;
	q = ask(&o, DIALECT_DO);
	ck_assert_str_eq(text_at(q.json, "ConditionExpression", NULL, NULL),
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n AND #beat < :below");
	ck_assert_str_eq(text_at(q.json, VALUES, ":below", "N"), "8");
	ask_done(&q);
	o.beat_below = 0;

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

TEST(test_requests_refused)
{
	struct operation o = make(OPERATION_ACQUIRE);
	struct request q;

	o.key = (struct key){ "a\xff", 2 };
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_ne(q.view.text, "");
	ask_done(&q);

	/* Attributes for people only never hinder. */
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
	    NULL), "REMOVE #ttl, #limit, #broken_by, #ran_before, #owner ADD"));
	o.dead = &other;
	o.n_dead = 1;
	ask_done(&q);
	q = ask(&o, DIALECT_DO);
	check_placeholders(q.json);
	ask_done(&q);

	/* The use of an unknown mode is not guessed. */
	o = make(OPERATION_ACQUIRE);
	o.mode = LOCK_MODE_NONE;
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_ne(q.view.text, "");
	ask_done(&q);

	o = make(OPERATION_RELEASE);
	o.n_holders = 0;
	q = ask(&o, DIALECT_DO);
	ck_assert_int_eq(q.r, DDBLOCK_E_BAD_REQUEST);
	ask_done(&q);
}

TEST(test_names)
{
	ck_assert(dialect_native.key_attribute_ok("key"));
	ck_assert(!dialect_native.key_attribute_ok("holders"));
	ck_assert(!dialect_native.key_attribute_ok(""));
	ck_assert_ptr_eq(dialect_find("native"), &dialect_native);
	ck_assert_ptr_null(dialect_find("nativ"));
}
