/*
 * Both sides of a handing over. See replace.h.
 *
 *     new   REPLACE                       a line of the protocol
 *     old   head, with three descriptors; or ERR
 *     old   the connections, many at a time
 *     new   HAVE, or NO and why
 *     old   GOES
 */
#include <config.h>	/* the build's */

#include "daemon/replace.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/keeper.h"
#include "ddblock.h"

#define REPLACE_MAGIC UINT64_C(0x6563616c70656464)	/* ddeplace */
#define REPLACE_BATCH 250		/* the kernel takes 253 */
#define REPLACE_TAKE_MS 5000
#define REPLACE_END_MS 10000
#define REPLACE_HEAD_FDS 3
#define REPLACE_HAVE "HAVE\n"
#define REPLACE_GOES "GOES\n"
#define REPLACE_NO "NO "

struct replace_head {
	uint64_t magic;
	uint32_t version;	/* of the journal */
	int32_t pid;
	uint64_t n_connections;
};

static int
replace_fail(char *text, size_t size, const char *what, int error)
{
	(void)snprintf(text, size, "%s%s%s", what, error == 0 ? "" : ": ",
	    error == 0 ? "" : strerror(error));
	return DDBLOCK_E_SYSTEM;
}

/* False: not until then. */
static bool
replace_wait(int fd, short events, uint64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now_ms;
	int n;

	do {
		now_ms = clock_boot_ms();
		n = now_ms >= until_ms ? 0 :
		    poll(&p, 1, (int)(until_ms - now_ms));
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* ---- messages ----------------------------------------------------------- */

static int
replace_send(int fd, const void *data, size_t length, const int *fds, size_t n,
    uint64_t until_ms)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(REPLACE_BATCH * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = {
		.iov_base = (void *)(uintptr_t)data, .iov_len = length,
	};
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (n > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	}
	for (;;) {
		sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent == (ssize_t)length)
			return 0;
		if (sent >= 0)
			return EPROTO;	/* so short a message is not cut */
		if (errno == EINTR)
			continue;
		/* Too many are under way: the other one has to take some. */
		if (errno == ETOOMANYREFS && clock_boot_ms() < until_ms)
			(void)poll(NULL, 0, 1);
		else if (errno != EAGAIN)
			return errno;
		else if (!replace_wait(fd, POLLOUT, until_ms))
			return ETIMEDOUT;
	}
}

/* At most so many bytes, and descriptors; @n says how many there is room for,
 * and then how many came. 0: the end. */
static ssize_t
replace_receive(int fd, void *data, size_t length, int *fds, size_t *n,
    uint64_t until_ms)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(REPLACE_BATCH * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = data, .iov_len = length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(*n * sizeof(int)) };
	struct cmsghdr *c;
	ssize_t got;

	*n = 0;
	do {
		if (!replace_wait(fd, POLLIN, until_ms)) {
			errno = ETIMEDOUT;
			return -1;
		}
		got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got <= 0)
		return got;
	c = CMSG_FIRSTHDR(&message);
	if (fds != NULL && c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS) {
		*n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *n * sizeof(int));
	}
	return got;
}

/* ---- the old process ---------------------------------------------------- */

static int
replace_give_all(int fd, const struct replace_parts *p, uint64_t until_ms)
{
	const struct replace_head head = {
		.magic = REPLACE_MAGIC, .version = JOURNAL_VERSION,
		.pid = getpid(), .n_connections = p->n_connections,
	};
	const int fds[REPLACE_HEAD_FDS] = { p->listening, p->memory,
		p->journal };
	int error = replace_send(fd, &head, sizeof(head), fds,
	    REPLACE_HEAD_FDS, until_ms);

	for (size_t i = 0; error == 0 && i < p->n_connections;
	    i += REPLACE_BATCH) {
		const size_t left = p->n_connections - i;

		error = replace_send(fd, "", 1, p->connections + i,
		    left < REPLACE_BATCH ? left : REPLACE_BATCH, until_ms);
	}
	return error;
}

int
replace_give(int fd, const struct replace_parts *p, char *text, size_t size)
{
	const uint64_t until_ms = clock_boot_ms() + p->patience_ms;
	char answer[REPLACE_TEXT_MAX];
	size_t none = 0;
	ssize_t n;
	int error = replace_give_all(fd, p, until_ms);

	if (error != 0)
		return replace_fail(text, size, "it takes nothing", error);
	n = replace_receive(fd, answer, sizeof(answer) - 1, NULL, &none,
	    until_ms);
	if (n < 0)
		return replace_fail(text, size, "it does not answer", errno);
	answer[n] = '\0';
	if (strcmp(answer, REPLACE_HAVE) != 0) {
		answer[strcspn(answer, "\n")] = '\0';
		return replace_fail(text, size, n == 0 ? "it ended" :
		    strncmp(answer, REPLACE_NO, strlen(REPLACE_NO)) == 0 ?
		    answer + strlen(REPLACE_NO) : "it says something else", 0);
	}
	error = replace_send(fd, REPLACE_GOES, strlen(REPLACE_GOES), NULL, 0,
	    until_ms);
	return error == 0 ? 0 :
	    replace_fail(text, size, "it does not wait any more", error);
}

/* ---- the new process ---------------------------------------------------- */

static int
replace_connect(const char *path, int *ret, char *text, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int fd;

	*ret = -1;
	if (strlen(path) >= sizeof(address.sun_path)) {
		(void)snprintf(text, size, "%.*s: the path is too long",
		    PATH_MAX, path);
		return DDBLOCK_E_BAD_REQUEST;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return replace_fail(text, size, "a socket", errno);
	*ret = fd;
	if (connect(fd, (const struct sockaddr *)&address,
	    sizeof(address)) < 0) {
		(void)snprintf(text, size, "no daemon serves %s (%s); start "
		    "without --replace", path, strerror(errno));
		return DDBLOCK_E_UNREACHABLE;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return replace_fail(text, size, path, errno);
	if (peer.uid == geteuid())
		return 0;
	(void)snprintf(text, size, "the daemon that serves %s runs as the user "
	    "%ju; start this one as that user", path, (uintmax_t)peer.uid);
	return DDBLOCK_E_DENIED;
}

/* "ERR CODE :why" */
static int
replace_refused(const char *line, char *text, size_t size)
{
	const char *word = line + strlen("ERR ");
	const size_t length = strcspn(word, " \n");
	const int code = error_from_word(word, length);
	const char *why = strchr(word, ':');

	(void)snprintf(text, size, "the daemon that runs goes on: %.*s",
	    (int)strcspn(why == NULL ? word : why + 1, "\n"),
	    why == NULL ? word : why + 1);
	return code < 0 ? code : DDBLOCK_E_SYSTEM;
}

static int
replace_take_head(int fd, struct activation *a, struct replace_head *head,
    uint64_t until_ms, char *text, size_t size)
{
	char answer[REPLACE_TEXT_MAX];
	int fds[REPLACE_BATCH];
	size_t n = REPLACE_BATCH;
	ssize_t got = replace_receive(fd, answer, sizeof(*head), fds, &n,
	    until_ms);

	if (n == REPLACE_HEAD_FDS) {
		a->listening = fds[0];
		a->memory = fds[1];
		a->journal = fds[2];
	}
	if (got < 0)
		return replace_fail(text, size, "the daemon that runs does not "
		    "answer", errno);
	if (n == REPLACE_HEAD_FDS && got == (ssize_t)sizeof(*head)) {
		memcpy(head, answer, sizeof(*head));
		if (head->magic == REPLACE_MAGIC)
			return 0;
	}
	if (n == 0 && got > 4 && memcmp(answer, "ERR ", 4) == 0) {
		ssize_t more = recv(fd, answer + got,
		    sizeof(answer) - 1 - (size_t)got, MSG_DONTWAIT);

		answer[got + (more < 0 ? 0 : more)] = '\0';
		return replace_refused(answer, text, size);
	}
	return replace_fail(text, size, "the daemon that runs says something "
	    "else", 0);
}

static int
replace_take_connections(int fd, struct activation *a, uint64_t count,
    uint64_t until_ms, char *text, size_t size)
{
	char byte;

	/* More than a process can have is no number of connections. */
	if (count <= INT_MAX - REPLACE_BATCH)
		a->connections = calloc((size_t)count + REPLACE_BATCH,
		    sizeof(int));
	if (a->connections == NULL)
		return replace_fail(text, size, "connections", ENOMEM);
	while (a->n_connections < count) {
		size_t n = REPLACE_BATCH;
		ssize_t got = replace_receive(fd, &byte, 1,
		    a->connections + a->n_connections, &n, until_ms);

		a->n_connections += n;
		if (got < 0)
			return replace_fail(text, size, "the daemon that runs "
			    "does not go on", errno);
		if (got == 0 || n == 0)
			return replace_fail(text, size, "the daemon that runs "
			    "passes fewer connections than it has", 0);
	}
	return 0;
}

/* It says GOES in time, or it goes on. */
static int
replace_take_word(int fd, char *text, size_t size)
{
	const uint64_t until_ms = clock_boot_ms() + REPLACE_TAKE_MS;
	char word[sizeof(REPLACE_GOES)] = "";
	size_t none = 0;
	ssize_t n = replace_receive(fd, word, strlen(REPLACE_GOES), NULL,
	    &none, until_ms);

	/* From here on it cannot say it. Did it just before? */
	(void)shutdown(fd, SHUT_RD);
	if (n < 0)
		n = recv(fd, word, strlen(REPLACE_GOES), MSG_DONTWAIT);
	return n > 0 && strcmp(word, REPLACE_GOES) == 0 ? 0 :
	    replace_fail(text, size, "the daemon that runs does not go", 0);
}

/* It was the last thing that it did, but for ending. */
static void
replace_await_end(int fd, int pidfd)
{
	const uint64_t until_ms = clock_boot_ms() + REPLACE_END_MS;

	if (!replace_wait(pidfd >= 0 ? pidfd : fd,
	    pidfd >= 0 ? POLLIN : POLLRDHUP, until_ms))
		log_write(LOG_WARNING, NULL, "the daemon before this one does "
		    "not end");
}

static int
replace_take_all(int fd, const struct config *config, struct activation *a,
    int *ret_pidfd, char *text, size_t size)
{
	static const char ask[] = "REPLACE\n";
	const uint64_t until_ms = clock_boot_ms() + REPLACE_TAKE_MS;
	struct replace_head head;
	int r, error = replace_send(fd, ask, strlen(ask), NULL, 0, until_ms);

	if (error != 0)
		return replace_fail(text, size, "the daemon that runs takes "
		    "nothing", error);
	r = replace_take_head(fd, a, &head, until_ms, text, size);
	if (r < 0)
		return r;
	*ret_pidfd = (int)syscall(SYS_pidfd_open, (pid_t)head.pid, 0);
	if (head.n_connections > UINT32_MAX)
		return replace_fail(text, size, "connections", ENOMEM);
	r = replace_take_connections(fd, a, head.n_connections, until_ms,
	    text, size);
	return r < 0 ? r : keeper_suits(config, a->journal, text, size);
}

int
replace_take(const struct config *config, struct activation *ret, char *text,
    size_t size)
{
	char no[REPLACE_TEXT_MAX];
	int fd, pidfd = -1;
	int r = replace_connect(config->daemon.socket, &fd, text, size);

	*ret = (struct activation){ .listening = -1, .memory = -1,
		.journal = -1, .is_handed_over = true };
	if (r == 0)
		r = replace_take_all(fd, config, ret, &pidfd, text, size);
	if (r == 0)
		r = replace_send(fd, REPLACE_HAVE, strlen(REPLACE_HAVE), NULL,
		    0, 0) == 0 ? replace_take_word(fd, text, size) :
		    replace_fail(text, size, "the daemon that runs does not "
		    "wait any more", 0);
	else if (fd >= 0) {
		(void)snprintf(no, sizeof(no), REPLACE_NO "%.400s\n", text);
		(void)replace_send(fd, no, strlen(no), NULL, 0, 0);
	}
	if (r == 0)
		replace_await_end(fd, pidfd);
	else if (r != DDBLOCK_E_DENIED)
		r = DDBLOCK_E_UNREACHABLE;	/* whatever it was */
	if (pidfd >= 0)
		(void)close(pidfd);
	if (fd >= 0)
		(void)close(fd);
	return r;
}
