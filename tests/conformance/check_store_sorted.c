/*
 * The fleet's store on a table with a sort key, against the conformance suite;
 * and what is said of a table that has one and should not, or the other way
 * round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_place.h"

static const char table[] = "sorted";

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store *store =
	    place_open_sorted(base, table, "pk", "sk", outcome, arg);
	struct place_answer a = place_ask_table(base, store, true);

	ck_assert_msg(a.code == 0, "%s", a.text);
	ck_assert_ptr_nonnull(strstr(a.text,
	    "partition key \"pk\" (S), sort key \"sk\" (S)"));
	return store;
}

static void
no_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	(void)operation;
	(void)outcome;
	ck_abort_msg("an outcome that nobody waits for");
}

/* What is said when the table is asked with these names. */
static void
expect_wrong(const char *key, const char *sort, const char *text)
{
	struct store *s = place_open_sorted(case_base(), table, key, sort,
	    no_outcome, NULL);
	struct place_answer a = place_ask_table(case_base(), s, true);

	ck_assert_int_eq(a.code, DDBLOCK_E_WRONG_TABLE);
	ck_assert_msg(strstr(a.text, text) != NULL, "%s", a.text);
	store_free(s);
}

START_TEST(test_wrong_keys)
{
	expect_wrong("pk", NULL, "has partition key \"pk\" (S), sort key "
	    "\"sk\" (S), but the namespace needs partition key \"pk\" (S) and "
	    "no other");
	expect_wrong("pk", "at", "has partition key \"pk\" (S), sort key "
	    "\"sk\" (S), but the namespace needs partition key \"pk\" (S), "
	    "sort key \"at\" (S) and no other");
	expect_wrong("sk", "pk", "but the namespace needs partition key "
	    "\"sk\" (S), sort key \"pk\" (S)");
}
END_TEST

/* An operation finds out by itself, where nobody may look at the table. */
static void
on_refused(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)operation;
	place_on_table(arg, outcome->code, outcome->text);
}

START_TEST(test_operation_on_wrong_keys)
{
	struct place_answer a = { .base = case_base() };
	struct operation o = case_operation(OPERATION_READ, case_key("x"));
	struct store *s = place_open_sorted(case_base(), table, "pk", NULL,
	    on_refused, &a);

	store_submit(s, &o);
	while (!a.called)
		ck_assert_int_eq(event_base_loop(case_base(), 0), 0);
	ck_assert_int_eq(a.code, DDBLOCK_E_WRONG_TABLE);
	ck_assert_ptr_nonnull(strstr(a.text, "sort key \"sk\" (S)"));
	store_free(s);
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
		.name = "store_sorted",
		.host = "web-1",
		.sorts = true,
		.open = target_open,
		.close = target_close,
	};
	Suite *suite;
	TCase *cases;

	place_need_endpoint();
	suite = conformance_suite(&target);
	cases = tcase_create("sorted");
	tcase_add_test(cases, test_wrong_keys);
	tcase_add_test(cases, test_operation_on_wrong_keys);
	conformance_add(suite, cases);
	return conformance_run(suite);
}
