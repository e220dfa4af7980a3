/*
 * The judge's own test, of lingering holds: for each way to break the rule a
 * history that does, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define LEFT								\
	"rules danger=10000 blind\n0 A start\n0 B start\n"		\
	"10 c1@A acquire x r1 linger=3000 user=7\n"			\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"		\
	"1000 c1@A leaves\n"
#define ASKS "2000 c2@A resume c1 r2 user=7\n"
#define TAKEN "2000 c2@A taken 1 until=19000\n"
#define TOLD "2000 c2@A told r2\n"
#define WAITS "1500 c3@A acquire x r3 wait=9000\n"

/*
 * The hold is left in a record, and resumed after its host stood still for 20
 * s.
 */
#define STOOD								\
	"rules danger=10000\n0 A start\n0 A session a open\n"		\
	"10 c1@A acquire x r1 linger=60000 user=7\n"			\
	"10 A lock x a/g1 token=200\n"					\
	"10 c1@A told r1 hold=1 token=101 until=19000\n"		\
	"1000 c1@A leaves\n"
#define COMES								\
	"22000 A resume\n25000 c2@A resume c1 r2 user=7\n"		\
	"25000 c2@A taken 1 until=39000\n25000 c2@A told r2\n"

static const struct judge_case linger[] = {
	{ "T11", "another user", LEFT, "2000 c2@A resume c1 r2 user=8\n" TAKEN
	    TOLD, ASKS TAKEN TOLD, NULL, 5000 },
	{ "T11", "another's secret", LEFT "1000 c4@A talks\n",
	    "2000 c2@A resume c4 r2 user=7\n" TAKEN TOLD, ASKS TAKEN TOLD,
	    NULL, 5000 },
	{ "T11", "nobody asked for it", LEFT, "2000 c2@A talks\n" TAKEN,
	    ASKS TAKEN TOLD, NULL, 5000 },
	{ "T11", "its time is over", LEFT "3999 c2@A resume c1 r2 user=7\n",
	    "4100 c2@A taken 1 until=19000\n",
	    "3999 c2@A taken 1 until=19000\n", NULL, 3999 },
	{ "T11", "it is not told of", LEFT ASKS, TOLD, TAKEN TOLD, NULL, 5000 },
	{ "T11", "refused, though it lingers", LEFT ASKS,
	    "2000 c2@A told r2 code=-7\n", TAKEN TOLD, NULL, 5000 },
	{ "T11", "its clock went on", STOOD, "2000 A pause\n",
	    "2000 A freeze\n", COMES, 25000 },
	{ "T11", "nobody was silent", LEFT ASKS,
	    "2000 c2@A taken 1 keepalive\n" TOLD, TAKEN TOLD, NULL, 5000 },
	{ "1", "another has it meanwhile", LEFT WAITS,
	    "3999 c3@A told r3 hold=2 token=101 until=19000\n",
	    "4000 c3@A told r3 hold=2 token=101 until=19000\n", NULL, 5000 },
	{ "T5", "its deadline went back", LEFT ASKS,
	    "2000 c2@A taken 1 until=18999\n" TOLD, TAKEN TOLD, NULL, 5000 },
	{ "T3", "it is held too long by the client that resumed it", LEFT ASKS
	    TAKEN TOLD "9000 A renewed until=27000\n"
	    "18000 c2@A danger 1 until=27000\n", "27001 c2@A leaves\n",
	    "27000 c2@A lost 1 expired\n", NULL, 0 },
	{ "T7", "what was lost meanwhile is not released", LEFT ASKS
	    "2000 c2@A taken 1 stolen\n" TOLD "2100 c2@A release 1 r5\n",
	    "2100 c2@A told r5\n", "2100 c2@A told r5 code=-5\n", NULL, 5000 },
	{ "5", "the old one is told", LEFT ASKS TAKEN TOLD,
	    "2100 c1@A lost 1 stolen\n", "2100 c2@A lost 1 stolen\n", NULL,
	    5000 },
};

/* It is let go at 1 s, and stays until 5 s. */
#define LET_GO								\
	"rules danger=10000 blind\n0 A start\n0 B start\n"		\
	"10 c1@A acquire x r1 at-least=5000 user=7\n"			\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"		\
	"1000 c1@A release 1 r2\n1000 c1@A told r2\n"

static const struct judge_case let_go[] = {
	{ "1", "another has it while it stays", LET_GO WAITS,
	    "4900 c3@A told r3 hold=2 token=101 until=19000\n",
	    "5100 c3@A told r3 hold=2 token=101 until=19000\n", NULL, 6000 },
	{ "4", "its client is told of it after that", LET_GO,
	    "6000 c1@A lost 1 stolen\n", "6000 c1@A talks\n", NULL, 6000 },
	{ "T11", "somebody resumes it", LET_GO "1000 c1@A leaves\n" ASKS,
	    TAKEN TOLD, "2000 c2@A told r2 code=-7\n", NULL, 6000 },
	{ "T13", "its client is told that it has it", LET_GO
	    "2000 c1@A acquire x r3\n", "2000 c1@A told r3 code=-6\n",
	    "2000 c1@A told r3 code=-2\n", NULL, 6000 },
};

/* Runs of a period of 10 s, the first by A's element. */
#define RAN(how)							\
	"rules danger=10000\n0 A start\n0 B start\n"			\
	"0 A session a open\n0 B session b open\n"			\
	"10 c1@A acquire x r1 every=10000" how "\n"			\
	"10 A lock x a/g1 token=100 sent=10\n"				\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define RUNS(ms, token)							\
	ms " c2@B acquire x r1 every=10000\n"				\
	ms " B lock x b/g2 token=" token " sent=" ms "\n"		\
	ms " c2@B told r1 hold=1 token=" token " until=19000\n"

static const struct judge_case every[] = {
	{ "T14", "the last run was a moment ago", RAN("")
	    "1000 c1@A release 1 r2\n1000 A lock x free token=100 ttl=604801\n"
	    "1000 c1@A told r2\n", RUNS("1100", "101"),
	    RUNS("12600", "101") "12600 c2@B danger 1 until=19000\n",
	    NULL, 13000 },
	{ "T14", "it has succeeded", RAN(" at-end"),
	    "1000 c1@A release 1 r2\n1000 A lock x free token=100 ttl=604801\n"
	    "1000 c1@A told r2\n" RUNS("1100", "101"),
	    "1000 c1@A leaves\n1000 A lock x free token=100 ttl=604801\n"
	    RUNS("1100", "101"), NULL, 2000 },
};

/* The other session has all holds that A knows of, and they are renewed with
 * one event. A may know that x was broken, but no client to tell. */
#define BESIDE								\
	"rules danger=10000\n0 A start\n0 B start\n"			\
	"0 A session a open\n0 A session o open\n"			\
	"10 c1@A acquire x r1 linger=60000 user=7\n"			\
	"10 A lock x a/g1 token=200\n"					\
	"10 c1@A told r1 hold=1 token=101 until=19000\n"
#define IS_BROKEN							\
	"4990 c9@B break x r9 token=200\n"				\
	"5000 B lock x token=200 ttl broken-by\n"
#define RENEWED "9000 A session o beat=1\n9000 A renewed until=27000\n"

static const struct judge_case beside[] = {
	{ "T1", "it is in the table, and not renewed", BESIDE
	    "1000 c1@A leaves\n", RENEWED, IS_BROKEN RENEWED, NULL, 9500 },
	{ "T1", "there is somebody to tell", BESIDE IS_BROKEN, RENEWED,
	    "6000 c1@A leaves\n" RENEWED, NULL, 9500 },
};

/* c1 comes back when it is cut off. */
#define BACK_ASKS(terms)						\
	"rules danger=10000 blind all-may-resume\n"			\
	"0 A start\n0 B start\n"					\
	"10 c1@A acquire x r1 resumes" terms " user=7\n"
#define BACK_TOLD							\
	"10 c1@A told r1 hold=1 token=100 until=19000 resumable\n"
#define BACK BACK_ASKS("") BACK_TOLD "1000 A renewed until=19990\n"
#define BACK_TABLE							\
	"rules danger=10000\n0 A start\n0 A session a open\n"		\
	"10 c1@A acquire x r1 resumes user=7\n"			\
	"10 A lock x a/g1 token=200\n"					\
	"10 c1@A told r1 hold=1 token=101 until=19000 resumable\n"
#define CUT "2000 c1@A leaves cut_off\n"
#define COMES_BACK "3000 c2@A resume c1 r2 resumes user=7\n"
#define HAS_IT "3000 c2@A taken 1 until=19990\n3000 c2@A told r2\n"

static const struct judge_case resumes[] = {
	{ "T12", "it is told of none", BACK_ASKS(""),
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", BACK_TOLD, NULL,
	    5000 },
	{ "T12", "it is told of what it did not ask for",
	    "rules danger=10000 blind\n0 A start\n"
	    "10 c1@A acquire x r1 user=7\n", BACK_TOLD,
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", NULL, 5000 },
	{ "T12", "it is told so of what only itself renews",
	    BACK_ASKS(" manual"), BACK_TOLD,
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", NULL, 5000 },
	{ "T12", "it is told so of what it leaves to its lease",
	    BACK_ASKS(" stays"), BACK_TOLD,
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", NULL, 5000 },
	{ "1", "another has it before its last deadline", BACK CUT
	    "3000 c3@A acquire x r3 wait=60000\n",
	    "19980 c3@A told r3 hold=2 token=101 until=38000\n",
	    "21000 c3@A told r3 hold=2 token=101 until=38000\n", NULL, 21500 },
	{ "T9", "another has it before a margin after that", BACK_TABLE CUT
	    "3000 c3@A acquire x r3 wait=60000\n"
	    "9000 A session a beat=1\n9000 A renewed until=27000\n"
	    "18000 A session a beat=2\n18000 A renewed until=36000\n",
	    "19980 c3@A told r3 hold=2 token=102 until=36000\n",
	    "20000 c3@A told r3 hold=2 token=102 until=36000\n", NULL, 20500 },
	{ "T11", "its client ended by itself", BACK, "2000 c1@A leaves\n"
	    COMES_BACK HAS_IT, CUT COMES_BACK HAS_IT, NULL, 5000 },
	{ "T11", "refused, though it is kept", BACK CUT COMES_BACK,
	    "3000 c2@A told r2 code=-7\n", HAS_IT, NULL, 5000 },
	{ "T11", "who resumed it does not come back", BACK CUT,
	    "3000 c2@A resume c1 r2 user=7\n" HAS_IT
	    "4000 c2@A leaves cut_off\n", COMES_BACK HAS_IT
	    "4000 c2@A leaves cut_off\n",
	    "5000 c4@A resume c2 r4 resumes user=7\n"
	    "5000 c4@A taken 1 until=19990\n5000 c4@A told r4\n", 6000 },
};

START_TEST(test_resumes)
{
	judge_cases(JUDGE_CASES(resumes));
}
END_TEST

START_TEST(test_beside)
{
	judge_cases(JUDGE_CASES(beside));
}
END_TEST

START_TEST(test_every)
{
	judge_cases(JUDGE_CASES(every));
}
END_TEST

START_TEST(test_let_go)
{
	judge_cases(JUDGE_CASES(let_go));
}
END_TEST

START_TEST(test_linger)
{
	judge_cases(JUDGE_CASES(linger));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_beside,
		test_every,
		test_let_go,
		test_linger,
		test_resumes,
		NULL,
	};

	return suite_run("judge of what lingers", tests);
}
