/*
 * A daemon that hangs is worse than one that has died: its clients wait for
 * answers until their deadlines. So the loop itself says that it runs. It says
 * nothing of whether what it does is right: each step of the core asserts its
 * invariants and ends the process if one fails, so a loop that still runs is
 * one whose checks have passed.
 */
#include "daemon/watchdog.h"

#include <event2/event.h>
#include <stdint.h>
#include <systemd/sd-daemon.h>

#include "common/clock.h"
#include "daemon/notify.h"
#include "ddblock.h"

/* In each period: one may get lost in a queue that is full. */
#define WATCHDOG_NOTICES 3

static void
watchdog_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	notify_send("WATCHDOG=1");
}

int
watchdog_start(struct watchdog *w, struct event_base *base)
{
	uint64_t period_us;
	struct timeval t;

	w->timer = NULL;
	if (sd_watchdog_enabled(1, &period_us) <= 0)
		return 0;
	t = clock_interval(period_us / 1000 / WATCHDOG_NOTICES);
	w->timer = event_new(base, -1, EV_PERSIST, watchdog_on_timer, w);
	if (w->timer == NULL || event_add(w->timer, &t) < 0)
		return DDBLOCK_E_NOMEM;
	return 0;
}

void
watchdog_done(struct watchdog *w)
{
	if (w->timer != NULL)
		event_free(w->timer);
	w->timer = NULL;
}
