/*
 * What a user sees while a lock is waited for: its holder, how many waiters
 * are ahead, and the time. One line on standard error, written over itself.
 */
#ifndef DDBLOCKD_CLI_ACQUIRE_PROGRESS_H
#define DDBLOCKD_CLI_ACQUIRE_PROGRESS_H

#include "cli/base/cli.h"
#include "common/buffer.h"

struct progress {
	bool enabled;
	bool terminal;
	bool shown;		/* there is a line to wipe */
	bool asking;		/* answers are outstanding */
	const char *key;	/* NULL: many locks */
	const char *ns;
	const char *sort;
	uint64_t next_ms;	/* boot time: ask again */
	uint64_t from_ms;	/* boot time: it waits since then, */
	uint64_t wait_ms;	/* so long at most; DDBLOCK_NEVER_MS */
	uint64_t ahead;
	uint64_t place;		/* of this host among others; 0: unknown */
	bool ahead_known;
	uint64_t keys;		/* of many locks: how many, */
	uint64_t had;		/* how many of them are acquired, */
	struct buffer next;	/* and which is waited for; else empty */
	struct buffer line;
};

/*
 * It is shown on a terminal, but not by a job in the background; with @verbose,
 * also anywhere else. It waits since @from_ms, of the boot clock, and for at
 * most @wait_ms, or DDBLOCK_NEVER_MS. It must live as long as the connection,
 * because late answers refer to it.
 */
void progress_init(struct progress *, const struct cli *, const char *key,
    uint64_t from_ms, uint64_t wait_ms, bool quiet);
void progress_done(struct progress *);

/* Milliseconds for poll(2) until there is something to do; -1: never. */
int progress_timeout(const struct progress *);
void progress_tick(struct progress *, struct ddblock *);

#endif
