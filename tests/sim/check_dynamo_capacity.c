/*
 * The model of DynamoDB counts what requests use of the capacity, and throttles
 * them, as AWS documents it.
 */
#include "config.h"

#include <check.h>
#include <string.h>

#include "dynamo_ask.h"
#include "test.h"

/* A meter of one partition. */
struct tank {
	struct dynamo_meter meter;
	bool full[2];		/* for reads, for writes */
	uint64_t used[2];	/* thousandths of units */
	unsigned uses;
	unsigned left;		/* uses until it is empty; 0: no bound */
};

static bool
tank_has(void *arg, uint64_t hash, bool write)
{
	struct tank *t = arg;

	(void)hash;
	return t->full[write] && (t->left == 0 || t->uses < t->left);
}

static void
tank_use(void *arg, uint64_t hash, bool write, uint64_t milliunits)
{
	struct tank *t = arg;

	(void)hash;
	t->used[write] += milliunits;
	t->uses++;
}

static void
tank_init(struct tank *t, struct ask *a)
{
	*t = (struct tank){ .meter = { tank_has, tank_use, t },
		.full = { true, true } };
	ask_init(a);
	dynamo_set_meter(a->dynamo, &t->meter);
}

static void
tank_expect(struct tank *t, uint64_t reads, uint64_t writes)
{
	ck_assert_uint_eq(t->used[0], reads);
	ck_assert_uint_eq(t->used[1], writes);
	t->used[0] = t->used[1] = 0;
	t->uses = 0;
}

TEST(test_reads_and_writes_are_counted_by_the_size_of_the_item)
{
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	ask(&a, "PutItem", PUT("k", ",'v':{'S':'x'}"));
	tank_expect(&t, 0, 1000);
	ask(&a, "GetItem", "{~," KEY("k") ",'ConsistentRead':true}");
	tank_expect(&t, 1000, 0);
	ask(&a, "GetItem", "{~," KEY("k") "}");
	tank_expect(&t, 500, 0);
	/* What is not there is looked for. */
	ask(&a, "GetItem", "{~," KEY("none") ",'ConsistentRead':true}");
	tank_expect(&t, 1000, 0);
	/* 3 + 1 + 1 and 5,000 bytes. */
	ask_long(&a, "PutItem", "{\"TableName\":\"table\",\"Item\":{\"key\":"
	    "{\"S\":\"k\"},\"v\":{\"S\":\"", 5000, "\"}}}");
	tank_expect(&t, 0, 5000);
	ask(&a, "GetItem", "{~," KEY("k") ",'ConsistentRead':true}");
	tank_expect(&t, 2000, 0);
	/* What is left out counts. */
	ask(&a, "GetItem", "{~," KEY("k") ",'ConsistentRead':true,"
	    "'ProjectionExpression':'w'}");
	tank_expect(&t, 2000, 0);
	/* Of before and after the larger one. */
	ask(&a, "DeleteItem", "{~," KEY("k") "}");
	tank_expect(&t, 0, 5000);
	ask_done(&a);
}

TEST(test_a_failed_condition_costs_as_much)
{
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	ask_refused(&a, "UpdateItem", "{~," KEY("k") ",'UpdateExpression':"
	    "'SET v = :v','ConditionExpression':'attribute_exists(v)',"
	    VALUES(":v", "{'S':'x'}") "}", CONDITION);
	tank_expect(&t, 0, 1000);
	ask_long(&a, "PutItem", "{\"TableName\":\"table\",\"Item\":{\"key\":"
	    "{\"S\":\"k\"},\"v\":{\"S\":\"", 3000, "\"}}}");
	tank_expect(&t, 0, 3000);
	ask_refused(&a, "UpdateItem", "{~," KEY("k") ",'UpdateExpression':"
	    "'SET v = :v','ConditionExpression':'attribute_not_exists(v)',"
	    VALUES(":v", "{'S':'x'}") "}", CONDITION);
	tank_expect(&t, 0, 3000);
	ask_done(&a);
}

TEST(test_of_a_batch_each_item_and_of_a_transaction_twice)
{
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	ask(&a, "TransactWriteItems", "{'TransactItems':["
	    "{'Put':" PUT("a", "") "},{'Put':" PUT("b", "") "}]}");
	ck_assert_int_eq(a.status, 200);
	tank_expect(&t, 0, 4000);
	ask(&a, "BatchGetItem", "{'RequestItems':{'table':{"
	    "'ConsistentRead':true,'Keys':[{'key':{'S':'a'}},"
	    "{'key':{'S':'b'}},{'key':{'S':'c'}}]}}}");
	tank_expect(&t, 3000, 0);
	ask_done(&a);
}

TEST(test_a_throttled_request_has_no_effect_and_costs_nothing)
{
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	t.full[0] = t.full[1] = false;
	ask_refused(&a, "PutItem", PUT("k", ""), "ThrottlingException");
	ck_assert_str_eq(ask_text(&a, "ThrottlingReasons/0/reason"),
	    "TableWriteKeyRangeThroughputExceeded");
	ask_refused(&a, "GetItem", "{~," KEY("k") "}", "ThrottlingException");
	ck_assert_str_eq(ask_text(&a, "ThrottlingReasons/0/reason"),
	    "TableReadKeyRangeThroughputExceeded");
	ask_refused(&a, "TransactWriteItems", "{'TransactItems':["
	    "{'Put':" PUT("k", "") "}]}", CANCELED);
	ck_assert_str_eq(ask_text(&a, "CancellationReasons/0/Code"),
	    "ThrottlingError");
	tank_expect(&t, 0, 0);
	t.full[0] = true;
	ask_expect(&a, "GetItem", "{~," KEY("k") "}", "{}");
	ask_done(&a);
}

TEST(test_a_table_with_provisioned_capacity_says_so)
{
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	ask(&a, "CreateTable", "{'TableName':'paid','BillingMode':"
	    "'PROVISIONED','ProvisionedThroughput':{'ReadCapacityUnits':1,"
	    "'WriteCapacityUnits':1},'KeySchema':[{'AttributeName':'key',"
	    "'KeyType':'HASH'}],'AttributeDefinitions':"
	    "[{'AttributeName':'key','AttributeType':'S'}]}");
	ck_assert_int_eq(a.status, 200);
	t.full[0] = false;
	ask_refused(&a, "GetItem", "{'TableName':'paid'," KEY("k") "}",
	    "ProvisionedThroughputExceededException");
	ask_done(&a);
}

TEST(test_a_batch_leaves_what_is_throttled)
{
	static const char batch[] = "{'RequestItems':{'table':{'Keys':["
	    "{'key':{'S':'a'}},{'key':{'S':'b'}},{'key':{'S':'c'}}]}}}";
	struct tank t;
	struct ask a;

	tank_init(&t, &a);
	t.left = 2;
	ask(&a, "BatchGetItem", batch);
	ck_assert_int_eq(a.status, 200);
	ck_assert_str_eq(ask_text(&a,
	    "UnprocessedKeys/table/Keys/0/key/S"), "c");
	tank_expect(&t, 1000, 0);
	t.full[0] = false;
	ask_refused(&a, "BatchGetItem", batch, "ThrottlingException");
	ask_done(&a);
}
