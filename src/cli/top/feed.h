/*
 * What the model and the detail are fed with: a connection to the daemon, which
 * is asked for one thing after the other, as often as the user wants, unless
 * more than a tenth of the time went into listings. It never waits.
 */
#ifndef DDBLOCKD_CLI_TOP_FEED_H
#define DDBLOCKD_CLI_TOP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/top/detail.h"
#include "cli/top/model.h"
#include "cli/top/view.h"
#include "ddblock.h"

#define FEED_ROWS_MAX 200000	/* of a listing; then it is ended */
#define FEED_SHARE 10		/* listings take one part of so many */

enum feed_phase {
	FEED_IDLE,
	FEED_STATUS,
	FEED_WAITING,
	FEED_HELD,
	FEED_GET,
	FEED_KEY_HELD,
	FEED_KEY_WAITING,
};

struct feed {
	const char *path, *ns, *sort;	/* ns, sort: NULL is any */
	struct model *model;
	struct detail *detail;
	struct view *view;
	struct ddblock *d;		/* NULL: there is no daemon */
	enum feed_phase phase;
	uint64_t request;		/* of the phase */
	uint64_t n_rows;		/* of its answer, so far */
	bool partial;			/* some listing was ended early */
	bool ended;			/* the one of the phase */
	bool lost;			/* the connection is over */
	bool inside_wanted;		/* look into the detail's lock, soon */
	uint64_t inside_number;		/* that is being looked into */
	uint64_t heard_ms;		/* when the daemon last answered */
	uint64_t due_ms;		/* the next status */
	uint64_t lists_due_ms;
	uint64_t retry_ms;		/* the next connection */
	uint64_t n_looks;		/* that were complete */
	int code;			/* of the last request that failed */
	bool changed;			/* draw again */
};

/* @path: of the socket. The others are fed; they outlive it. */
void feed_init(struct feed *, const char *path, struct model *,
    struct detail *, struct view *);
void feed_done(struct feed *);

/* Do what is due. */
void feed_step(struct feed *);

/* What to wait for: a descriptor (or -1), and a boot time. */
int feed_fd(struct feed *);
uint64_t feed_next_ms(const struct feed *);

/* The lists are wanted soon; the detail is; break what the view says. */
void feed_look(struct feed *);
void feed_open(struct feed *);
void feed_break(struct feed *);

/* A row of HELD, of WAITING, of STATUS; the end of STATUS (feed_rows.c). */
void feed_held_row(struct row *ret, const struct ddblock_row *);
void feed_waiting_row(struct row *ret, const struct ddblock_row *);
void feed_namespace(struct model_namespace *ret, const struct ddblock_row *);
void feed_daemon(struct model_daemon *ret, const struct ddblock_row *);
/* The fields of GET. */
void feed_inside(struct detail *, const struct ddblock_row *);

#endif
