/*
 * A user may have a thousand connections that linger, or would, and half of all
 * connections that come back after a cut; beyond that these are granted without
 * it. Each user's are counted separately, and connections that have left do not
 * count.
 *
 * No store: all of them wait for the session, which is never opened.
 */
#include "core/core.h"
#include "core_fixture.h"
#include "ddblock.h"
#include "test.h"

#define LINGERING_MAX 1000
#define RESUMING_MAX 1010	/* half of the clients */

static int
limit_step(struct core *core, struct core_event *event)
{
	struct core_update update;

	event->now_ms = 1000;
	return core_step(core, event, &update);
}

static int
limit_ask_for(struct core *core, uint64_t client, uint32_t user,
    const struct core_terms *terms)
{
	const struct core_secret secret = { .clear = { client, 1 } };
	struct core_event event = { .type = CORE_REQUEST, .request = {
		.client = client, .request = 1, .verb = CORE_ACQUIRE,
		.key = { "x", 1 }, .wait_ms = CORE_FOREVER, .terms = *terms,
		.user = user, .secret = &secret } };

	return limit_step(core, &event);
}

static int
limit_ask(struct core *core, uint64_t client, uint32_t user)
{
	return limit_ask_for(core, client, user, &(struct core_terms){
	    .mode = LOCK_MODE_EXCLUSIVE, .linger_ms = 1000 });
}

/* It would come back: is it promised that it may? */
static bool
limit_resumes(struct core *core, uint64_t client, uint32_t user)
{
	struct core_waiter_view waiter, last = { 0 };

	ck_assert_int_eq(limit_ask_for(core, client, user,
	    &(struct core_terms){ .mode = LOCK_MODE_EXCLUSIVE,
	    .resumes = true }), 0);
	while (core_next_waiter(core, last.serial, 1000, &waiter))
		last = waiter;
	ck_assert_uint_eq(last.client, client);
	return last.terms.resumes;
}

static void
limit_leave(struct core *core, uint64_t client)
{
	struct core_event event = { .type = CORE_GONE, .client = client };

	ck_assert_int_eq(limit_step(core, &event), 0);
}

static struct core *
limit_core(void)
{
	const struct core_limits limits = {
		.clients_max = 2 * RESUMING_MAX,
		.requests_per_client_max = 10,
		.holds_per_client_max = 10, .watches_per_client_max = 10,
		.watches_max = 10, .locks_max = 10, .requests_max = 5000,
		.observations_max = 10, .in_doubt_max = 10,
		.per_step_max = 10,
	};

	return core_fixture_new(&core_fixture, &limits, 1000);
}

TEST(test_connections_that_come_back)
{
	struct core *core = limit_core();

	for (uint64_t i = 1; i <= RESUMING_MAX; i++)
		ck_assert(limit_resumes(core, i, 7));
	ck_assert(!limit_resumes(core, 3000, 7));
	ck_assert(limit_resumes(core, 3001, 8));
	/* They are no reason to refuse one that lingers. */
	ck_assert_int_eq(limit_ask(core, 3002, 7), 0);
	limit_leave(core, 500);
	limit_leave(core, 501);
	ck_assert(limit_resumes(core, 3003, 7));
	ck_assert(!limit_resumes(core, 3004, 7));
	core_free(core);
}

TEST(test_connections_that_linger)
{
	struct core *core = limit_core();

	for (uint64_t i = 1; i <= LINGERING_MAX; i++)
		ck_assert_int_eq(limit_ask(core, i, 7), 0);
	ck_assert_int_eq(limit_ask(core, 3000, 7), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(limit_ask(core, 3001, 8), 0);
	limit_leave(core, 500);
	ck_assert_int_eq(limit_ask(core, 3002, 7), 0);
	ck_assert_int_eq(limit_ask(core, 3003, 7), DDBLOCK_E_LIMIT);
	core_free(core);
}
