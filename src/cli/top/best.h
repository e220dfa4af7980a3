/*
 * The first rows, in an order, of any number that are offered: no more than
 * twice BEST_KEPT are in memory. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_BEST_H
#define DDBLOCKD_CLI_TOP_BEST_H

#include <stddef.h>

#include "cli/top/row.h"

#define BEST_KEPT 500

struct best {
	struct row *rows;	/* with room for 2 * BEST_KEPT; NULL: no room */
	size_t n;
	enum column sort;
	bool reversed;
	bool cut;		/* rows were dropped */
	bool failed;		/* out of memory */
	struct row last;	/* once they are cut, none behind it stays */
};

void best_init(struct best *, enum column sort);
void best_done(struct best *);
void best_clear(struct best *);

/* Negative: @a stands above @b. */
int best_order(const struct best *, const struct row *a, const struct row *b);

/* Keep a copy of it, unless enough others are above it: then NULL. The copy
 * may be changed, so that it goes up; what its place is changes with any other
 * call. */
struct row *best_offer(struct best *, const struct row *);

/* Those that are in the end, no more than BEST_KEPT, in their order. */
void best_settle(struct best *);

#endif
