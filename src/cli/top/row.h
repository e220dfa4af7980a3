/*
 * A row of a list of ddblock top: a lock, a hold or a wait. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_ROW_H
#define DDBLOCKD_CLI_TOP_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* What may stand in a list, and what lists are sorted by. */
enum column {
	COLUMN_NS,
	COLUMN_KEY,
	COLUMN_WAITERS,
	COLUMN_GRANTS,
	COLUMN_WAITED,
	COLUMN_HELD,
	COLUMN_SINCE,
	COLUMN_LEFT,
	COLUMN_STATE,
	COLUMN_AHEAD,
	COLUMN_PID,
	COLUMN_WHO,
	COLUMN_HOLDER,
	COLUMNS,
};

/* Texts are those of the daemon, and no more fit for a terminal than that. None
 * is NULL. */
struct row {
	uint64_t hash;		/* of its names; not 0 */
	uint64_t id;		/* of a hold */
	const char *ns, *key, *sort;
	const char *who;	/* that holds or waits, for people */
	const char *user;	/* its name, if it has one */
	const char *holder;	/* of a wait: that is in the way */
	const char *state;	/* of a hold; of a wait the cause */
	uint64_t pid, uid, token, ahead;
	uint64_t held_ms, waited_ms, left_ms;
	bool has_left;		/* it ends unless it is renewed */
	bool is_held;		/* there is a hold here, whose held_ms is */
	uint32_t waiters, holders;
	uint64_t grants;	/* since the look before */
	char *texts;		/* the memory of a row that is kept */
};

/* All its texts are empty. */
void row_init(struct row *);

/* A copy with texts of its own. False: no memory; then there is nothing to
 * drop. */
bool row_keep(struct row *ret, const struct row *);
void row_drop(struct row *);

/* Negative: @a stands above @b. Of numbers the largest is first, of texts the
 * first of the alphabet; among equals what is busier or older. */
int row_order(const struct row *a, const struct row *b, enum column);

/* Is @filter in any of its names, whatever the case? "" is. */
bool row_matches(const struct row *, const char *filter);

#endif
