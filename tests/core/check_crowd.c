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

int
main(void)
{
	const TTest *const tests[] = {
		test_waiting_hosts_do_not_observe_each_other,
		test_full_table_of_observations,
		test_more_wishes_than_are_read,
		test_dead_wish_for_shared_use,
		NULL,
	};

	return suite_run("crowd", tests);
}
