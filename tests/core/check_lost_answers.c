/*
 * Each single answer lost in turn, before and after its effect, repeated or
 * not, refused, or its request landing late: no hold lost, none doubled, no
 * false loss, and nothing left behind after one audit.
 *
 * One story is told for each case. It makes every kind of operation happen:
 * two hosts contend, hand over locally, wish, give up, and one of them dies.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>

#include "ddblock.h"

struct lost_case {
	const char *name;
	enum fault_kind fault;
	uint64_t ms;
	uint64_t retry_ms;
	int code;
};

static const struct lost_case lost_cases[] = {
	{ "before", FAULT_LOSE_BEFORE, 0, 0, 0 },
	{ "after", FAULT_LOSE_AFTER, 0, 0, 0 },
	{ "before, repeated", FAULT_LOSE_BEFORE, 0, 1000, 0 },
	{ "after, repeated", FAULT_LOSE_AFTER, 0, 1000, 0 },
	{ "late", FAULT_LATE, 4000, 0, 0 },
	{ "late, given up", FAULT_LATE, 7000, 0, 0 },
	{ "late, long after", FAULT_LATE, 40000, 0, 0 },
	{ "late, repeated", FAULT_LATE, 2000, 1000, 0 },
	{ "late, long after, repeated", FAULT_LATE, 40000, 1000, 0 },
	{ "slow answer", FAULT_DELAY_ANSWER, 3000, 0, 0 },
	{ "throttled", FAULT_REFUSE, 0, 0, DDBLOCK_E_THROTTLED },
	{ "unreachable", FAULT_REFUSE, 0, 0, DDBLOCK_E_UNREACHABLE },
	{ "conflict", FAULT_CONFLICT, 0, 0, 0 },
};

#define LOST_N_CASES (sizeof(lost_cases) / sizeof(lost_cases[0]))

static struct driver *
lost_new(const struct lost_case *c, unsigned host, enum operation_kind kind,
    unsigned nth)
{
	struct driver *d = driver_new(1, 2);
	struct fault fault = { .host = host, .kind = kind, .nth = nth,
		.fault = c->fault, .ms = c->ms, .retry_ms = c->retry_ms,
		.code = c->code };
	char text[96];

	/* A beat's deadline is the end of the lease; stores repeat it until
	 * then, so a single lost answer is never the last word. */
	if (kind == OPERATION_SESSION_BEAT && fault.retry_ms == 0)
		fault.retry_ms = d->namespaces[0].request_ms;
	d->namespaces[0].handover_max = 2;
	(void)snprintf(text, sizeof(text), "case: %s, %u. of kind %d",
	    c->name, nth, (int)kind);
	driver_say(d, host, text);
	net_add_fault(&d->net, &fault);
	driver_start(d);
	return d;
}

/* Let time pass until @client holds jobs/x; then it works for a while. */
static void
lost_wait(struct driver *d, unsigned client)
{
	uint64_t end = d->now + 30000;

	while (!driver_holds(d, client, "jobs/x") && d->now < end)
		driver_run(d, 50);
	if (!driver_holds(d, client, "jobs/x"))
		driver_fail(d, "c%u was not granted in time", client);
	driver_run(d, 3000);
	driver_check(d, driver_holds(d, client, "jobs/x"));
}

/*
 * A's c1 and c3 and c4, B's c2 take turns; c5 and c7 on B give up; c6 on A
 * keeps another key for two audits. All of them get what they ask for, and
 * nobody loses anything. True: the fault was met.
 */
static bool
lost_contention(const struct lost_case *c, unsigned host,
    enum operation_kind kind, unsigned nth)
{
	struct driver *d = lost_new(c, host, kind, nth);
	unsigned i;
	bool met;

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	lost_wait(d, 1);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, driver_connect(d, B), "jobs/x", 2000);
	driver_acquire(d, driver_connect(d, A), "jobs/y", DRIVER_FOREVER);
	driver_run(d, 4000);
	driver_acquire(d, driver_connect(d, B), "jobs/y", 2000);
	driver_run(d, 4000);
	/* c6 has it, unless its request came too late. */
	if (driver_holds(d, 7, "jobs/y"))
		driver_release(d, 7, "jobs/y");
	driver_release(d, 1, "jobs/x");
	lost_wait(d, 3);
	driver_release(d, 3, "jobs/x");
	/* B's turn comes, before or after c4's. */
	for (i = 0; i < 400 && !driver_holds(d, 2, "jobs/x") &&
	    !driver_holds(d, 4, "jobs/x"); i++)
		driver_run(d, 100);
	i = driver_holds(d, 2, "jobs/x") ? 2 : 4;
	lost_wait(d, i);
	driver_release(d, i, "jobs/x");
	lost_wait(d, 6 - i);
	driver_release(d, 6 - i, "jobs/x");
	driver_run_until(d, 130000);
	driver_check(d, driver_holds(d, 6, "jobs/y"));
	driver_check(d, trace_count(&d->trace, 0, "* lost *") == 0);
	driver_expect_clean(d);
	driver_check(d, trace_count(&d->trace, 0, "* lost *") == 0);
	met = d->net.n_faults == 0;
	driver_free(d);
	return met;
}

/* A dies holding; B takes over, and hands it on. */
static void
lost_takeover(const struct lost_case *c, enum operation_kind kind,
    bool absent)
{
	struct driver *d = lost_new(c, B, kind, 1);
	unsigned i;

	driver_run(d, 6000);
	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run(d, 1000);
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	driver_kill(d, A);
	if (absent)
		model_delete_session(&d->net.store, "A1");
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	for (i = 0; i < 40 && !driver_holds(d, 2, "jobs/x"); i++)
		driver_run(d, 1000);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_run(d, 60000);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	driver_expect_clean(d);
	driver_check(d, trace_count(&d->trace, 0, "* lost *") == 0);
	driver_free(d);
}

/* The first such operation, the second... until there are no more. */
static void
lost_all_contentions(enum operation_kind kind)
{
	unsigned nth, host, met = 0;
	size_t i;

	for (i = 0; i < LOST_N_CASES; i++) {
		for (host = A; host <= B; host++) {
			for (nth = 1; nth <= 8; nth++) {
				if (!lost_contention(&lost_cases[i], host,
				    kind, nth))
					break;
				met++;
			}
		}
	}
	ck_assert_uint_ge(met, LOST_N_CASES);
}

static void
lost_all_takeovers(enum operation_kind kind, bool absent)
{
	size_t i;

	for (i = 0; i < LOST_N_CASES; i++)
		lost_takeover(&lost_cases[i], kind, absent);
}

START_TEST(test_acquire)
{
	lost_all_contentions(OPERATION_ACQUIRE);
}
END_TEST

START_TEST(test_release)
{
	lost_all_contentions(OPERATION_RELEASE);
}
END_TEST

START_TEST(test_extend)
{
	lost_all_contentions(OPERATION_EXTEND);
}
END_TEST

START_TEST(test_read)
{
	lost_all_contentions(OPERATION_READ);
	lost_all_contentions(OPERATION_READ_MANY);
}
END_TEST

START_TEST(test_want_unwant)
{
	lost_all_contentions(OPERATION_WANT);
	lost_all_contentions(OPERATION_UNWANT);
}
END_TEST

START_TEST(test_open)
{
	lost_all_contentions(OPERATION_SESSION_OPEN);
}
END_TEST

/* One beat is lost for as long as a request may take: no hold suffers. */
START_TEST(test_beat)
{
	lost_all_contentions(OPERATION_SESSION_BEAT);
}
END_TEST

START_TEST(test_kill_bury_look)
{
	lost_all_takeovers(OPERATION_SESSION_READ, false);
	lost_all_takeovers(OPERATION_SESSION_KILL, false);
	lost_all_takeovers(OPERATION_SESSION_BURY, true);
	lost_all_takeovers(OPERATION_ACQUIRE, false);
	lost_all_takeovers(OPERATION_WANT, false);
}
END_TEST

/* The close of a session that was lost: the lock is free soon, and later
 * clients of the same host get it. */
START_TEST(test_close)
{
	size_t i;

	for (i = 0; i < LOST_N_CASES; i++) {
		struct driver *d = lost_new(&lost_cases[i], A,
		    OPERATION_SESSION_CLOSE, 1);
		struct fault fault = { .host = A,
			.kind = OPERATION_SESSION_BEAT, .count = 1,
			.fault = FAULT_LOSE_BEFORE };

		driver_acquire(d, driver_connect(d, A), "jobs/x",
		    DRIVER_FOREVER);
		driver_run(d, 1000);
		net_add_fault(&d->net, &fault);
		driver_acquire(d, driver_connect(d, A), "jobs/x",
		    DRIVER_FOREVER);
		driver_run_until(d, 19500);
		driver_check(d, trace_count(&d->trace, 0,
		    "* c1 lost *") == 1);
		driver_run_until(d, 50000);
		driver_check(d, driver_holds(d, 2, "jobs/x"));
		driver_expect_clean(d);
		driver_free(d);
	}
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_acquire,
		test_release,
		test_extend,
		test_read,
		test_want_unwant,
		test_open,
		test_beat,
		test_kill_bury_look,
		test_close,
		NULL,
	};

	return suite_run("lost answers", tests);
}
