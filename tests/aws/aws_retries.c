/*
 * Says what it repeats, and when, for test_retries.py.
 *
 *     aws_retries budget
 *         a line "OPERATION 0|1|2" comes in for each answer (0: a success;
 *         2: throttled): whether there may be a repetition, and what is left
 *     aws_retries waits
 *         a line "0|1 FAILED RANDOM ASKED" (1: throttled; so many attempts
 *         failed; 32 random bits; ms that the endpoint asks for): ms to wait
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aws/retry.h"
#include "aws/retry_budget.h"

#define OPERATIONS 16
#define FAR_MS (UINT64_C(1) << 40)	/* a deadline that is in no way */

static void
budget(void)
{
	uint32_t costs[OPERATIONS] = { 0 };
	struct retry_budget b;
	unsigned i, answer;

	retry_budget_init(&b, 0);
	while (scanf("%u %u", &i, &answer) == 2 && i < OPERATIONS) {
		bool granted = answer != 0 && retry_budget_take(&b,
		    answer == 2, false, 0, &costs[i]) == RETRY_GRANTED;

		if (answer == 0)
			retry_budget_succeeded(&b, costs[i]);
		if (!granted)
			costs[i] = 0;
		printf("%d %u\n", granted, b.left);
	}
}

static void
waits(void)
{
	uint64_t asked_ms, wait_ms;
	uint32_t failed, random;
	unsigned throttled;

	while (scanf("%u %" SCNu32 " %" SCNu32 " %" SCNu64, &throttled,
	    &failed, &random, &asked_ms) == 4) {
		struct retry r;

		retry_init(&r, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_MS);
		r.attempts = failed - 1;
		if (!retry_next(&r, throttled != 0 ? AWS_CLASS_THROTTLED :
		    AWS_CLASS_TRANSIENT, 0, FAR_MS, random, &wait_ms))
			printf("never\n");
		else
			printf("%" PRIu64 "\n", retry_heed(&r, wait_ms,
			    asked_ms, 0, FAR_MS));
	}
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "budget") == 0)
		budget();
	else if (argc == 2 && strcmp(argv[1], "waits") == 0)
		waits();
	else
		return 64;
	return 0;
}
