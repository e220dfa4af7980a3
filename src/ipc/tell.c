/*
 * What is told from time to time, while somebody wants to hear it: how far a
 * listing is, and the place of those who wait in line.
 */
#include "common/clock.h"
#include "ipc/connection.h"

static void
tell_schedule(struct server *s)
{
	static const struct timeval period = { .tv_sec = TELL_MS / 1000 };

	/* Without the timer listings tell with their pages only. */
	(void)event_add(s->tell_event, &period);
}

/* Does this connection want to hear anything? Then it does now. */
static bool
tell_connection(struct connection *c, uint64_t now_ms)
{
	bool tells = c->n_reports > 0;

	if (c->doomed)
		return false;
	if (tells)
		report_say_all(c, now_ms);
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
		tell_schedule(s);
}

void
tell_start(struct server *s)
{
	if (!event_pending(s->tell_event, EV_TIMEOUT, NULL))
		tell_schedule(s);
}
