/*
 * The life of one operation over its attempts. The table below goes through
 * every kind of write with a first attempt whose answer is lost: it took
 * effect before the second, or after it, or not at all.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/exchange.h"
#include "dialect/json.h"

#define SID "00000000000000000000000000000001"
#define ME SID ".00000000000000000000000000000002.20000.-"
#define OTHER "00000000000000000000000000000003." \
	"00000000000000000000000000000004.20000.-"
#define WALL UINT64_C(1800000000000)

#define N(name, n) "\"" name "\":{\"N\":\"" n "\"}"
#define S(name, s) "\"" name "\":{\"S\":\"" s "\"}"
#define HOLDERS(e) "\"holders\":{\"SS\":[\"" e "\"]}"
#define X S("mode", "x")
#define MINE HOLDERS(ME) "," N("token", "45") "," X
#define THEIRS HOLDERS(OTHER) "," N("token", "60") "," X
#define BOTH HOLDERS(ME "\",\"" OTHER) "," N("token", "45") "," S("mode", "s")
#define FREE N("token", "45") "," X
#define WISH "\"xwait\":{\"SS\":[\"" SID "\"]}"
#define BEAT(n) N("beat", n) "," N("lease_ms", "20000")
#define DEAD(by) S("dead", by)

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct holder me = { { 0, 1 }, { 0, 2 }, 20000, false };
static const struct holder other = { { 0, 3 }, { 0, 4 }, 20000, false };

enum kind {
	ACQUIRE = OPERATION_ACQUIRE,
	TAKE = 100,		/* an ACQUIRE from dead holders */
	RELEASE = OPERATION_RELEASE,
	STAYS = 101,		/* a RELEASE where others were seen */
	EXTEND = OPERATION_EXTEND,
	WANT = OPERATION_WANT,
	UNWANT = OPERATION_UNWANT,
	OPEN = OPERATION_SESSION_OPEN,
	BEAT_ = OPERATION_SESSION_BEAT,
	KILL = OPERATION_SESSION_KILL,
	BURY = OPERATION_SESSION_BURY,
	CLOSE = OPERATION_SESSION_CLOSE,
	READ = OPERATION_READ,
};

struct life {
	struct exchange exchange;
	struct operation operation;
	struct outcome outcome;
	const struct dialect_request *request;
	uint32_t attempt;
	char body[2048];
};

static void
life_init(struct life *l, int kind)
{
	memset(l, 0, sizeof(*l));
	l->operation = (struct operation){
		.kind = (enum operation_kind)kind, .key = { "k", 1 },
		.me = me, .tokens = 5, .token_seen = 40, .holders = &me,
		.n_holders = 1, .owner = "us", .session = { 0, 1 },
		.beat = 990, .lease_ms = 20000,
	};
	if (kind == TAKE) {
		l->operation.kind = OPERATION_ACQUIRE;
		l->operation.dead = &other;
		l->operation.n_dead = 1;
	} else if (kind == STAYS) {
		l->operation.kind = OPERATION_RELEASE;
		l->operation.others_hold = true;
	}
	exchange_init(&l->exchange, &dialect_native, &table, &l->operation,
	    WALL);
}

static void
life_done(struct life *l)
{
	exchange_done(&l->exchange);
}

static void
life_send(struct life *l, uint64_t now_ms)
{
	ck_assert_int_eq(exchange_next(&l->exchange, now_ms, &l->request,
	    &l->attempt), 0);
}

static enum exchange_verdict
life_answer(struct life *l, uint32_t attempt, enum exchange_class class,
    int code, const char *body)
{
	struct exchange_answer a = {
		.class = class, .code = code, .text = "said so", .body = body,
		.body_length = body != NULL ? strlen(body) : 0,
	};

	return exchange_answer(&l->exchange, attempt, &a, &l->outcome);
}

static enum exchange_verdict
life_lose(struct life *l)
{
	return life_answer(l, l->attempt, EXCHANGE_LOST,
	    DDBLOCK_E_UNREACHABLE, NULL);
}

static enum exchange_verdict
life_conflict(struct life *l, const char *item)
{
	(void)snprintf(l->body, sizeof(l->body), "{\"Item\":{%s}}", item);
	return life_answer(l, l->attempt, EXCHANGE_CONDITION, 0, l->body);
}

static enum exchange_verdict
life_ok(struct life *l, const char *attributes)
{
	(void)snprintf(l->body, sizeof(l->body), "{\"Attributes\":{%s}}",
	    attributes);
	return life_answer(l, l->attempt, EXCHANGE_OK, 0, l->body);
}

static const char *
value(const struct life *l, const char *expression, char *to, size_t size)
{
	struct json_object *o = json_read_object(l->request->body.data,
	    l->request->body.length);
	struct json_object *v = json_find(o, expression);

	(void)snprintf(to, size, "%s",
	    v != NULL ? json_object_get_string(v) : "");
	json_object_put(o);
	return to;
}

/*
 * Attempt 1 is sent at 1000, attempt 2 at 2000. The second is answered with a
 * conflict and that record, or (item NULL) with success.
 *
 * sent: which attempt's send counts; 0 for what is not DONE.
 */
static const struct {
	int kind;
	bool lost;	/* the answer to the first; else there is no first */
	const char *item;
	enum outcome_kind outcome;
	uint64_t sent_ms;
} conflicts[] = {
	/* The first took effect; the second failed because of it. */
	{ ACQUIRE, true, MINE, OUTCOME_DONE, 1000 },
	{ TAKE, true, MINE, OUTCOME_DONE, 1000 },
	{ RELEASE, true, FREE, OUTCOME_DONE, 1000 },
	{ RELEASE, true, THEIRS, OUTCOME_DONE, 1000 },
	{ STAYS, true, THEIRS, OUTCOME_DONE, 1000 },
	{ EXTEND, true, MINE, OUTCOME_DONE, 1000 },
	{ WANT, true, FREE "," WISH, OUTCOME_DONE, 1000 },
	{ UNWANT, true, THEIRS, OUTCOME_DONE, 1000 },
	{ OPEN, true, BEAT("0"), OUTCOME_DONE, 1000 },
	{ KILL, true, BEAT("990") "," DEAD("us"), OUTCOME_DONE, 1000 },
	{ BURY, true, DEAD("us"), OUTCOME_DONE, 1000 },
	{ CLOSE, true, BEAT("990") "," DEAD("self"), OUTCOME_DONE, 1000 },
	/* A beat: whichever number is there counts from its own send. */
	{ BEAT_, true, BEAT("1000"), OUTCOME_DONE, 1000 },
	{ BEAT_, true, BEAT("2000"), OUTCOME_DONE, 2000 },
	{ BEAT_, true, BEAT("1500"), OUTCOME_CONFLICT, 0 },
	{ BEAT_, true, BEAT("1000") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	/* Somebody else was there: the first may land, but has not. */
	{ ACQUIRE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ ACQUIRE, true, FREE ",\"swait\":{\"SS\":[\"" SID "\"]}",
	    OUTCOME_CONFLICT, 0 },
	{ TAKE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ TAKE, true, FREE, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, HOLDERS(ME) "," N("token", "44") "," X,
	    OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, BOTH, OUTCOME_CONFLICT, 0 },
	{ WANT, true, FREE, OUTCOME_CONFLICT, 0 },
	{ OPEN, true, DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ KILL, true, BEAT("991"), OUTCOME_CONFLICT, 0 },
	{ KILL, true, BEAT("990") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ BURY, true, BEAT("0"), OUTCOME_CONFLICT, 0 },
	{ BURY, true, DEAD("them"), OUTCOME_CONFLICT, 0 },
	/* The same records on a first and only attempt: it was not we. */
	{ RELEASE, false, FREE, OUTCOME_CONFLICT, 0 },
	{ RELEASE, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ EXTEND, false, MINE, OUTCOME_CONFLICT, 0 },
	{ WANT, false, FREE "," WISH, OUTCOME_CONFLICT, 0 },
	{ UNWANT, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPEN, false, BEAT("0"), OUTCOME_CONFLICT, 0 },
	{ BEAT_, false, BEAT("990") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ KILL, false, BEAT("990") "," DEAD("us"), OUTCOME_CONFLICT, 0 },
	{ BURY, false, DEAD("us"), OUTCOME_CONFLICT, 0 },
	/* But nobody else ever has our grant, nor this number. */
	{ ACQUIRE, false, MINE, OUTCOME_DONE, 2000 },
	{ BEAT_, false, BEAT("2000"), OUTCOME_DONE, 2000 },
};

START_TEST(test_conflicts)
{
	struct life l;

	life_init(&l, conflicts[_i].kind);
	if (conflicts[_i].lost) {
		life_send(&l, 1000);
		ck_assert_int_eq(life_lose(&l), EXCHANGE_LATER);
	}
	life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, conflicts[_i].item),
	    EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, conflicts[_i].outcome);
	if (l.outcome.kind == OUTCOME_DONE)
		ck_assert_uint_eq(l.outcome.sent_ms, conflicts[_i].sent_ms);
	ck_assert(l.outcome.unanswered == conflicts[_i].lost);
	if (conflicts[_i].lost)
		ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);
}
END_TEST

/* The second took effect; whatever the first does comes later. */
static const struct {
	int kind;
	const char *record;
} done[] = {
	{ ACQUIRE, MINE }, { TAKE, MINE }, { RELEASE, FREE }, { STAYS, THEIRS },
	{ EXTEND, MINE }, { WANT, THEIRS "," WISH }, { UNWANT, THEIRS },
	{ OPEN, "" }, { BEAT_, BEAT("2000") }, { BURY, "" },
	{ KILL, BEAT("990") "," DEAD("us") },
	{ CLOSE, BEAT("990") "," DEAD("self") },
};

START_TEST(test_second_is_acknowledged)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	ck_assert_int_eq(life_lose(&l), EXCHANGE_LATER);
	life_send(&l, 2000);
	ck_assert_int_eq(life_ok(&l, done[_i].record), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 2000);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);
}
END_TEST

/* Two under way at once (a hedge): the answers come in the other order. */
START_TEST(test_first_is_answered_last)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	life_send(&l, 2000);
	l.attempt = 0;
	ck_assert_int_eq(life_ok(&l, done[_i].record), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 2000);
	life_done(&l);
}
END_TEST

/* Only a write without any answer is in doubt when time is up. */
START_TEST(test_given_up)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	(void)life_lose(&l);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, EXCHANGE_AGAIN,
	    DDBLOCK_E_THROTTLED, NULL), EXCHANGE_LATER);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_THROTTLED);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	/* Refused now, but the one before may have happened. */
	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, NULL), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_ACCESS_DENIED);
	ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}
END_TEST

START_TEST(test_nothing_sent)
{
	struct life l;

	life_init(&l, ACQUIRE);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_UNREACHABLE);
	life_done(&l);
}
END_TEST

START_TEST(test_reads)
{
	struct life l;

	life_init(&l, READ);
	life_send(&l, 1000);
	(void)life_lose(&l);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	life_init(&l, READ);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_OK, 0, "{}"),
	    EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert(!l.outcome.lock.exists && !l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.sent_ms, 2000);
	life_done(&l);

	life_init(&l, READ);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, EXCHANGE_OK, 0,
	    "{\"Item\":{\"token\":{\"S\":\"1\"}}}"), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(l.outcome.text, "\"token\""));
	life_done(&l);
}
END_TEST

/* Every attempt of a beat has a number of its own, the others none. */
START_TEST(test_numbers_of_beats)
{
	static const uint64_t sent[] = { 500, 500, 2000, 1500 };
	static const uint64_t numbers[] = { 991, 992, 2000, 2001 };
	struct life l;
	char first[2048];
	char later[2048];

	life_init(&l, BEAT_);
	for (uint32_t i = 0; i < 4; i++) {
		life_send(&l, sent[i]);
		ck_assert_uint_eq(l.exchange.attempts[i].what.beat,
		    numbers[i]);
	}
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)snprintf(first, sizeof(first), "%s", l.request->body.data);
	(void)life_lose(&l);
	life_send(&l, 5000);
	(void)snprintf(later, sizeof(later), "%s", l.request->body.data);
	ck_assert_str_eq(first, later);
	life_done(&l);
}
END_TEST

/* The form that fits what was seen goes first, the other on conflict. */
START_TEST(test_forms_of_release)
{
	struct life l;
	char text[256];

	life_init(&l, RELEASE);
	life_send(&l, 1000);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "#holders = :them");
	ck_assert_int_eq(life_conflict(&l, BOTH), EXCHANGE_NOW);
	life_send(&l, 1001);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "contains(#holders, :h0) AND #holders <> :them");
	ck_assert_int_eq(life_ok(&l, THEIRS), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	life_init(&l, STAYS);
	life_send(&l, 1000);
	ck_assert_int_eq(life_conflict(&l, MINE), EXCHANGE_NOW);
	life_send(&l, 1001);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "#holders = :them");
	ck_assert_int_eq(life_ok(&l, FREE), EXCHANGE_FINAL);
	life_done(&l);

	/* Never for ever. */
	life_init(&l, RELEASE);
	for (int i = 0; i < EXCHANGE_ATTEMPTS_MAX; i++) {
		life_send(&l, 1000);
		(void)life_conflict(&l, i % 2 == 0 ? BOTH : MINE);
	}
	ck_assert_int_eq(exchange_next(&l.exchange, 1000, &l.request,
	    &l.attempt), DDBLOCK_E_LIMIT);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	life_done(&l);
}
END_TEST

/* An endpoint that does not return the record is asked for it. */
START_TEST(test_look)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_CONDITION, 0, "{}"),
	    EXCHANGE_NOW);
	life_send(&l, 2001);
	ck_assert_str_eq(l.request->operation, "GetItem");
	ck_assert_int_eq(life_answer(&l, 2, EXCHANGE_AGAIN,
	    DDBLOCK_E_THROTTLED, NULL), EXCHANGE_LATER);
	life_send(&l, 3000);
	ck_assert_str_eq(l.request->operation, "GetItem");
	ck_assert_int_eq(life_answer(&l, 3, EXCHANGE_OK, 0,
	    "{\"Item\":{" MINE "}}"), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	ck_assert_uint_eq(l.outcome.lock.token, 45);
	life_done(&l);

	life_init(&l, BEAT_);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, EXCHANGE_CONDITION, 0, "{}"),
	    EXCHANGE_NOW);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_OK, 0, "{}"),
	    EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_CONFLICT);
	ck_assert(!l.outcome.session.exists && !l.outcome.unanswered);
	life_done(&l);

	/* The conflict was definite, the look was not. */
	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_answer(&l, 0, EXCHANGE_CONDITION, 0, "{}");
	life_send(&l, 1001);
	(void)life_lose(&l);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);
}
END_TEST

/* A write may be invalid because of what is in the record: let that speak. */
START_TEST(test_invalid)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, EXCHANGE_INVALID,
	    DDBLOCK_E_BAD_REQUEST, NULL), EXCHANGE_NOW);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_OK, 0,
	    "{\"Item\":{\"token\":{\"S\":\"1\"}}}"), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_answer(&l, 0, EXCHANGE_INVALID, DDBLOCK_E_BAD_REQUEST,
	    NULL);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, EXCHANGE_OK, 0, "{}"),
	    EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}
END_TEST

/* Garbage in a success is no answer; a bad record in one is an effect. */
START_TEST(test_unreadable_success)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, EXCHANGE_OK, 0, "<html>"),
	    EXCHANGE_LATER);
	life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, MINE), EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_ok(&l, MINE "," N("swait", "1")),
	    EXCHANGE_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	life_done(&l);
}
END_TEST

START_TEST(test_cannot_be_asked)
{
	struct life l;

	life_init(&l, ACQUIRE);
	l.operation.key = (struct key){ "\xff", 1 };
	ck_assert_int_eq(exchange_next(&l.exchange, 1000, &l.request,
	    &l.attempt), DDBLOCK_E_BAD_REQUEST);
	exchange_give_up(&l.exchange, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_ne(l.outcome.text, "");
	life_done(&l);
}
END_TEST

#define ROWS(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *suite = suite_create("exchange");
	TCase *tests = tcase_create("exchange");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tests, test_conflicts, 0, ROWS(conflicts));
	tcase_add_loop_test(tests, test_second_is_acknowledged, 0, ROWS(done));
	tcase_add_loop_test(tests, test_first_is_answered_last, 0, ROWS(done));
	tcase_add_loop_test(tests, test_given_up, 0, ROWS(done));
	tcase_add_test(tests, test_nothing_sent);
	tcase_add_test(tests, test_reads);
	tcase_add_test(tests, test_numbers_of_beats);
	tcase_add_test(tests, test_forms_of_release);
	tcase_add_test(tests, test_look);
	tcase_add_test(tests, test_invalid);
	tcase_add_test(tests, test_unreadable_success);
	tcase_add_test(tests, test_cannot_be_asked);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
