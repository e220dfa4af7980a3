/*
 * What clients left behind in memory goes back to the system, some seconds
 * after the core was at work, in steps that hold no client up.
 */
#ifndef DDBLOCKD_DAEMON_MEMORY_H
#define DDBLOCKD_DAEMON_MEMORY_H

#include <stdbool.h>

#include "common/trim.h"

struct event;
struct event_base;

struct memory {
	struct event *timer;
	struct trim trim;
	bool noted;	/* the timer is set */
};

/* DDBLOCK_E_NOMEM */
int memory_init(struct memory *, struct event_base *);
/* Of zeroed or half-built, too. */
void memory_done(struct memory *);

/* There was work. */
void memory_note(struct memory *);

#endif
