/*
 * A host's own sessions at the edges: refused, unreachable, restarted, and
 * stopped. Who asks is told why, and never waits for what will not come.
 */
#include "driver.h"
#include "suite.h"

#include "ddblock.h"

static void
sessions_refuse(struct driver *d, enum operation_kind kind, int code)
{
	struct fault fault = { .host = A, .kind = kind, .count = 1000,
		.fault = FAULT_REFUSE, .code = code };

	net_add_fault(&d->net, &fault);
}

/* There is no table: whoever asks is told so, first and later ones. */
START_TEST(test_open_is_refused)
{
	struct driver *d = driver_new(1, 1);

	sessions_refuse(d, OPERATION_SESSION_OPEN, DDBLOCK_E_NO_TABLE);
	driver_boot(d, A);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 500);
	driver_try(d, 1, "jobs/y");
	driver_expect(d, TRACE_REPLY,
	    "[    10] A c1 acquire jobs/x: NO_TABLE*\n"
	    "[    10] A c2 acquire jobs/x: NO_TABLE*\n"
	    "[   500] A c1 acquire jobs/y: NO_TABLE*\n");
	/* When there is one, all is well without a restart. */
	driver_run_until(d, 20000);
	d->net.n_faults = 0;
	driver_run_until(d, 30000);
	driver_try(d, 1, "jobs/x");
	driver_run_until(d, 30100);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_acquire_is_refused)
{
	static const int codes[] = { DDBLOCK_E_ACCESS_DENIED,
		DDBLOCK_E_NO_TABLE, DDBLOCK_E_NO_CREDENTIALS,
		DDBLOCK_E_BAD_RECORD, DDBLOCK_E_STORE_FULL };
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct driver *d = driver_new(1, 1);

		driver_start(d);
		sessions_refuse(d, OPERATION_ACQUIRE, codes[i]);
		driver_try(d, driver_connect(d, A), "jobs/x");
		driver_acquire(d, driver_connect(d, A), "jobs/x",
		    DRIVER_FOREVER);
		driver_run(d, 10);
		driver_check(d, d->clients[1].code == codes[i]);
		driver_check(d, d->clients[2].code == codes[i]);
		driver_expect_clean(d);
		driver_free(d);
	}
}
END_TEST

/* Throttled: a wait goes on, a try says so. */
START_TEST(test_throttled)
{
	struct driver *d = driver_new(1, 1);
	struct fault fault = { .host = A, .kind = OPERATION_ACQUIRE,
		.count = 2, .fault = FAULT_REFUSE,
		.code = DDBLOCK_E_THROTTLED };

	driver_start(d);
	net_add_fault(&d->net, &fault);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run(d, 5000);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c1 acquire jobs/x: THROTTLED*\n"
	    "[*] A c2 grant jobs/x +1 remaining *\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/*
 * Somebody has spoilt our session's item: its beats are refused, whatever else
 * goes well. That is danger, and then a loss, for this reason and no other; and
 * the next session is as good as any.
 */
START_TEST(test_session_is_spoilt)
{
	struct driver *d = driver_new(1, 1);
	struct core_namespace_view v;

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	sessions_refuse(d, OPERATION_SESSION_BEAT, DDBLOCK_E_BAD_RECORD);
	driver_run_until(d, 9000);
	driver_try(d, driver_connect(d, A), "jobs/y");
	driver_run_until(d, 9500);
	driver_release(d, 2, "jobs/y");
	driver_run_until(d, 11000);
	driver_renew(d, 1, "jobs/x");
	driver_run_until(d, 12000);
	core_view_namespace(d->hosts[A].core, 0, d->now, &v);
	driver_check(d, v.danger && v.cause == DDBLOCK_E_BAD_RECORD);
	driver_run_until(d, 18995);
	d->net.n_faults = 0;
	driver_run_until(d, 30000);
	driver_acquire(d, 2, "jobs/x", 1000);
	driver_run_until(d, 31000);
	driver_expect(d, TRACE_TOLD,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  9010] A c2 grant jobs/y +1 remaining 9990\n"
	    "[  9510] A c2 release jobs/y: OK\n"
	    "[ 10000] A c1 danger jobs/x remaining 9000 BAD_RECORD\n"
	    "[ 11010] A c1 renew jobs/x: BAD_RECORD\n"
	    "[ 19000] A c1 lost jobs/x expired\n"
	    "[ 30030] A c2 grant jobs/x +101 remaining 17970\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* An outage: what ends during it says why. */
START_TEST(test_unreachable)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", 8000);
	driver_run_until(d, 3000);
	driver_cut(d, B, 30000);
	driver_run_until(d, 3100);
	driver_acquire(d, driver_connect(d, B), "jobs/y", 3000);
	driver_try(d, 3, "jobs/z");
	driver_skip(d);
	driver_run_until(d, 15000);
	driver_expect(d, TRACE_REPLY,
	    "[  4100] B c3 acquire jobs/z: UNREACHABLE*\n"
	    "[  6100] B c3 acquire jobs/y: ACQUIRE_TIMEOUT "
	    "cause=UNREACHABLE\n"
	    "[ 10000] B c2 acquire jobs/x: ACQUIRE_TIMEOUT "
	    "cause=UNREACHABLE*\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The whole store is away for longer than a lease: all is lost, and comes back
 * by itself. */
START_TEST(test_long_outage)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 6000);
	driver_cut(d, A, 40000);
	driver_cut(d, B, 40000);
	driver_skip(d);
	driver_run_until(d, 70000);
	driver_expect(d, TRACE_TOLD,
	    "[ 15000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 24000] A c1 lost jobs/x expired\n"
	    "[*] B c2 grant jobs/x +101 remaining *\n");
	/* A closed its lost session as soon as it could. */
	driver_check(d, driver_hold(d, 2, "jobs/x")->since < 54000);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Both namespaces have a session; one's outage is not the other's. */
START_TEST(test_two_namespaces)
{
	struct driver *d = driver_new(1, 1);
	struct fault fault = { .host = A, .kind = OPERATION_SESSION_OPEN,
		.nth = 2, .count = 3, .fault = FAULT_REFUSE,
		.code = DDBLOCK_E_ACCESS_DENIED };

	d->n_namespaces = 2;
	net_add_fault(&d->net, &fault);
	driver_start(d);
	(void)driver_connect(d, A);
	(void)driver_ask_acquire(d, 1, 0, "jobs/x", 0, 0);
	(void)driver_ask_acquire(d, 1, 1, "jobs/y", 0, 0);
	driver_run(d, 10);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, d->clients[1].replies == 2);
	driver_check(d, !driver_holds(d, 1, "jobs/y"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* ---- stopping --------------------------------------------------------- */

START_TEST(test_stop_without_holds)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	driver_skip(d);
	driver_stop(d, A, false);
	driver_run_until(d, 4000);
	driver_expect(d, TRACE_ALL,
	    "[  3000] A stop\n"
	    "[  3000] A > close A1\n"
	    "[  3010] A < close A1 done\n");
	driver_check(d, d->hosts[A].stopped);
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_free(d);
}
END_TEST

/* Who only reads is served to the end, and then told that there is none. */
START_TEST(test_stop_while_reading)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_fault(d, A, OPERATION_READ, FAULT_LOSE_BEFORE, 0);
	driver_get(d, driver_connect(d, A), "jobs/x");
	driver_list(d, driver_connect(d, A), "jobs/");
	driver_skip(d);
	driver_stop(d, A, false);
	driver_run_until(d, 2000);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c2 list jobs/: OK\n"
	    "[  1010] A c1 get jobs/x: SHUTTING_DOWN\n");
	driver_check(d, d->hosts[A].stopped);
	driver_free(d);
}
END_TEST

/* Waiters are told; holders keep what they have until they release it. */
START_TEST(test_stop_with_holds)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_stop(d, A, false);
	driver_try(d, 2, "jobs/y");
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c2 acquire jobs/x: SHUTTING_DOWN\n"
	    "[  2000] A c2 acquire jobs/y: SHUTTING_DOWN\n");
	driver_run_until(d, 31000);
	driver_check(d, !d->hosts[A].stopped);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_release(d, 1, "jobs/x");
	driver_run(d, 100);
	driver_check(d, d->hosts[A].stopped);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_free(d);
}
END_TEST

/* Released by force: the holder hears of it, with the gap that every loss
 * leaves, and then the session is closed. */
START_TEST(test_stop_and_release)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 6000);
	driver_stop(d, A, false);
	driver_run_until(d, 8000);
	driver_skip(d);
	driver_stop(d, A, true);
	driver_run_until(d, 11000);
	driver_expect(d, TRACE_TOLD,
	    "[  8000] A c1 lost jobs/x shutdown\n"
	    "[*] B c2 grant jobs/x +101 remaining *\n");
	driver_check(d, driver_hold(d, 2, "jobs/x")->since >= 9000);
	driver_check(d, d->hosts[A].stopped);
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Stopping while the grant is on its way: it is given back. */
/* One namespace's list of doubts is full: that is nothing to the other. */
START_TEST(test_doubts_of_another_namespace)
{
	static const char *const keys[] = { "1", "2", "3", "4" };
	struct driver *d = driver_new(1, 1);
	unsigned i;

	d->n_namespaces = 2;
	d->limits.doubts_max = 4;
	driver_start(d);
	/* This one keeps their session from being closed. */
	(void)driver_ask_acquire(d, driver_connect(d, A), 1, "0", 0, 0);
	driver_run_until(d, 1500);
	for (i = 0; i < 4; i++) {
		driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_BEFORE, 0);
		(void)driver_ask_acquire(d, 1, 1, keys[i], 0, 0);
	}
	driver_run_until(d, 7000);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 8000);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The gap between the loss and the release stays, also when another operation
 * of that lock, which was under way, is refused. */
START_TEST(test_stop_and_release_behind_a_refusal)
{
	struct driver *d = driver_new(1, 1);
	struct fault fault = { .host = A, .kind = OPERATION_EXTEND,
		.fault = FAULT_REFUSE, .code = DDBLOCK_E_THROTTLED };

	d->namespaces[0].handover_max = 1;
	d->namespaces[0].poll_ms = 200;
	net_add_fault(&d->net, &fault);
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 2005);
	driver_skip(d);
	driver_stop(d, A, true);
	driver_run_until(d, 4000);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[  2005] A c2 acquire jobs/x: SHUTTING_DOWN\n"
	    "[  2005] A c1 lost jobs/x shutdown\n"
	    "[  2010] A < extend jobs/x refused THROTTLED\n"
	    "[  3005] A > release jobs/x\n"
	    "[  3015] A < release jobs/x done\n"
	    "[  3015] A > close A1\n"
	    "[  3025] A < close A1 done\n");
	driver_check(d, d->hosts[A].stopped);
	driver_free(d);
}
END_TEST

START_TEST(test_stop_while_asking)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run(d, 7);
	driver_stop(d, A, false);
	driver_run(d, 1000);
	driver_expect(d, TRACE_REPLY,
	    "[  1007] A c1 acquire jobs/x: SHUTTING_DOWN\n");
	driver_check(d, d->hosts[A].stopped);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_free(d);
}
END_TEST

/* Nothing was ever held: a session that is being opened is not waited for,
 * and does no harm if it comes to be after all. */
START_TEST(test_stop_while_opening)
{
	struct driver *d = driver_new(1, 1);

	driver_cut(d, A, 100000);
	driver_boot(d, A);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 1000);
	driver_skip(d);
	driver_stop(d, A, false);
	driver_check(d, d->hosts[A].stopped);
	driver_expect(d, TRACE_ALL,
	    "[  1000] A stop\n"
	    "[  1000] A c1 acquire jobs/x: SHUTTING_DOWN\n");
	driver_free(d);
}
END_TEST

/* The same, and the answer is on its way. */
START_TEST(test_stop_just_before_open)
{
	struct driver *d = driver_new(1, 1);

	driver_boot(d, A);
	driver_run_until(d, 7);
	driver_stop(d, A, false);
	driver_check(d, d->hosts[A].stopped);
	driver_run(d, 1000);
	driver_check(d, d->hosts[A].stopped);
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_free(d);
}
END_TEST

/* Nothing is held any more, and the store is away: one try, no more. */
START_TEST(test_stop_cannot_close)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	driver_cut(d, A, 100000);
	driver_skip(d);
	driver_stop(d, A, false);
	driver_run_until(d, 7999);
	driver_check(d, !d->hosts[A].stopped);
	driver_run_until(d, 8000);
	driver_check(d, d->hosts[A].stopped);
	driver_expect(d, TRACE_ALL,
	    "[  3000] A stop\n"
	    "[  3000] A > close A1\n"
	    "[  8000] A < close A1 unknown\n");
	driver_free(d);
}
END_TEST

/* Stopping in an outage ends, too: when the last hold is lost. */
START_TEST(test_stop_without_a_store)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_cut(d, A, 100000);
	driver_stop(d, A, false);
	driver_run_until(d, 18000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, !d->hosts[A].stopped);
	driver_run_until(d, 26000);
	driver_check(d, !driver_holds(d, 1, "jobs/x"));
	driver_check(d, d->hosts[A].stopped);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_open_is_refused,
		test_acquire_is_refused,
		test_throttled,
		test_session_is_spoilt,
		test_unreachable,
		test_long_outage,
		test_two_namespaces,
		test_doubts_of_another_namespace,
		test_stop_without_holds,
		test_stop_while_reading,
		test_stop_with_holds,
		test_stop_and_release,
		test_stop_and_release_behind_a_refusal,
		test_stop_while_asking,
		test_stop_while_opening,
		test_stop_just_before_open,
		test_stop_cannot_close,
		test_stop_without_a_store,
		NULL,
	};

	return suite_run("sessions", tests);
}
