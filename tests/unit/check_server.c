/*
 * The server's conversation: a client's lines become events, the core's answers
 * become lines.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

TEST_FIXTURE(setup, teardown)

TEST(test_ping_and_tags)
{
	int fd = client();

	ask(fd, "PING\n", "OK\n");
	ask(fd, "#a PING\r\n#b PING\n", "#a OK\n#b OK\n");
	ask(fd, "#x PI", "");
	ask(fd, "NG\n", "#x OK\n");
	(void)close(fd);
}

TEST(test_unknown_words_are_named)
{
	int fd = client();

	ask(fd, "#1 PNIG\n", "#1 ERR BAD_REQUEST :unknown verb \"PNIG\"; "
	    "did you mean \"PING\"?\n");
	ask(fd, "ACQUIRE k wiat=5s\n", "ERR BAD_REQUEST :ACQUIRE has no "
	    "argument \"wiat\"; did you mean \"wait\"?\n");
	ask(fd, "FROBNICATE\n",
	    "ERR BAD_REQUEST :unknown verb \"FROBNICATE\"\n");
	ask(fd, "ping\n", "ERR BAD_REQUEST :unknown verb \"ping\"; "
	    "did you mean \"PING\"?\n");
	ask(fd, "TRY k wait=5\n",
	    "ERR BAD_REQUEST :TRY has no argument \"wait\"\n");
	ask(fd, "ACQUIRE k wait=1 wait=2\n",
	    "ERR BAD_REQUEST :argument \"wait\" is given twice\n");
	ask(fd, "TRY\n",
	    "ERR BAD_REQUEST :TRY needs a KEY as its first argument\n");
	ask(fd, "GET a b\n", "ERR BAD_REQUEST :GET takes one key\n");
	ask(fd, "TRY a b a\n",
	    "ERR BAD_REQUEST :the key \"a\" is given twice\n");
	ask(fd, "TRY a mode=shared b\n",
	    "ERR BAD_REQUEST :several keys come one after the other\n");
	ask(fd, "RELEASE\n", "ERR BAD_REQUEST :RELEASE needs id=, or all=yes "
	    "and perhaps ns=\n");
	ask(fd, "RELEASE id=x\n", "ERR BAD_REQUEST :id is the number that a "
	    "grant came with\n");
	ask(fd, "ACQUIRE k wait=soon\n", "ERR BAD_REQUEST :wait is a time up "
	    "to ten years, such as 500ms, 30s, 5m or 7d\n");
	ask(fd, "TRY k ns=nope\n", "ERR UNKNOWN_NAMESPACE "
	    ":there is no namespace \"nope\"\n");
	ask(fd, "HELLO proto=2\n",
	    "ERR UNSUPPORTED :this daemon speaks proto=1\n");
	ask(fd, "PING\n", "OK\n");
	ck_assert_uint_eq(t.n_seen, 0);
	(void)close(fd);
}

TEST(test_keys_are_text_of_a_bounded_length)
{
	char line[3000];
	int fd = client();

	ask(fd, "TRY %FF\n",
	    "ERR BAD_REQUEST :the key is not UTF-8 text without NUL\n");
	ask(fd, "TRY a%00b\n",
	    "ERR BAD_REQUEST :the key is not UTF-8 text without NUL\n");
	(void)snprintf(line, sizeof(line), "TRY %01025d\n", 0);
	ask(fd, line, "ERR BAD_REQUEST :the key has 1025 bytes; it needs 1 "
	    "to 1024\n");
	ck_assert_uint_eq(t.n_seen, 0);
	(void)snprintf(line, sizeof(line), "TRY %01024d\n", 0);
	say(fd, line);
	ck_assert_uint_eq(t.n_seen, 1);
	(void)close(fd);
}

/* One bad key among several: the core is not asked. */
TEST(test_several_keys_are_checked_each)
{
	char line[3000];
	char *end = line + snprintf(line, sizeof(line), "#a ACQUIRE");
	int fd = client();

	for (int i = 0; i < 26; i++)
		end += snprintf(end, sizeof(line) - (size_t)(end - line),
		    " k%d", i);
	(void)snprintf(end, sizeof(line) - (size_t)(end - line), "\n");
	ask(fd, line, "#a ERR BAD_REQUEST :ACQUIRE takes up to 25 keys at "
	    "once, and here are 26\n");
	ask(fd, "TRY a b%FF c\n",
	    "ERR BAD_REQUEST :the key is not UTF-8 text without NUL\n");
	(void)snprintf(line, sizeof(line), "TRY a %01025d\n", 0);
	ask(fd, line, "ERR BAD_REQUEST :the key has 1025 bytes; it needs 1 "
	    "to 1024\n");
	ask(fd, "TRY a =\n", "ERR BAD_REQUEST :an argument has no name before "
	    "its '='\n");
	ask(fd, "ACQUIRE a b a%62 c b\n",
	    "ERR BAD_REQUEST :the key \"b\" is given twice\n");
	ck_assert_uint_eq(t.n_seen, 0);
	(void)close(fd);
}

TEST(test_acquire_reaches_the_core_and_back)
{
	char owner[64];
	int fd = client();

	say(fd, "HELLO name=night%20job\n");
	expect(fd, "OK proto=1 version=1.2.3 host=h scope=host "
	    "namespaces=default,other line_max=1048576 key_max=1024 "
	    "requests_max=16\n");
	say(fd, "#a ACQUIRE jobs/x wait=30s poll=2s ns=other\n");
	expect_nothing(fd);
	ck_assert_uint_eq(t.n_seen, 1);
	ck_assert_int_eq(t.seen[0].request.verb, CORE_ACQUIRE);
	ck_assert_uint_eq(t.seen[0].request.wait_ms, 30000);
	ck_assert_uint_eq(t.seen[0].request.poll_ms, 2000);
	ck_assert_uint_eq(t.seen[0].request.namespace_index, 1);
	ck_assert_str_eq(t.seen[0].key, "jobs/x");
	(void)snprintf(owner, sizeof(owner), "h/night job:%ld ",
	    (long)getpid());
	ck_assert_int_eq(strncmp(t.seen[0].owner, owner, strlen(owner)), 0);
	perform_reply(&t.seen[0].request, 0);
	turn();
	expect(fd, "#a OK id=7 token=123 mode=exclusive remaining=18.9s "
	    "until_boot_ms=123456 margin=1s\n");

	say(fd, "ACQUIRE b\nTRY c\n");
	ck_assert_uint_eq(t.seen[1].request.wait_ms, CORE_FOREVER);
	ck_assert_uint_eq(t.seen[2].request.wait_ms, 0);
	perform_reply(&t.seen[2].request, DDBLOCK_E_LOCK_BUSY);
	turn();
	expect(fd, "ERR LOCK_BUSY token=5 owner=h/n:1 unchanged=4s "
	    ":somebody else holds the lock\n");
	(void)close(fd);
	turn();
	ck_assert_uint_eq(t.n_seen, 4);
	ck_assert_int_eq(t.seen[3].type, CORE_GONE);
	ck_assert_uint_eq(t.seen[3].client, t.seen[0].client);
}

/* Of the namespace, unless the request says it. */
TEST(test_wait)
{
	int fd = client();

	say(fd, "ACQUIRE b ns=other\nTRY c ns=other\n"
	    "ACQUIRE d ns=other wait=forever\nACQUIRE e ns=other wait=0s\n");
	ck_assert_uint_eq(t.seen[0].request.wait_ms, 30000);
	ck_assert_uint_eq(t.seen[1].request.wait_ms, 0);
	ck_assert_uint_eq(t.seen[2].request.wait_ms, CORE_FOREVER);
	ck_assert_uint_eq(t.seen[3].request.wait_ms, 0);
	(void)close(fd);
}

TEST(test_other_verbs_of_the_core)
{
	int fd = client();

	t.answer = true;
	ask(fd, "RELEASE id=7\n", "OK\n");
	ck_assert_uint_eq(t.seen[0].request.hold, 7);
	ask(fd, "RENEW id=7\n", "OK remaining=18.9s until_boot_ms=123456\n");
	ask(fd, "GET k\n", "OK state=held token=5 owner=h/n:1 unchanged=4s "
	    "mode=exclusive here=no lease=20s version=5-2-0\n");
	t.refuse = DDBLOCK_E_LIMIT;
	ask(fd, "#z GET k\n", "#z ERR LIMIT :a limit is reached\n");
	t.refuse = 0;
	(void)close(fd);
}

/* Of the answer to @request the first line has this. */
static void
expect_row(int fd, const char *request, const char *part)
{
	char got[4096];
	ssize_t n;

	say(fd, request);
	n = recv(fd, got, sizeof(got) - 1, 0);
	got[n < 0 ? 0 : n] = '\0';
	got[strcspn(got, "\n")] = '\0';
	ck_assert_msg(strstr(got, part) != NULL, "no \"%s\" in: %s", part,
	    got);
}

TEST(test_how_a_lock_is_to_be_used)
{
	int fd = client();

	t.answer = true;
	ask(fd, "TRY k mode=exclusive\n", "OK id=7 token=123 mode=exclusive "
	    "remaining=18.9s until_boot_ms=123456 margin=1s\n");
	ask(fd, "TRY k mode=shared\n", "OK id=7 token=123 mode=shared "
	    "remaining=18.9s until_boot_ms=123456 margin=1s\n");
	ask(fd, "ACQUIRE k limit=1000 mode=shared\n", "OK id=7 token=123 "
	    "mode=shared limit=1000 remaining=18.9s until_boot_ms=123456 "
	    "margin=1s\n");
	ck_assert_int_eq(t.seen[0].request.terms.mode, LOCK_MODE_EXCLUSIVE);
	ck_assert_int_eq(t.seen[1].request.terms.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(t.seen[1].request.terms.limit, 0);
	ck_assert_int_eq(t.seen[2].request.terms.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(t.seen[2].request.terms.limit, 1000);
	t.answer = false;
	ask(fd, "TRY k mode=shared%00\n",
	    "ERR BAD_REQUEST :mode is exclusive or shared\n");
	ask(fd, "TRY k mode=\n",
	    "ERR BAD_REQUEST :mode is exclusive or shared\n");
	ask(fd, "ACQUIRE k mode=Shared\n",
	    "ERR BAD_REQUEST :mode is exclusive or shared\n");
	ask(fd, "ACQUIRE k limit=3\n", "ERR BAD_REQUEST :limit goes with "
	    "mode=shared; exclusive use has one holder anyway\n");
	ask(fd, "TRY k limit=1 mode=exclusive\n", "ERR BAD_REQUEST :limit "
	    "goes with mode=shared; exclusive use has one holder anyway\n");
	for (const char *const *limit = (const char *const[]){
	    "0", "1001", "-1", "", "3s", "18446744073709551617", NULL };
	    *limit != NULL; limit++) {
		char line[80];

		(void)snprintf(line, sizeof(line),
		    "ACQUIRE k mode=shared limit=%s\n", *limit);
		ask(fd, line, "ERR BAD_REQUEST :limit is how many may share "
		    "the lock, 1 to 1000; without it, any number may\n");
	}
	ask(fd, "GET k mode=shared\n",
	    "ERR BAD_REQUEST :GET has no argument \"mode\"\n");
	ck_assert_uint_eq(t.n_seen, 3);
	(void)close(fd);
}

TEST(test_shared_use_is_shown)
{
	int fd = client();

	t.answer = true;
	ask(fd, "RELEASE id=7\n", "OK\n");
	t.core = (struct core){
		.holder = t.seen[0].client, .n_holds = 1,
		.mode = LOCK_MODE_SHARED, .limit = 3,
	};
	ask(fd, "GET k\n", "OK state=held token=5 owner=h/n:1 holders=2 "
	    "unchanged=4s mode=shared limit=3 here=no lease=20s "
	    "version=5-2-0\n");
	say(fd, "HELLO name=n\n");
	(void)drain_lines(fd);
	t.answer = false;
	say(fd, "TRY k\n");
	perform_reply(&t.seen[t.n_seen - 1].request, DDBLOCK_E_WRONG_LIMIT);
	turn();
	expect(fd, "ERR WRONG_LIMIT mode=shared limit=3 token=5 owner=h/n:1 "
	    "holders=2 unchanged=4s :the lock is shared within another "
	    "limit\n");
	expect_row(fd, "HELD\n", " token=9 mode=shared limit=3 state=held ");
	expect_row(fd, "WAITING\n", " mode=shared limit=3 ahead=2 ");
	t.core.limit = 0;
	expect_row(fd, "HELD\n", " token=9 mode=shared state=held ");
	t.core.mode = LOCK_MODE_EXCLUSIVE;
	expect_row(fd, "HELD\n", " token=9 state=held ");
	expect_row(fd, "WAITING\n", " key=w ahead=2 ");
	(void)close(fd);
}

TEST(test_cancel_names_the_request)
{
	int fd = client();

	say(fd, "#w ACQUIRE k\n");
	ask(fd, "#w PING\n", "#w ERR BAD_REQUEST :the tag \"w\" belongs to a "
	    "request without a reply yet\n");
	say(fd, "#c CANCEL tag=w\n");
	ck_assert_uint_eq(t.n_seen, 2);
	ck_assert_int_eq(t.seen[1].request.verb, CORE_CANCEL);
	ck_assert_uint_eq(t.seen[1].request.target,
	    t.seen[0].request.request);
	perform_reply(&t.seen[0].request, DDBLOCK_E_CANCELLED);
	perform_reply(&t.seen[1].request, 0);
	turn();
	expect(fd, "#w ERR CANCELLED token=5 owner=h/n:1 unchanged=4s "
	    ":the request was cancelled\n#c OK cancelled=yes\n");
	ask(fd, "CANCEL tag=w\n", "OK cancelled=no\n");
	(void)close(fd);
}

TEST(test_half_close_is_served_to_the_end)
{
	int fd = client();

	say(fd, "TRY k\nTR");
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	turn();
	expect(fd, "ERR BAD_REQUEST :the last line has no end\n");
	expect_nothing(fd);
	ck_assert_uint_eq(t.n_seen, 2);
	ck_assert_int_eq(t.seen[1].type, CORE_HALF_CLOSED);
	perform_reply(&t.seen[0].request, DDBLOCK_E_LOCK_BUSY);
	turn();
	ck_assert_uint_eq(t.n_seen, 3);
	ck_assert_int_eq(t.seen[2].type, CORE_GONE);
	expect(fd, "ERR LOCK_BUSY token=5 owner=h/n:1 unchanged=4s "
	    ":somebody else holds the lock\n");
	expect_end(fd);
	ck_assert_uint_eq(server_connections(t.server), 0);
}

TEST(test_close_after_half_close_is_noticed)
{
	int fd = client();

	say(fd, "ACQUIRE k\n");
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	turn();
	ck_assert_uint_eq(server_connections(t.server), 1);
	(void)close(fd);
	turn();
	ck_assert_uint_eq(server_connections(t.server), 0);
	ck_assert_int_eq(t.seen[t.n_seen - 1].type, CORE_GONE);
}

TEST(test_requests_before_a_close_are_run)
{
	int fd = client();

	ck_assert_int_eq(send(fd, "TRY a\nTRY b\nTRY", 15, 0), 15);
	(void)close(fd);
	turn();
	ck_assert_uint_eq(t.n_seen, 3);
	ck_assert_str_eq(t.seen[0].key, "a");
	ck_assert_str_eq(t.seen[1].key, "b");
	ck_assert_int_eq(t.seen[2].type, CORE_GONE);
}

TEST(test_quit_answers_what_is_outstanding)
{
	int fd = client();

	ask(fd, "TRY k\nQUIT\nPING\n", "OK\n");
	ck_assert_int_eq(t.seen[1].type, CORE_HALF_CLOSED);
	perform_reply(&t.seen[0].request, DDBLOCK_E_LOCK_BUSY);
	turn();
	expect(fd, "ERR LOCK_BUSY token=5 owner=h/n:1 unchanged=4s "
	    ":somebody else holds the lock\n");
	expect_end(fd);
	fd = client();
	ask(fd, "QUIT\n", "OK\n");
	expect_end(fd);
}

TEST(test_notices_become_events)
{
	struct core_notice notice = {
		.action.type = CORE_NOTICE, .kind = CORE_IN_DANGER,
		.hold = 7, .remaining_ms = 9500, .until_ms = 99,
		.cause = DDBLOCK_E_THROTTLED,
	};
	int fd = client();

	say(fd, "TRY k\n");
	notice.client = t.seen[0].client;
	server_perform(t.server, &notice.action);
	notice.kind = CORE_SAFE;
	server_perform(t.server, &notice.action);
	notice.kind = CORE_LOST;
	notice.loss = CORE_LOSS_STOLEN;
	server_perform(t.server, &notice.action);
	notice.client++; /* nobody */
	server_perform(t.server, &notice.action);
	turn();
	expect(fd, "!LOCK_IN_DANGER id=7 remaining=9.5s until_boot_ms=99 "
	    "reason=THROTTLED\n"
	    "!LOCK_SAFE id=7 remaining=9.5s until_boot_ms=99\n"
	    "!LOCK_LOST id=7 reason=stolen\n");
	(void)close(fd);
}

TEST(test_renewals_are_told_to_who_asked_and_holds)
{
	struct core_renewed renewed = { .action.type = CORE_RENEWED };
	char got[200], want[100];
	int fd = client();
	int other = client();
	ssize_t n;

	say(fd, "TRY k\nHELLO renewed=yes\n");
	say(other, "HELLO renewed=yes\n");
	(void)!recv(fd, got, sizeof(got), 0);
	(void)!recv(other, got, sizeof(got), 0);
	t.core.holder = t.seen[0].client;
	renewed.until_ms = clock_boot_ms() + 500000;
	server_perform(t.server, &renewed.action);
	renewed.until_ms++; /* takes the place of the first */
	server_perform(t.server, &renewed.action);
	renewed.namespace_index = 1; /* where it holds nothing */
	server_perform(t.server, &renewed.action);
	turn();
	n = recv(fd, got, sizeof(got) - 1, 0);
	ck_assert_int_gt(n, 0);
	got[n] = '\0';
	ck_assert_ptr_eq(strchr(got, '\n'), got + n - 1);
	ck_assert_int_eq(strncmp(got, "!RENEWED ns=default remaining=", 30),
	    0);
	(void)snprintf(want, sizeof(want), " until_boot_ms=%llu\n",
	    (unsigned long long)renewed.until_ms);
	ck_assert_ptr_nonnull(strstr(got, want));
	expect_nothing(other);
	(void)close(other);
	(void)close(fd);
}

/* Each of these comes behind the one before it. */
static void
in_order(const char *text, const char *const *wanted, size_t n)
{
	const char *at = text;

	for (size_t i = 0; i < n; i++) {
		at = strstr(at, wanted[i]);
		ck_assert_msg(at != NULL, "no \"%s\" there", wanted[i]);
		at += strlen(wanted[i]);
	}
}

/* A renewal before a grant is sent before it: the new hold may depend on
 * another session, which ends sooner. */
TEST(test_renewals_are_told_before_a_later_grant)
{
	static const char *const lines[] = {
		"!RENEWED ns=default remaining=", "\nOK id=7 token=123 ",
	};
	struct core_renewed renewed = { .action.type = CORE_RENEWED };
	char got[400];
	int fd = client();
	ssize_t n;

	say(fd, "TRY k\nHELLO renewed=yes\n");
	(void)!recv(fd, got, sizeof(got), 0);
	t.core.holder = t.seen[0].client;
	renewed.until_ms = clock_boot_ms() + 500000;
	server_perform(t.server, &renewed.action);
	perform_reply(&t.seen[0].request, 0);
	turn();
	n = recv(fd, got, sizeof(got) - 1, 0);
	ck_assert_int_gt(n, 0);
	got[n] = '\0';
	in_order(got, lines, 2);
	(void)close(fd);
}

/* The same to a client that does not read; of renewals between two lines about
 * holds only the latest is sent. */
TEST(test_renewals_keep_their_place_when_nobody_reads)
{
	struct core_renewed renewed = { .action.type = CORE_RENEWED };
	struct core_notice notice = {
		.action.type = CORE_NOTICE, .kind = CORE_LOST, .hold = 7,
	};
	static char got[1024 * 1024];
	uint64_t now_ms = clock_boot_ms();
	char first[80], last[80];
	const char *const lines[] = {
		"!RENEWED ns=default ", first, "OK id=7 token=123 ",
		"!RENEWED ns=default ", last, "!LOCK_LOST id=7 ",
	};
	size_t length = 0;
	size_t renewals = 0;
	int fd = client();
	ssize_t n;

	say(fd, "TRY k\nHELLO renewed=yes\n");
	t.core.holder = notice.client = t.seen[0].client;
	/* Until the server has more to say than the socket takes. */
	for (int i = 0; i < 200; i++)
		say(fd, "HELP\nHELP\nHELP\nHELP\nHELP\nHELP\n");
	for (uint64_t i = 1; i <= 3; i++) {
		renewed.until_ms = now_ms + 500000 + i;
		server_perform(t.server, &renewed.action);
		turn();
	}
	perform_reply(&t.seen[0].request, 0);
	turn();
	renewed.until_ms++;
	server_perform(t.server, &renewed.action);
	turn();
	server_perform(t.server, &notice.action);
	turn();
	while (length < sizeof(got) - 1 &&
	    (n = recv(fd, got + length, sizeof(got) - 1 - length, 0)) > 0) {
		length += (size_t)n;
		turn();
	}
	got[length] = '\0';
	(void)snprintf(first, sizeof(first), " until_boot_ms=%llu\n",
	    (unsigned long long)now_ms + 500003);
	(void)snprintf(last, sizeof(last), " until_boot_ms=%llu\n",
	    (unsigned long long)now_ms + 500004);
	in_order(got, lines, sizeof(lines) / sizeof(lines[0]));
	for (char *at = got; (at = strstr(at, "!RENEWED ")) != NULL; at++)
		renewals++;
	ck_assert_uint_eq(renewals, 2);
	(void)close(fd);
}

/* As the kernel has it: an emulator's where there is one. */
static void
own_name(char *name, size_t size)
{
	FILE *f = fopen("/proc/self/comm", "re");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(name, (int)size, f));
	name[strcspn(name, "\n")] = '\0';
	(void)fclose(f);
}

TEST(test_waiting_and_status)
{
	const struct passwd *user = getpwuid(getuid());
	char got[1024], name[32];
	int fd = client();

	own_name(name, sizeof(name));
	say(fd, "TRY k\nSTATUS\n");
	ck_assert_int_gt(recv(fd, got, sizeof(got), 0), 0);
	ck_assert_int_eq(strncmp(got, "+ ns=default store=sqlite scope=host "
	    "where=/x session=open state=ok danger=0s remaining=0s "
	    "renewed=0s locks=3 held=0 ", 102), 0);
	t.core.holder = t.seen[0].client;
	say(fd, "WAITING\n");
	(void)snprintf(got, sizeof(got), "+ ns=default key=w ahead=2 "
	    "waited=1s pid=%ld uid=%ld%s%s name=%s mine=yes "
	    "cause=UNREACHABLE\nOK rows=1\n", (long)getpid(),
	    (long)getuid(), user == NULL ? "" : " user=",
	    user == NULL ? "" : user->pw_name, name);
	expect(fd, got);
	(void)close(fd);
}
