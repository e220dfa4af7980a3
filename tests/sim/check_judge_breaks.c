/*
 * The judge's own test, of breaks, and of holds that only a break ends: for
 * each rule a history that breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define HELD								\
	"0 A start\n"							\
	"0 B start\n"							\
	"0 A session a open\n"						\
	"0 B session b open\n"						\
	"5 hand lock x token=90 ttl\n"					\
	"10 c1@A acquire x r1\n"					\
	"10 A lock x a/g1 token=100\n"					\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define BROKEN(host) "50 " host " lock x token=100 ttl broken-by\n"
#define TOLD "60 c1@A lost 1 broken\n"

static const struct judge_case breaks[] = {
	{ "R19", "which nobody asked for", HELD,
	    BROKEN("B"), "49 c9@B break x r9 token=100\n" BROKEN("B"),
	    TOLD, 0 },
	{ "R19", "which was asked for at another host", HELD,
	    "49 c9@A break x r9 token=100\n" BROKEN("B"),
	    "49 c9@B break x r9 token=100\n" BROKEN("B"), TOLD, 0 },
	{ "R19", "which was asked for later", HELD,
	    "49 B lock x token=100 ttl broken-by\n50 c9@B break x r9"
	    " token=100\n",
	    "49 c9@B break x r9 token=100\n" BROKEN("B"), TOLD, 0 },
	{ "R19", "of somebody who came after it was looked at", HELD,
	    "49 c9@B break x r9 token=90\n" BROKEN("B"),
	    "49 c9@B break x r9 token=91\n" BROKEN("B"), TOLD, 0 },
	{ "R19", "not of all",
	    "0 A start\n0 B start\n0 A session a open\n"
	    "0 B session b open\n"
	    "10 c1@A acquire x r1 shared\n"
	    "10 A lock x a/g1 token=100 shared\n"
	    "10 c1@A told r1 hold=1 token=100 until=19000\n"
	    "20 c2@B acquire x r2 shared\n"
	    "20 B lock x a/g1 b/g2 token=101 shared\n"
	    "20 c2@B told r2 hold=1 token=101 until=19000\n"
	    "49 c9@B break x r9 token=101\n",
	    "50 B lock x b/g2 token=101 shared broken-by\n",
	    "50 B lock x token=101 shared broken-by ttl\n",
	    TOLD "60 c2@B lost 1 broken\n", 0 },
	{ "R19", "and the next holder is called broken", HELD
	    "49 c9@B break x r9 token=100\n" BROKEN("B")
	    "52 c2@B acquire x r2\n",
	    "55 B lock x b/g2 token=101 broken-by\n",
	    "55 B lock x b/g2 token=101\n",
	    TOLD "61 c2@B told r2 code=-1\n", 0 },
	{ "T8", "its own daemon breaks it and does not tell", HELD
	    "49 c9@A break x r9 token=100\n" BROKEN("A"),
	    "55 c9@A told r9\n60 c1@A lost 1 broken\n",
	    "54 c1@A lost 1 broken\n55 c9@A told r9\n", NULL, 0 },
};

#define CLOSED								\
	"0 A start\n"							\
	"0 A session a open\n"						\
	"10 c1@A acquire x r1 fail-closed\n"				\
	"10 A lock x a/g1! token=100\n"					\
	"10 c1@A told r1 hold=1 token=100 for-ever\n"

static const struct judge_case closed[] = {
	{ "T10", "a loss by time", CLOSED, "19000 c1@A lost 1 expired\n",
	    "30 hand lock x token=100 ttl\n19000 c1@A lost 1 broken\n",
	    NULL, 0 },
	{ "T10", "a deadline",
	    "0 A start\n0 A session a open\n"
	    "10 c1@A acquire x r1 fail-closed\n"
	    "10 A lock x a/g1! token=100\n",
	    "10 c1@A told r1 hold=1 token=100 until=19000\n",
	    "10 c1@A told r1 hold=1 token=100 for-ever\n", NULL, 0 },
	{ "R16", "an element that is not",
	    "0 A start\n0 A session a open\n"
	    "10 c1@A acquire x r1 fail-closed\n",
	    "10 A lock x a/g1 token=100\n",
	    "10 A lock x a/g1! token=100\n",
	    "10 c1@A told r1 hold=1 token=100 for-ever\n", 0 },
	{ "R20", "what its client left is taken out", CLOSED,
	    "30 c1@A leaves\n40 A lock x token=100 ttl\n",
	    "30 c1@A release 1 r2\n31 c1@A leaves\n"
	    "40 A lock x token=100 ttl\n", NULL, 0 },
};

/* A cuts c1 off at 1 s. c1 may be at work for a margin; with a linger, until
 * its deadline and a margin. The acquire of c1 lands again, late, after a
 * break. */
#define CUT_OFF(terms)							\
	"0 A start\n0 B start\n"					\
	"0 A session a open\n0 B session b open\n"			\
	"5 hand lock x token=90 ttl\n"					\
	"10 c1@A acquire x r1 " terms "\n10 A lock x a/g1 token=100\n"	\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define CUT "1000 c1@A leaves cut_off\n"
#define BREAK(host)							\
	"500 c9@" host " break x r9 token=100\n"			\
	"510 " host " lock x token=100 ttl broken-by\n"
#define LATE_BREAK(host)						\
	"1100 c9@" host " break x r9 token=100\n"			\
	"1110 " host " lock x token=100 ttl broken-by\n"
#define LANDS(at) at " A lock x a/g1 token=101 sent=10\n"
#define GIVES(at, token) at " A lock x token=" token " ttl\n"

static const struct judge_case cut_off[] = {
	{ "R5", "given back in the gap", CUT_OFF("") CUT,
	    GIVES("1999", "100"), GIVES("2000", "100"), NULL, 2500 },
	{ "R5", "given back in the gap, and not broken", CUT_OFF("") CUT,
	    GIVES("1500", "100"),
	    LATE_BREAK("A") LANDS("1200") GIVES("1500", "101"), NULL, 2500 },
	{ "R5", "not broken at another host", CUT_OFF("") CUT,
	    GIVES("1500", "100"),
	    LATE_BREAK("B") LANDS("1200") GIVES("1500", "101"), NULL, 2500 },
	{ "R5", "broken and landed before it was lost",
	    CUT_OFF("") BREAK("B"),
	    LANDS("600") CUT GIVES("1500", "101"),
	    CUT LANDS("1200") GIVES("1500", "101"), NULL, 2500 },
	{ "R5", "who had it before was broken", "0 A start\n0 B start\n"
	    "0 A session a open\n0 B session b open\n"
	    "5 hand lock x token=90 ttl\n"
	    "6 c3@A acquire x r3\n6 A lock x a/g0 token=91\n"
	    "6 c3@A told r3 hold=3 token=91 until=19000\n"
	    "7 c9@A break x r9 token=91\n"
	    "8 A lock x token=91 ttl broken-by\n8 c3@A lost 3 broken\n"
	    "9 c9@A told r9\n"
	    "10 c1@A acquire x r1\n10 A lock x a/g1 token=100\n"
	    "10 c1@A told r1 hold=1 token=100 until=19000\n" CUT,
	    GIVES("1500", "100"), GIVES("2000", "100"), NULL, 2500 },
	{ "R5", "what it may resume is given back before its deadline",
	    CUT_OFF("linger=3000 user=7") CUT, GIVES("15000", "100"),
	    LATE_BREAK("A") "1120 c9@A told r9\n" LANDS("1200")
	    GIVES("1500", "101"), NULL, 15000 },
};

START_TEST(test_cut_off)
{
	judge_cases(JUDGE_CASES(cut_off));
}
END_TEST

START_TEST(test_closed)
{
	judge_cases(JUDGE_CASES(closed));
}
END_TEST

START_TEST(test_breaks)
{
	judge_cases(JUDGE_CASES(breaks));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_breaks,
		test_closed,
		test_cut_off,
		NULL,
	};

	return suite_run("judge of breaks", tests);
}
