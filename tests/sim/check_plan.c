/*
 * Plans: a plan that is read is written again, to the letter; a misspelling is
 * reported with its line; and no value is guessed.
 */
#include <stdio.h>
#include <string.h>

#include "plan_case.h"

#define MIXED_PERCENT 20	/* have all extras (plan_dice.h) */

/* ---- the language ----------------------------------------------------- */

START_TEST(test_every_setting)
{
	plan_expect_text(
	    "world seed=18446744073709551615 hosts=4 namespaces=2 lease=3s "
	    "drift=20000ppm\n"
	    "world heartbeat=700ms danger=1501ms margin=151ms request=740ms "
	    "poll=250ms\n"
	    "world audit=6s handover=2 sole-writer no-foreign-waiters "
	    "keeps-idle\n"
	    "world idle=10ms retention=1h latency=0s..8ms lateness=3ms "
	    "list-capacity=4\n"
	    "world scan-page=3\n"
	    "limits clients=1 requests-per-client=2 holds-per-client=3 "
	    "locks=4 requests=5\n"
	    "limits observations=6 doubts=7\n"
	    "host A rate=+10000ppm offset=12s wall=-365d\n"
	    "host B rate=-10000ppm offset=1ms wall=+730d absent\n"
	    "trace told,script from=1s to=2m\n"
	    "expect losses=0 grants=8\n"
	    "quiet 30s\n"
	    "end 1m\n");
}
END_TEST

START_TEST(test_every_format_and_peer)
{
	plan_expect_text(
	    "world hosts=1 namespaces=2 lease=20s\n"
	    "format awslabs go-lease keep-released keep-attributes\n"
	    "format dlock ns=1 fencing skew=10s\n"
	    "peer P dynamolock\n"
	    "peer Q dynamolock rate=+5000ppm offset=12s wall=-10s retries=2 "
	    "keep\n"
	    "peer R dlock\n"
	    "at 0s c1@A lock x hold=1s\n"
	    "at 0s c2@P lock x wait=forever hold=1s\n"
	    "at 0s c3@R lock x end=never ns=1\n"
	    "at 1s P pause 3s\n"
	    "at 1s Q kill\n"
	    "at 1s Q message refresh 2 lose-answer\n"
	    "at 2s Q boot\n"
	    "end 1m\n");
	plan_expect_text(
	    "world hosts=1 namespaces=2 lease=20s\n"
	    "format js-fail-open local-time\n"
	    "format js-fail-closed ns=1\n"
	    "peer P js-fail-open\n"
	    "peer Q js-fail-closed\n"
	    "peer R python\n"
	    "end 1m\n");
}
END_TEST

START_TEST(test_bridge)
{
	plan_expect_text(
	    "world hosts=3 namespaces=2 bridge lease=20s\n"
	    "host B phase=bridge\n"
	    "host C rate=+5000ppm absent phase=bridge\n"
	    "format js-fail-open\n"
	    "format native ns=1 lease=8s\n"
	    "peer P js-fail-open\n"
	    "at 0s c1@A lock x hold=1s\n"
	    "at 1s A move bridge\n"
	    "at 2s P kill\n"
	    "at 30s B move native\n"
	    "at 30s hand delete x ns=1\n"
	    "at 31s B move bridge\n"
	    "at 41s A move old\n"
	    "at 41s P boot\n"
	    "end 1m\n");
}
END_TEST

START_TEST(test_every_step)
{
	plan_expect_text(
	    "world hosts=3 namespaces=2 lease=20s\n"
	    "at 0s c1@A lock x\n"
	    "at 0s c1000@C lock x wait=100s hold=5s end=close\n"
	    "at 1ms c2@B lock y wait=forever hold=forever renew=2s end=drain "
	    "ns=1\n"
	    "at 1s c2@B lock y/z end=never\n"
	    "at 1s c3@B lock y mode=shared wait=1s\n"
	    "at 1s c4@B lock y mode=shared limit=3 hold=1s\n"
	    "at 2s c1 release x\n"
	    "at 2s c1 renew x ns=1\n"
	    "at 2s c1 cancel x\n"
	    "at 2s c1@A get x\n"
	    "at 2s c1@A get x ns=1\n"
	    "at 2s c1@A list\n"
	    "at 2s c1@A list ns=1\n"
	    "at 2s c1@A list y/ ns=1\n"
	    "at 2s c1@A list page=1s\n"
	    "at 2s c1@A list-held y/ page=forever\n"
	    "at 2s c1@A lock x clears only-if-exists\n"
	    "at 2s c1@A raise x\n"
	    "at 2s c1@A raise x ns=1\n"
	    "at 2s c1 drain\n"
	    "at 2s c1 end-process\n"
	    "at 2s c1 close\n"
	    "at 3s A kill\n"
	    "at 3s A boot\n"
	    "at 3s B crash\n"
	    "at 3s C stop\n"
	    "at 3s C stop-release\n"
	    "at 3s A pause 40s\n"
	    "at 3s A suspend 1001ms\n"
	    "at 3s A freeze 2m\n"
	    "at 3s A cut 3h\n"
	    "at 3s A down 1d\n"
	    "at 3s A wall +730d\n"
	    "at 3s A wall -1ms\n"
	    "at 3s A starve 3 2\n"
	    "at 4s A message any 1 lose\n"
	    "at 4s A message session-beat 2 lose-answer\n"
	    "at 4s A message acquire 1 late 20s\n"
	    "at 4s A message read 1 answer-late 4s\n"
	    "at 4s A message release 1 twice 16m\n"
	    "at 4s A message extend 1 unsent\n"
	    "at 4s A message want 1 throttled\n"
	    "at 4s A message unwant 1 failed\n"
	    "at 4s A message session-kill 1 failed-after\n"
	    "at 4s A message session-bury 1 garbled\n"
	    "at 4s A message session-close 1 denied\n"
	    "at 4s A message read-many 4 unprocessed 3\n"
	    "at 4s A message acquire 2..9 refused ExpiredTokenException\n"
	    "at 4s A message acquire 1 in-the-way\n"
	    "at 4s A operation release 1..2 late 5s\n"
	    "end 1m\n");
}
END_TEST

START_TEST(test_every_step_at_the_table)
{
	plan_expect_text(
	    "world hosts=3 namespaces=2 lease=20s\n"
	    "at 5s table cut 5s\n"
	    "at 5s table throttle 5s\n"
	    "at 5s table expire +0s\n"
	    "at 5s table expire -2h\n"
	    "at 5s hand delete x\n"
	    "at 5s hand break x ns=1\n"
	    "at 5s hand garble x\n"
	    "at 5s hand repair x\n"
	    "at 5s hand end-session A\n"
	    "at 5s hand delete-session B ns=1\n"
	    "at 5s hand garble-session A\n"
	    "at 5s hand wish x\n"
	    "at 5s hand wish x mode=shared of=B ns=1\n"
	    "at 5s hand unwish x\n"
	    "at 5s hand hold x lease=1m\n"
	    "at 5s hand take x\n"
	    "at 5s hand token x token=1000 ns=1\n"
	    "at 5s hand spend x\n"
	    "at 5s hand spend x left=6\n"
	    "at 5s hand backup\n"
	    "at 5s hand restore\n"
	    "at 6s A show\n"
	    "at 6s A tally\n"
	    "end 1m\n");
}
END_TEST

/* Comments, spaces, any order of steps, and defaults. */
START_TEST(test_people)
{
	char wrong[256] = "";
	struct plan p;

	ck_assert_msg(plan_parse(&p,
	    "# A story.\n"
	    "\n"
	    "\tworld lease=8s   # short\n"
	    "at 5s\tc1 close# at once\n"
	    "at 1500ms c1@A lock x\n"
	    "at 5s A kill\n"
	    "end 20s", wrong, sizeof(wrong)) == 0, "%s", wrong);
	ck_assert_uint_eq(p.n_hosts, 3);
	ck_assert_uint_eq(p.ns.lease_ms, 8000);
	ck_assert_uint_eq(p.ns.heartbeat_ms, 2000);
	ck_assert_uint_eq(p.ns.danger_ms, 4000);
	ck_assert_uint_eq(p.ns.margin_ms, 400);
	ck_assert_uint_eq(p.ns.request_ms, 2000);
	ck_assert_uint_eq(p.ns.try_ms, 1000);
	ck_assert_uint_eq(p.ns.poll_ms, 1000);
	ck_assert_uint_eq(p.quiet_ms, 20000);
	ck_assert_uint_eq(p.end_ms, 20000);
	ck_assert_uint_eq(p.n_steps, 3);
	ck_assert_int_eq(p.steps[0].kind, STEP_LOCK);
	ck_assert_uint_eq(p.steps[0].at_ms, 1500);
	ck_assert_int_eq(p.steps[1].kind, STEP_CLOSE);
	ck_assert_int_eq(p.steps[2].kind, STEP_KILL);
	plan_done(&p);
}
END_TEST

/* One line for many steps. */
START_TEST(test_each_with_each)
{
	char wrong[256] = "", text[512];
	struct plan p;

	ck_assert_msg(plan_parse(&p, "at 1s c1..2@A lock x/9..10 wait=1s\n"
	    "at 2s c1..2 close\nat 3s c1@A get a..b\nend 4s\n", wrong,
	    sizeof(wrong)) == 0, "%s", wrong);
	plan_print(&p, text, sizeof(text));
	ck_assert_str_eq(text, "world hosts=3 lease=20s\n"
	    "at 1s c1@A lock x/9 wait=1s\n"
	    "at 1s c1@A lock x/10 wait=1s\n"
	    "at 1s c2@A lock x/9 wait=1s\n"
	    "at 1s c2@A lock x/10 wait=1s\n"
	    "at 2s c1 close\n"
	    "at 2s c2 close\n"
	    "at 3s c1@A get a..b\n"
	    "end 4s\n");
	plan_done(&p);
}
END_TEST

START_TEST(test_sorting_is_stable)
{
	struct plan p;

	plan_init(&p);
	for (uint32_t i = 0; i < 1000; i++)
		plan_add(&p, STEP_STARVE, 7 * i % 13)->nth = i;
	plan_sort(&p);
	for (size_t i = 1; i < p.n_steps; i++) {
		ck_assert_uint_le(p.steps[i - 1].at_ms, p.steps[i].at_ms);
		if (p.steps[i - 1].at_ms == p.steps[i].at_ms)
			ck_assert_uint_lt(p.steps[i - 1].nth, p.steps[i].nth);
	}
	plan_done(&p);
}
END_TEST

START_TEST(test_copies)
{
	const bool drop[] = { false, true, false };
	char wrong[256] = "";
	struct plan p, all, some;

	ck_assert_int_eq(plan_parse(&p, "trace told\nat 0s A kill\n"
	    "at 1s hand break x\nat 2s A boot\nend 3s\n", wrong,
	    sizeof(wrong)), 0);
	plan_copy(&all, &p, NULL);
	plan_copy(&some, &p, drop);
	plan_expect_same(&all, &p);
	plan_done(&p);
	ck_assert_str_eq(all.trace, "told");
	ck_assert_uint_eq(some.n_steps, 2);
	ck_assert_int_eq(some.steps[0].kind, STEP_KILL);
	ck_assert_int_eq(some.steps[1].kind, STEP_BOOT);
	ck_assert(plan_is_fault(&all.steps[0]));
	ck_assert(plan_is_fault(&all.steps[1]));
	ck_assert(!plan_is_fault(&all.steps[2]));
	ck_assert_str_eq(plan_step_name(all.steps[1].kind), "hand break");
	plan_done(&all);
	plan_done(&some);
}
END_TEST

/* ---- of seeds --------------------------------------------------------- */

/* Three keys, each wanted by two hosts. */
static void
plan_expect_contention(const struct plan *p)
{
	unsigned contended = 0;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];
		bool first = s->kind == STEP_LOCK;
		bool others = false;

		for (size_t j = 0; j < p->n_steps; j++) {
			const struct plan_step *o = &p->steps[j];

			if (o->kind != STEP_LOCK || strcmp(o->key, s->key) != 0)
				continue;
			first = first && (j >= i);
			others = others || o->host != s->host;
		}
		if (first && others)
			contended++;
	}
	ck_assert_uint_ge(contended, 3);
}

START_TEST(test_plans_of_seeds)
{
	static char text[TEXT_MAX], again[TEXT_MAX];
	char wrong[256] = "";
	unsigned steps[STEP_KINDS] = { 0 };
	unsigned faults[MESSAGE_FAULTS] = { 0 };
	unsigned formats[FORMATS] = { 0 };
	unsigned n_mixed = 0, n_ours = 0;
	struct plan p, copy;

	/* Every sixth plan must have older clients. */
	for (uint64_t seed = 1; seed <= 1200; seed++) {
		unsigned met = 0;	/* a watch, a break, several keys */

		plan_random(&p, seed, seed % 6 == 0);
		ck_assert_msg(plan_check(&p, wrong, sizeof(wrong)) == 0, "%s",
		    wrong);
		plan_print(&p, text, sizeof(text));
		ck_assert_msg(plan_parse(&copy, text, wrong, sizeof(wrong)) ==
		    0, "%s", wrong);
		plan_expect_same(&p, &copy);
		plan_done(&copy);
		plan_random(&copy, seed, seed % 6 == 0);
		plan_print(&copy, again, sizeof(again));
		ck_assert_str_eq(again, text);
		plan_alone(&copy);
		ck_assert_msg(plan_check(&copy, wrong, sizeof(wrong)) == 0,
		    "%s", wrong);
		plan_done(&copy);

		ck_assert_uint_ge(p.end_ms, 10 * p.ns.lease_ms);
		if (p.namespaces[0].format == FORMAT_NATIVE) {
			ck_assert_uint_ge(p.n_hosts, 3);
			plan_expect_contention(&p);
		} else {
			ck_assert_uint_ge(p.n_hosts, 2);
			ck_assert(p.n_peers > 0 || p.bridge);
			formats[p.namespaces[0].format]++;
		}
		for (size_t i = 0; i < p.n_steps; i++) {
			const struct plan_step *s = &p.steps[i];

			steps[s->kind]++;
			faults[s->fault]++;
			met |= s->kind == STEP_WATCH ? 1u : s->kind ==
			    STEP_BREAK ? 2u : s->kind == STEP_LOCK &&
			    strchr(s->key, '+') != NULL ? 4u : 0;
		}
		n_ours += seed % 6 != 0;
		n_mixed += seed % 6 != 0 && met == 7;
		plan_done(&p);
	}
	ck_assert_uint_ge(100 * n_mixed, MIXED_PERCENT * n_ours);
	for (unsigned i = 1; i < STEP_KINDS; i++)
		ck_assert_msg(steps[i] >= (plan_step_is_scripted(i) ? 0 : 10),
		    "%u x %s", steps[i], plan_step_name(i));
	for (unsigned i = 1; i < MESSAGE_FAULTS; i++)
		ck_assert_msg(faults[i] >= (plan_fault_is_scripted(i) ? 0 :
		    100), "%u x %s", faults[i], plan_fault_name(i));
	for (unsigned i = FORMAT_AWSLABS; i < FORMATS; i++)
		ck_assert_msg(formats[i] >= 5, "%u x %s", formats[i],
		    plan_format_name(i));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_every_setting, test_every_format_and_peer, test_bridge,
		test_every_step,
		test_every_step_at_the_table, test_people, test_each_with_each,
		test_sorting_is_stable, test_copies, test_plans_of_seeds, NULL,
	};

	return suite_run("plan", tests);
}
