/*
 * The locks that this connection watches. The daemon names the lock in its
 * events, so a watch is found by that name.
 */
#ifndef DDBLOCKD_LIB_WATCH_H
#define DDBLOCKD_LIB_WATCH_H

#include <stdint.h>
#include <sys/queue.h>

#include "ddblock.h"
#include "lib/connection.h"

struct watch {
	TAILQ_ENTRY(watch) entry;
	uint64_t request;		/* that began it, */
	bool again;			/* on a connection after the first */
	ddblock_row_function *on_change;
	void *arg;
	char name_space[CONNECTION_NAME_MAX + 1];	/* "": default */
	const char *sort;		/* behind the key */
	char key[];
};

/*
 * A watch is found once it was added. @ns and @sort may be NULL. NULL: no
 * memory.
 */
struct watch *watch_new(const char *key, const char *ns, const char *sort);
void watch_add(struct ddblock *, struct watch *);
struct watch *watch_find(const struct ddblock *, const char *key,
    const char *ns, const char *sort);
void watch_free(struct ddblock *, struct watch *);
void watch_free_all(struct ddblock *);

/* On a new connection: each that no request begins yet. */
void watch_again(struct ddblock *);

/* The answer to the WATCH that is @request, and !CHANGED. They call back. */
void watch_answered(struct ddblock *, uint64_t request,
    const struct ddblock_row *, int code);
void watch_changed(struct ddblock *, const struct ddblock_row *);

#endif
