/*
 * The judge's own test, of records that older clients share: for each way to
 * break a rule a history that does, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define BEGIN "rules danger=10000 foreign\n0 A start\n0 B start\n"
#define TOKENS "rules danger=10000 foreign tokens\n0 A start\n0 B start\n"
/* P holds it since 1000. */
#define THEIRS "1000 P record x p version=1\n"
/* A waits, and has marked it then. */
#define MARKED "900 c1@A acquire x r1 wait=190000\n" THEIRS		\
	"1000 A marks x 7\n"
#define ASKS "1100 c1@A acquire x r1 wait=90000\n"
/* A holds it from 100 to 19100; the request was sent at 90. */
#define OURS "80 c1@A acquire x r1\n"					\
	"100 A record x a version=1 sent=90\n"				\
	"110 c1@A told r1 hold=1 until=19090\n"

/* The same, with contents. */
#define BROUGHT "80 c1@A acquire x r1 data=1\n"				\
	"100 A record x a version=1 sent=90\n"				\
	"105 A record x a version=2 sent=102 data=1\n"			\
	"110 c1@A told r1 hold=1 until=19090\n"

static const struct judge_case records[] = {
	{ "P1", "taken before its lease is over", BEGIN MARKED,
	    "21200 A record x a sent=20998\n", "21200 A record x a\n", NULL,
	    21200 },
	{ "P1", "freed before its lease is over", BEGIN MARKED,
	    "21200 A record x gone sent=20998\n",
	    "21200 A record x gone\n", NULL, 21200 },
	{ "P1", "renewed meanwhile", BEGIN MARKED,
	    "9000 P record x p version=2\n21200 A record x a\n",
	    "21200 A record x a\n", NULL, 21200 },
	{ "P1", "the same version came back", BEGIN MARKED,
	    "9000 P record x gone\n9500 P record x p version=1\n"
	    "21200 A record x a\n", "21200 A record x a\n", NULL, 21200 },
	{ "P1", "the same version over itself", BEGIN MARKED,
	    "9000 P record x p version=1\n21200 A record x a\n",
	    "21200 A record x a\n", NULL, 21200 },
	{ "P4", "taken without a mark since it was there", BEGIN MARKED
	    "9000 P record x p version=1\n",
	    "31000 A record x a\n",
	    "10000 A marks x 8\n31000 A record x a\n", NULL, 31000 },
	{ "P4", "taken before the mark stood for a lease", BEGIN MARKED,
	    "21200 A record x a sent=21199\n", "21200 A record x a\n", NULL,
	    21200 },
	{ "P4", "taken by another's mark", BEGIN MARKED,
	    "23000 B record x b\n", "23000 A record x a\n", NULL, 23000 },
	{ "P4", "taken by the mark of the last life", BEGIN MARKED,
	    "23000 A die\n23001 A start\n23002 A record x a\n",
	    "23000 A record x a\n", NULL, 23002 },
	{ "P4", "taken by a mark that another put out", BEGIN MARKED
	    "1000 c2@B acquire x r2 wait=190000\n",
	    "2000 B marks x 8 n=1\n21200 A record x a\n",
	    "2000 B marks x 8 n=2\n21200 A record x a\n", NULL, 21200 },
	{ "P4", "the same mark once more", BEGIN MARKED
	    "9000 P record x p version=2\n",
	    "9100 A marks x 7\n", "9100 A marks x 8\n", NULL, 9100 },
	{ "P4", "marked, and nobody waits", BEGIN THEIRS,
	    "12000 A marks x 7\n",
	    "11000 c1@A acquire x r1\n12000 A marks x 7\n", NULL, 12000 },
	{ "P4", "marked, and nobody has it", BEGIN MARKED,
	    "9000 P record x free\n9100 A marks x 8\n",
	    "9000 P record x p\n9100 A marks x 8\n", NULL, 9100 },
	{ "P1", "another of ours has it", BEGIN "1000 B record x b\n",
	    "20000 A record x a\n", "20000 B record x c\n", NULL, 20000 },
	{ "P1", "its last life had it, and this one frees it", BEGIN
	    "1000 A record x a\n5000 A start\n",
	    "5010 A record x gone sent=5001\n",
	    "5010 A record x gone sent=5000\n", NULL, 5010 },
	{ "P1", "its last life had it, and this one takes it", BEGIN
	    "1000 A record x a\n5000 A start\n",
	    "5010 A record x b sent=5000\n",
	    "5010 A record x a version=2 sent=5000\n", NULL, 5010 },
	{ "P1", "what never ends", BEGIN "1000 P record x p never\n",
	    "90000 A record x a never\n",
	    "89000 P record x gone never\n90000 A record x a never\n",
	    NULL, 90000 },
	{ "P1", "before the time that it names", BEGIN
	    "1000 P record x p until=31000\n",
	    "30999 A record x a sent=30998\n", "31000 A record x a\n",
	    NULL, 31000 },
	{ "P1", "another record than the one to break", BEGIN THEIRS
	    "5000 c2@A break x r2 record=1\n",
	    "5050 P record x p version=2\n5100 A record x gone\n",
	    "5100 A record x gone\n", NULL, 5100 },
	{ "P1", "another token than the one to break", TOKENS
	    "1000 P record x p token=4\n5000 c2@A break x r2 token=4\n",
	    "5050 P record x p token=5\n5100 A record x free token=5\n",
	    "5100 A record x free token=4\n", NULL, 5100 },
	{ "T8", "broken here, and not told", BEGIN OURS
	    "5000 c2@A break x r2 record=1\n5050 A record x gone\n",
	    "5060 c2@A told r2\n",
	    "5055 c1@A lost 1 broken\n5060 c2@A told r2\n", NULL, 5060 },
	{ "R18", "what landed late stays", BEGIN "9 c1@A acquire x r1\n"
	    "10 A record x a sent=10\n20 c1@A told r1 code=-8\n40 quiet\n",
	    "86921 A record x gone\n", "86920 A record x gone\n", NULL, 0 },
	{ "K1", "what it brought is not there", BEGIN
	    "80 c1@A acquire x r1 data=1\n"
	    "100 A record x a version=1 sent=90\n",
	    "110 c1@A told r1 hold=1 until=19090\n",
	    "105 A record x a version=2 sent=102 data=1\n"
	    "110 c1@A told r1 hold=1 until=19090\n", NULL, 110 },
	{ "K3", "a renewal takes it out", BEGIN BROUGHT,
	    "5000 A record x a version=3\n",
	    "5000 A record x a version=3 data=1\n", NULL, 5000 },
	{ "K3", "it came with another", BEGIN,
	    "100 A record x a data=1\n", "100 P record x p data=1\n", NULL,
	    100 },
	{ "P2", "what was given back is held again", TOKENS
	    "1000 A record x a token=3\n1100 A record x free token=3\n",
	    "1200 A record x a token=3\n", "1200 A record x a token=4\n",
	    NULL, 1200 },
	{ "R1", "a token goes back", TOKENS "1000 P record x p token=4\n"
	    "1100 P record x free token=4\n", "1200 A record x a token=3\n",
	    "1200 A record x a token=5\n", NULL, 1200 },
	{ "2", "a token that theirs had", TOKENS
	    "1000 P record x p token=4\n1010 c9@P has x token=4\n"
	    "1020 c9@P left x\n1020 P record x free token=4\n" ASKS
	    "1200 A record x a token=5\n",
	    "1210 c1@A told r1 hold=1 token=4 until=9000\n",
	    "1210 c1@A told r1 hold=1 token=5 until=9000\n", NULL, 1210 },
	{ "R16", "granted, and theirs", BEGIN THEIRS ASKS,
	    "1200 c1@A told r1 hold=1 until=9000\n",
	    "1190 P record x gone\n1195 A record x a\n"
	    "1200 c1@A told r1 hold=1 until=9000\n", NULL, 1200 },
	{ "T1", "counted from the answer", BEGIN
	    "80 c1@A acquire x r1\n100 A record x a version=1 sent=90\n",
	    "110 c1@A told r1 hold=1 until=19091\n",
	    "110 c1@A told r1 hold=1 until=19090\n", NULL, 110 },
	{ "1", "taken while ours has it", BEGIN OURS,
	    "9000 P record x p version=2\n",
	    "9000 c1@A release 1 r2\n9000 P record x p version=2\n", NULL,
	    9000 },
	{ "T4", "stolen by nobody", BEGIN OURS, "9000 c1@A lost 1 stolen\n",
	    "9000 hand record x gone\n9000 c1@A lost 1 stolen\n", NULL,
	    9000 },
};

START_TEST(test_records)
{
	judge_cases(JUDGE_CASES(records));
}
END_TEST

/* Theirs may be wrong, and that is counted, not judged. */
START_TEST(test_beliefs)
{
	static const char *const texts[] = { BEGIN THEIRS
	    "1010 c9@P has x\n"
	    "25000 Q record x q version=2\n25010 c8@Q has x\n"
	    "26000 P record x gone\n27000 c7@P has x\n", NULL };
	struct judge *j = story_judge(texts, 30000);
	struct judge_counts counts;

	judge_count(j, &counts);
	ck_assert_ptr_eq(judge_finding(j), NULL);
	ck_assert_uint_eq(counts.beliefs, 3);
	ck_assert_uint_eq(counts.clashes, 2);
	ck_assert_uint_eq(counts.mistakes, 1);
	judge_free(j);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_records, test_beliefs, NULL,
	};

	return suite_run("judge_record", tests);
}
