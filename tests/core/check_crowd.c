/*
 * Many at once: what each of them costs the others, and tables that are full.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>

#include "ddblock.h"

/* One poller per host, and one observer of the holder: those who wait do not
 * look at each other's sessions. */
START_TEST(test_waiting_hosts_do_not_observe_each_other)
{
	struct driver *d = driver_new(1, 4);
	unsigned host;

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	for (host = B; host <= D; host++)
		driver_acquire(d, driver_connect(d, host), "jobs/x",
		    DRIVER_FOREVER);
	driver_run_until(d, 120000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 3);
	driver_check(d, trace_count(&d->trace, 0, "*B > look A1") > 0);
	driver_check(d, trace_count(&d->trace, 0, "*B > look C1") == 0);
	driver_check(d, trace_count(&d->trace, 0, "*B > look D1") == 0);
	driver_check(d, trace_count(&d->trace, 0, "*C > look B1") == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* There is room for one foreign session only, and it is the holder's: a dead
 * host's lock is taken as soon as ever. */
static void
crowd_full_table(uint64_t seed)
{
	struct driver *d = driver_new(seed, 4);
	unsigned host;

	d->limits.observations_max = 1;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	for (host = B; host <= D; host++)
		driver_acquire(d, driver_connect(d, host), "jobs/x",
		    DRIVER_FOREVER);
	driver_run_until(d, 7000);
	driver_kill(d, A);
	driver_run_until(d, 7000 + 20200 + 1100);
	driver_check(d, driver_holds(d, 2, "jobs/x") ||
	    driver_holds(d, 3, "jobs/x") || driver_holds(d, 4, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}

START_TEST(test_full_table_of_observations)
{
	uint64_t seed;

	for (seed = 1; seed <= 10; seed++)
		crowd_full_table(seed);
}
END_TEST

/* More wishes than a record's reader keeps: its own is not among them, and it
 * does not write it again and again. */
START_TEST(test_more_wishes_than_are_read)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	d->net.store.wishes_shown = 0;
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 12000);
	driver_check(d, driver_count(d, B, OPERATION_WANT) <= 12);
	d->net.store.wishes_shown = MODEL_WISHES_MAX;
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Somebody who wanted shared use is dead, which is known from the first lock:
 * the second is rid of that wish at once. */
START_TEST(test_dead_wish_for_shared_use)
{
	static const char *const keys[] = { "jobs/x", "jobs/y" };
	struct driver *d = driver_new(1, 1);
	struct model_session *m;
	unsigned i;

	driver_start(d);
	m = model_plant_session(&d->net.store, "X1", 20000);
	m->dead = true;
	for (i = 0; i < 2; i++) {
		struct model_lock *l =
		    model_make_lock(&d->net.store, 0, keys[i]);

		l->exists = true;
		l->shared_wishes[0] = m->ident;
		l->n_shared_wishes = 1;
		driver_try(d, driver_connect(d, A), keys[i]);
		driver_run(d, 1000);
		driver_check(d, driver_holds(d, i + 1, keys[i]));
	}
	driver_check(d, trace_count(&d->trace, 0, "*A > look X1") == 1);
	driver_check(d, driver_count(d, A, OPERATION_UNWANT) == 1);
	driver_check(d, driver_lock(d, "jobs/y")->n_shared_wishes == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The core as it is, without the driver: the answers do not matter. */
static int
crowd_ask_lingering(struct driver *d, uint64_t client, uint64_t user)
{
	struct core_event event = {
		.type = CORE_REQUEST,
		.now_ms = net_boot_ms(&d->net, A, d->now),
		.request = {
			.client = client, .request = 1, .verb = CORE_ACQUIRE,
			.key = { "jobs/x", 6 }, .wait_ms = CORE_FOREVER,
			.terms = { .mode = LOCK_MODE_EXCLUSIVE,
			    .linger_ms = 1000 },
			.user = user, .secret = { client, 1 },
		},
	};
	struct core_update update;

	return core_step(d->hosts[A].core, &event, &update);
}

static void
crowd_leave(struct driver *d, uint64_t client)
{
	struct core_event event = {
		.type = CORE_GONE,
		.now_ms = net_boot_ms(&d->net, A, d->now),
		.client = client,
	};
	struct core_update update;

	driver_check(d, core_step(d->hosts[A].core, &event, &update) == 0);
}

/* A user may have 1,000 connections that linger, or would. Each user's are
 * counted by themselves, and who has left counts no more. */
START_TEST(test_connections_that_linger)
{
	struct driver *d = driver_new(1, 1);

	d->limits.clients_max = 2000;
	d->limits.requests_max = 2000;
	driver_start(d);
	driver_acquire(d, driver_connect(d, A), "jobs/x", 0);
	driver_run_until(d, 1100);
	for (uint64_t i = 1; i <= 1000; i++)
		driver_check(d, crowd_ask_lingering(d, 1000 + i, 7) == 0);
	driver_check(d, crowd_ask_lingering(d, 3000, 7) == DDBLOCK_E_LIMIT);
	driver_check(d, crowd_ask_lingering(d, 3001, 8) == 0);
	crowd_leave(d, 1500);
	driver_check(d, crowd_ask_lingering(d, 3002, 7) == 0);
	driver_check(d, crowd_ask_lingering(d, 3003, 7) == DDBLOCK_E_LIMIT);
	for (uint64_t i = 1; i <= 1000; i++)
		crowd_leave(d, 1000 + i);
	crowd_leave(d, 3001);
	crowd_leave(d, 3002);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_waiting_hosts_do_not_observe_each_other,
		test_full_table_of_observations,
		test_more_wishes_than_are_read,
		test_dead_wish_for_shared_use,
		test_connections_that_linger,
		NULL,
	};

	return suite_run("crowd", tests);
}
