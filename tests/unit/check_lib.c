/*
 * libddblock: requests and their answers, against a daemon that says what the
 * test wants.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ddblock.h"
#include "tests/lib/fixture.h"

static char name_a[] = "a";
static char name_b[] = "b";

START_TEST(test_nobody_listens)
{
	struct ddblock *d = NULL;
	char path[200] = "/nowhere/socket";

	ck_assert_int_eq(ddblock_open(path, NULL, &d), DDBLOCK_E_NO_DAEMON);
	ck_assert_int_eq(errno, ENOENT);
	(void)memset(path, 'x', sizeof(path) - 1);
	ck_assert_int_eq(ddblock_open(path, NULL, &d), DDBLOCK_E_BAD_REQUEST);
	ck_assert_ptr_null(d);
	ddblock_close(NULL);
}
END_TEST

/* Without a path: the environment's. With the greeting: the first request. */
START_TEST(test_greeting_goes_with_the_first_request)
{
	struct fake_daemon other;
	struct ddblock *d = NULL;

	fake_init(&other);
	ck_assert_int_eq(setenv("DDBLOCK_SOCKET", other.path, 1), 0);
	ck_assert_int_eq(ddblock_open(NULL, NULL, &d), 0);
	ck_assert_str_eq(ddblock_path(d), other.path);
	other.connection = accept(other.listener, NULL, NULL);
	fake_expect_nothing(&other);
	ck_assert_int_eq(ddblock_acquire_start(d, "a b", NULL, NULL, NULL,
	    NULL), 0);
	fake_expect(&other, "#1 HELLO proto=1 renewed=yes");
	fake_expect(&other, "#2 ACQUIRE a%20b");
	fake_expect_nothing(&other);
	ddblock_close(d);
	fake_done(&other);
}
END_TEST

START_TEST(test_acquire_and_release)
{
	uint64_t until_ms = fixture_grant(2, 7, 60000);
	uint64_t id = 0;

	ck_assert_int_eq(ddblock_try(connection, "k", "other", &id), 0);
	fake_expect(&fake, "#2 TRY k ns=other");
	ck_assert_uint_eq(id, 7);
	ck_assert_uint_eq(ddblock_token(connection, 7), 41);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms);
	ck_assert_uint_eq(ddblock_margin_ms(connection, 7), 1000);
	ck_assert_uint_eq(ddblock_next_deadline_ms(connection), until_ms);
	ck_assert_uint_gt(ddblock_remaining_ms(connection, 7), 0);
	fake_send(&fake, "#3 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 7), 0);
	fake_expect(&fake, "#3 RELEASE id=7");
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_uint_eq(ddblock_next_deadline_ms(connection),
	    DDBLOCK_NEVER_MS);
	ck_assert_int_eq(ddblock_release(connection, 7),
	    DDBLOCK_E_LOCK_NOT_OWNED);
	fake_expect_nothing(&fake);
	ck_assert_str_eq(fixture_heard(), "");
}
END_TEST

START_TEST(test_options)
{
	struct {
		struct ddblock_acquire_options known;
		uint64_t unknown;
	} newer = { DDBLOCK_ACQUIRE_OPTIONS_INIT, 0 };
	struct ddblock_acquire_options older = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t id;

	newer.known.size = sizeof(newer);
	newer.known.wait_ms = 1500;
	newer.known.poll_ms = 250;
	newer.known.ns = "other";
	fake_send(&fake, "#2 ERR ACQUIRE_TIMEOUT cause=UNREACHABLE :too bad\n");
	ck_assert_int_eq(ddblock_acquire(connection, "k", &newer.known, &id),
	    DDBLOCK_E_ACQUIRE_TIMEOUT);
	ck_assert_str_eq(ddblock_last_text(connection), "too bad");
	fake_expect(&fake, "#2 ACQUIRE k ns=other wait=1500ms poll=250ms");
	newer.unknown = 1;
	ck_assert_int_eq(ddblock_acquire(connection, "k", &newer.known, &id),
	    DDBLOCK_E_UNSUPPORTED);
	older.size = offsetof(struct ddblock_acquire_options, mode);
	older.wait_ms = 0;
	older.mode = DDBLOCK_SHARED; /* beyond its end: not there */
	(void)fixture_grant(3, 7, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &older, &id), 0);
	fake_expect(&fake, "#3 TRY k");
	ck_assert_int_eq(ddblock_acquire(connection, "", NULL, &id),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect_nothing(&fake);
}
END_TEST

START_TEST(test_shared)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t id;

	o.mode = DDBLOCK_SHARED;
	o.wait_ms = 0;
	(void)fixture_grant(2, 7, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id), 0);
	fake_expect(&fake, "#2 TRY k mode=shared");
	o.limit = 3;
	fake_send(&fake, "#3 ERR WRONG_LIMIT mode=shared limit=5 :limit=5 is "
	    "in force, and limit=3 was asked for\n");
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id),
	    DDBLOCK_E_WRONG_LIMIT);
	ck_assert_str_eq(ddblock_last_text(connection),
	    "limit=5 is in force, and limit=3 was asked for");
	fake_expect(&fake, "#3 TRY k mode=shared limit=3");
	/* That makes no sense is for the daemon to say. */
	o.mode = DDBLOCK_EXCLUSIVE;
	o.wait_ms = -1;
	fake_send(&fake, "#4 ERR BAD_REQUEST :no\n");
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect(&fake, "#4 ACQUIRE k limit=3");
	o.mode = (enum ddblock_mode)2;
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect_nothing(&fake);
}
END_TEST

START_TEST(test_pipelined_and_out_of_order)
{
	uint64_t first = 0;
	uint64_t second = 0;

	ck_assert_int_eq(ddblock_acquire_start(connection, "a", NULL,
	    fixture_on_reply, name_a, &first), 0);
	ck_assert_int_eq(ddblock_acquire_start(connection, "b", NULL,
	    fixture_on_reply, name_b, &second), 0);
	ck_assert_int_eq(ddblock_cancel(connection, first), 0);
	fake_expect(&fake, "#2 ACQUIRE a");
	fake_expect(&fake, "#3 ACQUIRE b");
	fake_expect(&fake, "#4 CANCEL tag=2");
	(void)fixture_grant(3, 9, 60000);
	fake_send(&fake, "#2 ERR CANCELLED :as you wish\n#4 OK\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_str_eq(fixture_heard(),
	    "b OK id=9;a CANCELLED (as you wish);");
	ck_assert_int_eq(ddblock_cancel(connection, first),
	    DDBLOCK_E_BAD_REQUEST);
}
END_TEST

START_TEST(test_limit_of_requests)
{
	int r = 0;
	int n = 0;

	while ((r = ddblock_query_start(connection, DDBLOCK_QUERY_PING, NULL,
	    NULL, NULL, NULL, NULL)) == 0)
		n++;
	ck_assert_int_eq(r, DDBLOCK_E_LIMIT);
	ck_assert_int_eq(n, 1024);
	fake_send(&fake, "#2 OK\n");
	ck_assert_int_eq(fixture_dispatch(), 0);
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_PING,
	    NULL, NULL, NULL, NULL, NULL), 0);
}
END_TEST

static void
on_row(void *arg, const struct ddblock_row *row, bool final)
{
	const char *name;
	const char *value;
	size_t length;

	(void)arg;
	fixture_tell("%s", final ? "final" : "row");
	for (size_t i = 0; ddblock_row_at(row, i, &name, &value, &length); i++)
		fixture_tell(" %s=%s/%zu", name, value, length);
	fixture_tell(" key:%s;", ddblock_row_find(row, "key", NULL));
}

START_TEST(test_queries)
{
	struct ddblock_query_options options = DDBLOCK_QUERY_OPTIONS_INIT;

	options.key = "k";
	options.prefix = "p";
	fake_send(&fake, "#2 OK state=free key=x\n");
	ck_assert_int_eq(ddblock_query(connection, DDBLOCK_QUERY_GET, &options,
	    on_row, NULL), 0);
	ck_assert_str_eq(fixture_heard(), "final state=free/4 key=x/1 key:x;");
	fake_send(&fake, "#3 + key=%%20a\n#3 + key=b=\n");
	fake_hang_up(&fake);
	ck_assert_int_eq(ddblock_query(connection, DDBLOCK_QUERY_LIST,
	    &options, on_row, NULL), DDBLOCK_E_PROTOCOL);
	ck_assert_str_eq(fixture_heard(), "row key= a/2 key: a;"
	    "disconnected PROTOCOL;");
}
END_TEST

START_TEST(test_query_words)
{
	struct ddblock_query_options options = DDBLOCK_QUERY_OPTIONS_INIT;

	options.ns = "n";
	options.state = "held";
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_LIST,
	    &options, NULL, NULL, NULL, NULL), 0);
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_GET,
	    &options, NULL, NULL, NULL, NULL), DDBLOCK_E_BAD_REQUEST);
	options.key = "k";
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_GET,
	    &options, NULL, NULL, NULL, NULL), 0);
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_HELD,
	    &options, NULL, NULL, NULL, NULL), 0);
	ck_assert_int_eq(ddblock_query_start(connection,
	    DDBLOCK_QUERY_WAITING, NULL, NULL, NULL, NULL, NULL), 0);
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_STATUS,
	    &options, NULL, NULL, NULL, NULL), 0);
	fake_expect(&fake, "#2 LIST ns=n state=held");
	fake_expect(&fake, "#3 GET k ns=n");
	fake_expect(&fake, "#4 HELD key=k ns=n");
	fake_expect(&fake, "#5 WAITING");
	fake_expect(&fake, "#6 STATUS");
}
END_TEST

/* How far a listing is, is told to whoever asked for it, and only that. */
START_TEST(test_progress)
{
	struct ddblock_query_options options = DDBLOCK_QUERY_OPTIONS_INIT;

	options.on_progress = on_row;
	fake_send(&fake, "!LISTING tag=3 rows=0\n!LISTING tag=9 rows=1\n"
	    "!LISTING rows=2\n!LISTING tag=2 rows=3\n"
	    "#2 + key=x\n#2 OK rows=1\n");
	ck_assert_int_eq(ddblock_query(connection, DDBLOCK_QUERY_LIST,
	    &options, on_row, NULL), 0);
	ck_assert_str_eq(fixture_heard(), "row tag=2/1 rows=3/1 key:(null);"
	    "row key=x/1 key:x;final rows=1/1 key:(null);");
	fake_expect(&fake, "#2 LIST progress=1s");
	/* Without it, it is a sign of life all the same. */
	fake_send(&fake, "!LISTING tag=3 rows=3\n#3 OK rows=0\n");
	ck_assert_int_eq(ddblock_query(connection, DDBLOCK_QUERY_LIST, NULL,
	    on_row, NULL), 0);
	ck_assert_str_eq(fixture_heard(), "final rows=0/1 key:(null);");
	fake_expect(&fake, "#3 LIST progress=1s");
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("lib");
	TCase *t = tcase_create("lib");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, fixture_setup, fixture_teardown);
	tcase_add_test(t, test_nobody_listens);
	tcase_add_test(t, test_greeting_goes_with_the_first_request);
	tcase_add_test(t, test_acquire_and_release);
	tcase_add_test(t, test_options);
	tcase_add_test(t, test_shared);
	tcase_add_test(t, test_pipelined_and_out_of_order);
	tcase_add_test(t, test_limit_of_requests);
	tcase_add_test(t, test_queries);
	tcase_add_test(t, test_query_words);
	tcase_add_test(t, test_progress);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
