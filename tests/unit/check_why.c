/*
 * What is advised: only what the facts bear out.
 */
#include <stdio.h>
#include <string.h>

#include "cli/why/advice.h"
#include "ddblock.h"
#include "test.h"

static struct why_facts f;
static struct why_advices all;

/* Held here by a process of the user who asks. */
static void
setup(void)
{
	f = (struct why_facts){ .key = "k", .words = "k", .uid = 1000,
		.n_holds = 1,
		.lock = { .held = true, .here = true, .token = "7",
		    .holders = 1, .lease_ms = 20000, .expires_ms = 15000,
		    .unchanged_ms = WHY_UNKNOWN_MS },
		.daemon = { .known = true, .open = true, .ns = "default" },
		.holds = { { .lingers_ms = WHY_UNKNOWN_MS,
		    .at_least_ms = WHY_UNKNOWN_MS, .client = {
		    .uid = 1000, .process = { .pid = 4711, .seen = true } } } },
	};
}

static void
teardown(void)
{
	why_advices_done(&all);
}

TEST_FIXTURE(setup, teardown)

static enum why_state
advise(void)
{
	const enum why_state state = why_judge(&f);

	why_advices_done(&all);
	why_advise(&f, state, &all);
	ck_assert_uint_gt(all.n, 0);
	for (size_t i = 0; i < all.n; i++) {
		ck_assert_int_eq(buffer_failed(&all.all[i].text), 0);
		ck_assert_int_eq(buffer_failed(&all.all[i].command), 0);
		ck_assert_uint_gt(all.all[i].text.length, 0);
	}
	return state;
}

/* Is there such a command? */
static bool
commands(const char *part)
{
	for (size_t i = 0; i < all.n; i++) {
		if (all.all[i].command.data != NULL &&
		    strstr(all.all[i].command.data, part) != NULL)
			return true;
	}
	return false;
}

TEST(test_held)
{
	ck_assert_int_eq(advise(), WHY_HELD);
	ck_assert(commands("kill 4711"));
	ck_assert(commands("ddblock break --token=7 --reason=WHY k"));
	ck_assert(!commands("-CONT"));
}

/* Neither a process that may be another one, nor another user's. */
TEST(test_which_process)
{
	f.holds[0].client.process.seen = false;
	(void)advise();
	ck_assert(!commands("kill"));
	setup();
	f.holds[0].client.uid = 1001;
	(void)advise();
	ck_assert(!commands("kill"));
	f.uid = 0;
	(void)advise();
	ck_assert(commands("kill 4711"));
	/* It is for another process: the end of that ends the hold. */
	f.holds[0].of = (struct why_process){ .pid = 4712, .seen = true };
	(void)advise();
	ck_assert(commands("kill 4712") && !commands("kill 4711"));
}

/* Of several holders none is the one in the way. */
TEST(test_several)
{
	f.n_holds = 2;
	f.holds[1] = f.holds[0];
	f.lock.shared = f.holds[0].shared = f.holds[1].shared = true;
	(void)advise();
	ck_assert(!commands("kill"));
	f.n_holds = 1;
	f.n_more_holds = 1;
	(void)advise();
	ck_assert(!commands("kill"));
}

TEST(test_stopped)
{
	f.holds[0].client.process.stopped = true;
	ck_assert_int_eq(advise(), WHY_STOPPED);
	ck_assert(commands("kill -CONT 4711"));
	setup();
	f.holds[0].client.process.stopped_child = 4713;
	ck_assert_int_eq(advise(), WHY_STOPPED);
	ck_assert(commands("kill -CONT 4713"));
	/* To let it go on without the lock helps nobody. */
	f.holds[0].lost = true;
	ck_assert_int_eq(advise(), WHY_LOST);
	ck_assert(!commands("-CONT"));
	ck_assert(commands("kill -KILL 4711"));
	/* Nor if another one has it beside. */
	f.n_holds = 2;
	f.holds[1] = f.holds[0];
	f.holds[1].lost = false;
	f.holds[1].client.process.stopped_child = 0;
	ck_assert_int_eq(advise(), WHY_HELD);
	ck_assert(!commands("-CONT"));
}

TEST(test_stays)
{
	f.holds[0].at_least_ms = 12000;	/* its client still works */
	ck_assert_int_eq(advise(), WHY_HELD);
	f.holds[0].client.left = true;
	f.holds[0].client.process.seen = false;
	ck_assert_int_eq(advise(), WHY_STAYS);
	ck_assert_ptr_nonnull(strstr(all.all[0].text.data, "wait 12s"));
	ck_assert(!commands("kill"));
}

TEST(test_danger_comes_first)
{
	f.holds[0].danger = true;
	f.holds[0].client.process.stopped = true;
	ck_assert_int_eq(advise(), WHY_DANGER);
	ck_assert(commands("ddblock check"));
	ck_assert(commands("kill -CONT 4711"));
}

static void
elsewhere(void)
{
	f.n_holds = 0;
	f.lock.here = false;
	f.lock.expires_ms = WHY_UNKNOWN_MS;
}

TEST(test_elsewhere)
{
	elsewhere();
	ck_assert_int_eq(advise(), WHY_ELSEWHERE);
	f.lock.unchanged_ms = 10000;	/* half its lease */
	f.lock.expires_ms = 12000;
	ck_assert_int_eq(advise(), WHY_ELSEWHERE);
	f.lock.unchanged_ms = 10001;
	ck_assert_int_eq(advise(), WHY_SILENT);
	ck_assert_ptr_nonnull(strstr(all.all[0].text.data, "wait 12s"));
	/* When that is not known, no time is told. */
	f.lock.expires_ms = WHY_UNKNOWN_MS;
	ck_assert_int_eq(advise(), WHY_SILENT);
	ck_assert_ptr_nonnull(strstr(all.all[0].text.data, "wait: "));
}

/* What is fail-closed is never taken over. */
TEST(test_fail_closed)
{
	elsewhere();
	f.lock.fail_closed = true;
	f.lock.unchanged_ms = 10001;
	ck_assert_int_eq(advise(), WHY_SILENT);
	ck_assert(!commands("ddblock run"));
	f.lock.silent = true;
	ck_assert_int_eq(advise(), WHY_KEPT);
	ck_assert_uint_eq(all.n, 1);
	ck_assert(commands("ddblock break"));
}

/* A lock is free, but not everybody can have it. */
TEST(test_free)
{
	elsewhere();
	f.lock.held = false;
	ck_assert_int_eq(advise(), WHY_FREE);
	ck_assert(commands("ddblock run -n k"));
	f.n_waiters = 1;
	(void)advise();
	ck_assert(!commands("ddblock run"));
	f.n_waiters = 0;
	f.daemon.draining = true;
	(void)advise();
	ck_assert(commands("ddblock undrain") && !commands("ddblock run"));
	f.daemon.draining = false;
	f.daemon.open = false;
	(void)advise();
	ck_assert(commands("ddblock check") && !commands("ddblock run"));
	f.daemon.open = true;
	f.daemon.removed = true;
	(void)advise();
	ck_assert(!commands("ddblock run"));
}

TEST(test_free_and_lost)
{
	f.lock.held = false;
	f.holds[0].lost = true;
	ck_assert_int_eq(advise(), WHY_LOST);
	ck_assert(commands("kill 4711"));
}

TEST(test_dead)
{
	elsewhere();
	f.lock.dead = true;
	ck_assert_int_eq(advise(), WHY_DEAD);
	ck_assert(commands("ddblock run -n k"));
}

TEST(test_semaphore)
{
	f.lock.shared = true;
	f.lock.limit = 2;
	f.holds[0].shared = true;
	ck_assert_int_eq(advise(), WHY_HELD);
	ck_assert(commands("ddblock run -n -c 2 k"));
	f.lock.holders = 2;
	(void)advise();
	ck_assert(!commands("-c 2"));
	/* Others wait: a place that is free is theirs. */
	f.lock.holders = 1;
	f.n_waiters = 1;
	(void)advise();
	ck_assert(!commands("-c 2"));
}

/* What the store does not tell, the daemon may know of its own holds. */
TEST(test_unreachable)
{
	f.code = DDBLOCK_E_UNREACHABLE;
	f.holds[0].danger = true;
	ck_assert_int_eq(advise(), WHY_DANGER);
	f.n_holds = 0;
	ck_assert_int_eq(advise(), WHY_UNKNOWN);
	ck_assert(commands("ddblock check"));
	f.code = DDBLOCK_E_BAD_RECORD;
	ck_assert_int_eq(advise(), WHY_UNKNOWN);
	ck_assert(!commands("ddblock"));
	f.code = DDBLOCK_E_SHUTTING_DOWN;
	ck_assert_int_eq(advise(), WHY_UNKNOWN);
	ck_assert(!commands("ddblock"));
	f.code = DDBLOCK_E_DENIED;
	ck_assert_int_eq(advise(), WHY_HIDDEN);
}

/* An older client's record has no token: break shows its holder, and asks. */
TEST(test_without_a_token)
{
	elsewhere();
	(void)snprintf(f.lock.token, sizeof(f.lock.token), "0");
	(void)advise();
	ck_assert(commands("ddblock break --reason=WHY k"));
}

/* A name that is not to be pasted is in no command. */
TEST(test_no_words)
{
	f.words[0] = '\0';
	(void)advise();
	ck_assert(!commands("ddblock"));
	f.lock.held = false;
	f.n_holds = 0;
	(void)advise();
	ck_assert(!commands("ddblock"));
}

static const struct {
	uint64_t ms;
	const char *wanted;
} times[] = {
	{ 0, "0.0s" }, { 9999, "9.9s" }, { 10000, "10s" }, { 59999, "59s" },
	{ 60000, "1m00s" }, { 3599999, "59m59s" }, { 3600000, "1h00m" },
	{ 86399999, "23h59m" }, { 90000000, "1d01h" },
};

TEST_ROWS(test_times, times)
{
	char text[WHY_TIME_MAX];

	ck_assert_str_eq(why_time(times[_i].ms, text), times[_i].wanted);
}
