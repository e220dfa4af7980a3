/*
 * How long an endpoint's answers are waited for, from what was lost.
 */
#include "aws/patience.h"
#include "test.h"

TEST(test_grows_by_rounds)
{
	struct patience p = { .doublings = 0 };

	patience_lost(&p, 100, 600);
	ck_assert_uint_eq(p.doublings, 1);
	/* Those were under way with the first. */
	patience_lost(&p, 150, 650);
	patience_lost(&p, 599, 1099);
	ck_assert_uint_eq(p.doublings, 1);
	patience_lost(&p, 600, 1600);
	ck_assert_uint_eq(p.doublings, 2);
}

TEST(test_has_an_end)
{
	struct patience p = { .doublings = 0 };

	for (uint64_t i = 0; i < 100; i++)
		patience_lost(&p, i * 1000, i * 1000 + 500);
	ck_assert_uint_eq(p.doublings, PATIENCE_MAX);
}

static void
hear(struct patience *p, bool prompt, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		patience_heard(p, prompt);
}

TEST(test_shrinks_by_prompt_answers_in_a_row)
{
	struct patience p = { .doublings = 2 };

	hear(&p, true, PATIENCE_PROMPT - 1);
	hear(&p, false, 1);
	hear(&p, true, PATIENCE_PROMPT - 1);
	patience_lost(&p, 0, 1);
	ck_assert_uint_eq(p.doublings, 3);
	hear(&p, true, PATIENCE_PROMPT - 1);
	ck_assert_uint_eq(p.doublings, 3);
	hear(&p, true, 1);
	ck_assert_uint_eq(p.doublings, 2);
	hear(&p, true, 10 * PATIENCE_PROMPT);
	ck_assert_uint_eq(p.doublings, 0);
}
