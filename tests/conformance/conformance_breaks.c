/*
 * Conformance: locks that a person breaks.
 */
#include "common/clock.h"
#include "conformance.h"

START_TEST(test_break)
{
	struct holder me = case_holder();
	struct ident waiter = case_ident();
	struct key key = case_key("break");
	struct seen *held = case_acquire(key, &me, 9);
	uint64_t token = held->lock.record.token;
	uint64_t wall_s = clock_wall_ms() / 1000;
	struct seen *s;

	case_done(held);
	case_done(case_want(key, waiter));
	s = case_break(key, token);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert_str_eq(s->lock.broken_by, "web-9/admin:1");
	ck_assert_uint_eq(s->lock.record.token, token);
	ck_assert_int_eq((int)s->lock.record.mode, LOCK_MODE_EXCLUSIVE);
	/* Free like after a release: at least an hour. */
	ck_assert_uint_gt(s->lock.record.ttl_s, wall_s + 3500);
	ck_assert(case_wished(&s->lock, waiter));
	case_same(&s->lock, &case_read(key)->lock);
	/* Whom it was taken from has nothing to give back. */
	s = case_release(key, &me);
	case_conflict(s);
	ck_assert_str_eq(s->lock.broken_by, "web-9/admin:1");
}
END_TEST

/* All of them, and also what nobody may take over. */
START_TEST(test_break_shared)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct key key = case_key("break shared");
	struct seen *s;

	b.fail_closed = true;
	case_done(case_share(key, &a, 3));
	s = case_share(key, &b, 3);
	case_done(s);
	s = case_break(key, s->lock.record.token);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_break_not_as_seen)
{
	struct holder me = case_holder();
	struct holder next = case_holder();
	struct key key = case_key("break seen");
	struct seen *held = case_acquire(key, &me, 1);
	uint64_t token = held->lock.record.token;
	struct seen *s;

	case_conflict(case_break(key, token - 1));
	s = case_break(key, token + 1);
	case_conflict(s);
	case_same(&s->lock, &held->lock);
	/* Not whoever came after the one that was seen. */
	case_done(case_release(key, &me));
	held = case_acquire(key, &next, 1);
	case_conflict(case_break(key, token));
	case_same(&case_read(key)->lock, &held->lock);
	/* Nor those whom somebody joined. */
	case_done(case_release(key, &next));
	s = case_share(key, &me, 0);
	case_done(s);
	case_done(case_share(key, &next, 0));
	case_conflict(case_break(key, s->lock.record.token));
	ck_assert_uint_eq(case_read(key)->lock.record.n_holders, 2);
}
END_TEST

START_TEST(test_break_free)
{
	struct holder me = case_holder();
	struct key key = case_key("break free");
	struct seen *s = case_break(key, 0);

	case_conflict(s);
	ck_assert(!s->lock.record.exists);
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_acquire(key, &me, 1));
	s = case_release(key, &me);
	case_conflict(case_break(key, s->lock.record.token));
	case_same(&case_read(key)->lock, &s->lock);
}
END_TEST

START_TEST(test_break_twice)
{
	struct holder me = case_holder();
	struct key key = case_key("break twice");
	struct seen *s = case_acquire(key, &me, 1);
	uint64_t token = s->lock.record.token;

	case_done(case_break(key, token));
	case_conflict(case_break(key, token));
}
END_TEST

/* It may be acquired like any other, and says no more who broke it. */
START_TEST(test_acquire_broken)
{
	struct holder me = case_holder();
	struct holder next = case_holder();
	struct key key = case_key("broken");
	struct seen *s = case_acquire(key, &me, 1);
	uint64_t token = s->lock.record.token;

	case_done(case_break(key, token));
	s = _i == 0 ? case_acquire(key, &next, 1) : case_share(key, &next, 2);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.token, token + 1);
	ck_assert_ptr_null(s->lock.record.broken_by);
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

/* Broken it is, though nobody says by whom. */
START_TEST(test_break_without_owner)
{
	struct holder me = case_holder();
	struct key key = case_key("break by nobody");
	struct operation o = case_operation(OPERATION_BREAK, key);
	struct seen *s = case_acquire(key, &me, 1);

	o.token_seen = s->lock.record.token;
	s = case_do(&o);
	case_done(s);
	ck_assert_ptr_nonnull(s->lock.record.broken_by);
	ck_assert_str_eq(s->lock.broken_by, "");
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

TCase *
conformance_breaks(void)
{
	TCase *t = tcase_create("breaks");

	tcase_add_test(t, test_break);
	tcase_add_test(t, test_break_shared);
	tcase_add_test(t, test_break_not_as_seen);
	tcase_add_test(t, test_break_free);
	tcase_add_test(t, test_break_twice);
	tcase_add_loop_test(t, test_acquire_broken, 0, 2);
	tcase_add_test(t, test_break_without_owner);
	return t;
}
