/*
 * Conformance: sessions live by their beat, die once, and stay dead.
 */
#include <string.h>

#include "common/clock.h"
#include "conformance.h"

static void
test_is_absent(struct ident id)
{
	struct seen *s = case_session(OPERATION_SESSION_READ, id, 0);

	case_done(s);
	ck_assert(!s->session.exists);
}

static void
test_is_dead(struct ident id, const char *by)
{
	struct seen *s = case_session(OPERATION_SESSION_READ, id, 0);

	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(s->session.dead);
	ck_assert_str_eq(s->dead_by, by);
}

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

START_TEST(test_open)
{
	struct ident id = case_ident();
	struct seen *s;

	test_is_absent(id);
	s = case_session(OPERATION_SESSION_OPEN, id, 0);
	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(!s->session.dead);
	s = case_session(OPERATION_SESSION_READ, id, 0);
	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(!s->session.dead);
	ck_assert_uint_eq(s->session.beat, 0);
	ck_assert_uint_eq(s->session.lease_ms, 20000);
	ck_assert_str_eq(s->host, case_target()->host);
}
END_TEST

/* One that exists, has lived, or died, is not opened again. */
START_TEST(test_open_existing)
{
	struct ident id = case_ident();
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	case_conflict(case_session(OPERATION_SESSION_OPEN, id, 0));
	case_done(case_session(OPERATION_SESSION_BEAT, id, 0));
	case_conflict(case_session(OPERATION_SESSION_OPEN, id, 0));
	case_done(case_session(OPERATION_SESSION_CLOSE, id, 0));
	s = case_session(OPERATION_SESSION_OPEN, id, 0);
	case_conflict(s);
	ck_assert(s->session.dead);
	test_is_dead(id, "self");
}
END_TEST

START_TEST(test_beat)
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
END_TEST

/* After a restart the clock may be behind what is written. */
START_TEST(test_beat_above)
{
	struct ident id = case_ident();
	uint64_t far = clock_boot_ms() + 1000000000;
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	s = case_session(OPERATION_SESSION_BEAT, id, far);
	case_done(s);
	ck_assert_uint_gt(s->session.beat, far);
	far = s->session.beat;
	/* A beat that is lower than what is there does nothing. */
	s = case_session(OPERATION_SESSION_BEAT, id, 0);
	case_conflict(s);
	ck_assert_uint_eq(s->session.beat, far);
	ck_assert(!s->session.dead);
	test_is_alive(id, far);
}
END_TEST

START_TEST(test_beat_absent)
{
	struct ident id = case_ident();
	struct seen *s = case_session(OPERATION_SESSION_BEAT, id, 0);

	case_conflict(s);
	ck_assert(!s->session.exists);
	test_is_absent(id);
}
END_TEST

START_TEST(test_kill)
{
	struct ident id = case_ident();
	struct seen *s;
	uint64_t beat;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	s = case_session(OPERATION_SESSION_BEAT, id, 0);
	beat = s->session.beat;
	s = case_session(OPERATION_SESSION_KILL, id, beat);
	case_done(s);
	ck_assert(s->session.dead);
	ck_assert_str_eq(s->dead_by, "web-3");
	test_is_dead(id, "web-3");
	/* A beat that comes later learns of it. */
	s = case_session(OPERATION_SESSION_BEAT, id, beat);
	case_conflict(s);
	ck_assert(s->session.exists);
	ck_assert(s->session.dead);
	test_is_dead(id, "web-3");
}
END_TEST

/* A beat that came first wins. */
START_TEST(test_kill_too_late)
{
	struct ident id = case_ident();
	struct seen *first;
	struct seen *second;
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	first = case_session(OPERATION_SESSION_BEAT, id, 0);
	second = case_session(OPERATION_SESSION_BEAT, id,
	    first->session.beat);
	s = case_session(OPERATION_SESSION_KILL, id, first->session.beat);
	case_conflict(s);
	ck_assert(!s->session.dead);
	ck_assert_uint_eq(s->session.beat, second->session.beat);
	test_is_alive(id, second->session.beat);
}
END_TEST

START_TEST(test_kill_dead)
{
	struct ident id = case_ident();
	struct operation o;
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	case_done(case_session(OPERATION_SESSION_KILL, id, 0));
	o = case_operation(OPERATION_SESSION_KILL, (struct key){ 0 });
	o.session = id;
	o.owner = "web-4";
	s = case_do(&o);
	case_conflict(s);
	ck_assert(s->session.dead);
	test_is_dead(id, "web-3");
}
END_TEST

START_TEST(test_kill_absent)
{
	struct ident id = case_ident();
	struct seen *s = case_session(OPERATION_SESSION_KILL, id, 0);

	case_conflict(s);
	ck_assert(!s->session.exists);
	test_is_absent(id);
}
END_TEST

START_TEST(test_bury)
{
	struct ident id = case_ident();
	struct seen *s = case_session(OPERATION_SESSION_BURY, id, 0);

	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(s->session.dead);
	test_is_dead(id, "web-3");
	/* Neither a delayed opening nor a beat brings it to life. */
	s = case_session(OPERATION_SESSION_OPEN, id, 0);
	case_conflict(s);
	ck_assert(s->session.dead);
	s = case_session(OPERATION_SESSION_BEAT, id, 0);
	case_conflict(s);
	ck_assert(s->session.dead);
	test_is_dead(id, "web-3");
}
END_TEST

START_TEST(test_bury_existing)
{
	struct ident id = case_ident();
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	s = case_session(OPERATION_SESSION_BURY, id, 0);
	case_conflict(s);
	ck_assert(s->session.exists);
	ck_assert(!s->session.dead);
	test_is_alive(id, 0);
}
END_TEST

START_TEST(test_close)
{
	struct ident id = case_ident();
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	s = case_session(OPERATION_SESSION_CLOSE, id, 0);
	case_done(s);
	ck_assert(s->session.dead);
	test_is_dead(id, "self");
	case_conflict(case_session(OPERATION_SESSION_BEAT, id, 0));
	case_conflict(case_session(OPERATION_SESSION_KILL, id, 0));
	test_is_dead(id, "self");
}
END_TEST

START_TEST(test_close_absent)
{
	struct ident id = case_ident();
	struct seen *s = case_session(OPERATION_SESSION_CLOSE, id, 0);

	case_conflict(s);
	ck_assert(!s->session.exists);
	test_is_absent(id);
}
END_TEST

TCase *
conformance_sessions(void)
{
	TCase *t = tcase_create("sessions");

	tcase_add_test(t, test_open);
	tcase_add_test(t, test_open_existing);
	tcase_add_test(t, test_beat);
	tcase_add_test(t, test_beat_above);
	tcase_add_test(t, test_beat_absent);
	tcase_add_test(t, test_kill);
	tcase_add_test(t, test_kill_too_late);
	tcase_add_test(t, test_kill_dead);
	tcase_add_test(t, test_kill_absent);
	tcase_add_test(t, test_bury);
	tcase_add_test(t, test_bury_existing);
	tcase_add_test(t, test_close);
	tcase_add_test(t, test_close_absent);
	return t;
}
