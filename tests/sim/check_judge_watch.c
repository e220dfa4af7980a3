/*
 * The judge's own test, of watchers of a lock: for each rule a history that
 * breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

/* A has x, and c2 watches it at B. */
#define STARTS								\
	"0 A start\n0 B start\n"					\
	"1 A session a open\n1 B session b open\n"
#define HELD								\
	"9 c1@A acquire x r1\n10 A lock x a/g1 token=100\n"		\
	"11 c1@A told r1 hold=1 token=91 until=19000\n"
#define WATCHED								\
	"12 c2@B watch x r2\n13 c2@B told r2 held token=100\n"
#define RELEASED							\
	"20 c1@A release 1 r3\n21 A lock x token=100 ttl\n"		\
	"22 c1@A told r3\n"

#define UNKNOWN								\
	"30 c2@B watch x r2\n31 c2@B told r2 free\n"			\
	"32 c2@B changed x unknown\n"

static const struct judge_case told[] = {
	{ "W1", "of what it does not watch", STARTS HELD RELEASED,
	    "12 c2@B watch x r2\n13 c2@B told r2 code=-8\n"
	    "23 c2@B changed x free\n",
	    "12 c2@B watch x r2\n13 c2@B told r2 code=-8\n", NULL, 100 },
	{ "W1", "of what it watches no more", STARTS HELD WATCHED RELEASED
	    "23 c2@B unwatch x r4\n",
	    "24 c2@B told r4\n25 c2@B changed x free\n",
	    "24 c2@B changed x free\n25 c2@B told r4\n", NULL, 100 },
	{ "W1", "twice", STARTS HELD WATCHED "23 c2@B watch x r4\n",
	    "24 c2@B told r4 held token=100\n",
	    "24 c2@B told r4 code=-16\n", NULL, 100 },
	{ "W2", "of a holder that never was", STARTS HELD WATCHED RELEASED,
	    "23 c2@B changed x held token=101\n",
	    "23 c2@B changed x held token=100\n", NULL, 100 },
	{ "W2", "of the one before", STARTS HELD WATCHED RELEASED
	    "30 c1@A acquire x r4\n31 A lock x a/g2 token=200\n"
	    "32 c1@A told r4 hold=2 token=101 until=19000\n"
	    "33 c2@B changed x held token=200\n",
	    "34 c2@B changed x held token=199\n",
	    "34 c2@B changed x held token=200\n", NULL, 100 },
	{ "W2", "of one of those who share it after another", STARTS
	    "9 c1@A acquire x r1 shared\n"
	    "10 A lock x a/g1 token=100 shared\n"
	    "11 c1@A told r1 hold=1 token=100 until=19000\n"
	    "12 c3@B acquire x r3 shared\n"
	    "13 B lock x a/g1 b/g2 token=101 shared\n"
	    "14 c3@B told r3 hold=1 token=101 until=19000\n"
	    "15 c2@B watch x r2\n"
	    "16 c2@B told r2 held token=101 n=2 shared\n",
	    "17 c2@B changed x held token=100 n=2\n",
	    "17 c2@B changed x held token=100 n=2 shared\n", NULL, 100 },
	{ "W3", "of a death that is none yet", STARTS HELD WATCHED
	    "14 A die\n",
	    "20214 c2@B changed x dead token=100\n"
	    "20215 B session a dead sent=20214\n",
	    "20215 B session a dead sent=20214\n"
	    "20216 c2@B changed x dead token=100\n", NULL, 21000 },
};

/* B keeps x for c3. c3 waits for y, which A holds; and c2 watches x at B. */
#define IN_THE_WAY							\
	"5 c1@A acquire y r1 fail-closed\n"				\
	"6 A lock y a/g2! token=100\n"					\
	"7 c1@A told r1 hold=1 token=91 for-ever\n"
#define KEPT(use)							\
	"9 c3@B acquire x r3 joint=3 wait=900000" use "\n"		\
	"9 c3@B acquire y r4 joint=3 wait=900000" use "\n"		\
	"10 B lock x b/g1 token=100" use "\n"
#define SIM_CONTENTS_BROKEN						\
	"12 c2@B watch x r2\n13 c2@B told r2 held token=100\n"	\
	"20 c9@A break x r9 token=100\n"				\
	"21 A lock x token=100 ttl broken-by\n22 c9@A told r9\n"	\
	"23 quiet\n"

static const struct judge_case truth[] = {
	{ "W4", "what is kept here and was broken, after two audits",
	    STARTS IN_THE_WAY KEPT("") SIM_CONTENTS_BROKEN, "",
	    "140000 c2@B changed x free\n", NULL, 160000 },
	{ "W4", "what is kept here to be shared, after an audit",
	    STARTS IN_THE_WAY, KEPT(" shared") SIM_CONTENTS_BROKEN,
	    KEPT("") SIM_CONTENTS_BROKEN, "60000 c2@B changed x free\n",
	    80000 },
	{ "W4", "an end that is not told", STARTS HELD WATCHED RELEASED
	    "23 quiet\n", "", "31000 c2@B changed x free\n", NULL, 60000 },
	{ "W4", "a holder that is not told", STARTS "12 c2@B watch x r2\n"
	    "13 c2@B told r2 free\n" HELD "23 quiet\n", "",
	    "18000 c2@B changed x held token=100\n",
	    "18999 A session a beat=5 sent=18998\n"
	    "18999 A renewed until=37998\n", 36000 },
	{ "W4", "what is not known stays so", STARTS HELD RELEASED
	    UNKNOWN "40 quiet\n", "", "31000 c2@B changed x free\n", NULL,
	    60000 },
	{ "W4", "a death that is not told", STARTS HELD WATCHED "14 A die\n"
	    "23 quiet\n20215 B session a dead sent=20214\n", "",
	    "20216 c2@B changed x dead token=100\n", NULL, 120000 },
	{ "W4", "a free lock that is said to be dead", STARTS HELD WATCHED
	    "14 A die\n23 quiet\n20215 B session a dead sent=20214\n"
	    "20216 c2@B changed x dead token=100\n"
	    "20217 B lock x token=100 ttl\n", "",
	    "20218 c2@B changed x free\n", NULL, 120000 },
};

START_TEST(test_told)
{
	judge_cases(JUDGE_CASES(told));
}
END_TEST

START_TEST(test_truth)
{
	judge_cases(JUDGE_CASES(truth));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_told,
		test_truth,
		NULL,
	};

	return suite_run("judge of watches", tests);
}
