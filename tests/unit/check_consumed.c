/*
 * What a request consumed, as its answer says.
 */

#include <string.h>

#include "store/consumed.h"
#include "test.h"

static const struct {
	const char *body;
	uint64_t milliunits;
} bodies[] = {
	{ "", 0 },
	{ "{}", 0 },
	{ "{\"ConsumedCapacity\":{\"CapacityUnits\":0.5,\"TableName\":\"t\"}}",
	    500 },
	{ "{\"ConsumedCapacity\":{\"TableName\":\"t\",\"CapacityUnits\":12}}",
	    12000 },
	{ "{\"CapacityUnits\": 1.0}", 1000 },
	/* A batch says it of each table. */
	{ "{\"ConsumedCapacity\":[{\"CapacityUnits\":1.5},"
	  "{\"CapacityUnits\":2.125}]}", 3625 },
	/* An attribute of that name is an object; a text has no bare quotes. */
	{ "{\"Item\":{\"CapacityUnits\":{\"N\":\"7\"}}}", 0 },
	{ "{\"Item\":{\"x\":{\"S\":\"\\\"CapacityUnits\\\":7\"}}}", 0 },
	/* Nothing that it could be. */
	{ "{\"CapacityUnits\":99999999999999999999}", 0 },
	{ "{\"CapacityUnits\":", 0 },
	{ "{\"CapacityUnits\":0.", 0 },
	{ "\"CapacityUnits\":1.23456789}", 1234 },
};

TEST_ROWS(test_units, bodies)
{
	ck_assert_uint_eq(consumed_milliunits(bodies[_i].body,
	    strlen(bodies[_i].body)), bodies[_i].milliunits);
}

/* What follows the body is not looked at. */
TEST(test_the_length_counts)
{
	static const char body[] = "{\"CapacityUnits\":123}";

	ck_assert_uint_eq(consumed_milliunits(body, strlen(body) - 2), 12000);
	ck_assert_uint_eq(consumed_milliunits(NULL, 0), 0);
}
