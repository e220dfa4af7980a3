/*
 * Says what repetitions it grants, for test_budget.py: a line "OPERATION 0|1|2"
 * comes in for each answer (0: a success; 2: throttled), and whether there may
 * be a repetition and what is left go out.
 */
#include <stdio.h>

#include "aws/retry_budget.h"

#define OPERATIONS 16

int
main(void)
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
	return 0;
}
