/*
 * Events, for the program.
 */
#include "lib/event.h"

#include "lib/connection.h"

void
event_report(struct ddblock *d, const struct ddblock_event *event)
{
	if (d->on_event != NULL)
		d->on_event(d->event_arg, d, event);
}

void
ddblock_on_event(struct ddblock *d, ddblock_event_function *function,
    void *arg)
{
	d->on_event = function;
	d->event_arg = arg;
}
