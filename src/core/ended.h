/*
 * Who is told of the end of each hold, for an audit trail. An end is no action,
 * because nobody waits for it, and no memory may be needed for it.
 */
#ifndef DDBLOCKD_CORE_ENDED_H
#define DDBLOCKD_CORE_ENDED_H

#include "core/core.h"

enum core_end {
	CORE_END_RELEASED = 1,	/* it was asked for */
	CORE_END_LEFT,		/* its client has left */
	CORE_END_LINGERED,	/* its client did not come back */
	CORE_END_PROCESS,	/* the process that it was for has ended */
	CORE_END_CLOSED,	/* its client has left, but it is fail-closed:
				 * the record stays as it is */
	CORE_END_AT_LEAST,	/* its client was done with it before */
};

/* A hold that ends and was not lost before: a loss is a CORE_NOTICE. */
struct core_ended {
	enum core_end end;
	uint64_t hold;
	uint64_t client;
	uint32_t namespace_index;
	struct key key;
	uint64_t token;
};

/* Called from within core_step(), which must not be called from there; what it
 * is given is valid that long. */
typedef void (*core_ended_fn)(void *arg, const struct core_ended *);

/* From now on. NULL: nobody. */
void core_on_ended(struct core *, core_ended_fn, void *arg);

#endif
