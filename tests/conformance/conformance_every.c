/*
 * Conformance: once per period, which the record knows, by the store's clock.
 */
#include "conformance.h"

#define DAY_S 86400

static struct seen *
every_acquire(struct key key, const struct holder *me, uint64_t every_s,
    bool marks)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = *me;
	o.tokens = 1;
	o.every_s = every_s;
	o.marks = marks;
	return case_do(&o);
}

static struct seen *
every_release(struct key key, const struct holder *me, enum run_end end)
{
	struct operation o = case_operation(OPERATION_RELEASE, key);

	o.holders = me;
	o.n_holders = 1;
	o.run_end = end;
	return case_do(&o);
}

static uint64_t
every_ran_s(struct key key)
{
	return case_read(key)->lock.record.ran_s;
}

/* It counts from the acquire on, for all that ask; what does not ask does not
 * change that. Its own effect is no reason to refuse it. */
TEST(test_started)
{
	struct holder a = case_holder(), b = case_holder();
	struct key key = case_key("started");
	struct seen *s = case_done(every_acquire(key, &a, DAY_S, true));
	uint64_t ran_s = s->lock.record.ran_s;

	ck_assert_uint_gt(ran_s, 0);
	ck_assert_uint_eq(ran_s, s->lock.record.acquired_at_s);
	ck_assert(s->lock.record.marked);
	ck_assert(case_holds(&case_done(every_acquire(key, &a, DAY_S,
	    true))->lock, &a));
	case_done(every_release(key, &a, RUN_AS_IT_IS));
	s = every_acquire(key, &b, DAY_S, true);
	ck_assert_int_eq(s->kind, OUTCOME_CONFLICT);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert_uint_eq(s->lock.record.ran_s, ran_s);
	ck_assert_uint_lt(s->lock.record.asked_s, ran_s + DAY_S);
	s = case_done(case_acquire(key, &b, 1));
	ck_assert(!s->lock.record.marked);
	case_done(case_release(key, &b));
	ck_assert_uint_eq(every_ran_s(key), ran_s);
}

/* What no client was told of was no run; what was there before, is again. */
TEST(test_taken_back)
{
	struct holder a = case_holder(), b = case_holder(), c = case_holder();
	struct key key = case_key("back");
	uint64_t ran_s;

	case_done(every_acquire(key, &a, DAY_S, true));
	case_done(every_release(key, &a, RUN_NEVER_WAS));
	ck_assert_uint_eq(every_ran_s(key), 0);
	case_done(every_acquire(key, &b, DAY_S, true));
	case_done(every_release(key, &b, RUN_AS_IT_IS));
	ran_s = every_ran_s(key);
	ck_assert_uint_gt(ran_s, 0);
	ck_assert_int_eq(every_acquire(key, &c, DAY_S, true)->kind,
	    OUTCOME_CONFLICT);
	ck_assert_uint_eq(every_ran_s(key), ran_s);
}

/* It counts by its release only; also for one who takes it from the dead. */
TEST(test_succeeded)
{
	struct holder a = case_holder(), b = case_holder(), c = case_holder();
	struct key key = case_key("succeeded");
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct seen *s = case_done(every_acquire(key, &a, DAY_S, false));

	ck_assert_uint_eq(s->lock.record.ran_s, 0);
	o.me = b;
	o.tokens = 1;
	o.every_s = DAY_S;
	o.dead = &a;
	o.n_dead = 1;
	o.token_seen = s->lock.record.token;
	s = case_done(case_do(&o));
	ck_assert(case_holds(&s->lock, &b));
	s = case_done(every_release(key, &b, RUN_COUNTS));
	ck_assert_uint_eq(s->lock.record.ran_s, s->lock.record.acquired_at_s);
	ck_assert_int_eq(every_acquire(key, &c, DAY_S, false)->kind,
	    OUTCOME_CONFLICT);
}

TCase *
conformance_every(void)
{
	return test_case("every", __FILE__);
}
