/*
 * Conformance: locks that several hold, with and without a limit.
 */
#include "conformance.h"
#include "ddblock.h"

#define RACERS 30
#define SEATS 5

static const struct story sharing[] = {
	{ "share",
	    "share a: shared a #1\n" },
	{ "share, limit of 1",
	    "share a 1: shared a of 1 #1\n" },
	{ "share, limit of 1,024",
	    "share a 1024: shared a of 1024 #1\n" },
	/* Each has a token of its own, though it need not be. */
	{ "join",
	    "share a: shared a #1\n"
	    "share b: shared a b #2\n"
	    "share C: shared a b C #3\n"
	    "share d: shared a b C d #4\n" },
	{ "join, limited",
	    "share a 4: shared a of 4 #1\n"
	    "share b 4: shared a b of 4 #2\n"
	    "share C 4: shared a b C of 4 #3\n"
	    "share d 4: shared a b C d of 4 #4\n" },
	/* A request that comes again, its answer lost, finds its effect: also
	 * when the last seat is its own, and when another waits by now. */
	{ "join again",
	    "share a 2: shared a of 2 #1\n"
	    "share a 2: shared a of 2 #1\n"
	    "share b 2: shared a b of 2 #2\n"
	    "share b 2: shared a b of 2 #2\n"
	    "want c: shared a b of 2 #2 wait c\n"
	    "share b 2: shared a b of 2 #2 wait c\n" },
	/* One host may hold several places of a limited lock. */
	{ "two of one session",
	    "share a 2: shared a of 2 #1\n"
	    "share a2 2: shared a a2 of 2 #2\n" },
	{ "limit",
	    "share a 2: shared a of 2 #1\n"
	    "share b 2: shared a b of 2 #2\n"
	    "share c 2: conflict\n"
	    "release a: shared b of 2 #2\n"
	    "share c 2: shared b c of 2 #3\n" },
	/* A limit holds as long as there are holders. */
	{ "lower limit",
	    "share a 3: shared a of 3 #1\n"
	    "share b 2: conflict\n"
	    "release a: free was shared of 3 #1\n"
	    "share b 2: shared b of 2 #2\n" },
	{ "higher limit",
	    "share a 3: shared a of 3 #1\n"
	    "share b 4: conflict\n"
	    "release a: free was shared of 3 #1\n"
	    "share b 4: shared b of 4 #2\n" },
	{ "no limit after one",
	    "share a 3: shared a of 3 #1\n"
	    "share b: conflict\n"
	    "release a: free was shared of 3 #1\n"
	    "share b: shared b #2\n" },
	{ "a limit after none",
	    "share a: shared a #1\n"
	    "share b 3: conflict\n"
	    "release a: free was shared #1\n"
	    "share b 3: shared b of 3 #2\n" },
	{ "exclude",
	    "acquire a: held a #1\n"
	    "share b: conflict\n"
	    "release a: free #1\n"
	    "share a: shared a #2\n"
	    "acquire b: conflict\n" },
	/* Sharers must not starve a waiter for exclusive use, not even that
	 * which shares meanwhile. */
	{ "wish of another",
	    "share a: shared a #1\n"
	    "want-shared c: shared a #1 share-wait c\n"
	    "want d: shared a #1 wait d share-wait c\n"
	    "share b: conflict\n"
	    "unwant d: shared a #1 share-wait c\n"
	    "share b: shared a b #2 share-wait c\n" },
	{ "wish of its own",
	    "share a: shared a #1\n"
	    "want b: shared a #1 wait b\n"
	    "share b: conflict\n"
	    "unwant b: shared a #1\n"
	    "share b: shared a b #2\n" },
	{ "leave",
	    "share a 3: shared a of 3 #1\n"
	    "share b 3: shared a b of 3 #2\n"
	    "share c 3: shared a b c of 3 #3\n"
	    "release a: shared b c of 3 #3\n"
	    "release a: conflict\n"
	    "release b: shared c of 3 #3\n"
	    "release b: conflict\n"
	    "release c: free was shared of 3 #3\n"
	    "release c: conflict\n" },
	/* As the dead are taken out: all that are named, or none. */
	{ "leave, two",
	    "share a: shared a #1\n"
	    "share b: shared a b #2\n"
	    "share c: shared a b c #3\n"
	    "release cd: conflict\n"
	    "release cd others: conflict\n"
	    "release ab: shared c #3\n" },
	{ "leave, two of three",
	    "share a: shared a #1\n"
	    "share b: shared a b #2\n"
	    "share c: shared a b c #3\n"
	    "release ab others: shared c #3\n" },
	{ "leave, all",
	    "share a: shared a #1\n"
	    "share b: shared a b #2\n"
	    "share c: shared a b c #3\n"
	    "release abc: free was shared #3\n" },
	{ "leave, all, and others expected",
	    "share a: shared a #1\n"
	    "share b: shared a b #2\n"
	    "share c: shared a b c #3\n"
	    "release abc others: free was shared #3\n" },
	/* Not while one of them lives, nor from an absent one. */
	{ "take",
	    "share a 5: shared a of 5 #1\n"
	    "share b 5: shared a b of 5 #2\n"
	    "take d a #2: conflict\n"
	    "take d b #2: conflict\n"
	    "take d bc #2: conflict\n"
	    "take d abc #2: conflict\n"
	    "take d ab #1: conflict\n"
	    "take d ab #2: held d #3\n" },
	/* Above those of earlier exclusive grants, below those of later. */
	{ "tokens",
	    "acquire a 1024: held a #1\n"
	    "release a: free #1\n"
	    "share b: shared b #2\n"
	    "share c: shared b c #3\n"
	    "release b: shared c #3\n"
	    "release c: free was shared #3\n"
	    "acquire a 10: held a #13\n" },
	/* Neither kind starves, however long others of the other kind wait. */
	{ "turns",
	    "share a: shared a #1\n"
	    "want b: shared a #1 wait b\n"
	    "want-shared c: shared a #1 wait b share-wait c\n"
	    "release a: free was shared #1 wait b share-wait c\n"
	    "share c: conflict\n"
	    "acquire b: held b #2 share-wait c\n"
	    "want d: held b #2 wait d share-wait c\n"
	    "release b: free #2 wait d share-wait c\n"
	    "acquire d: conflict\n"
	    "share c: shared c #3 wait d\n"
	    "want-shared e: shared c #3 wait d share-wait e\n"
	    "release c: free was shared #3 wait d share-wait e\n"
	    "share e: conflict\n"
	    "acquire d: held d #4 share-wait e\n" },
};

STORIES(test_sharing, sharing)

#define X LOCK_MODE_EXCLUSIVE
#define S LOCK_MODE_SHARED

/* The turn at a free lock: the other kind of use than the last. */
static const struct {
	enum lock_mode last;
	bool exclusive_waiter;
	bool shared_waiter;
	bool ours;	/* the mark for exclusive use is */
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

TEST_ROWS(test_turn, turns)
{
	struct holder first = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("turn");
	struct seen *free;
	struct seen *s;

	case_done(turns[_i].last == X ?
	    case_acquire(key, &first, 1) : case_share(key, &first, 2));
	if (turns[_i].exclusive_waiter)
		case_done(case_add_waiter(key,
		    turns[_i].ours ? me.session : case_ident()));
	if (turns[_i].shared_waiter)
		case_done(case_add_shared_waiter(key, case_ident()));
	free = case_done(case_release(key, &first));
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

/* From the dead, and by a client that makes room beside its own old hold. */
TEST_LOOP(test_take_to_share, 0, 2)
{
	static const uint64_t limits[] = { 0, 7 };
	struct holder old = case_holder();
	struct holder me = case_holder();
	struct key key = case_key("take to share");
	struct seen *held = case_acquire(key, &old, 20);
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct seen *s;

	me.session = old.session;
	case_done(case_add_waiter(key, me.session));
	case_done(case_add_shared_waiter(key, me.session));
	o.mode = LOCK_MODE_SHARED;
	o.limit = limits[_i];
	o.me = me;
	o.tokens = 1;
	o.dead = &old;
	o.n_dead = 1;
	o.token_seen = held->lock.record.token;
	s = case_done(case_do(&o));
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_int_eq((int)s->lock.record.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(s->lock.record.limit, limits[_i]);
	ck_assert_uint_eq(s->lock.record.token, o.token_seen + 1);
	ck_assert_ptr_null(s->lock.record.owner);
	ck_assert_uint_eq(s->lock.record.n_exclusive_waiters, 0);
	ck_assert_uint_eq(s->lock.record.n_shared_waiters, 0);
	case_same(&s->lock, &case_read(key)->lock);
	old = case_holder();
	case_done(case_share(key, &old, limits[_i]));
}

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
	{ OPERATION_ADD_WAITER, LOCK_MODE_NONE, 0, 0 },
	{ OPERATION_REMOVE_WAITER, LOCK_MODE_NONE, 0, 0 },
};

/* Refused with nothing written, not guessed at. */
TEST_ROWS(test_unsound, unsound)
{
	struct holder me = case_holder();
	struct key key = case_key("unsound");
	struct operation o = case_operation(unsound[_i].kind, key);
	struct seen *before;
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_add_waiter(key, me.session));
	before = unsound[_i].kind == OPERATION_ACQUIRE ?
	    case_release(key, &me) : case_read(key);
	case_done(before);
	o.me = case_holder();
	o.mode = unsound[_i].mode;
	o.limit = unsound[_i].limit;
	o.tokens = unsound[_i].tokens;
	o.session = unsound[_i].kind == OPERATION_REMOVE_WAITER ?
	    me.session : case_ident();
	s = case_do(&o);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_REQUEST);
	ck_assert(!s->unanswered);
	case_same(&case_read(key)->lock, &before->lock);
}

/* Of many that ask at the same time, as many get it as there are places. */
TEST(test_race)
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

TCase *
conformance_shared(void)
{
	return test_case("shared", __FILE__);
}
