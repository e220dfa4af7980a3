/*
 * Connections that outlive the server's process: it is killed before each
 * single store into the journal, once and twice, and a client of it sees each
 * of its requests answered exactly once, in whole lines.
 *
 * This process is the service manager and both clients; each server is a child
 * of it. The core is a script, whose state is what the children share.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/journal.h"
#include "ipc/server.h"
#include "server_fixture.h"
#include "test.h"

#define BLOCK_SIZE (1024 * 1024)
#define KEPT_MAX 16
#define CLIENTS 2
#define OUTPUT_MAX (512 * 1024)
#define WAITERS_MAX 8

/* What outlives each child, as files and the service manager do. */
static struct shared {
	_Alignas(64) uint8_t blocks[2][BLOCK_SIZE];
	int block;		/* that counts; -1: none does */
	long left;		/* stores until the child is killed; 0: never */
} *shared;

static struct manager {
	int listening;
	int clients[CLIENTS];
	int control;		/* to the child */
	int memory;
	int kept[KEPT_MAX];
	size_t n_kept;
	pid_t child;
	bool early;	/* a client ended that had not been heard yet */
	long deaths;
	char output[CLIENTS][OUTPUT_MAX];
	size_t length[CLIENTS];
} m;

/* ---- the child: a server, and a core that answers all but "wait" -------- */

static struct journal journal;
static int control;
static struct core_request waiters[WAITERS_MAX];
static size_t n_waiters;

static void
child_before_store(void *arg)
{
	(void)arg;
	if (shared->left > 0 && --shared->left == 0)
		(void)kill(getpid(), SIGKILL);
}

static void
child_answer(const struct core_request *q)
{
	perform_reply(q, 0);
}

/* "wait" is granted by the next RELEASE, in the order of asking. */
static int
child_step(void *arg, struct core_event *event)
{
	const struct core_request *q = &event->request;

	(void)arg;
	if (event->type == CORE_REQUEST && q->verb == CORE_ACQUIRE &&
	    q->key.length == 4 && memcmp(q->key.bytes, "wait", 4) == 0) {
		ck_assert_uint_lt(n_waiters, WAITERS_MAX);
		waiters[n_waiters++] = *q;
	} else if (event->type == CORE_REQUEST) {
		child_answer(q);
		if (q->verb == CORE_RELEASE) {
			for (size_t i = 0; i < n_waiters; i++)
				child_answer(&waiters[i]);
			n_waiters = 0;
		}
	}
	server_save(t.server);
	journal_commit(&journal);
	return 0;
}

static uint64_t
child_keep(void *arg, int fd, bool is_memory)
{
	static uint64_t number;
	char kind = is_memory ? 'm' : 'c';
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = { .bytes = { 0 } };
	struct iovec part = { &kind, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = space.bytes,
		.msg_controllen = sizeof(space.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	(void)arg;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	ck_assert_int_eq(sendmsg(control, &message, 0), 1);
	return ++number;
}

static bool
child_is_kept(void *arg, uint64_t number)
{
	(void)arg;
	return number > 0;
}

static bool
child_grow(void *arg)
{
	(void)arg;
	return false;
}

static void
child_inherit(void)
{
	struct server_legacy legacy = {
		.memory = m.memory, .connections = m.kept,
		.n_connections = m.n_kept,
	};
	const int next = shared->block == 0 ? 1 : 0;
	uint32_t n;

	journal_format(&journal, shared->blocks[next], BLOCK_SIZE);
	journal.before_store = child_before_store;
	ck_assert_int_eq(server_journal(t.server, &journal), 0);
	if (shared->block >= 0 && journal_state(shared->blocks[shared->block],
	    BLOCK_SIZE) == JOURNAL_GOOD) {
		legacy.journal = shared->blocks[shared->block];
		legacy.journal_size = BLOCK_SIZE;
	}
	ck_assert_int_eq(server_inherit(t.server, &legacy, &n), 0);
	journal_commit(&journal);
	shared->block = next;
	for (size_t i = 0; i < m.n_kept; i++) {
		if (m.kept[i] >= 0)
			(void)shutdown(m.kept[i], SHUT_RDWR);
	}
	server_go_on(t.server);
}

/* Work until there is nothing to do, say so, and wait for more. */
static _Noreturn void
child_run(void)
{
	struct server_calls calls = fake_calls;
	struct server_config config = configuration();
	char text[256], go;

	calls.step = child_step;
	calls.keep = child_keep;
	calls.is_kept = child_is_kept;
	calls.grow = child_grow;
	config.fd = m.listening;
	t.base = event_base_new();
	t.core = (struct core){ .holder = UINT64_MAX };
	ck_assert_int_eq(server_new(t.base, &config, &calls, NULL, &t.server,
	    text, sizeof(text)), 0);
	child_inherit();
	for (;;) {
		turn();
		ck_assert_int_eq(send(control, "i", 1, 0), 1);
		if (recv(control, &go, 1, 0) != 1)
			_exit(0);
	}
}

/* ---- the manager -------------------------------------------------------- */

static void
manager_start(void)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	m.child = fork();
	ck_assert_int_ge(m.child, 0);
	if (m.child == 0) {
		for (int i = 0; i < CLIENTS; i++)
			(void)close(m.clients[i]);
		(void)close(pair[0]);
		control = pair[1];
		child_run();
	}
	(void)close(pair[1]);
	m.control = pair[0];
}

static void
manager_keep(char kind, int fd)
{
	if (kind == 'm') {
		m.memory = fd;
		return;
	}
	ck_assert_uint_lt(m.n_kept, KEPT_MAX);
	m.kept[m.n_kept++] = fd;
}

/* False: the child is dead. */
static bool
manager_hear(char *ret_kind)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space;
	struct iovec part = { ret_kind, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = space.bytes,
		.msg_controllen = sizeof(space.bytes),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(m.control, &message, 0) <= 0)
		return false;
	c = CMSG_FIRSTHDR(&message);
	if (c != NULL) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		manager_keep(*ret_kind, fd);
	}
	return true;
}

/* Until it has nothing to do; one that dies is followed by another. */
static void
manager_wait(long left_then)
{
	char kind = 0;
	int status;

	while (kind != 'i') {
		if (manager_hear(&kind))
			continue;
		ck_assert_int_eq(waitpid(m.child, &status, 0), m.child);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		(void)close(m.control);
		m.deaths++;
		shared->left = left_then;
		left_then = 0;
		manager_start();
	}
	for (int i = 0; i < CLIENTS; i++) {
		bool ended;
		ssize_t n;

		while ((n = recv(m.clients[i], m.output[i] + m.length[i],
		    OUTPUT_MAX - 1 - m.length[i], MSG_DONTWAIT)) > 0)
			m.length[i] += (size_t)n;
		/* It is kept from its first line on. */
		ended = n == 0 || errno != EAGAIN;
		m.early = m.early || (ended && m.length[i] == 0);
		ck_assert_msg(!ended || m.early,
		    "client %d: the connection ended after %s", i,
		    m.output[i]);
		m.output[i][m.length[i]] = '\0';
	}
}

static void
manager_say(int who, const char *text, long left_then)
{
	const size_t length = strlen(text);

	if (m.early)
		return;
	ck_assert_int_eq(send(m.clients[who], text, length, MSG_NOSIGNAL),
	    (ssize_t)length);
	(void)send(m.control, "g", 1, MSG_NOSIGNAL);
	manager_wait(left_then);
}

static void
manager_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	m.listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    t.path);
	ck_assert_int_eq(bind(m.listening, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	ck_assert_int_eq(listen(m.listening, 8), 0);
	for (int i = 0; i < CLIENTS; i++) {
		m.clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(m.clients[i],
		    (struct sockaddr *)&address, sizeof(address)), 0);
	}
	m.memory = -1;
	shared->block = -1;
}

static void
manager_close(void)
{
	(void)kill(m.child, SIGKILL);
	(void)waitpid(m.child, NULL, 0);
	(void)close(m.control);
	(void)close(m.listening);
	for (int i = 0; i < CLIENTS; i++)
		(void)close(m.clients[i]);
	for (size_t i = 0; i < m.n_kept; i++)
		(void)close(m.kept[i]);
	if (m.memory >= 0)
		(void)close(m.memory);
	(void)unlink(t.path);
	memset(&m, 0, sizeof(m));
}

/* ---- the tests ---------------------------------------------------------- */

static void
begin(void)
{
	memset(&t, 0, sizeof(t));
	(void)snprintf(t.directory, sizeof(t.directory),
	    "/tmp/check_server.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(t.directory));
	(void)snprintf(t.path, sizeof(t.path), "%s/sock", t.directory);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
}

static void
end(void)
{
	(void)munmap(shared, sizeof(*shared));
	(void)rmdir(t.directory);
}

TEST_FIXTURE(begin, end)

static size_t
times(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what)) != NULL) {
		n++;
		text++;
	}
	return n;
}

/* Every line is whole, every tag has one answer and each client one
 * "!RESTARTED" for each death that it saw. */
static void
expect_answers(int who, int from, int to)
{
	static const char restarted[] = "!RESTARTED version=1.2.3\n";
	char tag[16];

	for (int i = from; i <= to; i++) {
		(void)snprintf(tag, sizeof(tag), "#%d OK", i);
		ck_assert_msg(times(m.output[who], tag) == 1,
		    "client %d has %zu answers to #%d:\n%s", who,
		    times(m.output[who], tag), i, m.output[who]);
	}
	for (const char *line = m.output[who]; *line != '\0';
	    line = strchr(line, '\n') + 1)
		ck_assert_msg(strchr(line, '\n') != NULL &&
		    (line[0] == '#' || strncmp(line, restarted,
		    strlen(restarted)) == 0), "client %d: %s", who, line);
}

/* Sessions of which a client was not kept yet. */
static long n_early;

TEST_NOT_EMULATED("qemu knows no SO_COOKIE")

/* False: it was not killed. */
static bool
session(long left, long left_then)
{
	manager_open();
	shared->left = left;
	manager_start();
	manager_wait(left_then);
	manager_say(0, "#1 HELLO restarted=yes\n#2 PING\n#3 TR", left_then);
	manager_say(1, "#1 PING\n#2 ACQUIRE wait\n#3 PING\n#4 ACQ", left_then);
	manager_say(0, "Y k%20x\n#4 ACQUIRE wait wait=1h\n#5", left_then);
	manager_say(1, "UIRE wait\n#5 RENEW id=7\n", left_then);
	manager_say(0, " PING\n#6 PING\n", left_then);
	manager_say(1, "#6 RELEASE id=7\n#7 PING\n", left_then);
	manager_say(0, "#7 PING\n#8 RELEASE id=7\n", left_then);
	n_early += m.early;
	if (!m.early) {
		expect_answers(0, 1, 8);
		expect_answers(1, 1, 7);
	}
	left = m.deaths;
	manager_close();
	return left > 0;
}

TEST(test_killed_before_each_store)
{
	long n = 1;

	while (session(n, 0))
		n++;
	ck_assert_int_gt(n, 100);
	ck_assert_int_gt(n / 3, n_early);
}

TEST(test_killed_twice)
{
	for (long n = 1; session(n, n * 7 % 61 + 1); n += 3)
		;
}

TEST(test_not_killed)
{
	ck_assert(!session(1000000, 0));
}
