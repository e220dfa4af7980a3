/*
 * The helper that holds a lock for a process. It is a process of its own, in a
 * session of its own, because a lock needs a connection, and its client tells
 * the process of a loss even when the daemon is stopped or dead. The hold ends
 * with the process: it continues when the helper is killed. `ddblock release`
 * has the daemon end it, and then nothing is left to do here.
 */
#include <config.h>

#include "cli/hold/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/acquire/outer.h"
#include "cli/acquire/wait.h"
#include "cli/base/pidfd.h"
#include "cli/base/say.h"
#include "cli/base/signals.h"
#include "cli/hold/left.h"
#include "common/ignored.h"
#include "ipc/codec.h"

struct holder_state {
	struct holder *holder;
	struct signals signals;
	int report_fd;
	struct ddblock *connection;
	uint64_t id;
	bool lost;
	bool released;		/* on purpose: the process is not told */
	struct left left;	/* when its connection has ended */
};

void
holder_name(pid_t pid, char ret[HOLDER_NAME_SIZE])
{
	(void)snprintf(ret, HOLDER_NAME_SIZE, HOLDER_NAME "%ld", (long)pid);
}

bool
holder_parse_pid(const char *text, pid_t *ret)
{
	uint64_t number;

	if (!codec_parse_number(text, strlen(text), &number) || number == 0 ||
	    number > INT32_MAX)
		return false;
	*ret = (pid_t)number;
	return true;
}

static bool
holder_ready(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&one, 1, 0) > 0;
}

/* While waiting: is the lock still wanted? */
static int
holder_on_interrupt(void *arg)
{
	struct holder_state *s = arg;
	int number = signals_next(&s->signals);

	if (number == SIGTERM || number == SIGINT || number == SIGHUP ||
	    number == SIGQUIT)
		return CLI_SIGNAL + number;
	if (holder_ready(s->report_fd))
		return CLI_SIGNAL + SIGPIPE; /* no reader any more */
	if (holder_ready(s->holder->pid_fd)) {
		cli_say("%s: process %ld has ended", s->holder->request.name,
		    (long)s->holder->pid);
		return 1;
	}
	return 0;
}

/* One descriptor for every event that may end the waiting. */
static int
holder_watch(const struct holder_state *s)
{
	const int fds[] = { s->signals.fd, s->report_fd, s->holder->pid_fd };
	int watch = epoll_create1(EPOLL_CLOEXEC);

	for (size_t i = 0; watch >= 0 && i < sizeof(fds) / sizeof(int); i++) {
		struct epoll_event event = { .events = EPOLLIN };

		if (epoll_ctl(watch, EPOLL_CTL_ADD, fds[i], &event) < 0) {
			(void)close(watch);
			return -1;
		}
	}
	return watch;
}

/* Let go of the terminal and of the caller's directory. */
static void
holder_detach(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	say_done();
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		(void)close(null);
	}
	ignored(chdir("/"));
}

static void
holder_on_event(void *arg, struct ddblock *d,
    const struct ddblock_event *event)
{
	struct holder_state *s = arg;

	left_on_event(&s->left, event);
	if (event->kind != DDBLOCK_EVENT_LOST || event->id != s->id)
		return;
	s->lost = true;
	s->released = event->loss == DDBLOCK_LOSS_RELEASED;
	if (event->loss == DDBLOCK_LOSS_DISCONNECTED)
		left_begin(&s->left, d, s->id, event);
}

/* Is it still the process's, as far as we know? */
static bool
holder_has(struct holder_state *s, bool connected)
{
	if (s->left.begun)
		return connected && left_go_on(&s->left);
	return !s->lost;
}

/* With a reply: a program that waits for our end finds the lock free. The
 * daemon sees the end of the process, too. */
static int
holder_release(struct holder_state *s)
{
	int code;

	if (!s->left.begun)
		code = ddblock_release(s->connection, s->id);
	else if (s->left.known)
		code = ddblock_release_for_process(s->connection, s->id);
	else
		code = holder_ready(s->holder->pid_fd) ? 0 :
		    DDBLOCK_E_NO_DAEMON;
	return code == 0 || code == DDBLOCK_E_NO_SUCH_LOCK ? 0 : CLI_FAILED;
}

/* The release is a sign that the process was told: the daemon need not tell
 * it. */
static int
holder_lost(struct holder_state *s)
{
	if (s->released)
		return 0;
	if (s->holder->lost_signal != 0)
		(void)pidfd_signal(s->holder->pid_fd, s->holder->lost_signal);
	(void)ddblock_release(s->connection, s->id);
	return CLI_LOST;
}

/* Hold it until the process ends, or it is released or lost. */
static int
holder_hold(struct holder_state *s)
{
	s->left.ns = s->holder->cli->ns;
	s->left.key = s->holder->request.keys[0];
	for (;;) {
		struct pollfd fds[3] = {
			{ .fd = ddblock_fd(s->connection), .events = POLLIN },
			{ .fd = s->signals.fd, .events = POLLIN },
			{ .fd = s->holder->pid_fd, .events = POLLIN },
		};
		int number = 0;

		if (poll(fds, 3, s->left.begun ? left_timeout(&s->left) :
		    -1) < 0 && errno != EINTR)
			break;
		if (!holder_has(s, ddblock_dispatch(s->connection) == 0))
			return holder_lost(s);
		if (fds[1].revents != 0)
			number = signals_next(&s->signals);
		if (fds[2].revents != 0 || number == SIGTERM ||
		    number == SIGINT)
			break;
	}
	return holder_release(s);
}

/* The process does not know of the lock, and would hold it until its end. */
static int
holder_give_back(const struct holder_state *s, int status)
{
	(void)ddblock_release(s->connection, s->id);
	return status;
}

/* Write all of it, which is less than an empty pipe takes, or nothing. */
static bool
holder_say(const struct holder_state *s, struct holder_report *report)
{
	char *holds = (char *)(uintptr_t)outer_holds();
	const struct iovec parts[] = {
		{ .iov_base = report, .iov_len = sizeof(*report) },
		{ .iov_base = holds, .iov_len = strlen(holds) },
	};

	return writev(s->report_fd, parts, 2) ==
	    (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

static int
holder_report(struct holder_state *s)
{
	const struct lock_request *request = &s->holder->request;
	struct holder_report report = { .id = s->id };

	for (size_t i = 0; i < request->n_keys; i++)
		report.tokens[i] = ddblock_token_of(s->connection, s->id,
		    request->keys[i]);
	ddblock_on_event(s->connection, holder_on_event, s);
	if (ddblock_remaining_ms(s->connection, s->id) == 0) {
		cli_say("%s: lost at once", s->holder->request.name);
		return holder_give_back(s, CLI_LOST);
	}
	if (!outer_add(s->connection, s->id, request)) {
		cli_say("%s: cannot note the hold: %s", request->name,
		    strerror(errno));
		return holder_give_back(s, CLI_FAILED);
	}
	if (!holder_say(s, &report))
		return holder_give_back(s, CLI_SIGNAL + SIGPIPE);
	holder_detach();
	(void)close(s->report_fd);
	return holder_hold(s);
}

int
holder_run(struct holder *holder, int report_fd)
{
	struct holder_state s = { .holder = holder, .report_fd = report_fd };
	struct lock_request *request = &holder->request;
	char name[HOLDER_NAME_SIZE];
	int status;

	(void)setsid();
	say_nonblocking();
	if (signals_init(&s.signals) < 0 ||
	    (request->interrupt_fd = holder_watch(&s)) < 0) {
		cli_say("cannot watch process %ld: %s", (long)holder->pid,
		    strerror(errno));
		return CLI_FAILED;
	}
	holder_name(holder->pid, name);
	request->on_interrupt = holder_on_interrupt;
	request->arg = &s;
	status = wait_open(holder->cli, name, request, &s.connection);
	if (status != 0)
		return status;
	request->for_process = true;
	request->options.process_fd = holder->pid_fd;
	request->options.loss_signal =
	    holder->lost_signal == 0 ? -1 : holder->lost_signal;
	status = wait_for_lock(holder->cli, s.connection, request, &s.id);
	(void)close(request->interrupt_fd);
	if (s.id != 0)
		status = holder_report(&s);
	ddblock_close(s.connection);
	return status;
}
