/*
 * How fast requests may go while the service throttles (pure): the client-side
 * limit of the AWS SDKs' adaptive mode, which follows CUBIC.
 *
 * Nothing is limited before the first throttling. It cuts the rate to 0.7 of
 * what was measured; then the rate returns to that, slowly near it and faster
 * beyond, but never to more than twice the rate really sent. All answers are
 * counted; whether a request waits for a token is for its sender to say. What
 * leases depend on takes one if there is one, and goes in any case.
 *
 * Unlike there, the limit ends when there was no throttling for a while, and
 * some requests are free of it: a lock daemon idles for hours and is then asked
 * for many locks at once, and a rate that follows what is sent would know of
 * the hours only. The free part is too little to overload a table; that one
 * item is hot there is no reason to make all others wait.
 */
#ifndef DDBLOCKD_AWS_RATE_LIMIT_H
#define DDBLOCKD_AWS_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_LIMIT_BETA 0.7
#define RATE_LIMIT_SCALE 0.4
#define RATE_LIMIT_SMOOTH 0.8
#define RATE_LIMIT_MIN 0.5	/* requests per second */
#define RATE_LIMIT_OVER_S 30.0	/* without throttling */
#define RATE_LIMIT_FREE 10.0	/* requests per second, */
#define RATE_LIMIT_FREE_MAX 20.0	/* and as many at a time */

/* Times in seconds, rates per second. */
struct rate_limit {
	bool enabled;

	/* What is sent, smoothed, by half seconds. */
	double measured;
	double measured_until;
	uint64_t count;

	/* CUBIC. */
	double rate_at_fail;
	double recovery;	/* how long until that rate again */
	double failed;

	/* Tokens. */
	double rate;
	double tokens_max;
	double tokens;
	double filled;
	double free_tokens;	/* of those that are free */
	double free_filled;
};

void rate_limit_init(struct rate_limit *, uint64_t now_ms);

/* An answer came; was it throttling? */
void rate_limit_answered(struct rate_limit *, bool throttled,
    uint64_t now_ms);

/* Take a token. False: there is none; try again after *@ret_wait_ms (> 0). */
bool rate_limit_take(struct rate_limit *, uint64_t now_ms,
    uint64_t *ret_wait_ms);

#endif
