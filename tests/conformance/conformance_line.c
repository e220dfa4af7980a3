/*
 * Conformance: hosts that stand in line for a lock.
 */
#include "conformance.h"

#include "ddblock.h"

static const struct story line[] = {
	{ "in the order of joining",
	    "acquire a: held a #1\n"
	    "join c: held a #1 wait c line c\n"
	    "join b: held a #1 wait b c line c b\n"
	    "join c: conflict\n"
	    "join d: held a #1 wait b c d line c b d\n" },
	/* Of a lock that is free and has no line nobody need wait for. */
	{ "of a free lock",
	    "join b: conflict\n"
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "release a: free #1 wait b line b\n"
	    "join c: free #1 wait b c line b c\n"
	    "leave b 1: free #1 wait c line c\n"
	    "leave c 1: free #1\n"
	    "join c: conflict\n" },
	{ "is bounded",
	    "acquire a: held a #1\n"
	    "join b 2: held a #1 wait b line b\n"
	    "join c 2: held a #1 wait b c line b c\n"
	    "join d 2: conflict\n"
	    "join b 2: conflict\n"
	    "join d 3: held a #1 wait b c d line b c d\n"
	    "join e 1: conflict\n" },
	{ "leaving",
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "join c: held a #1 wait b c line b c\n"
	    "leave c 1: conflict\n"
	    "leave c 3: conflict\n"
	    "leave d 1: conflict\n"
	    "leave b 1: held a #1 wait c line c\n"
	    "leave b 1: conflict\n"
	    "join b: held a #1 wait b c line c b\n"
	    "leave b 2: held a #1 wait c line c\n"
	    "leave c 1: held a #1\n"
	    "leave c 1: conflict\n" },
	/* Only those in it have a turn, and those before it lose theirs. */
	{ "turns",
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "join c: held a #1 wait b c line b c\n"
	    "join d: held a #1 wait b c d line b c d\n"
	    "next b 1: conflict\n"
	    "release a: free #1 wait b c d line b c d\n"
	    "acquire a: conflict\n"
	    "acquire c: conflict\n"
	    "next c 1: conflict\n"
	    "next b 1: held b #2 wait c d line c d\n"
	    "release b: free #2 wait c d line c d\n"
	    "next d 2: held d #3 wait c\n"
	    "release d: free #3 wait c\n"
	    "acquire a: held a #4 wait c\n" },
	{ "turns after death",
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "join c: held a #1 wait b c line b c\n"
	    "next c 1 a: conflict\n"
	    "next c 2 d: conflict\n"
	    "next c 2 a: held c #2 wait b\n" },
	/* A sharer waits for no line. */
	{ "beside it after death",
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "take c a #1: conflict\n"
	    "next-share c 0 a: shared c #2 wait b line b\n" },
	{ "sharing",
	    "share a: shared a #1\n"
	    "join b: shared a #1 wait b line b\n"
	    "share c: conflict\n"
	    "release a: free was shared #1 wait b line b\n"
	    "share c: conflict\n"
	    "next b 1: held b #2\n"
	    "join c: held b #2 wait c line c\n"
	    "want-shared c: held b #2 wait c share-wait c line c\n"
	    "join d: held b #2 wait c d share-wait c line c d\n"
	    "release b: free #2 wait c d share-wait c line c d\n"
	    "next d 2: conflict\n"
	    "next-share c 2: conflict\n"
	    "next-share c 1: shared c #3 wait d line d\n" },
	/* The marks are one set, with a place in line or without. */
	{ "marks beside it",
	    "acquire a: held a #1\n"
	    "want b: held a #1 wait b\n"
	    "join b: held a #1 wait b line b\n"
	    "unwant b: conflict\n"
	    "leave b 1: held a #1\n"
	    "unwant b: conflict\n" },
	{ "across breaks",
	    "acquire a: held a #1\n"
	    "join b: held a #1 wait b line b\n"
	    "break #1: free #1 wait b line b broken by web-9/admin:1\n"
	    "next b 1: held b #2\n" },
};

/* A store without lines says so. */
TEST_ROWS(test_line, line)
{
	struct operation o = case_operation(OPERATION_ADD_WAITER,
	    case_key("no line"));
	struct seen *s;

	if (case_target()->has_line) {
		story_play(&line[_i]);
		return;
	}
	o.session = case_ident();
	o.line_max = LINE_PLACES_MAX;
	s = case_do(&o);
	ck_assert_int_eq((int)s->kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->code, DDBLOCK_E_UNSUPPORTED);
}

/* All places there are, and one more. */
TEST(test_full_line)
{
	struct key key = case_key("full");
	struct holder me = case_holder();
	struct operation o = case_operation(OPERATION_ADD_WAITER, key);
	const struct seen *s = NULL;

	if (!case_target()->has_line)
		return;
	case_done(case_acquire(key, &me, 1));
	o.line_max = LINE_PLACES_MAX;
	for (size_t i = 0; i < LINE_PLACES_MAX; i++) {
		o.session = case_ident();
		s = case_done(case_do(&o));
		ck_assert_uint_eq(s->lock.record.n_line, i + 1);
	}
	o.session = case_ident();
	s = case_conflict(case_do(&o));
	ck_assert_uint_eq(s->lock.record.n_line, LINE_PLACES_MAX);

	/* The last of them, past all the others. */
	case_done(case_release(key, &me));
	o = case_operation(OPERATION_ACQUIRE, key);
	o.me = case_holder();
	o.me.session = s->lock.line[LINE_PLACES_MAX - 1];
	o.tokens = 1;
	o.place = LINE_PLACES_MAX;
	o.token_seen = s->lock.record.token - 1;	/* another turn */
	s = case_conflict(case_do(&o));
	o.me.grant = case_ident();
	o.token_seen = s->lock.record.token;
	s = case_done(case_do(&o));
	ck_assert_uint_eq(s->lock.record.n_line, 0);
}

TCase *
conformance_line(void)
{
	return test_case("line", __FILE__);
}
