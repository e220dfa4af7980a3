/*
 * The judge's own test, of a table that is restored from a backup, and of
 * tokens that are raised: for each rule a history that breaks it, and its
 * nearest neighbour that does not.
 */
#include "judge_case.h"

#define HOSTS JUDGE_THREE_HOSTS
/* A has x, with one token of the second 3. */
#define HELD HOSTS							\
	"10 c1@A acquire x r1\n"					\
	"10 A lock x a/g1 token=3145730\n"				\
	"10 c1@A told r1 hold=1 token=3145730 until=19000\n"
#define FREED HELD							\
	"30 c1@A release 1 r3\n"					\
	"30 A lock x token=3145730 ttl=604800\n"			\
	"30 c1@A told r3\n"
#define RESTORED FREED							\
	"5000 hand lock x token=50 ttl=604800\n"			\
	"5000 A session a beat=5000\n"					\
	"5000 B session b beat=5000\n"
#define RAISES "9000 c5@A raise x r7\n"
#define RAISED "9010 A lock x token=4194304 ttl=604800\n"
#define ANSWERED "9020 c5@A told r7 token=4194304\n"
/* B had y; and A sees by x that tokens went back. */
#define NOTICED RESTORED						\
	"5001 B lock y b/g2 token=3145730\n"				\
	"5001 c2@B acquire y r8\n"					\
	"5001 c2@B told r8 hold=1 token=3145730 until=24000\n"		\
	"5002 c2@B release 1 r9\n"					\
	"5002 B lock y token=3145730 ttl=604800\n"			\
	"5002 c2@B told r9\n"						\
	"5003 hand lock y token=50 ttl=604800\n"			\
	"8000 c1@A acquire x r4\n"					\
	"8001 A lock x a/g3 token=60\n"					\
	"8002 A lock x a/g3 token=9437200\n"				\
	"8003 c1@A told r4 hold=2 token=9437190 until=24000\n"		\
	"8010 c6@A acquire y r5\n"					\
	"8011 A lock y a/g4 token=60\n"
#define LEFT "8030 c6@A leaves\n8030 c1@A leaves\n"
#define BEATS								\
	"5000 A session a beat=5000\n5000 A renewed until=24000\n"	\
	"19000 A session a beat=19000\n19000 A renewed until=38000\n"

static const struct judge_case restored[] = {
	{ "R8", "it is no whole second", RESTORED RAISES,
	    "9010 A lock x token=4194305 ttl=604800\n", RAISED,
	    "9020 c5@A told r7\n", 0 },
	{ "R8", "another host was asked", RESTORED RAISES,
	    "9010 B lock x token=4194304 ttl=604800\n", RAISED, ANSWERED, 0 },
	{ "R8", "before it was asked", RESTORED,
	    "8999 A lock x token=4194304 ttl=604800\n" RAISES,
	    RAISES RAISED, ANSWERED, 0 },
	{ "R23", "there were higher tokens", RESTORED RAISES,
	    "9010 A lock x token=3145728 ttl=604800\n", RAISED,
	    "9020 c5@A told r7\n", 0 },
	{ "R23", "it is not there", RESTORED RAISES, ANSWERED,
	    RAISED ANSWERED, NULL, 0 },
	{ "R22", "nothing is known of this lock, but of another", NOTICED,
	    "8020 c6@A told r5 hold=3 token=60 until=24000\n",
	    "8019 A lock y a/g4 token=9437200\n"
	    "8020 c6@A told r5 hold=3 token=9437190 until=24000\n", LEFT, 0 },
	{ "R17", "more than was ever written for it",
	    HELD "20 A lock x a/g1 token=3145740\n"
	    "30 hand lock x a/g1 token=3145731\n"
	    "40 c3@A acquire x r4\n41 c1@A release 1 r5\n",
	    "41 c3@A told r4 hold=2 token=3145741 until=19000\n",
	    "41 c3@A told r4 hold=2 token=3145740 until=19000\n",
	    "42 c1@A told r5\n50 c3@A leaves\n", 0 },
	{ "R13", "it never had that beat", HELD BEATS,
	    "30000 hand session a beat=5001\n30001 B session a dead\n",
	    "30000 hand session a beat=5000\n30001 B session a dead\n",
	    "30010 c1@A lost 1 expired\n", 0 },
	{ "R13", "it beat again", HELD BEATS "30000 hand session a beat=5000\n",
	    "30001 A session a beat=30001\n30002 B session a dead\n",
	    "30001 B session a dead\n", "30010 c1@A lost 1 expired\n", 0 },
	{ "R18", "it was never there", "rules audit=1000\n" FREED
	    "40 quiet\n",
	    "41 hand lock x a/g2 token=3145730\n",
	    "41 hand lock x a/g1 token=3145730\n", NULL, 100000 },
	{ "F4", "it was never there",
	    "rules handovers=1 audit=1000\n" HELD,
	    "",
	    "15 B lock x a/g1 token=3145730 +b\n"
	    "16 B lock x a/g1 token=3145730\n",
	    "30 c1@A release 1 r3\n"
	    "30 A lock x token=3145730 ttl=604800\n30 c1@A told r3\n"
	    "35 hand lock x token=3145730 ttl=604800 +b\n40 quiet\n"
	    "50000 B session b beat=50000\n", 60000 },
	{ "F7", "a restored line may be taken for the one before",
	    HELD "20 B lock x a/g1 token=3145730 +b >b\n"
	    "30 C lock x a/g1 token=3145730 +b +c >b >c\n"
	    "35 c3@C acquire x r4 wait=90000\n"
	    "999 c1@A release 1 r5\n"
	    "1000 A lock x token=3145730 +b +c >b >c ttl=604800\n"
	    "1001 c1@A told r5\n", "",
	    "1002 hand lock x token=3145730 +b +c >b >c ttl=604800\n",
	    "1100 C lock x c/g2 token=3145740 +b\n"
	    "1101 c3@C told r4 hold=1 token=3145735 until=19000\n"
	    "1200 c3@C leaves\n", 0 },
};

START_TEST(test_restored)
{
	judge_cases(JUDGE_CASES(restored));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { test_restored, NULL };

	return suite_run("judge restored", tests);
}
