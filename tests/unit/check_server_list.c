/*
 * LIST over a socket: its words, several namespaces, its end before the end,
 * and how far it is. The test is the core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

/* The last request to the core. */
static const struct core_request *
asked(void)
{
	ck_assert_uint_gt(t.n_seen, 0);
	ck_assert_int_eq(t.seen[t.n_seen - 1].type, CORE_REQUEST);
	return &t.seen[t.n_seen - 1].request;
}

/* A page with a free, a held and a dead lock. */
static void
perform_page(const struct core_request *q)
{
	const struct core_row rows[] = {
		{ .key = { "f", 1 } },
		{ .key = { "h", 1 }, .holder = { .held = true } },
		{ .key = { "d", 1 }, .holder = { .held = true, .dead = true } },
	};
	struct core_rows page = {
		.action.type = CORE_ROWS, .client = q->client,
		.request = q->request, .rows = rows, .n_rows = 3,
		.n_examined = 7, .read_milliunits = 500,
	};

	server_perform(t.server, &page.action);
	turn();
}

static void
perform_end(const struct core_request *q, int code)
{
	perform_reply(q, code);
	turn();
}

static void
list_setup(void)
{
	setup();
	t.quiet_lists = true;
}

static const struct {
	const char *arguments;
	bool held_only;
	const char *rows;
} words[] = {
	{ "", false, "+ ns=default key=f state=free\n"
	    "+ ns=default key=h state=held mode=exclusive "
	    "here=no version=0-0-0\n"
	    "+ ns=default key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "OK rows=3 examined=7 units=1\n" },
	{ " state=free", false, "+ ns=default key=f state=free\n"
	    "OK rows=1 examined=7 units=1\n" },
	{ " state=held", true,
	    "+ ns=default key=h state=held mode=exclusive "
	    "here=no version=0-0-0\n"
	    "OK rows=1 examined=7 units=1\n" },
	{ " state=dead", true,
	    "+ ns=default key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "OK rows=1 examined=7 units=1\n" },
	{ " state=dead,held,dead", true,
	    "+ ns=default key=h state=held mode=exclusive "
	    "here=no version=0-0-0\n"
	    "+ ns=default key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "OK rows=2 examined=7 units=1\n" },
};

TEST_FIXTURE(list_setup, teardown)

TEST_ROWS(test_states, words)
{
	struct core_request q;
	char line[64];
	int fd = client();

	(void)snprintf(line, sizeof(line), "LIST%s\n", words[_i].arguments);
	say(fd, line);
	q = *asked();
	ck_assert(q.held_only == words[_i].held_only);
	perform_page(&q);
	perform_end(&q, 0);
	expect(fd, words[_i].rows);
	(void)close(fd);
}

TEST(test_words_that_are_none)
{
#define NO_STATE(word) "ERR BAD_REQUEST :there is no state \"" word "\"; a " \
	"lock is free, held or dead (several: with commas between)\n"
	int fd = client();

	ask(fd, "LIST state=hold\n", NO_STATE("hold"));
	ask(fd, "LIST state=\n", NO_STATE(""));
	ask(fd, "LIST state=free,\n", NO_STATE(""));
	ask(fd, "LIST state=free,%00dead\n", NO_STATE(""));
	ask(fd, "LIST state=held%00\n", NO_STATE("held"));
	ask(fd, "LIST ns=default,nope\n", "ERR UNKNOWN_NAMESPACE "
	    ":there is no namespace \"nope\"\n");
	ask(fd, "LIST ns=default,\n", "ERR UNKNOWN_NAMESPACE "
	    ":there is no namespace \"\"\n");
	ask(fd, "HELD ns=other,other\n", "ERR BAD_REQUEST "
	    ":namespace \"other\" is named twice\n");
	ask(fd, "GET k ns=default,other\n", "ERR UNKNOWN_NAMESPACE "
	    ":there is no namespace \"default,other\"\n");
	ask(fd, "LIST progress=often\n", "ERR BAD_REQUEST :progress is a time "
	    "up to ten years, such as 500ms, 30s, 5m or 7d\n");
	ck_assert_uint_eq(t.n_seen, 0);
	(void)close(fd);
}

/* One after the other, in the daemon's order. */
TEST(test_namespaces)
{
	struct core_request first, second;
	int fd = client();

	say(fd, "#l LIST ns=other,default prefix=x state=dead\n");
	first = *asked();
	ck_assert_uint_eq(first.namespace_index, 0);
	perform_page(&first);
	expect(fd, "#l + ns=default key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n");
	perform_end(&first, 0);
	second = *asked();
	ck_assert_uint_eq(second.namespace_index, 1);
	ck_assert_uint_ne(second.request, first.request);
	ck_assert(second.held_only);
	ck_assert_str_eq(t.seen[t.n_seen - 1].key, "x");
	perform_page(&second);
	perform_end(&second, 0);
	expect(fd, "#l + ns=other key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "#l OK rows=2 examined=14 units=1\n");
	ask(fd, "#l PING\n", "#l OK\n");
	(void)close(fd);
}

TEST(test_failure_names_the_namespace)
{
	struct core_request q;
	int fd = client();

	say(fd, "LIST ns=default,other\n");
	q = *asked();
	perform_end(&q, 0);
	q = *asked();
	perform_end(&q, DDBLOCK_E_THROTTLED);
	expect(fd, "ERR THROTTLED ns=other :the store asks to slow down\n");
	/* The core does not even admit it. */
	say(fd, "LIST ns=default,other\n");
	q = *asked();
	t.refuse = DDBLOCK_E_LIMIT;
	perform_end(&q, 0);
	expect(fd, "ERR LIMIT :a limit is reached\n");
	ask(fd, "LIST\n", "ERR LIMIT :a limit is reached\n");
	t.refuse = 0;
	ask(fd, "PING\n", "OK\n");
	(void)close(fd);
}

TEST(test_cancel)
{
	struct core_request q;
	int fd = client();

	say(fd, "#l LIST ns=default,other\n#c CANCEL tag=l\n");
	q = t.seen[0].request;
	ck_assert_int_eq(asked()->verb, CORE_CANCEL);
	ck_assert_uint_eq(asked()->target, q.request);
	perform_reply(asked(), 0);
	perform_end(&q, DDBLOCK_E_CANCELLED);
	expect(fd, "#c OK cancelled=yes\n"
	    "#l ERR CANCELLED ns=default :the request was cancelled\n");
	ask(fd, "CANCEL tag=l\n", "OK cancelled=no\n");
	/* A page that still comes belongs to no request. */
	perform_page(&q);
	expect_nothing(fd);
	(void)close(fd);
}

TEST(test_progress)
{
	struct core_request q;
	int fd = client();

	say(fd, "#%l LIST ns=default,other state=dead progress=0\n");
	q = *asked();
	perform_page(&q);
	expect(fd, "#%l + ns=default key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "!LISTING tag=%25l ns=default rows=1 examined=7 units=1\n");
	perform_end(&q, 0);
	q = *asked();
	perform_page(&q);
	perform_page(&q);
	perform_end(&q, 0);
	expect(fd, "#%l + ns=other key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "!LISTING tag=%25l ns=other rows=2 examined=14 units=1\n"
	    "#%l + ns=other key=d state=dead mode=exclusive "
	    "here=no version=0-0-0\n"
	    "!LISTING tag=%25l ns=other rows=3 examined=21 units=2\n"
	    "#%l OK rows=3 examined=21 units=2\n");
	/* Not so often, not without a tag, not unasked. */
	say(fd, "LIST progress=1h\n");
	q = *asked();
	perform_end(&q, 0);
	expect(fd, "OK rows=0 examined=0\n");
	say(fd, "LIST progress=0\n");
	q = *asked();
	perform_page(&q);
	perform_end(&q, 0);
	ck_assert_uint_eq(drain_lines(fd), 5);
	(void)close(fd);
}
