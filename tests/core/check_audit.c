/*
 * Held locks are re-read: what was deleted or broken by hand is noticed, and
 * nothing else is.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>

#include "ddblock.h"

static struct driver *
audit_new(unsigned n_hosts)
{
	struct driver *d = driver_new_started(n_hosts);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_skip(d);
	return d;
}

START_TEST(test_deleted_lock_is_stolen)
{
	struct driver *d = audit_new(1);

	model_delete_lock(&d->net.store, 0, "jobs/x");
	driver_run_until(d, 61000);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[ 60000] A > read-many 1\n"
	    "[ 60010] A < read-many 1 done\n"
	    "[ 60010] A c1 lost jobs/x stolen\n");
	/* Releasing what was lost says so. */
	driver_release(d, 1, "jobs/x");
	driver_expect(d, TRACE_REPLY,
	    "[ 61000] A c1 release jobs/x: LOCK_LOST\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_broken_lock)
{
	struct driver *d = audit_new(1);

	model_break_lock(&d->net.store, 0, "jobs/x", "root");
	driver_run_until(d, 61000);
	driver_expect(d, TRACE_TOLD,
	    "[ 60010] A c1 lost jobs/x broken\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The next in line asks the store, with the token above the old ones. */
START_TEST(test_queue_goes_on_after_a_break)
{
	struct driver *d = audit_new(1);

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	model_break_lock(&d->net.store, 0, "jobs/x", "root");
	driver_skip(d);
	driver_run_until(d, 62000);
	driver_expect(d, TRACE_TOLD,
	    "[ 60010] A c1 lost jobs/x broken\n"
	    "[ 60030] A c2 grant jobs/x +101 remaining *\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Taken by hand and given to another: stolen, and left alone. */
START_TEST(test_another_holder)
{
	struct driver *d = audit_new(1);
	struct model_lock *l = driver_lock(d, "jobs/x");
	struct model_session *m;

	m = model_plant_session(&d->net.store, "X1", 20000);
	l->holders[0].session = m->ident;
	l->holders[0].grant.low ^= 1;
	l->tampered = true;
	driver_run_until(d, 61000);
	driver_expect(d, TRACE_TOLD,
	    "[ 60010] A c1 lost jobs/x stolen\n");
	driver_check(d, l->n_holders == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* What the store left unprocessed is not absent. */
START_TEST(test_unprocessed_is_not_absent)
{
	struct driver *d = audit_new(1);
	struct fault fault = { .host = A, .kind = OPERATION_READ_MANY,
		.count = 2, .fault = FAULT_UNPROCESSED, .ms = 1 };

	net_add_fault(&d->net, &fault);
	driver_run_until(d, 200000);
	driver_expect(d, TRACE_TOLD, "");
	driver_check(d, driver_count(d, A, OPERATION_READ_MANY) == 3);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/*
 * The row was read while the lock was free, and arrives when the same client
 * holds it again: it is not about this hold.
 */
START_TEST(test_stale_row)
{
	struct driver *d = audit_new(1);

	driver_run_until(d, 59999);
	d->net.attempt_ms = 4000;
	d->net.hosts[A].latency_ms = 1000;
	driver_run_until(d, 60000);
	d->net.hosts[A].latency_ms = 5;
	driver_run_until(d, 60900);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 61100);
	driver_try(d, 1, "jobs/x");
	driver_skip(d);
	driver_run_until(d, 63000);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[ 61110] A < acquire jobs/x done\n"
	    "[ 61110] A c1 grant jobs/x +101 remaining *\n"
	    "[ 62000] A < read-many 1 done\n");
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* As before, but the row is of the time when it was already held again, by
 * hand-over under the same grant: true, and good. */
START_TEST(test_row_of_a_handed_over_lock)
{
	struct driver *d = audit_new(1);

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 59990);
	driver_fault(d, A, OPERATION_READ_MANY, FAULT_DELAY_ANSWER, 3000);
	driver_run_until(d, 60900);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 70000);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* In batches, and at most 100 items a second. */
START_TEST(test_batches)
{
	struct driver *d = driver_new(1, 1);
	unsigned i, rounds;

	driver_start(d);
	(void)driver_connect(d, A);
	for (i = 0; i < 350; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "key/%u", i);
		driver_try(d, 1, key);
		if (i % 50 == 49)
			driver_run(d, 100);
	}
	driver_run_until(d, 59000);
	driver_skip(d);
	driver_run_until(d, 119000);
	driver_expect(d, TRACE_STORE,
	    "[ 60000] A > read-many 100\n"
	    "[ 60010] A < read-many 100 done\n"
	    "[ 61010] A > read-many 100\n"
	    "[ 61020] A < read-many 100 done\n"
	    "[ 62020] A > read-many 100\n"
	    "[ 62030] A < read-many 100 done\n"
	    "[ 63030] A > read-many 50\n"
	    "[ 63040] A < read-many 50 done\n");
	rounds = driver_count(d, A, OPERATION_READ_MANY);
	driver_run_until(d, 179000);
	driver_check(d, driver_count(d, A, OPERATION_READ_MANY) == rounds + 4);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A minute of holding many locks costs one write per heartbeat. */
START_TEST(test_cost_at_rest)
{
	struct driver *d = driver_new(1, 1);
	unsigned i, beats;

	driver_start(d);
	(void)driver_connect(d, A);
	for (i = 0; i < 300; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "key/%u", i);
		driver_try(d, 1, key);
		if (i % 50 == 49)
			driver_run(d, 100);
	}
	driver_run_until(d, 5000 + 100);
	driver_skip(d);
	beats = driver_count(d, A, OPERATION_SESSION_BEAT);
	driver_run(d, 60000);
	driver_check(d,
	    driver_count(d, A, OPERATION_SESSION_BEAT) - beats == 12);
	driver_check(d, trace_count(&d->trace, d->mark, "*> *") == 12 + 3);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_deleted_lock_is_stolen,
		test_broken_lock,
		test_queue_goes_on_after_a_break,
		test_another_holder,
		test_unprocessed_is_not_absent,
		test_stale_row,
		test_row_of_a_handed_over_lock,
		test_batches,
		test_cost_at_rest,
		NULL,
	};

	return suite_run("audit", tests);
}
