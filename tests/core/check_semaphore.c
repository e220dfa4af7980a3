/*
 * Semaphores: each who holds one has an element of its own in the record, and
 * all ask within the same limit.
 */
#include "driver.h"
#include "suite.h"

#define SEMAPHORE_ALL (TRACE_ALL & ~TRACE_BEAT)

/* A new client asks; they are numbered from 1. */
static void
semaphore_ask(struct driver *d, unsigned host, uint32_t limit, uint64_t wait_ms)
{
	driver_share(d, driver_connect(d, host), "jobs/x", limit, wait_ms);
}

/* Each holder of a semaphore has its own element, which is passed on here
 * without a write. */
START_TEST(test_here)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	semaphore_ask(d, A, 2, 0);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 2100);
	driver_release(d, 3, "jobs/x");
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 2200);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  1000] A c1 acquire jobs/x shared by 2\n"
	    "[  1000] A > acquire jobs/x shared by 2\n"
	    "[  1000] A c2 acquire jobs/x shared by 2\n"
	    "[  1000] A c3 acquire jobs/x shared by 2\n"
	    "[  1010] A < acquire jobs/x shared by 2 done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1010] A > acquire jobs/x shared by 2\n"
	    "[  1020] A < acquire jobs/x shared by 2 done\n"
	    "[  1020] A c2 grant jobs/x +2 remaining 17980\n"
	    "[  2000] A c4 try jobs/x shared by 2\n"
	    "[  2000] A c4 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n"
	    "[  2000] A c1 release jobs/x\n"
	    "[  2000] A c3 grant jobs/x +1 remaining 17000\n"
	    "[  2000] A c1 release jobs/x: OK\n"
	    "[  2100] A c3 release jobs/x\n"
	    "[  2100] A > release jobs/x\n"
	    "[  2100] A c2 release jobs/x\n"
	    "[  2110] A < release jobs/x done\n"
	    "[  2110] A c3 release jobs/x: OK\n"
	    "[  2110] A > release jobs/x\n"
	    "[  2120] A < release jobs/x done\n"
	    "[  2120] A c2 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A semaphore that other hosts fill: who waits wishes for shared use, and gets
 * the slot that becomes free. */
START_TEST(test_elsewhere)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 2, DRIVER_FOREVER);
	driver_run_until(d, 1200);
	semaphore_ask(d, B, 2, 0);
	semaphore_ask(d, B, 2, DRIVER_FOREVER);
	driver_run_until(d, 1300);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  1000] A c1 acquire jobs/x shared by 2\n"
	    "[  1000] A > acquire jobs/x shared by 2\n"
	    "[  1010] A < acquire jobs/x shared by 2 done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1100] B c2 acquire jobs/x shared by 2\n"
	    "[  1100] B > acquire jobs/x shared by 2\n"
	    "[  1110] B < acquire jobs/x shared by 2 done\n"
	    "[  1110] B c2 grant jobs/x +2 remaining 17890\n"
	    "[  1110] B > look A1\n"
	    "[  1120] B < look A1 done\n"
	    "[  1200] B c3 try jobs/x shared by 2\n"
	    "[  1200] B > acquire jobs/x shared by 2\n"
	    "[  1200] B c4 acquire jobs/x shared by 2\n"
	    "[  1210] B < acquire jobs/x shared by 2 conflict\n"
	    "[  1210] B c3 acquire jobs/x: LOCK_BUSY held +2 by c2 here\n"
	    "[  1210] B > want jobs/x shared B1\n"
	    "[  1220] B < want jobs/x shared B1 done\n"
	    "[  1300] A c1 release jobs/x\n"
	    "[  1300] A > release jobs/x\n"
	    "[  1310] A < release jobs/x done\n"
	    "[  1310] A c1 release jobs/x: OK\n"
	    "[  1310] A > look B1\n"
	    "[  1320] A < look B1 done\n"
	    "[  2051] B > look A1\n"
	    "[  2061] B < look A1 done\n"
	    "[  2150] B > read jobs/x\n"
	    "[  2160] B < read jobs/x done\n"
	    "[  2160] B > acquire jobs/x shared by 2\n"
	    "[  2170] B < acquire jobs/x shared by 2 done\n"
	    "[  2170] B c4 grant jobs/x +3 remaining 16830\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A try gets the last slot: that the record is full now is its own doing. */
START_TEST(test_try_of_the_last_slot)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 2, 0);
	driver_run_until(d, 1200);
	driver_expect(d, TRACE_REPLY,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1110] B c2 grant jobs/x +2 remaining 17890\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A host that passes its slots on does not keep them from others for ever. */
START_TEST(test_run_ends_for_a_foreign_wish)
{
	struct driver *d = driver_new(1, 2);
	unsigned i;

	d->namespaces[0].handover_max = 3;
	driver_start(d);
	for (i = 0; i < 6; i++)
		semaphore_ask(d, A, 1, DRIVER_FOREVER);
	driver_run_until(d, 1500);
	semaphore_ask(d, B, 1, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	for (i = 1; i <= 3; i++) {
		driver_release(d, i, "jobs/x");
		driver_run(d, 100);
	}
	driver_run_until(d, 3300);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  2000] A c1 release jobs/x\n"
	    "[  2000] A c2 grant jobs/x +1 remaining 17000\n"
	    "[  2000] A c1 release jobs/x: OK\n"
	    "[  2100] A c2 release jobs/x\n"
	    "[  2100] A c3 grant jobs/x +1 remaining 16900\n"
	    "[  2100] A c2 release jobs/x: OK\n"
	    "[  2200] A c3 release jobs/x\n"
	    "[  2200] A c3 release jobs/x: OK\n"
	    "[  2200] A > read jobs/x\n"
	    "[  2210] A < read jobs/x done\n"
	    "[  2210] A > release jobs/x\n"
	    "[  2210] A > look B1\n"
	    "[  2220] A < release jobs/x done\n"
	    "[  2220] A < look B1 done\n"
	    "[  2429] B > read jobs/x\n"
	    "[  2439] B < read jobs/x done\n"
	    "[  2439] B > acquire jobs/x shared by 1\n"
	    "[  2449] B < acquire jobs/x shared by 1 done\n"
	    "[  2449] B c7 grant jobs/x +2 remaining 16551\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Another limit than the one in force: a try is told who is there, and who
 * waits, waits like for exclusive use, and keeps its place until it is in. */
START_TEST(test_another_limit)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 3, 0);
	driver_run_until(d, 1200);
	semaphore_ask(d, B, 3, DRIVER_FOREVER);
	driver_run_until(d, 1300);
	/* Nobody joins those whom B waits for. */
	semaphore_ask(d, A, 0, 0);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 1400);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 3000);
	driver_check(d, driver_lock(d, "jobs/x")->limit == 3);
	driver_check(d, driver_lock(d, "jobs/x")->n_exclusive_wishes == 0);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  1000] A c1 acquire jobs/x shared by 2\n"
	    "[  1000] A > acquire jobs/x shared by 2\n"
	    "[  1010] A < acquire jobs/x shared by 2 done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1100] B c2 try jobs/x shared by 3\n"
	    "[  1100] B > acquire jobs/x shared by 3\n"
	    "[  1110] B < acquire jobs/x shared by 3 conflict\n"
	    "[  1110] B c2 acquire jobs/x: WRONG_LIMIT held +1 by A/c1\n"
	    "[  1110] B > look A1\n"
	    "[  1120] B < look A1 done\n"
	    "[  1200] B c3 acquire jobs/x shared by 3\n"
	    "[  1200] B > acquire jobs/x shared by 3\n"
	    "[  1210] B < acquire jobs/x shared by 3 conflict\n"
	    "[  1210] B > want jobs/x B1\n"
	    "[  1220] B < want jobs/x B1 done\n"
	    "[  1300] A c4 try jobs/x shared\n"
	    "[  1300] A c4 acquire jobs/x: WRONG_LIMIT held +1 by c1 here\n"
	    "[  1300] A c5 try jobs/x shared by 2\n"
	    "[  1300] A > acquire jobs/x shared by 2\n"
	    "[  1310] A < acquire jobs/x shared by 2 conflict\n"
	    "[  1310] A c5 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n"
	    "[  1310] A > look B1\n"
	    "[  1320] A < look B1 done\n"
	    "[  1400] A c1 release jobs/x\n"
	    "[  1400] A > release jobs/x\n"
	    "[  1410] A < release jobs/x done\n"
	    "[  1410] A c1 release jobs/x: OK\n"
	    "[  2029] B > look A1\n"
	    "[  2039] B < look A1 done\n"
	    "[  2142] B > read jobs/x\n"
	    "[  2152] B < read jobs/x done\n"
	    "[  2152] B > acquire jobs/x shared by 3\n"
	    "[  2162] B < acquire jobs/x shared by 3 done\n"
	    "[  2162] B c3 grant jobs/x +2 remaining 16838\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who runs out of time because of it is told so; who only stood behind is not,
 * and neither is who would have it alone. */
START_TEST(test_time_out_for_another_limit)
{
	struct driver *d = driver_new(1, 1);
	unsigned alone;

	driver_start(d);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 1100);
	semaphore_ask(d, A, 3, 200);
	semaphore_ask(d, A, 2, 100);
	alone = driver_connect(d, A);
	driver_acquire(d, alone, "jobs/x", 300);
	driver_run_until(d, 1500);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 2000);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  1000] A c1 acquire jobs/x shared by 2\n"
	    "[  1000] A > acquire jobs/x shared by 2\n"
	    "[  1010] A < acquire jobs/x shared by 2 done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1100] A c2 acquire jobs/x shared by 3\n"
	    "[  1100] A c3 acquire jobs/x shared by 2\n"
	    "[  1100] A c4 acquire jobs/x\n"
	    "[  1200] A c3 acquire jobs/x: ACQUIRE_TIMEOUT held +1 by c1 here\n"
	    "[  1300] A c2 acquire jobs/x: ACQUIRE_TIMEOUT cause=WRONG_LIMIT "
	    "held +1 by c1 here\n"
	    "[  1400] A c4 acquire jobs/x: ACQUIRE_TIMEOUT held +1 by c1 here\n"
	    "[  1500] A c1 release jobs/x\n"
	    "[  1500] A > release jobs/x\n"
	    "[  1510] A < release jobs/x done\n"
	    "[  1510] A c1 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The answer to one slot's release is lost: the other slot is held on, and who
 * waits here gets the first as soon as a read says that it is free. */
START_TEST(test_release_of_a_slot_unanswered)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	driver_fault(d, A, OPERATION_RELEASE, FAULT_LOSE_AFTER, 0);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 2500);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 10000);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  2000] A c1 release jobs/x\n"
	    "[  2000] A > release jobs/x\n"
	    "[  2500] A c3 acquire jobs/x shared by 2\n"
	    "[  7000] A < release jobs/x unknown\n"
	    "[  7000] A c1 release jobs/x: UNREACHABLE\n"
	    "[  7973] A > read jobs/x\n"
	    "[  7983] A < read jobs/x done\n"
	    "[  7983] A > acquire jobs/x shared by 2\n"
	    "[  7993] A < acquire jobs/x shared by 2 done\n"
	    "[  7993] A c3 grant jobs/x +3 remaining 16007\n");
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Somebody took one of two elements out by hand: its holder is told, by the
 * audit, and the other one is not. */
START_TEST(test_one_slot_is_stolen)
{
	struct driver *d = driver_new(1, 1);
	struct model_lock *l;

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_skip(d);
	l = driver_lock(d, "jobs/x");
	driver_check(d, l->n_holders == 2);
	l->holders[0] = l->holders[1];
	l->n_holders = 1;
	driver_run_until(d, 130000);
	driver_expect(d, TRACE_TOLD,
	    "[ 60010] A c1 lost jobs/x stolen\n");
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* All slots are taken, and one of ours is waited for, when the session is lost:
 * what was seen of the others is of no use any more. */
START_TEST(test_session_lost_with_a_waiter)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 2, 0);
	driver_run_until(d, 1200);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	driver_cut(d, A, 25000);
	driver_skip(d);
	driver_run_until(d, 50000);
	driver_expect(d, TRACE_TOLD,
	    "[ 10000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 19000] A c1 lost jobs/x expired\n"
	    "[ 29651] A c3 grant jobs/x +3 remaining 14277\n");
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_check(d, driver_holds(d, 3, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who waited has gone when the answer to a look comes: the next one looks for
 * himself. */
START_TEST(test_waiter_gone_while_looking)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 2, 0);
	driver_run_until(d, 1200);
	driver_fault(d, A, OPERATION_READ, FAULT_DELAY_ANSWER, 500);
	semaphore_ask(d, A, 2, DRIVER_FOREVER);
	driver_run_until(d, 2300);
	driver_skip(d);
	driver_disconnect(d, 3);
	driver_run_until(d, 3000);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 3100);
	driver_expect(d, SEMAPHORE_ALL,
	    "[  2300] A c3 gone\n"
	    "[  2653] A < read jobs/x done\n"
	    "[  2653] A > unwant jobs/x shared A1\n"
	    "[  2663] A < unwant jobs/x shared A1 done\n"
	    "[  3000] A c4 try jobs/x shared by 2\n"
	    "[  3000] A > acquire jobs/x shared by 2\n"
	    "[  3010] A < acquire jobs/x shared by 2 conflict\n"
	    "[  3010] A c4 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A full semaphore, one of whose holders is dead: that one is dropped. */
START_TEST(test_dead_of_a_full_semaphore)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	semaphore_ask(d, A, 2, 0);
	driver_run_until(d, 1100);
	semaphore_ask(d, B, 2, 0);
	driver_run_until(d, 3000);
	driver_kill(d, A);
	semaphore_ask(d, C, 2, DRIVER_FOREVER);
	driver_run_until(d, 23100);
	driver_skip(d);
	driver_run_until(d, 30000);
	driver_expect(d, SEMAPHORE_ALL,
	    "[ 23220] C > kill A1\n"
	    "[ 23230] C < kill A1 done\n"
	    "[ 23230] C > release jobs/x from A1\n"
	    "[ 23230] C > look B1\n"
	    "[ 23240] C < release jobs/x from A1 done\n"
	    "[ 23240] C > acquire jobs/x shared by 2\n"
	    "[ 23240] C < look B1 done\n"
	    "[ 23250] C < acquire jobs/x shared by 2 done\n"
	    "[ 23250] C c3 grant jobs/x +3 remaining 15750\n");
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_check(d, driver_holds(d, 3, "jobs/x"));
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A host that is known to be dead had more places than one release can name.
 * Who waits for one takes them out in turns. */
START_TEST(test_more_dead_than_a_release_names)
{
	struct driver *d = driver_new(1, 3);
	const struct model_lock *l;

	driver_start(d);
	for (unsigned i = 0; i < RELEASE_MAX + 20; i++)
		semaphore_ask(d, A, RELEASE_MAX + 21, DRIVER_FOREVER);
	driver_run_until(d, 5000);
	semaphore_ask(d, B, RELEASE_MAX + 21, 0);
	driver_acquire(d, driver_connect(d, A), "jobs/y", 0);
	driver_run_until(d, 6000);
	driver_kill(d, A);
	/* C learns of A's end by another lock. */
	driver_acquire(d, driver_connect(d, C), "jobs/y", DRIVER_FOREVER);
	driver_run_until(d, 40000);
	driver_check(d, driver_holds(d, RELEASE_MAX + 23, "jobs/y"));
	l = driver_lock(d, "jobs/x");
	driver_check(d, l->n_holders == RELEASE_MAX + 21);
	semaphore_ask(d, C, RELEASE_MAX + 21, 1000);
	driver_run_until(d, 41000);
	driver_check(d, driver_holds(d, RELEASE_MAX + 24, "jobs/x"));
	driver_check(d, driver_holds(d, RELEASE_MAX + 21, "jobs/x"));
	driver_check(d, l->n_holders == 22);
	/* And who leaves takes one more along. */
	driver_release(d, RELEASE_MAX + 24, "jobs/x");
	driver_run_until(d, 42000);
	driver_check(d, l->n_holders == 20);
	driver_skip(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_here,
		test_elsewhere,
		test_try_of_the_last_slot,
		test_run_ends_for_a_foreign_wish,
		test_another_limit,
		test_time_out_for_another_limit,
		test_release_of_a_slot_unanswered,
		test_one_slot_is_stolen,
		test_session_lost_with_a_waiter,
		test_waiter_gone_while_looking,
		test_dead_of_a_full_semaphore,
		test_more_dead_than_a_release_names,
		NULL,
	};

	return suite_run("semaphore", tests);
}
