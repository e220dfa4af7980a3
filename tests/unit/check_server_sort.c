/*
 * Sort values over a socket: how a lock is named to the core, and its rows to
 * a client. The test is the core; its namespace "other" has no sort values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define NAME(text) ((struct key){ text, sizeof(text) - 1 })

/* The core is asked for the lock with this name. */
static void
expect_name(int fd, const char *line, struct key name)
{
	size_t n = t.n_seen;
	const struct seen *seen = &t.seen[n];

	say(fd, line);
	ck_assert_uint_eq(t.n_seen, n + 1);
	ck_assert_int_eq(seen->type, CORE_REQUEST);
	ck_assert(key_equal((struct key){ seen->key, seen->key_length },
	    name));
}

TEST_FIXTURE(setup, teardown)

TEST(test_names)
{
	int fd = client();

	t.quiet_lists = true;
	expect_name(fd, "ACQUIRE a sort=x%20y\n", NAME("a\0x y"));
	expect_name(fd, "TRY a sort=-\n", NAME("a"));
	expect_name(fd, "TRY a\n", NAME("a"));
	expect_name(fd, "GET a sort=x\n", NAME("a\0x"));
	expect_name(fd, "TRY a ns=other sort=-\n", NAME("a"));
	expect_name(fd, "LIST prefix=a sort=x\n", NAME("a"));
	(void)close(fd);
}

TEST(test_refused)
{
#define NONE "ERR UNSUPPORTED :namespace \"other\" has no sort keys: its " \
	"table has a partition key only\n"
	char line[3000];
	int fd = client();

	ask(fd, "TRY a ns=other sort=x\n", NONE);
	ask(fd, "GET a ns=other sort=x\n", NONE);
	ask(fd, "TRY a sort=\n", "ERR BAD_REQUEST :the sort value has 0 "
	    "bytes; it needs 1 to 1024\n");
	ask(fd, "LIST sort=\n", "ERR BAD_REQUEST :the sort value has 0 bytes; "
	    "it needs 1 to 1024\n");
	ask(fd, "TRY a sort=x%00y\n", "ERR BAD_REQUEST :the sort value is not "
	    "UTF-8 text without NUL\n");
	ask(fd, "TRY a sort=%FF\n", "ERR BAD_REQUEST :the sort value is not "
	    "UTF-8 text without NUL\n");
	(void)snprintf(line, sizeof(line), "GET a sort=%01025d\n", 0);
	ask(fd, line, "ERR BAD_REQUEST :the sort value has 1025 bytes; it "
	    "needs 1 to 1024\n");
	ck_assert_uint_eq(t.n_seen, 0);
	(void)snprintf(line, sizeof(line), "GET %01024d sort=%01024d\n", 0, 0);
	say(fd, line);
	ck_assert_uint_eq(t.seen[0].request.key.length, KEY_BYTES_MAX);
	(void)close(fd);
}

static const struct {
	const char *line;
	const char *rows;
} lists[] = {
	{ "LIST\n", "+ ns=default key=a state=free\n"
	    "+ ns=default key=a sort=x%20y state=free\n"
	    "+ ns=default key=b sort=%3A state=free\nOK rows=3 examined=3\n" },
	{ "LIST sort=-\n", "+ ns=default key=a state=free\n"
	    "OK rows=1 examined=3\n" },
	{ "LIST sort=%3A\n", "+ ns=default key=b sort=%3A state=free\n"
	    "OK rows=1 examined=3\n" },
	{ "LIST sort=z\n", "OK rows=0 examined=3\n" },
};

TEST_ROWS(test_list, lists)
{
	const struct core_row rows[] = {
		{ .key = NAME("a") }, { .key = NAME("a\0x y") },
		{ .key = NAME("b\0:") },
	};
	struct core_rows page = {
		.action.type = CORE_ROWS, .rows = rows, .n_rows = 3,
		.n_examined = 3,
	};
	struct core_request q;
	int fd = client();

	t.quiet_lists = true;
	say(fd, lists[_i].line);
	q = t.seen[0].request;
	page.client = q.client;
	page.request = q.request;
	server_perform(t.server, &page.action);
	perform_reply(&q, 0);
	turn();
	expect(fd, lists[_i].rows);
	(void)close(fd);
}

/* The holds: "k" in turn in both namespaces, the last with a sort value. */
TEST(test_held)
{
#define HOLD(id, ns, sort) "+ id=" id " ns=" ns " key=k" sort " token=9 " \
	"state=held held=1.5s remaining=2.5s left=yes\n"
	int fd = client();

	t.core.n_holds = 3;
	t.core.sorted = 3;
	ask(fd, "HELD key=k\n", HOLD("1", "default", "") HOLD("2", "other", "")
	    HOLD("3", "default", " sort=s") "OK rows=3\n");
	ask(fd, "HELD sort=s\n", HOLD("3", "default", " sort=s")
	    "OK rows=1\n");
	ask(fd, "HELD key=k sort=-\n", HOLD("1", "default", "")
	    HOLD("2", "other", "") "OK rows=2\n");
	ask(fd, "HELD key=x sort=s\n", "OK rows=0\n");
	(void)close(fd);
}
