/*
 * A lock in two records (a bridge): what is told is a token that neither record
 * is below, whatever becomes of the write that sees to it.
 */
#include "level_world.h"
#include "suite.h"

#include "ddblock.h"

#define BIG "18014398509481984"

/* The lower record is raised to the greater one; equal ones cost nothing. */
static const struct {
	uint64_t old, native, told;
	unsigned old_raises, native_raises;
} levels[] = {
	{ 6, 6, 7, 0, 0 },
	{ 6, 1000, 1001, 1, 0 },
	{ 1000, 6, 1001, 0, 1 },
	{ 6, TOKEN_MAX - 1, TOKEN_MAX, 1, 0 },
	{ TOKEN_MAX - 1, 6, TOKEN_MAX, 0, 1 },
};

START_TEST(test_level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		world_begin(levels[i].old, levels[i].native);
		world_acquire(1, 0);
		ck_assert_int_eq(w.code, 0);
		ck_assert_uint_eq(w.token, levels[i].told);
		ck_assert_uint_eq(w.rows[OLD][0].token, levels[i].told);
		ck_assert_uint_eq(w.rows[NATIVE][0].token, levels[i].told);
		ck_assert_uint_eq(world_raises(OLD), levels[i].old_raises);
		ck_assert_uint_eq(world_raises(NATIVE),
		    levels[i].native_raises);
		world_release(1);
		world_expect_free();
		world_end();
	}
}
END_TEST

/* From one client here to the next: each above the one before, in step. */
START_TEST(test_handed_over)
{
	uint64_t last = 0;

	world_begin(6, 1000);
	world_acquire(1, 0);
	for (uint64_t client = 2; client < 6; client++) {
		ck_assert_uint_gt(w.token, last);
		last = w.token;
		world_acquire(client, 60000);
		ck_assert_uint_eq(w.replies, client - 1);
		world_release(client - 1);
		world_run(3000);
		ck_assert_uint_eq(w.replies, client);
		ck_assert_int_eq(w.code, 0);
	}
	/* One for each that is handed on, and one for the first of all. */
	ck_assert_uint_eq(world_raises(OLD), 5);
	ck_assert_uint_eq(world_raises(NATIVE), 0);
	world_release(5);
	world_expect_free();
	world_end();
}
END_TEST

START_TEST(test_several_keys)
{
	const struct key keys[KEYS] = { key_text("a"), key_text("b") };
	struct core_request ask = { .client = 1, .verb = CORE_ACQUIRE,
		.keys = keys, .n_keys = KEYS, .wait_ms = 10000,
		.terms.mode = LOCK_MODE_EXCLUSIVE };

	world_begin(6, 1000);
	w.rows[OLD][1].token = 2000;
	w.fate[OLD][OPERATION_EXTEND] = FATE_KEEP;
	world_ask(&ask);
	/* The one is raised beside the other, and both are waited for. */
	ck_assert_uint_eq(w.rows[NATIVE][1].token, 2001);
	ck_assert_uint_eq(w.replies, 0);
	world_land(FATE_DONE);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_int_eq(w.code, 0);
	ck_assert_uint_eq(w.told[0], 1001);
	ck_assert_uint_eq(w.told[1], 2001);
	world_leave(1);
	world_expect_free();
	world_end();
}
END_TEST

/* Its answer is lost: it is asked again, until it is known. */
START_TEST(test_lost_answers)
{
	static const enum fate fates[] = { FATE_UNKNOWN, FATE_LOST,
		FATE_CONFLICT };

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < 3; i++) {
			world_begin(side == OLD ? 6 : 1000,
			    side == OLD ? 1000 : 6);
			w.fate[side][OPERATION_EXTEND] = fates[i];
			world_acquire(1, 60000);
			ck_assert_uint_eq(w.replies, 0);
			world_run(5000);
			ck_assert_uint_eq(w.replies, 1);
			ck_assert_int_eq(w.code, 0);
			ck_assert_uint_eq(w.token, 1001);
			ck_assert_uint_eq(w.rows[side][0].token, 1001);
			world_release(1);
			world_expect_free();
			world_end();
		}
	}
}
END_TEST

/* A try is told why; and then nothing is kept. */
START_TEST(test_try_fails)
{
	world_begin(6, 1000);
	w.fate[OLD][OPERATION_EXTEND] = FATE_LOST;
	world_acquire(1, 0);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_int_eq(w.code, DDBLOCK_E_UNREACHABLE);
	world_expect_free();
	world_end();
}
END_TEST

START_TEST(test_refused)
{
	for (int side = 0; side < SIDES; side++) {
		world_begin(side == OLD ? 6 : 1000, side == OLD ? 1000 : 6);
		w.fate[side][OPERATION_EXTEND] = FATE_REFUSED;
		world_acquire(1, CORE_FOREVER);
		ck_assert_uint_eq(w.replies, 1);
		ck_assert_int_eq(w.code, DDBLOCK_E_BAD_RECORD);
		ck_assert_str_eq(w.text, "what is there");
		world_expect_free();
		world_end();
	}
}
END_TEST

/* Whoever goes while it is under way leaves nothing; what was raised is above
 * all that was told, and so is whoever comes next. */
START_TEST(test_given_up)
{
	for (int way = 0; way < 3; way++) {
		struct core_request cancel = { .client = 1,
			.verb = CORE_CANCEL, .target = 1 };

		world_begin(6, 1000);
		w.fate[OLD][OPERATION_EXTEND] = FATE_KEEP;
		world_acquire(1, 500);
		ck_assert_uint_eq(w.replies, 0);
		if (way == 0)
			world_leave(1);
		else if (way == 1)
			world_ask(&cancel);
		else
			world_run(5000);
		ck_assert_uint_eq(w.replies, way == 0 ? 0 : 1);
		ck_assert(way == 0 || w.code == (way == 1 ?
		    DDBLOCK_E_CANCELLED : DDBLOCK_E_ACQUIRE_TIMEOUT));
		ck_assert(w.rows[OLD][0].held);
		world_land(FATE_DONE);
		world_expect_free();
		world_acquire(2, 0);
		ck_assert_int_eq(w.code, 0);
		ck_assert_uint_gt(w.token, 1001);
		world_end();
	}
}
END_TEST

/* Who only listens any more gets it, for it is known that it will come. */
START_TEST(test_listening)
{
	struct core_event drain = { .type = CORE_DRAIN, .client = 1 };

	world_begin(6, 1000);
	w.fate[OLD][OPERATION_EXTEND] = FATE_KEEP;
	world_acquire(1, 60000);
	world_event(&drain);
	ck_assert_uint_eq(w.replies, 0);
	world_land(FATE_DONE);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_int_eq(w.code, 0);
	world_leave(1);
	world_expect_free();
	world_end();
}
END_TEST

/* Our session ends meanwhile: it is asked for under the next. */
START_TEST(test_session_lost)
{
	world_begin(6, 1000);
	w.always = true;
	w.fate[OLD][OPERATION_EXTEND] = FATE_LOST;
	w.fate[NATIVE][OPERATION_SESSION_BEAT] = FATE_LOST;
	world_acquire(1, CORE_FOREVER);
	world_run(60000);
	ck_assert_uint_eq(w.replies, 0);
	ck_assert_uint_gt(w.count[NATIVE][OPERATION_SESSION_OPEN], 1);
	w.fate[OLD][OPERATION_EXTEND] = FATE_DONE;
	w.fate[NATIVE][OPERATION_SESSION_BEAT] = FATE_DONE;
	world_run(60000);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_int_eq(w.code, 0);
	world_release(1);
	world_expect_free();
	world_end();
}
END_TEST

/* Somebody takes the record meanwhile: all begins anew, and nothing is told of
 * what is gone. */
START_TEST(test_lost_meanwhile)
{
	world_begin(6, 1000);
	w.fate[OLD][OPERATION_EXTEND] = FATE_KEEP;
	world_acquire(1, 60000);
	w.rows[OLD][0].held = false;
	w.rows[OLD][0].token = 5000;
	world_land(FATE_CONFLICT);
	world_run(5000);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_int_eq(w.code, 0);
	ck_assert_uint_eq(w.token, 5001);
	ck_assert_uint_eq(w.losses, 0);
	world_release(1);
	world_expect_free();
	world_end();
}
END_TEST

/* For as long as what is kept is good; and then it begins anew, above what may
 * have been written. */
START_TEST(test_takes_long)
{
	world_begin(6, 1000);
	w.always = true;
	w.fate[OLD][OPERATION_EXTEND] = FATE_LOST;
	world_acquire(1, CORE_FOREVER);
	world_run(15000);
	ck_assert_uint_eq(w.replies, 0);
	ck_assert_uint_gt(world_raises(OLD), 10);
	ck_assert_uint_eq(w.count[OLD][OPERATION_ACQUIRE], 1);
	ck_assert(w.rows[OLD][0].held && w.rows[NATIVE][0].held);
	world_run(45000);
	ck_assert_uint_eq(w.replies, 0);
	ck_assert_uint_gt(w.count[OLD][OPERATION_ACQUIRE], 1);
	w.fate[OLD][OPERATION_EXTEND] = FATE_DONE;
	world_run(10000);
	ck_assert_uint_eq(w.replies, 1);
	ck_assert_uint_gt(w.token, 1001);
	ck_assert_uint_eq(w.losses, 0);
	world_release(1);
	world_expect_free();
	world_end();
}
END_TEST

/* No number has room for the old one: it is the greater, as it is. */
START_TEST(test_text)
{
	struct core_hold_view view;

	world_begin(TOKEN_MAX - 1, 1000);
	w.rows[OLD][0].token_text = BIG;
	world_acquire(1, 0);
	ck_assert_int_eq(w.code, 0);
	ck_assert_str_eq(w.token_text, BIG);
	ck_assert_uint_eq(world_raises(OLD) + world_raises(NATIVE), 0);
	ck_assert_uint_eq(w.rows[NATIVE][0].token, 1001);
	ck_assert(core_view_hold(w.core, w.hold, w.now_ms, &view));
	ck_assert_str_eq(view.token_text, BIG);
	world_release(1);
	world_expect_free();
	world_end();
}
END_TEST

/* Of the old record alone: an extension whose answer is lost is read before the
 * next, which must know the token in full. */
START_TEST(test_text_of_lost_answer)
{
	world_begin(TOKEN_MAX - 1, 1000);
	w.rows[OLD][0].token_text = BIG;
	world_acquire_in(OLD, 1, 0);
	world_acquire_in(OLD, 2, 60000);
	w.fate[OLD][OPERATION_EXTEND] = FATE_LOST;
	world_release(1);
	world_run(5000);
	ck_assert_uint_eq(w.replies, 2);
	ck_assert_int_eq(w.code, 0);
	ck_assert_str_eq(w.token_text, BIG);
	world_release(2);
	world_expect_free();
	world_end();
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_level,
		test_handed_over,
		test_several_keys,
		test_lost_answers,
		test_try_fails,
		test_refused,
		test_given_up,
		test_listening,
		test_session_lost,
		test_lost_meanwhile,
		test_takes_long,
		test_text,
		test_text_of_lost_answer,
		NULL,
	};

	return suite_run("level", tests);
}
