/*
 * The judge's own test, of the contents of locks: for each rule a history that
 * breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define STARTS								\
	"0 A start\n0 B start\n"					\
	"1 A session a open\n1 B session b open\n"
#define BROUGHT STARTS							\
	"9 c1@A acquire x r1 data=1\n10 A lock x a/g1 token=100\n"	\
	"11 A lock x a/g1 token=100 data=1\n"
#define HELD BROUGHT							\
	"12 c1@A told r1 hold=1 token=91 until=19000\n"
#define LEAVES "100 c1@A leaves\n100 c2@A leaves\n"

static const struct judge_case kept[] = {
	{ "K1", "what it brought is not there", BROUGHT,
	    "11 A lock x a/g1 token=100\n"
	    "12 c1@A told r1 hold=1 token=91 until=19000\n",
	    "12 c1@A told r1 hold=1 token=91 until=19000\n", LEAVES, 200 },
	{ "K1", "the next is told something else", HELD
	    "20 c2@A acquire x r2 wait=9000\n30 c1@A release 1 r3\n"
	    "30 c1@A told r3\n",
	    "31 c2@A told r2 hold=2 token=92 until=19000\n",
	    "31 c2@A told r2 hold=2 token=92 until=19000 data=1\n", LEAVES,
	    200 },
	{ "K2", "a note that was never written", HELD
	    "20 c1@A renew 1 r2 note=2\n",
	    "30 c1@A told r2 until=19001\n",
	    "29 A lock x a/g1 token=100 data=1 note=2\n"
	    "30 c1@A told r2 until=19001\n", LEAVES, 200 },
	{ "K3", "by a host that has it not", HELD
	    "20 c1@A renew 1 r2 note=2\n",
	    "29 B lock x a/g1 token=100 data=1 note=2\n",
	    "29 A lock x a/g1 token=100 data=1 note=2\n", LEAVES, 200 },
	{ "K3", "what was acknowledged is gone", HELD
	    "20 c1@A renew 1 r2 data=2\n",
	    "29 A lock x a/g1 token=100\n",
	    "29 A lock x a/g1 token=100 data=2\n", LEAVES, 200 },
	{ "K3", "what was acknowledged goes with a release", HELD,
	    "20 c1@A release 1 r2\n29 A lock x a/g1 token=100\n",
	    "20 c1@A release 1 r2 clears\n29 A lock x a/g1 token=100\n",
	    LEAVES, 200 },
	{ "K3", "what was given up comes under the next", HELD
	    "20 c1@A renew 1 r2 note=2\n25 c1@A told r2 code=-2\n"
	    "26 c1@A leaves\n27 c3@A acquire x r3\n",
	    "28 c3@A told r3 hold=2 token=92 until=19000 data=1\n"
	    "29 A lock x a/g1 token=100 data=1 note=2\n",
	    "28 A lock x a/g1 token=100 data=1 note=2\n"
	    "29 c3@A told r3 hold=2 token=92 until=19000 data=1 note=2\n",
	    "100 c3@A leaves\n", 200 },
	{ "W4", "who watches it is not told", "rules blind\n" HELD
	    "15 c2@B watch x r9\n16 c2@B told r9 held token=100\n"
	    "17 quiet\n20 c1@A renew 1 r2 note=2\n"
	    "29 A lock x a/g1 token=100 data=1 note=2\n"
	    "30 c1@A told r2 until=90000\n", "70000 c2@B leaves\n",
	    "31 c2@B changed x held token=100\n70000 c2@B leaves\n",
	    "70001 c1@A leaves\n", 70002 },
};

START_TEST(test_kept)
{
	judge_cases(JUDGE_CASES(kept));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_kept,
		NULL,
	};

	return suite_run("judge of what is kept", tests);
}
