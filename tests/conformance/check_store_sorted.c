/*
 * The fleet's store on a table with a sort key, against the conformance suite;
 * and the error for a table that has one and should not, or the reverse.
 */
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_fixture.h"
#include "test.h"

static const char table[] = "sorted";

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store *store =
	    fixture_open(base, table, "pk", "sk", outcome, arg);

	fixture_expect(base, store, true, 0,
	    "partition key \"pk\" (S), sort key \"sk\" (S)");
	return store;
}

/* The error when the table is used with these names. */
static const struct {
	const char *key, *sort, *text;
} wrong[] = {
	{ "pk", NULL, "has partition key \"pk\" (S), sort key \"sk\" (S), but "
	    "the namespace needs partition key \"pk\" (S) and no other" },
	{ "pk", "at", "has partition key \"pk\" (S), sort key \"sk\" (S), but "
	    "the namespace needs partition key \"pk\" (S), sort key \"at\" (S) "
	    "and no other" },
	{ "sk", "pk", "but the namespace needs partition key \"sk\" (S), sort "
	    "key \"pk\" (S)" },
};

TEST_ROWS(test_wrong_keys, wrong)
{
	struct store *s = fixture_open(case_base(), table, wrong[_i].key,
	    wrong[_i].sort, fixture_refuse, NULL);

	fixture_expect(case_base(), s, true, DDBLOCK_E_WRONG_TABLE,
	    wrong[_i].text);
	store_free(s);
}

/* An operation finds out by itself, without the right to describe the table. */
TEST(test_operation_on_wrong_keys)
{
	struct fixture_answer a = { .base = case_base() };
	struct operation o = case_operation(OPERATION_READ, case_key("x"));
	struct store *s = fixture_open(case_base(), table, "pk", NULL,
	    fixture_refuse, &a);

	fixture_expect_refusal(s, &o, &a, DDBLOCK_E_WRONG_TABLE,
	    "sort key \"sk\" (S)");
	store_free(s);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_sorted",
		.host = "web-1",
		.sorts = true,
		.has_line = true,
		.open = target_open,
		.close = store_free,
	};

	fixture_need_endpoint();
	return conformance_main(&target, true, __FILE__);
}
