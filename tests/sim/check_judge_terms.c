/*
 * The judge's own test, of terms of a hold's own: for each rule a history that
 * breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define ASKS(terms)							\
	"rules danger=10000 blind\n0 A start\n0 B start\n"		\
	"10 c1@A acquire x r1 " terms "\n"
#define HAS(more) "10 c1@A told r1 hold=1 token=100 " more "\n"
#define ENDS "until=5010 ends=5010"
#define UNTIL "until=19000"
#define WARNED "10000 c1@A danger 1 until=19000\n"

/* It asks once more and releases it once; its daemon reads of that later. */
#define SLEPT								\
	"1000 A pause\n1100 c1@A acquire x r3 reentrant\n"		\
	"1200 c1@A release 1 r4\n2000 A resume\n"			\
	"2000 c1@A told r3 hold=1 token=100 until=19000\n"		\
	"2000 c1@A told r4\n"

static const struct judge_case terms[] = {
	{ "T9", "an end that was not asked for", ASKS("max-hold=5000"),
	    HAS("until=5011 ends=5011"), HAS(ENDS),
	    "5010 c1@A lost 1 max_hold\n", 0 },
	{ "T9", "a deadline beyond its end", ASKS("max-hold=5000"),
	    HAS("until=5011 ends=5010"), HAS(ENDS),
	    "5010 c1@A lost 1 max_hold\n", 0 },
	{ "T9", "it had it long enough, but not yet",
	    ASKS("max-hold=5000") HAS(ENDS), "5009 c1@A lost 1 max_hold\n",
	    "5010 c1@A lost 1 max_hold\n", NULL, 0 },
	{ "T3", "it had it too long", ASKS("max-hold=5000") HAS(ENDS),
	    "5011 c1@A lost 1 max_hold\n", "5010 c1@A lost 1 max_hold\n",
	    NULL, 0 },
	{ "T3", "a renewal is no reason to have it longer",
	    ASKS("max-hold=5000") HAS(ENDS) "3000 A renewed until=22000\n",
	    "5011 c1@A leaves\n", "5010 c1@A lost 1 max_hold\n", NULL, 0 },
	{ "T9", "it was heard", ASKS("keepalive=3000") HAS(UNTIL)
	    "2000 c1@A talks\n", "4999 c1@A lost 1 keepalive\n",
	    "5000 c1@A lost 1 keepalive\n", NULL, 0 },
	{ "T9", "nobody promised anything", ASKS("") HAS(UNTIL),
	    "4999 c1@A lost 1 keepalive\n", "4999 c1@A leaves\n", NULL, 0 },
	{ "T9", "it is silent and nobody minds", ASKS("keepalive=3000")
	    HAS(UNTIL) "2000 c1@A talks\n", "5002 c1@A leaves\n",
	    "5001 c1@A leaves\n", NULL, 0 },
	{ "T9", "it spoke while nobody could hear", ASKS("keepalive=3000")
	    HAS(UNTIL) "1000 A pause\n1500 c1@A talks\n6000 A resume\n",
	    "9003 c1@A leaves\n", "9002 c1@A leaves\n", NULL, 0 },
	{ "T9", "what its client renewed is not renewed",
	    ASKS("manual") HAS(UNTIL) "9000 c1@A renew 1 r2\n",
	    "9010 c1@A told r2 until=19000\n",
	    "9010 c1@A told r2 until=19001\n", "9500 c1@A leaves\n", 0 },
	{ "T9", "nor by a daemon whose clock is slow", "rules danger=10000 "
	    "blind\n0 A start rate=-50000\n10 c1@A acquire x r1 manual\n"
	    "10 c1@A told r1 hold=1 token=100 until=20000\n",
	    "529 c1@A renew 1 r2\n530 c1@A told r2 until=20000\n",
	    "528 c1@A renew 1 r2\n530 c1@A told r2 until=20000\n",
	    "9500 c1@A leaves\n", 0 },
	{ "4", "it had it twice, and was heard late", ASKS("reentrant")
	    HAS(UNTIL) SLEPT, "2100 c1@A release 1 r5\n2100 c1@A told r5\n"
	    "2200 c1@A lost 1 stolen\n", "2200 c1@A lost 1 stolen\n", NULL,
	    5000 },
	{ "T2", "it wanted to be warned earlier", ASKS("danger=5000")
	    HAS(UNTIL), WARNED, "5000 c1@A danger 1 until=19000\n",
	    "10500 c1@A leaves\n", 0 },
	{ "T2", "it wanted to be warned later", ASKS("danger=15000")
	    HAS(UNTIL), WARNED, "15000 c1@A danger 1 until=19000\n",
	    "15500 c1@A leaves\n", 0 },
	{ "T2", "it wanted no warning", ASKS("unwarned")
	    HAS(UNTIL), WARNED, "10000 c1@A talks\n", "10500 c1@A leaves\n",
	    0 },
};

#define TABLE(terms)							\
	"0 A start\n0 B start\n0 A session a open\n"			\
	"0 B session b open\n"						\
	"10 c1@A acquire x r1 " terms "\n10 A lock x a/g1 token=200\n"	\
	HAS("until=510 ends=510") "20 c2@A acquire x r2 wait=9000\n"	\
	"510 c1@A lost 1 max_hold\n"

static const struct judge_case gaps[] = {
	{ "T9", "handed over in the gap", TABLE("max-hold=500"),
	    "1509 c2@A told r2 hold=2 token=101 until=19000\n",
	    "1510 c2@A told r2 hold=2 token=101 until=19000\n",
	    "1600 c2@A leaves\n", 1700 },
	{ "R5", "given back in the gap", TABLE("max-hold=500"),
	    "1509 A lock x token=200 ttl=700000\n",
	    "1510 A lock x token=200 ttl=700000\n", NULL, 1700 },
};

/* It asks to share its lock and leaves before the answer. If the lock is for a
 * process, the hold does not change; when the write lands, it is shared. */
#define DOWNGRADES(terms)						\
	"rules danger=10000\n0 A start\n0 B start\n"			\
	"0 A session a open\n0 B session b open\n"			\
	"5 hand lock x token=90 ttl\n"					\
	"10 c1@A acquire x r1 " terms "\n10 A lock x a/g1 token=200\n"	\
	HAS(UNTIL) "5000 c1@A downgrade 1 r2 shared\n"
#define LEAVES "5500 c1@A leaves\n"
#define SHARES "6000 A lock x a/g2 token=201 shared sent=5000\n"
#define SECOND "6500 c2@B acquire x r3 shared\n"			\
	"7000 B lock x a/g2 b/g3 token=202 shared\n"			\
	"7000 c2@B told r3 hold=1 token=202 until=19000\n"

static const struct judge_case processes[] = {
	{ "5", "nobody is told of what is for no process",
	    "", DOWNGRADES("") LEAVES WARNED,
	    DOWNGRADES("process=4") LEAVES WARNED, NULL, 10500 },
	{ "T2", "its process is not warned", DOWNGRADES("process=4") LEAVES,
	    "10001 A pause\n", WARNED, NULL, 10002 },
	{ "R5", "given back though its process has it",
	    DOWNGRADES("process=4") LEAVES,
	    "6000 A lock x token=200 ttl\n",
	    "5900 c1@A outlived process=4\n6000 A lock x token=200 ttl\n",
	    NULL, 10000 },
	{ "R5", "given back at the end of another process",
	    DOWNGRADES("process=4") LEAVES,
	    "5900 c1@A outlived process=5\n6000 A lock x token=200 ttl\n",
	    "5900 c1@A outlived process=4\n6000 A lock x token=200 ttl\n",
	    NULL, 10000 },
	{ "5", "what it has released is no process's",
	    DOWNGRADES("process=4"), "5100 c1@A release 1 r4\n" LEAVES WARNED,
	    LEAVES WARNED, NULL, 10500 },
	{ "1", "its process has it alone until it is shared",
	    DOWNGRADES("process=4") LEAVES,
	    "6500 c2@B acquire x r3 shared\n"
	    "6600 hand lock x a/g1 b/g3 token=202 shared\n"
	    "7000 c2@B told r3 hold=1 token=202 until=19000\n",
	    SHARES SECOND "8000 c1@A outlived process=4\n"
	    "8000 c2@B leaves\n", NULL, 10000 },
};

#define ONE_MORE "20 c1@A told r2 hold=2 token=7 until=19000\n"

/* A host that is drained, and one whose clients may have fewer holds. */
static const struct judge_case orders[] = {
	{ "D1", "granted after all", "rules blind\n0 A start\n"
	    "10 c1@A acquire x r1\n20 A return\n", "20 A withdraw\n"
	    "20 c1@A told r1 hold=1 token=100 until=19000\n",
	    "20 c1@A told r1 hold=1 token=100 until=19000\n20 A withdraw\n",
	    "30 c1@A leaves\n", 0 },
	{ "6", "it is not told at once", "0 A start\n"
	    "10 c1@A acquire x r1 wait=90000\n20 A withdraw\n",
	    "21 c1@A told r1 code=-32\n", "20 c1@A told r1 code=-32\n",
	    "30 c1@A leaves\n", 0 },
	{ "D2", "refused when it is over", "0 A start\n10 A withdraw\n"
	    "10 A return\n20 c1@A acquire x r1\n",
	    "20 c1@A told r1 code=-32\n", "20 c1@A told r1 code=-2\n",
	    "30 c1@A leaves\n", 0 },
	{ "7", "one more than there may be now", "rules blind\n0 A start\n"
	    "10 c1@A acquire x r1\n10 c1@A told r1 hold=1 token=100 "
	    "until=19000\n20 c1@A acquire y r2\n",
	    "19 A limit holds=1\n" ONE_MORE,
	    "20 A limit holds=1\n" ONE_MORE, "30 c1@A leaves\n", 0 },
};

START_TEST(test_orders)
{
	judge_cases(JUDGE_CASES(orders));
}
END_TEST

START_TEST(test_processes)
{
	judge_cases(JUDGE_CASES(processes));
}
END_TEST

START_TEST(test_terms)
{
	judge_cases(JUDGE_CASES(terms));
}
END_TEST

START_TEST(test_gaps)
{
	judge_cases(JUDGE_CASES(gaps));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_terms,
		test_gaps,
		test_processes,
		test_orders,
		NULL,
	};

	return suite_run("judge of terms", tests);
}
