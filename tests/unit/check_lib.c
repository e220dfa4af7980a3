/*
 * libddblock: requests and their answers, against a daemon that the test
 * scripts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "ddblock.h"
#include "test.h"
#include "tests/lib/fixture.h"

static char name_a[] = "a";
static char name_b[] = "b";

TEST_FIXTURE(fixture_setup, fixture_teardown)

TEST(test_nobody_listens)
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

/* Without a path: the environment's. With the greeting: the first request. */
TEST(test_greeting_goes_with_the_first_request)
{
	struct fake_daemon other;
	struct ddblock *d = NULL;

	fake_init(&other);
	ck_assert_int_eq(setenv("DDBLOCK_SOCKET", other.path, 1), 0);
	ck_assert_int_eq(ddblock_open(NULL, NULL, &d), 0);
	ck_assert_str_eq(ddblock_path(d), other.path);
	ck_assert_str_eq(ddblock_default_namespace(d), "default");
	ck_assert_str_eq(ddblock_default_namespace(connection), "main");
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

/* Each has its own token, and the rows come in the daemon's own order. */
TEST(test_several)
{
	const char *const keys[] = { "k 2", "k1", "k3" };
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t until_ms = clock_boot_ms() + 60000, id = 0;

	o.wait_ms = 500;
	o.mode = DDBLOCK_SHARED;
	fake_send(&fake, "#2 + ns=default key=k%%202 token=12\n"
	    "#2 + ns=default key=k1 token=0 token_text=36893488147419103232\n"
	    "#2 + ns=default key=other token=9\n"
	    "#2 + ns=default key=k3 token=13\n"
	    "#2 OK id=7 rows=3 mode=shared remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s\n", until_ms);
	ck_assert_int_eq(ddblock_acquire_several(connection, keys, 3, &o,
	    &id), 0);
	fake_expect(&fake, "#2 ACQUIRE k%202 k1 k3 mode=shared wait=500ms");
	ck_assert_uint_eq(id, 7);
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms);
	ck_assert_uint_eq(ddblock_token(connection, 7), 12);
	ck_assert_uint_eq(ddblock_token_of(connection, 7, "k1"), 0);
	ck_assert_uint_eq(ddblock_token_of(connection, 7, "k3"), 13);
	ck_assert_str_eq(ddblock_token_text(connection, 7, "k1"),
	    "36893488147419103232");
	ck_assert_ptr_null(ddblock_token_text(connection, 7, "k3"));
	ck_assert_uint_eq(ddblock_token_of(connection, 7, "other"), 0);
	ck_assert_uint_eq(ddblock_token_of(connection, 8, "k1"), 0);
	fake_send(&fake, "#3 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 7), 0);
	fake_expect(&fake, "#3 RELEASE id=7");
	ck_assert_uint_eq(ddblock_token_of(connection, 7, "k1"), 0);
}

TEST(test_several_refused)
{
	const char *keys[DDBLOCK_KEYS_MAX + 1];
	uint64_t id = 0;

	for (size_t i = 0; i <= DDBLOCK_KEYS_MAX; i++)
		keys[i] = "k";
	ck_assert_int_eq(ddblock_acquire_several(connection, keys, 0, NULL,
	    &id), DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(ddblock_acquire_several(connection, keys,
	    DDBLOCK_KEYS_MAX + 1, NULL, &id), DDBLOCK_E_BAD_REQUEST);
	keys[1] = "";
	ck_assert_int_eq(ddblock_acquire_several(connection, keys, 2, NULL,
	    &id), DDBLOCK_E_BAD_REQUEST);
	keys[1] = NULL;
	ck_assert_int_eq(ddblock_acquire_several(connection, keys, 2, NULL,
	    &id), DDBLOCK_E_BAD_REQUEST);
	fake_expect_nothing(&fake);
	/* A lock without a token is not known to be held. */
	keys[1] = "l";
	fake_send(&fake, "#2 + ns=default key=k token=12\n#2 OK id=7 rows=1 "
	    "mode=exclusive remaining=60s until_boot_ms=%" PRIu64
	    " margin=1s\n", clock_boot_ms() + 60000);
	ck_assert_int_eq(ddblock_acquire_several(connection, keys, 2, NULL,
	    &id), DDBLOCK_E_PROTOCOL);
	ck_assert_int_eq(ddblock_socket(connection), -1);
}

/* The id stays, the token is another. */
TEST(test_downgrade)
{
	uint64_t id = 0;

	(void)fixture_grant(2, 7, 60000);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id), 0);
	fake_expect(&fake, "#2 TRY k");
	fake_send(&fake, "#3 OK id=7 token=99 mode=shared limit=2 "
	    "remaining=50s until_boot_ms=1\n");
	ck_assert_int_eq(ddblock_downgrade(connection, 7, 2), 0);
	fake_expect(&fake, "#3 DOWNGRADE id=7 limit=2");
	ck_assert_uint_eq(ddblock_token(connection, 7), 99);
	fake_send(&fake, "#4 ERR BAD_REQUEST :this hold shares the lock "
	    "already\n");
	ck_assert_int_eq(ddblock_downgrade(connection, 7, 0),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect(&fake, "#4 DOWNGRADE id=7");
	ck_assert_uint_eq(ddblock_token(connection, 7), 99);
	ck_assert_uint_gt(ddblock_remaining_ms(connection, 7), 0);
	ck_assert_int_eq(ddblock_downgrade(connection, 8, 0),
	    DDBLOCK_E_LOCK_NOT_OWNED);
}

TEST(test_sort_values)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	struct ddblock_query_options q = DDBLOCK_QUERY_OPTIONS_INIT;

	o.sort = "x y";
	ck_assert_int_eq(ddblock_acquire_start(connection, "k", &o, NULL,
	    NULL, NULL), 0);
	fake_expect(&fake, "#2 ACQUIRE k sort=x%20y");
	q.key = "k";
	q.sort = "-";
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_GET,
	    &q, NULL, NULL, NULL, NULL), 0);
	fake_expect(&fake, "#3 GET k sort=-");
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_LIST,
	    &q, NULL, NULL, NULL, NULL), 0);
	fake_expect(&fake, "#4 LIST sort=-");
	ck_assert_int_eq(ddblock_query_start(connection, DDBLOCK_QUERY_PING,
	    &q, NULL, NULL, NULL, NULL), 0);
	fake_expect(&fake, "#5 PING");
}

TEST(test_acquire_and_release)
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

TEST(test_options)
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
	newer.unknown = 0;
	newer.known.wait_ms = DDBLOCK_WAIT_FOREVER;
	newer.known.poll_ms = 0;
	fake_send(&fake, "#3 ERR SHUTTING_DOWN\n");
	ck_assert_int_eq(ddblock_acquire(connection, "k", &newer.known, &id),
	    DDBLOCK_E_SHUTTING_DOWN);
	fake_expect(&fake, "#3 ACQUIRE k ns=other wait=forever");
	older.size = offsetof(struct ddblock_acquire_options, mode);
	older.wait_ms = 0;
	older.mode = DDBLOCK_SHARED; /* beyond its end: not there */
	(void)fixture_grant(4, 7, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &older, &id), 0);
	fake_expect(&fake, "#4 TRY k");
	ck_assert_int_eq(ddblock_acquire(connection, "", NULL, &id),
	    DDBLOCK_E_BAD_REQUEST);
	fake_expect_nothing(&fake);
}

TEST(test_shared)
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

/* Bytes of any kind, with the grant, a renewal and the release. */
TEST(test_changes)
{
	static const char data[] = "\0 \xff=";
	const struct ddblock_attribute attributes[] = {
		{ "a b", "x", 0 }, { "n", "{\"N\":\"1\"}", 1 },
		{ "out", NULL, 0 },
	};
	const struct ddblock_attribute nameless = { "", "x", 0 };
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	struct ddblock_change change = DDBLOCK_CHANGE_INIT;
	uint64_t id;

	change.data = data;
	change.length = 4;
	change.spare_data = 1;
	o.wait_ms = 0;
	o.only_if_exists = 1;
	o.change = &change;
	(void)fixture_grant(2, 7, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id), 0);
	fake_expect(&fake, "#2 TRY k only_if_exists=yes data=%00%20%FF%3D "
	    "replace_data=no");
	change = (struct ddblock_change)DDBLOCK_CHANGE_INIT;
	change.attributes = attributes;
	change.n_attributes = 3;
	fake_send(&fake, "#3 OK remaining=9s until_boot_ms=1\n");
	ck_assert_int_eq(ddblock_renew_change(connection, id, &change), 0);
	fake_expect(&fake, "#3 RENEW id=7 attr.a%20b=x "
	    "attr.n:json={\"N\":\"1\"} attr.out:json=");
	change.attributes = &nameless;
	change.n_attributes = 1;
	ck_assert_int_eq(ddblock_renew_change(connection, id, &change),
	    DDBLOCK_E_BAD_REQUEST);
	change = (struct ddblock_change)DDBLOCK_CHANGE_INIT;
	change.data = "";
	change.clear = 1;
	fake_send(&fake, "#4 ERR LIMIT :too much\n");
	ck_assert_int_eq(ddblock_release_change(connection, id, &change),
	    DDBLOCK_E_LIMIT);
	fake_expect(&fake, "#4 RELEASE id=7 data= keep=no");
	fake_expect_nothing(&fake);
}

/* What a grant tells stays readable, of any bytes, while it is held. */
TEST(test_found)
{
	const struct ddblock_row *found;
	const char *name, *value;
	uint64_t id;
	size_t length;

	fake_send(&fake, "#2 OK id=7 token=41 mode=exclusive remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s data=%%00%%FFx "
	    "attr.a%%20b=y attr.n:json={\"N\":\"1\"} dataset=1\n",
	    clock_boot_ms() + 60000);
	ck_assert_int_eq(ddblock_try(connection, "k", NULL, &id), 0);
	fake_expect(&fake, "#2 TRY k");
	(void)fixture_acquire(3, 8, 60000);
	ck_assert_ptr_null(ddblock_found(connection, 8));
	found = ddblock_found(connection, 7);
	ck_assert_ptr_nonnull(found);
	value = ddblock_row_find(found, "data", &length);
	ck_assert_uint_eq(length, 3);
	ck_assert_mem_eq(value, "\0\xffx", 4);
	ck_assert_str_eq(ddblock_row_find(found, "attr.a b", NULL), "y");
	ck_assert(ddblock_row_at(found, 2, &name, &value, &length));
	ck_assert_str_eq(name, "attr.n:json");
	ck_assert_str_eq(value, "{\"N\":\"1\"}");
	ck_assert(!ddblock_row_at(found, 3, &name, &value, &length));
	fake_send(&fake, "#4 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 7), 0);
	ck_assert_ptr_null(ddblock_found(connection, 7));
}

TEST(test_pipelined_and_out_of_order)
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

TEST(test_limit_of_requests)
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

TEST(test_queries)
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

TEST(test_query_words)
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
	fake_expect(&fake, "#4 HELD key=k ns=n state=held");
	fake_expect(&fake, "#5 WAITING");
	fake_expect(&fake, "#6 STATUS");
}

/* How far a listing is, is told to the caller that asked for it only. */
TEST(test_progress)
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

/* A place in line is told while the request waits, and not of another's. */
TEST(test_queue_reports)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t id;

	o.on_queue = on_row;
	fake_send(&fake, "!QUEUED tag=2 ns=main key=k ahead=1 waited=2s\n"
	    "!QUEUED tag=9 ns=main key=k ahead=7 waited=2s\n");
	(void)fixture_grant(2, 7, 60000);
	fake_send(&fake, "!QUEUED tag=2 ns=main key=k ahead=0 waited=3s\n");
	ck_assert_int_eq(ddblock_acquire(connection, "k", &o, &id), 0);
	fake_expect(&fake, "#2 ACQUIRE k report=queue");
	ck_assert_str_eq(fixture_heard(), "row tag=2/1 ns=main/4 key=k/1 "
	    "ahead=1/1 waited=2s/2 key:k;");
	o.wait_ms = 0;
	(void)fixture_grant(3, 8, 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "l", &o, &id), 0);
	fake_expect(&fake, "#3 TRY l");
}

/* The answer, then the changes, of this lock and while it is watched. */
TEST(test_watch)
{
	fake_send(&fake, "#2 OK state=free\n"
	    "!CHANGED ns=main key=x state=held\n"
	    "!CHANGED ns=other key=x state=dead\n"
	    "!CHANGED ns=main key=y state=free\n");
	ck_assert_int_eq(ddblock_watch(connection, "x", NULL, NULL, on_row,
	    NULL),
	    0);
	fake_expect(&fake, "#2 WATCH x");
	ck_assert_int_eq(ddblock_dispatch(connection), 0);
	ck_assert_str_eq(fixture_heard(), "row state=free/4 key:(null);"
	    "row ns=main/4 key=x/1 state=held/4 key:x;");
	ck_assert_int_eq(ddblock_watch(connection, "x", "main", "-", on_row,
	    NULL),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(ddblock_unwatch(connection, "x", "other", NULL),
	    DDBLOCK_E_NO_SUCH_LOCK);
	ck_assert_int_eq(ddblock_unwatch(connection, "x", NULL, NULL), 0);
	fake_expect(&fake, "#3 UNWATCH x");
	fake_send(&fake, "!CHANGED ns=main key=x state=free\n#3 OK\n"
	    "#4 ERR LIMIT :so many\n");
	ck_assert_int_eq(ddblock_watch(connection, "a b", "other", NULL,
	    on_row, NULL), DDBLOCK_E_LIMIT);
	ck_assert_str_eq(ddblock_last_text(connection), "so many");
	fake_expect(&fake, "#4 WATCH a%20b ns=other");
	/* It is as if it had never been asked. */
	ck_assert_int_eq(ddblock_unwatch(connection, "a b", "other", NULL),
	    DDBLOCK_E_NO_SUCH_LOCK);
	ck_assert_str_eq(fixture_heard(), "");
	ck_assert_int_eq(ddblock_watch(connection, "", NULL, NULL, on_row,
	    NULL), DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(ddblock_watch_start(connection, "z", NULL, NULL,
	    on_row, fixture_on_reply, name_a, NULL), 0);
	fake_expect(&fake, "#5 WATCH z");
}

/* Locks of one key are told apart. */
TEST(test_watch_with_sort_value)
{
	fake_send(&fake, "#2 OK state=free\n");
	ck_assert_int_eq(ddblock_watch(connection, "x", NULL, NULL, on_row,
	    NULL), 0);
	fake_expect(&fake, "#2 WATCH x");
	fake_send(&fake, "#3 OK state=free\n");
	ck_assert_int_eq(ddblock_watch(connection, "x", NULL, "a b", on_row,
	    NULL), 0);
	fake_expect(&fake, "#3 WATCH x sort=a%20b");
	(void)fixture_heard();
	ck_assert_int_eq(ddblock_unwatch(connection, "x", NULL, NULL), 0);
	fake_expect(&fake, "#4 UNWATCH x");
	fake_send(&fake, "!CHANGED ns=main key=x state=held\n"
	    "!CHANGED ns=main key=x sort=c state=held\n"
	    "!CHANGED ns=main key=x sort=a%%20b state=dead\n#4 OK\n");
	ck_assert_int_eq(ddblock_dispatch(connection), 0);
	ck_assert_str_eq(fixture_heard(), "row ns=main/4 key=x/1 sort=a b/3 "
	    "state=dead/4 key:x;");
	ck_assert_int_eq(ddblock_unwatch(connection, "x", NULL, "c"),
	    DDBLOCK_E_NO_SUCH_LOCK);
	ck_assert_int_eq(ddblock_unwatch(connection, "x", NULL, "a b"), 0);
	fake_expect(&fake, "#5 UNWATCH x sort=a%20b");
}
