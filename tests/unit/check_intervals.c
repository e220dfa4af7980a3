/*
 * Intervals made of the audit trail's lines, of which some are missing.
 */
#include <stdio.h>
#include <string.h>

#include "cli/history/intervals.h"
#include "test.h"

#define S UINT64_C(1000000)

static struct intervals *all;
static struct event next;	/* what the next line says */

static void
begin(uint64_t since_s, uint64_t until_s, size_t max)
{
	intervals_free(all);
	all = intervals_new(since_s * S, until_s * S, max);
	ck_assert_ptr_nonnull(all);
	next = (struct event){ .boot = "boot", .machine = "machine",
		.unit = "ddblockd.service", .daemon = 1, .host = "web-1",
		.ns = "default", .key = "k", .token = "7", .hold = 3,
		.has_client = true, .uid = 1000, .pid = 4711,
		.name = "nightly.sh" };
}

static void
setup(void)
{
	begin(0, 1000000, 100);
}

static void
teardown(void)
{
	intervals_free(all);
	all = NULL;
}

TEST_FIXTURE(setup, teardown)

/* A line at that second, by both clocks. */
static void
line(uint64_t at_s, enum trail_kind kind)
{
	next.kind = kind;
	next.wall_us = at_s * S;
	next.boot_us = at_s * S;
	ck_assert(intervals_add(all, &next));
	next.reason[0] = '\0';
}

static void
line_for(uint64_t at_s, enum trail_kind kind, const char *reason)
{
	(void)snprintf(next.reason, sizeof(next.reason), "%s", reason);
	line(at_s, kind);
}

static size_t
count(void)
{
	size_t n = 0;

	for (const struct interval *i = intervals_next(all, NULL); i != NULL;
	    i = intervals_next(all, i))
		n++;
	return n;
}

/* The only one, or the last. */
static const struct interval *
last(void)
{
	const struct interval *found = NULL;

	for (const struct interval *i = intervals_next(all, NULL); i != NULL;
	    i = intervals_next(all, i))
		found = i;
	ck_assert_ptr_nonnull(found);
	return found;
}

TEST(test_whole)
{
	line(10, TRAIL_GRANT);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
	ck_assert_uint_eq(last()->until_us, 0);
	line_for(25, TRAIL_RELEASE, "its client has left");
	ck_assert_uint_eq(count(), 1);
	ck_assert_int_eq(last()->end, INTERVAL_RELEASED);
	ck_assert_uint_eq(last()->from_us, 10 * S);
	ck_assert_uint_eq(last()->until_us, 25 * S);
	ck_assert_uint_eq(last()->held_us, 15 * S);
	ck_assert_str_eq(last()->reason, "its client has left");
	ck_assert_str_eq(last()->name, "nightly.sh");
	ck_assert(!last()->clock_set && !last()->is_bound);
}

/* Rotated away, or one line too many for its user. */
TEST(test_without_beginning)
{
	line(25, TRAIL_RELEASE);
	ck_assert(!last()->began);
	ck_assert_uint_eq(last()->held_us, 0);
	ck_assert_uint_eq(last()->until_us, 25 * S);
}

TEST(test_danger_and_loss)
{
	line(10, TRAIL_GRANT);
	line_for(12, TRAIL_DANGER, "UNREACHABLE");
	line(13, TRAIL_SAFE);
	line_for(14, TRAIL_DANGER, "UNREACHABLE");
	line_for(20, TRAIL_LOSS, "expired");
	ck_assert_int_eq(last()->end, INTERVAL_LOST);
	ck_assert_str_eq(last()->reason, "expired");
	ck_assert_uint_eq(last()->dangers, 2);
}

/* A reentrant hold has several grants and one end. */
TEST(test_reentrant)
{
	line(10, TRAIL_GRANT);
	line(11, TRAIL_GRANT);
	line(12, TRAIL_RELEASE);
	ck_assert_uint_eq(count(), 1);
	ck_assert_uint_eq(last()->from_us, 10 * S);
}

TEST(test_downgrade)
{
	line(10, TRAIL_GRANT);
	(void)snprintf(next.token, sizeof(next.token), "8");
	next.shared = true;
	line_for(12, TRAIL_GRANT, "downgrade");
	ck_assert_uint_eq(count(), 2);
	ck_assert_int_eq(intervals_next(all, NULL)->end, INTERVAL_DOWNGRADED);
	ck_assert(last()->shared);
	line(15, TRAIL_RELEASE);
	ck_assert_uint_eq(last()->from_us, 12 * S);
	ck_assert_uint_eq(last()->until_us, 15 * S);
}

TEST(test_sharers)
{
	line(10, TRAIL_GRANT);
	next.hold = 4;
	line(11, TRAIL_GRANT);
	next.hold = 3;
	line(12, TRAIL_RELEASE);
	ck_assert_uint_eq(count(), 2);
	ck_assert_int_eq(intervals_next(all, NULL)->end, INTERVAL_RELEASED);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
}

/* Numbers of holds begin again with a daemon that has no journal. */
TEST(test_same_number_of_another_hold)
{
	line(10, TRAIL_GRANT);
	(void)snprintf(next.token, sizeof(next.token), "9");
	line(12, TRAIL_GRANT);
	line(13, TRAIL_RELEASE);
	ck_assert_uint_eq(count(), 2);
	ck_assert_int_eq(intervals_next(all, NULL)->end, INTERVAL_NONE);
	ck_assert_uint_eq(last()->from_us, 12 * S);
}

TEST(test_resumed_by_another_process)
{
	line(10, TRAIL_GRANT);
	next.pid = 4712;
	line(12, TRAIL_RESUME);
	ck_assert_uint_eq(count(), 1);
	ck_assert_uint_eq(last()->pid, 4712);
	ck_assert_uint_eq(last()->resumes, 1);
}

/* ---- daemons and hosts ------------------------------------------------ */

TEST(test_daemon_goes_on)
{
	line(10, TRAIL_GRANT);
	line(11, TRAIL_STOP);
	next.daemon = 2;
	next.inherited = true;
	line(12, TRAIL_START);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
	line(13, TRAIL_RELEASE);
	ck_assert_uint_eq(count(), 1);
	ck_assert_int_eq(last()->end, INTERVAL_RELEASED);
}

TEST(test_daemon_is_killed)
{
	line(10, TRAIL_GRANT);
	next.daemon = 2;
	line(12, TRAIL_START);
	ck_assert_int_eq(last()->end, INTERVAL_GONE);
	ck_assert(last()->is_bound);
	ck_assert_uint_eq(last()->until_us, 12 * S);
	ck_assert_uint_eq(last()->held_us, 0);
}

TEST(test_daemon_stops)
{
	line(10, TRAIL_GRANT);
	line(12, TRAIL_STOP);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
	line(15, TRAIL_START);
	ck_assert_int_eq(last()->end, INTERVAL_STOPPED);
	ck_assert_uint_eq(last()->until_us, 12 * S);
	ck_assert_uint_eq(last()->held_us, 2 * S);
	ck_assert(!last()->is_bound);
}

/* And no other starts. */
TEST(test_daemon_stops_for_good)
{
	line(10, TRAIL_GRANT);
	line(12, TRAIL_STOP);
	intervals_finish(all);
	ck_assert_int_eq(last()->end, INTERVAL_STOPPED);
	ck_assert_uint_eq(last()->until_us, 12 * S);
}

/* Another unit's daemon, or another host's, ends nothing here. */
TEST(test_other_daemons)
{
	line(10, TRAIL_GRANT);
	(void)snprintf(next.unit, sizeof(next.unit), "other.service");
	line(12, TRAIL_START);
	(void)snprintf(next.unit, sizeof(next.unit), "ddblockd.service");
	(void)snprintf(next.machine, sizeof(next.machine), "other");
	(void)snprintf(next.boot, sizeof(next.boot), "theirs");
	line(13, TRAIL_START);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
}

/* Without a unit there is only the process. */
TEST(test_daemons_without_a_unit)
{
	next.unit[0] = '\0';
	line(10, TRAIL_GRANT);
	next.daemon = 2;
	line(11, TRAIL_STOP);
	intervals_finish(all);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
	next.daemon = 1;
	line(12, TRAIL_STOP);
	intervals_finish(all);
	ck_assert_int_eq(last()->end, INTERVAL_STOPPED);
}

TEST(test_host_is_restarted)
{
	line(1000, TRAIL_GRANT);
	(void)snprintf(next.boot, sizeof(next.boot), "the next");
	next.hold = 1;
	next.kind = TRAIL_GRANT;
	next.wall_us = 2000 * S;
	next.boot_us = 5 * S;
	ck_assert(intervals_add(all, &next));
	ck_assert_uint_eq(count(), 2);
	ck_assert_int_eq(intervals_next(all, NULL)->end, INTERVAL_REBOOT);
	ck_assert(intervals_next(all, NULL)->is_bound);
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
}

/* The time that a lock was held is that of the clock that nobody sets. */
TEST(test_clock_is_set_back)
{
	line(1000, TRAIL_GRANT);
	next.kind = TRAIL_RELEASE;
	next.wall_us = 400 * S;
	next.boot_us = 1007 * S;
	ck_assert(intervals_add(all, &next));
	ck_assert(last()->clock_set);
	ck_assert_uint_eq(last()->held_us, 7 * S);
}

TEST(test_clock_is_set_forward)
{
	line(1000, TRAIL_GRANT);
	next.kind = TRAIL_RELEASE;
	next.wall_us = 9000 * S;
	next.boot_us = 1007 * S;
	ck_assert(intervals_add(all, &next));
	ck_assert(last()->clock_set);
	ck_assert_uint_eq(last()->held_us, 7 * S);
}

/* ---- breaks ----------------------------------------------------------- */

static void
line_break(uint64_t at_s, const char *code)
{
	(void)snprintf(next.code, sizeof(next.code), "%s", code);
	(void)snprintf(next.broken_by, sizeof(next.broken_by), "admin: hangs");
	line_for(at_s, TRAIL_BREAK, "hangs");
}

TEST(test_broken_here)
{
	line(10, TRAIL_GRANT);
	line_for(12, TRAIL_LOSS, "broken");
	line_break(12, "OK");
	ck_assert_uint_eq(count(), 1);
	ck_assert_str_eq(last()->broken_by, "admin: hangs");
	ck_assert_str_eq(last()->reason, "broken");
}

/* Its daemon hears of that later. */
TEST(test_broken_from_another_host)
{
	line(10, TRAIL_GRANT);
	(void)snprintf(next.machine, sizeof(next.machine), "other");
	line_break(12, "OK");
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
	ck_assert_str_eq(last()->broken_by, "admin: hangs");
	(void)snprintf(next.machine, sizeof(next.machine), "machine");
	line_for(40, TRAIL_LOSS, "broken");
	ck_assert_uint_eq(count(), 1);
	ck_assert_int_eq(last()->end, INTERVAL_LOST);
	ck_assert_uint_eq(last()->until_us, 40 * S);
}

/* Of whom this journal knows nothing else. */
TEST(test_broken_elsewhere)
{
	(void)snprintf(next.owner, sizeof(next.owner), "web-9/job:1");
	line_break(12, "OK");
	ck_assert(!last()->began && !last()->has_client);
	ck_assert_str_eq(last()->owner, "web-9/job:1");
	ck_assert_str_eq(last()->host, "");
	ck_assert_int_eq(last()->end, INTERVAL_LOST);
}

TEST(test_not_broken)
{
	line(10, TRAIL_GRANT);
	line_break(12, "WRONG_TOKEN");
	ck_assert_str_eq(last()->broken_by, "");
	ck_assert_int_eq(last()->end, INTERVAL_NONE);
}

/* Left, fail-closed: it is held until somebody breaks it. */
TEST(test_kept)
{
	line(10, TRAIL_GRANT);
	line_for(12, TRAIL_RELEASE, "its client has left; it stays held until "
	    "it is broken");
	ck_assert_int_eq(last()->end, INTERVAL_KEPT);
	ck_assert_uint_eq(last()->until_us, 0);
	/* A daemon that starts again changes nothing about that. */
	line(13, TRAIL_START);
	ck_assert_int_eq(last()->end, INTERVAL_KEPT);
	line_break(20, "OK");
	ck_assert_uint_eq(count(), 1);
	ck_assert_int_eq(last()->end, INTERVAL_LOST);
	ck_assert_uint_eq(last()->until_us, 20 * S);
}

/* ---- the time that is asked for --------------------------------------- */

TEST(test_window)
{
	begin(100, 200, 100);
	line(10, TRAIL_GRANT);		/* over before it */
	line(20, TRAIL_RELEASE);
	next.hold = 4;
	line(30, TRAIL_GRANT);		/* into it */
	next.hold = 5;
	line(40, TRAIL_GRANT);		/* through it */
	next.hold = 4;
	line(150, TRAIL_RELEASE);
	next.hold = 6;
	line(160, TRAIL_GRANT);		/* out of it */
	next.hold = 7;
	line(210, TRAIL_GRANT);		/* after it */
	next.hold = 6;
	line(220, TRAIL_RELEASE);
	next.hold = 7;
	line(230, TRAIL_RELEASE);
	ck_assert_uint_eq(count(), 3);
	ck_assert_uint_eq(intervals_next(all, NULL)->from_us, 30 * S);
	ck_assert_uint_eq(last()->from_us, 160 * S);
	ck_assert_uint_eq(last()->until_us, 220 * S);
}

/* It is kept until its break was told, and no longer of interest. */
TEST(test_broken_before)
{
	begin(100, 200, 100);
	line(10, TRAIL_GRANT);
	line_for(20, TRAIL_LOSS, "broken");
	line_break(20, "OK");
	ck_assert_uint_eq(count(), 0);
}

/* What has no end yet is never left out. */
TEST(test_too_many)
{
	begin(0, 1000, 10);
	line(1, TRAIL_GRANT);
	for (uint64_t i = 0; i < 20; i++) {
		next.hold = 100 + i;
		line(10 + i, TRAIL_GRANT);
		line(10 + i, TRAIL_RELEASE);
	}
	ck_assert_uint_eq(count(), 10);
	ck_assert_uint_eq(intervals_left_out(all), 11);
	ck_assert_uint_eq(intervals_next(all, NULL)->from_us, 1 * S);
	ck_assert_uint_eq(last()->from_us, 29 * S);
}
