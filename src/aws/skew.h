/*
 * The endpoint's clock, from the Date of its answers (pure).
 *
 * A Date says the second only, at some moment between the request's departure
 * and the answer's arrival. So each answer bounds the difference between the
 * endpoint's clock and our boot clock from both sides; what all recent answers
 * have in common is the estimate, which is better than a second after a few.
 */
#ifndef DDBLOCKD_AWS_SKEW_H
#define DDBLOCKD_AWS_SKEW_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing is known. */
struct skew {
	bool known;
	int64_t low_ms;		/* wall - boot is at least this */
	int64_t high_ms;
	uint64_t seen_ms;	/* boot time of the last answer */
};

/*
 * An answer to a request sent at @sent_ms arrived at @received_ms (boot time)
 * and was dated @date_s (seconds since 1970). Dates before 2020 or after 2200
 * are ignored.
 */
void skew_learn(struct skew *, uint64_t sent_ms, uint64_t received_ms,
    int64_t date_s);

/* The endpoint's wall clock at boot time @now_ms; 0 if nothing is known. */
uint64_t skew_wall_ms(const struct skew *, uint64_t now_ms);

#endif
