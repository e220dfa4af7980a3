/*
 * The peer of a socket, and ownership: names, numbers, descriptors, the
 * socket's file, and releases of a client that does not own the hold.
 */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/contents.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define FDS_MAX 256

TEST_FIXTURE(setup, teardown)

/* People look at names with terminals. */
TEST(test_names_are_harmless)
{
	const struct passwd *user = getpwuid(getuid());
	char owner[128];
	int fd = client();

	say(fd, "HELLO proto=1 name=a%1b[2J%7f%0ab\n");
	ck_assert_uint_gt(drain_lines(fd), 0);
	say(fd, "TRY k\n");
	(void)snprintf(owner, sizeof(owner), "h/a?[2J??b:%ld %s",
	    (long)getpid(), user == NULL ? "uid " : user->pw_name);
	ck_assert_int_eq(strncmp(t.seen[t.n_seen - 1].owner, owner,
	    strlen(owner)), 0);
	(void)close(fd);
}

/* A number of a connection is not used again, though its place is. */
TEST(test_answers_of_another)
{
	struct core_request asked;
	int fd = client();

	say(fd, "TRY k\n");
	asked = t.seen[t.n_seen - 1].request;
	(void)close(fd);
	turn();
	/* As many as there are slots at first: one of them has that slot. */
	for (int i = 0; i < 64; i++) {
		fd = client();
		say(fd, "TRY k\n");
		perform_reply(&asked, 0);
		turn();
		expect_nothing(fd);
		(void)close(fd);
		turn();
	}
}

/* A program that the daemon starts has no client's connection: it would keep
 * that client's locks. */
TEST(test_nothing_is_inherited)
{
	bool open_before[FDS_MAX];
	int fd;

	for (int i = 0; i < FDS_MAX; i++)
		open_before[i] = fcntl(i, F_GETFD) >= 0;
	fd = client();
	turn();
	for (int i = 0; i < FDS_MAX; i++) {
		int flags = fcntl(i, F_GETFD);

		ck_assert(open_before[i] || i == fd || flags < 0 ||
		    (flags & FD_CLOEXEC) != 0);
	}
	(void)close(fd);
}

/* The next daemon has made its own already. */
TEST(test_socket_of_another_is_left)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char old[128];
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path, t.path, strlen(t.path));
	(void)snprintf(old, sizeof(old), "%s.old", t.path);
	ck_assert_int_eq(rename(t.path, old), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	server_free(t.server);
	t.server = NULL;
	ck_assert_int_eq(lstat(t.path, &st), 0);
	ck_assert_int_eq(unlink(old), 0);
	(void)close(fd);
}

/* Too much to leave there: the lock is given back all the same. */
TEST(test_release_with_too_much)
{
	char line[2000] = "RELEASE id=7";
	const struct seen *seen;
	int fd = client();

	for (int i = 0; i <= ATTRIBUTES_MAX; i++)
		(void)snprintf(line + strlen(line), sizeof(line) -
		    strlen(line), " attr.a%d=x", i);
	(void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
	    "\n");
	say(fd, line);
	ck_assert_uint_eq(drain_lines(fd), 1);
	seen = &t.seen[t.n_seen - 1];
	ck_assert_int_eq(seen->type, CORE_REQUEST);
	ck_assert_int_eq(seen->request.verb, CORE_RELEASE);
	ck_assert_uint_eq(seen->request.hold, 7);
	(void)close(fd);
}
