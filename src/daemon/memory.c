/*
 * See memory.h.
 */
#include "daemon/memory.h"

#include <event2/event.h>

#include "common/clock.h"
#include "ddblock.h"

#define MEMORY_PAUSE_S 3
#define MEMORY_STEP_NS 100000	/* as a user's turn */

static void
memory_on_time(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval at_once;
	struct memory *m = arg;

	(void)fd;
	(void)what;
	m->noted = trim_step(&m->trim, clock_monotonic_ns() + MEMORY_STEP_NS) &&
	    event_add(m->timer, &at_once) == 0;
	if (!m->noted)
		trim_done(&m->trim);
}

int
memory_init(struct memory *m, struct event_base *base)
{
	m->timer = evtimer_new(base, memory_on_time, m);
	return m->timer == NULL ? DDBLOCK_E_NOMEM : 0;
}

void
memory_done(struct memory *m)
{
	if (m->timer != NULL)
		event_free(m->timer);
	m->timer = NULL;
	trim_done(&m->trim);
}

void
memory_note(struct memory *m)
{
	static const struct timeval pause = { .tv_sec = MEMORY_PAUSE_S };

	if (!m->noted)
		m->noted = event_add(m->timer, &pause) == 0;
}
