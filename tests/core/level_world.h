/*
 * One core with a bridge, and a store of two records that answers at once,
 * unless it is told otherwise. The old record's format has tokens, as
 * js-fail-open has.
 */
#ifndef DDBLOCKD_TESTS_LEVEL_WORLD_H
#define DDBLOCKD_TESTS_LEVEL_WORLD_H

#include <check.h>

#include "core/core.h"

enum { NATIVE, OLD, SIDES };	/* namespaces */

#define KEYS 2
#define KINDS (OPERATION_SESSION_CLOSE + 1)

/* What the store does with the next operation of that kind. */
enum fate {
	FATE_DONE = 0,
	FATE_KEEP,		/* nothing yet: see world_land() */
	FATE_UNKNOWN,		/* it happens, and nobody hears of it */
	FATE_LOST,		/* it does not, and nobody knows */
	FATE_REFUSED,
	FATE_CONFLICT,
};

struct row {
	uint64_t token;
	const char *token_text;
	bool held;
	struct holder holder;
	uint64_t beat;
};

struct world {
	struct core *core;
	uint64_t now_ms;
	uint64_t next_ms;
	struct row rows[SIDES][KEYS];
	enum fate fate[SIDES][KINDS];
	bool always;			/* and with those after it */
	unsigned count[SIDES][KINDS];
	struct operation *kept;		/* under way */
	struct operation *queue[64];	/* to be answered */
	size_t n_queue;
	unsigned replies, losses;
	int code, cause;
	char text[OUTCOME_TEXT_MAX];
	uint64_t hold, token;		/* of the last grant */
	char token_text[64];
	uint64_t told[KEYS];		/* the last of each, if several */
	uint64_t serial;
};

extern struct world w;

void world_begin(uint64_t old_token, uint64_t native_token);
void world_end(void);
void world_run(uint64_t ms);
/* What was kept back has an answer. */
void world_land(enum fate);

/* What clients do, and what befalls them. */
void world_event(struct core_event *);
void world_ask(struct core_request *);
void world_acquire(uint64_t client, uint64_t wait_ms);
void world_acquire_in(uint32_t side, uint64_t client, uint64_t wait_ms);
void world_release(uint64_t client);
void world_leave(uint64_t client);

/* How often a record was raised. */
unsigned world_raises(int side);

/* Neither record has anybody, a little later. */
void world_expect_free(void);

#endif
