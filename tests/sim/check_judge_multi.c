/*
 * The judge's own test, of several locks that are requested as one: for each
 * rule a history that breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define STARTS								\
	"0 A start\n0 B start\n"					\
	"1 A session a open\n1 B session b open\n"
#define ASKS								\
	"20 c1@A acquire x r1 joint=1 wait=900000\n"			\
	"20 c1@A acquire y r2 joint=1 wait=900000\n"
#define WAITS "122239 c1@A leaves\n"
#define WAITS_ON "122241 c1@A leaves\n"

static const struct judge_case several[] = {
	{ "J2", "nobody holds any of them", STARTS "10 quiet\n" ASKS,
	    WAITS_ON, WAITS, NULL, 0 },
	{ "J2", "it asked before it was quiet", STARTS ASKS "30 quiet\n",
	    "122261 c1@A leaves\n", "122259 c1@A leaves\n", NULL, 0 },
	{ "J2", "somebody held one of them, and is gone", STARTS
	    "9 c2@B acquire y r3\n9 B lock y b/g1 token=100\n"
	    "9 c2@B told r3 hold=1 token=91 until=19000\n10 quiet\n" ASKS
	    "15000 c2@B release 1 r4\n15001 B lock y token=100 ttl\n"
	    "15001 c2@B told r4\n", "124182 c1@A leaves\n",
	    "124180 c1@A leaves\n", NULL, 0 },
};

START_TEST(test_several)
{
	judge_cases(JUDGE_CASES(several));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_several,
		NULL,
	};

	return suite_run("judge of several locks", tests);
}
