/*
 * Watches a command that runs under a lock. Why it cannot run without the lock:
 *
 * - The library says LOST at the hold's deadline by this host's clock, also
 *   when the daemon is stopped; half a margin before that when the connection
 *   broke and there is no other; and at once when the daemon does not know the
 *   hold any more. No other holder can have the lock before one margin after
 *   the deadline.
 * - At LOST the whole group gets SIGTERM, and so do its descendants in other
 *   groups and sessions; half a margin after the deadline, SIGKILL, by a timer
 *   on CLOCK_BOOTTIME, which a suspend does not delay. The group comes first: a
 *   signal to it is one call, under any load.
 * - When the command ends by itself, the processes that it left in its session
 *   are ended before the lock is released.
 * - When the process in front is killed, all is killed.
 */
#include <config.h>

#include "cli/hold/supervise.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"

#define SUPERVISE_GRACE_MS 2000	/* for processes it left behind */
#define SUPERVISE_TICK_MS 50	/* for descendants, no children */
#define SUPERVISE_KILL_MS 10	/* for processes that multiply */

static bool
supervise_all_sessions(const struct supervise *s)
{
	return s->lost || s->front_died;
}

static bool
supervise_left(const struct supervise *s)
{
	return child_left(&s->child, supervise_all_sessions(s));
}

/* Repeatedly, until no process is left. */
static void
supervise_kill(struct supervise *s)
{
	s->killing = true;
	s->kill_ms = DDBLOCK_NEVER_MS;
	child_signal(&s->child, SIGKILL);
	(void)child_signal_others(&s->child, SIGKILL,
	    supervise_all_sessions(s));
}

/* All processes are killed then, unless they are to be killed earlier. */
static void
supervise_kill_at(struct supervise *s, uint64_t at_ms)
{
	struct itimerspec spec = { .it_value = clock_moment(at_ms) };

	if (at_ms >= s->kill_ms)
		return;
	s->kill_ms = at_ms;
	spec.it_value.tv_nsec++;	/* 0 would stop the timer */
	if (timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		supervise_kill(s); /* rather too early */
}

static void
supervise_terminate(struct supervise *s, uint64_t kill_ms)
{
	bool all = supervise_all_sessions(s);

	child_signal(&s->child, SIGTERM);
	child_signal(&s->child, SIGCONT); /* it may be stopped */
	(void)child_signal_others(&s->child, SIGTERM, all);
	(void)child_signal_others(&s->child, SIGCONT, all);
	supervise_kill_at(s, kill_ms);
}

static void
supervise_on_lost(struct supervise *s, const struct ddblock_event *event)
{
	static const char *const reasons[] = {
		[DDBLOCK_LOSS_EXPIRED] = "its lease was not renewed",
		[DDBLOCK_LOSS_STOLEN] = "its record was changed",
		[DDBLOCK_LOSS_BROKEN] = "somebody broke it",
		[DDBLOCK_LOSS_SHUTDOWN] = "the daemon stopped",
		[DDBLOCK_LOSS_DISCONNECTED] = "the daemon is gone",
		[DDBLOCK_LOSS_OTHER] = "the daemon says so",
		[DDBLOCK_LOSS_MAX_HOLD] = "it was held for --max-hold",
		[DDBLOCK_LOSS_KEEPALIVE] = "the daemon heard nothing from us",
		[DDBLOCK_LOSS_CUT_OFF] = "the daemon cut us off",
		[DDBLOCK_LOSS_RELEASED] = "another client released it",
	};
	uint64_t from_ms = clock_boot_ms();

	if (s->ended && !supervise_left(s))
		return;
	s->lost = true;
	if (event->until_boot_ms < from_ms)
		from_ms = event->until_boot_ms;
	supervise_terminate(s, from_ms +
	    ddblock_margin_ms(s->connection, s->id) / 2);
	cli_say("lost the lock %s: %s; ending the command", s->name,
	    reasons[event->loss]);
}

static void
supervise_on_event(void *arg, struct ddblock *d,
    const struct ddblock_event *event)
{
	struct supervise *s = arg;

	cli_say_connection(d, event);
	/* So that its end is not ours alone (run.c). */
	if (event->kind == DDBLOCK_EVENT_RESUMED)
		front_give_socket(s->front, ddblock_socket(d));
	if (event->id != s->id)
		return;
	if (event->kind == DDBLOCK_EVENT_LOST)
		supervise_on_lost(s, event);
	else if (event->kind == DDBLOCK_EVENT_IN_DANGER &&
	    s->danger_signal != 0)
		child_signal(&s->child, s->danger_signal);
}

/* The command has ended, or stopped. */
static void
supervise_on_child(struct supervise *s)
{
	child_reap(&s->child);
	if (s->child.running && s->child.stopped)
		child_stop_front(&s->child);
	if (s->child.running || s->ended)
		return;
	s->ended = true;
	s->ended_ms = clock_boot_ms();
	child_take_terminal(&s->child);
	if (supervise_left(s))
		supervise_terminate(s, s->ended_ms + SUPERVISE_GRACE_MS);
}

static void
supervise_pass_on(struct supervise *s, int number)
{
	if (number == SIGTERM || number == SIGINT || number == SIGQUIT ||
	    number == SIGHUP)
		s->told_to_end = true;
	child_signal(&s->child, number);
}

static void
supervise_on_signals(struct supervise *s)
{
	int number;

	while ((number = signals_next(s->signals)) != 0) {
		if (number == SIGCHLD)
			supervise_on_child(s);
		else if (number == SIGCONT)
			child_continue(&s->child);
		else
			supervise_pass_on(s, number);
	}
}

/* After we have ended everything, and before the next holder. */
static void
supervise_tell_front(struct supervise *s)
{
	uint64_t until_ms = ddblock_until_boot_ms(s->connection, s->id);

	if (!s->lost && until_ms != DDBLOCK_NEVER_MS)
		front_set_end(s->front, until_ms +
		    ddblock_margin_ms(s->connection, s->id) * 3 / 4);
}

static int
supervise_timeout(const struct supervise *s)
{
	if (s->killing)
		return SUPERVISE_KILL_MS;
	return s->ended ? SUPERVISE_TICK_MS : -1;
}

static int
supervise_loop(struct supervise *s)
{
	/* Twice: when a parent ends in between, its children become ours, and
	 * only the second look finds them. */
	while (!s->ended || supervise_left(s) || supervise_left(s)) {
		struct pollfd fds[4] = {
			{ .fd = s->signals->fd, .events = POLLIN },
			{ .fd = ddblock_fd(s->connection), .events = POLLIN },
			{ .fd = s->timer, .events = POLLIN },
			{ .fd = s->front_died ? -1 : s->front->fd,
			    .events = POLLIN },
		};

		if (poll(fds, 4, supervise_timeout(s)) < 0 && errno != EINTR)
			return -1;
		if (fds[3].revents != 0)
			s->front_died = true;
		(void)ddblock_dispatch(s->connection);
		if (s->killing || s->front_died ||
		    clock_boot_ms() >= s->kill_ms)
			supervise_kill(s);
		supervise_tell_front(s);
		supervise_on_signals(s);
		if (s->ended)
			child_reap(&s->child);
	}
	return 0;
}

/* Wait the whole time: nothing is left that could wake us. */
static void
supervise_end(struct supervise *s)
{
	do {
		supervise_kill(s);
		(void)poll(NULL, 0, SUPERVISE_KILL_MS);
		child_reap(&s->child);
	} while (supervise_left(s));
	s->ended = true;
}

int
supervise_run(struct supervise *s, char **argv)
{
	int error;

	s->kill_ms = DDBLOCK_NEVER_MS;
	s->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer < 0 || ddblock_fd(s->connection) < 0) {
		cli_say("cannot watch the lock: %s", strerror(errno));
		return CLI_FAILED;
	}
	ddblock_on_event(s->connection, supervise_on_event, s);
	if (ddblock_remaining_ms(s->connection, s->id) == 0) {
		cli_say("lost the lock %s before the command was run", s->name);
		s->lost = true;
		return CLI_LOST;
	}
	s->child.front_pid = s->front->pid;
	s->child.front_group = s->front->group;
	supervise_tell_front(s);
	error = child_start(&s->child, argv, &s->signals->before,
	    ddblock_socket(s->connection));
	if (error != 0)
		return child_complain(argv[0], error);
	if (supervise_loop(s) < 0) {
		error = errno;
		s->lost = true;
		supervise_end(s);
		cli_say("cannot watch the lock: %s", strerror(error));
	}
	(void)close(s->timer);
	return s->lost ? CLI_LOST : child_exit_status(&s->child);
}
