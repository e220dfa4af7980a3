/*
 * The audit trail in the journal. What a daemon writes is told from what any
 * program may write there by the fields that the journal adds itself.
 */
#ifndef DDBLOCKD_CLI_HISTORY_READER_H
#define DDBLOCKD_CLI_HISTORY_READER_H

#include <stddef.h>

#include "cli/history/event.h"

struct reader;

enum reader_state {
	READER_OK = 0,
	READER_DENIED,		/* this user may not read it */
	READER_NONE,		/* there is no journal */
	READER_FAILED,		/* see errno */
};

/* @key, @ns and @sort: NULL is any; a @sort of "-" is none. @directory: of
 * another journal, or NULL. */
struct reader_wish {
	const char *key, *ns, *sort;
	const char *directory;
	bool with_daemons;	/* also when they started and ended */
};

enum reader_state reader_new(const struct reader_wish *, struct reader **ret);
void reader_free(struct reader *);

/* Where to go on: at the first line, at the first since then, or behind the
 * last. 0, or a negative errno. */
int reader_seek(struct reader *, uint64_t since_us);
int reader_seek_end(struct reader *);

/* The next line, or the one before. 1, 0 if there is none, or a negative errno.
 * @ret is borrowed until the next call. */
int reader_next(struct reader *, const struct event **ret);
int reader_previous(struct reader *, const struct event **ret);

/* Until there may be more. 0 or a negative errno. */
int reader_wait(struct reader *);

/* Lines that look like the daemon's and are of others. */
size_t reader_forged(const struct reader *);

#endif
