/*
 * The judge's own test, of shared locks: for each rule a history that breaks
 * it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

/* ---- what clients are told -------------------------------------------- */

#define STARTS "rules blind\n0 A start\n0 B start\n"
#define FIRST(use)							\
	"10 c1@A acquire x r1 " use "\n"				\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define SECOND(use, token)						\
	"20 c2@B acquire x r2 " use "\n"				\
	"20 c2@B told r2 hold=1 token=" token " until=19000\n"
#define THIRD(use, token)						\
	"30 c3@B acquire x r3 " use "\n"				\
	"30 c3@B told r3 hold=2 token=" token " until=19000\n"
#define LOST_ALL "19000 c1@A lost 1 expired\n19000 c2@B lost 1 expired\n"

static const struct judge_case told[] = {
	{ "1", "alone beside one who shares it", STARTS FIRST("shared"),
	    SECOND("", "101"), SECOND("shared", "101"), LOST_ALL, 0 },
	{ "1", "shared beside one who has it alone", STARTS,
	    FIRST("") SECOND("shared", "101"),
	    FIRST("shared") SECOND("shared", "101"), LOST_ALL, 0 },
	{ "1", "another limit", STARTS FIRST("shared limit=2"),
	    SECOND("shared limit=3", "101"), SECOND("shared limit=2", "101"),
	    LOST_ALL, 0 },
	{ "1", "a limit beside none", STARTS FIRST("shared"),
	    SECOND("shared limit=3", "101"), SECOND("shared", "101"),
	    LOST_ALL, 0 },
	{ "1", "one more than the limit",
	    STARTS FIRST("shared limit=2") SECOND("shared limit=2", "101"),
	    THIRD("shared limit=2", "102") "40 c1@A leaves\n",
	    "29 c1@A leaves\n" THIRD("shared limit=2", "102"),
	    "19000 c2@B lost 1 expired\n19000 c3@B lost 2 expired\n", 0 },
	{ "3", "one of a semaphore does not hear of its loss",
	    STARTS FIRST("shared limit=1")
	    "20 c2@B acquire x r2 shared limit=1 wait=90000\n",
	    "19000 c2@B told r2 hold=1 token=101 until=30000\n",
	    "19000 c1@A lost 1 expired\n"
	    "19000 c2@B told r2 hold=1 token=101 until=30000\n",
	    "30000 c2@B lost 1 expired\n", 0 },
	{ "2", "who shares it has the token of one who had it alone",
	    STARTS FIRST("") "15 c1@A leaves\n", SECOND("shared", "100"),
	    SECOND("shared", "101"), "19000 c2@B lost 1 expired\n", 0 },
	{ "2", "those who share it have any tokens above that",
	    STARTS FIRST("") "15 c1@A leaves\n" SECOND("shared", "103"),
	    THIRD("shared", "100"), THIRD("shared", "101"),
	    "19000 c2@B lost 1 expired\n19000 c3@B lost 2 expired\n", 0 },
	{ "2", "who has it alone comes after all of them",
	    STARTS FIRST("shared") SECOND("shared", "103")
	    "25 c1@A leaves\n25 c2@B leaves\n", THIRD("", "103"),
	    THIRD("", "104"), "19000 c3@B lost 2 expired\n", 0 },
	{ "F1", "who shares it comes before one who asked first",
	    STARTS FIRST("shared") "15 c2@A acquire x r2 wait=9000\n"
	    "20 c3@A acquire x r3 shared wait=9000\n",
	    "21 c3@A told r3 hold=2 token=100 until=19000\n",
	    "21 c2@A leaves\n21 c3@A told r3 hold=2 token=100 until=19000\n",
	    "22 c1@A leaves\n22 c3@A leaves\n", 0 },
};

/* ---- what the table shows --------------------------------------------- */

#define HOSTS JUDGE_THREE_HOSTS
#define HELD(use)							\
	"10 c1@A acquire x r1 shared" use "\n"				\
	"10 A lock x a/g1 shared" use " token=100\n"			\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define TWO(use) HELD(use)						\
	"20 c2@B acquire x r2 shared" use "\n"				\
	"20 B lock x a/g1 b/g2 shared" use " token=101\n"		\
	"20 c2@B told r2 hold=1 token=101 until=19000\n"
#define JOINED(at, client, request, hold)				\
	at " " client "@A acquire x " request " shared\n"		\
	at " " client "@A told " request " hold=" hold			\
	" token=100 until=19000\n"
#define RENEWED_ONCE							\
	"15000 A session a beat=15000\n15000 A renewed until=34000\n"
#define RENEWED_AGAIN							\
	"30000 A session a beat=30000\n30000 A renewed until=49000\n"
#define RENEWED RENEWED_ONCE RENEWED_AGAIN
#define WAITS(use) "20 c2@B acquire x r2 " use " wait=90000\n"
#define BOTH_LOST LOST_ALL

static const struct judge_case table[] = {
	{ "R3", "one element more than the limit",
	    HOSTS TWO(" limit=2"),
	    "30 C lock x a/g1 b/g2 c/g3 shared limit=2 token=102\n",
	    "30 C lock x a/g1 b/g2 shared limit=2 token=101 &c\n",
	    BOTH_LOST, 0 },
	{ "R3", "another limit, while it is held", HOSTS HELD(" limit=2"),
	    "30 C lock x a/g1 c/g3 shared limit=3 token=101\n",
	    "30 C lock x a/g1 c/g3 shared limit=2 token=101\n",
	    "40 c1@A leaves\n", 0 },
	{ "R3", "two elements at once", HOSTS HELD(""),
	    "30 C lock x a/g1 c/g3 c/g4 shared token=101\n",
	    "30 C lock x a/g1 c/g3 shared token=101\n",
	    "40 c1@A leaves\n", 0 },
	{ "R3", "two elements of a host for those who share it",
	    HOSTS HELD("") "20 A lock x a/g1 a/g2 shared token=101\n"
	    "20 c3@A acquire x r4 shared\n",
	    "21 c3@A told r4 hold=2 token=101 until=19000\n",
	    "21 c3@A told r4 hold=2 token=100 until=19000\n",
	    "40 c1@A leaves\n40 c3@A leaves\n", 0 },
	{ "R4", "one of a semaphore is taken out, and is not dead",
	    HOSTS TWO(" limit=2") BOTH_LOST,
	    "20300 C lock x b/g2 shared limit=2 token=101\n",
	    "20300 C session a dead\n"
	    "20300 C lock x b/g2 shared limit=2 token=101\n", NULL, 0 },
	{ "R5", "given back while one of them has it",
	    HOSTS HELD("") JOINED("20", "c3", "r4", "2")
	    "30 c1@A release 1 r5\n",
	    "31 A lock x shared token=100 ttl\n",
	    "30 c3@A leaves\n31 A lock x shared token=100 ttl\n",
	    "31 c1@A told r5\n", 0 },
	{ "R8", "a host raises the token that others share", HOSTS HELD(""),
	    "20 B lock x a/g1 shared token=101\n",
	    "20 A lock x a/g1 shared token=101\n",
	    "40 c1@A leaves\n", 0 },
	{ "R9", "who shares it still wishes to have it alone",
	    HOSTS "5 hand lock x token=90 ttl +a &b\n",
	    "10 A lock x a/g1 shared token=100 +a &b\n",
	    "10 A lock x a/g1 shared token=100 &b\n", NULL, 0 },
	{ "R16", "told of an element of another limit",
	    HOSTS HELD("") "20 c3@A acquire x r4 shared\n",
	    "20 c4@A acquire x r5 shared limit=2\n20 c3@A leaves\n"
	    "21 c4@A told r5 hold=2 token=100 until=19000\n",
	    "21 c3@A told r4 hold=2 token=100 until=19000\n",
	    "40 c1@A leaves\n40 c3@A leaves\n", 0 },
	{ "R16", "two of a semaphore with one element",
	    HOSTS HELD(" limit=2") "20 c3@A acquire x r4 shared limit=2\n",
	    "21 c3@A told r4 hold=2 token=100 until=19000\n",
	    "21 A lock x a/g1 a/g2 shared limit=2 token=101\n"
	    "21 c3@A told r4 hold=2 token=101 until=19000\n",
	    "40 c1@A leaves\n40 c3@A leaves\n", 0 },
	{ "R17", "who shares it is told a token that is not written",
	    HOSTS "10 c1@A acquire x r1 shared\n"
	    "10 A lock x a/g1 shared token=100\n",
	    "10 c1@A told r1 hold=1 token=101 until=19000\n",
	    "10 c1@A told r1 hold=1 token=100 until=19000\n",
	    "40 c1@A leaves\n", 0 },
	{ "5", "one element of two stays, and nobody has it",
	    HOSTS HELD(" limit=2") "20 c3@A acquire x r4 shared limit=2\n"
	    "21 A lock x a/g1 a/g2 shared limit=2 token=101\n"
	    "21 c3@A told r4 hold=2 token=101 until=19000\n"
	    "30 c3@A release 2 r5\n30 c3@A told r5\n40 quiet\n"
	    "15000 A session a beat=15000\n15000 A renewed until=34000\n",
	    "26321 A lock x a/g1 shared limit=2 token=101\n",
	    "26320 A lock x a/g1 shared limit=2 token=101\n",
	    "26322 c1@A leaves\n", 26323 },
};

/* ---- turns ------------------------------------------------------------ */

static const struct judge_case turns[] = {
	{ "F2", "those who share it go on, though another wants it alone",
	    "rules handovers=1\n" HOSTS HELD(""),
	    "20 B lock x a/g1 shared token=100 +b\n"
	    JOINED("9030", "c3", "r4", "2") JOINED("9040", "c4", "r5", "3")
	    JOINED("9050", "c5", "r6", "4"),
	    "20 B lock x a/g1 shared token=100 &b\n"
	    JOINED("9030", "c3", "r4", "2") JOINED("9040", "c4", "r5", "3")
	    JOINED("9050", "c5", "r6", "4"), NULL, 9060 },
	{ "F3", "a semaphore's is given back for others, and asked for again",
	    "rules handovers=1\n" HOSTS HELD(" limit=1")
	    "20 B lock x a/g1 shared limit=1 token=100 &b\n",
	    "30 c3@A acquire x r4 shared limit=1 wait=9\n"
	    "40 c1@A release 1 r3\n"
	    "41 A lock x shared limit=1 token=100 ttl &b\n41 c1@A told r3\n"
	    "50 A lock x a/g2 shared limit=1 token=101 &b sent=45\n",
	    "30 c3@A acquire x r4 wait=9\n"
	    "40 c1@A release 1 r3\n"
	    "41 A lock x shared limit=1 token=100 ttl &b\n41 c1@A told r3\n"
	    "50 A lock x a/g2 token=101 &b sent=45\n", NULL, 60 },
	{ "F5", "who waits for a full semaphore does not say so",
	    "rules handovers=1\n" HOSTS HELD(" limit=1")
	    WAITS("shared limit=1") "30 quiet\n" RENEWED,
	    "100 B lock x a/g1 shared limit=1 token=100 &a\n",
	    "100 B lock x a/g1 shared limit=1 token=100 &b\n",
	    "31361 c2@B leaves\n31362 c1@A leaves\n", 31362 },
	{ "F5", "and its own host had a place until then",
	    "rules handovers=1\n" HOSTS TWO(" limit=2")
	    "25 c4@B acquire x r4 wait=90000\n30 quiet\n"
	    "15000 B session b beat=15000\n15000 B renewed until=34000\n"
	    RENEWED_ONCE "20000 c2@B release 1 r5\n"
	    "20001 B lock x a/g1 shared limit=2 token=101\n"
	    "20001 c2@B told r5\n" RENEWED_AGAIN, "38282 c4@B leaves\n",
	    "38281 c4@B leaves\n", "38290 c1@A leaves\n", 38290 },
	{ "F6", "joins, though another wants it alone", HOSTS HELD(""),
	    "20 B lock x a/g1 shared token=100 +b\n"
	    "30 C lock x a/g1 c/g3 shared token=101 +b\n",
	    "20 B lock x a/g1 shared token=100 &b\n"
	    "30 C lock x a/g1 c/g3 shared token=101 &b\n",
	    "40 c1@A leaves\n", 0 },
	{ "F6", "alone once more, though another wants to share it",
	    HOSTS "10 A lock x a/g1 token=100\n"
	    "20 B lock x a/g1 token=100 &b\n"
	    "30 A lock x token=100 ttl &b\n",
	    "50 C lock x c/g3 token=101 &b\n",
	    "50 C lock x c/g3 shared token=101 &b\n", NULL, 0 },
	{ "F6", "shared once more, though another wants it alone",
	    HOSTS "10 A lock x a/g1 shared token=100\n"
	    "20 B lock x a/g1 shared token=100 +b\n"
	    "30 A lock x shared token=100 ttl +b\n",
	    "50 C lock x c/g3 shared token=101 +b\n",
	    "50 C lock x c/g3 token=101 +b\n", NULL, 0 },
	{ "F6", "unless the one who wishes is it, within another limit",
	    HOSTS "10 A lock x a/g1 shared token=100\n"
	    "20 B lock x a/g1 shared token=100 +b\n"
	    "30 A lock x shared token=100 ttl +b\n",
	    "50 C lock x c/g3 shared limit=2 token=101 +b\n",
	    "50 B lock x b/g3 shared limit=2 token=101\n", NULL, 0 },
	{ "8", "there is room beside those who share it",
	    HOSTS HELD("") WAITS("shared") "40 quiet\n" RENEWED,
	    "34603 c2@B told r2 code=-2\n", "34602 c2@B told r2 code=-2\n",
	    "34604 c1@A leaves\n", 34605 },
	{ "8", "who wants it alone waits for all of them",
	    HOSTS HELD(""), WAITS("shared"), WAITS(""),
	    "40 quiet\n" RENEWED "40000 c1@A leaves\n40000 c2@B leaves\n",
	    40001 },
	{ "8", "there is room in a semaphore",
	    HOSTS, HELD(" limit=2") WAITS("shared limit=2"),
	    HELD(" limit=1") WAITS("shared limit=1"), "40 quiet\n" RENEWED
	    "40000 c1@A leaves\n40000 c2@B leaves\n", 40001 },
	{ "8", "a full semaphore, whose holder is dead",
	    HOSTS HELD(" limit=1") WAITS("shared limit=1")
	    "30 A die\n40 quiet\n", "34603 c2@B told r2 code=-2\n",
	    "34602 c2@B told r2 code=-2\n", NULL, 34604 },
	{ "8", "a wish of a dead session in the way",
	    HOSTS HELD("") "15 C lock x a/g1 shared token=100 +c\n"
	    WAITS("shared") "30 C die\n40 quiet\n" RENEWED,
	    "43733 c2@B told r2 code=-2\n", "43732 c2@B told r2 code=-2\n",
	    "43734 c1@A leaves\n", 43735 },
};

START_TEST(test_told)
{
	judge_cases(JUDGE_CASES(told));
}
END_TEST

START_TEST(test_table)
{
	judge_cases(JUDGE_CASES(table));
}
END_TEST

START_TEST(test_turns)
{
	judge_cases(JUDGE_CASES(turns));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_told,
		test_table,
		test_turns,
		NULL,
	};

	return suite_run("judge of shared use", tests);
}
