/*
 * A connection that the daemon ended is opened again, for a caller that wants
 * that: its holds go on, and its requests are asked again.
 */
#ifndef DDBLOCKD_LIB_RECONNECT_H
#define DDBLOCKD_LIB_RECONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/connection.h"
#include "lib/request.h"

/* Write the greeting to ->out; it goes with the first request. DDBLOCK_E_LIMIT,
 * DDBLOCK_E_NOMEM */
int reconnect_greet(struct ddblock *);

/* The connection broke for this reason; true: another is tried. Calls back. */
bool reconnect_begin(struct ddblock *, int code);

/* Do what is due. Negative: it gives up, for this reason. Calls back. */
int reconnect_go_on(struct ddblock *);

/* The last request of the opening was answered. It is forgotten; calls back.
 * Negative: the connection is of no use. */
int reconnect_opened(struct ddblock *, struct request *, int code);

/* It gives up. */
void reconnect_stop(struct ddblock *);

/* The pause before the next try: none, then from 50 ms, twice as long each
 * time, to a second; half more or less. */
uint64_t reconnect_pause_ms(struct reconnect *);

#endif
