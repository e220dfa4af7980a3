/*
 * The shares that users have of the budget of repetitions.
 */
#include "aws/retry_budget.h"
#include "test.h"

#define NOW_MS 1000
#define MANY 1000

static struct retry_budget budget;

static void
setup(void)
{
	retry_budget_init(&budget, NOW_MS);
}

TEST_FIXTURE(setup, NULL)

static enum retry_leave
take(uint32_t user, uint32_t *ret_cost)
{
	return retry_budget_take(&budget, user, true, false, NOW_MS, ret_cost);
}

/* How many repetitions this user has one after the other. */
static unsigned
take_all(uint32_t user)
{
	unsigned n = 0;
	uint32_t cost;

	while (take(user, &cost) == RETRY_GRANTED)
		n++;
	return n;
}

/* What is not left is owed, by somebody, once. */
static void
expect_books(void)
{
	uint32_t owed = 0;
	bool good = true;

	for (uint32_t i = 0; i < budget.n_debts; i++) {
		good = good && budget.debts[i].owes > 0;
		owed += budget.debts[i].owes;
		for (uint32_t k = 0; k < i; k++)
			good = good &&
			    budget.debts[i].user != budget.debts[k].user;
	}
	ck_assert(good);
	ck_assert_uint_eq(owed, RETRY_BUDGET_MAX - budget.left);
}

TEST(test_each_leaves_some)
{
	const unsigned all = RETRY_BUDGET_MAX / RETRY_BUDGET_COST_THROTTLED;
	unsigned n, of_one = take_all(1), before = of_one, sum = of_one;

	/* About half, and of what one leaves the next. */
	ck_assert_uint_le(of_one, all / 2);
	ck_assert_uint_ge(of_one, all / 2 - 5);
	for (uint32_t user = 2; user <= 4; user++) {
		n = take_all(user);
		ck_assert_uint_gt(n, 0);
		ck_assert_uint_le(n, before);
		before = n;
		sum += n;
		expect_books();
	}
	/* However many they are, all have no more than there is. */
	for (uint32_t user = 5; user < MANY; user++)
		sum += take_all(user);
	ck_assert_uint_lt(sum, all);
	expect_books();
	/* The last is for what no user has asked. */
	sum += take_all(RETRY_NOBODY);
	ck_assert_uint_eq(sum, all);
	ck_assert_uint_eq(budget.left, 0);
	expect_books();
}

TEST(test_nobody_has_no_share)
{
	ck_assert_uint_eq(take_all(RETRY_NOBODY),
	    RETRY_BUDGET_MAX / RETRY_BUDGET_COST_THROTTLED);
	ck_assert_uint_eq(take_all(1), 0);
}

/* What leases depend on is paid from the reserve where a share ends. */
TEST(test_leases_of_a_user)
{
	uint32_t cost = 1;

	(void)take_all(1);
	ck_assert_int_eq(retry_budget_take(&budget, 1, true, true, NOW_MS,
	    &cost), RETRY_GRANTED);
	ck_assert_uint_eq(cost, 0);
	ck_assert_uint_eq(budget.reserve, RETRY_RESERVE_MAX - 1);
	/* And it has not spent what another one has. */
	ck_assert_uint_gt(take_all(2), 0);
}

/* A success pays what its own user owes, and else the greatest debt. */
TEST(test_who_is_paid_for)
{
	uint32_t cost;

	(void)take_all(1);
	ck_assert_int_eq(take(2, &cost), RETRY_GRANTED);
	retry_budget_succeeded(&budget, 2, cost);
	ck_assert_uint_eq(budget.n_debts, 1);
	expect_books();
	ck_assert_int_eq(take(1, &cost), RETRY_REFUSED);
	/* 2 owes nothing: it is for 1, who may go on by that. */
	for (int i = 0; i < 2 * RETRY_BUDGET_COST_THROTTLED; i++)
		retry_budget_succeeded(&budget, 2, 0);
	expect_books();
	ck_assert_int_eq(take(1, &cost), RETRY_GRANTED);
	retry_budget_succeeded(&budget, 1, 0);
	expect_books();
}

/* Users come and go, and nothing of them stays. */
TEST(test_who_has_left)
{
	uint32_t user = 1, cost, costs[100];

	for (int round = 0; round < 20; round++) {
		int n = 0;

		for (; n < 100 && take(user + (uint32_t)n, &costs[n]) ==
		    RETRY_GRANTED; n++)
			expect_books();
		ck_assert_int_gt(n, 50);
		for (int i = 0; i < n; i++)
			retry_budget_succeeded(&budget, user + (uint32_t)i,
			    costs[i]);
		user += 100;
	}
	ck_assert_uint_eq(budget.left, RETRY_BUDGET_MAX);
	ck_assert_uint_eq(budget.n_debts, 0);
	/* As does one who does not come back, when others succeed. */
	ck_assert_int_eq(take(user, &cost), RETRY_GRANTED);
	for (uint32_t i = 0; i < cost; i++)
		retry_budget_succeeded(&budget, user + 1, 0);
	ck_assert_uint_eq(budget.n_debts, 0);
	retry_budget_succeeded(&budget, 1, 0);
	ck_assert_uint_eq(budget.left, RETRY_BUDGET_MAX);
}

/* As many debts as there can be: of one each. */
TEST(test_many_debts)
{
	uint32_t cost;

	for (uint32_t user = 1; user < MANY; user++) {
		if (take(user, &cost) != RETRY_GRANTED)
			(void)take(RETRY_NOBODY, &cost);
		for (uint32_t i = 1; i < RETRY_BUDGET_COST_THROTTLED; i++)
			retry_budget_succeeded(&budget, user, 0);
		expect_books();
	}
}
