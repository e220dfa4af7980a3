/*
 * The round of work at the end of each turn of the event loop.
 */
#include <utlist.h>

#include "ipc/answer/answer.h"
#include "ipc/server/room.h"

static void
round_flush(struct connection *c)
{
	if (!c->blocked) {
		if (c->reports_due)
			report_say_some(c);
		answer_write_renewed(c);
		change_tell_rest(c);
	}
	if (c->out.length > 0 && !c->blocked && !c->doomed)
		connection_send(c);
	connection_review(c);
	if (c->doomed)
		return;
	if (c->n_listings > 0 && c->out.length < CONNECTION_LOW_BYTES)
		listing_write_more(c);
	if ((c->has_lines || c->readable) && connection_has_room(c))
		server_schedule(c->server, c);
	if (c->draining && c->n_pending == 0 && c->out.length == 0)
		connection_doom(c);
}

/* Has the core ended all that it had? */
static bool
round_leave(struct connection *c)
{
	const struct server *s = c->server;
	int more = 1;

	while (more > 0) {
		struct core_event event = {
			.type = c->leaves ? CORE_LEAVES :
			    c->cut_off ? CORE_CUT : CORE_GONE,
		};

		if (c->leaves && turn_is_over(s))
			return false;
		event.client = c->client;
		more = s->calls.step(s->arg, &event);
		c->leaves = true;
	}
	return true;
}

static void
round_end(struct server *s, struct connection *c)
{
	if (c->in_core && !round_leave(c)) {
		connection_unwatch(c);
		server_schedule(s, c);
		return;
	}
	/* Its client is told of its losses if there is room. */
	if (c->cut_off && c->out.length > 0)
		connection_send(c);
	server_remove(s, c);
	connection_free(c);
}

static void
round_serve(struct server *s, struct connection *c)
{
	/* What is said to it now is sent below. */
	c->has_work = true;
	if (c->fresh && !c->doomed)
		connection_begin(c);
	if (c->writable && !c->doomed) {
		c->writable = false;
		connection_send(c);
	}
	if (!c->doomed && (c->has_lines || c->readable) &&
	    connection_has_room(c))
		input_run(c);
	c->has_work = false;
	if (!c->doomed)
		round_flush(c);
	if (!c->doomed) {
		connection_watch(c);
		return;
	}
	server_unschedule(s, c);
	round_end(s, c);
}

void
round_on_work(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct user *u;

	(void)fd;
	(void)what;
	turn_begin_round(s);
	while ((u = turn_next(s)) != NULL) {
		struct connection *c;

		while ((c = turn_next_connection(s, u)) != NULL)
			round_serve(s, c);
		turn_end(s, u);
	}
	turn_end_round(s);
}
