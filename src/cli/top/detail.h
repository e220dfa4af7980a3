/*
 * One lock, looked into: the fields that GET has of it, its holds, and its
 * waiters in their order. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_DETAIL_H
#define DDBLOCKD_CLI_TOP_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top/best.h"
#include "common/buffer.h"

#define DETAIL_FIELDS_MAX 64
#define DETAIL_VALUE_MAX 2048	/* bytes of a value that are kept */
#define DETAIL_NAME_SIZE 1056	/* of a key or a sort value, with a NUL */

struct detail_field {
	char *name, *value;
	size_t length;		/* of all of the value */
	size_t kept;		/* of it here */
};

/* The first of them, and how many there are. */
struct detail_rows {
	struct best best;
	uint64_t n_all;
};

struct detail_look {
	struct detail_field fields[DETAIL_FIELDS_MAX];
	size_t n_fields;
	struct detail_rows holds;	/* the oldest first */
	struct detail_rows waiters;	/* in line */
	bool held;
	uint64_t token;		/* 0: the format has none */
	char *record, *owner;	/* or NULL */
	int code;		/* why GET failed, or 0 */
	uint64_t at_wall_ms;	/* when it was asked */
};

struct detail {
	char ns[DETAIL_NAME_SIZE], key[DETAIL_NAME_SIZE];
	char sort[DETAIL_NAME_SIZE];
	uint64_t number;	/* changes with the lock that it is about */
	bool loaded;		/* ->shown is about this lock */
	/* All of an answer is collected before any of it is shown. */
	struct detail_look shown, coming;
	bool failed;		/* out of memory, once */
};

void detail_init(struct detail *);
void detail_done(struct detail *);

/* From now on it is about that lock; false: its names do not fit. */
bool detail_open(struct detail *, const struct row *);

/* What comes is a new look; add to it; show it. */
void detail_begin(struct detail *, uint64_t now_wall_ms);
void detail_field(struct detail *, const char *name, const char *value,
    size_t length);
void detail_hold(struct detail *, const struct row *);
void detail_waiter(struct detail *, const struct row *);
void detail_end(struct detail *);

/* Its value, or NULL. */
const char *detail_find(const struct detail_look *, const char *name);

#endif
