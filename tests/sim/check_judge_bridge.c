/*
 * The judge's own test, of locks with two records: for each rule a history that
 * breaks it, and its nearest neighbour that does not.
 */
#include "judge_case.h"

#define BEGIN "rules foreign bridge\n0 A start\n0 B start\n"		\
	"1 A session a open ns=1\n1 B session b open ns=1\n"
/* A holds the old record's lock; B requests the native record's. */
#define OLD "80 c1@A acquire x r1\n"					\
	"100 A record x a version=1 sent=90\n"				\
	"110 c1@A told r1 hold=1 until=19000\n"
#define NATIVE "8000 c2@B acquire x r2 ns=1\n"				\
	"8010 B lock x b/g1 token=100 ns=1\n"
#define HAS_NATIVE "8020 c2@B told r2 hold=1 token=91 until=19000\n"
/* A holds both, as one. */
#define BOTH_UNTIL(until)						\
	"80 c1@A acquire x r1 joint=1\n"				\
	"80 c1@A acquire x r2 joint=1 ns=1\n"				\
	"100 A record x a version=1 sent=90\n"				\
	"105 A lock x a/g1 token=100 ns=1\n"				\
	"110 c1@A told r1 hold=1 until=" until "\n"			\
	"110 c1@A told r2 hold=2 token=91 until=" until "\n"
#define BOTH BOTH_UNTIL("19000")
#define LOST_AT(at) at " c1@A lost 1 expired\n" at " c1@A lost 2 expired\n"
#define LOST LOST_AT("19000")

static const struct judge_case bridged[] = {
	{ "1", "granted in the native record, and had in the old one",
	    BEGIN OLD NATIVE, HAS_NATIVE,
	    "8015 c1@A release 1 r3\n" HAS_NATIVE, NULL, 8020 },
	{ "1", "an older client is right, and it is held beyond the bridge",
	    BEGIN NATIVE HAS_NATIVE "9000 P record x p version=1\n",
	    "9010 c9@P has x\n", "9005 c2@B release 1 r3\n"
	    "9010 c9@P has x\n", NULL, 9010 },
	{ "P3", "given back before its margin is over", BEGIN BOTH LOST,
	    "19998 A record x gone\n", "20000 A record x gone\n", NULL,
	    20000 },
	{ "P3", "renewed for nobody", BEGIN BOTH LOST,
	    "59402 A record x a version=2\n",
	    "59400 A record x a version=2\n", NULL, 59402 },
};

/* The native record is deleted by hand. As far as A knows, the next client here
 * may have the lock; but not if A has noticed. */
#define NEXT "120 c3@A acquire x r3 joint=3 wait=90000\n"		\
	"120 c3@A acquire x r4 joint=3 wait=90000 ns=1\n"
#define RENEWED "15000 A session a beat=1 ns=1\n"
#define DELETED "15100 hand lock x gone ns=1\n"
#define GRANTED(until)							\
	"20000 A record x a version=2\n"				\
	"20010 c3@A told r3 hold=3 until=38000\n"			\
	"20010 c3@A told r4 hold=4 token=92 until=" until "\n"

static const struct judge_case handed_on[] = {
	{ "R16", "though it is known to be gone",
	    BEGIN BOTH NEXT RENEWED DELETED,
	    "19000 c1@A lost 1 stolen\n19000 c1@A lost 2 stolen\n"
	    GRANTED("34000"), LOST GRANTED("34000"), NULL, 20010 },
	{ "R16", "though its lease is over, too",
	    BEGIN BOTH_UNTIL("19001") NEXT,
	    DELETED LOST_AT("19001") GRANTED("19001"),
	    RENEWED DELETED LOST_AT("19001") GRANTED("19001"), NULL, 20010 },
};

/* One of the two records is gone. The native one has landed again by the time
 * that A knows of a missing record: which of them does it know of? */
#define NATIVE_GONE(how) "500 hand lock x " how " ns=1\n"
#define LANDS(at) at " A lock x a/g1 token=101 sent=95 ns=1\n"
#define TAKEN(at, loss)							\
	at " c1@A lost 1 " loss "\n" at " c1@A lost 2 " loss "\n"
#define GIVES(at, token) at " A lock x token=" token " ttl ns=1\n"

static const struct judge_case landed_again[] = {
	{ "R5", "it was the old one that was gone", BEGIN BOTH,
	    "500 hand record x gone\n"
	    TAKEN("1000", "stolen") GIVES("1500", "100"),
	    NATIVE_GONE("gone") LANDS("600") TAKEN("1000", "stolen")
	    GIVES("1500", "101"), NULL, 2500 },
	{ "R5", "broken, and landed again before A had asked",
	    BEGIN BOTH NATIVE_GONE("token=100 ttl broken-by") LANDS("600"),
	    TAKEN("5700", "broken") GIVES("6600", "101"),
	    TAKEN("5600", "broken") GIVES("6600", "101"), NULL, 7500 },
	{ "R5", "broken before, and it was the lease that was over",
	    BEGIN BOTH_UNTIL("1000")
	    NATIVE_GONE("token=100 ttl broken-by") LANDS("600"),
	    TAKEN("1000", "expired") GIVES("1500", "101"),
	    TAKEN("1000", "broken") GIVES("1500", "101"), NULL, 2500 },
};

START_TEST(test_landed_again)
{
	judge_cases(JUDGE_CASES(landed_again));
}
END_TEST

START_TEST(test_handed_on)
{
	judge_cases(JUDGE_CASES(handed_on));
}
END_TEST

START_TEST(test_bridged)
{
	judge_cases(JUDGE_CASES(bridged));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_bridged, test_handed_on, test_landed_again, NULL,
	};

	return suite_run("judge_bridge", tests);
}
