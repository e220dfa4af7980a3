/*
 * Conformance: sessions that say on a lock's record that they wait for it.
 */
#include "conformance.h"

START_TEST(test_want)
{
	struct holder me = case_holder();
	struct ident waiter = case_ident();
	struct key key = case_key("want");
	struct seen *held = case_acquire(key, &me, 1);
	struct seen *s = case_want(key, waiter);

	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_uint_eq(s->lock.record.token, held->lock.record.token);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 1);
	ck_assert(case_wished(&s->lock, waiter));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_want_again)
{
	struct holder me = case_holder();
	struct ident first = case_ident();
	struct ident second = case_ident();
	struct key key = case_key("want again");
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_want(key, first));
	case_done(case_want(key, second));
	case_done(case_want(key, first));
	s = case_read(key);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 2);
	ck_assert(case_wished(&s->lock, first));
	ck_assert(case_wished(&s->lock, second));
}
END_TEST

/* A wish for what is free would stand there for ever. */
START_TEST(test_want_free)
{
	struct holder me = case_holder();
	struct key key = case_key("want free");
	struct seen *s = case_want(key, case_ident());

	case_conflict(s);
	ck_assert(!s->lock.record.exists);
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_acquire(key, &me, 1));
	case_done(case_release(key, &me));
	s = case_want(key, case_ident());
	case_conflict(s);
	ck_assert(s->lock.record.exists);
	ck_assert_uint_eq(case_read(key)->lock.record.n_exclusive_wishes, 0);
}
END_TEST

START_TEST(test_unwant)
{
	struct holder me = case_holder();
	struct ident first = case_ident();
	struct ident second = case_ident();
	struct key key = case_key("unwant");
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_want(key, first));
	case_done(case_want(key, second));
	s = case_unwant(key, first);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 1);
	ck_assert(case_wished(&s->lock, second));
	ck_assert(case_holds(&s->lock, &me));
	case_done(case_unwant(key, second));
	ck_assert_uint_eq(case_read(key)->lock.record.n_exclusive_wishes, 0);
}
END_TEST

START_TEST(test_unwant_absent)
{
	struct holder me = case_holder();
	struct key key = case_key("unwant absent");

	case_conflict(case_unwant(key, case_ident()));
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_acquire(key, &me, 1));
	case_conflict(case_unwant(key, case_ident()));
}
END_TEST

/* Who gets the lock wishes no more; the others' wishes outlive all. */
START_TEST(test_wishes_across_grants)
{
	struct holder first = case_holder();
	struct holder second = case_holder();
	struct ident other = case_ident();
	struct key key = case_key("wishes");
	struct seen *s;

	case_done(case_acquire(key, &first, 1));
	case_done(case_want(key, second.session));
	case_done(case_want(key, other));
	s = case_release(key, &first);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 2);
	s = case_acquire(key, &second, 1);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 1);
	ck_assert(case_wished(&s->lock, other));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_wishes_across_takeover)
{
	struct holder dead = case_holder();
	struct holder me = case_holder();
	struct ident other = case_ident();
	struct key key = case_key("wishes dead");
	struct seen *s = case_acquire(key, &dead, 1);

	case_done(case_want(key, me.session));
	case_done(case_want(key, other));
	s = case_take(key, &me, &dead, 1, s->lock.record.token);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 1);
	ck_assert(case_wished(&s->lock, other));
}
END_TEST

/* The two kinds are two sets. */
START_TEST(test_wishes_of_both_kinds)
{
	struct holder me = case_holder();
	struct ident both = case_ident();
	struct ident sharer = case_ident();
	struct key key = case_key("both");
	struct seen *s;

	case_done(_i == 0 ? case_acquire(key, &me, 1) :
	    case_share(key, &me, 0));
	case_done(case_want(key, both));
	case_conflict(case_unwant_shared(key, both));
	case_done(case_want_shared(key, both));
	case_done(case_want_shared(key, sharer));
	case_done(case_want_shared(key, both));
	s = case_read(key);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 1);
	ck_assert_uint_eq(s->lock.record.n_shared_wishes, 2);
	ck_assert(case_wished(&s->lock, both));
	ck_assert(case_wished_shared(&s->lock, both));
	ck_assert(case_wished_shared(&s->lock, sharer));
	ck_assert(case_holds(&s->lock, &me));
	case_conflict(case_unwant(key, sharer));
	s = case_unwant(key, both);
	case_done(s);
	ck_assert(!case_wished(&s->lock, both));
	ck_assert(case_wished_shared(&s->lock, both));
	case_done(case_unwant_shared(key, both));
	s = case_unwant_shared(key, sharer);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_shared_wishes, 0);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_want_shared_free)
{
	struct holder me = case_holder();
	struct key key = case_key("want shared free");

	case_conflict(case_want_shared(key, case_ident()));
	case_conflict(case_unwant_shared(key, case_ident()));
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_share(key, &me, 0));
	case_done(case_release(key, &me));
	case_conflict(case_want_shared(key, case_ident()));
	ck_assert_uint_eq(case_read(key)->lock.record.n_shared_wishes, 0);
}
END_TEST

/* Who waits for both and gets it alone still waits for those who share. */
START_TEST(test_wishes_of_both_across_grants)
{
	struct holder first = case_holder();
	struct holder me = case_holder();
	struct ident other = case_ident();
	struct key key = case_key("both wishes");
	struct seen *s;

	case_done(case_share(key, &first, 0));
	case_done(case_want(key, me.session));
	case_done(case_want(key, other));
	case_done(case_want_shared(key, me.session));
	case_done(case_want_shared(key, other));
	case_done(case_release(key, &first));
	s = case_acquire(key, &me, 1);
	case_done(s);
	ck_assert(!case_wished(&s->lock, me.session));
	ck_assert(case_wished(&s->lock, other));
	ck_assert(case_wished_shared(&s->lock, me.session));
	ck_assert(case_wished_shared(&s->lock, other));
	case_done(case_want(key, me.session));
	case_done(case_release(key, &me));
	/* Who shares it waits for nothing. */
	me.grant = case_ident();
	s = case_share(key, &me, 0);
	case_done(s);
	ck_assert(!case_wished(&s->lock, me.session));
	ck_assert(!case_wished_shared(&s->lock, me.session));
	ck_assert(case_wished(&s->lock, other));
	ck_assert(case_wished_shared(&s->lock, other));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

/* Also who joins. */
START_TEST(test_wishes_across_joining)
{
	struct holder first = case_holder();
	struct holder me = case_holder();
	struct ident other = case_ident();
	struct key key = case_key("wishes joining");
	struct seen *s;

	case_done(case_share(key, &first, 0));
	case_done(case_want_shared(key, me.session));
	case_done(case_want_shared(key, other));
	s = case_share(key, &me, 0);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_shared_wishes, 1);
	ck_assert(case_wished_shared(&s->lock, other));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

TCase *
conformance_wishes(void)
{
	TCase *t = tcase_create("wishes");

	tcase_add_test(t, test_want);
	tcase_add_test(t, test_want_again);
	tcase_add_test(t, test_want_free);
	tcase_add_test(t, test_unwant);
	tcase_add_test(t, test_unwant_absent);
	tcase_add_test(t, test_wishes_across_grants);
	tcase_add_test(t, test_wishes_across_takeover);
	tcase_add_loop_test(t, test_wishes_of_both_kinds, 0, 2);
	tcase_add_test(t, test_want_shared_free);
	tcase_add_test(t, test_wishes_of_both_across_grants);
	tcase_add_test(t, test_wishes_across_joining);
	return t;
}
