/*
 * Beats of the embedded store: they are answered from memory, also while the
 * disk hangs or is full, and yet never contradict an end in the file.
 */
#include <event2/event.h>
#include <sqlite3.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "sqlite_fixture.h"
#include "sqlite_shim.h"
#include "store/sqlite_sessions.h"
#include "test.h"

/* @n more beats, each one higher, none of which asks the disk. */
static uint64_t
test_beats(struct ident id, uint64_t beat, int n)
{
	unsigned syncs = sqlite_shim_syncs();

	for (int i = 0; i < n; i++) {
		struct seen *s =
		    case_session(OPERATION_SESSION_BEAT, id, beat);

		case_done(s);
		ck_assert(s->session.exists && !s->session.dead);
		ck_assert_uint_gt(s->session.beat, beat);
		ck_assert_uint_eq(s->session.lease_ms, 20000);
		beat = s->session.beat;
	}
	ck_assert_uint_eq(sqlite_shim_syncs(), syncs);
	return beat;
}

/* A beat needs no disk; later operations on the disk know of it. */
TEST(test_beat_while_hanging)
{
	struct ident id = case_ident();
	struct operation o =
	    case_operation(OPERATION_ACQUIRE, case_key("hanging"));
	enum { N = 20 };
	struct operation beats[N];
	struct operation kill;
	struct seen *killed;
	struct seen *s;
	uint64_t beat;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	beat = test_beats(id, 0, 3);
	o.me = case_holder();
	o.tokens = 1;
	sqlite_shim_hang(true);
	(void)case_submit(&o);
	while (!sqlite_shim_hangs())
		case_turn();
	/* Another host saw it, and kills it when the disk is back. */
	kill = case_operation(OPERATION_SESSION_KILL, (struct key){ 0 });
	kill.session = id;
	kill.beat = beat;
	killed = case_submit(&kill);
	for (size_t i = 0; i < N; i++) {
		beats[i] = case_operation(OPERATION_SESSION_BEAT,
		    (struct key){ 0 });
		beats[i].session = id;
		beats[i].beat = beat;
		s = case_submit(&beats[i]);
		while (s->kind == 0)
			case_turn();
		case_done(s);
		beat = s->session.beat;
	}
	ck_assert(sqlite_shim_hangs());
	sqlite_shim_hang(false);
	case_wait();
	case_conflict(killed);
	ck_assert_uint_eq(killed->session.beat, beat);
	s = case_done(case_session(OPERATION_SESSION_READ, id, 0));
	ck_assert_uint_eq(s->session.beat, beat);
	(void)test_beats(id, beat, 1);
}

/*
 * A kill on the worker against a beat in the loop, at any moment: one of the
 * two is DONE, never both. Their shared state is under a mutex; a build that
 * watches threads sees it here if it is not.
 */
TEST(test_beat_against_kill)
{
	enum { ROUNDS = 200, READS = 8 };
	struct operation reads[READS];
	struct operation kill, beat;
	struct seen *killed, *beaten;

	for (size_t round = 0; round < ROUNDS; round++) {
		struct ident id = case_ident();

		case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
		kill = case_operation(OPERATION_SESSION_KILL,
		    (struct key){ 0 });
		kill.session = id;
		kill.beat = test_beats(id, 0, 1);
		beat = kill;
		beat.kind = OPERATION_SESSION_BEAT;
		/* So much does the worker do first. */
		for (size_t i = 0; i < round % READS; i++) {
			reads[i] = kill;
			reads[i].kind = OPERATION_SESSION_READ;
			(void)case_submit(&reads[i]);
		}
		killed = case_submit(&kill);
		beaten = case_submit(&beat);
		case_wait();
		if (killed->kind == OUTCOME_DONE)
			case_conflict(beaten);
		else
			case_done(beaten);
		ck_assert(killed->session.dead == beaten->session.dead);
		(void)case_session(OPERATION_SESSION_CLOSE, id, 0);
	}
}

TEST(test_beat_while_full)
{
	struct ident id = case_ident();
	struct seen *s;
	uint64_t beat;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	sqlite_shim_fail_write(SQLITE_FULL);
	beat = test_beats(id, 0, 10);
	s = case_session(OPERATION_SESSION_CLOSE, id, 0);
	ck_assert_int_eq(s->code, DDBLOCK_E_STORE_FULL);
	/* It was meant to end: whether it did, only the file can tell. */
	s = case_session(OPERATION_SESSION_BEAT, id, beat);
	ck_assert_int_eq(s->code, DDBLOCK_E_STORE_FULL);
	sqlite_shim_fail_write(SQLITE_OK);
	s = case_done(case_session(OPERATION_SESSION_BEAT, id, beat));
	beat = test_beats(id, s->session.beat, 10);
	s = case_done(case_session(OPERATION_SESSION_CLOSE, id, 0));
	ck_assert_uint_eq(s->session.beat, beat);
	s = case_conflict(case_session(OPERATION_SESSION_BEAT, id, beat));
	ck_assert(s->session.dead);
}

/* The kill may be on the disk: a beat counts again when it is there, too. */
TEST(test_beat_after_kill_in_doubt)
{
	struct ident id = case_ident();
	unsigned syncs;
	struct seen *s;
	uint64_t beat;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	beat = test_beats(id, 0, 1);
	sqlite_shim_fail_sync(SQLITE_IOERR_FSYNC);
	s = case_session(OPERATION_SESSION_KILL, id, beat);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	s = case_session(OPERATION_SESSION_BEAT, id, beat);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	sqlite_shim_fail_sync(SQLITE_OK);
	syncs = sqlite_shim_syncs();
	s = case_done(case_session(OPERATION_SESSION_BEAT, id, beat));
	ck_assert_uint_gt(sqlite_shim_syncs(), syncs);
	(void)test_beats(id, s->session.beat, 3);
}

/* The loop stood still until no operation waited for the beat any more. */
TEST(test_beat_too_late)
{
	struct ident id = case_ident();
	struct operation o =
	    case_operation(OPERATION_SESSION_BEAT, (struct key){ 0 });
	struct seen *s;
	uint64_t beat;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	beat = test_beats(id, 0, 1);
	o.session = id;
	o.beat = beat;
	o.deadline_ms = clock_boot_ms();
	s = case_submit(&o);
	case_wait();
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	s = case_session(OPERATION_SESSION_READ, id, 0);
	ck_assert_uint_eq(s->session.beat, beat);
}

/* More sessions than there is room for: the others are written. */
TEST(test_beats_of_many)
{
	enum { N = SQLITE_SESSIONS_MAX + 3 };
	struct ident ids[N];
	unsigned syncs;
	struct seen *s;

	for (size_t i = 0; i < N; i++) {
		ids[i] = case_ident();
		case_done(case_session(OPERATION_SESSION_OPEN, ids[i], 0));
	}
	(void)test_beats(ids[SQLITE_SESSIONS_MAX - 1], 0, 1);
	syncs = sqlite_shim_syncs();
	s = case_done(case_session(OPERATION_SESSION_BEAT, ids[N - 1], 0));
	ck_assert_uint_gt(sqlite_shim_syncs(), syncs);
	/* One ends, and its room is for another. */
	case_done(case_session(OPERATION_SESSION_CLOSE, ids[0], 0));
	s = case_session(OPERATION_SESSION_BEAT, ids[N - 1], s->session.beat);
	case_done(s);
	(void)test_beats(ids[N - 1], s->session.beat, 2);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "sqlite_beats",
		.host = "web-1",
		.binary_keys = true,
		.open = sqlite_fixture_open,
		.close = sqlite_fixture_close,
	};

	sqlite_shim_install();
	return conformance_main(&target, false, __FILE__);
}
