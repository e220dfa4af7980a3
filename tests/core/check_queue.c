/*
 * Those who wait: in order, within their time, with one poller for all of
 * them, and without a trace when they give up.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>

#include "ddblock.h"

START_TEST(test_first_come_first_served)
{
	struct driver *d = driver_new_started(1);
	unsigned c;

	for (c = 1; c <= 4; c++)
		driver_acquire(d, driver_connect(d, A), "jobs/x",
		    DRIVER_FOREVER);
	driver_run_until(d, 2000);
	for (c = 1; c <= 4; c++) {
		driver_check(d, driver_holds(d, c, "jobs/x"));
		driver_release(d, c, "jobs/x");
	}
	driver_run_until(d, 3000);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  2000] A c2 grant jobs/x +2 remaining 17000\n"
	    "[  2000] A c1 release jobs/x: OK\n"
	    "[  2000] A c3 grant jobs/x +3 remaining 17000\n"
	    "[  2000] A c2 release jobs/x: OK\n"
	    "[  2000] A c4 grant jobs/x +4 remaining 17000\n"
	    "[  2000] A c3 release jobs/x: OK\n"
	    "[  2010] A c4 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_one_poller_for_all_waiters)
{
	struct driver *d = driver_new_started(2);
	unsigned i, one, many;

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 12000);
	one = driver_count(d, B, OPERATION_READ);
	for (i = 0; i < 90; i++)
		driver_acquire(d, driver_connect(d, B), "jobs/x",
		    DRIVER_FOREVER);
	driver_run_until(d, 22000);
	many = driver_count(d, B, OPERATION_READ) - one;
	driver_check(d, one >= 9 && one <= 13);
	driver_check(d, many >= 9 && many <= 13);
	driver_check(d, driver_count(d, B, OPERATION_ACQUIRE) == 1);
	driver_check(d, driver_count(d, B, OPERATION_WANT) == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Those who wait, in the order of their coming, and how many are ahead. */
static void
queue_places(struct driver *d, const char *wanted)
{
	struct core_waiter_view v = { .serial = 0 };
	char got[256] = "";
	size_t n = 0;

	while (core_next_waiter(d->hosts[A].core, v.serial, d->now, &v))
		n += (size_t)snprintf(got + n, sizeof(got) - n, " c%u:%u",
		    (unsigned)v.client, v.ahead);
	driver_check(d, n < sizeof(got));
	ck_assert_str_eq(got, wanted);
}

/* Whoever comes, goes or gives up: the places of the others are right. */
START_TEST(test_places)
{
	struct driver *d = driver_new_started(1);
	unsigned c;

	for (c = 1; c <= 8; c++)
		driver_acquire(d, driver_connect(d, A), "jobs/x",
		    DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, A), "jobs/y", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, A), "jobs/y", DRIVER_FOREVER);
	driver_run_until(d, 2000);
	queue_places(d, " c2:0 c3:1 c4:2 c5:3 c6:4 c7:5 c8:6 c10:0");
	driver_cancel(d, 5, "jobs/x");		/* the middle */
	driver_disconnect(d, 3);
	queue_places(d, " c2:0 c4:1 c6:2 c7:3 c8:4 c10:0");
	driver_cancel(d, 8, "jobs/x");		/* the end */
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	queue_places(d, " c2:0 c4:1 c6:2 c7:3 c10:0 c11:4");
	driver_release(d, 1, "jobs/x");		/* the front */
	queue_places(d, " c4:0 c6:1 c7:2 c10:0 c11:3");
	driver_cancel(d, 4, "jobs/x");
	driver_disconnect(d, 7);		/* behind one who left */
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_release(d, 2, "jobs/x");
	queue_places(d, " c10:0 c11:0 c12:1");
	driver_disconnect(d, 11);
	driver_disconnect(d, 12);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	queue_places(d, " c10:0 c13:0");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_wait_limit)
{
	struct driver *d = driver_new_started(2);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", 3000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", 4000);
	driver_skip(d);
	driver_run_until(d, 8000);
	driver_expect(d, TRACE_TOLD,
	    "[  5000] A c2 acquire jobs/x: ACQUIRE_TIMEOUT "
	    "held +1 by c1 here\n"
	    "[  6000] B c3 acquire jobs/x: ACQUIRE_TIMEOUT "
	    "held +100 by A/c1 unchanged *\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_try_is_busy_at_once)
{
	struct driver *d = driver_new_started(2);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_try(d, driver_connect(d, B), "jobs/x");
	driver_run_until(d, 3000);
	driver_expect(d, TRACE_ALL,
	    "[  2000] A c2 try jobs/x\n"
	    "[  2000] A c2 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n"
	    "[  2000] B c3 try jobs/x\n"
	    "[  2000] B > acquire jobs/x\n"
	    "[  2010] B < acquire jobs/x conflict\n"
	    "[  2010] B c3 acquire jobs/x: LOCK_BUSY held +100 by A/c1\n"
	    "[  2010] B > look A1\n"
	    "[  2020] B < look A1 done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A short wait is never less than a try. */
START_TEST(test_short_wait_gets_a_real_try)
{
	struct driver *d = driver_new_started(1);

	driver_acquire(d, driver_connect(d, A), "jobs/x", 1);
	driver_run_until(d, 2000);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_cancel)
{
	struct driver *d = driver_new_started(1);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_skip(d);
	driver_cancel(d, 2, "jobs/x");
	driver_cancel(d, 2, "jobs/x");
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c2 cancel jobs/x: OK\n"
	    "[  2000] A c2 acquire jobs/x: CANCELLED\n"
	    "[  2000] A c2 cancel jobs/x: BAD_REQUEST\n");
	driver_release(d, 1, "jobs/x");
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c3 grant jobs/x +2 remaining 17000\n"
	    "[  2000] A c1 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The grant is on its way when the client gives up: it is given back. */
START_TEST(test_cancel_while_asking)
{
	struct driver *d = driver_new_started(1);

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run(d, 7);
	driver_cancel(d, 1, "jobs/x");
	driver_run_until(d, 2000);
	driver_expect(d, TRACE_ALL,
	    "[  1000] A c1 acquire jobs/x\n"
	    "[  1000] A > acquire jobs/x\n"
	    "[  1007] A c1 cancel jobs/x\n"
	    "[  1007] A c1 cancel jobs/x: OK\n"
	    "[  1007] A c1 acquire jobs/x: CANCELLED\n"
	    "[  1010] A < acquire jobs/x done\n"
	    "[  1010] A > release jobs/x\n"
	    "[  1020] A < release jobs/x done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_client_gone_while_asking)
{
	struct driver *d = driver_new_started(1);

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run(d, 7);
	driver_disconnect(d, 1);
	driver_run_until(d, 2000);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* One that its daemon cuts off may be at work: it is told of each loss, and the
 * next has the lock when the margin is over. */
START_TEST(test_client_cut_off_leaves_a_gap)
{
	struct driver *d = driver_new_started(1);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_try(d, 1, "jobs/y");
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, 1, "jobs/z", DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_cut_off(d, 1);
	driver_run_until(d, 2999);
	driver_expect(d, TRACE_TOLD | TRACE_NOTICE,
	    "[  2000] A c1 lost jobs/x cut_off\n"
	    "[  2000] A c1 lost jobs/y cut_off\n"
	    "[  2000] A c1 lost jobs/z cut_off\n");
	driver_check(d, driver_lock(d, "jobs/y")->n_holders == 1);
	driver_skip(d);
	driver_run_until(d, 4000);
	driver_expect(d, TRACE_TOLD,
	    "[  3000] A c2 grant jobs/x +2 remaining 16000\n");
	driver_check(d, driver_lock(d, "jobs/y")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A process that crashed frees its locks at once. */
START_TEST(test_client_gone_frees_its_locks)
{
	struct driver *d = driver_new_started(1);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_try(d, 1, "jobs/y");
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, 1, "jobs/z", DRIVER_FOREVER);
	driver_acquire(d, 2, "jobs/z", DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_disconnect(d, 1);
	driver_run_until(d, 3000);
	driver_expect(d, TRACE_TOLD,
	    "[  2000] A c2 grant jobs/x +2 remaining 17000\n"
	    "[  2000] A c2 grant jobs/z +2 remaining 17000\n");
	driver_check(d, driver_lock(d, "jobs/y")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_own_hold_and_foreign_hold)
{
	struct driver *d = driver_new_started(1);
	struct core_request q = { .client = 2, .request = 900,
		.verb = CORE_RELEASE };
	struct core_event ev = { .type = CORE_REQUEST };
	struct judge_request jr = { .host = A, .client = 2, .id = 900,
		.verb = CORE_RELEASE, .limit = NET_NEVER };

	driver_try(d, driver_connect(d, A), "jobs/x");
	(void)driver_connect(d, A);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_acquire(d, 1, "jobs/x", DRIVER_FOREVER);
	q.hold = driver_hold(d, 1, "jobs/x")->id;
	ev.request = q;
	judge_asked(&d->judge, &jr);
	(void)driver_step(d, A, &ev);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	driver_release(d, 1, "jobs/x");
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c1 acquire jobs/x: ALREADY_HELD*\n"
	    "[  2000] A c2 release : LOCK_NOT_OWNED\n"
	    "[  2010] A c1 release jobs/x: OK\n"
	    "[  3000] A c1 release jobs/x: NO_SUCH_LOCK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A client that only listens: what must wait is given up, the rest is tried. */
START_TEST(test_drain)
{
	struct driver *d = driver_new_started(2);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_try(d, driver_connect(d, B), "jobs/y");
	driver_run_until(d, 2000);
	(void)driver_connect(d, A);
	driver_acquire(d, 3, "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, 3, "jobs/y", DRIVER_FOREVER);
	driver_acquire(d, 3, "jobs/z", DRIVER_FOREVER);
	driver_skip(d);
	driver_drain(d, 3);
	driver_run_until(d, 3000);
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c3 acquire jobs/x: CANCELLED*\n"
	    "[  2010] A c3 acquire jobs/y: CANCELLED*\n"
	    "[  2010] A c3 grant jobs/z +1 remaining 16990\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_limits_at_admission)
{
	struct driver *d = driver_new(1, 1);
	unsigned c1, c2, c3;

	d->limits.clients_max = 2;
	d->limits.requests_per_client_max = 2;
	d->limits.holds_per_client_max = 3;
	d->limits.locks_max = 4;
	driver_start(d);
	c1 = driver_connect(d, A);
	c2 = driver_connect(d, A);
	c3 = driver_connect(d, A);
	driver_try(d, c1, "a");
	driver_run(d, 100);
	driver_acquire(d, c2, "a", DRIVER_FOREVER);
	driver_acquire(d, c3, "b", DRIVER_FOREVER);
	driver_check(d, d->clients[c3].code == DDBLOCK_E_LIMIT);
	driver_acquire(d, c2, "b", DRIVER_FOREVER);
	driver_acquire(d, c2, "c", DRIVER_FOREVER);
	driver_check(d, d->clients[c2].code == DDBLOCK_E_LIMIT);
	driver_run(d, 100);
	driver_try(d, c1, "c");
	driver_run(d, 100);
	driver_try(d, c1, "d");
	driver_run(d, 100);
	driver_check(d, driver_holds(d, c1, "d"));
	driver_try(d, c1, "e");
	driver_check(d, d->clients[c1].code == DDBLOCK_E_LIMIT);
	driver_release(d, c1, "d");
	driver_run(d, 100);
	driver_try(d, c1, "e");
	driver_run(d, 100);
	driver_check(d, driver_holds(d, c1, "e"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A client that waits as much as it may can still release what it holds. */
START_TEST(test_release_is_always_admitted)
{
	struct driver *d = driver_new(1, 1);
	unsigned c1, c2;

	d->limits.requests_per_client_max = 1;
	d->limits.requests_max = 1;
	driver_start(d);
	c1 = driver_connect(d, A);
	c2 = driver_connect(d, A);
	driver_try(d, c1, "mine");
	driver_run(d, 100);
	driver_try(d, c2, "theirs");
	driver_run(d, 100);
	driver_acquire(d, c1, "theirs", DRIVER_FOREVER);
	driver_run(d, 100);
	driver_release(d, c1, "mine");
	driver_run(d, 100);
	driver_check(d, d->clients[c1].code == 0);
	driver_check(d, !driver_holds(d, c1, "mine"));
	driver_cancel(d, c1, "theirs");
	driver_run(d, 100);
	driver_check(d, d->clients[c1].code == DDBLOCK_E_CANCELLED);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* What was due when a request is refused is done all the same. */
START_TEST(test_refusal_holds_nothing_up)
{
	struct driver *d = driver_new(1, 1);

	d->limits.requests_per_client_max = 1;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	(void)driver_connect(d, A);
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 4999);
	driver_skip(d);
	d->now = 5000;		/* the request is read before the timer */
	driver_acquire(d, 2, "jobs/y", DRIVER_FOREVER);
	driver_run_until(d, 6000);
	driver_expect(d, TRACE_REPLY | TRACE_BEAT,
	    "[  5000] A > beat A1\n"
	    "[  5000] A c2 acquire jobs/y: not admitted, LIMIT\n"
	    "[  5010] A < beat A1 done\n"
	    "[  5010] A renewed remaining 18990\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_namespaces_are_apart)
{
	struct driver *d = driver_new(1, 1);

	d->n_namespaces = 2;
	driver_start(d);
	(void)driver_connect(d, A);
	(void)driver_ask_acquire(d, 1, 0, "jobs/x", 0, 0);
	(void)driver_connect(d, A);
	(void)driver_ask_acquire(d, 2, 1, "jobs/x", 0, 0);
	driver_check(d, driver_ask_acquire(d, 2, 2, "jobs/x", 0, 0) ==
	    DDBLOCK_E_UNKNOWN_NAMESPACE);
	driver_run_until(d, 30000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_get)
{
	struct driver *d = driver_new_started(2);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	(void)driver_connect(d, B);
	driver_skip(d);
	driver_get(d, 1, "jobs/x");
	driver_get(d, 2, "jobs/x");
	driver_get(d, 2, "jobs/y");
	driver_run_until(d, 3000);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3500);
	driver_get(d, 1, "jobs/x");
	driver_run_until(d, 4000);
	driver_expect(d, TRACE_REPLY,
	    "[  20*] A c1 get jobs/x: OK held +1 by c1 here\n"
	    "[  2010] B c2 get jobs/x: OK held +100 by A/c1*\n"
	    "[  2010] B c2 get jobs/y: OK free\n"
	    "[  3010] A c1 release jobs/x: OK\n"
	    "[  3510] A c1 get jobs/x: OK free\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_first_come_first_served,
		test_one_poller_for_all_waiters,
		test_places,
		test_wait_limit,
		test_try_is_busy_at_once,
		test_short_wait_gets_a_real_try,
		test_cancel,
		test_cancel_while_asking,
		test_client_gone_while_asking,
		test_client_gone_frees_its_locks,
		test_client_cut_off_leaves_a_gap,
		test_own_hold_and_foreign_hold,
		test_drain,
		test_limits_at_admission,
		test_release_is_always_admitted,
		test_refusal_holds_nothing_up,
		test_namespaces_are_apart,
		test_get,
		NULL,
	};

	return suite_run("queue", tests);
}
