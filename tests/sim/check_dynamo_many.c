/*
 * The model of DynamoDB: batches, scans, transactions, times to live.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_ask.h"
#include "suite.h"

static struct ask a;

static void
setup(void)
{
	ask_init(&a);
}

static void
teardown(void)
{
	ask_done(&a);
}

/* ---- multiple items ---- */

static void
put_many(int n, size_t bytes)
{
	char request[60];

	for (int i = 0; i < n; i++) {
		(void)snprintf(request, sizeof(request), "{~,'Item':{'key':"
		    "{'S':'%03d'},'x':{'S':'", i);
		ask_long(&a, "PutItem", request, bytes, "'}}}");
		ck_assert_int_eq(a.status, 200);
	}
}

/* BatchGetItem of the first @n. */
static void
ask_batch(int n)
{
	struct buffer b;

	buffer_init(&b, 100000);
	(void)buffer_append_text(&b, "{'RequestItems':{'table':{'Keys':");
	for (int i = 0; i < n; i++)
		(void)buffer_printf(&b, "%c{'key':{'S':'%03d'}}",
		    i == 0 ? '[' : ',', i);
	(void)buffer_append_text(&b, "],'ConsistentRead':true}}}");
	ask(&a, "BatchGetItem", b.data);
	buffer_done(&b);
}

static size_t
count(const char *path)
{
	struct json_object *o = json_tokener_parse(ask_text(&a, path));
	size_t n = o == NULL ? 0 : json_object_array_length(o);

	json_object_put(o);
	return n;
}

START_TEST(batches_are_read)
{
	setup();
	put_many(3, 1);
	ask_batch(5);
	ck_assert_uint_eq(count("Responses/table"), 3);
	ck_assert_str_eq(ask_text(&a, "UnprocessedKeys"), "{ }");
	ask_expect(&a, "BatchGetItem", "{'RequestItems':{'table':{'Keys':"
	    "[{'key':{'S':'001'}}],'ProjectionExpression':'#k',"
	    NAMES("#k", "key") "}}}", "{'Responses':{'table':[{'key':{'S':"
	    "'001'}}]},'UnprocessedKeys':{}}");
	ask_batch(100);
	ck_assert_int_eq(a.status, 200);
	ask_batch(101);
	ck_assert_str_eq(a.name, INVALID);
	ask_refused(&a, "BatchGetItem", "{'RequestItems':{'table':{'Keys':"
	    "[{'key':{'S':'a'}},{'key':{'S':'a'}}]}}}", INVALID);
	ask_refused(&a, "BatchGetItem", "{'RequestItems':{}}", INVALID);
	ask_refused(&a, "BatchGetItem", "{'RequestItems':{'table':{'Keys':"
	    "[]}}}", INVALID);
	ask_refused(&a, "BatchGetItem", "{'RequestItems':{'other':{'Keys':"
	    "[{'key':{'S':'a'}}]}}}", "ResourceNotFoundException");
	teardown();
}
END_TEST

START_TEST(batches_leave_keys_unprocessed)
{
	setup();
	put_many(5, 1);
	dynamo_leave_unprocessed(a.dynamo, 2);
	ask_batch(5);
	ck_assert_uint_eq(count("Responses/table"), 3);
	ck_assert_uint_eq(count("UnprocessedKeys/table/Keys"), 2);
	ck_assert_str_eq(ask_text(&a, "UnprocessedKeys/table/Keys/0/key/S"),
	    "003");
	ck_assert_str_eq(ask_text(&a,
	    "UnprocessedKeys/table/ConsistentRead"), "true");
	ask_batch(5);	/* once only */
	ck_assert_uint_eq(count("Responses/table"), 5);
	dynamo_leave_unprocessed(a.dynamo, 9);
	ask_batch(5);
	ck_assert_uint_eq(count("Responses/table"), 0);
	ck_assert_uint_eq(count("UnprocessedKeys/table/Keys"), 5);
	put_many(42, 400 * 1000);	/* more than 16 MB */
	ask_batch(42);
	ck_assert_uint_eq(count("Responses/table"), 41);
	ck_assert_uint_eq(count("UnprocessedKeys/table/Keys"), 1);
	teardown();
}
END_TEST

/* Scan all; the number of pages. */
static int
scan_all(const char *more, size_t *ret_items)
{
	struct buffer b;
	int n = 0;

	*ret_items = 0;
	buffer_init(&b, 100000);
	(void)buffer_printf(&b, "{~%s}", more);
	do {
		ask(&a, "Scan", b.data);
		ck_assert_msg(a.status == 200, "%s", ask_text(&a, "message"));
		*ret_items += count("Items");
		n++;
		buffer_clear(&b);
		(void)buffer_printf(&b, "{~%s,'ExclusiveStartKey':%s}", more,
		    ask_text(&a, "LastEvaluatedKey"));
	} while (ask_text(&a, "LastEvaluatedKey")[0] != '\0');
	buffer_done(&b);
	return n;
}

START_TEST(scans_have_pages)
{
	size_t n;

	setup();
	ck_assert_int_eq(scan_all("", &n), 1);
	ck_assert_uint_eq(n, 0);
	put_many(10, 1);
	ck_assert_int_eq(scan_all("", &n), 1);
	ck_assert_uint_eq(n, 10);
	ck_assert_int_eq(scan_all(",'Limit':3", &n), 4);
	ck_assert_uint_eq(n, 10);
	ck_assert_int_eq(scan_all(",'Limit':4,'FilterExpression':"
	    "'begins_with(#k, :v)'," NAMES("#k", "key") ","
	    VALUES(":v", "{'S':'00'}"), &n), 3);
	ck_assert_uint_eq(n, 10);
	ck_assert_int_eq(scan_all(",'FilterExpression':'contains(#k, :v)',"
	    NAMES("#k", "key") "," VALUES(":v", "{'S':'7'}"), &n), 1);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(ask_text(&a, "ScannedCount"), "10");
	/* The key before may be gone. */
	ask(&a, "Scan", "{~,'ExclusiveStartKey':{'key':{'S':'none'}}}");
	ck_assert_int_eq(a.status, 200);
	put_many(6, 300 * 1000);	/* pages of 1 MB */
	ck_assert_int_eq(scan_all("", &n), 2);
	ck_assert_uint_eq(n, 10);
	teardown();
}
END_TEST

START_TEST(scans_are_checked)
{
	size_t n, all = 0;

	setup();
	put_many(10, 1);
	for (int i = 0; i < 3; i++) {
		char more[60];

		(void)snprintf(more, sizeof(more),
		    ",'Segment':%d,'TotalSegments':3", i);
		(void)scan_all(more, &n);
		ck_assert_uint_lt(n, 10);
		all += n;
	}
	ck_assert_uint_eq(all, 10);
	ask_expect(&a, "Scan", "{~,'Select':'COUNT'}",
	    "{'Count':10,'ScannedCount':10}");
	ask_refused(&a, "Scan", "{~,'Limit':0}", INVALID);
	ask_refused(&a, "Scan", "{~,'Limit':'5'}", MALFORMED);
	ask_refused(&a, "Scan", "{~,'Segment':3,'TotalSegments':3}", INVALID);
	ask_refused(&a, "Scan", "{~,'Segment':0}", INVALID);
	ask_refused(&a, "Scan", "{~,'Select':'COUNT',"
	    "'ProjectionExpression':'x'}", INVALID);
	ask_refused(&a, "Scan", "{~,'ExclusiveStartKey':{'x':{'S':'a'}}}",
	    INVALID);
	teardown();
}
END_TEST

/* ---- transactions ---- */

#define TWO(token, value) "{'ClientRequestToken':'" token "'," \
	"'TransactItems':[{'Update':{~," KEY("a") ",'UpdateExpression':" \
	"'ADD n :v'," VALUES(":v", "{'N':'" value "'}") "}}," \
	"{'Put':" PUT("b", "") "}]}"

START_TEST(transactions_are_all_or_nothing)
{
	setup();
	ask_expect(&a, "PutItem", PUT("a", ",'n':{'N':'1'}"), "{}");
	ask_refused(&a, "TransactWriteItems", "{'TransactItems':["
	    "{'Put':" PUT("new", "") "},{'ConditionCheck':{~," KEY("a")
	    ",'ConditionExpression':'attribute_not_exists(n)',"
	    "'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}},{'Update':{~,"
	    KEY("b") ",'UpdateExpression':'SET x = y'}}]}", CANCELED);
	ck_assert_str_eq(ask_text(&a, "CancellationReasons/0/Code"), "None");
	ck_assert_str_eq(ask_text(&a, "CancellationReasons/1/Code"),
	    "ConditionalCheckFailed");
	ck_assert_str_eq(ask_text(&a, "CancellationReasons/1/Item/n/N"), "1");
	ck_assert_str_eq(ask_text(&a, "CancellationReasons/2/Code"),
	    "ValidationError");
	ck_assert(strstr(ask_text(&a, "Message"),
	    "[None, ConditionalCheckFailed, ValidationError]") != NULL);
	ask_expect(&a, "GetItem", "{~," KEY("new") "}", "{}");
	ask_expect(&a, "TransactWriteItems", "{'TransactItems':["
	    "{'Put':" PUT("new", "") "},{'Delete':{~," KEY("a") "}},"
	    "{'Update':{~," KEY("b") ",'UpdateExpression':'SET x = :v',"
	    VALUES(":v", "{'N':'1'}") "}},{'ConditionCheck':{~," KEY("c")
	    ",'ConditionExpression':'attribute_not_exists(x)'}}]}", "{}");
	ask(&a, "Scan", "{~}");
	ck_assert_str_eq(ask_text(&a, "Count"), "2");
	teardown();
}
END_TEST

START_TEST(transactions_are_checked)
{
	static const char *const invalid[] = {
		"{}", "{'TransactItems':[]}", "{'TransactItems':[{}]}",
		"{'TransactItems':[{'Put':" PUT("a", "") ",'Delete':{~,"
		    KEY("b") "}}]}",
		"{'TransactItems':[{'Put':" PUT("a", "") "},{'Delete':{~,"
		    KEY("a") "}}]}",
		"{'TransactItems':[{'ConditionCheck':{~," KEY("a") "}}]}",
		"{'TransactItems':[{'Update':{~," KEY("a") "}}]}",
		"{'TransactItems':[{'Put':" PUT("", "") "}]}",
		TWO("0123456789012345678901234567890123456", "1"),
	};

	setup();
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		ask_refused(&a, "TransactWriteItems", invalid[i], INVALID);
	ask_refused(&a, "TransactWriteItems", "{'TransactItems':[{'Delete':"
	    "{'TableName':'other'," KEY("a") "}}]}",
	    "ResourceNotFoundException");
	teardown();
}
END_TEST

START_TEST(transactions_happen_once)
{
	setup();
	ask_expect(&a, "TransactWriteItems", TWO("t", "1"), "{}");
	ask_expect(&a, "TransactWriteItems", TWO("t", "1.0"), "{}");
	ask_refused(&a, "TransactWriteItems", TWO("t", "2"),
	    "IdempotentParameterMismatchException");
	ask_expect(&a, "GetItem", "{~," KEY("a") "}",
	    "{'Item':{'key':{'S':'a'},'n':{'N':'1'}}}");
	a.wall_ms += 10 * 60 * 1000 - 1;
	ask_expect(&a, "TransactWriteItems", TWO("t", "1"), "{}");
	a.wall_ms += 1;		/* the token is forgotten */
	ask_expect(&a, "TransactWriteItems", TWO("t", "2"), "{}");
	ask_expect(&a, "TransactWriteItems", TWO("u", "1"), "{}");
	ask_expect(&a, "GetItem", "{~," KEY("a") "}",
	    "{'Item':{'key':{'S':'a'},'n':{'N':'4'}}}");
	teardown();
}
END_TEST

/* ---- time to live, and the watcher ---- */

struct seen {
	int n, n_expired;
	char before[100], after[100];
};

static void
on_change(void *arg, const char *table, struct json_object *before,
    struct json_object *after, bool expired)
{
	struct seen *s = arg;

	ck_assert_str_eq(table, "table");
	s->n++;
	s->n_expired += expired ? 1 : 0;
	(void)snprintf(s->before, sizeof(s->before), "%s",
	    json_object_to_json_string_ext(before, JSON_C_TO_STRING_PLAIN));
	(void)snprintf(s->after, sizeof(s->after), "%s",
	    json_object_to_json_string_ext(after, JSON_C_TO_STRING_PLAIN));
}

START_TEST(watcher_sees_each_change)
{
	struct seen s = { 0 };

	setup();
	dynamo_watch(a.dynamo, on_change, &s);
	ask_expect(&a, "PutItem", PUT("a", ""), "{}");
	ck_assert_str_eq(s.before, "null");
	ck_assert_str_eq(s.after, "{\"key\":{\"S\":\"a\"}}");
	ask_expect(&a, "UpdateItem", "{~," KEY("a") ",'UpdateExpression':"
	    "'SET n = :v'," VALUES(":v", "{'N':'1'}") "}", "{}");
	ck_assert_str_eq(s.before, "{\"key\":{\"S\":\"a\"}}");
	ck_assert_str_eq(s.after,
	    "{\"key\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}");
	ck_assert_int_eq(s.n, 2);
	ask_expect(&a, "GetItem", "{~," KEY("b") "}", "{}");
	ask_expect(&a, "DeleteItem", "{~," KEY("b") "}", "{}");
	ask_refused(&a, "PutItem", "{~,'Item':{'key':{'S':'a'}},"
	    "'ConditionExpression':'attribute_not_exists(n)'}", CONDITION);
	ck_assert_int_eq(s.n, 2);
	ask_expect(&a, "TransactWriteItems", "{'TransactItems':[{'Delete':"
	    "{~," KEY("a") "}},{'Put':" PUT("b", "") "}]}", "{}");
	ck_assert_int_eq(s.n, 4);
	ck_assert_int_eq(s.n_expired, 0);
	teardown();
}
END_TEST

START_TEST(items_expire)
{
	const uint64_t now_s = ASK_WALL_MS / 1000;
	struct seen s = { 0 };

	setup();
#define TTL(on) "{~,'TimeToLiveSpecification':{'AttributeName':'ttl'," \
	"'Enabled':" on "}}"
	ask_expect(&a, "DescribeTimeToLive", "{~}", "{'TimeToLiveDescription'"
	    ":{'TimeToLiveStatus':'DISABLED'}}");
	ask_refused(&a, "UpdateTimeToLive", TTL("false"), INVALID);
	ask_expect(&a, "PutItem", PUT("a", ",'ttl':{'N':'1699999999'}"),
	    "{}");
	dynamo_expire(a.dynamo, now_s);
	ask_expect(&a, "UpdateTimeToLive", TTL("true"), "{'TimeToLive"
	    "Specification':{'AttributeName':'ttl','Enabled':true}}");
	ask_refused(&a, "UpdateTimeToLive", TTL("true"), INVALID);
	ask_expect(&a, "DescribeTimeToLive", "{~}", "{'TimeToLiveDescription'"
	    ":{'TimeToLiveStatus':'ENABLED','AttributeName':'ttl'}}");
	ask_expect(&a, "PutItem", PUT("b", ",'ttl':{'N':'1700000000'}"),
	    "{}");
	ask_expect(&a, "PutItem", PUT("c", ",'ttl':{'S':'1'}"), "{}");
	ask_expect(&a, "PutItem", PUT("d", ",'ttl':{'N':'1'}"), "{}");
	ask_expect(&a, "PutItem", PUT("e", ""), "{}");
	dynamo_watch(a.dynamo, on_change, &s);
	dynamo_expire(a.dynamo, now_s);
	ck_assert_int_eq(s.n_expired, 1);
	ck_assert_str_eq(s.after, "null");
	ask_expect(&a, "GetItem", "{~," KEY("a") "}", "{}");
	dynamo_expire(a.dynamo, now_s + 1);
	ck_assert_int_eq(s.n_expired, 2);
	ask(&a, "Scan", "{~}");		/* an ancient time stays, too */
	ck_assert_str_eq(ask_text(&a, "Count"), "3");
	teardown();
}
END_TEST

START_TEST(many_expressions_are_forgotten_in_time)
{
	char request[200];

	setup();
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(request, sizeof(request), "{~," KEY("a")
		    ",'UpdateExpression':'SET x%d = :v','Condition"
		    "Expression':'attribute_not_exists(x%d)',"
		    VALUES(":v", "{'N':'1'}") "}", i % 1500, i % 1500);
		ask(&a, "UpdateItem", request);
		ck_assert_str_eq(a.name, i < 1500 ? "" : CONDITION);
	}
	teardown();
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		batches_are_read, batches_leave_keys_unprocessed,
		scans_have_pages, scans_are_checked,
		transactions_are_all_or_nothing, transactions_are_checked,
		transactions_happen_once, watcher_sees_each_change,
		items_expire, many_expressions_are_forgotten_in_time, NULL,
	};

	return suite_run("dynamo_many", tests);
}
