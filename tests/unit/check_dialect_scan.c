/*
 * The native record format: the request for a page of a listing, and the cost
 * in its answer.
 */
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"
#include "test.h"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "pk", .host = "web-1", .pid = "812",
	.version = "0.1.0",
};
static const struct dialect_attempt attempt = {
	.step = DIALECT_DO, .wall_ms = 1800000000123,
};

/* Does the request for a page have @text in it? */
static bool
asks_for(bool held_only, const char *text)
{
	struct operation o = {
		.kind = OPERATION_SCAN, .prefix = { "jobs/", 5 },
		.held_only = held_only,
	};
	struct dialect_request request;
	struct dialect_view view;
	bool found;

	dialect_request_init(&request);
	dialect_view_init(&view);
	ck_assert_int_eq(dialect_native.request(&table, &o, &attempt,
	    &request, &view), 0);
	found = strstr(request.body.data, text) != NULL;
	dialect_request_done(&request);
	dialect_view_clear(&view);
	return found;
}

TEST(test_filter)
{
	ck_assert(asks_for(false,
	    "\"FilterExpression\":\"begins_with(#key, :prefix)\""));
	ck_assert(!asks_for(false, "attribute_exists"));
	ck_assert(asks_for(true, "\"FilterExpression\":"
	    "\"begins_with(#key, :prefix) AND attribute_exists(#holders)\""));
	ck_assert(asks_for(true, "\"#holders\":\"holders\""));
}

static void
expect_cost(const char *body, uint64_t n_examined, uint64_t read_milliunits)
{
	const struct operation o = { .kind = OPERATION_SCAN };
	struct dialect_view v;

	dialect_view_init(&v);
	ck_assert_int_eq(dialect_native.answer(&table, &o, &attempt, false,
	    body, strlen(body), &v), 0);
	ck_assert_uint_eq(v.n_examined, n_examined);
	ck_assert_uint_eq(v.read_milliunits, read_milliunits);
	dialect_view_clear(&v);
}

TEST(test_cost)
{
	expect_cost("{\"Items\":[],\"ScannedCount\":100,\"ConsumedCapacity\":"
	    "{\"TableName\":\"locks\",\"CapacityUnits\":7.5}}", 100, 7500);
	expect_cost("{\"Items\":[],\"ScannedCount\":0,\"ConsumedCapacity\":"
	    "{\"CapacityUnits\":0.0}}", 0, 0);
}

/* An endpoint that omits the cost, or gives an impossible one, does no harm. */
TEST(test_cost_that_is_none)
{
	expect_cost("{\"Items\":[{\"pk\":{\"S\":\"lock:a\"},"
	    "\"token\":{\"N\":\"1\"}}]}", 1, 0);
	expect_cost("{\"Items\":[],\"ScannedCount\":-1,\"ConsumedCapacity\":"
	    "{\"CapacityUnits\":-1}}", 0, 0);
	expect_cost("{\"Items\":[],\"ScannedCount\":1e300,"
	    "\"ConsumedCapacity\":{\"CapacityUnits\":1e300}}", 0, 0);
	expect_cost("{\"Items\":[],\"ScannedCount\":{},"
	    "\"ConsumedCapacity\":[]}", 0, 0);
}
