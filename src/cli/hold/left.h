/*
 * A hold for a process, after its connection has ended: the daemon goes on with
 * it without a client, and its next one may, too. So the helper asks on another
 * connection, again and again, whether it is still held.
 */
#ifndef DDBLOCKD_CLI_HOLD_LEFT_H
#define DDBLOCKD_CLI_HOLD_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "ddblock.h"

struct left {
	struct ddblock *connection;
	const char *ns;
	const char *key;	/* the first of the hold's */
	uint64_t id;
	uint64_t token;		/* of that key */
	uint64_t margin_ms;
	uint64_t end_ms;	/* boot time: the process is told by then */
	uint64_t look_ms;	/* when to ask next */
	uint64_t asked_ms;	/* the last time */
	bool begun;
	bool up;		/* there is a connection */
	bool asking;
	bool found;		/* in this answer */
	bool known;		/* in the last one, on this connection */
	bool over;		/* it is not held any more */
};

/* The loss that says that the connection of @id ended. */
void left_begin(struct left *, struct ddblock *, uint64_t id,
    const struct ddblock_event *);

/* Every later event. */
void left_on_event(struct left *, const struct ddblock_event *);

/* Ask if it is time to, after each dispatch. False: the process is to be told
 * that the lock is lost. */
bool left_go_on(struct left *);
int left_timeout(const struct left *);

#endif
