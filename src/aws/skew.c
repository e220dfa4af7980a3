/*
 * The endpoint's clock.
 */
#include "aws/skew.h"

#define SKEW_DATE_MIN INT64_C(1577836800)	/* 2020 */
#define SKEW_DATE_MAX INT64_C(7258118400)	/* 2200 */
#define SKEW_DRIFT_PPM 500	/* what a poor clock drifts against another */

void
skew_learn(struct skew *s, uint64_t sent_ms, uint64_t received_ms,
    int64_t date_s)
{
	int64_t low, high, drift;

	if (date_s < SKEW_DATE_MIN || date_s > SKEW_DATE_MAX ||
	    received_ms < sent_ms)
		return;
	low = date_s * 1000 - (int64_t)received_ms;
	high = date_s * 1000 + 999 - (int64_t)sent_ms;

	if (s->known && received_ms > s->seen_ms) {
		drift = 1 + (int64_t)(received_ms - s->seen_ms) *
		    SKEW_DRIFT_PPM / 1000000;
		s->low_ms -= drift;
		s->high_ms += drift;
	}
	if (s->known && low <= s->high_ms && high >= s->low_ms) {
		s->low_ms = low > s->low_ms ? low : s->low_ms;
		s->high_ms = high < s->high_ms ? high : s->high_ms;
	} else {
		/* The first, or the other clock was set: believe the last. */
		s->low_ms = low;
		s->high_ms = high;
	}
	s->known = true;
	s->seen_ms = received_ms;
}

uint64_t
skew_wall_ms(const struct skew *s, uint64_t now_ms)
{
	int64_t wall;

	if (!s->known)
		return 0;
	wall = (int64_t)now_ms + s->low_ms + (s->high_ms - s->low_ms) / 2;
	return wall > 0 ? (uint64_t)wall : 0;
}
