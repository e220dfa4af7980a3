/*
 * An interval while it is made, by itself. For intervals.c.
 *
 * A line belongs to one by host, unit, lock, number of the hold and token:
 * numbers alone begin again with a daemon that has no journal, and sharers may
 * have the same token.
 */
#ifndef DDBLOCKD_CLI_HISTORY_ENTRY_H
#define DDBLOCKD_CLI_HISTORY_ENTRY_H

#include "cli/history/intervals.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)
#include <uthash.h>
#include <utlist.h>

/* By both clocks; the second one is that of leases, of this boot. */
struct moment {
	uint64_t wall_us, boot_us;
	char boot[EVENT_WORD_MAX];
};

struct entry {
	struct interval shown;	/* first */
	struct entry *prev, *next;	/* in the order of their beginnings */
	UT_hash_handle hh;	/* of those without an end, by id */
	uint64_t boot_us;
	uint64_t hold, daemon;
	const char *boot, *machine, *unit;
	struct moment stopped;	/* its daemon was, and the next one is to say
				 * whether it goes on; or 0 */
	const char *id;
	/* Those that change, and are the entry's own. */
	char *name, *reason, *broken_by;
	char texts[];		/* all others */
};

/* When the line was written. */
struct moment moment_of(const struct event *);

/* What its lines have in common. */
#define ENTRY_ID_MAX (2 * EVENT_KEY_MAX + 4 * EVENT_TEXT_MAX)
void entry_id(const struct event *, char ret[ENTRY_ID_MAX]);

/* What a line says; NULL: there is no memory. */
struct entry *entry_new(const struct event *, const char *id);
void entry_free(struct entry *);

/* A text of its own. False: there is no memory. */
bool entry_set(char **to, const char **shown, const char *text);

/* How long it was held, until then. */
void entry_measure(struct entry *, const struct moment *);

bool entry_is_open(const struct entry *);
bool entry_is_of_lock(const struct entry *, const struct event *);
bool entry_is_of_daemon(const struct entry *, const struct event *);
bool entry_is_of_other_boot(const struct entry *, const struct event *);

#endif
