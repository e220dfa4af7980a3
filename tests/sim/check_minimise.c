/*
 * Minimising: the steps that a failure needs stay, all others go, for any kind
 * of failure.
 */
#include <string.h>

#include "minimise.h"
#include "suite.h"

struct asked {
	unsigned times;
	unsigned needed;	/* of the searched steps */
};

/* Many steps of all kinds, of which few matter. */
static void
minimise_make(struct plan *p)
{
	plan_init(p);
	p->n_hosts = 5;
	p->n_namespaces = 2;
	p->end_ms = p->quiet_ms = 600000;
	p->lateness_ms = 7;
	p->ns.audit_ms = 33333;
	for (unsigned i = 0; i < p->n_hosts; i++)
		p->hosts[i].rate_ppm = (int32_t)i * 1000;
	for (unsigned i = 0; i < 384; i++) {
		enum step_kind kind = 1 + i % (STEP_KINDS - 1);
		struct plan_step *s = plan_add(p, kind, 1234 * i);

		s->client = 1 + i % 17;
		/*
		 * No kind is always of the same host, for any number of kinds.
		 */
		s->host = i / (STEP_KINDS - 1) % p->n_hosts;
		s->namespace_index =
		    kind == STEP_KILL ||
		    kind == STEP_HAND_WAITER_MARK ? 0 : i % 2;
		s->key[0] = (char)('x' + i % 3);
		s->ms = s->hold_ms = s->wait_ms = 54321;
		s->shift_ms = -54321;
		s->nth = 1 + i % 7;
		s->count = kind < STEP_TABLE_CUT ? s->nth : 0;
		s->fault = 1 + i % (MESSAGE_FAULTS - 1);
		s->operation = i % OPERATION_SESSION_CLOSE;
	}
}

static void
minimise_expect(minimise_fn *fails, struct plan *ret)
{
	struct asked asked = { .times = 0 };
	struct asked again = { .times = 0 };
	char text[256] = "";
	struct plan p;

	minimise_make(&p);
	minimise(&p, fails, &asked, 20000, ret);
	ck_assert_uint_lt(asked.times, 20000);
	ck_assert(fails(&again, ret));
	ck_assert_msg(plan_check(ret, text, sizeof(text)) == 0, "%s", text);
	plan_done(&p);
}

/* Two steps that are far from each other. */
static bool
fails_of_two(void *arg, const struct plan *p)
{
	struct asked *a = arg;
	bool kill = false;

	a->times++;
	for (size_t i = 0; i < p->n_steps; i++) {
		if (p->steps[i].kind == STEP_KILL)
			kill = true;
		if (kill && p->steps[i].kind == STEP_HAND_WAITER_MARK &&
		    p->steps[i].at_ms >= 30000)
			return true;
	}
	return false;
}

START_TEST(test_two_steps)
{
	struct plan p;

	minimise_expect(fails_of_two, &p);
	ck_assert_uint_eq(p.n_steps, 2);
	ck_assert_int_eq(p.steps[0].kind, STEP_KILL);
	ck_assert_uint_eq(p.steps[0].at_ms, 0);
	ck_assert_int_eq(p.steps[1].kind, STEP_HAND_WAITER_MARK);
	ck_assert_uint_lt(p.steps[1].at_ms, 40000);
	ck_assert_uint_eq(p.n_hosts, 1);
	ck_assert_uint_lt(p.end_ms, 80000);
	ck_assert_uint_eq(p.n_namespaces, 1);
	ck_assert_uint_eq(p.lateness_ms, 0);
	ck_assert_uint_eq(p.ns.audit_ms, 60000);
	ck_assert_int_eq(p.hosts[0].rate_ppm, 0);
	plan_done(&p);
}
END_TEST

/* Three locks of one key on different hosts; dropping half never helps. */
static bool
fails_of_three(void *arg, const struct plan *p)
{
	struct asked *a = arg;
	unsigned seen = 0;
	unsigned n = 0;

	a->times++;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];

		if (s->kind != STEP_LOCK || seen & 1u << s->host)
			continue;
		seen |= 1u << s->host;
		n++;
	}
	return n >= 3;
}

START_TEST(test_three_hosts)
{
	struct plan p;

	minimise_expect(fails_of_three, &p);
	ck_assert_uint_eq(p.n_steps, 3);
	ck_assert_uint_eq(p.n_hosts, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(p.steps[i].wait_ms, 0);
		ck_assert_uint_eq(p.steps[i].hold_ms, 0);
	}
	plan_done(&p);
}
END_TEST

/* The duration matters, and the host of the clock. */
static bool
fails_of_length(void *arg, const struct plan *p)
{
	struct asked *a = arg;

	a->times++;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];

		if (s->kind == STEP_PAUSE && s->ms >= 20200 &&
		    p->hosts[s->host].rate_ppm == 3000)
			return true;
	}
	return false;
}

START_TEST(test_numbers)
{
	struct plan p;

	minimise_expect(fails_of_length, &p);
	ck_assert_uint_eq(p.n_steps, 1);
	ck_assert_uint_eq(p.steps[0].ms, 25000);
	ck_assert_uint_eq(p.steps[0].at_ms, 0);
	ck_assert_uint_eq(p.n_hosts, 1);
	ck_assert_int_eq(p.hosts[0].rate_ppm, 3000);
	plan_done(&p);
}
END_TEST

/* Every step of a certain kind. */
static bool
fails_of_all(void *arg, const struct plan *p)
{
	struct asked *a = arg;
	unsigned n = 0;

	a->times++;
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == STEP_MESSAGE &&
		    p->steps[i].nth + p->steps[i].count >= 2)
			n++;
	if (a->needed == 0)
		a->needed = n;
	return n == a->needed;
}

START_TEST(test_many_steps)
{
	struct asked all = { .times = 0 };
	struct plan p, made;

	minimise_make(&made);
	ck_assert(fails_of_all(&all, &made));
	minimise_expect(fails_of_all, &p);
	ck_assert_uint_gt(all.needed, 5);
	ck_assert_uint_eq(p.n_steps, all.needed);
	for (size_t i = 0; i < p.n_steps; i++)
		ck_assert_uint_eq(p.steps[i].nth, 1);
	plan_done(&made);
	plan_done(&p);
}
END_TEST

static bool
fails_never(void *arg, const struct plan *p)
{
	struct asked *a = arg;

	(void)p;
	a->times++;
	return false;
}

static bool
fails_always(void *arg, const struct plan *p)
{
	struct asked *a = arg;

	(void)p;
	a->times++;
	return true;
}

START_TEST(test_nothing_fails)
{
	struct asked asked = { .times = 0 };
	struct plan p, ret;

	minimise_make(&p);
	minimise(&p, fails_never, &asked, 100, &ret);
	ck_assert_uint_eq(asked.times, 1);
	ck_assert_uint_eq(ret.n_steps, p.n_steps);
	ck_assert_mem_eq(ret.steps, p.steps, p.n_steps * sizeof(*p.steps));
	plan_done(&ret);

	minimise(&p, fails_always, &asked, 0, &ret);
	ck_assert_uint_eq(asked.times, 1);
	ck_assert_uint_eq(ret.n_steps, p.n_steps);
	plan_done(&ret);
	plan_done(&p);
}
END_TEST

START_TEST(test_all_fails)
{
	struct plan p;

	minimise_expect(fails_always, &p);
	ck_assert_uint_eq(p.n_steps, 0);
	ck_assert_uint_eq(p.n_hosts, 1);
	plan_done(&p);
}
END_TEST

/* It never tries more often than it may, and keeps its best result. */
START_TEST(test_runs_are_bounded)
{
	for (unsigned runs = 1; runs < 60; runs++) {
		struct asked asked = { .times = 0 };
		struct plan p, ret;

		minimise_make(&p);
		minimise(&p, fails_of_two, &asked, runs, &ret);
		ck_assert_uint_le(asked.times, runs);
		ck_assert(fails_of_two(&asked, &ret));
		plan_done(&ret);
		plan_done(&p);
	}
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_two_steps, test_three_hosts, test_numbers,
		test_many_steps, test_nothing_fails, test_all_fails,
		test_runs_are_bounded, NULL,
	};

	return suite_run("minimise", tests);
}
