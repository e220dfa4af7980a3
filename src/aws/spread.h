/*
 * Places in time for what would come all at one moment (pure): some at once,
 * and then one after the other.
 */
#ifndef DDBLOCKD_AWS_SPREAD_H
#define DDBLOCKD_AWS_SPREAD_H

#include <stdint.h>

#define SPREAD_EACH_NS 100000	/* of the loop's time, for each */
#define SPREAD_AT_ONCE 10

/* Zeroed: nobody has a place. */
struct spread {
	uint64_t next_ns;
};

/* Take a place; how long until then? 0: now. */
uint64_t spread_take_us(struct spread *, uint64_t now_ns);

#endif
