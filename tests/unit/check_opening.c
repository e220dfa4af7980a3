/*
 * When a session is opened again that could not be opened: soon after an
 * outage, and in no case later than a heartbeat.
 *
 * The store is a few lines that never open one.
 */
#include "core/state.h"
#include "core_fixture.h"
#include "ddblock.h"
#include "test.h"

#define ASKED_MS 1000
#define TIMES 20
#define ALMOST_MS 10	/* before its deadline, an operation is given up */

static struct core_update update;

static struct core *
opening_core(void)
{
	const struct core_limits limits = {
		.clients_max = 1, .requests_per_client_max = 1,
		.holds_per_client_max = 1, .watches_per_client_max = 1,
		.watches_max = 1, .locks_max = 1, .requests_max = 1,
		.observations_max = 1, .in_doubt_max = 1,
		.per_step_max = 10,
	};

	return core_fixture_new(&core_fixture, &limits, ASKED_MS);
}

/* The next that is submitted, and when. */
static struct operation *
opening_next(struct core *core, uint64_t *ret_ms)
{
	struct operation *o;

	do {
		const struct core_event timer = { .type = CORE_TIMER,
			.now_ms = *ret_ms };

		ck_assert_int_ge(core_step(core, &timer, &update), 0);
		if (update.actions == NULL)
			*ret_ms = update.next_ms;
	} while (update.actions == NULL);
	ck_assert_int_eq(update.actions->type, CORE_SUBMIT);
	o = &CONTAINER_OF((uintptr_t)update.actions, struct core_submit,
	    action)->operation;
	ck_assert_int_eq(o->kind, OPERATION_SESSION_OPEN);
	return o;
}

/* It ends so. */
static void
opening_end(struct core *core, struct operation *o, int code, uint64_t now_ms)
{
	struct outcome outcome = { .kind = OUTCOME_REFUSED, .code = code };
	const struct core_event stored = { .type = CORE_STORED,
		.now_ms = now_ms, .stored = { o, &outcome } };

	ck_assert_int_ge(core_step(core, &stored, &update), 0);
}

/* Silence does not show when an outage ends: a try that nobody answered has
 * lasted as long as it may, and the next comes at once, as it were. */
TEST(test_soon_after_silence)
{
	struct core *core = opening_core();
	uint64_t now_ms = ASKED_MS;
	struct operation *o = opening_next(core, &now_ms);

	for (int i = 0; i < TIMES; i++) {
		const uint64_t ended_ms = o->deadline_ms - ALMOST_MS;

		opening_end(core, o, i % 2 == 0 ? DDBLOCK_E_UNREACHABLE :
		    DDBLOCK_E_THROTTLED, ended_ms);
		now_ms = ended_ms;
		o = opening_next(core, &now_ms);
		ck_assert_uint_gt(now_ms, ended_ms);
		ck_assert_uint_le(now_ms,
		    ended_ms + core_fixture.heartbeat_ms / 4);
	}
	core_free(core);
}

/* What was refused will be refused again, until somebody has changed
 * something: later each time, but as often as a host renews on any day. */
TEST(test_later_after_a_refusal)
{
	struct core *core = opening_core();
	uint64_t now_ms = ASKED_MS, pause_ms = 0;
	struct operation *o = opening_next(core, &now_ms);

	for (int i = 0; i < TIMES; i++) {
		const uint64_t ended_ms = now_ms;

		opening_end(core, o, DDBLOCK_E_ACCESS_DENIED, ended_ms);
		o = opening_next(core, &now_ms);
		pause_ms = now_ms - ended_ms;
		ck_assert_uint_gt(pause_ms, 0);
		ck_assert_uint_le(pause_ms,
		    i == 0 ? RETRY_MS : core_fixture.heartbeat_ms);
	}
	ck_assert_uint_gt(pause_ms, core_fixture.heartbeat_ms / 2);
	core_free(core);
}
