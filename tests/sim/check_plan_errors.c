/*
 * Invalid plans: a misspelling is reported with its line, and no value is
 * guessed.
 */
#include <string.h>

#include "plan_case.h"

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
		{ "expect\n", "line 1: nothing is expected" },
		{ "expect luck=1\n",
		    "line 1: there is no setting 'luck' here" },
		{ "expect losses=1\nexpect grants=1\n",
		    "line 2: this is said twice" },
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
		{ "at 0s A message any 4..4 lose\n",
		    "line 1: '4..4' ends before it begins" },
		{ "at 0s A message any 1 refused\n", "line 1: '' should be "
		    "an error such as ResourceNotFoundException" },
		{ "at 0s A message any 1 refused no_table\n", "line 1: "
		    "'no_table' should be an error such as "
		    "ResourceNotFoundException" },
		{ "at 0s c3..2@A lock x\n",
		    "line 1: 'c3..2' ends before it begins" },
		{ "at 0s c0..2@A lock x\n",
		    "line 1: clients count from c1" },
		{ "at 0s c1@A lock x2..1\n",
		    "line 1: 'x2..1' ends before it begins" },
		{ "at 0s hand wish x of=J\n", "line 1: 'J' should be a host, "
		    "from A to I" },
		{ "at 0s c1@A list x page=slow\n", "line 1: 'slow' should be "
		    "a duration such as 250ms, 5s, 2m, 3h or 365d" },
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
	plan_expect_wrong("at 0s hand hold x of=A\nend 1s\n",
	    "line 2: hand hold: not with of");
	plan_expect_wrong("at 0s hand take x lease=1s\nend 1s\n",
	    "line 2: hand take: not with lease");
	plan_expect_wrong("at 0s hand wish x left=1\nend 1s\n",
	    "line 2: hand wish: not with left");
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

/* No host is native while another has only the old records, or may still rely
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

int
main(void)
{
	const TTest *const tests[] = {
		test_two_phases_apart, test_misspelt_world,
		test_misspelt_steps, test_impossible,
		NULL,
	};

	return suite_run("plan errors", tests);
}
