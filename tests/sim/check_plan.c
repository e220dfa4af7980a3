/*
 * Plans: what is read is written again, to the letter; whoever misspells gets
 * the line; and nothing is guessed.
 */
#include <stdio.h>
#include <string.h>

#include "plan.h"
#include "suite.h"

#define TEXT_MAX 65536
#define MIXED_PERCENT 20	/* have everything in one (plan_dice.h) */

static int
plan_parse(struct plan *p, const char *text, char *ret_wrong, size_t size)
{
	FILE *from = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int r;

	ck_assert_ptr_nonnull(from);
	plan_init(p);
	r = plan_read(p, from, ret_wrong, size);
	(void)fclose(from);
	return r;
}

static void
plan_print(const struct plan *p, char *ret_text, size_t size)
{
	FILE *to = fmemopen(ret_text, size, "w");

	ck_assert_ptr_nonnull(to);
	plan_write(p, to);
	(void)fclose(to);
}

static void
plan_expect_same(const struct plan *a, const struct plan *b)
{
	ck_assert_uint_eq(a->seed, b->seed);
	ck_assert_uint_eq(a->n_hosts, b->n_hosts);
	ck_assert_uint_eq(a->n_namespaces, b->n_namespaces);
	ck_assert_uint_eq(a->bridge, b->bridge);
	ck_assert_uint_eq(a->hedges, b->hedges);
	ck_assert_uint_eq(a->no_transactions, b->no_transactions);
	ck_assert_mem_eq(&a->ns, &b->ns, sizeof(a->ns));
	ck_assert_mem_eq(&a->limits, &b->limits, sizeof(a->limits));
	ck_assert_uint_eq(a->retention_s, b->retention_s);
	ck_assert_uint_eq(a->latency_ms, b->latency_ms);
	ck_assert_uint_eq(a->latency_max_ms, b->latency_max_ms);
	ck_assert_uint_eq(a->lateness_ms, b->lateness_ms);
	ck_assert_mem_eq(a->hosts, b->hosts,
	    a->n_hosts * sizeof(a->hosts[0]));
	ck_assert_mem_eq(a->namespaces, b->namespaces, sizeof(a->namespaces));
	ck_assert_uint_eq(a->n_peers, b->n_peers);
	ck_assert_mem_eq(a->peers, b->peers,
	    a->n_peers * sizeof(a->peers[0]));
	ck_assert_uint_eq(a->quiet_ms, b->quiet_ms);
	ck_assert_uint_eq(a->end_ms, b->end_ms);
	ck_assert_pstr_eq(a->trace, b->trace);
	ck_assert_uint_eq(a->n_steps, b->n_steps);
	for (size_t i = 0; i < a->n_steps; i++)
		ck_assert_mem_eq(&a->steps[i], &b->steps[i],
		    sizeof(a->steps[i]));
}

/* Text to plan to text: to the letter. */
static void
plan_expect_text(const char *text)
{
	static char again[TEXT_MAX];
	char wrong[256] = "";
	struct plan p;

	ck_assert_msg(plan_parse(&p, text, wrong, sizeof(wrong)) == 0, "%s",
	    wrong);
	plan_print(&p, again, sizeof(again));
	ck_assert_str_eq(again, text);
	plan_done(&p);
}

static void
plan_expect_wrong(const char *text, const char *wrong)
{
	char found[256] = "nothing";
	struct plan p;

	ck_assert_msg(plan_parse(&p, text, found, sizeof(found)) < 0,
	    "no error in: %s", text);
	ck_assert_str_eq(found, wrong);
	plan_done(&p);
}

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
	    "world idle=10ms retention=1h latency=0s..8ms lateness=3ms\n"
	    "limits clients=1 requests-per-client=2 holds-per-client=3 "
	    "locks=4 requests=5\n"
	    "limits observations=6 doubts=7\n"
	    "host A rate=+10000ppm offset=12s wall=-365d\n"
	    "host B rate=-10000ppm offset=1ms wall=+730d absent\n"
	    "trace told,script\n"
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
	    "at 2s c1 drain\n"
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
	    "at 5s hand wish x\n"
	    "end 1m\n");
}
END_TEST

/* Comments, spaces, any order of steps, and what is left to the defaults. */
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

struct misspelt {
	const char *text;
	const char *wrong;
};

START_TEST(test_misspelt_world)
{
	static const struct misspelt cases[] = {
		{ "--- trace\nend 1s\n", "line 1: there is no end" },
		{ "end 1s\nend 2s\n", "line 2: this is said twice" },
		{ "end 1\n", "line 1: '1' should be a duration such as 250ms, "
		    "5s, 2m, 3h or 365d" },
		{ "\nend 1.5s\n", "line 2: '1.5s' should be a duration such "
		    "as 250ms, 5s, 2m, 3h or 365d" },
		{ "end 1s now\n", "line 1: 'now' is too much" },
		{ "finish 1s\n", "line 1: 'finish' begins no line of a plan" },
		{ "world leese=1s\n",
		    "line 1: there is no setting 'leese' here" },
		{ "world doubts=1\n",
		    "line 1: there is no setting 'doubts' here" },
		{ "world lease=1s\nworld lease=1s\n",
		    "line 2: lease is said twice" },
		{ "world lease\n", "line 1: lease needs a value" },
		{ "world keeps-idle=yes\n",
		    "line 1: keeps-idle has no value" },
		{ "world drift=1%\n",
		    "line 1: '1%' should be a rate such as 5000ppm" },
		{ "world handover=4294967296\n", "line 1: '4294967296' should "
		    "be a number up to 4294967295" },
		{ "world retention=3600001ms\n",
		    "line 1: retention is in whole seconds" },
		{ "host D absent\n", "line 1: there is no host D" },
		{ "format js\n", "line 1: there is no format 'js'" },
		{ "format dlock ns=1\n", "line 1: there is no namespace 1" },
		{ "format dlock\nformat dlock\n",
		    "line 2: this is said twice" },
		{ "peer Q java\n", "line 1: the next peer is not 'Q'" },
		{ "peer P awslabs\n",
		    "line 1: there is no older client 'awslabs'" },
		{ "peer P java\nhost P rate=+1ppm\n",
		    "line 2: its line begins with peer" },
		{ "host J absent\n",
		    "line 1: 'J' should be a host, from A to I" },
		{ "host A rate=5ppm\n",
		    "line 1: '5ppm' should be a rate such as +5000ppm" },
		{ "at 0s A kill\nworld hosts=2\n",
		    "line 2: the world comes before the steps" },
		{ "trace Told\nend 1s\n", "line 1: 'Told' should be words "
		    "such as told,script" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		plan_expect_wrong(cases[i].text, cases[i].wrong);
}
END_TEST

START_TEST(test_misspelt_steps)
{
	static const struct misspelt cases[] = {
		{ "at 0s A\n", "line 1: '' is nothing that it can do" },
		{ "at 0s A lock x\n",
		    "line 1: 'lock' is nothing that it can do" },
		{ "at 0s c1 lock x\n",
		    "line 1: 'lock' is nothing that it can do" },
		{ "at 0s c0@A lock x\n", "line 1: clients count from c1" },
		{ "at 0s c1001@A lock x\n",
		    "line 1: '1001' should be a number up to 1000" },
		{ "at 0s c1@D lock x\n", "line 1: there is no host D" },
		{ "at 0s c1@A lock\n", "line 1: '' should be a key of up to "
		    "31 bytes, without =" },
		{ "at 0s c1@A lock x hold=2s wait\n",
		    "line 1: wait needs a value" },
		{ "at 0s c1@A lock x hold=2s hold=3s\n",
		    "line 1: hold is said twice" },
		{ "at 0s c1@A lock x mode=open\n",
		    "line 1: 'open' should be shared or exclusive" },
		{ "at 0s c1@A lock x for=2s\n",
		    "line 1: there is no setting 'for' here" },
		{ "at 0s c1@A lock x ns=1\n",
		    "line 1: there is no namespace 1" },
		{ "at 0s c1@A lock x end=soon\n", "line 1: 'soon' should be "
		    "release, close, drain or never" },
		{ "at 0s A message beat 1 lose\n",
		    "line 1: there is no message 'beat'" },
		{ "at 0s A message any 0 lose\n",
		    "line 1: the next message is number 1" },
		{ "at 0s A message any 1 vanish\n", "line 1: 'vanish' is "
		    "nothing that befalls a message" },
		{ "at 0s A message any 1 late\n", "line 1: '' should be a "
		    "duration such as 250ms, 5s, 2m, 3h or 365d" },
		{ "at 0s A message any 1 lose 2s\n",
		    "line 1: '2s' is too much" },
		{ "at 0s c1@P lock x\n", "line 1: there is no host P" },
		{ "at 0s A wall 5s\n", "line 1: '5s' should be a shift such "
		    "as +5s or -365d" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		plan_expect_wrong(cases[i].text, cases[i].wrong);
}
END_TEST

START_TEST(test_impossible)
{
	plan_expect_wrong("world lease=20s margin=1ms\nend 1s\n",
	    "line 2: margin (1 ms) must be at least drift x lease (200 ms), "
	    "or a holder with a slow clock hears of the loss too late");
	plan_expect_wrong("world hosts=10\nend 1s\n",
	    "line 2: hosts must be from 1 to 9");
	plan_expect_wrong("world namespaces=3\nend 1s\n",
	    "line 2: namespaces must be 1 or 2");
	plan_expect_wrong("host A rate=-5001ppm\nend 1s\n",
	    "line 2: the rate of A must be within half of the drift");
	plan_expect_wrong("peer P java rate=-5001ppm\nend 1s\n",
	    "line 2: the rate of P must be within half of the drift");
	plan_expect_wrong("format dlock skew=2s\npeer P dlock wall=+2s\n"
	    "peer Q dlock wall=-1ms\nend 1s\n", "line 4: wall clocks differ "
	    "by more than the skew of namespace 0");
	plan_expect_wrong("format dlock skew=2s\nat 0s A wall +1s\nend 1s\n",
	    "line 3: wall: records have its times");
	plan_expect_wrong("peer P java\nat 0s c1@P lock x\nend 1s\n",
	    "line 3: a client of java knows nothing of native");
	plan_expect_wrong("format awslabs go-lease\npeer P java\n"
	    "at 0s c1@P lock x\nend 1s\n",
	    "line 4: a client of java knows nothing of awslabs");
	plan_expect_wrong("peer P java\nat 0s P freeze 1s\nend 1s\n",
	    "line 3: freeze: not with an older client");
	plan_expect_wrong("world retention=1m\nend 1s\n",
	    "line 2: retention must be at least 1h");
	plan_expect_wrong("world latency=2s..1s\nend 1s\n",
	    "line 2: the least latency is above the most");
	plan_expect_wrong("quiet 2s\nend 1s\n",
	    "line 2: it is quiet before the end");
	plan_expect_wrong("at 2s A kill\nend 1s\n",
	    "line 2: kill at 2000 ms is after the end");
	plan_expect_wrong("at 0s c1@A lock x limit=2\nend 1s\n",
	    "line 2: lock: a limit is for shared use");
	plan_expect_wrong("host A phase=half\nend 1s\n",
	    "line 1: 'half' should be old, bridge or native");
	plan_expect_wrong("at 0s A move bridge\nend 1s\n",
	    "line 2: phases, and a second lease, are of a world with a "
	    "bridge");
	plan_expect_wrong("world namespaces=2 bridge\nformat js-fail-closed\n"
	    "end 1s\n", "line 3: a bridge goes from namespace 0, whose holds "
	    "end with a lease, to a native one");
	plan_expect_wrong("world namespaces=2 bridge\nformat awslabs\n"
	    "at 0s c1@A lock x ns=1\nend 1s\n",
	    "line 4: lock: its host's phase says in which namespace");
	plan_expect_wrong("end 0s\n",
	    "line 1: a plan has an end, within ten years");
}
END_TEST

/* Nobody is native while somebody has only the old records, or may still rely
 * on one. */
START_TEST(test_two_phases_apart)
{
	const char *world = "world hosts=2 namespaces=2 bridge\n"
	    "format awslabs\npeer P java\n";
	const char *wrong[][2] = {
		{ "at 0s P kill\nat 30s A move native\n",
		    "A has only the old records" },
		{ "at 0s A move bridge\nat 0s P kill\n"
		    "at 30s A move native\n",
		    "B has only the old records" },
		{ "at 0s A move bridge\nat 0s B move bridge\n"
		    "at 30s A move native\n", "P has only the old records" },
		{ "at 0s A move bridge\nat 0s B move bridge\n"
		    "at 1s P kill\nat 2s P boot\n"
		    "at 30s A move native\n", "P has only the old records" },
		{ "at 0s P kill\nat 10s A move bridge\n"
		    "at 10s B move bridge\nat 30201ms B move native\n",
		    "A has only the old records" },
	};
	char text[512], expected[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct plan p;

		(void)snprintf(text, sizeof(text), "%s%send 1m\n", world,
		    wrong[i][0]);
		ck_assert_int_eq(plan_parse(&p, text, expected,
		    sizeof(expected)), -1);
		ck_assert_ptr_nonnull(strstr(expected, wrong[i][1]));
		plan_done(&p);
	}
	plan_expect_text("world hosts=2 namespaces=2 bridge lease=20s\n"
	    "format awslabs\npeer P java\nat 0s P kill\n"
	    "at 10s A move bridge\nat 10s B move bridge\n"
	    "at 30202ms B move native\nend 1m\n");
}
END_TEST

/* ---- the structure ---------------------------------------------------- */

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

	/* Every sixth is told to have older clients. */
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
		ck_assert_msg(steps[i] >= 10, "%u x %s", steps[i],
		    plan_step_name(i));
	for (unsigned i = 1; i < MESSAGE_FAULTS; i++)
		ck_assert_msg(faults[i] >= 100, "%u x %s", faults[i],
		    plan_fault_name(i));
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
		test_two_phases_apart, test_every_step, test_people,
		test_misspelt_world, test_misspelt_steps, test_impossible,
		test_sorting_is_stable, test_copies, test_plans_of_seeds, NULL,
	};

	return suite_run("plan", tests);
}
