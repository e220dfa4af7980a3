/*
 * The server's bounds: a client that asks too much, reads too little or comes
 * too
 * often is told so, and no other client notices.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define HOLDS 20000

TEST_FIXTURE(setup, teardown)

TEST(test_requests_of_a_connection_are_capped)
{
	int fd = client();

	for (int i = 0; i < 16; i++)
		say(fd, "ACQUIRE k\n");
	expect_nothing(fd);
	ask(fd, "#x ACQUIRE k\nPING\n", "#x ERR LIMIT :16 requests of this "
	    "connection have no reply yet\nOK\n");
	/* What gives something back is heard all the same. */
	say(fd, "RELEASE id=99\n");
	expect_nothing(fd);
	ck_assert_int_eq(t.seen[t.n_seen - 1].request.verb, CORE_RELEASE);
	(void)close(fd);
}

TEST(test_a_line_too_long_is_refused_once)
{
	size_t size = 1024 * 1024;
	char *line = malloc(size + 1);
	size_t sent = 0;
	int fd = client();

	ck_assert_ptr_nonnull(line);
	memset(line, 'x', size + 1);
	memcpy(line, "#big TRY ", 9);
	while (sent < size + 1) {
		ssize_t n = send(fd, line + sent, size + 1 - sent,
		    MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		turn();
	}
	expect(fd, "#big ERR BAD_REQUEST :the line is longer than 1 MiB\n");
	say(fd, "and more\nPING\n");
	expect(fd, "OK\n");
	free(line);
	(void)close(fd);
}

TEST(test_long_listings_wait_for_the_reader)
{
	int fd = client();
	int other = client();

	t.core.n_holds = HOLDS;
	say(fd, "HELD\n");
	ask(other, "PING\n", "OK\n");
	ck_assert_uint_eq(drain_lines(fd), HOLDS + 1);
	say(fd, "HELD ns=other key=k\n");
	ck_assert_uint_eq(drain_lines(fd), HOLDS / 2 + 1);
	say(fd, "HELD key=none\n");
	ck_assert_uint_eq(drain_lines(fd), 1);
	(void)close(fd);
	(void)close(other);
}

TEST(test_pages_are_asked_for_as_they_are_read)
{
	int fd = client();

	t.list_pages = 50;
	say(fd, "LIST state=held\n");
	ck_assert_uint_gt(t.list_pages, 0); /* it did not run ahead */
	ck_assert_uint_eq(drain_lines(fd), 51 * 50 + 1);
	ck_assert_uint_eq(t.list_pages, 0);
	(void)close(fd);
}

TEST(test_who_does_not_read_is_cut_off)
{
	struct core_notice notice = {
		.action.type = CORE_NOTICE, .kind = CORE_SAFE, .hold = 1,
	};
	int fd = client();
	int other = client();

	say(fd, "TRY k\n");
	notice.client = t.seen[0].client;
	for (int i = 0; i < 100000 && t.log[0] == '\0'; i++) {
		server_perform(t.server, &notice.action);
		if (i % 100 == 0)
			turn();
	}
	ck_assert_ptr_nonnull(strstr(t.log, "was cut off"));
	turn();
	ck_assert_int_eq(t.seen[1].type, CORE_CUT);
	ask(other, "PING\n", "OK\n");
	(void)close(other);
	(void)close(fd);
}

TEST(test_bytes_of_a_user_are_capped)
{
	struct server_config config = configuration();
	char part[10000];
	int greedy[8];
	int fd;

	server_free(t.server);
	config.limits.queued_bytes_per_uid_max = 65536;
	start_with(&config);
	fd = client();
	memset(part, 'x', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	for (int i = 0; i < 8; i++) {
		greedy[i] = client();
		say(greedy[i], part);
	}
	ck_assert_ptr_nonnull(strstr(t.log, "too many bytes queued"));
	ck_assert_uint_eq(server_connections(t.server), 7);
	ask(fd, "PI", "");
	ask(fd, "NG\nPING\nPI", "OK\nOK\n");
	for (int i = 0; i < 8; i++)
		(void)close(greedy[i]);
	(void)close(fd);
}

/* It asks and asks and reads nothing: it is not read from any more, and not
 * cut off, for it may only be slow; and its end is noticed all the same. */
TEST(test_requests_wait_until_answers_are_read)
{
	static const char help[] = "HELP\nHELP\nHELP\nHELP\nHELP\nHELP\n";
	int fd = client();
	int other = client();
	int stuck = 0;

	while (stuck < 50) {
		ssize_t n = send(fd, help, sizeof(help) - 1, MSG_NOSIGNAL);

		stuck = n < 0 ? stuck + 1 : 0;
		ck_assert(n > 0 || errno == EAGAIN);
		turn();
	}
	ck_assert_str_eq(t.log, "");
	ask(other, "PING\n", "OK\n");
	ck_assert_uint_eq(server_connections(t.server), 2);
	(void)close(fd);
	turn();
	ck_assert_uint_eq(server_connections(t.server), 1);
	(void)close(other);
}

TEST(test_connections_are_capped)
{
	int fds[41];

	for (int i = 0; i < 41; i++)
		fds[i] = client();
	turn();
	ck_assert_uint_eq(server_connections(t.server), 40);
	expect(fds[40], "ERR LIMIT :too many connections; try again later\n");
	expect_end(fds[40]);
	ask(fds[39], "PING\n", "OK\n");
	(void)close(fds[0]);
	turn();
	fds[0] = client();
	ask(fds[0], "PING\n", "OK\n");
	for (int i = 0; i < 40; i++)
		(void)close(fds[i]);
}

TEST(test_no_descriptor_is_left)
{
	struct rlimit limit;
	int first = client();
	int fd = client();
	int probe;

	ask(first, "PING\n", "OK\n");
	ask(fd, "PING\n", "OK\n");
	(void)close(fd);
	turn();
	fd = client();
	probe = dup(fd);
	ck_assert_int_ge(probe, 0);
	(void)close(probe);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)probe;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	turn();
	expect(fd, "ERR LIMIT :too many connections; try again later\n");
	ask(first, "PING\n", "OK\n");
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	expect_end(fd);
	(void)close(first);
}

TEST(test_socket_file)
{
	struct server_config config = configuration();
	struct server *second = NULL;
	struct stat st;
	char text[256];
	int r;

	ck_assert_int_eq(lstat(t.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	r = server_new(t.base, &config, &fake_calls, NULL, &second, text,
	    sizeof(text));
	ck_assert_int_eq(r, DDBLOCK_E_SYSTEM);
	ck_assert_ptr_nonnull(strstr(text, "another daemon serves "));
	ck_assert_int_eq(lstat(t.path, &st), 0);
	server_free(t.server);
	t.server = NULL;
	ck_assert_int_eq(lstat(t.path, &st), -1);
}

TEST(test_stale_socket_file_is_replaced_and_others_are_not)
{
	struct server_config config = configuration();
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct server *second = NULL;
	char text[256];
	char long_path[200];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	server_free(t.server);
	t.server = NULL;
	memcpy(address.sun_path, t.path, strlen(t.path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	(void)close(fd);
	start_with(&config);

	/* Another program put a file in its place: it is not ours to remove. */
	ck_assert_int_eq(unlink(t.path), 0);
	ck_assert_int_eq(mkdir(t.path, 0700), 0);
	server_free(t.server);
	t.server = NULL;
	ck_assert_int_eq(server_new(t.base, &config, &fake_calls, NULL,
	    &second, text, sizeof(text)), DDBLOCK_E_SYSTEM);
	ck_assert_ptr_nonnull(strstr(text, "is not a socket"));
	ck_assert_int_eq(rmdir(t.path), 0);

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	config.path = long_path;
	ck_assert_int_eq(server_new(t.base, &config, &fake_calls, NULL,
	    &second, text, sizeof(text)), DDBLOCK_E_LIMIT);
}

TEST(test_stop_tells_everybody)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = client();
	int late = socket(AF_UNIX, SOCK_STREAM, 0);

	ask(fd, "PING\n", "OK\n");
	server_stop(t.server, 30000);
	turn();
	expect(fd, "!SHUTDOWN in=30s\n");
	ask(fd, "PING\n", "OK\n");
	memcpy(address.sun_path, t.path, strlen(t.path));
	ck_assert_int_eq(connect(late, (struct sockaddr *)&address,
	    sizeof(address)), -1);
	(void)close(late);
	(void)close(fd);
}

TEST(test_many_pipelined_requests)
{
	char *lines = malloc(5 * 10000);
	size_t answers = 0;
	size_t sent = 0;
	int fd = client();

	ck_assert_ptr_nonnull(lines);
	for (int i = 0; i < 10000; i++)
		memcpy(lines + 5 * i, "PING\n", 5);
	while (answers < 10000) {
		ssize_t n = send(fd, lines + sent, 50000 - sent,
		    MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		turn();
		answers += drain_lines(fd);
	}
	ck_assert_uint_eq(answers, 10000);
	free(lines);
	(void)close(fd);
}

/* More is to be kept in it than any lock takes: that is refused, and it is
 * released. */
TEST(test_release_that_brings_too_much)
{
	char request[1024];
	int n = snprintf(request, sizeof(request), "RELEASE id=7");
	int fd = client();

	for (int i = 0; i < 33; i++)
		n += snprintf(request + n, sizeof(request) - (size_t)n,
		    " attr.a%d=1", i);
	(void)snprintf(request + n, sizeof(request) - (size_t)n, "\n");
	t.answer = true;
	ask(fd, request, "ERR LIMIT :these are 33 attributes; a lock has at "
	    "most 32\n");
	ck_assert_uint_eq(t.n_seen, 1);
	ck_assert_int_eq(t.seen[0].request.verb, CORE_RELEASE);
	ck_assert_uint_eq(t.seen[0].request.hold, 7);
	/* The core's action without memory is no refusal. */
	t.refuse = DDBLOCK_E_NOMEM;
	ask(fd, "RELEASE id=7\n", "ERR NOMEM :out of memory\n");
	ask(fd, "RENEW id=7\n", "ERR LIMIT :out of memory\n");
	t.refuse = 0;
	(void)close(fd);
}
