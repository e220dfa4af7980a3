/*
 * Conformance: acquire, take over, extend, release.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define RACERS 50
#define CROWD 200

static const struct story locks[] = {
	{ "acquire",
	    "acquire a: held a #1\n" },
	/* What belongs to a hold comes back as it was written. */
	{ "acquire, fail closed",
	    "acquire A: held A #1\n" },
	/* The same session with another grant is another holder. */
	{ "held",
	    "acquire a: held a #1\n"
	    "acquire b: conflict\n"
	    "acquire a2: conflict\n" },
	/* A request that comes again, its answer lost, finds its effect. */
	{ "again",
	    "acquire a: held a #1\n"
	    "acquire a: held a #1\n" },
	{ "release",
	    "acquire a: held a #1\n"
	    "release a: free #1\n" },
	{ "release, another's",
	    "acquire a: held a #1\n"
	    "release b: conflict\n"
	    "release a2: conflict\n"
	    "release ab: conflict\n" },
	{ "release, absent",
	    "release a: conflict\n" },
	{ "release twice",
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "release a: conflict\n" },
	/* A late release must not touch the next holder. */
	{ "release, late",
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "acquire b: held b #2\n"
	    "release a: conflict\n" },
	/* Tokens rise with every grant, by as many as it asks for. */
	{ "tokens",
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "acquire b 2: held b #3\n"
	    "release b: free #3\n"
	    "acquire c 1024: held c #1027\n"
	    "release c: free #1027\n"
	    "acquire d 10: held d #1037\n" },
	{ "token block",
	    "acquire a 1024: held a #1\n"
	    "release a: free #1\n"
	    "acquire b: held b #2\n" },
	/* Again: its own effect; and the dead one is not let back in. */
	{ "take",
	    "acquire a: held a #1\n"
	    "take b a #1: held b #2\n"
	    "take b a #1: held b #2\n"
	    "release a: conflict\n"
	    "acquire a: conflict\n" },
	{ "take, not as seen",
	    "acquire a: held a #1\n"
	    "take b a #0: conflict\n"
	    "take b a #2: conflict\n"
	    "take b c #1: conflict\n"
	    "take b ac #1: conflict\n"
	    "take b a2 #1: conflict\n" },
	{ "take, free",
	    "take b a #1: conflict\n"
	    "acquire a: held a #1\n"
	    "release a: free #1\n"
	    "take b a #1: conflict\n" },
	{ "extend",
	    "acquire a: held a #1\n"
	    "extend a #1 100: held a #101\n" },
	{ "extend, not as seen",
	    "extend a #1 1: conflict\n"
	    "acquire a: held a #1\n"
	    "extend b #1 1: conflict\n"
	    "extend a #0 7: conflict\n"
	    "release a: free #1\n"
	    "extend a #1 1: conflict\n" },
};

STORIES(test_locks, locks)

TEST(test_absent)
{
	struct seen *s = case_read(case_key("absent"));

	case_done(s);
	ck_assert(!s->lock.record.exists);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
}

/* What belongs to a hold comes back as it was written. */
TEST(test_acquire_holder)
{
	struct holder me = case_holder();
	struct key key = case_key("holder");
	struct seen *s;

	me.lease_ms = 86400000;
	me.fail_closed = true;
	me.session.high = UINT64_MAX;
	me.session.low = 0;
	me.grant.low = UINT64_C(1) << 63;
	s = case_done(case_acquire(key, &me, 1));
	ck_assert(!s->unanswered);
	ck_assert(case_holds(&case_read(key)->lock, &me));
}

/* Nothing is inherited: an owner that is not given is gone. */
TEST(test_acquire_without_owner)
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
	s = case_done(case_do(&o));
	ck_assert_ptr_null(s->lock.record.owner);
	ck_assert_ptr_null(case_read(key)->lock.record.owner);
}

static void
test_one_key(const char *bytes, size_t length)
{
	struct holder me = case_holder();
	struct key key = { bytes, length };

	case_done(case_acquire(key, &me, 1));
	ck_assert(case_holds(&case_read(key)->lock, &me));
	case_done(case_release(key, &me));
}

TEST(test_keys)
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

TEST(test_binary_keys)
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

/* Of many that ask at the same time, one gets it. */
TEST(test_race)
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

TEST(test_crowd)
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

TCase *
conformance_locks(void)
{
	return test_case("locks", __FILE__);
}
