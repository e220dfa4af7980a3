/*
 * Writes whose answer never came: neither failure nor success, until a
 * consistent read says so; and what lands late is found and removed.
 */
#include "driver.h"
#include "suite.h"

#include "ddblock.h"

static unsigned
doubts(struct driver *d, unsigned host)
{
	struct core_namespace_view v;

	core_view_namespace(d->hosts[host].core, 0,
	    net_boot_ms(&d->net, host, d->now), &v);
	return v.doubts;
}

/* The answer was lost, the grant is there: a read finds it. */
START_TEST(test_unknown_acquire_is_there)
{
	struct driver *d = driver_new_started(1);

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_AFTER, 0);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 9000);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[  1000] A > acquire jobs/x\n"
	    "[  6000] A < acquire jobs/x unknown\n"
	    "[  6000] A > read jobs/x\n"
	    "[  6010] A < read jobs/x done\n"
	    "[  6010] A c1 grant jobs/x +1 remaining 17990\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Neither is the grant there: it is asked for again, under a new name. */
START_TEST(test_unknown_acquire_is_not_there)
{
	struct driver *d = driver_new_started(1);

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_BEFORE, 0);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 6500);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[  1000] A > acquire jobs/x\n"
	    "[  6000] A < acquire jobs/x unknown\n"
	    "[  6000] A > read jobs/x\n"
	    "[  6010] A < read jobs/x done\n"
	    "[  6010] A > acquire jobs/x\n"
	    "[  6020] A < acquire jobs/x done\n"
	    "[  6020] A c1 grant jobs/x +1 remaining 17980\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A try that meets silence: an honest answer, and no orphan. */
START_TEST(test_try_meets_silence)
{
	struct driver *d = driver_new_started(1);

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_AFTER, 0);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 6500);
	driver_expect(d, TRACE_REPLY,
	    "[  2000] A c1 acquire jobs/x: UNREACHABLE\n");
	driver_run_until(d, 8000);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The request lands 20 s after it was sent, when nobody wants it any more;
 * the looks after 1 s, 5 s and 30 s find it. */
START_TEST(test_orphan_that_lands_late)
{
	struct driver *d = driver_new_started(1);

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LATE, 20000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", 3000);
	driver_run_until(d, 20000);
	driver_check(d, d->clients[1].code != 0);
	driver_check(d, doubts(d, A) == 1);
	driver_skip(d);
	driver_run_until(d, 60000);
	driver_expect(d, TRACE_STORE | TRACE_LATE,
	    "[ 21000] A * acquire jobs/x lands late\n"
	    "[ 42000] A > read jobs/x\n"
	    "[ 42010] A < read jobs/x done\n"
	    "[ 42010] A > release jobs/x\n"
	    "[ 42020] A < release jobs/x done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Acquired by the second attempt and released; then the first one lands. */
START_TEST(test_first_attempt_lands_after_the_release)
{
	struct driver *d = driver_new_started(1);
	struct fault fault = { .host = A, .kind = OPERATION_ACQUIRE,
		.fault = FAULT_LATE, .ms = 9000, .retry_ms = 1000 };

	net_add_fault(&d->net, &fault);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 10100);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 1);
	driver_run_until(d, 45000);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* It lands while the same client holds the lock again, with another grant:
 * the store's own condition keeps it out. */
START_TEST(test_first_attempt_lands_in_vain)
{
	struct driver *d = driver_new_started(1);
	struct fault fault = { .host = A, .kind = OPERATION_ACQUIRE,
		.fault = FAULT_LATE, .ms = 9000, .retry_ms = 1000 };

	net_add_fault(&d->net, &fault);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3000);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 4000);
	driver_try(d, 1, "jobs/x");
	driver_run_until(d, 30000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, trace_count(&d->trace, 0, "*in vain*") == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A wish that lands when its waiter has gone. */
START_TEST(test_wish_that_lands_late)
{
	struct driver *d = driver_new_started(2);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_fault(d, B, OPERATION_WANT, FAULT_LATE, 9000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", 3000);
	driver_run_until(d, 12000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 1);
	driver_run_until(d, 60000);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* 16 minutes after the last send a signature is void: the doubt ends. */
START_TEST(test_doubt_ends)
{
	struct driver *d = driver_new_started(1);
	uint64_t last = 1000;

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_BEFORE, 0);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, last + 16 * 60000 - 1);
	driver_check(d, doubts(d, A) == 1);
	driver_run_until(d, last + 18 * 60000);
	driver_check(d, doubts(d, A) == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Also that of a lock which is held all the time: the audit has read it. */
START_TEST(test_doubt_of_a_long_hold_ends)
{
	struct driver *d = driver_new_started(1);
	struct fault fault = { .host = A, .kind = OPERATION_ACQUIRE,
		.fault = FAULT_LOSE_BEFORE, .retry_ms = 1000 };

	net_add_fault(&d->net, &fault);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 1000 + 16 * 60000 - 1);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, doubts(d, A) == 1);
	driver_run_until(d, 1000 + 18 * 60000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, doubts(d, A) == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The last look finds an orphan, and its removal fails: it is not forgotten
 * with the doubt. */
START_TEST(test_orphan_of_the_last_look)
{
	struct driver *d = driver_new_started(1);

	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LATE, 949000);
	driver_fault(d, A, OPERATION_RELEASE, FAULT_LOSE_BEFORE, 0);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 951000);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 1);
	driver_run_until(d, 1006000);
	driver_check(d, driver_count(d, A, OPERATION_RELEASE) == 1);
	driver_check(d, doubts(d, A) == 0);
	driver_run_until(d, 1020000);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A full list of doubts: grants go to a new session, and the old one is closed
 * when its last hold ends, which is renewed until then. */
START_TEST(test_full_list_opens_a_new_session)
{
	struct driver *d = driver_new(1, 1);
	unsigned i;

	d->limits.doubts_max = 6;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "old");
	driver_run_until(d, 2000);
	for (i = 0; i < 4; i++)
		driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_BEFORE, 0);
	driver_try(d, driver_connect(d, A), "jobs/1");
	driver_try(d, 2, "jobs/2");
	driver_try(d, 2, "jobs/3");
	driver_try(d, 2, "jobs/4");
	driver_run_until(d, 9000);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_OPEN) == 2);
	driver_try(d, 2, "new");
	driver_run_until(d, 60000);
	driver_check(d, driver_holds(d, 1, "old"));
	driver_check(d, driver_holds(d, 2, "new"));
	driver_check(d, !model_named_session(&d->net.store, "A1")->dead);
	driver_release(d, 1, "old");
	driver_run(d, 1000);
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_check(d, doubts(d, A) == 0);
	driver_check(d, driver_holds(d, 2, "new"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Client 1 has "old" under A's first session, which retires at 7 s since client
 * 2 has filled the list of doubts. */
static struct driver *
doubt_new_session(void)
{
	struct driver *d = driver_new(1, 1);
	unsigned i;

	d->limits.doubts_max = 4;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "old");
	driver_run_until(d, 2000);
	for (i = 0; i < 2; i++)
		driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_BEFORE, 0);
	driver_try(d, driver_connect(d, A), "jobs/1");
	driver_try(d, 2, "jobs/2");
	driver_run_until(d, 9000);
	return d;
}

/* Who waits here for what the old session has gets it under the new one: handed
 * on, it would keep the old one for ever. */
START_TEST(test_full_list_hands_nothing_on)
{
	struct driver *d = doubt_new_session();

	driver_check(d, driver_count(d, A, OPERATION_SESSION_OPEN) == 2);
	driver_acquire(d, driver_connect(d, A), "old", DRIVER_FOREVER);
	driver_run_until(d, 20000);
	driver_release(d, 1, "old");
	driver_run(d, 1000);
	driver_check(d, driver_holds(d, 3, "old"));
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Two sessions have holds, and neither is renewed any more. Clients hear of the
 * end that comes first; when it has come, of the other one. */
START_TEST(test_two_sessions_and_silence)
{
	struct driver *d = doubt_new_session();

	driver_try(d, 2, "new");
	driver_run_until(d, 30000);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_OPEN) == 2);
	driver_skip(d);
	driver_cut(d, A, 30000);
	driver_run_until(d, 50000);
	driver_expect(d, TRACE_NOTICE,
	    "[ 35000] A c1 danger old remaining 9000 UNREACHABLE\n"
	    "[ 37000] A c2 danger new remaining 9000 UNREACHABLE\n"
	    "[ 44000] A c1 lost old expired\n"
	    "[ 46000] A c2 lost new expired\n");
	driver_check(d, trace_count(&d->trace, d->mark, "*renewed*") == 0);
	driver_run_until(d, 70000);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A release in doubt: the client is told, and the record is cleared. */
START_TEST(test_unknown_release)
{
	struct driver *d = driver_new_started(1);

	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_fault(d, A, OPERATION_RELEASE, FAULT_LOSE_BEFORE, 0);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	/* A submitted release is final, for local clients too. */
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_skip(d);
	driver_run_until(d, 9000);
	driver_expect(d, TRACE_REPLY,
	    "[  7000] A c1 release jobs/x: UNREACHABLE\n"
	    "[*] A c2 grant jobs/x +101 remaining *\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Another operation of the lock is under way, and both it and the release meet
 * silence: the client does not wait for the two of them. */
START_TEST(test_release_behind_another_operation)
{
	struct driver *d = driver_new(1, 1);

	d->namespaces[0].handover_max = 1;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_fault(d, A, OPERATION_EXTEND, FAULT_LOSE_BEFORE, 0);
	driver_fault(d, A, OPERATION_RELEASE, FAULT_LOSE_BEFORE, 0);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3000);
	driver_cancel(d, 2, "jobs/x");
	driver_skip(d);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 12000);
	driver_expect(d, TRACE_STORE | TRACE_REPLY,
	    "[  7000] A < extend jobs/x unknown\n"
	    "[*] A > release jobs/x\n"
	    "[  8000] A c1 release jobs/x: UNREACHABLE*\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_unknown_acquire_is_there,
		test_unknown_acquire_is_not_there,
		test_try_meets_silence,
		test_orphan_that_lands_late,
		test_first_attempt_lands_after_the_release,
		test_first_attempt_lands_in_vain,
		test_wish_that_lands_late,
		test_doubt_ends,
		test_doubt_of_a_long_hold_ends,
		test_orphan_of_the_last_look,
		test_full_list_opens_a_new_session,
		test_full_list_hands_nothing_on,
		test_two_sessions_and_silence,
		test_unknown_release,
		test_release_behind_another_operation,
		NULL,
	};

	return suite_run("doubt", tests);
}
