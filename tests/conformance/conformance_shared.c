/*
 * Conformance: locks that several hold, with and without a limit.
 */
#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "suite.h"

#define RACERS 30
#define SEATS 5

START_TEST(test_share)
{
	static const uint64_t limits[] = { 0, 1, 3, HOLDERS_MAX };
	struct holder me = case_holder();
	struct key key = case_key("share");
	uint64_t day_s = 24 * 3600;
	uint64_t wall_s = clock_wall_ms() / 1000;
	struct seen *s = case_share(key, &me, limits[_i]);
	const struct lock_record *r = &s->lock.record;

	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_int_eq((int)r->mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(r->limit, limits[_i]);
	ck_assert_uint_gt(r->token, (wall_s - day_s) << 20);
	ck_assert_uint_lt(r->token, (wall_s + day_s) << 20);
	ck_assert_uint_eq(r->ttl_s, 0);
	ck_assert_str_eq(s->lock.owner, "web-1/reader:4711");
	ck_assert_uint_gt(r->acquired_at_s, wall_s - day_s);
	ck_assert(!s->unanswered);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_join)
{
	struct holder holders[4];
	struct key key = case_key("join");
	struct seen *s = NULL;
	uint64_t token = 0;

	for (size_t i = 0; i < 4; i++) {
		holders[i] = case_holder();
		holders[i].fail_closed = i == 2;
		s = case_share(key, &holders[i], _i == 0 ? 0 : 4);
		case_done(s);
		ck_assert_uint_eq(s->lock.record.n_holders, i + 1);
		/* Each has one of its own, though it need not be. */
		if (i > 0)
			ck_assert_uint_eq(s->lock.record.token, token + 1);
		token = s->lock.record.token;
	}
	for (size_t i = 0; i < 4; i++)
		ck_assert(case_has(&s->lock, &holders[i]));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

/* A request that comes again, its answer lost, finds its own effect. */
START_TEST(test_join_again)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct key key = case_key("join again");
	struct seen *first;
	struct seen *s;

	first = case_share(key, &a, 2);
	s = case_share(key, &a, 2);
	case_done(s);
	case_same(&s->lock, &first->lock);
	/* Also when the last seat is its own. */
	first = case_share(key, &b, 2);
	s = case_share(key, &b, 2);
	case_done(s);
	case_same(&s->lock, &first->lock);
	/* And when somebody wishes for it by now. */
	case_done(case_want(key, case_ident()));
	case_done(case_share(key, &b, 2));
}
END_TEST

/* Of a limited lock one host may hold more than one. */
START_TEST(test_join_same_session)
{
	struct holder a = case_holder();
	struct holder b = a;
	struct key key = case_key("two of one");
	struct seen *s;

	b.grant = case_ident();
	case_done(case_share(key, &a, 2));
	s = case_share(key, &b, 2);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.n_holders, 2);
}
END_TEST

START_TEST(test_limit)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct holder c = case_holder();
	struct key key = case_key("limit");
	struct seen *full;
	struct seen *s;

	case_done(case_share(key, &a, 2));
	full = case_share(key, &b, 2);
	case_done(full);
	s = case_share(key, &c, 2);
	case_conflict(s);
	case_same(&s->lock, &full->lock);
	case_same(&case_read(key)->lock, &full->lock);
	case_done(case_release(key, &a));
	s = case_share(key, &c, 2);
	case_done(s);
	ck_assert(case_has(&s->lock, &b));
	ck_assert(case_has(&s->lock, &c));
	ck_assert_uint_eq(s->lock.record.n_holders, 2);
}
END_TEST

/* Who asks for another limit than the one in force waits. */
START_TEST(test_other_limit)
{
	static const uint64_t limits[][2] = {
		{ 3, 2 }, { 3, 4 }, { 3, 0 }, { 0, 3 },
	};
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct key key = case_key("other limit");
	struct seen *held = case_share(key, &a, limits[_i][0]);
	struct seen *s = case_share(key, &b, limits[_i][1]);

	case_conflict(s);
	case_same(&s->lock, &held->lock);
	case_done(case_release(key, &a));
	/* Nobody's limit is in force any more. */
	s = case_share(key, &b, limits[_i][1]);
	case_done(s);
	ck_assert_uint_eq(s->lock.record.limit, limits[_i][1]);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_exclude)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct key key = case_key("exclude");
	struct seen *held = case_acquire(key, &a, 1);
	struct seen *s = case_share(key, &b, 0);

	case_conflict(s);
	case_same(&s->lock, &held->lock);
	case_done(case_release(key, &a));
	held = case_share(key, &a, 0);
	case_done(held);
	s = case_acquire(key, &b, 1);
	case_conflict(s);
	case_same(&s->lock, &held->lock);
	case_same(&case_read(key)->lock, &held->lock);
}
END_TEST

/* Sharers must not starve who wants it alone. */
START_TEST(test_wish_hinders_joining)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct ident waiter = _i == 0 ? case_ident() : b.session;
	struct key key = case_key("hinder");

	case_done(case_share(key, &a, 0));
	case_done(case_want_shared(key, case_ident()));
	case_done(case_want(key, waiter));
	case_conflict(case_share(key, &b, 0));
	case_done(case_unwant(key, waiter));
	case_done(case_share(key, &b, 0));
}
END_TEST

#define X LOCK_MODE_EXCLUSIVE
#define S LOCK_MODE_SHARED

/* Whose turn it is at a free lock: those of the other kind than the last. */
static const struct {
	enum lock_mode last;
	bool exclusive_wish;
	bool shared_wish;
	bool ours;	/* the wish for exclusive use is */
	enum lock_mode mode;
	bool may;
} turns[] = {
	{ X, true, false, false, X, true },
	{ X, true, false, false, S, true },
	{ X, false, true, false, X, false },
	{ X, false, true, false, S, true },
	{ X, true, true, false, X, false },
	{ X, true, true, true, X, false },
	{ X, true, true, false, S, true },
	{ S, true, false, false, X, true },
	{ S, true, false, false, S, false },
	{ S, true, false, true, S, true },
	{ S, false, true, false, X, true },
	{ S, false, true, false, S, true },
	{ S, true, true, false, X, true },
	{ S, true, true, false, S, false },
	{ S, true, true, true, S, true },
};

START_TEST(test_turn)
{
	struct holder first = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("turn");
	struct seen *free;
	struct seen *s;

	case_done(turns[_i].last == X ?
	    case_acquire(key, &first, 1) : case_share(key, &first, 2));
	if (turns[_i].exclusive_wish)
		case_done(case_want(key,
		    turns[_i].ours ? me.session : case_ident()));
	if (turns[_i].shared_wish)
		case_done(case_want_shared(key, case_ident()));
	free = case_release(key, &first);
	case_done(free);
	s = turns[_i].mode == X ?
	    case_acquire(key, &me, 1) : case_share(key, &me, 0);
	if (turns[_i].may) {
		case_done(s);
		ck_assert(case_holds(&s->lock, &me));
		ck_assert_int_eq((int)s->lock.record.mode, turns[_i].mode);
		ck_assert_uint_eq(s->lock.record.limit, 0);
	} else {
		case_conflict(s);
		case_same(&s->lock, &free->lock);
	}
	case_same(&case_read(key)->lock, &s->lock);
}
END_TEST

/* Neither kind starves, however long others of the other kind wait. */
START_TEST(test_turns)
{
	struct holder reader = case_holder();
	struct holder writer = case_holder();
	struct key key = case_key("turns");

	case_done(case_share(key, &reader, 0));
	for (int i = 0; i < 3; i++) {
		struct holder other = case_holder();

		case_done(case_want(key, writer.session));
		case_done(case_want_shared(key, other.session));
		case_done(case_release(key, &reader));
		case_conflict(case_share(key, &other, 0));
		case_done(case_acquire(key, &writer, 1));
		case_done(case_want(key, case_ident()));
		case_done(case_release(key, &writer));
		writer = case_holder();
		case_conflict(case_acquire(key, &writer, 1));
		reader = other;
		case_done(case_share(key, &reader, 0));
	}
}
END_TEST

START_TEST(test_release_one_of_three)
{
	struct holder holders[3];
	struct key key = case_key("leave");
	uint64_t token = 0;
	struct seen *s;

	for (size_t i = 0; i < 3; i++) {
		holders[i] = case_holder();
		s = case_share(key, &holders[i], 3);
		case_done(s);
		token = s->lock.record.token;
	}
	for (size_t i = 0; i < 3; i++) {
		s = case_release(key, &holders[i]);
		case_done(s);
		ck_assert(!case_has(&s->lock, &holders[i]));
		ck_assert_uint_eq(s->lock.record.n_holders, 2 - i);
		ck_assert_uint_eq(s->lock.record.token, token);
		ck_assert((s->lock.record.ttl_s > 0) == (i == 2));
		ck_assert_int_eq((int)s->lock.record.mode, LOCK_MODE_SHARED);
		ck_assert_uint_eq(s->lock.record.limit, 3);
		case_same(&s->lock, &case_read(key)->lock);
		case_conflict(case_release(key, &holders[i]));
	}
}
END_TEST

/* As the dead among them are taken out: all at once, or not. */
START_TEST(test_release_some)
{
	struct holder holders[4];
	struct key key = case_key("leave some");
	struct operation o;
	struct seen *s;

	for (size_t i = 0; i < 3; i++) {
		holders[i] = case_holder();
		case_done(case_share(key, &holders[i], 0));
	}
	holders[3] = case_holder();
	o = case_operation(OPERATION_RELEASE, key);
	o.others_hold = _i % 2 == 1;	/* a hint, which may be wrong */
	o.holders = holders + 2;	/* one of them was never there */
	o.n_holders = 2;
	case_conflict(case_do(&o));
	ck_assert_uint_eq(case_read(key)->lock.record.n_holders, 3);
	o = case_operation(OPERATION_RELEASE, key);
	o.others_hold = _i % 2 == 1;
	o.holders = holders;
	o.n_holders = _i < 2 ? 2 : 3;
	s = case_do(&o);
	case_done(s);
	if (_i < 2)
		ck_assert(case_holds(&s->lock, &holders[2]));
	else
		ck_assert_uint_eq(s->lock.record.n_holders, 0);
	ck_assert((s->lock.record.ttl_s > 0) == (_i >= 2));
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

START_TEST(test_take_shared)
{
	struct holder holders[3] = {
		case_holder(), case_holder(), case_holder(),
	};
	struct holder me = case_holder();
	struct key key = case_key("take shared");
	struct seen *held;
	struct seen *s;
	uint64_t token;

	case_done(case_share(key, &holders[0], 5));
	held = case_share(key, &holders[1], 5);
	case_done(held);
	token = held->lock.record.token;
	/* Not while one of them lives, nor from one who is not there. */
	case_conflict(case_take(key, &me, &holders[0], 1, token));
	case_conflict(case_take(key, &me, &holders[1], 1, token));
	case_conflict(case_take(key, &me, &holders[1], 2, token));
	case_conflict(case_take(key, &me, holders, 3, token));
	case_conflict(case_take(key, &me, holders, 2, token - 1));
	case_same(&case_read(key)->lock, &held->lock);
	s = case_take(key, &me, holders, 2, token);
	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_int_eq((int)s->lock.record.mode, LOCK_MODE_EXCLUSIVE);
	ck_assert_uint_eq(s->lock.record.limit, 0);
	ck_assert_uint_eq(s->lock.record.token, token + 1);
	case_same(&s->lock, &case_read(key)->lock);
}
END_TEST

/* From the dead, and by who makes room beside its own old hold. */
START_TEST(test_take_to_share)
{
	static const uint64_t limits[] = { 0, 7 };
	struct holder old = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("take to share");
	struct seen *held = case_acquire(key, &old, 20);
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct seen *s;

	me.session = old.session;
	case_done(case_want(key, me.session));
	case_done(case_want_shared(key, me.session));
	o.mode = LOCK_MODE_SHARED;
	o.limit = limits[_i];
	o.me = me;
	o.tokens = 1;
	o.dead = &old;
	o.n_dead = 1;
	o.token_seen = held->lock.record.token;
	s = case_do(&o);
	case_done(s);
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_int_eq((int)s->lock.record.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(s->lock.record.limit, limits[_i]);
	ck_assert_uint_eq(s->lock.record.token, o.token_seen + 1);
	ck_assert_ptr_null(s->lock.record.owner);
	ck_assert_uint_eq(s->lock.record.n_exclusive_wishes, 0);
	ck_assert_uint_eq(s->lock.record.n_shared_wishes, 0);
	case_same(&s->lock, &case_read(key)->lock);
	old = case_holder();
	case_done(case_share(key, &old, limits[_i]));
}
END_TEST

/* Above every earlier exclusive one's, below every later one's. */
START_TEST(test_shared_tokens)
{
	struct holder a = case_holder();
	struct holder b = case_holder();
	struct holder c = case_holder();
	struct key key = case_key("shared tokens");
	struct seen *s = case_acquire(key, &a, TOKENS_MAX);
	uint64_t last = s->lock.record.token;

	case_done(case_release(key, &a));
	s = case_share(key, &b, 0);
	ck_assert_uint_eq(s->lock.record.token, last + 1);
	s = case_share(key, &c, 0);
	ck_assert_uint_eq(s->lock.record.token, last + 2);
	case_done(case_release(key, &b));
	case_done(case_release(key, &c));
	a = case_holder();
	s = case_acquire(key, &a, 10);
	ck_assert_uint_eq(s->lock.record.token, last + 12);
}
END_TEST

static const struct {
	enum operation_kind kind;
	enum lock_mode mode;
	uint64_t limit;
	uint32_t tokens;
} unsound[] = {
	{ OPERATION_ACQUIRE, LOCK_MODE_NONE, 0, 1 },
	{ OPERATION_ACQUIRE, LOCK_MODE_EXCLUSIVE, 1, 1 },
	{ OPERATION_ACQUIRE, LOCK_MODE_SHARED, 0, 2 },
	{ OPERATION_ACQUIRE, LOCK_MODE_SHARED, 0, 0 },
	{ OPERATION_ACQUIRE, LOCK_MODE_SHARED, HOLDERS_MAX + 1, 1 },
	{ OPERATION_WANT, LOCK_MODE_NONE, 0, 0 },
	{ OPERATION_UNWANT, LOCK_MODE_NONE, 0, 0 },
};

/* Refused with nothing written, not guessed at. */
START_TEST(test_unsound)
{
	struct holder me = case_holder();
	struct key key = case_key("unsound");
	struct operation o = case_operation(unsound[_i].kind, key);
	struct seen *before;
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_want(key, me.session));
	before = unsound[_i].kind == OPERATION_ACQUIRE ?
	    case_release(key, &me) : case_read(key);
	case_done(before);
	o.me = case_holder();
	o.mode = unsound[_i].mode;
	o.limit = unsound[_i].limit;
	o.tokens = unsound[_i].tokens;
	o.session = unsound[_i].kind == OPERATION_UNWANT ?
	    me.session : case_ident();
	s = case_do(&o);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_REQUEST);
	ck_assert(!s->unanswered);
	case_same(&case_read(key)->lock, &before->lock);
}
END_TEST

/* Whoever asks at the same time: as many get it as there are seats. */
START_TEST(test_race)
{
	struct operation o[RACERS];
	struct seen *s[RACERS];
	struct key key = case_key("race");
	struct seen *after;
	size_t winners = 0;

	for (size_t i = 0; i < RACERS; i++) {
		o[i] = case_operation(OPERATION_ACQUIRE, key);
		o[i].mode = LOCK_MODE_SHARED;
		o[i].limit = SEATS;
		o[i].me = case_holder();
		o[i].tokens = 1;
	}
	case_do_many(o, RACERS, s);
	after = case_read(key);
	ck_assert_uint_eq(after->lock.record.n_holders, SEATS);
	for (size_t i = 0; i < RACERS; i++) {
		bool won = case_has(&after->lock, &o[i].me);

		case_is_kind(s[i], won ? OUTCOME_DONE : OUTCOME_CONFLICT,
		    __FILE__, __LINE__);
		winners += won;
		if (!won)
			case_same(&s[i]->lock, &after->lock);
	}
	ck_assert_uint_eq(winners, SEATS);
}
END_TEST

TCase *
conformance_shared(void)
{
	TCase *t = tcase_create("shared");

	tcase_add_loop_test(t, test_share, 0, 4);
	tcase_add_loop_test(t, test_join, 0, 2);
	tcase_add_test(t, test_join_again);
	tcase_add_test(t, test_join_same_session);
	tcase_add_test(t, test_limit);
	tcase_add_loop_test(t, test_other_limit, 0, 4);
	tcase_add_test(t, test_exclude);
	tcase_add_loop_test(t, test_wish_hinders_joining, 0, 2);
	tcase_add_loop_test(t, test_turn, 0, ROWS(turns));
	tcase_add_test(t, test_turns);
	tcase_add_test(t, test_release_one_of_three);
	tcase_add_loop_test(t, test_release_some, 0, 4);
	tcase_add_test(t, test_take_shared);
	tcase_add_loop_test(t, test_take_to_share, 0, 2);
	tcase_add_test(t, test_shared_tokens);
	tcase_add_loop_test(t, test_unsound, 0, ROWS(unsound));
	tcase_add_test(t, test_race);
	return t;
}
