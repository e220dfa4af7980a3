/*
 * A call that blocks, until its request is answered.
 */
#ifndef DDBLOCKD_LIB_WAIT_H
#define DDBLOCKD_LIB_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "ddblock.h"

struct wait {
	uint64_t number;
	uint64_t limit_ms;	/* boot time: then the request is abandoned */
	bool answered;
	int code;
	int cause;			/* RELEASE, best effort */
	uint64_t id;
	ddblock_row_function *on_row;	/* of the caller */
	ddblock_row_function *on_progress;
	void *arg;
};

void wait_on_reply(void *wait, struct ddblock *,
    const struct ddblock_reply *);

/* The time limit of a request about a hold: the hold's deadline. */
uint64_t wait_limit_ms(const struct ddblock *, uint64_t id);

/*
 * DDBLOCK_E_NO_DAEMON: no answer within the limit. Else the result of the
 * answer.
 */
int wait_until_answered(struct ddblock *, struct wait *);

#endif
