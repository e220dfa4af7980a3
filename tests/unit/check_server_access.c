/*
 * Rules for a unit: what is known of the unit of a process, whether the kernel
 * has a pidfd for the socket or not. This process is in some cgroup, which need
 * not be a unit: it is not in the one that the rules name.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ipc/access.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define SO_PEERPIDFD_OF_KERNEL 77

static bool old_kernel;

/* In the place of libc's. */
int
getsockopt(int fd, int level, int name, void *restrict value,
    socklen_t *restrict length)
{
	if (level == SOL_SOCKET && name == SO_PEERPIDFD_OF_KERNEL &&
	    old_kernel) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return (int)syscall(SYS_getsockopt, fd, level, name, value, length);
}

static const char *unit_named[] = { "some-other.service" };
static uid_t user_named[1];
static struct access_rule rules_named[2] = {
	{ .name = "unit", .file = "test.conf", .line = 3, .units = unit_named,
	    .n_units = 1, .namespaces = 1, .rights = ACCESS_NONE },
	/* Root, too. */
	{ .name = "user", .file = "test.conf", .line = 4, .users = user_named,
	    .n_users = 1, .namespaces = 1, .rights = ACCESS_SEE },
};
static const struct access access_named = { rules_named, 2 };

static void
set_up(void)
{
	setup();
	old_kernel = false;
	user_named[0] = geteuid();
}

TEST_FIXTURE(set_up, teardown)

static void
obey(const struct access *access)
{
	const struct server_config config = configuration();

	server_configure(t.server, &config.limits, (gid_t)-1, false, access);
}

/* It is refused by this rule. */
static void
expect_denied(int fd, const char *rule, const char *verb)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "ERR DENIED :rule \"%s\" (line %d "
	    "of test.conf) does not let uid %ld %s \"k\" in namespace "
	    "\"default\"\n", rule, rule[1] == 'n' ? 3 : 4, (long)geteuid(),
	    verb);
	expect(fd, text);
}

/* Does the core hear of it, or is it refused by the rule for the unit? */
static bool
may_see(int fd)
{
	size_t n = t.n_seen;

	say(fd, "GET k\n");
	if (t.n_seen > n)
		return true;
	expect_denied(fd, "unit", "see");
	return false;
}

TEST_LOOP(test_a_new_connection, 0, 2)
{
	old_kernel = _i == 1;
	obey(&access_named);
	ck_assert(may_see(client()));
}

/* An old kernel is asked when it connects, and then it was not. */
TEST_LOOP(test_a_connection_before_the_rules, 0, 2)
{
	int fd = client();

	old_kernel = _i == 1;
	turn();
	obey(&access_named);
	ck_assert_int_eq(may_see(fd), !old_kernel);
	obey(NULL);
	ck_assert(may_see(fd));
}

/* It may do what other rules let it, whatever its unit is. */
TEST(test_other_rights)
{
	int fd;

	obey(&access_named);
	fd = client();
	say(fd, "TRY k\n");
	expect_denied(fd, "user", "take");
	ask(fd, "RELEASE id=1 best_effort=maybe\n",
	    "ERR BAD_REQUEST :best_effort is yes or no\n");
}

/* Who is there is known to the core by the limits of other rules. */
TEST(test_other_limits)
{
	struct access_rule rules[] = {
		{ .name = "user", .title = "rule", .users = user_named,
		    .n_users = 1, .namespaces = 1, .rights = ACCESS_ALL,
		    .limits = { [ACCESS_LIMIT_REQUEST_RATE] = 2 } },
	};
	const struct access access = { rules, 1 };
	int fd = client();
	size_t n;

	obey(NULL);
	say(fd, "GET k\n");
	n = t.n_seen;
	obey(&access);
	ck_assert_uint_eq(t.n_seen, n + 1);
	ck_assert_int_eq(t.seen[n].type, CORE_LIMITED);
	obey(NULL);
	ck_assert_uint_eq(t.n_seen, n + 2);
	obey(NULL);
	ck_assert_uint_eq(t.n_seen, n + 2);
}

/* Of those that come at once the first have the room that a rule leaves. */
TEST(test_too_many_for_a_rule)
{
	struct access_rule rules[] = {
		{ .name = "user", .users = user_named, .n_users = 1,
		    .namespaces = 1, .rights = ACCESS_ALL,
		    .limits = { [ACCESS_LIMIT_CONNECTIONS] = 2 } },
	};
	const struct access access = { rules, 1 };
	int fds[4];

	obey(&access);
	for (int i = 0; i < 4; i++)
		fds[i] = client();
	turn();
	for (int i = 2; i < 4; i++) {
		expect(fds[i], "ERR LIMIT :too many connections; try again "
		    "later\n");
		expect_end(fds[i]);
	}
	for (int i = 0; i < 2; i++) {
		ask(fds[i], "PING\n", "OK\n");
		(void)close(fds[i]);
	}
	turn();
	obey(NULL);
}
