/*
 * The judge's own test: for each rule a history that breaks it, and its
 * nearest neighbour that does not. They differ in one place only, most often
 * by a millisecond.
 * The cases of shared use are in check_judge_shared.c.
 */
#include "judge_case.h"

/* ---- what clients are told -------------------------------------------- */

#define ONE								\
	"0 A start\n"							\
	"10 c1@A acquire x r1\n"					\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define TWO								\
	"rules blind\n"							\
	ONE								\
	"10 B start\n"							\
	"20 c2@B acquire x r2 wait=90000\n"
#define SECOND "c2@B told r2 hold=1 token=200 until=39000\n"
#define PASSED(at)							\
	at " c3@A acquire x r4\n" at " c1@A release 1 r3\n"		\
	at " c3@A told r4 hold=2 token=101 until=19000\n"
#define PASSED_AGAIN(at)						\
	at " c4@A acquire x r5\n" at " c3@A release 2 r8\n"		\
	at " c4@A told r5 hold=3 token=102 until=19000\n"
#define GONE "40 c1@A leaves\n"
#define DONE "39000 c2@B lost 1 expired\n"

static const struct judge_case told[] = {
	{ "1", "granted while another has it", TWO,
	    "18999 " SECOND,
	    "18999 c1@A lost 1 expired\n18999 " SECOND, DONE, 0 },
	{ "1", "and its daemon is dead: up to its own deadline",
	    TWO "15000 A die\n", "18999 " SECOND, "19000 " SECOND, DONE, 0 },
	{ "1", "a renewal that was told counts, too",
	    TWO "5000 A renewed until=24000\n6000 A die\n",
	    "23999 " SECOND, "24000 " SECOND, DONE, 0 },
	{ "1", "a client that left has nothing", TWO "15000 A die\n",
	    "15001 " SECOND, "15001 c1@A leaves\n15001 " SECOND, DONE, 0 },
	{ "2", "the same token again",
	    TWO "30 c1@A release 1 r3\n31 c1@A told r3\n",
	    "40 c2@B told r2 hold=1 token=100 until=39000\n",
	    "40 c2@B told r2 hold=1 token=101 until=39000\n", DONE, 0 },
	{ "3", "granted before the other hears of its loss", TWO,
	    "19000 " SECOND,
	    "19000 c1@A lost 1 expired\n19000 " SECOND, DONE, 0 },
	{ "3", "a daemon that is paused cannot tell it",
	    TWO "18000 A pause\n", "18900 A resume\n19000 " SECOND,
	    "19000 " SECOND "19001 A resume\n19001 c1@A lost 1 expired\n",
	    DONE, 0 },
	{ "1", "it may stay paused to the end", TWO "18000 A pause\n",
	    "18999 " SECOND, "19000 " SECOND, NULL, 19000 },
	{ "4", "a hold's number is given again",
	    TWO "30 c1@A acquire y r3\n",
	    "30 c1@A told r3 hold=1 token=7 until=19000\n",
	    "30 c1@A told r3 hold=2 token=7 until=19000\n",
	    "40 c1@A leaves\n", 0 },
	{ "4", "a hold that is lost is safe again",
	    TWO "1000 c1@A lost 1 stolen\n",
	    "1001 c1@A safe 1 until=20000\n", "1001 c1@A release 1 r3\n",
	    "1001 c1@A told r3 code=-5\n", 0 },
	{ "4", "a loss is told after the release was answered", TWO,
	    "30 c1@A release 1 r3\n31 c1@A told r3\n31 c1@A lost 1 stolen\n",
	    "30 c1@A release 1 r3\n31 c1@A lost 1 stolen\n"
	    "31 c1@A told r3 code=-7\n",
	    NULL, 0 },
	{ "4", "told to somebody else's client", TWO,
	    "30 c2@A told r2 code=-2\n", "30 c2@B told r2 code=-2\n",
	    "40 c1@A leaves\n", 0 },
	{ "4", "a renewal of what is lost",
	    TWO "900 c1@A renew 1 r3\n", "1000 c1@A lost 1 stolen\n"
	    "1001 c1@A told r3 until=20000\n",
	    "1000 c1@A lost 1 stolen\n1001 c1@A told r3 code=-5\n", NULL,
	    0 },
	{ "4", "a renewal of what was released",
	    TWO "900 c1@A renew 1 r3\n901 c1@A release 1 r4\n",
	    "902 c1@A told r3 until=20000\n", "902 c1@A told r3 code=-7\n",
	    "903 c1@A leaves\n", 0 },
	{ "5", "a reply comes to a client that left", TWO,
	    "30 c2@B leaves\n31 c2@B told r2 code=-22\n",
	    "30 c2@B told r2 code=-22\n31 c2@B leaves\n",
	    "40 c1@A leaves\n", 0 },
	{ "5", "a daemon that was paused did not know",
	    TWO "20 B pause\n21 B resume\n",
	    "30 c2@B leaves\n32 " SECOND,
	    "30 B pause\n30 c2@B leaves\n32 B resume\n32 " SECOND,
	    "40 c1@A leaves\n", 0 },
	{ "6", "a reply to no request", TWO,
	    "30 c2@B told r3 code=-2\n", "30 c2@B told r2 code=-2\n",
	    "40 c1@A leaves\n", 0 },
	{ "6", "a second reply", TWO "30 c2@B told r2 code=-2\n",
	    "31 c2@B told r2 code=-2\n", "", "40 c1@A leaves\n", 0 },
	{ "6", "a defect is told", TWO, "30 c2@B told r2 code=-20\n",
	    "30 c2@B told r2 code=-2\n", "40 c1@A leaves\n", 0 },
	{ "6", "a reply that comes too late",
	    TWO "30 c1@A release 1 r3 due=5030\n",
	    "5031 c1@A told r3\n", "5030 c1@A told r3\n", NULL, 0 },
	{ "6", "who was paused has a store's time more",
	    TWO "30 c1@A release 1 r3 due=5030\n"
	    "4000 A pause\n6000 A resume\n",
	    "11001 c1@A told r3\n", "11000 c1@A told r3\n", NULL, 0 },
	{ "6", "what waited in the socket of one that was paused",
	    TWO "20 A pause\n30 c1@A release 1 r3 due=5030\n6000 A resume\n",
	    "11002 c1@A told r3\n", "11001 c1@A told r3\n", NULL, 0 },
	{ "6", "who was paused tells at once whose wait is over",
	    TWO "30 c1@A acquire y r3 wait=2000 due=2030\n"
	    "1000 A pause\n6000 A resume\n",
	    "6001 c1@A told r3 code=-3\n", "6000 c1@A told r3 code=-3\n",
	    "7000 c1@A leaves\n", 0 },
	{ "6", "and whose look is",
	    TWO "30 c1@A get y r3 due=1030\n"
	    "1000 A pause\n6000 A resume\n",
	    "6001 c1@A told r3\n", "6000 c1@A told r3\n",
	    "7000 c1@A leaves\n", 0 },
	{ "6", "a daemon ends and owes a reply", TWO,
	    "30 B end\n", "30 c2@B told r2 code=-19\n30 B end\n",
	    "40 c1@A leaves\n", 0 },
	{ "6", "unless it never read what it was asked",
	    "rules blind\n" ONE "10 B start\n20 B pause\n"
	    "30 c2@B acquire x r2 wait=90000\n40 B resume\n",
	    "41 B end\n", "40 B end\n", "40 c1@A leaves\n", 0 },
	{ "6", "a reply to another question",
	    TWO "30 c1@A release 1 r3\n31 c1@A told r3\n",
	    "32 c1@A told r1 hold=2 token=300 until=19000\n", "", NULL, 0 },
	{ "6", "cancelled, but it waits on",
	    TWO "30 c2@B cancel r2 r4\n30 c2@B told r4\n",
	    "31 c2@B told r2 code=-21\n", "30 c2@B told r2 code=-21\n",
	    GONE, 0 },
	{ "7", "one request more than one may have",
	    "rules requests=1 blind\n" ONE
	    "20 c1@A acquire y r2 wait=100\n20 c1@A acquire z r3 wait=100\n",
	    "21 c1@A told r3 code=-15\n", "20 c1@A told r3 code=-15\n",
	    "40 c1@A leaves\n", 0 },
	{ "7", "one hold more than one may have",
	    "rules holds=1 blind\n" ONE "20 c1@A acquire y r2\n",
	    "20 c1@A told r2 hold=2 token=1 until=19000\n",
	    "20 c1@A release 1 r3\n"
	    "20 c1@A told r2 hold=2 token=1 until=19000\n",
	    "40 c1@A leaves\n", 0 },
	{ "T2", "nobody warns", "rules danger=10000 blind\n" ONE,
	    "10001 c1@A danger 1 until=19000\n",
	    "10000 c1@A danger 1 until=19000\n",
	    "10500 c1@A leaves\n", 0 },
	{ "T2", "a warning for nothing", "rules danger=10000 blind\n" ONE,
	    "9999 c1@A danger 1 until=19000\n",
	    "10000 c1@A danger 1 until=19000\n",
	    "10500 c1@A leaves\n", 0 },
	{ "T2", "a warning is not taken back", "rules danger=10000 blind\n" ONE
	    "10000 c1@A danger 1 until=19000\n12000 A renewed until=31000\n",
	    "", "12000 c1@A safe 1 until=31000\n", "12001 c1@A leaves\n", 0 },
	{ "T2", "a warning while a release waits that is refused then",
	    "rules danger=10000 blind\n" ONE
	    "9000 A pause\n9500 c1@A release 1 r3\n11000 A resume\n",
	    "11000 c1@A told r3 code=-16\n",
	    "11000 c1@A danger 1 until=19000\n11000 c1@A told r3 code=-16\n",
	    "11500 c1@A leaves\n", 0 },
	{ "T3", "a warning names a later deadline, which counts",
	    "rules danger=10000 blind\n" ONE
	    "10000 c1@A danger 1 until=19000\n"
	    "12001 c1@A danger 1 until=21000\n",
	    "21001 c1@A lost 1 expired\n", "21000 c1@A lost 1 expired\n",
	    NULL, 0 },
	{ "T3", "a loss is told late", TWO, "19001 c1@A lost 1 expired\n",
	    "19000 c1@A lost 1 expired\n", NULL, 0 },
	{ "T3", "later than timers may be", "rules blind lateness=5\n" ONE,
	    "19006 c1@A lost 1 expired\n", "19005 c1@A lost 1 expired\n",
	    NULL, 0 },
	{ "T3", "a paused daemon tells it at once",
	    TWO "18000 A pause\n25000 A resume\n",
	    "25001 c1@A lost 1 expired\n", "25000 c1@A lost 1 expired\n",
	    NULL, 0 },
	{ "T6", "in danger, and nothing disturbs",
	    TWO "30 quiet\n15000 A renewed until=34000\n"
	    "30000 A renewed until=49000\n",
	    "33280 c1@A danger 1 until=49000\n",
	    "33279 c1@A danger 1 until=49000\n",
	    "33281 c1@A leaves\n", 40000 },
	{ "F1", "who came later is first",
	    TWO "30 c3@B acquire x r3\n15000 A die\n",
	    "19000 c3@B told r3 hold=1 token=200 until=39000\n",
	    "19000 " SECOND, DONE, 0 },
	{ "6", "who only listens waits on",
	    TWO "100 c2@B drains\n", "1101 c2@B told r2 code=-3\n",
	    "1100 c2@B told r2 code=-3\n", "1102 c1@A leaves\n", 0 },
	{ "3", "a daemon that ended by itself left a hold behind", TWO,
	    "1000 A end\n", "999 c1@A lost 1 shutdown\n1000 A end\n",
	    "1001 c2@B leaves\n", 0 },
	{ "T7", "what was lost is released",
	    TWO "19000 c1@A lost 1 expired\n30000 c1@A release 1 r3\n",
	    "30001 c1@A told r3\n", "30001 c1@A told r3 code=-7\n",
	    "30002 c2@B leaves\n", 0 },
	{ "T5", "a deadline goes back", TWO,
	    "30 A renewed until=18999\n", "30 A renewed until=19000\n",
	    "40 c1@A leaves\n", 0 },
};

/* ---- what the table shows --------------------------------------------- */

#define HOSTS								\
	"0 A start\n"							\
	"0 B start\n"							\
	"0 A session a open\n"						\
	"0 B session b open\n"
#define WRITTEN HOSTS							\
	"10 c1@A acquire x r1\n"					\
	"10 A lock x a/g1 token=100\n"
#define HELD WRITTEN							\
	"10 c1@A told r1 hold=1 token=100 until=19000\n"
#define WAITED HELD "20 c2@B acquire x r2 wait=90000\n"
#define LOST WAITED "19000 c1@A lost 1 expired\n"
#define KILLED LOST "20200 B session a dead\n"
#define FREED HELD							\
	"30 c1@A release 1 r3\n"					\
	"30 A lock x token=100 ttl\n"					\
	"30 c1@A told r3\n"
#define ANSWERED "31000 c2@B told r2 code=-2\n"

static const struct judge_case table[] = {
	{ "5", "what is released stays in the table",
	    HELD "30 c1@A release 1 r3\n30 c1@A told r3\n40 quiet\n",
	    "26321 A lock x token=100 ttl\n",
	    "26320 A lock x token=100 ttl\n", NULL, 0 },
	{ "8", "nobody takes what a dead daemon held",
	    WAITED "30 A die\n40 quiet\n", "34603 c2@B told r2 code=-2\n",
	    "34602 c2@B told r2 code=-2\n", NULL, 0 },
	{ "8", "nobody takes what was released",
	    WAITED "30 c1@A release 1 r3\n31 c1@A told r3\n40 quiet\n"
	    "20000 A lock x token=100 ttl\n", "41513 c2@B told r2 code=-2\n",
	    "41512 c2@B told r2 code=-2\n", NULL, 0 },
	{ "8", "two polls more for a wish",
	    WAITED "30 B lock x a/g1 token=100 wishes=1\n30 A die\n"
	    "40 quiet\n", "36623 c2@B told r2 code=-2\n",
	    "36622 c2@B told r2 code=-2\n", NULL, 0 },
	{ "8", "what is held fail-closed is nobody's to take",
	    HOSTS "10 A lock x a/g1! token=100\n"
	    "20 c2@B acquire x r2 wait=90000\n30 A die\n40 quiet\n",
	    "100 hand lock x token=100 ttl\n", "", "60000 c2@B leaves\n",
	    0 },
	{ "F2", "passed on once more, though another wishes",
	    "rules handovers=1\n" WAITED
	    "29 A lock x a/g1 token=110\n30 B lock x a/g1 token=110 +b\n"
	    PASSED("9040") PASSED_AGAIN("9050") "9060 c5@A acquire x r6\n",
	    "9060 c4@A release 3 r7\n"
	    "9060 c5@A told r6 hold=4 token=103 until=19000\n",
	    "9060 c4@A release 3 r7\n", NULL, 9070 },
	{ "F2", "passed on for longer than a lease",
	    "rules handovers=9\n" WAITED
	    "29 A lock x a/g1 token=110\n30 B lock x a/g1 token=110 +b\n"
	    "15000 A session a beat=15000\n15000 A renewed until=34000\n"
	    "15000 B session b beat=15000\n"
	    "25000 A session a beat=25000\n25000 A renewed until=44000\n"
	    "25000 B session b beat=25000\n25030 c3@A acquire x r4\n",
	    "25031 c1@A release 1 r3\n"
	    "25031 c3@A told r4 hold=2 token=101 until=44000\n",
	    "25030 c1@A release 1 r3\n"
	    "25030 c3@A told r4 hold=2 token=101 until=44000\n", NULL,
	    25100 },
	{ "F3", "asks again too soon",
	    "rules handovers=1\n" WAITED
	    "29 A lock x a/g1 token=110\n30 B lock x a/g1 token=110 +b\n"
	    "30 c3@A acquire x r4 wait=9\n"
	    "40 c1@A release 1 r3\n41 A lock x token=110 ttl +b\n"
	    "41 c1@A told r3\n",
	    "2050 A lock x a/g2 token=120 sent=2040\n",
	    "2050 A lock x a/g2 token=120 sent=2041\n", NULL, 3000 },
	{ "F4", "a wish that nobody stands behind",
	    "rules handovers=1 audit=1000\n" FREED
	    "35 hand lock x token=100 ttl +b\n40 quiet\n",
	    "50000 B session b beat=50000\n",
	    "50000 B lock x token=100 ttl\n", NULL, 55611 },
	{ "F4", "its session was deleted, and came back with a late open",
	    "rules handovers=1 audit=1000\n" FREED
	    "35 hand lock x token=100 ttl +b\n40 quiet\n",
	    "", "41 hand session b gone\n42 B session b open\n", NULL, 55611 },
	{ "F5", "who waits does not say so",
	    "rules handovers=1\n" WAITED "30 quiet\n"
	    "15000 A session a beat=15000\n15000 A renewed until=34000\n"
	    "30000 A session a beat=30000\n30000 A renewed until=49000\n",
	    "100 B lock x a/g1 token=100 +a\n",
	    "100 B lock x a/g1 token=100 +b\n",
	    "31361 c2@B leaves\n31362 c1@A leaves\n", 31362 },
	{ "T1", "the deadline of a grant",
	    WRITTEN, "10 c1@A told r1 hold=1 token=100 until=19001\n",
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", GONE, 0 },
	{ "T1", "counted from the send, not from the landing",
	    HELD "5000 A session a beat=4990 sent=4990\n",
	    "5010 A renewed until=24000\n", "5010 A renewed until=23990\n",
	    "5020 c1@A leaves\n", 0 },
	{ "T1", "a renewal that did not land is none", HELD,
	    "5010 A renewed until=24000\n", "5010 A renewed until=19000\n",
	    "5020 c1@A leaves\n", 0 },
	{ "T1", "by the clock of a host that runs fast",
	    "0 A start rate=5000\n0 A session a open\n"
	    "10 c1@A acquire x r1\n10 A lock x a/g1 token=100\n",
	    "10 c1@A told r1 hold=1 token=100 until=18907\n",
	    "10 c1@A told r1 hold=1 token=100 until=18906\n", GONE, 0 },
	{ "T4", "stolen, says the daemon, but it is there", HELD,
	    "5000 c1@A lost 1 stolen\n",
	    "4000 hand lock x gone\n5000 c1@A lost 1 stolen\n", NULL, 0 },
	{ "T4", "lost before its time without a cause", HELD,
	    "5000 c1@A lost 1 expired\n",
	    "4000 hand session a gone\n5000 c1@A lost 1 expired\n", NULL,
	    0 },
	{ "T4", "a release says stolen, and nobody took it",
	    HELD "30 c1@A release 1 r3\n", "40 A lock x token=100 ttl\n"
	    "50 c1@A told r3 code=-4\n",
	    "40 hand lock x token=100 ttl\n50 c1@A told r3 code=-4\n", NULL,
	    0 },
	{ "R1", "a token goes down", HELD, "20 A lock x a/g1 token=99\n",
	    "20 A lock x a/g1 token=101\n", GONE, 0 },
	{ "R1", "also when the item was away for a while",
	    FREED "9000 ttl lock x gone\n",
	    "9001 A lock x a/g2 token=99\n",
	    "9001 A lock x a/g2 token=101\n", NULL, 0 },
	{ "R1", "but not when it had just been made",
	    FREED "4000 ttl lock x gone\n", "5010 A lock x a/g2 token=99\n",
	    "5009 A lock x a/g2 token=99\n", NULL, 0 },
	{ "R1", "a token too great for JSON", HELD,
	    "20 A lock x a/g1 token=9007199254740992\n",
	    "20 A lock x a/g1 token=9007199254740991\n", GONE, 0 },
	{ "2", "what somebody took out gives tokens of an earlier age",
	    HELD "20 hand lock x a/g1 token=9000\n"
	    "25 c3@A acquire x r4\n30 hand lock x gone\n"
	    "31 c1@A release 1 r3\n"
	    "31 c3@A told r4 hold=2 token=8999 until=19000\n"
	    "31 c1@A told r3\n32 c3@A release 2 r5\n33 c3@A told r5\n"
	    "40 c4@A acquire x r6\n40 A lock x a/g2 token=299\n"
	    "40 c4@A told r6 hold=3 token=200 until=19000\n"
	    "50 c5@A acquire x r7\n50 c4@A release 3 r8\n",
	    "50 c5@A told r7 hold=4 token=200 until=19000\n",
	    "50 c5@A told r7 hold=4 token=201 until=19000\n",
	    "51 c4@A told r8\n60 c5@A leaves\n", 0 },
	{ "R22", "it told that token, and the record went back",
	    "rules blind\n" ONE "20 hand lock x token=100 ttl\n"
	    "30 c1@A release 1 r3\n31 c1@A told r3\n"
	    "32 hand lock x token=50 ttl\n33 c1@A acquire x r4\n",
	    "34 c1@A told r4 hold=2 token=100 until=19000\n",
	    "34 c1@A told r4 hold=2 token=101 until=19000\n", GONE, 0 },
	{ "R2", "a ttl on what is held", HOSTS,
	    "10 A lock x a/g1 token=100 ttl\n",
	    "10 A lock x a/g1 token=100\n", NULL, 0 },
	{ "R2", "no ttl on what is free",
	    HELD "30 c1@A release 1 r3\n", "30 A lock x token=100\n",
	    "30 A lock x token=100 ttl\n", "30 c1@A told r3\n", 0 },
	{ "R2", "a ttl that ends before the retention",
	    "rules retention=3600\n" HELD "30 c1@A release 1 r3\n",
	    "30 A lock x token=100 ttl=3539\n",
	    "30 A lock x token=100 ttl=3540\n", "30 c1@A told r3\n", 0 },
	{ "R3", "two holders", HELD,
	    "20 B lock x a/g1 b/g2 token=101\n",
	    "20 B lock x a/g1 token=100 wishes=1\n", GONE, 0 },
	{ "R3", "a wish makes a record", HOSTS,
	    "10 B lock x token=0 wishes=1\n", "10 B lock x b/g1 token=9\n",
	    NULL, 0 },
	{ "R3", "a daemon deletes a record", FREED,
	    "50 A lock x gone\n", "50 hand lock x gone\n", NULL, 0 },
	{ "R4", "taken without a kill", LOST,
	    "30000 B lock x b/g2 token=200\n",
	    "30000 B session a dead\n30000 B lock x b/g2 token=200\n",
	    ANSWERED, 0 },
	{ "R4", "a late kill does not excuse it", LOST,
	    "30000 B lock x b/g2 token=200\n30000 B session a dead\n",
	    "30000 B session a dead\n30000 B lock x b/g2 token=200\n",
	    ANSWERED, 0 },
	{ "R4", "dead, then deleted by hand, is dead enough", LOST,
	    "30000 hand session a gone\n30000 B lock x b/g2 token=200\n",
	    "30000 B session a dead\n30000 hand session a gone\n"
	    "30000 B lock x b/g2 token=200\n", ANSWERED, 0 },
	{ "R4", "its own daemon, in its next life, is another",
	    HELD "18 c1@A release 1 r3\n19 A die\n20 A start\n",
	    "30 A lock x token=100 ttl sent=20\n",
	    "30 A lock x token=100 ttl sent=19\n", NULL, 0 },
	{ "R4", "fail-closed ends by its own daemon only",
	    HOSTS "10 A lock x a/g1! token=100\n30000 B session a dead\n",
	    "30001 B lock x b/g2 token=200\n",
	    "30001 hand lock x gone\n", NULL, 0 },
	{ "R5", "given back while a client has it", HELD,
	    "30 A lock x token=100 ttl\n",
	    "30 c1@A release 1 r3\n30 A lock x token=100 ttl\n", GONE, 0 },
	{ "R5", "given back before a margin is over",
	    HELD "5000 c1@A lost 1 shutdown\n",
	    "6010 A lock x token=100 ttl sent=5999\n",
	    "6010 A lock x token=100 ttl sent=6000\n", NULL, 0 },
	{ "R6", "a grant without a token", FREED,
	    "50 A lock x a/g2 token=100\n", "50 A lock x a/g2 token=101\n",
	    NULL, 0 },
	{ "R6", "another's session", FREED, "50 B lock x a/g2 token=101\n",
	    "50 B lock x b/g2 token=101\n", NULL, 0 },
	{ "R6", "a session that is not open yet",
	    FREED "50 A session c open sent=40\n",
	    "60 A lock x c/g2 token=101 sent=49\n",
	    "60 A lock x c/g2 token=101 sent=50\n", NULL, 0 },
	{ "R6", "another lease", FREED, "50 A lock x a/g2~19999 token=101\n",
	    "50 A lock x a/g2~20000 token=101\n", NULL, 0 },
	{ "R7", "a grant is used again", FREED,
	    "50 A lock x a/g1 token=101 sent=31\n",
	    "50 A lock x a/g1 token=101 sent=30\n", NULL, 0 },
	{ "R7", "by a request of another time",
	    WRITTEN "20 hand lock x gone\n",
	    "6000 A lock x a/g1 token=200 sent=5011\n",
	    "6000 A lock x a/g1 token=200 sent=5010\n", NULL, 0 },
	{ "R8", "somebody else raises the token", HELD,
	    "20 B lock x a/g1 token=101\n", "20 A lock x a/g1 token=101\n",
	    GONE, 0 },
	{ "R8", "a release raises it",
	    HELD "30 c1@A release 1 r3\n", "30 A lock x token=101 ttl\n",
	    "30 A lock x token=100 ttl\n", "30 c1@A told r3\n", 0 },
	{ "R9", "a wish for what is free", FREED,
	    "50 B lock x token=100 ttl wishes=1\n",
	    "50 A lock x a/g2 token=101\n"
	    "50 B lock x a/g2 token=101 wishes=1\n", NULL, 0 },
	{ "R10", "revived", KILLED, "20201 A session a beat=20201\n", "",
	    ANSWERED, 0 },
	{ "R10", "beats after death", KILLED,
	    "20201 A session a beat=20201 dead\n",
	    "20201 A session a beat=0 dead\n", ANSWERED, 0 },
	{ "R10", "a daemon deletes a session", KILLED,
	    "20201 A session a gone\n", "20201 ttl session a gone\n",
	    ANSWERED, 0 },
	{ "R11", "the same beat again",
	    HOSTS "5000 A session a beat=5000\n",
	    "5001 A session a beat=5000\n", "5001 A session a beat=5001\n",
	    NULL, 0 },
	{ "R11", "beats for another", HOSTS, "5000 B session a beat=5000\n",
	    "5000 A session a beat=5000\n", NULL, 0 },
	{ "R11", "beats from beyond the grave",
	    HOSTS "19 A die\n20 A start\n",
	    "30 A session a beat=20 sent=20\n",
	    "30 A session a beat=19 sent=19\n", NULL, 0 },
	{ "R12", "a beat makes a session", HOSTS,
	    "50 A session c beat=50\n", "50 A session c beat=0\n", NULL, 0 },
	{ "R12", "with another lease", HOSTS,
	    "50 A session c open lease=19999\n",
	    "50 A session c open lease=20000\n", NULL, 0 },
	{ "R12", "which changes", HOSTS,
	    "50 A session a beat=50 lease=19999\n",
	    "50 A session a beat=50 lease=20000\n", NULL, 0 },
	{ "R12", "a renewal leaves the ttl as it was",
	    "rules retention=3600\n" HOSTS,
	    "50 A session a beat=50 ttl=172719\n",
	    "50 A session a beat=50 ttl=172720\n", NULL, 0 },
	{ "R12", "a burial that TTL would undo soon",
	    "rules retention=3600\n" HELD
	    "5000 hand session a gone\n5000 c1@A lost 1 expired\n",
	    "25300 B session a dead sent=25200 ttl=172719\n",
	    "25300 B session a dead sent=25200 ttl=172720\n", NULL, 0 },
	{ "R13", "a kill comes early", LOST,
	    "20300 B session a dead sent=20199\n",
	    "20300 B session a dead sent=20200\n", ANSWERED, 0 },
	{ "R13", "counted from when the beat was there to be seen",
	    WAITED "5000 A session a beat=4990 sent=4990\n"
	    "5000 A renewed until=23990\n23990 c1@A lost 1 expired\n",
	    "25300 B session a dead sent=25199\n",
	    "25300 B session a dead sent=25200\n", "31000 c2@B leaves\n",
	    0 },
	{ "R13", "by the clock of a killer that runs fast",
	    "0 A start\n0 A session a open\n0 B start rate=5000\n",
	    "20300 B session a dead sent=20098\n",
	    "20300 B session a dead sent=20099\n", NULL, 0 },
	{ "R13", "a daemon's next life is no better",
	    HOSTS "19 A die\n20 A start\n",
	    "20300 A session a dead sent=20199\n",
	    "20300 A session a dead sent=20200\n", NULL, 0 },
	{ "R14", "buried early",
	    HELD "5000 hand session a gone\n5000 c1@A lost 1 expired\n",
	    "25300 B session a dead sent=25199\n",
	    "25300 B session a dead sent=25200\n", NULL, 0 },
	{ "R14", "buried though nobody was in its way", HOSTS,
	    "30000 B session c dead\n",
	    "100 hand lock y c/g1 token=5\n30000 B session c dead\n", NULL,
	    0 },
	{ "R15", "closed before a margin is over", LOST,
	    "20100 A session a dead sent=19999\n",
	    "20100 A session a dead sent=20000\n", ANSWERED, 0 },
	{ "R15", "closed while a client has something", HELD,
	    "50 A session a dead\n",
	    "50 c1@A release 1 r3\n50 A session a dead\n",
	    "60 c1@A leaves\n", 0 },
	{ "R16", "a grant that is not in the table",
	    HOSTS "10 c1@A acquire x r1\n",
	    "11 c1@A told r1 hold=1 token=100 until=19000\n",
	    "11 A lock x a/g1 token=100\n"
	    "11 c1@A told r1 hold=1 token=100 until=19000\n", GONE, 0 },
	{ "R16", "a grant under a session that is dead", WRITTEN,
	    "11 A session a dead\n"
	    "12 c1@A told r1 hold=1 token=100 until=19000\n",
	    "11 hand session a dead\n"
	    "12 c1@A told r1 hold=1 token=100 until=19000\n", GONE, 0 },
	{ "R17", "a token that is not written yet", WRITTEN,
	    "10 c1@A told r1 hold=1 token=101 until=19000\n",
	    "10 c1@A told r1 hold=1 token=100 until=19000\n", GONE, 0 },
	{ "R17", "a token of the hold before",
	    FREED "50 A lock x a/g2 token=110\n50 c3@A acquire x r4\n",
	    "51 c3@A told r4 hold=2 token=100 until=19000\n",
	    "51 c3@A told r4 hold=2 token=101 until=19000\n",
	    "60 c3@A leaves\n", 0 },
	{ "R9", "a holder that still wishes",
	    HOSTS "5 hand lock x token=90 ttl +a +b\n",
	    "10 A lock x a/g1 token=100 +b +a\n",
	    "10 A lock x a/g1 token=100 +b\n", NULL, 0 },
	{ "R18", "what landed late stays",
	    WRITTEN "20 c1@A told r1 code=-8\n40 quiet\n",
	    "86921 A lock x token=100 ttl\n",
	    "86920 A lock x token=100 ttl\n", NULL, 0 },
};

/* ---- exceptions ------------------------------------------------- */

static const struct judge_case exceptions[] = {
	{ "1", "a host that stood still, clock and all",
	    TWO, "100 A pause\n18999 " SECOND,
	    "100 A freeze\n18999 " SECOND
	    "19999 A resume\n38000 c1@A lost 1 expired\n", DONE, 0 },
	{ "1", "taken out by hand",
	    HELD "20 c2@B acquire x r2\n",
	    "50 B session a dead sent=20200\n50 B lock x b/g2 token=200\n"
	    "50 c2@B told r2 hold=1 token=200 until=19000\n",
	    "50 hand lock x gone\n50 B lock x b/g2 token=200\n"
	    "50 c2@B told r2 hold=1 token=200 until=19000\n",
	    "60 c1@A lost 1 stolen\n60 c2@B leaves\n", 0 },
	{ "1", "its session broken by hand",
	    HELD "20 c2@B acquire x r2\n",
	    "50 B session a dead sent=20200\n50 B lock x b/g2 token=200\n"
	    "50 c2@B told r2 hold=1 token=200 until=19000\n",
	    "50 hand session a dead\n50 B lock x b/g2 token=200\n"
	    "50 c2@B told r2 hold=1 token=200 until=19000\n",
	    "60 c1@A lost 1 expired\n60 c2@B leaves\n", 0 },
	{ "R7", "a request lasts longer where the clock stood still",
	    WRITTEN "20 hand lock x gone\n",
	    "6000 A lock x a/g1 token=200 sent=5011\n",
	    "30 A freeze\n40 A resume\n"
	    "6000 A lock x a/g1 token=200 sent=5011\n", NULL, 0 },
	{ "3", "but the audit finds that in time",
	    "rules audit=1000\n" HELD "30 hand lock x gone\n40 quiet\n"
	    "5000 A session a beat=5000\n5000 A renewed until=24000\n",
	    "20261 c1@A lost 1 stolen\n", "20260 c1@A lost 1 stolen\n",
	    NULL, 0 },
};

/* ---- all -------------------------------------------------------------- */

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

START_TEST(test_exceptions)
{
	judge_cases(JUDGE_CASES(exceptions));
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_told,
		test_table,
		test_exceptions,
		NULL,
	};

	return suite_run("judge", tests);
}
