/*
 * Conformance: sessions live by their beat, die once, and stay dead.
 */
#include "common/clock.h"
#include "conformance.h"

static const struct story lives[] = {
	/* One that exists, has lived, or died, is not opened again. */
	{ "open existing",
	    "open a: alive\n"
	    "open a: conflict\n"
	    "beat a: alive\n"
	    "open a: conflict\n"
	    "close a: dead by self\n"
	    "open a: conflict\n" },
	{ "absent, beat",
	    "beat a: conflict\n" },
	{ "absent, kill",
	    "kill a: conflict\n" },
	{ "absent, close",
	    "close a: conflict\n" },
	/* A beat that comes later learns of it. */
	{ "kill",
	    "open a: alive\n"
	    "beat a: alive\n"
	    "kill a: dead by web-3\n"
	    "beat a: conflict\n" },
	/* A beat that came first wins. */
	{ "kill too late",
	    "open a: alive\n"
	    "beat a: alive\n"
	    "kill a 0: conflict\n"
	    "beat a: alive\n"
	    "kill a 0: conflict\n" },
	{ "kill dead",
	    "open a: alive\n"
	    "kill a: dead by web-3\n"
	    "kill a by web-4: conflict\n" },
	/* Neither a delayed opening nor a beat brings it to life. */
	{ "bury",
	    "bury a: dead by web-3\n"
	    "open a: conflict\n"
	    "beat a: conflict\n" },
	{ "bury existing",
	    "open a: alive\n"
	    "bury a: conflict\n" },
	{ "close",
	    "open a: alive\n"
	    "close a: dead by self\n"
	    "beat a: conflict\n"
	    "kill a: conflict\n" },
};

STORIES(test_lives, lives)

/* Alive, with this beat. */
static void
test_is_alive(struct ident id, uint64_t beat)
{
	struct seen *s = case_session(OPERATION_SESSION_READ, id, 0);

	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(!s->session.dead);
	ck_assert_uint_eq(s->session.beat, beat);
}

TEST(test_open)
{
	struct ident id = case_ident();
	struct seen *s = case_session(OPERATION_SESSION_READ, id, 0);

	case_done(s);
	ck_assert(!s->session.exists);
	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	test_is_alive(id, 0);
	s = case_session(OPERATION_SESSION_READ, id, 0);
	ck_assert_uint_eq(s->session.lease_ms, 20000);
	ck_assert_str_eq(s->host, case_target()->host);
}

TEST(test_beat)
{
	struct ident id = case_ident();
	uint64_t beat = 0;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	for (int i = 0; i < 5; i++) {
		struct seen *s =
		    case_session(OPERATION_SESSION_BEAT, id, beat);

		case_done(s);
		ck_assert_uint_gt(s->session.beat, beat);
		/* The number is the millisecond of the send, or above. */
		ck_assert_uint_ge(s->session.beat, s->sent_ms);
		ck_assert(!s->session.dead);
		beat = s->session.beat;
		test_is_alive(id, beat);
	}
}

/* After a restart the clock may be behind the written times. */
TEST(test_beat_above)
{
	struct ident id = case_ident();
	uint64_t far = clock_boot_ms() + 1000000000;
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	s = case_done(case_session(OPERATION_SESSION_BEAT, id, far));
	ck_assert_uint_gt(s->session.beat, far);
	far = s->session.beat;
	/* A beat lower than the record's does nothing. */
	s = case_conflict(case_session(OPERATION_SESSION_BEAT, id, 0));
	ck_assert_uint_eq(s->session.beat, far);
	ck_assert(!s->session.dead);
	test_is_alive(id, far);
}

TCase *
conformance_sessions(void)
{
	return test_case("sessions", __FILE__);
}
