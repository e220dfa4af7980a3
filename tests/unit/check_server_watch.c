/*
 * The events for watchers of a lock, and for waiters, over a socket. The test
 * is the core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/connection.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

/* A change of this lock, as the core tells all watchers. */
static void
perform_change(uint64_t client, const char *key, uint64_t token)
{
	static uint64_t serial;
	const struct core_holder_view holder = {
		.held = token > 0, .token = token,
		.mode = LOCK_MODE_EXCLUSIVE, .n_holders = 1,
	};
	struct core_change change = {
		.action.type = CORE_CHANGED, .client = client,
		.serial = ++serial, .key = { key, strlen(key) },
		.holder = &holder,
	};

	t.core.token = token;
	server_perform(t.server, &change.action);
	turn();
}

TEST_FIXTURE(setup, teardown)

TEST(test_changes_are_told)
{
	struct core_change change = {
		.action.type = CORE_CHANGED, .serial = UINT64_MAX,
		.key = { "a b", 3 }, .cause = DDBLOCK_E_THROTTLED,
	};
	int fd = client();

	say(fd, "WATCH k ns=other\n");
	ck_assert_int_eq(t.seen[0].request.verb, CORE_WATCH);
	ck_assert_int_eq((int)t.seen[0].request.namespace_index, 1);
	ck_assert_str_eq(t.seen[0].key, "k");
	perform_change(t.seen[0].client, "k", 5);
	expect(fd, "!CHANGED ns=default key=k state=held token=5 "
	    "mode=exclusive here=no version=5-1-0\n");
	perform_change(t.seen[0].client, "k", 0);
	expect(fd, "!CHANGED ns=default key=k state=free\n");
	change.client = t.seen[0].client;
	server_perform(t.server, &change.action);
	turn();
	expect(fd, "!CHANGED ns=default key=a%20b state=unknown "
	    "cause=THROTTLED\n");
	say(fd, "UNWATCH k\n");
	ck_assert_int_eq(t.seen[1].request.verb, CORE_UNWATCH);
	(void)close(fd);
}

static size_t
count_of(const char *text, const char *wanted)
{
	size_t n = 0;

	while ((text = strstr(text, wanted)) != NULL) {
		text++;
		n++;
	}
	return n;
}

/* Of what changes while a client does not read it gets the latest. */
TEST(test_changes_coalesce_when_nobody_reads)
{
	static char got[2 * 1024 * 1024];
	size_t length = 0;
	int fd = client();
	ssize_t n;

	say(fd, "WATCH k\n");
	t.core.watcher = t.seen[0].client;
	for (int i = 0; i < 200; i++)
		say(fd, "HELP\nHELP\nHELP\nHELP\nHELP\nHELP\n");
	for (uint64_t token = 1; token <= 20000; token++)
		perform_change(t.seen[0].client, token % 2 ? "k" : "l", token);
	while (length < sizeof(got) - 1 &&
	    (n = recv(fd, got + length, sizeof(got) - 1 - length, 0)) > 0) {
		length += (size_t)n;
		turn();
	}
	got[length] = '\0';
	ck_assert_uint_eq(count_of(got, "!CHANGED "), 2);
	ck_assert_uint_eq(count_of(got, "key=k state=held token=20000 "), 1);
	ck_assert_uint_eq(count_of(got, "key=l state=held token=20000 "), 1);
	/* A former watcher gets no events. */
	for (int i = 0; i < 200; i++)
		say(fd, "HELP\nHELP\nHELP\nHELP\nHELP\nHELP\n");
	perform_change(t.seen[0].client, "k", 20001);
	t.core.watcher = 0;
	length = 0;
	while (length < sizeof(got) - 1 &&
	    (n = recv(fd, got + length, sizeof(got) - 1 - length, 0)) > 0) {
		length += (size_t)n;
		turn();
	}
	got[length] = '\0';
	ck_assert_uint_eq(count_of(got, "!CHANGED "), 0);
	(void)close(fd);
}

/* A second later. */
static void
tick(void)
{
	tell_on_time(-1, 0, t.server);
	turn();
}

/* The place of a waiter: when it changes, until the answer. */
TEST(test_reports)
{
	int fd = client();

	t.answer = false;
	say(fd, "#w ACQUIRE w report=queue\n");
	t.core.watcher = t.seen[0].client;
	t.core.ahead = 2;
	tick();
	expect(fd, "!QUEUED tag=w ns=default key=w ahead=2 waited=1s "
	    "cause=UNREACHABLE\n");
	tick();
	expect_nothing(fd);
	t.core.ahead = 1;
	tick();
	expect(fd, "!QUEUED tag=w ns=default key=w ahead=1 waited=1s "
	    "cause=UNREACHABLE\n");
	perform_reply(&t.seen[0].request, DDBLOCK_E_CANCELLED);
	turn();
	ck_assert_uint_eq(drain_lines(fd), 1);
	t.core.ahead = 0;
	tick();
	expect_nothing(fd);
	ask(fd, "ACQUIRE w report=line\n", "ERR BAD_REQUEST :report is queue: "
	    "a place in line\n");
	(void)close(fd);
}

/* More reports than a turn has time for: the rest is for the next turns. */
TEST(test_reports_take_turns)
{
	int fd = client();

	t.answer = false;
	say(fd, "#1 ACQUIRE w report=queue\n#2 ACQUIRE w report=queue\n"
	    "#3 ACQUIRE w report=queue\n");
	t.core.waiter_ns = 2 * TURN_NS;
	tick();
	ck_assert_uint_eq(drain_lines(fd), 3);
	(void)close(fd);
}
