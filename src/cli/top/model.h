/*
 * What ddblock top knows: the daemon, its namespaces, and three lists: the
 * busiest locks, the longest holds, the longest waits. Pure: who feeds it
 * (feed.h) says what time it is.
 *
 * A look at the daemon is: model_begin(), all waits, all holds, model_end().
 * Until it ends the lists are those of the look before. Waits come first, so
 * that a hold's row already knows how many wait.
 */
#ifndef DDBLOCKD_CLI_TOP_MODEL_H
#define DDBLOCKD_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top/best.h"
#include "cli/top/tally.h"
#include "common/siphash.h"

#define MODEL_NAMESPACES_MAX 64
#define MODEL_NAME_SIZE 80
#define MODEL_TEXT_SIZE 256

enum list {
	LIST_KEYS,
	LIST_HOLDS,
	LIST_WAITS,
	LISTS,
};

/* A rate is not known until there were two looks at one daemon. */
struct rate {
	bool known;
	double per_s;
};

/* As STATUS has it; texts are cut to their room. */
struct model_namespace {
	char name[MODEL_NAME_SIZE];
	char store[MODEL_NAME_SIZE];
	char scope[MODEL_NAME_SIZE];
	char where[MODEL_TEXT_SIZE];
	char state[MODEL_NAME_SIZE];	/* "opening", "ok", "danger" */
	char cause[MODEL_NAME_SIZE];	/* or "" */
	bool has_session;		/* and so these times */
	uint64_t danger_ms, remaining_ms, renewed_ms;
	bool draining, removed;
	bool counts;			/* this user may know these numbers */
	uint64_t held, waiting, granted, lost;
	uint64_t requests;
	struct rate grants, asked;	/* grants; requests to the store */
};

struct model_daemon {
	char version[MODEL_NAME_SIZE];
	char host[MODEL_TEXT_SIZE];
	uint64_t pid, uptime_ms, connections;
};

struct model {
	struct siphash_key key;
	uint64_t now_ms;		/* boot time of the last status */
	uint64_t now_wall_ms;		/* of the lists, by the wall clock */
	struct model_daemon daemon;
	struct model_namespace namespaces[MODEL_NAMESPACES_MAX];
	size_t n_namespaces;
	/* Those of the status that is arriving. */
	struct model_namespace arriving[MODEL_NAMESPACES_MAX];
	size_t n_arriving;

	struct best shown[LISTS];
	struct best arriving_lists[LISTS];
	char filter[MODEL_TEXT_SIZE];
	struct tally now, before;
	bool compares;		/* there was a look before, at this daemon */
	uint64_t id_max, id_max_before;
	uint64_t began_ms, began_before_ms;
	/* Of the lists that are shown. */
	uint64_t n_holds, n_waits;	/* how many came, before the filter */
	uint64_t holds_coming, waits_coming;
	uint64_t took_ms;
	uint64_t elapsed_ms;		/* since the look before; 0: unknown */
	bool partial;		/* there are more than were looked at */
	bool complete;		/* there was a look */
	bool failed;		/* out of memory */
};

/* @random: two words that other users do not know. */
int model_init(struct model *, const uint64_t random[2]);
void model_done(struct model *);

/* A status: each namespace, and then the daemon itself. If it is another
 * daemon, nothing is compared with what was. */
void model_begin_status(struct model *);
void model_namespace(struct model *, const struct model_namespace *);
void model_status(struct model *, const struct model_daemon *,
    uint64_t now_ms);

/* A look. Rows need no hash. @partial: not all were looked at. */
void model_begin(struct model *, uint64_t now_ms);
void model_wait(struct model *, struct row *);
void model_hold(struct model *, struct row *);
void model_end(struct model *, uint64_t now_ms, uint64_t now_wall_ms,
    bool partial);

/* The order of a list, also of the rows that are there. */
void model_sort(struct model *, enum list, enum column, bool reversed);

/* How many grants of that lock there were, as far as it is known. */
struct rate model_grants(const struct model *, const struct row *);

#endif
