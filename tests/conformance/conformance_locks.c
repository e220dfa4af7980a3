/*
 * Conformance: acquire, take over, extend, release, and wishes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"

#define RACERS 50
#define CROWD 200

START_TEST(test_absent)
{
	struct seen *s = case_read(case_key("absent"));

	case_done(s);
	ck_assert(!s->lock.record.exists);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
}
END_TEST

START_TEST(test_acquire)
{
	struct holder me = case_holder();
	struct key key = case_key("fresh");
	uint64_t day_s = 24 * 3600;
	uint64_t wall_s = clock_wall_ms() / 1000;
	struct seen *s = case_acquire(key, &me, 1);
	const struct lock_record *r = &s->lock.record;

	case_done(s);
	ck_assert(r->exists);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_int_eq((int)r->mode, LOCK_MODE_EXCLUSIVE);
	ck_assert_uint_gt(r->token, (wall_s - day_s) << 20);
	ck_assert_uint_lt(r->token, (wall_s + day_s) << 20);
	ck_assert_uint_eq(r->limit, 0);
	ck_assert_uint_eq(r->ttl_s, 0);
	ck_assert_str_eq(s->lock.owner, "web-1/nightly:4711");
	ck_assert_uint_gt(r->acquired_at_s, wall_s - day_s);
	ck_assert_uint_lt(r->acquired_at_s, wall_s + day_s);
	ck_assert(!s->unanswered);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

/* What belongs to a hold comes back as it was written. */
START_TEST(test_acquire_holder)
{
	struct holder me = case_holder();
	struct key key = case_key("holder");

	me.lease_ms = 86400000;
	me.fail_closed = true;
	me.session.high = UINT64_MAX;
	me.session.low = 0;
	me.grant.low = UINT64_C(1) << 63;
	case_done(case_acquire(key, &me, 1));
	ck_assert(case_holds(&case_read(key)->lock, &me));
}
END_TEST

START_TEST(test_acquire_held)
{
	struct holder me = case_holder();
	struct holder other = case_holder();
	struct key key = case_key("held");
	struct seen *first = case_acquire(key, &me, 1);
	struct seen *s = case_acquire(key, &other, 1);

	case_conflict(s);
	case_same(&s->lock, &first->lock);
	case_same(&case_read(key)->lock, &first->lock);
}
END_TEST

/* The same session with another grant is somebody else. */
START_TEST(test_acquire_held_by_same_session)
{
	struct holder me = case_holder();
	struct holder other = me;
	struct key key = case_key("session");

	other.grant = case_ident();
	case_done(case_acquire(key, &me, 1));
	case_conflict(case_acquire(key, &other, 1));
	ck_assert(case_holds(&case_read(key)->lock, &me));
}
END_TEST

/* A request that comes again, its answer lost, finds its own effect. */
START_TEST(test_acquire_again)
{
	struct holder me = case_holder();
	struct key key = case_key("again");
	struct seen *first = case_acquire(key, &me, 1);
	struct seen *s = case_acquire(key, &me, 1);

	case_done(s);
	ck_assert_uint_eq(s->lock.record.token, first->lock.record.token);
	ck_assert(case_holds(&s->lock, &me));
}
END_TEST

START_TEST(test_release)
{
	struct holder me = case_holder();
	struct key key = case_key("release");
	struct seen *held = case_acquire(key, &me, 1);
	struct seen *s = case_release(key, &me);
	uint64_t wall_s = clock_wall_ms() / 1000;

	case_done(s);
	ck_assert(s->lock.record.exists);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert_uint_eq(s->lock.record.token, held->lock.record.token);
	/* At least an hour, or tokens could go back. */
	ck_assert_uint_gt(s->lock.record.ttl_s, wall_s + 3500);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_release_not_mine)
{
	struct holder me = case_holder();
	struct holder other = case_holder();
	struct key key = case_key("foreign");
	struct seen *held = case_acquire(key, &me, 1);
	struct seen *s = case_release(key, &other);

	case_conflict(s);
	case_same(&s->lock, &held->lock);
	other = me;
	other.grant = case_ident();
	case_conflict(case_release(key, &other));
	case_same(&case_read(key)->lock, &held->lock);
}
END_TEST

START_TEST(test_release_absent)
{
	struct holder me = case_holder();
	struct key key = case_key("nothing");
	struct seen *s = case_release(key, &me);

	case_conflict(s);
	ck_assert(!s->lock.record.exists);
	ck_assert(!case_read(key)->lock.record.exists);
}
END_TEST

START_TEST(test_release_twice)
{
	struct holder me = case_holder();
	struct key key = case_key("twice");

	case_done(case_acquire(key, &me, 1));
	case_done(case_release(key, &me));
	case_conflict(case_release(key, &me));
}
END_TEST

/* An elder release that comes late must not touch the next holder. */
START_TEST(test_release_late)
{
	struct holder first = case_holder();
	struct holder second = case_holder();
	struct key key = case_key("late");

	case_done(case_acquire(key, &first, 1));
	case_done(case_release(key, &first));
	case_done(case_acquire(key, &second, 1));
	case_conflict(case_release(key, &first));
	ck_assert(case_holds(&case_read(key)->lock, &second));
}
END_TEST

START_TEST(test_release_two_of_one)
{
	struct holder holders[2] = { case_holder(), case_holder() };
	struct key key = case_key("two");
	struct operation o = case_operation(OPERATION_RELEASE, key);

	case_done(case_acquire(key, &holders[0], 1));
	o.holders = holders;
	o.n_holders = 2;
	case_conflict(case_do(&o));
	ck_assert(case_holds(&case_read(key)->lock, &holders[0]));
}
END_TEST

/* Tokens rise with every grant, by as much as was asked for. */
START_TEST(test_tokens_rise)
{
	struct key key = case_key("tokens");
	uint64_t last = 0;

	for (uint32_t i = 1; i <= 10; i++) {
		struct holder me = case_holder();
		struct seen *s = case_acquire(key, &me, i);

		case_done(s);
		if (last != 0)
			ck_assert_uint_eq(s->lock.record.token, last + i);
		last = s->lock.record.token;
		case_done(case_release(key, &me));
	}
}
END_TEST

START_TEST(test_token_block)
{
	struct holder me = case_holder();
	struct key key = case_key("block");
	struct seen *s = case_acquire(key, &me, TOKENS_MAX);
	struct seen *next;

	case_done(s);
	case_done(case_release(key, &me));
	me = case_holder();
	next = case_acquire(key, &me, 1);
	ck_assert_uint_eq(next->lock.record.token, s->lock.record.token + 1);
}
END_TEST

/* Nothing is inherited: an owner that is not given is gone. */
START_TEST(test_acquire_without_owner)
{
	struct holder me = case_holder();
	struct key key = case_key("owner");
	struct operation o;
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_release(key, &me));
	o = case_operation(OPERATION_ACQUIRE, key);
	o.me = case_holder();
	o.tokens = 1;
	s = case_do(&o);
	case_done(s);
	ck_assert_ptr_null(s->lock.record.owner);
	ck_assert_ptr_null(case_read(key)->lock.record.owner);
}
END_TEST

START_TEST(test_take)
{
	struct holder dead = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("take");
	struct seen *held = case_acquire(key, &dead, 1);
	uint64_t token = held->lock.record.token;
	struct seen *s = case_take(key, &me, &dead, 1, token);

	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_uint_eq(s->lock.record.token, token + 1);
	ck_assert_str_eq(s->lock.owner, "web-2/nightly:4712");
	case_same(&s->lock, &case_read(key)->lock);
	/* Again: its own effect. */
	s = case_take(key, &me, &dead, 1, token);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.token, token + 1);
	/* And the dead one is not let back in. */
	case_conflict(case_release(key, &dead));
	case_conflict(case_acquire(key, &dead, 1));
}
END_TEST

START_TEST(test_take_not_as_seen)
{
	struct holder holder = case_holder();
	struct holder others[2] = { holder, case_holder() };
	struct holder me = case_holder();
	struct key key = case_key("seen");
	struct seen *held = case_acquire(key, &holder, 1);
	uint64_t token = held->lock.record.token;

	case_conflict(case_take(key, &me, &holder, 1, token - 1));
	case_conflict(case_take(key, &me, &holder, 1, token + 1));
	case_conflict(case_take(key, &me, &others[1], 1, token));
	case_conflict(case_take(key, &me, others, 2, token));
	others[0].grant = case_ident();
	case_conflict(case_take(key, &me, &others[0], 1, token));
	case_same(&case_read(key)->lock, &held->lock);
}
END_TEST

START_TEST(test_take_free)
{
	struct holder gone = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("free");
	struct seen *s = case_take(key, &me, &gone, 1, 1);

	case_conflict(s);
	ck_assert(!s->lock.record.exists);
	ck_assert(!case_read(key)->lock.record.exists);
	s = case_acquire(key, &gone, 1);
	case_done(case_release(key, &gone));
	case_conflict(case_take(key, &me, &gone, 1, s->lock.record.token));
	ck_assert_uint_eq(case_read(key)->lock.record.n_holders, 0);
}
END_TEST

START_TEST(test_extend)
{
	struct holder me = case_holder();
	struct key key = case_key("extend");
	struct seen *held = case_acquire(key, &me, 1);
	uint64_t token = held->lock.record.token;
	struct seen *s = case_extend(key, &me, token, 100);

	case_done(s);
	ck_assert_uint_eq(s->lock.record.token, token + 100);
	ck_assert(case_holds(&s->lock, &me));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_extend_not_as_seen)
{
	struct holder me = case_holder();
	struct holder other = case_holder();
	struct key key = case_key("extend");
	struct seen *held;

	case_conflict(case_extend(key, &me, 1, 1));
	ck_assert(!case_read(key)->lock.record.exists);
	held = case_acquire(key, &me, 1);
	case_conflict(case_extend(key, &other, held->lock.record.token, 1));
	case_conflict(case_extend(key, &me, held->lock.record.token - 1, 7));
	case_same(&case_read(key)->lock, &held->lock);
	case_done(case_release(key, &me));
	case_conflict(case_extend(key, &me, held->lock.record.token, 1));
}
END_TEST

static void
test_one_key(const char *bytes, size_t length)
{
	struct holder me = case_holder();
	struct key key = { bytes, length };

	case_done(case_acquire(key, &me, 1));
	ck_assert(case_holds(&case_read(key)->lock, &me));
	case_done(case_release(key, &me));
}

START_TEST(test_keys)
{
	char longest[KEY_LENGTH_MAX];
	struct key key = case_key("");
	struct key utf8 = case_key("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92");
	struct key odd = case_key(" \"'\\/:#%=\t\n{}");

	memset(longest, 'k', sizeof(longest));
	memcpy(longest, key.bytes, key.length);
	test_one_key(longest, sizeof(longest));
	ck_assert(!case_read((struct key){ longest, sizeof(longest) - 1 })->
	    lock.record.exists);
	test_one_key(utf8.bytes, utf8.length);
	test_one_key(odd.bytes, odd.length);
}
END_TEST

START_TEST(test_binary_keys)
{
	char bytes[IDENT_TEXT_LENGTH + 4];
	struct key key = case_key("");

	if (!case_target()->binary_keys)
		return;
	memcpy(bytes, key.bytes, key.length);
	memcpy(bytes + key.length, "\0\xff\0\x80", 4);
	test_one_key(bytes, sizeof(bytes));
	/* Not cut at the NUL. */
	ck_assert(!case_read(key)->lock.record.exists);
}
END_TEST

/* Whoever asks at the same time: one gets it. */
START_TEST(test_race)
{
	struct operation o[RACERS];
	struct seen *s[RACERS];
	struct key key = case_key("race");
	size_t winner = RACERS;

	for (size_t i = 0; i < RACERS; i++) {
		o[i] = case_operation(OPERATION_ACQUIRE, key);
		o[i].me = case_holder();
		o[i].tokens = 1;
	}
	case_do_many(o, RACERS, s);
	for (size_t i = 0; i < RACERS; i++) {
		if (s[i]->kind == OUTCOME_CONFLICT)
			continue;
		case_done(s[i]);
		ck_assert_uint_eq(winner, RACERS);
		winner = i;
	}
	ck_assert_uint_lt(winner, RACERS);
	for (size_t i = 0; i < RACERS; i++)
		ck_assert(case_holds(&s[i]->lock, &o[winner].me));
}
END_TEST

START_TEST(test_crowd)
{
	static char names[CROWD][IDENT_TEXT_LENGTH + 1];
	static struct operation o[CROWD];
	static struct holder holders[CROWD];
	static struct seen *s[CROWD];

	for (size_t i = 0; i < CROWD; i++) {
		struct key key = { names[i], IDENT_TEXT_LENGTH };

		ident_format(case_ident(), names[i]);
		holders[i] = case_holder();
		o[i] = case_operation(OPERATION_ACQUIRE, key);
		o[i].me = holders[i];
		o[i].tokens = 1;
	}
	case_do_all(o, CROWD, s);
	for (size_t i = 0; i < CROWD; i++) {
		ck_assert(case_holds(&s[i]->lock, &holders[i]));
		o[i] = case_operation(OPERATION_RELEASE, o[i].key);
		o[i].holders = &holders[i];
		o[i].n_holders = 1;
	}
	case_do_all(o, CROWD, s);
}
END_TEST

TCase *
conformance_locks(void)
{
	TCase *t = tcase_create("locks");

	tcase_add_test(t, test_absent);
	tcase_add_test(t, test_acquire);
	tcase_add_test(t, test_acquire_holder);
	tcase_add_test(t, test_acquire_held);
	tcase_add_test(t, test_acquire_held_by_same_session);
	tcase_add_test(t, test_acquire_again);
	tcase_add_test(t, test_release);
	tcase_add_test(t, test_release_not_mine);
	tcase_add_test(t, test_release_absent);
	tcase_add_test(t, test_release_twice);
	tcase_add_test(t, test_release_late);
	tcase_add_test(t, test_release_two_of_one);
	tcase_add_test(t, test_tokens_rise);
	tcase_add_test(t, test_token_block);
	tcase_add_test(t, test_acquire_without_owner);
	tcase_add_test(t, test_take);
	tcase_add_test(t, test_take_not_as_seen);
	tcase_add_test(t, test_take_free);
	tcase_add_test(t, test_extend);
	tcase_add_test(t, test_extend_not_as_seen);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_binary_keys);
	tcase_add_test(t, test_race);
	tcase_add_test(t, test_crowd);
	return t;
}
