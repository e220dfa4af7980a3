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
	const char *key;
	const char *ns;
	uint64_t next_ms;	/* boot time: ask again */
	uint64_t ahead;
	bool ahead_known;
	struct buffer line;
};

/* Shown on a terminal, or anywhere if @verbose. */
void progress_init(struct progress *, const struct cli *, const char *key,
    bool quiet);
void progress_done(struct progress *);

/* Milliseconds for poll(2) until there is something to do; -1: never. */
int progress_timeout(const struct progress *);
void progress_tick(struct progress *, struct ddblock *);

#endif
