/*
 * libddblock: how holds are kept and lost, with a daemon that is silent, gone,
 * slow or broken.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"
#include "test.h"
#include "tests/lib/fixture.h"

static char name_a[] = "a";
static char name_c[] = "c";

TEST_FIXTURE(fixture_setup, fixture_teardown)

TEST(test_events)
{
	(void)fixture_acquire(2, 7, 60000);
	fake_send(&fake, "!LOCK_IN_DANGER id=7 remaining=5s "
	    "until_boot_ms=1 reason=UNREACHABLE\n"
	    "!LOCK_IN_DANGER id=8 remaining=5s until_boot_ms=1\n"
	    "!SOMETHING_NEW id=7\n!LOCK_SAFE id=7\n!SHUTDOWN in=30s\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "danger 7 UNREACHABLE;safe 7;shutdown;");
	fake_send(&fake, "!LOCK_LOST id=7 reason=stolen\n"
	    "!LOCK_LOST id=7 reason=expired\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "lost 7 loss=2;");
	ck_assert_int_eq(ddblock_release(connection, 7),
	    DDBLOCK_E_LOCK_LOST);
}

/* The daemon says nothing more (it is stopped, say): our clock decides. */
TEST(test_silence_ends_a_hold)
{
	uint64_t until_ms;

	(void)fixture_acquire(2, 7, 200);
	until_ms = ddblock_until_boot_ms(connection, 7);
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_ge(clock_boot_ms(), until_ms);
	ck_assert_str_eq(fixture_heard(), "lost 7 loss=1;");
	ck_assert_uint_eq(ddblock_next_deadline_ms(connection),
	    DDBLOCK_NEVER_MS);
	/* It never comes back, after any line. */
	fake_send(&fake, "!RENEWED ns=main remaining=60s until_boot_ms="
	    "%" PRIu64 "\n", clock_boot_ms() + 60000);
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_int_eq(ddblock_renew(connection, 7), DDBLOCK_E_LOCK_LOST);
	ck_assert_str_eq(fixture_heard(), "");
	fake_expect_nothing(&fake);
	ck_assert_int_eq(ddblock_release(connection, 7), DDBLOCK_E_LOCK_LOST);
	fake_expect(&fake, "#3 RELEASE id=7");
}

/* A call that blocks hears of the loss of another hold while it waits. */
TEST(test_silence_while_blocked)
{
	struct ddblock_acquire_options options = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t id;

	(void)fixture_acquire(2, 7, 300);
	(void)fixture_grant(3, 8, 100);
	ck_assert_int_eq(ddblock_acquire(connection, "other", &options, &id),
	    0);
	ck_assert_int_eq(ddblock_renew(connection, 8), DDBLOCK_E_LOCK_LOST);
	ck_assert_str_eq(fixture_heard(), "lost 8 loss=1;");
	ck_assert_int_eq(ddblock_release(connection, 7), DDBLOCK_E_NO_DAEMON);
}

/*
 * A program was paused beyond its deadline, but the renewals wait in its
 * socket: nothing was lost.
 */
TEST(test_renewals_are_read_before_judging)
{
	struct pollfd timer = { .fd = -1, .events = POLLIN };
	struct itimerspec at = { .it_value = { .tv_nsec = 1 } };
	uint64_t until_ms;

	(void)fixture_acquire(2, 7, 100);
	until_ms = ddblock_until_boot_ms(connection, 7);
	fake_send(&fake, "!RENEWED ns=other remaining=90s until_boot_ms="
	    "%" PRIu64 "\n", until_ms + 90000);
	fake_send(&fake, "!RENEWED ns=main remaining=60s until_boot_ms="
	    "%" PRIu64 "\n", until_ms + 60000);
	at.it_value.tv_sec = (time_t)(until_ms / 1000);
	at.it_value.tv_nsec = (long)(until_ms % 1000) * 1000000 + 1;
	timer.fd = timerfd_create(CLOCK_BOOTTIME, 0);
	ck_assert_int_eq(timerfd_settime(timer.fd, TFD_TIMER_ABSTIME, &at,
	    NULL), 0);
	ck_assert_int_eq(poll(&timer, 1, 20000), 1);
	(void)close(timer.fd);
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "");
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 60000);
	ck_assert_uint_gt(ddblock_remaining_ms(connection, 7), 0);
}

TEST(test_renew)
{
	uint64_t until_ms;

	(void)fixture_acquire(2, 7, 60000);
	until_ms = ddblock_until_boot_ms(connection, 7);
	fake_send(&fake, "#3 OK remaining=62s until_boot_ms=%" PRIu64 "\n",
	    until_ms + 1000);
	ck_assert_int_eq(ddblock_renew(connection, 7), 0);
	fake_expect(&fake, "#3 RENEW id=7");
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 1000);
	/* A deadline does not move back. */
	fake_send(&fake, "!RENEWED ns=main remaining=1s until_boot_ms=9\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 1000);
	fake_send(&fake, "#4 ERR LOCK_STOLEN :gone\n");
	ck_assert_int_eq(ddblock_renew(connection, 7), DDBLOCK_E_LOCK_STOLEN);
	ck_assert_str_eq(fixture_heard(), "lost 7 loss=2;");
}

/* It may have been lost before that was told. */
TEST(test_renew_of_what_is_lost)
{
	(void)fixture_acquire(2, 7, 60000);
	fake_send(&fake, "#3 ERR LOCK_LOST :gone\n");
	ck_assert_int_eq(ddblock_renew(connection, 7), DDBLOCK_E_LOCK_LOST);
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_str_eq(fixture_heard(), "lost 7 loss=6;");
}

/* Each has its end, also after the other's. */
TEST(test_silence_ends_each_hold)
{
	(void)fixture_acquire(2, 7, 100);
	(void)fixture_acquire(3, 8, 300);
	while (ddblock_remaining_ms(connection, 7) > 0 ||
	    strstr(fixture_heard(), "lost 7") == NULL)
		ck_assert_int_eq(fixture_dispatch(), 0);
	while (ddblock_next_deadline_ms(connection) != DDBLOCK_NEVER_MS)
		ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "lost 8 loss=1;");
}

/* The session has been renewed, until then. */
static void
loss_renewed(uint64_t until_ms)
{
	fake_send(&fake, "!RENEWED ns=main remaining=90s until_boot_ms="
	    "%" PRIu64 "\n", until_ms);
	ck_assert_int_eq(fixture_dispatch(), 0);
}

/* So is the hold, with request 3. */
static void
loss_renew(uint64_t until_ms)
{
	fake_send(&fake, "#3 OK remaining=90s until_boot_ms=%" PRIu64 "\n",
	    until_ms);
	ck_assert_int_eq(ddblock_renew(connection, 7), 0);
}

/* A renewal of the session does not move its own end. */
TEST(test_renewals_end_with_max_hold)
{
	uint64_t until_ms = clock_boot_ms() + 60000, id;

	fake_send(&fake, "#2 OK id=7 token=1 remaining=60s until_boot_ms="
	    "%" PRIu64 " end_boot_ms=%" PRIu64 "\n", until_ms,
	    until_ms + 500);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id), 0);
	loss_renewed(until_ms + 20000);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 500);
	loss_renew(until_ms + 30000);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 500);
}

/* A hold renewed by hand is moved only by the answer to its renewal. */
TEST(test_manual_hold_is_not_renewed_along)
{
	struct ddblock_acquire_options options = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t until_ms, id;

	options.renew_manually = 1;
	until_ms = fixture_grant(2, 7, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &options, &id),
	    0);
	loss_renewed(until_ms + 20000);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms);
	loss_renew(until_ms + 20000);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms + 20000);
}

/* A boot clock that is not ours is not believed beyond what remains. */
TEST(test_foreign_boot_clock)
{
	uint64_t id;

	fake_send(&fake, "#2 OK id=7 token=1 remaining=10s "
	    "until_boot_ms=%" PRIu64 " margin=1s\n", clock_boot_ms() * 2 +
	    1000000);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id), 0);
	ck_assert_uint_le(ddblock_remaining_ms(connection, 7), 10000);
}

TEST(test_grant_of_the_past_is_given_back)
{
	uint64_t id = 0;

	fake_send(&fake, "#2 OK id=7 token=1 remaining=0s until_boot_ms=5\n");
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id),
	    DDBLOCK_E_LOCK_LOST);
	ck_assert_uint_eq(id, 0);
	fake_expect(&fake, "#2 TRY k");
	fake_expect(&fake, "#3 RELEASE id=7");
}

TEST(test_end_of_connection_loses_all)
{
	(void)fixture_acquire(2, 7, 60000);
	(void)fixture_acquire(3, 8, 60000);
	ck_assert_int_eq(ddblock_acquire_start(connection, "c", NULL,
	    fixture_on_reply, name_c, NULL), 0);
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), DDBLOCK_E_NO_DAEMON);
	ck_assert_str_eq(fixture_heard(), "lost 8 loss=5;lost 7 loss=5;"
	    "c NO_DAEMON (the daemon ended the connection);"
	    "disconnected NO_DAEMON;");
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_int_eq(ddblock_socket(connection), -1);
	ck_assert_int_eq(ddblock_dispatch(connection), DDBLOCK_E_NO_DAEMON);
	ck_assert_int_eq(ddblock_release(connection, 7), DDBLOCK_E_LOCK_LOST);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, NULL),
	    DDBLOCK_E_NO_DAEMON);
	ck_assert_str_eq(fixture_heard(), "");
}

/* Its last lines are read, also those that belong to no request. */
TEST(test_refused_connection)
{
	fake_send(&fake, "ERR LIMIT :too many connections\n");
	fake_hang_up(&fake);
	ck_assert_int_eq(ddblock_query(connection, DDBLOCK_QUERY_PING, NULL,
	    NULL, NULL), DDBLOCK_E_LIMIT);
	ck_assert_str_eq(ddblock_last_text(connection),
	    "too many connections");
}

TEST_LOOP(test_nonsense, 0, 12)
{
	static const char *const nonsense[] = {
		"\n", "HTTP/1.1 400 Bad Request\r\n", "#99 OK\n", "OK\n",
		"#2 OK id=7\n", "#2 OK id=0 token=1 until_boot_ms=1\n",
		"#2 OK id=7 token=x until_boot_ms=99999999999\n", "#x OK\n",
		"+ key=a\n", "#2\n", "#2 OK %zz\n", "\xff\xfe\n",
	};
	uint64_t id;

	fake_send(&fake, "%s", nonsense[_i]);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id),
	    DDBLOCK_E_PROTOCOL);
	ck_assert_str_eq(fixture_heard(), "disconnected PROTOCOL;");
}

TEST(test_line_without_end)
{
	char block[4000];
	int r = 0;

	(void)memset(block, 'x', sizeof(block) - 1);
	block[sizeof(block) - 1] = '\0';
	for (int i = 0; i < 1000 && r == 0; i++) {
		fake_send(&fake, "%s", block);
		r = ddblock_dispatch(connection);
	}
	ck_assert_int_eq(r, DDBLOCK_E_PROTOCOL);
}

/* A daemon that writes byte by byte. */
TEST(test_slow_daemon)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "#2 OK id=7 token=1 remaining=60s "
	    "until_boot_ms=%" PRIu64 "\r\n", clock_boot_ms() + 60000);
	ck_assert_int_eq(ddblock_acquire_start(connection, "a", NULL,
	    fixture_on_reply, name_a, NULL), 0);
	for (size_t i = 0; text[i] != '\0'; i++) {
		ck_assert_str_eq(fixture_heard(), "");
		fake_send(&fake, "%c", text[i]);
		ck_assert_int_eq(fixture_dispatch(), 0);
	}
	ck_assert_str_eq(fixture_heard(), "a OK id=7;");
}

/* A daemon that does not read: requests wait here, within the bound. */
TEST(test_daemon_that_does_not_read)
{
	char key[1025];
	struct pollfd fd = { .fd = ddblock_fd(connection), .events = POLLIN };
	int n = 0;

	(void)memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	while (ddblock_acquire_start(connection, key, NULL, NULL, NULL,
	    NULL) == 0)
		n++;
	ck_assert_int_eq(n, 1024);
	ck_assert_int_eq(ddblock_dispatch(connection), 0);
	ck_assert_int_eq(poll(&fd, 1, 0), 0);
	for (int i = 0; i < n; i++) {
		char line[1100];

		(void)snprintf(line, sizeof(line), "#%d ACQUIRE %s", i + 2,
		    key);
		ck_assert_int_eq(ddblock_dispatch(connection), 0);
		fake_expect(&fake, line);
	}
}

/* Releases the lost hold, and the other one, from the callback. */
static void
on_event_release(void *arg, struct ddblock *d,
    const struct ddblock_event *event)
{
	fixture_on_event(arg, d, event);
	ck_assert_int_eq(ddblock_dispatch(d), DDBLOCK_E_BAD_REQUEST);
	for (uint64_t id = 7; id <= 9; id++)
		(void)ddblock_release_start(d, id, NULL, NULL, NULL);
}

TEST(test_release_from_callback)
{
	(void)fixture_acquire(2, 7, 60000);
	(void)fixture_acquire(3, 8, 60000);
	ddblock_on_event(connection, on_event_release, NULL);
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), DDBLOCK_E_NO_DAEMON);
	ck_assert_str_eq(fixture_heard(),
	    "lost 8 loss=5;disconnected NO_DAEMON;");
}
