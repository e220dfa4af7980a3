/*
 * The judge's own test, of the line: for each rule a history that breaks it,
 * and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define HOSTS JUDGE_THREE_HOSTS
#define HELD								\
	"10 c1@A acquire x r1\n"					\
	"10 A lock x a/g1 token=100\n"					\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define IN_LINE								\
	"20 B lock x a/g1 token=100 +b >b\n"				\
	"30 C lock x a/g1 token=100 +b +c >b >c\n"
/* Free at 1000: the next one's until 2250, by a slow clock a little later. */
#define FREE								\
	"999 c1@A release 1 r5\n"					\
	"1000 A lock x token=100 +b +c >b >c ttl=604800\n"		\
	"1001 c1@A told r5\n"
#define ASKS "35 c3@C acquire x r3 wait=90000\n"

static const struct judge_case line[] = {
	{ "R21", "it comes in before another", HOSTS HELD
	    "20 B lock x a/g1 token=100 +b >b\n",
	    "30 C lock x a/g1 token=100 +b +c >c >b\n",
	    "30 C lock x a/g1 token=100 +b +c >b >c\n",
	    "40 c1@A leaves\n", 0 },
	{ "R21", "another host is put in it", HOSTS HELD,
	    "30 C lock x a/g1 token=100 +b >b\n",
	    "30 B lock x a/g1 token=100 +b >b\n", "40 c1@A leaves\n", 0 },
	{ "R21", "its order changes", HOSTS HELD IN_LINE,
	    "40 B lock x a/g1 token=100 +b +c >c >b\n",
	    "40 B lock x a/g1 token=100 +c >c\n", "40 c1@A leaves\n", 0 },
	{ "R21", "it is longer than it may be", "rules line=1\n" HOSTS HELD
	    "20 B lock x a/g1 token=100 +b >b\n",
	    "30 C lock x a/g1 token=100 +b +c >b >c\n",
	    "30 C lock x a/g1 token=100 +b &c >b\n", "40 c1@A leaves\n", 0 },
	{ "R21", "a lock that is free has none yet",
	    HOSTS HELD "999 c1@A release 1 r5\n"
	    "1000 A lock x token=100 ttl=604800\n1001 c1@A told r5\n",
	    "1010 B lock x token=100 ttl=604800 >b\n",
	    "1010 B lock x token=100 ttl=604800\n", NULL, 0 },
	{ "F7", "it is taken before the next one's time is over",
	    HOSTS HELD IN_LINE ASKS FREE,
	    "2240 C lock x c/g3 token=101 +b\n",
	    "2270 C lock x c/g3 token=101 +b\n",
	    "2280 c3@C told r3 hold=1 token=101 until=19000\n"
	    "2290 c3@C leaves\n", 0 },
	{ "F7", "a host that stands in no line takes it",
	    HOSTS HELD "20 B lock x a/g1 token=100 +b >b\n" ASKS
	    "999 c1@A release 1 r5\n"
	    "1000 A lock x token=100 +b >b ttl=604800\n1001 c1@A told r5\n",
	    "1100 C lock x c/g3 token=101 +b >b\n",
	    "1100 B lock x token=100 ttl=604800\n"
	    "1100 C lock x c/g3 token=101\n",
	    "1110 c3@C told r3 hold=1 token=101 until=19000\n"
	    "1120 c3@C leaves\n", 0 },
	{ "F7", "one that lives is taken out", HOSTS HELD IN_LINE,
	    "40 A lock x a/g1 token=100 +c >c\n",
	    "40 B lock x a/g1 token=100 +c >c\n", "50 c1@A leaves\n", 0 },
};

START_TEST(test_line)
{
	judge_cases(JUDGE_CASES(line));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_line,
		NULL,
	};

	return suite_run("judge of lines", tests);
}
