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
	if (c->has_lines && connection_has_room(c))
		server_schedule(c->server, c);
	if (c->draining && c->n_pending == 0 && c->out.length == 0)
		connection_doom(c);
}

static void
round_end(struct server *s, struct connection *c)
{
	struct core_event event = {
		.type = c->cut_off ? CORE_CUT : CORE_GONE,
	};

	event.client = c->client;
	if (c->in_core)
		(void)s->calls.step(s->arg, &event);
	/* Its client is told of its losses if there is room. */
	if (c->cut_off && c->out.length > 0)
		connection_send(c);
	server_remove(s, c);
	connection_free(c);
}

void
round_on_work(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct connection *list = s->work;

	(void)fd;
	(void)what;
	s->work_scheduled = false;
	s->working = true;
	s->work = NULL;
	while (list != NULL) {
		struct connection *c = list;

		DL_DELETE2(list, c, work_prev, work_next);
		c->has_work = false;
		if (!c->doomed && c->has_lines && connection_has_room(c))
			input_run(c);
		if (!c->doomed)
			round_flush(c);
		if (c->doomed && c->has_work) {
			DL_DELETE2(s->work, c, work_prev, work_next);
			c->has_work = false;
		}
		if (c->doomed)
			round_end(s, c);
		else
			connection_watch(c);
	}
	s->working = false;
}
