/*
 * Which root is an administrator: the one whose process is in the daemon's pid
 * namespace, whether the kernel has a pidfd for the socket or not.
 */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define SO_PEERPIDFD_OF_KERNEL 77

static bool old_kernel;
static bool asked_for_pidfd;

/* In the place of libc's. */
int
getsockopt(int fd, int level, int name, void *restrict value,
    socklen_t *restrict length)
{
	if (level == SOL_SOCKET && name == SO_PEERPIDFD_OF_KERNEL) {
		asked_for_pidfd = true;
		if (old_kernel) {
			errno = ENOPROTOOPT;
			return -1;
		}
	}
	return (int)syscall(SYS_getsockopt, fd, level, name, value, length);
}

__attribute__((constructor)) static void
needs_root(void)
{
	if (geteuid() == 0)
		return;
	(void)fprintf(stderr, "needs root, for a pid namespace\n");
	_exit(77);
}

static void
set_up(void)
{
	setup();
	old_kernel = asked_for_pidfd = false;
}

TEST_FIXTURE(set_up, teardown)

/* It asks, and ends when it has an answer: only what is refused gets one. */
static void
ask_and_end(void)
{
	static const char line[] = "BREAK k token=1 reason=a\n";
	int fd = client();
	struct pollfd one = { .fd = fd, .events = POLLIN };

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 ||
	    poll(&one, 1, -1) < 0)
		_exit(1);
	_exit(0);
}

/* A child whose own child is alone in a pid namespace, if it is @apart. */
static pid_t
start_client(bool apart)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	if (apart && unshare(CLONE_NEWPID) < 0)
		_exit(1);
	pid = apart ? fork() : 0;
	if (pid == 0)
		ask_and_end();
	_exit(pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

/* Has the core heard of it since? */
static bool
has_broken(size_t n)
{
	for (; n < t.n_seen; n++) {
		if (t.seen[n].type == CORE_REQUEST &&
		    t.seen[n].request.verb == CORE_BREAK)
			return true;
	}
	return false;
}

/* Is it heard by the core, or refused? */
static bool
may_break(bool apart)
{
	size_t n = t.n_seen;
	pid_t pid = start_client(apart);
	bool ended = false;
	int status;

	while (!ended && !has_broken(n)) {
		turn();
		ended = waitpid(pid, &status, WNOHANG) == pid;
	}
	if (ended) {
		ck_assert_int_eq(status, 0);
		return false;
	}
	/* Its own child ends with its connection, when the server does. */
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	turn();
	return true;
}

TEST(test_the_kernel_has_a_pidfd)
{
	ck_assert(may_break(false));
	ck_assert(!may_break(true));
	ck_assert(asked_for_pidfd);
}

TEST(test_it_has_none)
{
	old_kernel = true;
	ck_assert(may_break(false));
	ck_assert(!may_break(true));
	ck_assert(asked_for_pidfd);
}

/* As the setting says, from the next request on. */
TEST(test_any)
{
	const struct server_config config = configuration();

	server_configure(t.server, &config.limits, (gid_t)-1, true,
	    NULL);
	ck_assert(may_break(true));
	server_configure(t.server, &config.limits, (gid_t)-1, false,
	    NULL);
	ck_assert(!may_break(true));
}
