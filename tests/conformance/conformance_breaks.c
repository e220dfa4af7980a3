/*
 * Conformance: locks that a person breaks.
 */
#include "conformance.h"

static const struct story breaks[] = {
	/* The holder that lost it has nothing to give back. */
	{ "break",
	    "acquire a 9: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "break #1: free #1 wait b broken by web-9/admin:1\n"
	    "release a: conflict\n" },
	/* All holders, also those that are never taken over. */
	{ "shared",
	    "share a 3: shared a of 3 #1\n"
	    "share B 3: shared a B of 3 #2\n"
	    "break #2: free was shared of 3 #2 broken by web-9/admin:1\n" },
	{ "not as seen",
	    "acquire a: held a #1\n"
	    "break #0: conflict\n"
	    "break #2: conflict\n" },
	/*
	 * It does not hit the next holder, nor holders that another has joined.
	 */
	{ "others than seen",
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "acquire b: held b #2\n"
	    "break #1: conflict\n"
	    "release b: free #2\n"
	    "share a: shared a #3\n"
	    "share b: shared a b #4\n"
	    "break #3: conflict\n" },
	{ "free",
	    "break #0: conflict\n"
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "break #1: conflict\n" },
	{ "twice",
	    "acquire a: held a #1\n"
	    "break #1: free #1 broken by web-9/admin:1\n"
	    "break #1: conflict\n" },
	/* It is acquired like any other, and does not name its breaker. */
	{ "acquire broken",
	    "acquire a: held a #1\n"
	    "break #1: free #1 broken by web-9/admin:1\n"
	    "acquire b: held b #2\n" },
	{ "share broken",
	    "acquire a: held a #1\n"
	    "break #1: free #1 broken by web-9/admin:1\n"
	    "share b 2: shared b of 2 #2\n" },
};

STORIES(test_breaks, breaks)

static const struct story raises[] = {
	/* It is for nobody, and a second one finds it done. */
	{ "raise what is free",
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "raise 0: conflict\n"
	    "raise 3: free #3145728\n"
	    "raise 3: conflict\n"
	    "raise 2: conflict\n"
	    "acquire b: held b #3145729\n" },
	{ "raise what is held",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "raise 1: held a #1048576 wait b\n"
	    "release a: free #1048576 wait b\n" },
	{ "raise what is shared",
	    "share a 3: shared a of 3 #1\n"
	    "share B 3: shared a B of 3 #2\n"
	    "raise 1: shared a B of 3 #1048576\n"
	    "share c 3: shared a B c of 3 #1048577\n" },
	{ "raise what is broken",
	    "acquire a: held a #1\n"
	    "break #1: free #1 broken by web-9/admin:1\n"
	    "raise 1: free #1048576 broken by web-9/admin:1\n" },
};

STORIES(test_raises, raises)

/* There is no record, and none is made. */
TEST(test_raise_absent)
{
	struct key key = case_key("raise nothing");
	struct operation o = case_operation(OPERATION_RAISE, key);
	struct seen *s;

	o.tokens = TOKENS_RAISED;
	s = case_do(&o);
	ck_assert_int_eq(s->kind, OUTCOME_CONFLICT);
	ck_assert(!case_read(key)->lock.record.exists);
	o.tokens = 0;
	s = case_do(&o);
	ck_assert_int_eq(s->kind, OUTCOME_CONFLICT);
}

/* To the store's next second, which is above what was made in this one. */
TEST(test_raise_to_the_time)
{
	struct holder me = case_holder();
	struct key key = case_key("raise to the time");
	struct operation o = case_operation(OPERATION_RAISE, key);
	uint64_t token = case_acquire(key, &me, 9)->lock.record.token;
	struct seen *s = case_done(case_do(&o));

	ck_assert_uint_gt(s->lock.record.token, token);
	ck_assert_uint_eq(s->lock.record.token % TOKENS_RAISED, 0);
	case_same(&s->lock, &case_read(key)->lock);
}

/* It is broken, without a breaker's name. */
TEST(test_break_without_owner)
{
	struct holder me = case_holder();
	struct key key = case_key("break by nobody");
	struct operation o = case_operation(OPERATION_BREAK, key);
	struct seen *s = case_acquire(key, &me, 1);

	o.token_seen = s->lock.record.token;
	s = case_done(case_do(&o));
	ck_assert_ptr_nonnull(s->lock.record.broken_by);
	ck_assert_str_eq(s->lock.broken_by, "");
	case_same(&s->lock, &case_read(key)->lock);
}

TCase *
conformance_breaks(void)
{
	return test_case("breaks", __FILE__);
}
