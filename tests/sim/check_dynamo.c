/*
 * The model of DynamoDB: operations, their answers, and their errors.
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

/* ---- one item ---- */

START_TEST(items_are_put_read_and_deleted)
{
	setup();
	ask_expect(&a, "GetItem", "{~," KEY("a") "}", "{}");
	ask_expect(&a, "PutItem", PUT("a", ",'n':{'N':'01'}"), "{}");
	ask_expect(&a, "GetItem", "{~," KEY("a") ",'ConsistentRead':true}",
	    "{'Item':{'key':{'S':'a'},'n':{'N':'1'}}}");
	ask_expect(&a, "PutItem", "{~,'Item':{'key':{'S':'a'}},"
	    "'ReturnValues':'ALL_OLD'}",
	    "{'Attributes':{'key':{'S':'a'},'n':{'N':'1'}}}");
	ask_expect(&a, "GetItem", "{~," KEY("a") "}",
	    "{'Item':{'key':{'S':'a'}}}");
	ask_expect(&a, "DeleteItem", "{~," KEY("a") ",'ReturnValues':"
	    "'ALL_OLD'}", "{'Attributes':{'key':{'S':'a'}}}");
	ask_expect(&a, "DeleteItem", "{~," KEY("a") ",'ReturnValues':"
	    "'ALL_OLD'}", "{}");
	ask_expect(&a, "GetItem", "{~," KEY("a") ",'ReturnConsumedCapacity':"
	    "'TOTAL'}", "{'ConsumedCapacity':{'TableName':'table',"
	    "'CapacityUnits':1.0}}");
	teardown();
}
END_TEST

#define UPDATE(values) "{~," KEY("a") ",'UpdateExpression':" \
	"'SET m.x = :v, n = n + :v REMOVE l[0] ADD c :v'," \
	VALUES(":v", "{'N':'1'}") ",'ReturnValues':'" values "'}"
#define BEFORE "'key':{'S':'a'},'n':{'N':'1'}," \
	"'m':{'M':{'x':{'N':'0'},'y':{'N':'0'}}}," \
	"'l':{'L':[{'N':'7'},{'N':'8'}]}"
#define AFTER "'key':{'S':'a'},'n':{'N':'2'}," \
	"'m':{'M':{'x':{'N':'1'},'y':{'N':'0'}}}," \
	"'l':{'L':[{'N':'8'}]},'c':{'N':'1'}"

START_TEST(update_returns_what_is_asked_for)
{
	static const struct {
		const char *request, *answer;
	} rows[] = {
		{ UPDATE("NONE"), "{}" },
		{ UPDATE("ALL_OLD"), "{'Attributes':{" BEFORE "}}" },
		{ UPDATE("ALL_NEW"), "{'Attributes':{" AFTER "}}" },
		{ UPDATE("UPDATED_OLD"), "{'Attributes':{'n':{'N':'1'},"
		    "'m':{'M':{'x':{'N':'0'}}},'l':{'L':[{'N':'7'}]}}}" },
		{ UPDATE("UPDATED_NEW"), "{'Attributes':{'n':{'N':'2'},"
		    "'m':{'M':{'x':{'N':'1'}}},'l':{'L':[{'N':'8'}]},"
		    "'c':{'N':'1'}}}" },
	};

	setup();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ask_expect(&a, "PutItem", "{~,'Item':{" BEFORE "}}", "{}");
		ask_expect(&a, "UpdateItem", rows[i].request, rows[i].answer);
		ask_expect(&a, "GetItem", "{~," KEY("a") "}",
		    "{'Item':{" AFTER "}}");
	}
	ask_refused(&a, "UpdateItem", UPDATE("all_new"), INVALID);
	ask_refused(&a, "PutItem", "{~,'Item':{'key':{'S':'a'}},"
	    "'ReturnValues':'ALL_NEW'}", INVALID);
	ask_refused(&a, "DeleteItem", "{~," KEY("a") ",'ReturnValues':"
	    "'UPDATED_OLD'}", INVALID);
	teardown();
}
END_TEST

START_TEST(failed_condition_shows_the_item)
{
	setup();
#define FAIL(more) "{~," KEY("a") ",'ConditionExpression':" \
	"'attribute_exists(n)'" more "}"
	ask_refused(&a, "DeleteItem", FAIL(""), CONDITION);
	ask_refused(&a, "DeleteItem", FAIL(",'ReturnValuesOnConditionCheck"
	    "Failure':'ALL_OLD'"), CONDITION);
	ck_assert_str_eq(ask_text(&a, "Item"), "");
	ask_expect(&a, "PutItem", PUT("a", ",'x':{'S':'y'}"), "{}");
	ask_refused(&a, "UpdateItem", FAIL(",'ReturnValuesOnConditionCheck"
	    "Failure':'NONE'"), CONDITION);
	ck_assert_str_eq(ask_text(&a, "Item"), "");
	ask_refused(&a, "UpdateItem", FAIL(",'ReturnValuesOnConditionCheck"
	    "Failure':'ALL_OLD'"), CONDITION);
	ck_assert_str_eq(ask_text(&a, "Item/x/S"), "y");
	ck_assert_str_eq(ask_text(&a, "message"),
	    "The conditional request failed");
	ask_refused(&a, "UpdateItem", FAIL(",'ReturnValuesOnConditionCheck"
	    "Failure':'ALL_NEW'"), INVALID);
	teardown();
}
END_TEST

START_TEST(update_that_takes_away_makes_no_item)
{
	setup();
	ask_expect(&a, "UpdateItem", "{~," KEY("a") ",'UpdateExpression':"
	    "'REMOVE x DELETE y :v'," VALUES(":v", "{'SS':['a']}")
	    ",'ReturnValues':'ALL_NEW'}", "{}");
	ask_expect(&a, "GetItem", "{~," KEY("a") "}", "{}");
	ask_expect(&a, "UpdateItem", "{~," KEY("a") ",'ReturnValues':"
	    "'ALL_NEW'}", "{'Attributes':{'key':{'S':'a'}}}");
	ask_expect(&a, "UpdateItem", "{~," KEY("b") ",'UpdateExpression':"
	    "'REMOVE x ADD y :v'," VALUES(":v", "{'SS':['a']}")
	    ",'ReturnValues':'ALL_NEW'}",
	    "{'Attributes':{'key':{'S':'b'},'y':{'SS':['a']}}}");
	teardown();
}
END_TEST

/* An update of an absent item creates it, if its condition allows that. */
#define TAKE(now, until) "{~," KEY("a") ",'UpdateExpression':'SET #o = :o, " \
	"#u = :u, #t = if_not_exists(#t, :zero) + :one'," \
	"'ConditionExpression':'attribute_not_exists(#k) OR #u <= :n'," \
	"'ExpressionAttributeNames':{'#k':'key','#o':'owner','#u':'until'," \
	"'#t':'token'},'ExpressionAttributeValues':{':o':{'S':'me'}," \
	"':u':{'N':'" until "'},':n':{'N':'" now "'},':zero':{'N':'0'}," \
	"':one':{'N':'1'}},'ReturnValues':'ALL_NEW'," \
	"'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}"

START_TEST(update_of_what_is_absent_or_old)
{
	setup();
	ask_expect(&a, "UpdateItem", TAKE("100", "200"), "{'Attributes':{"
	    "'key':{'S':'a'},'owner':{'S':'me'},'until':{'N':'200'},"
	    "'token':{'N':'1'}}}");
	ask_refused(&a, "UpdateItem", TAKE("199", "300"), CONDITION);
	ck_assert_str_eq(ask_text(&a, "Item/until/N"), "200");
	ask_expect(&a, "UpdateItem", TAKE("200", "300"), "{'Attributes':{"
	    "'key':{'S':'a'},'owner':{'S':'me'},'until':{'N':'300'},"
	    "'token':{'N':'2'}}}");
	/* Something else than a number is no time. */
	ask_expect(&a, "PutItem", PUT("a", ",'until':{'S':'0'}"), "{}");
	ask_refused(&a, "UpdateItem", TAKE("999", "999"), CONDITION);
	teardown();
}
END_TEST

/* Is @version of the type in the range, says a condition of a deletion? */
static bool
in_range(const char *type, const char *version, const char *low,
    const char *high)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "{~,'Item':{'key':{'S':'a'},"
	    "'v':{'%s':'%s'}}}", type, version);
	ask_expect(&a, "PutItem", text, "{}");
	(void)snprintf(text, sizeof(text), "{~," KEY("a") ",'Condition"
	    "Expression':'#v BETWEEN :low AND :high AND NOT "
	    "attribute_exists(#r)','ExpressionAttributeNames':{'#v':'v',"
	    "'#r':'isReleased'},'ExpressionAttributeValues':{':low':{'%s':"
	    "'%s'},':high':{'%s':'%s'}},'ReturnValues':'ALL_OLD',"
	    "'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}", type, low,
	    type, high);
	ask(&a, "DeleteItem", text);
	if (a.status == 200)
		ck_assert_str_ne(ask_text(&a, "Attributes/v"), "");
	else
		ck_assert_str_ne(ask_text(&a, "Item/v"), "");
	return a.status == 200;
}

START_TEST(versions_have_an_order)
{
	static const struct {
		const char *type, *low, *in, *high, *below, *above;
	} rows[] = {
		{ "S", "6ba7b810-9dad-41d1-80b4-000000000000",
		    "6ba7b810-9dad-41d1-80b4-000000000009",
		    "6ba7b810-9dad-41d1-80b4-00000000000a",
		    "6ba7b810-9dad-41d1-80b3-ffffffffffff",
		    "6ba7b810-9dad-41d1-80b4-00000000000b" },
		{ "N", "-7", "0", "1795219007579", "-8", "1795219007580" },
		/* Bytes are unsigned; a longer text comes later. */
		{ "B", "AH8=", "AIA=", "AP8=", "AH4=", "AP8A" },
	};

	setup();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *type = rows[i].type, *low = rows[i].low;

		ck_assert(in_range(type, low, low, rows[i].high));
		ck_assert(in_range(type, rows[i].in, low, rows[i].high));
		ck_assert(in_range(type, rows[i].high, low, rows[i].high));
		ck_assert(!in_range(type, rows[i].below, low, rows[i].high));
		ck_assert(!in_range(type, rows[i].above, low, rows[i].high));
	}
	teardown();
}
END_TEST

START_TEST(names_and_values_are_all_used)
{
#define GET(more) "{~," KEY("a") more "}"
#define SET(more) "{~," KEY("a") ",'UpdateExpression':'SET #a = :a'" more "}"
	static const char *const invalid[] = {
		SET(""), SET("," NAMES("#a", "a")),
		SET("," VALUES(":a", "{'S':'a'}")),
		SET("," NAMES("#a", "a") "," VALUES(":b", "{'S':'a'}")),
		SET("," NAMES("x':'y','#a", "a") ","
		    VALUES(":a", "{'S':'a'}")),
		SET("," NAMES("#a':'a','#b", "b") ","
		    VALUES(":a", "{'S':'a'}")),
		SET("," NAMES("#a", "a") "," VALUES(":a':{'S':'a'},':b",
		    "{'S':'a'}")),
		SET("," NAMES("#a", "a") "," VALUES("a", "{'S':'a'}")),
		SET("," NAMES("#a", "") "," VALUES(":a", "{'S':'a'}")),
		SET("," NAMES("#a", "a") ",'ExpressionAttributeValues':{}"),
		"{~," KEY("a") "," NAMES("#a", "a") "}",
		"{~," KEY("a") "," VALUES(":a", "{'S':'a'}") "}",
	};

	setup();
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		ask_refused(&a, "UpdateItem", invalid[i], INVALID);
	ask_refused(&a, "GetItem", GET(",'ProjectionExpression':'b',"
	    NAMES("#a", "a")), INVALID);
	ask_expect(&a, "UpdateItem", SET("," NAMES("#a", "a b") ","
	    VALUES(":a", "{'S':'c'}") ",'ReturnValues':'ALL_NEW'"),
	    "{'Attributes':{'key':{'S':'a'},'a b':{'S':'c'}}}");
	/* One alias may be used by both expressions. */
	ask_expect(&a, "UpdateItem", SET(",'ConditionExpression':"
	    "'#a <> :a'," NAMES("#a", "a") "," VALUES(":a", "{'S':'c'}")),
	    "{}");
	teardown();
}
END_TEST

START_TEST(sizes_are_limited)
{
	setup();
	/* Expressions: 4 KB. */
	ask_long(&a, "DeleteItem", "{~," KEY("a") ",'ConditionExpression':"
	    "'attribute_not_exists(", 4096 - 22, ")'}");
	ck_assert_int_eq(a.status, 200);
	ask_long(&a, "DeleteItem", "{~," KEY("a") ",'ConditionExpression':"
	    "'attribute_not_exists(", 4096 - 21, ")'}");
	ck_assert_str_eq(a.name, INVALID);
	/* Items: 400 KB with their names. */
	ask_long(&a, "PutItem", "{~,'Item':{'key':{'S':'a'},'x':{'S':'",
	    400 * 1024 - 5, "'}}}");
	ck_assert_int_eq(a.status, 200);
	ask_long(&a, "PutItem", "{~,'Item':{'key':{'S':'a'},'x':{'S':'",
	    400 * 1024 - 4, "'}}}");
	ck_assert_str_eq(a.name, INVALID);
	ask_refused(&a, "UpdateItem", "{~," KEY("a") ",'UpdateExpression':"
	    "'ADD y :v'," VALUES(":v", "{'N':'1'}") "}", INVALID);
	/* Keys. */
	ask_long(&a, "GetItem", "{~,'Key':{'key':{'S':'", 2048, "'}}}");
	ck_assert_int_eq(a.status, 200);
	ask_long(&a, "GetItem", "{~,'Key':{'key':{'S':'", 2049, "'}}}");
	ck_assert_str_eq(a.name, INVALID);
	ask_refused(&a, "GetItem", "{~," KEY("") "}", INVALID);
	teardown();
}
END_TEST

/* {'L':[{'L':[...{'S':'x'}...]}]} */
static void
put_nested(int depth)
{
	struct buffer b;

	buffer_init(&b, 10000);
	(void)buffer_append_text(&b, "{~,'Item':{'key':{'S':'a'},'x':");
	for (int i = 0; i < depth; i++)
		(void)buffer_append_text(&b, "{'L':[");
	(void)buffer_append_text(&b, "{'S':'x'}");
	for (int i = 0; i < depth; i++)
		(void)buffer_append_text(&b, "]}");
	(void)buffer_append_text(&b, "}}");
	ask(&a, "PutItem", b.data);
	buffer_done(&b);
}

START_TEST(nesting_is_limited)
{
	setup();
	put_nested(32);
	ck_assert_str_eq(a.name, INVALID);
	put_nested(31);
	ck_assert_str_eq(a.name, "");
	ask_refused(&a, "UpdateItem", "{~," KEY("a") ",'UpdateExpression':"
	    "'SET x[0] = :v, x[1] = x'," VALUES(":v", "{'S':'x'}") "}",
	    INVALID);
	teardown();
}
END_TEST

/* ---- keys and tables ---- */

START_TEST(keys_are_those_of_the_table)
{
	static const char *const invalid[] = {
		"{~,'Key':{}}", "{~,'Key':{'other':{'S':'a'}}}",
		"{~,'Key':{'key':{'N':'1'}}}", "{~}",
		"{~,'Key':{'key':{'S':'a'},'x':{'S':'b'}}}",
		"{~,'Key':{'key':{'S':'a','N':'1'}}}",
	};

	setup();
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		ask_refused(&a, "GetItem", invalid[i], INVALID);
		ask_refused(&a, "UpdateItem", invalid[i], INVALID);
		ask_refused(&a, "DeleteItem", invalid[i], INVALID);
	}
	ask_refused(&a, "PutItem", "{~,'Item':{'x':{'S':'a'}}}", INVALID);
	ask_refused(&a, "PutItem", "{~,'Item':{'key':{'N':'1'}}}", INVALID);
	ask_refused(&a, "PutItem", PUT("", ""), INVALID);
	teardown();
}
END_TEST

#define SORTED "'TableName':'sorted'"

START_TEST(keys_have_two_parts_of_any_type)
{
	setup();
	ask(&a, "CreateTable", "{" SORTED ",'BillingMode':'PAY_PER_REQUEST',"
	    "'KeySchema':[{'AttributeName':'p','KeyType':'HASH'},"
	    "{'AttributeName':'s','KeyType':'RANGE'}],'AttributeDefinitions':"
	    "[{'AttributeName':'s','AttributeType':'B'},"
	    "{'AttributeName':'p','AttributeType':'N'}]}");
	ck_assert_int_eq(a.status, 200);
	ask_expect(&a, "PutItem", "{" SORTED ",'Item':{'p':{'N':'1'},"
	    "'s':{'B':'YQ=='},'x':{'N':'7'}}}", "{}");
	ask_expect(&a, "PutItem", "{" SORTED ",'Item':{'p':{'N':'1'},"
	    "'s':{'B':'/w=='}}}", "{}");
	ask_expect(&a, "GetItem", "{" SORTED ",'Key':{'p':{'N':'1.0'},"
	    "'s':{'B':'YR=='}},'ProjectionExpression':'x'}",
	    "{'Item':{'x':{'N':'7'}}}");
	ask_expect(&a, "Scan", "{" SORTED "}", "{'Items':["
	    "{'p':{'N':'1'},'s':{'B':'YQ=='},'x':{'N':'7'}},"
	    "{'p':{'N':'1'},'s':{'B':'/w=='}}],'Count':2,'ScannedCount':2}");
	ask_refused(&a, "GetItem", "{" SORTED ",'Key':{'p':{'N':'1'}}}",
	    INVALID);
	ask_refused(&a, "GetItem", "{" SORTED ",'Key':{'p':{'N':'1'},"
	    "'s':{'B':''}}}", INVALID);
	ask_refused(&a, "UpdateItem", "{" SORTED ",'Key':{'p':{'N':'1'},"
	    "'s':{'B':'YQ=='}},'UpdateExpression':'REMOVE s'}", INVALID);
	teardown();
}
END_TEST

START_TEST(tables_are_made_and_deleted)
{
	setup();
	ask(&a, "DescribeTable", "{~}");
	ck_assert_str_eq(ask_text(&a, "Table/TableStatus"), "ACTIVE");
	ck_assert_str_eq(ask_text(&a, "Table/KeySchema/0/AttributeName"),
	    "key");
	ck_assert_str_eq(ask_text(&a,
	    "Table/AttributeDefinitions/0/AttributeType"), "S");
#define CREATE(name, kind, type) "{'TableName':'" name "','BillingMode':" \
	"'PAY_PER_REQUEST','KeySchema':[{'AttributeName':'k','KeyType':'" \
	kind "'}],'AttributeDefinitions':[{'AttributeName':'k'," \
	"'AttributeType':'" type "'}]}"
	ask_refused(&a, "CreateTable", CREATE("table", "HASH", "S"),
	    "ResourceInUseException");
	ask_refused(&a, "CreateTable", CREATE("ab", "HASH", "S"), INVALID);
	ask_refused(&a, "CreateTable", CREATE("a b", "HASH", "S"), INVALID);
	ask_refused(&a, "CreateTable", CREATE("other", "RANGE", "S"),
	    INVALID);
	ask_refused(&a, "CreateTable", CREATE("other", "HASH", "SS"),
	    INVALID);
	ask_refused(&a, "CreateTable", "{'TableName':'other'}", INVALID);
	ask_expect(&a, "PutItem", PUT("a", ""), "{}");
	ask(&a, "DeleteTable", "{~}");
	ck_assert_str_eq(ask_text(&a, "TableDescription/TableStatus"),
	    "DELETING");
	ask_refused(&a, "DescribeTable", "{~}", "ResourceNotFoundException");
	ask_refused(&a, "GetItem", "{~," KEY("a") "}",
	    "ResourceNotFoundException");
	ask_refused(&a, "Scan", "{~}", "ResourceNotFoundException");
	teardown();
}
END_TEST

START_TEST(requests_must_be_right_json)
{
	static const char *const malformed[] = {
		"", "{", "[]", "{~,}", "5", "{~} x", "{'TableName':5}",
		"{~,'Key':[]}", "{~,'Key':{'key':'a'}}",
		"{~," KEY("a") ",'ConsistentRead':'yes'}",
	};
	struct dynamo_answer failed;

	setup();
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		ask_refused(&a, "GetItem", malformed[i], MALFORMED);
	/* Half of a pair is not remembered. */
	ask_refused(&a, "GetItem", "{'\\ud83d\\", MALFORMED);
	ask_expect(&a, "PutItem", PUT("\\u00e4", ""), "{}");
	ask_expect(&a, "GetItem", "{~," KEY("\xc3\xa4") "}",
	    "{'Item':{'key':{'S':'\xc3\xa4'}}}");
	ask_refused(&a, "Query", "{~}", "UnknownOperationException");
	ask_refused(&a, "GetItem", "{" KEY("a") "}", INVALID);
	ask_refused(&a, "TransactWriteItems", "{}", INVALID);
	dynamo_refuse_transactions(a.dynamo);
	ask_refused(&a, "TransactWriteItems", "{}",
	    "UnknownOperationException");
	dynamo_answer_init(&failed);
	dynamo_fail(&failed, 503, "ServiceUnavailable", "a \"quote\"");
	ck_assert_int_eq(failed.status, 503);
	ck_assert_str_eq(failed.body.data, "{\"__type\":"
	    "\"com.amazonaws.dynamodb.v20120810#ServiceUnavailable\","
	    "\"message\":\"a \\\"quote\\\"\"}");
	dynamo_answer_done(&failed);
	teardown();
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		items_are_put_read_and_deleted,
		update_returns_what_is_asked_for,
		failed_condition_shows_the_item,
		update_that_takes_away_makes_no_item,
		update_of_what_is_absent_or_old, versions_have_an_order,
		names_and_values_are_all_used, sizes_are_limited,
		nesting_is_limited, keys_are_those_of_the_table,
		keys_have_two_parts_of_any_type, tables_are_made_and_deleted,
		requests_must_be_right_json, NULL,
	};

	return suite_run("dynamo", tests);
}
