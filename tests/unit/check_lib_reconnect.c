/*
 * libddblock: a connection that breaks and is opened again.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ignored.h"
#include "ddblock.h"
#include "test.h"
#include "tests/lib/fixture.h"

#define MARGIN_MS 1000
#define NOBODY 65534

static char name_a[] = "a";
static char name_b[] = "b";

static void
setup(void)
{
	fake_init(&fake);
	connection = fake_open_resuming(&fake, false);
	ddblock_on_event(connection, fixture_on_event, NULL);
	(void)fixture_heard();
}

TEST_FIXTURE(setup, fixture_teardown)

static uint64_t
grant(int tag, int id, uint64_t ms, const char *secret)
{
	uint64_t until_ms = clock_boot_ms() + ms;

	fake_send(&fake, "#%d OK id=%d token=41 mode=exclusive "
	    "remaining=%" PRIu64 "ms until_boot_ms=%" PRIu64 " margin=1s%s%s\n",
	    tag, id, ms, until_ms, secret == NULL ? "" : " secret=",
	    secret == NULL ? "" : secret);
	return until_ms;
}

/* Acquire with request @tag; how long it is good. */
static uint64_t
acquire(int tag, int id, uint64_t ms, const char *secret)
{
	uint64_t until_ms = grant(tag, id, ms, secret), got = 0;
	char line[32];

	ck_assert_int_eq(ddblock_acquire(connection, "x", NULL, &got), 0);
	ck_assert_uint_eq(got, (uint64_t)id);
	(void)snprintf(line, sizeof(line), "#%d ACQUIRE x", tag);
	fake_expect(&fake, line);
	return until_ms;
}

/* It breaks, and another one is opened at once. */
static void
break_off(void)
{
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_accept(&fake);
}

static void
expect_greeting(int tag)
{
	char line[64];

	(void)snprintf(line, sizeof(line),
	    "#%d HELLO proto=1 name=test renewed=yes", tag);
	fake_expect(&fake, line);
	(void)snprintf(line, sizeof(line), "#%d HELLO resume=yes", tag + 1);
	fake_expect(&fake, line);
	fake_send(&fake, "#%d OK proto=1\n#%d OK proto=1\n", tag, tag + 1);
}

static void
send_row(int tag, int id, const char *key, uint64_t until_ms)
{
	fake_send(&fake, "#%d + id=%d ns=main key=%s token=41 state=held "
	    "remaining=60s until_boot_ms=%" PRIu64 " margin=1s\n", tag, id,
	    key, until_ms);
}

/* The answer to RESUME overtakes that to the greeting, which has gone and is
 * not sent again. */
TEST(test_greeting_is_answered_late)
{
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");

	break_off();
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;");
	fake_expect(&fake, "#4 HELLO proto=1 name=test renewed=yes");
	fake_expect(&fake, "#5 HELLO resume=yes");
	fake_expect(&fake, "#6 RESUME secret=s3cret");
	send_row(6, 7, "x", until_ms);
	fake_send(&fake, "#6 OK rows=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "resumed;");
	fake_expect_nothing(&fake);
	fake_send(&fake, "#4 OK proto=1\n#5 OK proto=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms);
}

TEST(test_it_goes_on)
{
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");

	break_off();
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;");
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms - MARGIN_MS / 2);
	expect_greeting(4);
	fake_expect(&fake, "#6 RESUME secret=s3cret");
	/* The word of the new connection counts from the row on. */
	fake_send(&fake, "!RENEWED ns=main until_boot_ms=%" PRIu64
	    " remaining=90s\n", until_ms + 60000);
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7),
	    until_ms - MARGIN_MS / 2);
	send_row(6, 7, "x", until_ms + 2);
	fake_send(&fake, "#6 OK rows=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "resumed;");
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms + 2);
	ck_assert_uint_eq(ddblock_token(connection, 7), 41);
	fake_send(&fake, "!LOCK_LOST id=7 reason=broken\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "lost 7 loss=3;");
}

/* Its ids count from the beginning, as those of a daemon that was started. */
TEST(test_the_next_daemon_knows_nothing)
{
	uint64_t id = 0;

	(void)acquire(3, 7, 30000, "s3cret");
	break_off();
	expect_greeting(4);
	fake_expect(&fake, "#6 RESUME secret=s3cret");
	fake_send(&fake, "#6 ERR NO_SUCH_LOCK :nothing\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "broken NO_DAEMON;lost 7 loss=5;resumed;");
	(void)grant(7, 7, 30000, "another");
	ck_assert_int_eq(ddblock_acquire(connection, "x", NULL, &id), 0);
	fake_expect(&fake, "#7 ACQUIRE x");
	ck_assert_uint_eq(id, 14);
	ck_assert_str_eq(ddblock_secret(connection), "another");
	/* It is not told to release its 7 for ours. */
	ck_assert_int_eq(ddblock_release(connection, 7),
	    DDBLOCK_E_LOCK_LOST);
	fake_expect_nothing(&fake);
	fake_send(&fake, "!LOCK_IN_DANGER id=7 reason=UNREACHABLE "
	    "until_boot_ms=1 remaining=1ms\n#8 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 14), 0);
	fake_expect(&fake, "#8 RELEASE id=7");
}

/* What RESUME does not name is lost, and what has no secret at once. */
TEST(test_some_are_lost)
{
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");

	(void)acquire(4, 8, 30000, "s3cret");
	(void)acquire(5, 9, 30000, NULL);
	(void)acquire(6, 10, 30000, "s3cret");
	break_off();
	ck_assert_str_eq(fixture_heard(), "lost 9 loss=5;broken NO_DAEMON;");
	expect_greeting(7);
	fake_expect(&fake, "#9 RESUME secret=s3cret");
	send_row(9, 7, "x", until_ms);
	fake_send(&fake, "#9 + id=10 ns=main key=z token=41 state=lost "
	    "reason=stolen\n#9 OK rows=2\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "lost 10 loss=2;lost 8 loss=5;resumed;");
	ck_assert_uint_gt(ddblock_remaining_ms(connection, 7), 0);
}

/* In the old order, after what is not ours was given back. */
TEST(test_requests_are_asked_again)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");
	unsigned long left = 0;

	(void)acquire(4, 8, 30000, "s3cret");
	o.wait_ms = 3600000;
	ck_assert_int_eq(ddblock_acquire_start(connection, "a wait=", &o,
	    fixture_on_reply, name_a, NULL), 0);
	fake_expect(&fake, "#5 ACQUIRE a%20wait%3D wait=3600000ms");
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_PING,
	    NULL, NULL, fixture_on_reply, name_b, NULL), 0);
	fake_expect(&fake, "#6 PING");
	ck_assert_int_eq(ddblock_release_start(connection, 8,
	    fixture_on_reply, name_b, NULL), 0);
	fake_expect(&fake, "#7 RELEASE id=8");
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;b NO_DAEMON "
	    "(the daemon ended the connection);");
	ck_assert_int_eq(ddblock_renew_start(connection, 7,
	    fixture_on_reply, name_b, NULL), 0);
	fake_accept(&fake);
	expect_greeting(8);
	fake_expect(&fake, "#10 RESUME secret=s3cret");
	fake_expect_nothing(&fake);
	send_row(10, 7, "x", until_ms);
	send_row(10, 8, "y", until_ms);
	send_row(10, 9, "a", until_ms);
	send_row(10, 9, "b", until_ms);
	fake_send(&fake, "#10 OK rows=4\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_expect(&fake, "#12 RELEASE id=9");
	ck_assert_int_eq(sscanf(fake_next(&fake),
	    "#5 ACQUIRE a%%20wait%%3D wait=%lums", &left), 1);
	ck_assert_uint_le(left, 3600000);
	ck_assert_uint_gt(left, 3500000);
	fake_expect(&fake, "#7 RELEASE id=8");
	fake_expect(&fake, "#11 RENEW id=7");
	fake_expect_nothing(&fake);
	fake_send(&fake, "#12 OK\n#7 OK\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "resumed;b OK;");
}

/* The release was done before: it is not sent for another hold. */
TEST(test_a_release_that_arrived)
{
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");

	(void)acquire(4, 8, 30000, "s3cret");
	ck_assert_int_eq(ddblock_release_start(connection, 8,
	    fixture_on_reply, name_b, NULL), 0);
	fake_expect(&fake, "#5 RELEASE id=8");
	break_off();
	expect_greeting(6);
	fake_expect(&fake, "#8 RESUME secret=s3cret");
	send_row(8, 7, "x", until_ms);
	fake_send(&fake, "#8 OK rows=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_expect_nothing(&fake);
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;b OK;resumed;");
}

/* Without another one: until half a margin before the deadline. */
TEST(test_until_its_own_deadline)
{
	uint64_t until_ms = acquire(3, 7, MARGIN_MS / 2 + 300, "s3cret");
	const char *told;

	fake_hang_up(&fake);
	(void)unlink(fake.path);
	for (;;) {
		ck_assert_int_eq(fixture_dispatch(), 0);
		told = fixture_heard();
		if (strstr(told, "lost") != NULL)
			break;
		ck_assert_uint_le(clock_boot_ms(), until_ms);
	}
	ck_assert_str_eq(told, "lost 7 loss=5;");
	ck_assert_uint_ge(clock_boot_ms(), until_ms - MARGIN_MS / 2);
}

/* A daemon that answers nothing is as good as none. */
TEST(test_no_answer)
{
	(void)acquire(3, 7, MARGIN_MS / 2 + 200, "s3cret");
	break_off();
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;");
	do {
		ck_assert_int_eq(fixture_dispatch(), 0);
	} while (strcmp(fixture_heard(), "lost 7 loss=5;") != 0);
	expect_greeting(4);
	fake_expect(&fake, "#6 RESUME secret=s3cret");
	fake_send(&fake, "#6 OK rows=0\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "resumed;");
}

/* While it stops it may say so; the next one has the holds. */
TEST(test_refused_for_now)
{
	uint64_t until_ms = acquire(3, 7, 30000, "s3cret");

	break_off();
	expect_greeting(4);
	fake_expect(&fake, "#6 RESUME secret=s3cret");
	fake_send(&fake, "#6 ERR SHUTTING_DOWN :later\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_accept(&fake);
	expect_greeting(7);
	fake_expect(&fake, "#9 RESUME secret=s3cret");
	send_row(9, 7, "x", until_ms);
	fake_send(&fake, "#9 OK rows=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;resumed;");
}

TEST(test_another_has_them)
{
	(void)acquire(3, 7, 30000, "s3cret");
	fake_send(&fake, "ERR LOCK_NOT_OWNED :another connection\n");
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), DDBLOCK_E_LOCK_NOT_OWNED);
	ck_assert_str_eq(fixture_heard(),
	    "lost 7 loss=5;disconnected LOCK_NOT_OWNED;");
}

/* A blocked call goes on waiting, without any hold, too. */
TEST(test_a_wait_goes_on)
{
	uint64_t id = 0;
	int pid;

	(void)fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* The daemon, which dies and comes back. */
		fake_hang_up(&fake);
		fake_accept(&fake);
		fake_send(&fake, "#4 OK\n#5 OK\n");
		(void)grant(3, 1, 60000, "s3cret");
		ignored(read(fake.connection, &id, 1));
		(void)pause();
	}
	(void)close(fake.connection);
	fake.connection = -1;
	ck_assert_int_eq(ddblock_acquire(connection, "x", NULL, &id), 0);
	ck_assert_uint_eq(id, 1);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_str_eq(fixture_heard(), "broken NO_DAEMON;resumed;");
}

/* An acquire on a connection that the daemon has not greeted. */
static void
ask_ungreeted(void)
{
	ddblock_close(connection);
	fake_hang_up(&fake);
	connection = fake_connect_resuming(&fake);
	ddblock_on_event(connection, fixture_on_event, NULL);
	ck_assert_int_eq(ddblock_acquire_start(connection, "x", NULL,
	    fixture_on_reply, name_a, NULL), 0);
}

/* A daemon that stops may end a connection that it has not greeted. */
TEST(test_ended_before_the_greeting)
{
	ask_ungreeted();
	fake_expect(&fake, "#1 HELLO proto=1 name=test renewed=yes");
	fake_expect(&fake, "#2 HELLO resume=yes");
	fake_expect(&fake, "#3 ACQUIRE x");
	break_off();
	expect_greeting(4);
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_expect(&fake, "#3 ACQUIRE x");
	fake_expect_nothing(&fake);
	(void)grant(3, 1, 60000, "s3cret");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "broken NO_DAEMON;resumed;a OK id=1;");
}

/* But one that says why it wants none is not asked again. */
TEST(test_refused_before_the_greeting)
{
	ask_ungreeted();
	fake_send(&fake, "ERR LIMIT :too many connections\n");
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), DDBLOCK_E_LIMIT);
	ck_assert_str_eq(fixture_heard(), "a LIMIT (too many connections);"
	    "disconnected LIMIT;");
}

/* An older one keeps only what lingers. */
TEST(test_older_daemon)
{
	uint64_t until_ms;

	ddblock_close(connection);
	fake_hang_up(&fake);
	connection = fake_open_resuming(&fake, true);
	ddblock_on_event(connection, fixture_on_event, NULL);
	until_ms = acquire(3, 7, 30000, "s3cret");
	(void)acquire(4, 8, 30000, NULL);
	break_off();
	expect_greeting(5);
	fake_expect(&fake, "#7 RESUME secret=s3cret");
	send_row(7, 7, "x", until_ms);
	fake_send(&fake, "#7 OK rows=1\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "lost 8 loss=5;broken NO_DAEMON;resumed;");
	ddblock_close(connection);

	fake_hang_up(&fake);
	connection = fake_open_resuming(&fake, true);
	ddblock_on_event(connection, fixture_on_event, NULL);
	(void)acquire(3, 8, 30000, NULL);
	fake_hang_up(&fake);
	ck_assert_int_eq(fixture_dispatch(), DDBLOCK_E_NO_DAEMON);
	ck_assert_str_eq(fixture_heard(),
	    "lost 8 loss=5;disconnected NO_DAEMON;");
}

/* A watch begins again, and tells what it finds. */
static void
on_change(void *arg, const struct ddblock_row *row, bool final)
{
	(void)arg;
	ck_assert(!final);
	fixture_tell("%s;", ddblock_row_find(row, "state", NULL));
}

TEST(test_watch)
{
	fake_send(&fake, "#3 OK state=free key=x ns=main\n");
	ck_assert_int_eq(ddblock_watch(connection, "x", NULL, NULL, on_change,
	    NULL), 0);
	fake_expect(&fake, "#3 WATCH x");
	break_off();
	expect_greeting(4);
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_expect(&fake, "#6 WATCH x");
	fake_send(&fake, "#6 OK state=held key=x ns=main\n"
	    "!CHANGED state=dead key=x ns=main\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "free;broken NO_DAEMON;resumed;held;dead;");
}

TEST(test_connect_waits)
{
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;
	struct ddblock *d = NULL;
	uint64_t from_ms = clock_boot_ms();
	int ends[2];

	o.path = "/nowhere/socket";
	o.wait_ms = 120;
	ck_assert_int_eq(ddblock_connect(&o, &d), DDBLOCK_E_NO_DAEMON);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_ge(clock_boot_ms() - from_ms, 120);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	o.wait_ms = DDBLOCK_WAIT_FOREVER;
	o.interrupt_fd = ends[0];
	ck_assert_int_eq(ddblock_connect(&o, &d), DDBLOCK_E_CANCELLED);
	/* One that listens is not waited for. */
	o.path = fake.path;
	o.interrupt_fd = -1;
	ck_assert_int_eq(ddblock_connect(&o, &d), 0);
	ddblock_close(d);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
on_alarm(int number)
{
	int saved = errno;

	(void)number;
	(void)chmod(fake.path, 0600);
	errno = saved;
}

/* As systemd makes a socket: it is there before others may connect. */
TEST(test_connect_waits_for_its_group)
{
	struct itimerval soon = { .it_value = { .tv_usec = 200000 } };
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;
	uid_t user = geteuid();
	struct ddblock *d = NULL;

	o.path = fake.path;
	if (user == 0) {
		ck_assert_int_eq(chown(fake.folder, NOBODY, NOBODY), 0);
		ck_assert_int_eq(chown(fake.path, NOBODY, NOBODY), 0);
		ck_assert_int_eq(seteuid(NOBODY), 0);
	}
	ck_assert_int_eq(chmod(fake.path, 0), 0);
	ck_assert_int_eq(ddblock_connect(&o, &d), DDBLOCK_E_NO_DAEMON);
	ck_assert_int_eq(errno, EACCES);
	o.wait_ms = DDBLOCK_WAIT_FOREVER;
	ck_assert_int_eq(ddblock_connect(&o, &d), DDBLOCK_E_NO_DAEMON);
	ck_assert_int_eq(errno, EACCES);
	(void)signal(SIGALRM, on_alarm);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	ck_assert_int_eq(ddblock_connect(&o, &d), 0);
	ddblock_close(d);
	ck_assert_int_eq(seteuid(user), 0);
}
