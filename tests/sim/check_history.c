/*
 * Reading histories of real daemons: lives, pauses, order; and an incomplete
 * history is refused.
 */
#include <stdio.h>
#include <string.h>

#include "history.h"
#include "suite.h"

#define AT(us, pid, n) "{\"DDBLOCK_BOOT_US\":\"" us "\",\"_PID\":\"" pid \
	"\",\"DDBLOCK_SERIAL\":\"" n "\",\"DDBLOCK_EVENT\":"
#define SETTINGS SETTINGS_OF("1000", "0")
#define SETTINGS_OF(poll, idle)						\
	"\"namespace\",\"DDBLOCK_NAMESPACE\":\"default\","		\
	"\"DDBLOCK_LEASE_MS\":\"20000\",\"DDBLOCK_DANGER_MS\":"		\
	"\"10000\",\"DDBLOCK_MARGIN_MS\":\"1000\","			\
	"\"DDBLOCK_DRIFT_PPM\":\"10000\","				\
	"\"DDBLOCK_POLL_MS\":\"" poll "\","				\
	"\"DDBLOCK_REQUEST_MS\":\"5000\","				\
	"\"DDBLOCK_TRY_MS\":\"1000\","					\
	"\"DDBLOCK_AUDIT_MS\":\"60000\",\"DDBLOCK_IDLE_MS\":\"" idle "\"}\n"
#define START(us, pid)							\
	AT(us, pid, "1") "\"started\"}\n" AT(us, pid, "2") SETTINGS
#define ASKED(us, pid, n, more)						\
	AT(us, pid, n) "\"asked\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"ACQUIRE\","	\
	"\"DDBLOCK_NAMESPACE\":\"default\",\"DDBLOCK_KEY\":\"k\"" more "}\n"
#define TOLD(us, pid, n, token, until)					\
	AT(us, pid, n) "\"answered\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"ACQUIRE\","	\
	"\"DDBLOCK_CODE\":\"OK\",\"DDBLOCK_HOLD\":\"1\","		\
	"\"DDBLOCK_TOKEN\":\"" token "\",\"DDBLOCK_UNTIL_BOOT_MS\":\""	\
	until "\"}\n"
#define GRANT(us, pid, n, m, token, until)				\
	ASKED(us, pid, n, "") TOLD(us, pid, m, token, until)
#define LINGERS(us, pid, n, m, until)					\
	ASKED(us, pid, n, ",\"DDBLOCK_USER\":\"3\","			\
	    "\"DDBLOCK_LINGER_MS\":\"3000\"")				\
	TOLD(us, pid, m, "100", until)
#define COMES_BACK(us, pid, n, m, until)				\
	ASKED(us, pid, n, ",\"DDBLOCK_USER\":\"3\","			\
	    "\"DDBLOCK_RESUMES\":\"yes\"")				\
	AT(us, pid, m) "\"answered\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"ACQUIRE\","	\
	"\"DDBLOCK_CODE\":\"OK\",\"DDBLOCK_HOLD\":\"1\","		\
	"\"DDBLOCK_TOKEN\":\"100\",\"DDBLOCK_RESUMES\":\"yes\","	\
	"\"DDBLOCK_UNTIL_BOOT_MS\":\"" until "\"}\n"
#define CUT_OFF(us, pid, n)						\
	AT(us, pid, n) "\"left\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_REASON\":\"cut_off\"}\n"
#define LEAVES(us, pid, n)						\
	AT(us, pid, n) "\"left\",\"DDBLOCK_CLIENT\":\"5\"}\n"
#define RESUMES(us, pid, n, m, o, user, until)				\
	AT(us, pid, n) "\"asked\",\"DDBLOCK_CLIENT\":\"6\","		\
	"\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"RESUME\","	\
	"\"DDBLOCK_USER\":\"" user "\"}\n"				\
	AT(us, pid, m) "\"taken\",\"DDBLOCK_CLIENT\":\"6\","		\
	"\"DDBLOCK_HOLD\":\"1\",\"DDBLOCK_UNTIL_BOOT_MS\":\"" until	\
	"\"}\n"								\
	AT(us, pid, o) "\"answered\",\"DDBLOCK_CLIENT\":\"6\","		\
	"\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"RESUME\","	\
	"\"DDBLOCK_CODE\":\"OK\"}\n"
#define LOSS(us, pid, n)						\
	AT(us, pid, n) "\"lost\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_HOLD\":\"1\",\"DDBLOCK_REASON\":\"expired\"}\n"
#define DANGER(us, pid, n)						\
	AT(us, pid, n) "\"danger\",\"DDBLOCK_CLIENT\":\"5\","		\
	"\"DDBLOCK_HOLD\":\"1\",\"DDBLOCK_UNTIL_BOOT_MS\":\"19001\"}\n"
#define INHERITS(us, pid, from, serial)					\
	AT(us, pid, "1") "\"started\"}\n" AT(us, pid, "2") SETTINGS	\
	AT(us, pid, "3") "\"inherits\",\"DDBLOCK_FROM_PID\":\""	\
	from "\",\"DDBLOCK_FROM_SERIAL\":\"" serial "\"}\n"
#define KEPT(us, pid, n, client, key, token, until)			\
	AT(us, pid, n) "\"kept\",\"DDBLOCK_CLIENT\":\"" client	\
	"\",\"DDBLOCK_HOLD\":\"1\",\"DDBLOCK_NAMESPACE\":"		\
	"\"default\",\"DDBLOCK_KEY\":\"" key "\","			\
	"\"DDBLOCK_TOKEN\":\"" token "\",\"DDBLOCK_UNTIL_BOOT_MS\":\""	\
	until "\"}\n"
#define INHERITED(us, pid, n)						\
	AT(us, pid, n) "\"inherited\",\"DDBLOCK_COMPLETE\":\"yes\"}\n"
#define REFUSED(us, pid, n, m)						\
	ASKED(us, pid, n, "") AT(us, pid, m) "\"answered\","		\
	"\"DDBLOCK_CLIENT\":\"5\",\"DDBLOCK_REQUEST\":\"1\","		\
	"\"DDBLOCK_VERB\":\"ACQUIRE\",\"DDBLOCK_CODE\":\"DRAINING\"}\n"
#define SCRIPT(us, pid, event)						\
	"{\"DDBLOCK_EVENT\":\"" event "\",\"DDBLOCK_PID\":\"" pid	\
	"\",\"DDBLOCK_BOOT_US\":\"" us "\"}\n"
#define OTHER "{\"MESSAGE\":\"something else\",\"_PID\":\"7\"}\nnoise\n"

#define A_HOLDS OTHER START("1000", "7")				\
	GRANT("2000", "7", "3", "4", "100", "19001")

struct history_case {
	const char *what;
	const char *files[3];
	const char *wrong;	/* why it is refused; NULL: it is not */
	const char *rule;	/* the judge's finding; NULL: none */
};

static const struct history_case cases[] = {
	{ "two who do not meet", {
	    A_HOLDS DANGER("10001000", "7", "5") LOSS("19001000", "7", "6"),
	    START("3000", "8") GRANT("19001001", "8", "3", "4", "200",
	    "39000") }, NULL, NULL },
	{ "a microsecond too early", {
	    A_HOLDS DANGER("10001000", "7", "5") LOSS("19001000", "7", "6"),
	    START("3000", "8") GRANT("19000999", "8", "3", "4", "200",
	    "39000") }, NULL, "1" },
	{ "its daemon was killed, and started again: the deadline holds", {
	    A_HOLDS START("5000000", "9"),
	    START("3000", "8") GRANT("19001001", "8", "3", "4", "200",
	    "39000") }, NULL, NULL },
	{ "and nobody may have it before that", {
	    A_HOLDS START("5000000", "9")
	    GRANT("19000999", "9", "3", "4", "200", "39000") }, NULL, "1" },
	{ "a paused daemon tells late", {
	    A_HOLDS DANGER("10001000", "7", "5") LOSS("30000000", "7", "6"),
	    SCRIPT("15000000", "7", "paused")
	    SCRIPT("30000000", "7", "resumed") }, NULL, NULL },
	{ "one that was not must not", {
	    A_HOLDS DANGER("10001000", "7", "5") LOSS("30000000", "7", "6") },
	    NULL, "T3" },
	{ "a drained one refuses", {
	    START("1000", "7") REFUSED("2000", "7", "3", "4")
	    GRANT("4000", "7", "5", "6", "100", "19001"),
	    SCRIPT("1500", "7", "drained") SCRIPT("3000", "7", "undrained") },
	    NULL, NULL },
	{ "it may not when it is not drained any more", {
	    START("1000", "7") REFUSED("4000", "7", "3", "4"),
	    SCRIPT("1500", "7", "drained") SCRIPT("3000", "7", "undrained") },
	    NULL, "D2" },
	{ "and grants nothing until then", {
	    START("1000", "7") GRANT("2000", "7", "3", "4", "100", "19001"),
	    SCRIPT("1500", "7", "drained") SCRIPT("3000", "7", "undrained") },
	    NULL, "D1" },
	{ "it lingers, and somebody comes for it", {
	    START("1000", "7") LINGERS("2000", "7", "3", "4", "19001")
	    LEAVES("3000", "7", "5")
	    RESUMES("2900000", "7", "6", "7", "8", "3", "19001") }, NULL,
	    NULL },
	{ "it comes back after a cut", {
	    START("1000", "7") COMES_BACK("2000", "7", "3", "4", "19001")
	    CUT_OFF("3000", "7", "5")
	    RESUMES("2900000", "7", "6", "7", "8", "3", "19001") }, NULL,
	    NULL },
	{ "after its own end", {
	    START("1000", "7") COMES_BACK("2000", "7", "3", "4", "19001")
	    LEAVES("3000", "7", "5")
	    RESUMES("2900000", "7", "6", "7", "8", "3", "19001") }, NULL,
	    "T11" },
	{ "when its time is over", {
	    START("1000", "7") LINGERS("2000", "7", "3", "4", "19001")
	    LEAVES("3000", "7", "5")
	    RESUMES("3200000", "7", "6", "7", "8", "3", "19001") }, NULL,
	    "T11" },
	{ "another user", {
	    START("1000", "7") LINGERS("2000", "7", "3", "4", "19001")
	    LEAVES("3000", "7", "5")
	    RESUMES("2900000", "7", "6", "7", "8", "4", "19001") }, NULL,
	    "T11" },
	{ "somebody has it while it lingers", {
	    START("1000", "7") LINGERS("2000", "7", "3", "4", "19001")
	    LEAVES("3000", "7", "5"),
	    START("3500", "8") GRANT("2900000", "8", "3", "4", "200",
	    "19001") }, NULL, "1" },
	{ "who watches a lock says nothing of holds", {
	    A_HOLDS AT("2500", "7", "5") "\"asked\",\"DDBLOCK_CLIENT\":"
	    "\"6\",\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":"
	    "\"WATCH\"}\n" DANGER("10001000", "7", "6")
	    LOSS("19001000", "7", "7") }, NULL, NULL },
	{ "it is taken over, with its client", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") DANGER("10001000", "9", "6")
	    LOSS("19001000", "9", "7") }, NULL, NULL },
	{ "its client is told that it is in danger", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") LOSS("19001000", "9", "6") }, NULL,
	    "T2" },
	{ "its client is not there", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") CUT_OFF("5000000", "9", "6"),
	    START("3000", "8") GRANT("6001001", "8", "3", "4", "200",
	    "25000") }, NULL, NULL },
	{ "with another token", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "101", "19001")
	    INHERITED("5000000", "9", "5") }, NULL, "I1" },
	{ "for another client", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "6", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") }, NULL, "I1" },
	{ "of another lock", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "l", "100", "19001")
	    INHERITED("5000000", "9", "5") }, NULL, "I1" },
	{ "with an earlier deadline", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19000")
	    INHERITED("5000000", "9", "5") }, NULL, "I1" },
	{ "twice", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    KEPT("5000000", "9", "5", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "6") }, NULL, "I1" },
	{ "what was not granted", {
	    START("1000", "7") INHERITS("5000000", "9", "7", "2")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") }, NULL, "I1" },
	{ "it is left out", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    INHERITED("5000000", "9", "4") }, NULL, "I2" },
	{ "a grant that was not saved was not sent", {
	    A_HOLDS INHERITS("5000000", "9", "7", "3")
	    INHERITED("5000000", "9", "4")
	    GRANT("5000000", "9", "5", "6", "200", "25000") }, NULL, NULL },
	{ "somebody had it meanwhile", {
	    A_HOLDS INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5"),
	    START("3000", "8") GRANT("4000000", "8", "3", "4", "200",
	    "24000") }, NULL, "1" },
	{ "a second one, after one that had nothing to say", {
	    A_HOLDS INHERITS("4000000", "8", "7", "4")
	    KEPT("4000000", "8", "4", "5", "k", "100", "19001")
	    INHERITED("4000000", "8", "5")
	    INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") DANGER("10001000", "9", "6")
	    LOSS("19001000", "9", "7") }, NULL, NULL },
	{ "a second one, after one that went on", {
	    A_HOLDS INHERITS("4000000", "8", "7", "4")
	    KEPT("4000000", "8", "4", "5", "k", "100", "19001")
	    INHERITED("4000000", "8", "5")
	    AT("4000000", "8", "6") "\"asked\",\"DDBLOCK_CLIENT\":\"6\","
	    "\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":\"LIST\"}\n"
	    AT("4000000", "8", "7") "\"answered\",\"DDBLOCK_CLIENT\":"
	    "\"6\",\"DDBLOCK_REQUEST\":\"1\",\"DDBLOCK_VERB\":"
	    "\"LIST\",\"DDBLOCK_CODE\":\"OK\"}\n"
	    INHERITS("5000000", "9", "7", "4")
	    KEPT("5000000", "9", "4", "5", "k", "100", "19001")
	    INHERITED("5000000", "9", "5") }, NULL, "I3" },
	{ "what nobody knows of", {
	    A_HOLDS INHERITS("5000000", "9", "70", "4") },
	    "process 70, of which nothing is known", NULL },
	{ "one keeps locks for a while", {
	    A_HOLDS, AT("3000", "8", "1") "\"started\"}\n"
	    AT("3000", "8", "2") SETTINGS_OF("1000", "20"),
	    START("3000", "9") }, NULL, NULL },
	{ "one polls less often", {
	    A_HOLDS, AT("3000", "8", "1") "\"started\"}\n"
	    AT("3000", "8", "2") SETTINGS_OF("2000", "0") },
	    "different settings", NULL },
	{ "a line is missing", {
	    A_HOLDS LOSS("19001000", "7", "6") }, "lines are missing", NULL },
	{ "its beginning is missing", {
	    LOSS("19001000", "7", "6") }, "begins within a life", NULL },
	{ "two daemons in one file", {
	    A_HOLDS START("3000", "8") LOSS("19001000", "7", "5") },
	    "two daemons", NULL },
	{ "half a line", { A_HOLDS "{\"DDBLOCK_EV" }, "no JSON", NULL },
	{ "who was stopped?", { A_HOLDS,
	    SCRIPT("15000000", "70", "paused") }, "process 70", NULL },
	{ "nothing of a history", { OTHER }, "no history", NULL },
	{ "a field is missing", {
	    START("1000", "7") AT("2000", "7", "3") "\"asked\"}\n" },
	    "no request", NULL },
};

/* The reason of the refusal, or "". */
static const char *
case_read(struct history *h, const struct history_case *c)
{
	static char text[512];
	int r = 0;

	text[0] = '\0';
	for (size_t i = 0; r == 0 && i < 3 && c->files[i] != NULL; i++) {
		FILE *f = fmemopen((void *)(uintptr_t)c->files[i],
		    strlen(c->files[i]), "r");

		ck_assert_ptr_nonnull(f);
		r = history_read(h, f, "file", text, sizeof(text));
		ck_assert_int_eq(fclose(f), 0);
	}
	if (r == 0)
		(void)history_finish(h, text, sizeof(text));
	return text;
}

static void
case_judge(const struct history *h, const struct history_case *c)
{
	struct judge *j = judge_new(history_rules(h), history_namespaces(h));
	const struct judge_finding *finding;
	const struct fact *f;
	uint64_t end_ms = 0;

	for (size_t i = 0; (f = history_fact(h, i)) != NULL; i++) {
		end_ms = f->at_ms;
		(void)judge_fact(j, f);
	}
	(void)judge_end(j, end_ms);
	finding = judge_finding(j);
	ck_assert_msg((finding == NULL) == (c->rule == NULL), "%s: %s",
	    c->what, finding == NULL ? "passed" : finding->text);
	if (finding != NULL)
		ck_assert_str_eq(finding->invariant, c->rule);
	judge_free(j);
}

START_TEST(test_cases)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct history_case *c = &cases[i];
		struct history *h = history_new();
		const char *wrong = case_read(h, c);

		if (c->wrong == NULL)
			ck_assert_msg(wrong[0] == '\0', "%s: %s", c->what,
			    wrong);
		else
			ck_assert_msg(strstr(wrong, c->wrong) != NULL,
			    "%s: \"%s\"", c->what, wrong);
		if (c->wrong == NULL)
			case_judge(h, c);
		history_free(h);
	}
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { test_cases, NULL };

	return suite_run("history", tests);
}
