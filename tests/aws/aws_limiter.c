/*
 * Says what rate it allows, for test_adaptive.py: a line "MILLISECONDS 0|1"
 * comes in for each answer (1: throttled), and the rate, the tokens and the
 * rate that was measured go out.
 */
#include <inttypes.h>
#include <stdio.h>

#include "aws/rate_limit.h"

int
main(void)
{
	struct rate_limit l;
	uint64_t now_ms;
	int throttled;

	if (scanf("%" SCNu64, &now_ms) != 1)
		return 2;
	rate_limit_init(&l, now_ms);
	while (scanf("%" SCNu64 " %d", &now_ms, &throttled) == 2) {
		rate_limit_answered(&l, throttled != 0, now_ms);
		printf("%.17g %.17g %.17g\n", l.rate, l.tokens, l.measured);
	}
	return 0;
}
