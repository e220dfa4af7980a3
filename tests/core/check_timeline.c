/*
 * The timeline of a lease: renewal, danger, safety, loss, each at its moment.
 * A host's session is opened at 0, so its renewals are sent at 5000, 10000...
 */
#include "driver.h"
#include "suite.h"

#include "ddblock.h"

/* A host with a client that holds jobs/x since 1010. */
static struct driver *
timeline_new(void)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 2000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	return d;
}

static void
timeline_lose_beats(struct driver *d)
{
	struct fault fault = { .host = A, .kind = OPERATION_SESSION_BEAT,
		.count = 1000, .fault = FAULT_LOSE_BEFORE };

	net_add_fault(&d->net, &fault);
}

START_TEST(test_session_opens_first)
{
	struct driver *d = driver_new(1, 1);

	driver_boot(d, A);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 4999);
	driver_expect(d, TRACE_ALL,
	    "[     0] A > open A1\n"
	    "[     0] A c1 try jobs/x\n"
	    "[    10] A < open A1 done\n"
	    "[    10] A > acquire jobs/x\n"
	    "[    20] A < acquire jobs/x done\n"
	    "[    20] A c1 grant jobs/x +1 remaining 18980\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_renewal_is_sent_at_a_quarter)
{
	struct driver *d = timeline_new();

	driver_skip(d);
	driver_run_until(d, 16000);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[  5010] A < beat A1 done\n"
	    "[  5010] A renewed remaining 18990\n"
	    "[ 10000] A > beat A1\n"
	    "[ 10010] A < beat A1 done\n"
	    "[ 10010] A renewed remaining 18990\n"
	    "[ 15000] A > beat A1\n"
	    "[ 15010] A < beat A1 done\n"
	    "[ 15010] A renewed remaining 18990\n");
	driver_free(d);
}
END_TEST

START_TEST(test_lease_counts_from_the_send)
{
	struct driver *d = timeline_new();

	d->net.attempt_ms = 4000;
	driver_fault(d, A, OPERATION_SESSION_BEAT, FAULT_DELAY_ANSWER, 3000);
	driver_fault(d, A, OPERATION_SESSION_BEAT, FAULT_DELAY, 2995);
	driver_skip(d);
	driver_run_until(d, 14000);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[  8000] A < beat A1 done\n"
	    "[  8000] A renewed remaining 16000\n"
	    "[ 10000] A > beat A1\n"
	    "[ 13000] A < beat A1 done\n"
	    "[ 13000] A renewed remaining 16000\n");
	driver_free(d);
}
END_TEST

START_TEST(test_danger_then_safe)
{
	struct driver *d = timeline_new();

	driver_run_until(d, 6000);
	driver_skip(d);
	driver_cut(d, A, 10000);
	driver_run_until(d, 22000);
	driver_expect(d, TRACE_ALL,
	    "[  6000] A cut off\n"
	    "[ 10000] A > beat A1\n"
	    "[ 15000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 16010] A < beat A1 done\n"
	    "[ 16010] A renewed remaining 18990\n"
	    "[ 16010] A c1 safe jobs/x remaining 18990\n"
	    "[ 21000] A > beat A1\n"
	    "[ 21010] A < beat A1 done\n"
	    "[ 21010] A renewed remaining 18990\n");
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_lost_at_lease_less_margin)
{
	struct driver *d = timeline_new();

	timeline_lose_beats(d);
	driver_skip(d);
	driver_run_until(d, 23999);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[ 10000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 19000] A < beat A1 unknown\n"
	    "[ 19000] A c1 lost jobs/x expired\n"
	    "[ 19000] A > open A2\n"
	    "[ 19010] A < open A2 done\n"
	    "[ 20000] A > close A1\n"
	    "[ 20010] A < close A1 done\n");
	driver_check(d, d->hosts[A].core != NULL);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The daemon was stopped; the answer lay there, and even says that the lease
 * goes on: but the client was on its own and had to stop. */
START_TEST(test_lost_is_final)
{
	struct driver *d = timeline_new();

	driver_run_until(d, 5005);
	driver_skip(d);
	driver_pause(d, A, 15000);
	driver_run_until(d, 30000);
	driver_expect(d, TRACE_TOLD,
	    "[ 20005] A c1 lost jobs/x expired\n");
	driver_check(d, driver_count(d, A, OPERATION_SESSION_OPEN) == 2);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_renew_on_request)
{
	struct driver *d = timeline_new();

	driver_skip(d);
	driver_renew(d, 1, "jobs/x");
	driver_run_until(d, 2300);
	driver_renew(d, 1, "jobs/x");		/* fresh: from memory */
	driver_run_until(d, 8000);
	driver_expect(d, TRACE_ALL,
	    "[  2000] A c1 renew jobs/x\n"
	    "[  2000] A > beat A1\n"
	    "[  2010] A < beat A1 done\n"
	    "[  2010] A renewed remaining 18990\n"
	    "[  2010] A c1 renew jobs/x: OK remaining 18990\n"
	    "[  2300] A c1 renew jobs/x\n"
	    "[  2300] A c1 renew jobs/x: OK remaining 18700\n"
	    "[  7000] A > beat A1\n"
	    "[  7010] A < beat A1 done\n"
	    "[  7010] A renewed remaining 18990\n");
	driver_free(d);
}
END_TEST

/* The first attempt never arrived: the lease counts from the second. */
START_TEST(test_renewal_of_the_second_attempt)
{
	struct driver *d = timeline_new();
	struct fault fault = { .host = A, .kind = OPERATION_SESSION_BEAT,
		.fault = FAULT_LOSE_BEFORE, .retry_ms = 2000 };

	net_add_fault(&d->net, &fault);
	driver_skip(d);
	driver_run_until(d, 12500);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[  7010] A < beat A1 done\n"
	    "[  7010] A renewed remaining 18990\n"
	    "[ 12000] A > beat A1\n"
	    "[ 12010] A < beat A1 done\n"
	    "[ 12010] A renewed remaining 18990\n");
	driver_free(d);
}
END_TEST

/* The second attempt was lost; the first one's late answer counts from the
 * first send. */
START_TEST(test_renewal_of_the_first_attempt)
{
	struct driver *d = timeline_new();
	struct fault fault = { .host = A, .kind = OPERATION_SESSION_BEAT,
		.fault = FAULT_DELAY_ANSWER, .ms = 7000, .retry_ms = 6000 };

	net_add_fault(&d->net, &fault);
	driver_run_until(d, 10999);
	driver_skip(d);
	driver_cut(d, A, 6);
	driver_run_until(d, 12500);
	driver_expect(d, TRACE_ALL,
	    "[ 10999] A cut off\n"
	    "[ 12000] A < beat A1 done\n"
	    "[ 12000] A renewed remaining 12000\n"
	    "[ 12000] A c1 safe jobs/x remaining 12000\n"
	    "[ 12000] A > beat A1\n"
	    "[ 12010] A < beat A1 done\n"
	    "[ 12010] A renewed remaining 18990\n");
	driver_free(d);
}
END_TEST

/* What has been released meanwhile was not renewed. */
START_TEST(test_renewal_of_a_released_lock)
{
	struct driver *d = timeline_new();

	driver_fault(d, A, OPERATION_SESSION_BEAT, FAULT_DELAY_ANSWER, 900);
	driver_renew(d, 1, "jobs/x");
	driver_run_until(d, 2100);
	driver_release(d, 1, "jobs/x");
	driver_skip(d);
	driver_run_until(d, 4000);
	driver_expect(d, TRACE_REPLY,
	    "[  2110] A c1 release jobs/x: OK\n"
	    "[  2900] A c1 renew jobs/x: NO_SUCH_LOCK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_request_for_renewal_meets_silence)
{
	struct driver *d = timeline_new();

	timeline_lose_beats(d);
	driver_skip(d);
	driver_renew(d, 1, "jobs/x");
	driver_run_until(d, 9000);
	driver_expect(d, TRACE_TOLD,
	    "[  7000] A c1 renew jobs/x: UNREACHABLE\n");
	driver_free(d);
}
END_TEST

/* Refused beats are repeated to the end, and the last one saves the lease. */
START_TEST(test_refused_renewals_are_repeated)
{
	struct driver *d = timeline_new();

	driver_down(d, A, 14000);
	driver_skip(d);
	driver_run_until(d, 25000);
	driver_expect(d, TRACE_TOLD,
	    "[ 10000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[*] A c1 safe jobs/x remaining 18990\n");
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, driver_count(d, A, OPERATION_SESSION_BEAT) >= 10);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Somebody declared this host dead: it learns that with its next beat. */
START_TEST(test_killed_session_is_lost_at_once)
{
	struct driver *d = timeline_new();
	struct model_session *m = model_named_session(&d->net.store, "A1");

	m->dead = true;
	driver_skip(d);
	driver_run_until(d, 8000);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[  5010] A < beat A1 conflict\n"
	    "[  5010] A c1 lost jobs/x expired\n"
	    "[  5010] A > open A2\n"
	    "[  5020] A < open A2 done\n"
	    "[  6010] A > close A1\n"
	    "[  6020] A < close A1 done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

START_TEST(test_deleted_session_is_lost_at_once)
{
	struct driver *d = timeline_new();

	model_delete_session(&d->net.store, "A1");
	driver_skip(d);
	driver_run_until(d, 8000);
	driver_expect(d, TRACE_ALL,
	    "[  5000] A > beat A1\n"
	    "[  5010] A < beat A1 conflict\n"
	    "[  5010] A c1 lost jobs/x expired\n"
	    "[  5010] A > open A2\n"
	    "[  5020] A < open A2 done\n"
	    "[  6010] A > close A1\n"
	    "[  6020] A < close A1 conflict\n");
	driver_free(d);
}
END_TEST

/* The grant was made under a session that ended before the answer came. */
START_TEST(test_grant_of_a_lost_session_is_given_back)
{
	struct driver *d = timeline_new();

	timeline_lose_beats(d);
	driver_run_until(d, 17500);
	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_DELAY_ANSWER, 2000);
	driver_skip(d);
	driver_acquire(d, driver_connect(d, A), "jobs/y", DRIVER_FOREVER);
	driver_run_until(d, 19400);
	driver_expect(d, TRACE_TOLD,
	    "[ 19000] A c1 lost jobs/x expired\n");
	driver_run_until(d, 24500);
	driver_check(d, driver_holds(d, 2, "jobs/y"));
	/* Not the grant of the first acquire. */
	driver_check(d, driver_hold(d, 2, "jobs/y")->token >
	    driver_lock(d, "jobs/y")->base + 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_session_opens_first,
		test_renewal_is_sent_at_a_quarter,
		test_lease_counts_from_the_send,
		test_danger_then_safe,
		test_lost_at_lease_less_margin,
		test_lost_is_final,
		test_renew_on_request,
		test_renewal_of_the_second_attempt,
		test_renewal_of_the_first_attempt,
		test_renewal_of_a_released_lock,
		test_request_for_renewal_meets_silence,
		test_refused_renewals_are_repeated,
		test_killed_session_is_lost_at_once,
		test_deleted_session_is_lost_at_once,
		test_grant_of_a_lost_session_is_given_back,
		NULL,
	};

	return suite_run("timeline", tests);
}
