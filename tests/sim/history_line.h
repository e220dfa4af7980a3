/*
 * A line of a history while it is read. Private to history*.c.
 */
#ifndef DDBLOCKD_TESTS_HISTORY_LINE_H
#define DDBLOCKD_TESTS_HISTORY_LINE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"

#define HISTORY_NAMESPACES_MAX 8
#define HISTORY_NAME_MAX 65
#define HISTORY_LIFE_BITS 16	/* above a client's number */

struct history_entry {
	uint64_t boot_us;
	size_t life;		/* 1 + its index; 0: of none, */
	uint64_t serial;	/* and the line's number there */
	size_t order;		/* of lines of the same microsecond */
	uint64_t pid;		/* of what the test did: whose */
	char *key;
	struct fact fact;
};

/* A daemon from its start to its end, or to its last line. */
struct history_life {
	uint64_t pid;
	unsigned host;
	uint64_t begin_us, end_us;
	size_t number;		/* of its clients: that of the life that it
				 * goes on with, or its own */
};

struct history {
	struct history_entry *entries;
	size_t n_entries, entries_size;
	struct history_life *lives;
	size_t n_lives, lives_size;
	unsigned n_hosts;
	char namespaces[HISTORY_NAMESPACES_MAX][HISTORY_NAME_MAX];
	uint32_t n_namespaces;
	struct judge_rules rules;
	bool finished;
};

/* One line, while it is read. */
struct history_line {
	struct history *history;
	struct json_object *json;
	struct history_life *life;	/* of this file now; NULL: none */
	uint64_t serial;		/* the last */
	bool twice;		/* this life inherits what one has inherited */
	const char *name;		/* of the file */
	size_t number;
	char *text;
	size_t text_size;
};

/* Always -1. */
__attribute__((format(printf, 2, 3)))
int history_fail(struct history_line *, const char *format, ...);

/* NULL: it is absent or not a text. */
const char *history_text(const struct history_line *, const char *name);
bool history_number(const struct history_line *, const char *name,
    uint64_t *ret);
/* As its index; a namespace is known from the daemon's first lines. */
bool history_namespace(const struct history_line *, uint32_t *ret);

/* A fact of the line, at the time of its life's last. */
void history_add_told(struct history_line *, const struct fact *);
/* A client's number that no other life has. */
uint64_t history_client(const struct history_line *, uint64_t client);

/* history_told.c */
int history_told(struct history_line *, const char *event);
int history_renewed(struct history_line *);

#endif
