/*
 * Deferred work of the event loop: connections with work, and periodic reports.
 */
#include <utlist.h>

#include "ipc/connection/connection.h"

/*
 * Handle this connection at the end of the loop's round. Work that arises
 * meanwhile waits for the next round, so that new events have their turn.
 */
void
server_schedule(struct server *s, struct connection *c)
{
	static const struct timeval at_once;

	if (!c->has_work) {
		c->has_work = true;
		DL_APPEND2(s->work, c, work_prev, work_next);
	}
	if (s->work_scheduled)
		return;
	s->work_scheduled = true;
	if (!s->working || event_add(s->work_event, &at_once) < 0)
		event_active(s->work_event, EV_TIMEOUT, 0);
}

void
server_schedule_tell(struct server *s)
{
	static const struct timeval period = { .tv_sec = TELL_MS / 1000 };

	/* Without the timer listings report only with their pages. */
	if (!event_pending(s->tell_event, EV_TIMEOUT, NULL))
		(void)event_add(s->tell_event, &period);
}
