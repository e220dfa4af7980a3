/*
 * Periodic reports to the clients that asked for them: the progress of a
 * listing, and the place of a waiter.
 */
#include "common/clock.h"
#include "ipc/answer/room.h"

/* Does this connection want any report? Then report in its turn. */
static bool
tell_connection(struct connection *c, uint64_t now_ms)
{
	bool tells = c->n_reports > 0;

	if (c->doomed)
		return false;
	if (tells) {
		c->reports_due = true;
		server_schedule(c->server, c);
	}
	if (c->n_listings > 0 && listing_say_all(c, now_ms))
		tells = true;
	return tells;
}

void
tell_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	uint64_t now_ms = clock_boot_ms();
	bool tells = false;

	(void)fd;
	(void)what;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		if (s->slots[i] != NULL && tell_connection(s->slots[i], now_ms))
			tells = true;
	}
	if (tells)
		server_schedule_tell(s);
}
