/*
 * From one local client to the next without the store, and yet fair to other
 * hosts, whose wishes are in the record.
 */
#include "driver.h"
#include "suite.h"

#include "ddblock.h"

static unsigned
handover_writes(const struct driver *d, unsigned host)
{
	return driver_count(d, host, OPERATION_ACQUIRE) +
	    driver_count(d, host, OPERATION_RELEASE) +
	    driver_count(d, host, OPERATION_EXTEND);
}

/* @n clients of @host queue up for jobs/x; the numbers begin at the result. */
static unsigned
handover_queue(struct driver *d, unsigned host, unsigned n)
{
	unsigned first = d->n_clients + 1;

	while (n-- > 0)
		driver_acquire(d, driver_connect(d, host), "jobs/x",
		    DRIVER_FOREVER);
	return first;
}

/* Each of the @n clients from @first on holds jobs/x for @ms and releases it,
 * as long as it is granted at once. How many were? */
static unsigned
handover_run(struct driver *d, unsigned first, unsigned n, uint64_t ms)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!driver_holds(d, first + i, "jobs/x"))
			break;
		driver_run(d, ms);
		driver_release(d, first + i, "jobs/x");
	}
	return i;
}

START_TEST(test_without_the_store)
{
	struct driver *d = driver_new(1, 1);
	unsigned first;

	driver_start(d);
	first = handover_queue(d, A, 50);
	driver_run_until(d, 2000);
	driver_check(d, handover_run(d, first, 50, 10) == 50);
	driver_run(d, 100);
	/* One acquire, which wrote the block of tokens, and one release. */
	driver_check(d, handover_writes(d, A) == 2);
	driver_check(d, driver_count(d, A, OPERATION_READ) == 0);
	driver_check(d, driver_hold(d, first + 49, "jobs/x")->token ==
	    driver_lock(d, "jobs/x")->base + 50);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/*
 * Somebody has set the token so high that there is no second block: the first
 * one is used up, and then everybody is told, also who comes later. Other
 * locks are as ever.
 */
START_TEST(test_tokens_come_to_an_end)
{
	struct driver *d = driver_new(1, 1);
	struct model_lock *l;
	unsigned first;

	d->namespaces[0].handover_max = 4;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	l = driver_lock(d, "jobs/x");
	l->base = l->token = TOKEN_MAX - 6;
	driver_skip(d);
	first = handover_queue(d, A, 6);
	driver_run(d, 100);
	driver_check(d, handover_run(d, first, 6, 10) == 4);
	driver_try(d, driver_connect(d, A), "jobs/y");
	driver_run(d, 1000);
	driver_try(d, 1, "jobs/x");
	driver_run(d, 3000);
	driver_expect(d, TRACE_TOLD,
	    "[  3010] A c2 grant jobs/x +1 remaining 15990\n"
	    "[  3110] A c3 grant jobs/x +2 remaining 15890\n"
	    "[  3110] A c2 release jobs/x: OK\n"
	    "[  3120] A c4 grant jobs/x +3 remaining 15880\n"
	    "[  3120] A c3 release jobs/x: OK\n"
	    "[  3130] A c5 grant jobs/x +4 remaining 15870\n"
	    "[  3130] A c4 release jobs/x: OK\n"
	    "[  3140] A c5 release jobs/x: OK\n"
	    "[  3150] A c8 grant jobs/y +1 remaining 15850\n"
	    "[  4073] A c6 acquire jobs/x: BAD_RECORD\n"
	    "[  4073] A c7 acquire jobs/x: BAD_RECORD\n"
	    "[  5043] A c1 acquire jobs/x: BAD_RECORD\n");
	driver_check(d, l->token == TOKEN_MAX - 2 && l->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The next block of tokens is written before the first is used up. */
START_TEST(test_more_tokens_beforehand)
{
	struct driver *d = driver_new(1, 1);
	unsigned first;

	d->namespaces[0].handover_max = 8;
	driver_start(d);
	first = handover_queue(d, A, 60);
	driver_run_until(d, 2000);
	driver_check(d, handover_run(d, first, 60, 50) == 60);
	driver_run(d, 100);
	driver_check(d, driver_count(d, A, OPERATION_ACQUIRE) == 1);
	driver_check(d, driver_count(d, A, OPERATION_RELEASE) == 1);
	driver_check(d, driver_count(d, A, OPERATION_EXTEND) >= 6);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/*
 * Three grants in a row while B wishes: then the lock goes to B, and A's queue
 * stands back for two poll periods.
 */
START_TEST(test_run_ends_for_a_foreign_wish)
{
	struct driver *d = driver_new(1, 2);
	unsigned first, b;

	d->namespaces[0].handover_max = 3;
	driver_start(d);
	first = handover_queue(d, A, 8);
	driver_run_until(d, 1500);
	b = handover_queue(d, B, 1);
	driver_run_until(d, 2000);
	driver_check(d, handover_run(d, first, 8, 20) == 3);
	driver_run(d, 1100);
	driver_check(d, driver_holds(d, b, "jobs/x"));
	driver_release(d, b, "jobs/x");
	driver_run(d, 2100);
	driver_check(d, driver_holds(d, first + 3, "jobs/x"));
	/* B is content, so now the run goes on. */
	driver_check(d, handover_run(d, first + 3, 5, 50) == 5);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Standing back: not before two poll periods, even if B does not come. */
START_TEST(test_standing_back)
{
	struct driver *d = driver_new(1, 2);
	unsigned first, next, b;
	uint64_t released;

	d->namespaces[0].handover_max = 1;
	driver_start(d);
	first = handover_queue(d, A, 4);
	driver_run_until(d, 1500);
	b = handover_queue(d, B, 1);
	driver_run_until(d, 2000);
	/* B stops polling for a while. The tokens for the second grant were
	 * written before it wished, so it is still in the run. */
	driver_pause(d, B, 10000);
	driver_check(d, handover_run(d, first, 4, 50) == 2);
	next = first + 2;
	released = d->now;
	driver_run_until(d, released + 1999);
	driver_check(d, !driver_holds(d, next, "jobs/x"));
	driver_run_until(d, released + 2100);
	driver_check(d, driver_holds(d, next, "jobs/x"));
	driver_run_until(d, 13000);
	driver_release(d, next, "jobs/x");
	driver_run(d, 1100);
	driver_check(d, driver_holds(d, b, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A run ends after one lease, too, however few its grants. */
START_TEST(test_run_ends_after_a_lease)
{
	struct driver *d = driver_new(1, 2);
	unsigned first, b, n;

	driver_start(d);
	first = handover_queue(d, A, 50);
	b = handover_queue(d, B, 1);
	driver_run_until(d, 2000);
	n = handover_run(d, first, 50, 1000);
	driver_check(d, n >= 19 && n <= 21);
	driver_run(d, 1100);
	driver_check(d, driver_holds(d, b, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Nobody else wants it: the record is looked at, and the run goes on. */
START_TEST(test_run_goes_on_without_a_wish)
{
	struct driver *d = driver_new(1, 2);
	unsigned first;

	d->namespaces[0].handover_max = 3;
	driver_start(d);
	first = handover_queue(d, A, 20);
	driver_run_until(d, 2000);
	while (first < 20) {
		first += handover_run(d, first, 20 - first, 20);
		driver_run(d, 20);
	}
	driver_check(d, driver_count(d, A, OPERATION_ACQUIRE) == 1);
	driver_check(d, driver_count(d, A, OPERATION_RELEASE) == 0);
	driver_check(d, driver_holds(d, 20, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The host that wished is dead: its wish is taken out, and hinders nobody. */
START_TEST(test_wish_of_a_dead_session)
{
	struct driver *d = driver_new(1, 1);
	struct model_session *m;
	unsigned first;

	d->namespaces[0].handover_max = 2;
	driver_start(d);
	first = handover_queue(d, A, 12);
	driver_run_until(d, 2000);
	m = model_plant_session(&d->net.store, "X1", 20000);
	m->dead = true;
	model_add_wish(driver_lock(d, "jobs/x"), LOCK_MODE_EXCLUSIVE,
	    m->ident);
	driver_skip(d);
	while (first < 12) {
		uint64_t before = d->now;

		first += handover_run(d, first, 12 - first, 50);
		driver_run(d, 50);
		if (d->now > before + 20000)
			break;
	}
	driver_check(d, first == 12);
	driver_check(d, trace_count(&d->trace, d->mark,
	    "*> unwant jobs/x X1") == 1);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A wish whose session never moves goes when it has been seen for a lease;
 * nobody is killed for a wish. */
START_TEST(test_wish_of_a_host_that_is_gone)
{
	struct driver *d = driver_new(1, 2);
	unsigned first, i;

	d->namespaces[0].handover_max = 2;
	driver_start(d);
	(void)handover_queue(d, A, 1);
	(void)handover_queue(d, B, 1);
	driver_run_until(d, 3000);
	driver_kill(d, B);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 1);
	driver_release(d, 1, "jobs/x");
	driver_run(d, 10000);
	for (i = 0; i < 20; i++) {
		first = handover_queue(d, A, 4);
		driver_run(d, 3000);
		while (handover_run(d, first, 4, 30) > 0 && first < i)
			;
		driver_run(d, 6000);
		for (; first <= d->n_clients; first++) {
			driver_run(d, 3000);
			driver_disconnect(d, first);
		}
	}
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_KILL) == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_wish_is_taken_out_when_nobody_waits)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	(void)handover_queue(d, A, 1);
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", 3000);
	driver_run_until(d, 4000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 1);
	driver_run_until(d, 5100);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_check(d, driver_count(d, B, OPERATION_UNWANT) == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_wish_is_added_again)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	(void)handover_queue(d, A, 1);
	(void)handover_queue(d, B, 1);
	driver_run_until(d, 5000);
	driver_check(d, driver_count(d, B, OPERATION_WANT) == 1);
	driver_lock(d, "jobs/x")->n_exclusive_wishes = 0;
	driver_run_until(d, 6200);
	driver_check(d, driver_count(d, B, OPERATION_WANT) == 2);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A wish of ours that nobody here stands behind goes when it is met. */
START_TEST(test_own_leftover_wish)
{
	struct driver *d = driver_new(1, 2);
	struct ident own;

	driver_start(d);
	(void)handover_queue(d, A, 1);
	(void)handover_queue(d, B, 1);
	driver_run_until(d, 3000);
	own = driver_lock(d, "jobs/x")->exclusive_wishes[0];
	driver_disconnect(d, 2);
	driver_run_until(d, 4000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	model_add_wish(driver_lock(d, "jobs/x"), LOCK_MODE_EXCLUSIVE, own);
	driver_try(d, driver_connect(d, B), "jobs/x");
	driver_run_until(d, 5000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Where no other host can come, a released lock is kept for a while. */
START_TEST(test_idle_hold)
{
	struct driver *d = driver_new(1, 1);

	d->namespaces[0].keeps_idle = true;
	d->namespaces[0].idle_ms = 1000;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	(void)driver_connect(d, A);
	driver_run_until(d, 1100);
	driver_release(d, 1, "jobs/x");
	driver_get(d, 2, "jobs/x");
	driver_run_until(d, 1200);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1100] A c1 release jobs/x: OK\n"
	    "[  1*] A c2 get jobs/x: OK free\n");
	driver_try(d, 2, "jobs/x");
	driver_expect(d, TRACE_ALL,
	    "[  1200] A c2 try jobs/x\n"
	    "[  1200] A c2 grant jobs/x +2 remaining 17800\n");
	driver_run_until(d, 1300);
	driver_release(d, 2, "jobs/x");
	driver_skip(d);
	driver_run_until(d, 3000);
	driver_expect(d, TRACE_ALL,
	    "[  2300] A > release jobs/x\n"
	    "[  2310] A < release jobs/x done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Where nobody elsewhere waits, a block lasts, and a run never ends. */
START_TEST(test_no_foreign_waiters_run)
{
	struct driver *d = driver_new(1, 1);
	unsigned first;

	d->namespaces[0].no_foreign_waiters = true;
	d->namespaces[0].keeps_idle = true;
	d->namespaces[0].idle_ms = 1000;
	d->namespaces[0].handover_max = 3;
	driver_start(d);
	first = handover_queue(d, A, 90);
	driver_run_until(d, 2000);
	driver_check(d, handover_run(d, first, 90, 500) == 90);
	driver_run(d, 100);
	driver_check(d, handover_writes(d, A) == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_without_the_store,
		test_tokens_come_to_an_end,
		test_more_tokens_beforehand,
		test_run_ends_for_a_foreign_wish,
		test_standing_back,
		test_run_ends_after_a_lease,
		test_run_goes_on_without_a_wish,
		test_wish_of_a_dead_session,
		test_wish_of_a_host_that_is_gone,
		test_wish_is_taken_out_when_nobody_waits,
		test_wish_is_added_again,
		test_own_leftover_wish,
		test_idle_hold,
		test_no_foreign_waiters_run,
		NULL,
	};

	return suite_run("handover", tests);
}
