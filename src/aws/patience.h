/*
 * How long an endpoint's answers are waited for, from what was lost (pure).
 *
 * An attempt that is given up takes its connection with it, and the next one
 * begins with a handshake. So an endpoint that is slow because it is loaded
 * gets more load, and each attempt ends before its answer: that may go on long
 * after what made it slow. Therefore attempts get twice the time after one that
 * had all of its time and no answer. Those that were under way together are
 * one reason only, and a few prompt answers in a row halve the time again: a
 * connection that hangs while others answer changes little.
 */
#ifndef DDBLOCKD_AWS_PATIENCE_H
#define DDBLOCKD_AWS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_MAX 4		/* times twice */
#define PATIENCE_PROMPT 8	/* answers in a row */

struct patience {
	uint32_t doublings;	/* of the usual time */
	uint32_t prompt;	/* answers, one after the other */
	uint64_t grown_ms;	/* when the last doubling was added */
};

/* All zeroes is a good beginning. */

/* An attempt, sent at @sent_ms, had its time and no answer. */
void patience_lost(struct patience *, uint64_t sent_ms, uint64_t now_ms);

/* There was an answer. @prompt: in the usual time. */
void patience_heard(struct patience *, bool prompt);

#endif
