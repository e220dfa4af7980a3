/*
 * Core and embedded store together on a disk that hangs, or is full, for
 * longer than a lease: no hold is in danger or lost, and no write happens
 * without a request.
 */
#include <event2/event.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"
#include "core/core.h"
#include "ddblock.h"
#include "sqlite_fixture.h"
#include "sqlite_shim.h"
#include "test.h"

#define CLIENT 7

/* Danger comes late, so that a machine that is busy does not cause it. */
static const struct core_namespace lease_namespace = {
	.name = "default",
	.lease_ms = 3000,
	.heartbeat_ms = 100,
	.danger_ms = 2800,
	.margin_ms = 100,
	.drift_ppm = 10000,
	.poll_ms = 100,
	.request_ms = 500,
	.try_ms = 500,
	.audit_ms = 60000,
	.handover_max = 100,
	.sole_writer = true,
	.no_foreign_waiters = true,
	.keeps_idle = true,
	.idle_ms = 1000,
};

static struct event_base *lease_base;
static struct store *lease_store;
static struct core *lease_core;
static struct event *lease_timer;
static unsigned lease_renewals;
static unsigned lease_notices;
static int lease_code;		/* of the last reply; 1: none yet */
static uint64_t lease_hold;

static void
lease_perform(const struct core_update *u)
{
	struct core_action *next;

	for (struct core_action *a = u->actions; a != NULL; a = next) {
		const struct core_reply *r = (const struct core_reply *)a;

		next = a->next;
		switch (a->type) {
		case CORE_NO_ACTION:
			break;
		case CORE_SUBMIT:
			store_submit(lease_store,
			    &((struct core_submit *)a)->operation);
			break;
		case CORE_REPLY:
			lease_code = r->code;
			if (r->code == 0 && r->verb == CORE_ACQUIRE)
				lease_hold = r->hold;
			break;
		case CORE_RENEWED:
			lease_renewals++;
			break;
		case CORE_NOTICE:
			lease_notices++;
			break;
		case CORE_BROKE:
		case CORE_CLOSE:
		case CORE_PARTED:
		case CORE_ROWS:
		case CORE_CHANGED:
		case CORE_HINT:
			break;
		}
	}
}

static void
lease_step(struct core_event *e)
{
	struct core_update u;
	struct timeval wait;
	uint64_t ms;

	e->now_ms = clock_boot_ms();
	ck_assert_int_eq(core_step(lease_core, e, &u), 0);
	lease_perform(&u);
	ms = u.next_ms <= e->now_ms ? 0 : u.next_ms - e->now_ms;
	wait.tv_sec = (time_t)(ms < 1000 ? ms / 1000 : 1);
	wait.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	ck_assert_int_eq(event_add(lease_timer, &wait), 0);
}

static void
lease_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct core_event e = { .type = CORE_TIMER };

	(void)fd;
	(void)what;
	(void)arg;
	lease_step(&e);
}

static void
lease_on_outcome(void *arg, struct operation *o, const struct outcome *outcome)
{
	struct core_event e = {
		.type = CORE_STORED,
		.stored = { .operation = o, .outcome = outcome },
	};

	(void)arg;
	lease_step(&e);
}

static void
lease_setup(void)
{
	static const uint64_t seed[CORE_SEED_WORDS] = { 1, 2, 3, 4 };
	const struct core_config config = {
		.namespaces = &lease_namespace,
		.n_namespaces = 1,
		.limits = {
			.clients_max = 10, .requests_per_client_max = 10,
			.holds_per_client_max = 10,
			.watches_per_client_max = 10, .watches_max = 10,
			.locks_max = 10, .requests_max = 10,
			.observations_max = 10, .in_doubt_max = 10,
			.per_step_max = 10,
		},
		.host = "web-1",
	};

	lease_base = event_base_new();
	ck_assert_ptr_nonnull(lease_base);
	lease_store = sqlite_fixture_open(lease_base, lease_on_outcome, NULL);
	ck_assert_int_eq(core_new(&config, seed, clock_boot_ms(),
	    &lease_core), 0);
	lease_timer = evtimer_new(lease_base, lease_on_timer, NULL);
	ck_assert_ptr_nonnull(lease_timer);
	lease_on_timer(-1, 0, NULL);
}

static void
lease_teardown(void)
{
	sqlite_fixture_close(lease_store);
	core_free(lease_core);
	event_free(lease_timer);
	event_base_free(lease_base);
}

/* Ask, and hear the answer unless the disk hangs. */
static int
lease_ask(enum core_verb verb, const char *key)
{
	struct core_event e = {
		.type = CORE_REQUEST,
		.request = {
			.client = CLIENT,
			.verb = verb,
			.terms.mode = LOCK_MODE_EXCLUSIVE,
			.key = { key, strlen(key) },
			.wait_ms = 10000,
			.hold = lease_hold,
		},
	};
	static uint64_t serial;

	e.request.request = ++serial;
	lease_code = 1;
	lease_step(&e);
	while (lease_code == 1 && !sqlite_shim_hangs())
		ck_assert_int_ge(event_base_loop(lease_base, EVLOOP_ONCE), 0);
	return lease_code;
}

/* Let a lease pass, and then some renewals. */
static void
lease_pass(void)
{
	uint64_t end_ms = clock_boot_ms() + lease_namespace.lease_ms;
	unsigned renewals;

	while (clock_boot_ms() <= end_ms)
		ck_assert_int_ge(event_base_loop(lease_base, EVLOOP_ONCE), 0);
	renewals = lease_renewals;
	while (lease_renewals < renewals + 3)
		ck_assert_int_ge(event_base_loop(lease_base, EVLOOP_ONCE), 0);
	ck_assert_uint_eq(lease_notices, 0);
}

TEST_FIXTURE(lease_setup, lease_teardown)

TEST(test_hang)
{
	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "held"), 0);
	sqlite_shim_hang(true);
	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "other"), 1);
	lease_pass();
	ck_assert(sqlite_shim_hangs());
	sqlite_shim_hang(false);
	while (lease_code == 1)
		ck_assert_int_ge(event_base_loop(lease_base, EVLOOP_ONCE), 0);
	ck_assert_int_eq(lease_code, 0);
	ck_assert_uint_eq(lease_notices, 0);
}

TEST(test_full)
{
	struct core_namespace_view v;

	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "held"), 0);
	sqlite_shim_fail_write(SQLITE_FULL);
	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "other"),
	    DDBLOCK_E_STORE_FULL);
	lease_pass();
	/* That beats go on does not mean that the disk does. */
	core_view_namespace(lease_core, 0, clock_boot_ms(), &v);
	ck_assert(v.open && !v.danger);
	ck_assert_int_eq(v.cause, DDBLOCK_E_STORE_FULL);
	sqlite_shim_fail_write(SQLITE_OK);
	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "other"), 0);
	core_view_namespace(lease_core, 0, clock_boot_ms(), &v);
	ck_assert_int_eq(v.cause, 0);
}

/* Holding costs no write, and there is no other write without a request. */
TEST(test_idle)
{
	struct store_status status;
	uint64_t requests;
	unsigned syncs;

	ck_assert_int_eq(lease_ask(CORE_ACQUIRE, "held"), 0);
	syncs = sqlite_shim_syncs();
	store_view_status(lease_store, &status);
	requests = status.requests;
	lease_pass();
	ck_assert_uint_eq(sqlite_shim_syncs(), syncs);
	store_view_status(lease_store, &status);
	ck_assert_uint_eq(status.requests, requests);
}

int
main(void)
{
	sqlite_shim_install();
	return test_main(__FILE__);
}
