/*
 * Whose turn it is. Connections with work are in line by user, and users have
 * turns of the same length (TURN_NS): what one user asks, on however many
 * connections, delays the others by a turn. What took longer than its turn is
 * owed: the user waits for as many turns. So a user is served by what the work
 * costs, not by the number of lines. (Deficit round robin, with time for cost.)
 * No more is owed than OWED_MAX_NS: when the daemon waits for a processor in a
 * turn, that is not its user's doing, and work that takes longer is rare.
 *
 * Work that arises meanwhile is done in the same round, unless its user has had
 * its turn. Between two rounds the event loop looks at all sockets and timers.
 */
#include <utlist.h>

#include "common/clock.h"
#include "ipc/connection/connection.h"

static struct user **
turn_line(struct server *s, const struct user *u)
{
	return u->round == s->round ? &s->served : &s->turns;
}

static void
turn_line_up(struct server *s, struct user *u)
{
	u->in_line = true;
	DL_APPEND2(*turn_line(s, u), u, turn_prev, turn_next);
}

static void
turn_leave_line(struct server *s, struct user *u)
{
	u->in_line = false;
	DL_DELETE2(*turn_line(s, u), u, turn_prev, turn_next);
}

void
server_schedule(struct server *s, struct connection *c)
{
	struct user *u = c->user;

	if (c->has_work)
		return;
	c->has_work = true;
	DL_APPEND2(u->work, c, work_prev, work_next);
	if (!u->in_line && s->serving != u)
		turn_line_up(s, u);
	if (s->working || s->work_scheduled)
		return;
	s->work_scheduled = true;
	event_active(s->work_event, EV_TIMEOUT, 0);
}

void
server_unschedule(struct server *s, struct connection *c)
{
	struct user *u = c->user;

	if (!c->has_work)
		return;
	c->has_work = false;
	DL_DELETE2(u->work, c, work_prev, work_next);
	if (u->work == NULL && u->in_line)
		turn_leave_line(s, u);
}

void
turn_begin_round(struct server *s)
{
	s->work_scheduled = false;
	s->working = true;
	s->round++;
	DL_CONCAT2(s->turns, s->served, turn_prev, turn_next);
	s->served = NULL;
}

void
turn_end_round(struct server *s)
{
	static const struct timeval at_once;

	s->working = false;
	if (s->served == NULL || s->work_scheduled)
		return;
	/* Others' news first: an event made active now would come before. */
	s->work_scheduled = true;
	if (event_add(s->work_event, &at_once) < 0)
		event_active(s->work_event, EV_TIMEOUT, 0);
}

struct user *
turn_next(struct server *s)
{
	struct user *u = s->turns;

	if (u == NULL)
		return NULL;
	turn_leave_line(s, u);
	s->serving = u;
	u->round = s->round;
	u->credit_ns += TURN_NS;
	if (u->credit_ns > TURN_NS)
		u->credit_ns = TURN_NS;
	s->turn_began_ns = clock_monotonic_ns();
	s->turn_ends_ns = u->credit_ns <= 0 ? 0 :
	    s->turn_began_ns + (uint64_t)u->credit_ns;
	return u;
}

bool
turn_is_over(const struct server *s)
{
	return clock_monotonic_ns() >= s->turn_ends_ns;
}

struct connection *
turn_next_connection(struct server *s, struct user *u)
{
	struct connection *c = u->work;

	if (c == NULL || turn_is_over(s))
		return NULL;
	DL_DELETE2(u->work, c, work_prev, work_next);
	c->has_work = false;
	return c;
}

void
turn_end(struct server *s, struct user *u)
{
	u->credit_ns -= (int64_t)(clock_monotonic_ns() - s->turn_began_ns);
	if (u->credit_ns < -OWED_MAX_NS)
		u->credit_ns = -OWED_MAX_NS;
	s->serving = NULL;
	if (u->work != NULL)
		turn_line_up(s, u);
	else
		user_free_if_unused(s, u);
}

void
server_schedule_tell(struct server *s)
{
	static const struct timeval period = { .tv_sec = TELL_MS / 1000 };

	/* Without the timer listings report only with their pages. */
	if (!event_pending(s->tell_event, EV_TIMEOUT, NULL))
		(void)event_add(s->tell_event, &period);
}
