/*
 * Shared use without a limit: all who share a lock on one host have one element
 * in its record. What is read here, line by line, is who may come in, who waits
 * for whom, and what it costs.
 */
#include "driver.h"
#include "suite.h"

#define SHARED_ALL (TRACE_ALL & ~TRACE_BEAT)

/* A new client asks; they are numbered from 1. */
static void
shared_ask(struct driver *d, unsigned host, uint64_t wait_ms)
{
	driver_share(d, driver_connect(d, host), "jobs/x", 0, wait_ms);
}

static void
shared_ask_alone(struct driver *d, unsigned host)
{
	driver_acquire(d, driver_connect(d, host), "jobs/x", DRIVER_FOREVER);
}

/* One element for all of a host: who joins or leaves costs nothing, and the
 * last one takes the element out. */
START_TEST(test_one_element_for_a_host)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	shared_ask(d, A, 0);
	shared_ask(d, A, DRIVER_FOREVER);
	driver_run_until(d, 2000);
	shared_ask(d, A, 0);
	driver_run_until(d, 2100);
	driver_release(d, 1, "jobs/x");
	driver_release(d, 3, "jobs/x");
	driver_run_until(d, 2200);
	driver_disconnect(d, 2);
	driver_run_until(d, 2300);
	driver_expect(d, SHARED_ALL,
	    "[  1000] A c1 try jobs/x shared\n"
	    "[  1000] A > acquire jobs/x shared\n"
	    "[  1000] A c2 acquire jobs/x shared\n"
	    "[  1010] A < acquire jobs/x shared done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1010] A c2 grant jobs/x +1 remaining 17990\n"
	    "[  2000] A c3 try jobs/x shared\n"
	    "[  2000] A c3 grant jobs/x +1 remaining 17000\n"
	    "[  2100] A c1 release jobs/x\n"
	    "[  2100] A c1 release jobs/x: OK\n"
	    "[  2100] A c3 release jobs/x\n"
	    "[  2100] A c3 release jobs/x: OK\n"
	    "[  2200] A c2 gone\n"
	    "[  2200] A > release jobs/x\n"
	    "[  2210] A < release jobs/x done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* An element for each host; each comes and goes as it likes. */
START_TEST(test_hosts_join_and_leave)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	shared_ask(d, A, 0);
	driver_run_until(d, 1100);
	shared_ask(d, B, 0);
	driver_run_until(d, 1200);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 2);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 1300);
	driver_check(d, driver_lock(d, "jobs/x")->ttl_s == 0);
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 1400);
	driver_check(d, driver_lock(d, "jobs/x")->ttl_s != 0);
	driver_expect(d, SHARED_ALL,
	    "[  1000] A c1 try jobs/x shared\n"
	    "[  1000] A > acquire jobs/x shared\n"
	    "[  1010] A < acquire jobs/x shared done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1100] B c2 try jobs/x shared\n"
	    "[  1100] B > acquire jobs/x shared\n"
	    "[  1110] B < acquire jobs/x shared done\n"
	    "[  1110] B c2 grant jobs/x +2 remaining 17890\n"
	    "[  1200] A c1 release jobs/x\n"
	    "[  1200] A > release jobs/x\n"
	    "[  1210] A < release jobs/x done\n"
	    "[  1210] A c1 release jobs/x: OK\n"
	    "[  1210] A > look B1\n"
	    "[  1220] A < look B1 done\n"
	    "[  1300] B c2 release jobs/x\n"
	    "[  1300] B > release jobs/x\n"
	    "[  1310] B < release jobs/x done\n"
	    "[  1310] B c2 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who asked first here is served first, whatever the use: c3 does not overtake
 * c2, and c4 and c5 come in together. */
START_TEST(test_local_order)
{
	struct driver *d = driver_new(1, 1);

	driver_start(d);
	shared_ask(d, A, DRIVER_FOREVER);
	shared_ask_alone(d, A);
	shared_ask(d, A, DRIVER_FOREVER);
	shared_ask(d, A, DRIVER_FOREVER);
	shared_ask_alone(d, A);
	driver_run_until(d, 2000);
	driver_skip(d);
	shared_ask(d, A, 0);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 2100);
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 2200);
	driver_release(d, 3, "jobs/x");
	driver_run_until(d, 2300);
	driver_release(d, 4, "jobs/x");
	driver_run_until(d, 2400);
	driver_expect(d, SHARED_ALL,
	    "[  2000] A c6 try jobs/x shared\n"
	    "[  2000] A c6 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n"
	    "[  2000] A c1 release jobs/x\n"
	    "[  2000] A > release jobs/x\n"
	    "[  2010] A < release jobs/x done\n"
	    "[  2010] A c1 release jobs/x: OK\n"
	    "[  2010] A > acquire jobs/x\n"
	    "[  2020] A < acquire jobs/x done\n"
	    "[  2020] A c2 grant jobs/x +2 remaining 16980\n"
	    "[  2100] A c2 release jobs/x\n"
	    "[  2100] A > release jobs/x\n"
	    "[  2110] A < release jobs/x done\n"
	    "[  2110] A c2 release jobs/x: OK\n"
	    "[  2110] A > acquire jobs/x shared\n"
	    "[  2120] A < acquire jobs/x shared done\n"
	    "[  2120] A c3 grant jobs/x +102 remaining 16880\n"
	    "[  2120] A c4 grant jobs/x +102 remaining 16880\n"
	    "[  2200] A c3 release jobs/x\n"
	    "[  2200] A c3 release jobs/x: OK\n"
	    "[  2300] A c4 release jobs/x\n"
	    "[  2300] A > release jobs/x\n"
	    "[  2310] A < release jobs/x done\n"
	    "[  2310] A c4 release jobs/x: OK\n"
	    "[  2310] A > acquire jobs/x\n"
	    "[  2320] A < acquire jobs/x done\n"
	    "[  2320] A c5 grant jobs/x +103 remaining 16680\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who shares it for long keeps nobody here from joining: when the run is over,
 * a try waits for the look at the record, and is refused only if that shows
 * another host's wish. */
START_TEST(test_try_after_a_run)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	shared_ask(d, A, DRIVER_FOREVER);
	driver_run_until(d, 30000);
	shared_ask(d, A, 0);
	driver_run_until(d, 54900);
	shared_ask_alone(d, B);
	driver_run_until(d, 55000);
	shared_ask(d, A, 0);
	driver_run_until(d, 55100);
	driver_release(d, 1, "jobs/x");
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 57000);
	driver_release(d, 3, "jobs/x");
	driver_run_until(d, 58000);
	driver_expect(d, SHARED_ALL,
	    "[  1000] A c1 acquire jobs/x shared\n"
	    "[  1000] A > acquire jobs/x shared\n"
	    "[  1010] A < acquire jobs/x shared done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[ 30000] A c2 try jobs/x shared\n"
	    "[ 30000] A > read jobs/x\n"
	    "[ 30010] A < read jobs/x done\n"
	    "[ 30010] A c2 grant jobs/x +1 remaining 18990\n"
	    "[ 54900] B c3 acquire jobs/x\n"
	    "[ 54900] B > acquire jobs/x\n"
	    "[ 54910] B < acquire jobs/x conflict\n"
	    "[ 54910] B > want jobs/x B1\n"
	    "[ 54910] B > look A1\n"
	    "[ 54920] B < want jobs/x B1 done\n"
	    "[ 54920] B < look A1 done\n"
	    "[ 55000] A c4 try jobs/x shared\n"
	    "[ 55000] A > read jobs/x\n"
	    "[ 55010] A < read jobs/x done\n"
	    "[ 55010] A c4 acquire jobs/x: LOCK_BUSY held +1 by c1 here\n"
	    "[ 55010] A > look B1\n"
	    "[ 55020] A < look B1 done\n"
	    "[ 55100] A c1 release jobs/x\n"
	    "[ 55100] A c1 release jobs/x: OK\n"
	    "[ 55100] A c2 release jobs/x\n"
	    "[ 55100] A > release jobs/x\n"
	    "[ 55110] A < release jobs/x done\n"
	    "[ 55110] A c2 release jobs/x: OK\n"
	    "[ 55829] B > read jobs/x\n"
	    "[ 55839] B < read jobs/x done\n"
	    "[ 55839] B > acquire jobs/x\n"
	    "[ 55849] B < acquire jobs/x done\n"
	    "[ 55849] B c3 grant jobs/x +2 remaining 18151\n"
	    "[ 57000] B c3 release jobs/x\n"
	    "[ 57000] B > release jobs/x\n"
	    "[ 57010] B < release jobs/x done\n"
	    "[ 57010] B c3 release jobs/x: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* While B waits for it alone, C does not join A; and B, who had it, stands
 * back for C. */
START_TEST(test_kinds_take_turns)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	shared_ask(d, A, DRIVER_FOREVER);
	driver_run_until(d, 1100);
	shared_ask_alone(d, B);
	driver_run_until(d, 1200);
	driver_skip(d);
	shared_ask(d, C, 0);
	shared_ask(d, C, DRIVER_FOREVER);
	driver_run_until(d, 1300);
	driver_release(d, 1, "jobs/x");
	driver_run_until(d, 2100);
	driver_expect(d, SHARED_ALL,
	    "[  1200] C c3 try jobs/x shared\n"
	    "[  1200] C > acquire jobs/x shared\n"
	    "[  1200] C c4 acquire jobs/x shared\n"
	    "[  1210] C < acquire jobs/x shared conflict\n"
	    "[  1210] C c3 acquire jobs/x: LOCK_BUSY held +1 by A/c1\n"
	    "[  1210] C > want jobs/x shared C1\n"
	    "[  1210] C > look B1\n"
	    "[  1210] C > look A1\n"
	    "[  1220] C < want jobs/x shared C1 done\n"
	    "[  1220] C < look B1 done\n"
	    "[  1220] C < look A1 done\n"
	    "[  1300] A c1 release jobs/x\n"
	    "[  1300] A > release jobs/x\n"
	    "[  1310] A < release jobs/x done\n"
	    "[  1310] A c1 release jobs/x: OK\n"
	    "[  2029] B > read jobs/x\n"
	    "[  2039] B < read jobs/x done\n"
	    "[  2039] B > acquire jobs/x\n"
	    "[  2049] B < acquire jobs/x done\n"
	    "[  2049] B c2 grant jobs/x +2 remaining 16951\n"
	    "[  2049] B > look C1\n"
	    "[  2059] B < look C1 done\n");
	driver_run_until(d, 3000);
	driver_skip(d);
	shared_ask_alone(d, A);
	driver_run_until(d, 3900);
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 4000);
	driver_expect(d, SHARED_ALL,
	    "[  3000] A c5 acquire jobs/x\n"
	    "[  3000] A > acquire jobs/x\n"
	    "[  3010] A < acquire jobs/x conflict\n"
	    "[  3010] A > want jobs/x A1\n"
	    "[  3010] A > look B1\n"
	    "[  3020] A < want jobs/x A1 done\n"
	    "[  3020] A < look B1 done\n"
	    "[  3026] C > read jobs/x\n"
	    "[  3036] C < read jobs/x done\n"
	    "[  3158] C > look B1\n"
	    "[  3168] C < look B1 done\n"
	    "[  3900] B c2 release jobs/x\n"
	    "[  3900] B > release jobs/x\n"
	    "[  3907] A > read jobs/x\n"
	    "[  3910] B < release jobs/x done\n"
	    "[  3910] B c2 release jobs/x: OK\n"
	    "[  3917] A < read jobs/x done\n"
	    "[  3917] A > look C1\n"
	    "[  3927] A < look C1 done\n"
	    "[  3964] C > read jobs/x\n"
	    "[  3974] C < read jobs/x done\n"
	    "[  3974] C > acquire jobs/x shared\n"
	    "[  3984] C < acquire jobs/x shared done\n"
	    "[  3984] C c4 grant jobs/x +102 remaining 15016\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Everybody who shares it under a lease is warned, and told. */
START_TEST(test_all_lose_it_with_their_session)
{
	struct driver *d = driver_new(1, 2);
	unsigned i;

	driver_start(d);
	for (i = 0; i < 3; i++)
		shared_ask(d, A, DRIVER_FOREVER);
	for (i = 0; i < 2; i++) {
		unsigned client = driver_connect(d, A);

		driver_share(d, client, "jobs/y", 2, DRIVER_FOREVER);
	}
	driver_run_until(d, 2000);
	driver_cut(d, A, 30000);
	driver_skip(d);
	driver_run_until(d, 2500);
	shared_ask(d, A, 0);
	driver_run_until(d, 30000);
	driver_expect(d, TRACE_TOLD,
	    "[  2500] A c6 grant jobs/x +1 remaining 16500\n"
	    "[ 10000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 10000] A c2 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 10000] A c3 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 10000] A c6 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 10000] A c4 danger jobs/y remaining 9000 UNREACHABLE\n"
	    "[ 10000] A c5 danger jobs/y remaining 9000 UNREACHABLE\n"
	    "[ 19000] A c1 lost jobs/x expired\n"
	    "[ 19000] A c2 lost jobs/x expired\n"
	    "[ 19000] A c3 lost jobs/x expired\n"
	    "[ 19000] A c6 lost jobs/x expired\n"
	    "[ 19000] A c4 lost jobs/y expired\n"
	    "[ 19000] A c5 lost jobs/y expired\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

static struct driver *
shared_join(enum fault_kind fault)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	shared_ask(d, A, DRIVER_FOREVER);
	driver_run_until(d, 1100);
	driver_skip(d);
	driver_fault(d, B, OPERATION_ACQUIRE, fault, 0);
	shared_ask(d, B, DRIVER_FOREVER);
	driver_run_until(d, 7300);
	return d;
}

/* The request to join is lost. */
START_TEST(test_join_unanswered)
{
	struct driver *d = shared_join(FAULT_LOSE_BEFORE);

	driver_expect(d, SHARED_ALL,
	    "[  1100] B c2 acquire jobs/x shared\n"
	    "[  1100] B > acquire jobs/x shared\n"
	    "[  6100] B < acquire jobs/x shared unknown\n"
	    "[  6100] B > read jobs/x\n"
	    "[  6110] B < read jobs/x done\n"
	    "[  6110] B > acquire jobs/x shared\n"
	    "[  6110] B > look A1\n"
	    "[  6120] B < acquire jobs/x shared done\n"
	    "[  6120] B c2 grant jobs/x +2 remaining 17880\n"
	    "[  6120] B < look A1 done\n"
	    "[  7100] B > read jobs/x\n"
	    "[  7110] B < read jobs/x done\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Its answer is. */
START_TEST(test_join_lands_unanswered)
{
	struct driver *d = shared_join(FAULT_LOSE_AFTER);

	driver_expect(d, SHARED_ALL,
	    "[  1100] B c2 acquire jobs/x shared\n"
	    "[  1100] B > acquire jobs/x shared\n"
	    "[  6100] B < acquire jobs/x shared unknown\n"
	    "[  6100] B > read jobs/x\n"
	    "[  6110] B < read jobs/x done\n"
	    "[  6110] B c2 grant jobs/x +2 remaining 17890\n"
	    "[  7100] B > read jobs/x\n"
	    "[  7110] B < read jobs/x done\n");
	driver_release(d, 1, "jobs/x");
	driver_run(d, 100);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* All who share it are dead: it is taken from both of them. */
START_TEST(test_takeover_of_dead_sharers)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	shared_ask(d, A, 0);
	driver_run_until(d, 1100);
	shared_ask(d, B, 0);
	driver_run_until(d, 3000);
	driver_kill(d, A);
	driver_kill(d, B);
	shared_ask_alone(d, C);
	driver_run_until(d, 23100);
	driver_skip(d);
	driver_run_until(d, 30000);
	driver_expect(d, SHARED_ALL,
	    "[ 23220] C > kill A1\n"
	    "[ 23230] C < kill A1 done\n"
	    "[ 23230] C > kill B1\n"
	    "[ 23240] C < kill B1 done\n"
	    "[ 23240] C > acquire jobs/x from A1, B1\n"
	    "[ 23250] C < acquire jobs/x from A1, B1 done\n"
	    "[ 23250] C c3 grant jobs/x +3 remaining 15750\n");
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* One of two who share it is dead: nobody is kept from joining, and who wants
 * it alone waits for the other. */
START_TEST(test_one_sharer_is_dead)
{
	struct driver *d = driver_new(1, 4);

	driver_start(d);
	shared_ask(d, A, 0);
	driver_run_until(d, 1100);
	shared_ask(d, B, 0);
	driver_run_until(d, 3000);
	driver_kill(d, A);
	shared_ask(d, D, 0);
	driver_run_until(d, 3100);
	driver_check(d, driver_holds(d, 3, "jobs/x"));
	driver_release(d, 3, "jobs/x");
	shared_ask_alone(d, C);
	driver_run_until(d, 39900);
	driver_check(d, !driver_holds(d, 4, "jobs/x"));
	driver_skip(d);
	driver_get(d, 4, "jobs/x");
	driver_run_until(d, 40000);
	driver_release(d, 2, "jobs/x");
	driver_run_until(d, 42000);
	driver_expect(d, SHARED_ALL,
	    "[ 39900] C > read jobs/x\n"
	    "[ 39910] C < read jobs/x done\n"
	    "[ 39910] C c4 get jobs/x: OK held +3 by D/c3 unchanged 3998\n"
	    "[ 40000] B c2 release jobs/x\n"
	    "[ 40000] B > release jobs/x\n"
	    "[ 40010] B < release jobs/x done\n"
	    "[ 40010] B c2 release jobs/x: OK\n"
	    "[ 40010] B > look A1\n"
	    "[ 40020] B < look A1 done\n"
	    "[ 40643] C > look B1\n"
	    "[ 40653] C < look B1 done\n"
	    "[ 40759] C > read jobs/x\n"
	    "[ 40769] C < read jobs/x done\n"
	    "[ 40769] C > acquire jobs/x from A1\n"
	    "[ 40779] C < acquire jobs/x from A1 done\n"
	    "[ 40779] C c4 grant jobs/x +4 remaining 18221\n");
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 1);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A host that waited for exclusive use is dead: its wish, which keeps others
 * from joining, is taken out by whoever it hinders. */
START_TEST(test_stale_wish_keeps_nobody_out)
{
	struct driver *d = driver_new(1, 3);

	driver_start(d);
	shared_ask(d, A, 0);
	driver_run_until(d, 1100);
	shared_ask_alone(d, B);
	driver_run_until(d, 3000);
	driver_kill(d, B);
	shared_ask(d, C, DRIVER_FOREVER);
	driver_run_until(d, 24400);
	driver_skip(d);
	driver_run_until(d, 26000);
	driver_expect(d, SHARED_ALL,
	    "[ 24449] C > read jobs/x\n"
	    "[ 24459] C < read jobs/x done\n"
	    "[ 24459] C > unwant jobs/x B1\n"
	    "[ 24469] C < unwant jobs/x B1 done\n"
	    "[ 24469] C > acquire jobs/x shared\n"
	    "[ 24479] C < acquire jobs/x shared done\n"
	    "[ 24479] C c3 grant jobs/x +2 remaining 14521\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_one_element_for_a_host,
		test_hosts_join_and_leave,
		test_local_order,
		test_try_after_a_run,
		test_kinds_take_turns,
		test_all_lose_it_with_their_session,
		test_join_unanswered,
		test_join_lands_unanswered,
		test_takeover_of_dead_sharers,
		test_one_sharer_is_dead,
		test_stale_wish_keeps_nobody_out,
		NULL,
	};

	return suite_run("shared", tests);
}
