/*
 * libddblock: releases as far as they go, and of all.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ddblock.h"
#include "test.h"
#include "tests/lib/fixture.h"

static char name_a[] = "a";

TEST_FIXTURE(fixture_setup, fixture_teardown)

/* A wait that failed (here: more descriptors than allowed) is over: a late
 * grant is released. */
TEST(test_grant_after_giving_up)
{
	struct rlimit limit, none;
	uint64_t id;

	(void)fixture_acquire(2, 6, 60000);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(ddblock_acquire(connection, "k", NULL, &id),
	    DDBLOCK_E_SYSTEM);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	(void)fixture_grant(3, 7, 60000);
	ck_assert_int_eq(fixture_dispatch(), 0);
	fake_expect(&fake, "#3 ACQUIRE k");
	fake_expect(&fake, "#4 CANCEL tag=3");
	fake_expect(&fake, "#5 RELEASE id=7");
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
}

/* No program that this one starts has its locks after its end. */
TEST(test_connection_is_not_inherited)
{
	int fds[] = { ddblock_fd(connection), ddblock_socket(connection) };

	for (int i = 0; i < 2; i++) {
		ck_assert_int_ge(fds[i], 0);
		ck_assert_int_ne(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, 0);
	}
}

/* The daemon's error is the cause; only a hold that is not ours is an error. */
TEST(test_best_effort)
{
	int cause = 1;

	(void)fixture_acquire(2, 7, 60000);
	(void)fixture_acquire(3, 8, 60000);
	fake_send(&fake, "#4 OK\n");
	ck_assert_int_eq(ddblock_release_best_effort(connection, 7, &cause), 0);
	fake_expect(&fake, "#4 RELEASE id=7 best_effort=yes");
	ck_assert_int_eq(cause, 0);
	ck_assert_uint_eq(ddblock_token(connection, 7), 0);
	fake_send(&fake, "#5 OK cause=UNREACHABLE :later\n");
	ck_assert_int_eq(ddblock_release_best_effort(connection, 8, &cause), 0);
	fake_expect(&fake, "#5 RELEASE id=8 best_effort=yes");
	ck_assert_int_eq(cause, DDBLOCK_E_UNREACHABLE);
	ck_assert_int_eq(ddblock_release_best_effort(connection, 8, NULL),
	    DDBLOCK_E_LOCK_NOT_OWNED);
	fake_expect_nothing(&fake);
}

/* The daemon may not know it yet. */
TEST(test_best_effort_of_what_is_lost)
{
	(void)fixture_acquire(2, 7, 60000);
	fake_send(&fake, "!LOCK_LOST id=7 reason=expired\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_int_eq(ddblock_release_best_effort_start(connection, 7,
	    fixture_on_reply, name_a, NULL), 0);
	fake_expect(&fake, "#3 RELEASE id=7 best_effort=yes");
	fake_send(&fake, "#3 OK\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "lost 7 loss=1;a OK cause=LOCK_LOST;");
}

/* Its contents are refused: it is released without them. */
TEST(test_without_what_it_was_to_leave)
{
	struct ddblock_change change = DDBLOCK_CHANGE_INIT;

	change.data = "x";
	change.length = 1;
	(void)fixture_acquire(2, 7, 60000);
	fake_send(&fake, "#3 ERR BAD_REQUEST :this connection shares the "
	    "lock\n");
	ck_assert_int_eq(ddblock_release_change(connection, 7, &change),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect(&fake, "#3 RELEASE id=7 data=x");
	fake_expect(&fake, "#4 RELEASE id=7");
	fake_send(&fake, "#4 OK\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_uint_eq(ddblock_token(connection, 7), 0);
	fake_expect_nothing(&fake);
}

TEST(test_without_a_daemon)
{
	int cause = 0;

	(void)fixture_acquire(2, 7, 60000);
	fake_hang_up(&fake);
	ck_assert_int_eq(ddblock_release_best_effort(connection, 7, &cause), 0);
	ck_assert_int_eq(cause, DDBLOCK_E_NO_DAEMON);
	cause = 0;
	ck_assert_int_eq(ddblock_release_all(connection, NULL, &cause), 0);
	ck_assert_int_eq(cause, DDBLOCK_E_NO_DAEMON);
}

TEST(test_all)
{
	int cause = 1;

	(void)fixture_acquire(2, 7, 60000);
	(void)fixture_acquire(3, 8, 60000);
	fake_send(&fake, "#4 OK released=2\n");
	ck_assert_int_eq(ddblock_release_all(connection, NULL, &cause), 0);
	fake_expect(&fake, "#4 RELEASE all=yes");
	ck_assert_int_eq(cause, 0);
	ck_assert_uint_eq(ddblock_token(connection, 7), 0);
	ck_assert_uint_eq(ddblock_token(connection, 8), 0);
	ck_assert_uint_eq(ddblock_next_deadline_ms(connection),
	    DDBLOCK_NEVER_MS);
	fake_send(&fake, "#5 OK released=0 lost=1\n");
	ck_assert_int_eq(ddblock_release_all(connection, NULL, &cause), 0);
	fake_expect(&fake, "#5 RELEASE all=yes");
	ck_assert_int_eq(cause, DDBLOCK_E_LOCK_LOST);
	fake_send(&fake, "#6 OK released=0 lost=1 failed=2 cause=THROTTLED\n");
	ck_assert_int_eq(ddblock_release_all(connection, NULL, &cause), 0);
	fake_expect(&fake, "#6 RELEASE all=yes");
	ck_assert_int_eq(cause, DDBLOCK_E_THROTTLED);
}

static uint64_t
acquire_in(const char *ns, int tag, int id)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	char line[80];
	uint64_t got = 0;

	o.ns = ns;
	(void)fixture_grant(tag, id, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &got), 0);
	(void)snprintf(line, sizeof(line), "#%d ACQUIRE k ns=%s", tag, ns);
	fake_expect(&fake, line);
	return got;
}

/* Of some namespaces: the holds of the others stay. */
TEST(test_all_of_some)
{
	uint64_t a = acquire_in("a", 2, 7);
	uint64_t ab = acquire_in("ab", 3, 8);
	uint64_t b = acquire_in("b", 4, 9);

	fake_send(&fake, "#5 OK released=2\n");
	ck_assert_int_eq(ddblock_release_all(connection, "b,a", NULL), 0);
	fake_expect(&fake, "#5 RELEASE all=yes ns=b,a");
	ck_assert_uint_eq(ddblock_token(connection, a), 0);
	ck_assert_uint_ne(ddblock_token(connection, ab), 0);
	ck_assert_uint_eq(ddblock_token(connection, b), 0);
}

/* A grant that comes after it: was it given back with the others? */
TEST(test_all_waits_for_no_grant)
{
	uint64_t request = 0;

	(void)fixture_acquire(2, 7, 60000);
	ck_assert_int_eq(ddblock_acquire_start(connection, "a", NULL,
	    fixture_on_reply, name_a, &request), 0);
	fake_expect(&fake, "#3 ACQUIRE a");
	ck_assert_int_eq(ddblock_release_all(connection, NULL, NULL),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect_nothing(&fake);
	ck_assert_uint_ne(ddblock_token(connection, 7), 0);
	fake_send(&fake, "#3 ERR LOCK_BUSY\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_int_eq(ddblock_release_all_start(connection, NULL,
	    fixture_on_reply, name_a, NULL), 0);
	fake_expect(&fake, "#4 RELEASE all=yes");
}
