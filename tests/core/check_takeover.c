/*
 * Other hosts' sessions: watched for a lease and the drift, killed or buried,
 * and only then is anything taken from them.
 */
#include "driver.h"
#include "suite.h"

#include "ddblock.h"

#define OBSERVE_MS 20200	/* a lease, stretched by the drift */

/* c1 on A holds jobs/x; its host never sends a renewal, and is gone at 3000.
 * B's c2 asks at 4000 and has seen A's session at 4020. */
static struct driver *
takeover_new(uint64_t wait_ms)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 3000);
	driver_kill(d, A);
	driver_run_until(d, 4000);
	driver_skip(d);
	driver_acquire(d, driver_connect(d, B), "jobs/x", wait_ms);
	return d;
}

START_TEST(test_observe_kill_take)
{
	struct driver *d = takeover_new(DRIVER_FOREVER);

	driver_run_until(d, 4030);
	driver_expect(d, TRACE_ALL,
	    "[  4000] B c2 acquire jobs/x\n"
	    "[  4000] B > acquire jobs/x\n"
	    "[  4010] B < acquire jobs/x conflict\n"
	    "[  4010] B > want jobs/x B1\n"
	    "[  4010] B > look A1\n"
	    "[  4020] B < want jobs/x B1 done\n"
	    "[  4020] B < look A1 done\n");
	driver_run_until(d, 4020 + OBSERVE_MS - 1);
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 0);
	driver_skip(d);
	driver_run_until(d, 4020 + OBSERVE_MS + 20);
	driver_expect(d, TRACE_ALL & ~TRACE_BEAT,
	    "[ 24220] B > kill A1\n"
	    "[ 24230] B < kill A1 done\n"
	    "[ 24230] B > acquire jobs/x from A1\n"
	    "[ 24240] B < acquire jobs/x from A1 done\n"
	    "[ 24240] B c2 grant jobs/x +101 remaining *\n");
	/* The wish went with the grant. */
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* However many locks: one kill, and each is taken. */
START_TEST(test_one_kill_for_all)
{
	struct driver *d = driver_new(1, 2);
	static const char *const keys[] = { "a", "b", "c" };
	size_t i;

	driver_start(d);
	(void)driver_connect(d, A);
	(void)driver_connect(d, B);
	for (i = 0; i < 3; i++)
		driver_try(d, 1, keys[i]);
	driver_run_until(d, 3000);
	driver_kill(d, A);
	for (i = 0; i < 3; i++)
		driver_acquire(d, 2, keys[i], DRIVER_FOREVER);
	driver_run_until(d, 3020 + OBSERVE_MS + 30);
	for (i = 0; i < 3; i++)
		driver_check(d, driver_holds(d, 2, keys[i]));
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A beat that was on its way arrives just before the kill. */
START_TEST(test_beat_beats_kill)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_fault(d, A, OPERATION_SESSION_BEAT, FAULT_LATE, 19222);
	driver_run_until(d, 4000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 6000);
	driver_kill(d, A);
	driver_run_until(d, 24000);
	driver_skip(d);
	driver_run_until(d, 24240);
	driver_expect(d, TRACE_ALL & ~TRACE_BEAT,
	    "[ 24220] B > kill A1\n"
	    "[ 24222] A * beat A1 lands late\n"
	    "[ 24230] B < kill A1 conflict\n");
	/* It counts anew from when the new beat was seen. */
	driver_run_until(d, 24230 + OBSERVE_MS - 1);
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 1);
	driver_run_until(d, 24230 + OBSERVE_MS + 30);
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 2);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A beat that arrives after the kill fails: dead is for ever. */
START_TEST(test_dead_session_is_never_revived)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_fault(d, A, OPERATION_SESSION_BEAT, FAULT_LATE, 25000);
	driver_run_until(d, 4000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 6000);
	driver_pause(d, A, 40000);
	driver_run_until(d, 24300);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_skip(d);
	driver_run_until(d, 50000);
	driver_expect(d, TRACE_LATE | TRACE_NOTICE,
	    "[ 30000] A * beat A1 lands late, in vain\n"
	    "[ 46000] A c1 lost jobs/x expired\n");
	driver_check(d, model_named_session(&d->net.store, "A1")->dead);
	driver_check(d, model_named_session(&d->net.store, "A2")->exists);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 52000);
	driver_release(d, 2, "jobs/x");
	driver_run(d, 1100);
	driver_check(d, driver_holds(d, 3, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

static struct driver *
takeover_absent(void)
{
	struct driver *d = driver_new(1, 1);
	struct ident ident = { 7, 7 };

	driver_start(d);
	(void)model_name_session(&d->net.store, ident, "X1", -1);
	(void)model_plant_lock(&d->net.store, 0, "jobs/x", ident, 20000);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	return d;
}

/* An absent session proves nothing: wait, bury, take. */
START_TEST(test_absent_wait_bury_take)
{
	struct driver *d = takeover_absent();

	driver_run_until(d, 2020 + OBSERVE_MS - 1);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_BURY) == 0);
	driver_skip(d);
	driver_run_until(d, 2020 + OBSERVE_MS + 30);
	driver_expect(d, TRACE_ALL & ~TRACE_BEAT,
	    "[ 22220] A > bury X1\n"
	    "[ 22230] A < bury X1 done\n"
	    "[ 22230] A > acquire jobs/x from X1\n"
	    "[ 22240] A < acquire jobs/x from X1 done\n"
	    "[ 22240] A c1 grant jobs/x +2 remaining *\n");
	driver_check(d, model_named_session(&d->net.store, "X1")->dead);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Its delayed open arrives after all: it lives, and is counted anew. */
START_TEST(test_absent_then_opened)
{
	struct driver *d = takeover_absent();
	struct model_session *m;

	driver_run_until(d, 22221);
	m = model_named_session(&d->net.store, "X1");
	m->exists = true;
	m->lease_ms = 20000;
	driver_skip(d);
	driver_run_until(d, 22230 + OBSERVE_MS - 1);
	driver_expect(d, TRACE_TOLD, "");
	driver_run_until(d, 22230 + OBSERVE_MS + 30);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_BURY) == 1);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_KILL) == 1);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_free(d);
}
END_TEST

/* The lease of what is absent is the one in the holder's element. */
START_TEST(test_absent_with_a_longer_lease)
{
	struct driver *d = driver_new(1, 1);
	struct ident ident = { 7, 7 };

	driver_start(d);
	(void)model_name_session(&d->net.store, ident, "X1", -1);
	(void)model_plant_lock(&d->net.store, 0, "jobs/x", ident, 60000);
	driver_run_until(d, 2000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 2020 + 60600 - 1);
	driver_check(d, driver_count(d, A, OPERATION_SESSION_BURY) == 0);
	driver_run_until(d, 2020 + 60600 + 30);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_free(d);
}
END_TEST

/* Whoever asked has gone, but what was seen has not been forgotten. */
START_TEST(test_newcomer_takes_from_a_corpse_at_once)
{
	struct driver *d = takeover_new(5000);

	driver_run_until(d, 60000);
	driver_check(d, d->clients[2].code == DDBLOCK_E_ACQUIRE_TIMEOUT);
	driver_skip(d);
	driver_try(d, driver_connect(d, B), "jobs/x");
	driver_run_until(d, 60100);
	driver_expect(d, TRACE_TOLD,
	    "[*] B c3 grant jobs/x +101 remaining *\n");
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A try on a session that was never watched has nothing to go by. */
START_TEST(test_newcomer_who_saw_nothing)
{
	struct driver *d = takeover_new(5000);

	driver_run_until(d, 60000);
	driver_skip(d);
	driver_try(d, driver_connect(d, C), "jobs/x");
	driver_run_until(d, 60100);
	driver_expect(d, TRACE_TOLD,
	    "[*] C c3 acquire jobs/x: LOCK_BUSY held +100 by A/c1*\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A holder that beats is never taken from. */
START_TEST(test_living_session_is_left_alone)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 200000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_check(d, driver_count(d, B, OPERATION_SESSION_KILL) == 0);
	driver_skip(d);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 201020);
	driver_expect(d, TRACE_REPLY,
	    "[200010] A c1 release jobs/x: OK\n"
	    "[*] B c2 grant jobs/x +101 remaining *\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Room for one observation only: the holder's is kept, whoever else wishes. */
START_TEST(test_little_room_for_observations)
{
	struct driver *d = driver_new(1, 3);

	d->limits.observations_max = 1;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 3000);
	driver_kill(d, A);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, C), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3020 + OBSERVE_MS + 1000);
	driver_check(d, driver_holds(d, 2, "jobs/x") ||
	    driver_holds(d, 3, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Two wait for the same corpse: one takes, the other goes on waiting. */
START_TEST(test_two_observers)
{
	struct driver *d = takeover_new(DRIVER_FOREVER);

	driver_acquire(d, driver_connect(d, C), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 30000);
	driver_check(d, driver_holds(d, 2, "jobs/x") !=
	    driver_holds(d, 3, "jobs/x"));
	driver_disconnect(d, driver_holds(d, 2, "jobs/x") ? 2 : 3);
	driver_run(d, 1100);
	driver_check(d, driver_holds(d, 2, "jobs/x") ||
	    driver_holds(d, 3, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The owner's clock is as slow as it may be, the observer's as fast: it is
 * told of the loss before the other may take, all the same. */
START_TEST(test_drifting_clocks)
{
	struct driver *d = driver_new(1, 2);
	struct fault fault = { .host = A, .kind = OPERATION_SESSION_BEAT,
		.count = 1000, .fault = FAULT_LOSE_BEFORE };

	d->net.hosts[A].rate_ppm = -5000;
	d->net.hosts[B].rate_ppm = 5000;
	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 4000);
	/* It loses its session, and cannot even close it. */
	net_add_fault(&d->net, &fault);
	fault.kind = OPERATION_SESSION_CLOSE;
	net_add_fault(&d->net, &fault);
	driver_skip(d);
	driver_run_until(d, 25000);
	driver_expect(d, TRACE_TOLD,
	    "[*] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 19096] A c1 lost jobs/x expired\n"
	    "[ 21*] B c2 grant jobs/x +101 remaining *\n");
	driver_free(d);
}
END_TEST

/*
 * The bound: a holder that is gone, a store that answers, somebody who keeps
 * waiting: granted within a lease and the drift, and a poll period (and a few
 * round trips).
 */
START_TEST(test_bound_of_a_takeover)
{
	uint64_t seed;

	for (seed = 1; seed <= 100; seed++) {
		struct driver *d = driver_new(seed, 2);
		uint64_t killed_at;

		driver_start(d);
		driver_try(d, driver_connect(d, A), "jobs/x");
		driver_run(d, net_random(&d->net, 3000));
		driver_acquire(d, driver_connect(d, B), "jobs/x",
		    DRIVER_FOREVER);
		driver_run_until(d, 20000 + net_random(&d->net, 10000));
		driver_kill(d, A);
		killed_at = d->now;
		driver_run(d, OBSERVE_MS + 2000);
		driver_check(d, driver_holds(d, 2, "jobs/x"));
		driver_check(d, driver_hold(d, 2, "jobs/x")->since <=
		    killed_at + OBSERVE_MS + 1000 + 60);
		driver_free(d);
	}
}
END_TEST

/* The same host, restarted: its former session is as foreign as any. */
START_TEST(test_restarted_host_waits_for_itself)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 3000);
	driver_kill(d, A);
	driver_boot(d, A);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3030 + OBSERVE_MS - 1);
	driver_check(d, !driver_holds(d, 2, "jobs/x"));
	driver_run_until(d, 3030 + OBSERVE_MS + 30);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* When the holder's lease ends, as this host knows it: its own, of a host that
 * it watches, of one that is dead. */
START_TEST(test_when_the_lease_ends)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	d->tells_leases = true;
	driver_try(d, driver_connect(d, A), "jobs/x");
	driver_run_until(d, 1500);
	driver_get(d, 1, "jobs/x");
	driver_get(d, driver_connect(d, B), "jobs/x");
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_get(d, 2, "jobs/x");
	driver_run_until(d, 7000);		/* A has renewed it */
	driver_get(d, 1, "jobs/x");
	driver_get(d, 2, "jobs/x");
	driver_run_until(d, 7100);
	driver_kill(d, A);
	driver_try(d, driver_connect(d, C), "jobs/x");	/* looks once */
	driver_run_until(d, 25430);
	driver_get(d, 2, "jobs/x");
	driver_get(d, 3, "jobs/x");
	driver_run_until(d, 25441);
	driver_disconnect(d, 2);
	driver_run_until(d, 46000);
	driver_get(d, driver_connect(d, B), "jobs/x");
	driver_run_until(d, 47000);
	driver_expect(d, TRACE_TOLD,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1500] A c1 get jobs/x: OK held +1 by c1 here"
	    " ends in 18500 renewed 1019000\n"
	    "[  1510] B c2 get jobs/x: OK held +100 by A/c1\n"
	    "[  2010] B c2 get jobs/x: OK held +100 by A/c1 unchanged 490"
	    " ends in 19710 renewed 0\n"
	    "[  7000] A c1 get jobs/x: OK held +1 by c1 here"
	    " ends in 18000 renewed 1024000\n"
	    "[  7010] B c2 get jobs/x: OK held +100 by A/c1 unchanged 1759"
	    " ends in 18441 renewed 1005000\n"
	    "[  7110] C c3 acquire jobs/x: LOCK_BUSY held +100 by A/c1\n"
	    "[ 25440] B c2 get jobs/x: OK held +100 by A/c1 unchanged 20189"
	    " ends in 11 renewed 1005000\n"
	    "[ 25440] C c3 get jobs/x: OK held +100 by A/c1"
	    " unchanged 18320\n"
	    "[ 46010] B c4 get jobs/x: OK dead +100 by A/c1 unchanged 40759"
	    " ends in 0 renewed 1005000\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_observe_kill_take,
		test_one_kill_for_all,
		test_beat_beats_kill,
		test_dead_session_is_never_revived,
		test_absent_wait_bury_take,
		test_absent_then_opened,
		test_absent_with_a_longer_lease,
		test_newcomer_takes_from_a_corpse_at_once,
		test_newcomer_who_saw_nothing,
		test_living_session_is_left_alone,
		test_little_room_for_observations,
		test_two_observers,
		test_drifting_clocks,
		test_bound_of_a_takeover,
		test_restarted_host_waits_for_itself,
		test_when_the_lease_ends,
		NULL,
	};

	return suite_run("takeover", tests);
}
