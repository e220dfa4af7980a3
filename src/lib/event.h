/*
 * Events, which the program did not ask for.
 */
#ifndef DDBLOCKD_LIB_EVENT_H
#define DDBLOCKD_LIB_EVENT_H

#include "ddblock.h"

/* Calls back. */
void event_report(struct ddblock *, const struct ddblock_event *);

#endif
