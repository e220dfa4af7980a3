/*
 * What a person sees while a lock is waited for: who holds it, and how many
 * are ahead. One line on standard error, written over itself.
 */
#ifndef DDBLOCKD_CLI_PROGRESS_H
#define DDBLOCKD_CLI_PROGRESS_H

#include "cli/cli.h"
#include "common/buffer.h"

struct progress {
	bool enabled;
	bool terminal;
	bool shown;		/* there is a line to wipe */
	bool asking;		/* answers are outstanding */
	const char *key;	/* NULL: of several locks */
	const char *ns;
	const char *sort;
	uint64_t next_ms;	/* boot time: ask again */
	uint64_t ahead;
	bool ahead_known;
	uint64_t keys;		/* of several, how many, */
	uint64_t had;		/* how many of them it has, */
	struct buffer next;	/* and which it waits for; else empty */
	struct buffer line;
};

/* Shown on a terminal, or anywhere if @verbose. It must live as long as the
 * connection, whose late answers find it. */
void progress_init(struct progress *, const struct cli *, const char *key,
    bool quiet);
void progress_done(struct progress *);

/* Milliseconds for poll(2) until there is something to do; -1: never. */
int progress_timeout(const struct progress *);
void progress_tick(struct progress *, struct ddblock *);

#endif
