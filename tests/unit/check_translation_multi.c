/*
 * Several acquires in one transaction: the requests, their repetition, and the
 * joint meaning of the answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "ddblock.h"
#include "test.h"
#include "translation_life.h"

#define NO_REASON "{\"Code\":\"None\"}"
#define FAILED(item) "{\"Code\":\"ConditionalCheckFailed\",\"Item\":{"        \
	"\"key\":{\"S\":\"lock:x\"}," item "}}"
#define ITEM(key, item) "{\"key\":{\"S\":\"lock:" key "\"}," item "}"
#define A_TOKEN "00000000000000000000000000000002"
#define HAS_A HOLDERS(SID "." A_TOKEN ".20000.-") "," N("token", "45") "," X
#define HAS_B HOLDERS(SID ".00000000000000000000000000000007.20000.-")         \
	"," N("token", "70") "," X

static struct life life;
static struct operation parts[2];
static const struct operation *const list[2] = { &parts[0], &parts[1] };
static const struct key keys[2] = { { "a", 1 }, { "b", 1 } };
static char body[4096];

static void
begin(void)
{
	life_init(&life, OPERATION_MULTI);
	for (size_t i = 0; i < 2; i++) {
		parts[i] = life.operation;
		parts[i].kind = OPERATION_ACQUIRE;
		parts[i].key = keys[i];
	}
	parts[1].me.grant.low = 7;
	life.operation.keys = keys;
	life.operation.n_keys = 2;
	life.operation.parts = list;
}

static void
end(void)
{
	life_done(&life);
}

static enum translation_verdict
cancelled(const char *a, const char *b)
{
	(void)snprintf(body, sizeof(body), "{\"__type\":\"x#Transaction"
	    "CanceledException\",\"CancellationReasons\":[%s,%s]}", a, b);
	return life_answer(&life, life.attempt, TRANSLATION_CONDITION, 0, body);
}

static enum translation_verdict
acknowledged(void)
{
	return life_answer(&life, life.attempt, TRANSLATION_OK, 0, "{}");
}

static enum translation_verdict
looked(const char *items, const char *unprocessed)
{
	(void)snprintf(body, sizeof(body), "{\"Responses\":{\"locks\":[%s]},"
	    "\"UnprocessedKeys\":{%s}}", items, unprocessed);
	return life_answer(&life, life.attempt, TRANSLATION_OK, 0, body);
}

static void
must_send(uint64_t now_ms, const char *operation)
{
	life_send(&life, now_ms);
	ck_assert_str_eq(life.request->operation, operation);
}

static void
must_be(size_t i, enum outcome_kind kind, int code)
{
	ck_assert_ptr_nonnull(life.outcome.parts);
	ck_assert_int_eq(life.outcome.parts[i].kind, kind);
	ck_assert_int_eq(life.outcome.parts[i].code, code);
}

/* One request for all; then a read for the outcome, with the tokens. */
TEST(test_done)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_ptr_nonnull(strstr(life.request->body.data,
	    "\"ConsistentRead\":true"));
	ck_assert_int_eq(looked(ITEM("b", HAS_B) "," ITEM("a", HAS_A), ""),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_DONE);
	ck_assert(!life.outcome.unanswered);
	must_be(0, OUTCOME_DONE, 0);
	must_be(1, OUTCOME_DONE, 0);
	ck_assert_uint_eq(life.outcome.parts[0].lock.token, 45);
	ck_assert_uint_eq(life.outcome.parts[1].lock.token, 70);
	end();
}

/* Each part is the acquire that it would be alone, under one token. */
TEST(test_request)
{
	const char *text;

	begin();
	must_send(1000, "TransactWriteItems");
	text = life.request->body.data;
	ck_assert_ptr_nonnull(strstr(text,
	    "\"ClientRequestToken\":\"" A_TOKEN "\""));
	ck_assert_ptr_nonnull(strstr(text, "{\"Update\":{\"TableName\":"
	    "\"locks\",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\","
	    "\"Key\":{\"key\":{\"S\":\"lock:a\"}}"));
	ck_assert_ptr_nonnull(strstr(text,
	    "\"Key\":{\"key\":{\"S\":\"lock:b\""));
	ck_assert_ptr_null(strstr(text, "\"ReturnValues\":"));
	end();
}

/*
 * A request that was lost, throttled or is in progress is sent again unchanged.
 */
TEST(test_same_bytes)
{
	struct buffer first;

	begin();
	must_send(1000, "TransactWriteItems");
	buffer_init(&first, 65536);
	ck_assert_int_eq(buffer_append(&first, life.request->body.data,
	    life.request->body.length), 0);
	for (uint64_t i = 1; i < 4; i++) {
		ck_assert_int_eq(i == 2 ? life_answer(&life, life.attempt,
		    TRANSLATION_AGAIN, DDBLOCK_E_THROTTLED, NULL) :
		    life_lose(&life), TRANSLATION_LATER);
		must_send(1000 * (i + 1), "TransactWriteItems");
		ck_assert_uint_eq(life.request->body.length, first.length);
		ck_assert_mem_eq(life.request->body.data, first.data,
		    first.length);
	}
	buffer_done(&first);
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(5000, "BatchGetItem");
	ck_assert_int_eq(looked(ITEM("a", HAS_A) "," ITEM("b", HAS_B), ""),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_DONE);
	/* Any of them may have been the one, and two may still come. */
	ck_assert_uint_eq(life.outcome.sent_ms, 1000);
	ck_assert(life.outcome.unanswered);
	end();
}

/* Once acknowledged it is never sent again, for any result of the look. */
TEST(test_look_again)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(life_lose(&life), TRANSLATION_LATER);
	must_send(1200, "BatchGetItem");
	ck_assert_int_eq(looked(ITEM("a", HAS_A), "\"locks\":{\"Keys\":["
	    "{\"key\":{\"S\":\"lock:b\"}}]}"), TRANSLATION_LATER);
	must_send(1300, "BatchGetItem");
	ck_assert_int_eq(life_answer(&life, life.attempt, TRANSLATION_AGAIN,
	    DDBLOCK_E_THROTTLED, NULL), TRANSLATION_LATER);
	must_send(1400, "BatchGetItem");
	translation_give_up(&life.translation, &life.outcome);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_UNKNOWN);
	end();
}

/* It may be refused: then it is known, but not seen. */
TEST(test_look_refused)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(life_answer(&life, life.attempt, TRANSLATION_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, NULL), TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(life.outcome.code, DDBLOCK_E_ACCESS_DENIED);
	end();
}

/* An endpoint without transactions: it did not happen, and no key is in the
 * way; but an attempt that was lost may have met another one. */
TEST(test_no_transactions)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(life_answer(&life, life.attempt,
	    TRANSLATION_UNHEARD_OF, DDBLOCK_E_UNREACHABLE, NULL),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_CONFLICT);
	ck_assert(!life.outcome.unanswered);
	must_be(0, OUTCOME_REFUSED, 0);
	must_be(1, OUTCOME_REFUSED, 0);
	end();

	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(life_answer(&life, life.attempt, TRANSLATION_LOST,
	    DDBLOCK_E_UNREACHABLE, NULL), TRANSLATION_LATER);
	must_send(2000, "TransactWriteItems");
	ck_assert_int_eq(life_answer(&life, life.attempt,
	    TRANSLATION_UNHEARD_OF, DDBLOCK_E_UNREACHABLE, NULL),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(life.outcome.code, DDBLOCK_E_UNREACHABLE);
	end();

	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(life_answer(&life, life.attempt,
	    TRANSLATION_UNHEARD_OF, DDBLOCK_E_UNREACHABLE, NULL),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_UNKNOWN);
	end();
}

/* Success alone is no proof: here one lock was released already. */
TEST_LOOP(test_not_shown, 0, 2)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(acknowledged(), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(looked(_i == 0 ? ITEM("b", HAS_B) :
	    ITEM("a", THEIRS) "," ITEM("b", HAS_B), ""), TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_CONFLICT);
	must_be(0, _i == 0 ? OUTCOME_REFUSED : OUTCOME_CONFLICT, 0);
	must_be(1, OUTCOME_DONE, 0);
	end();
}

TEST(test_in_the_way)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(cancelled(NO_REASON, FAILED(THEIRS)),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_CONFLICT);
	ck_assert(!life.outcome.unanswered);
	must_be(0, OUTCOME_REFUSED, 0);
	must_be(1, OUTCOME_CONFLICT, 0);
	ck_assert_uint_eq(life.outcome.parts[1].lock.token, 60);
	end();
}

/* The condition that failed did so because the first attempt had been done. */
TEST(test_own_effect)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(life_lose(&life), TRANSLATION_LATER);
	must_send(2000, "TransactWriteItems");
	ck_assert_int_eq(cancelled(NO_REASON, FAILED(HAS_B)), TRANSLATION_NOW);
	must_send(2100, "BatchGetItem");
	ck_assert_int_eq(looked(ITEM("a", HAS_A) "," ITEM("b", HAS_B), ""),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(life.outcome.sent_ms, 1000);
	end();
}

/* Reasons that are missing, too few, or without the record: look. */
TEST_LOOP(test_reasons_missing, 0, 3)
{
	static const char *const reasons[] = {
		"{}", "{\"CancellationReasons\":[" NO_REASON "]}",
		"{\"CancellationReasons\":[" NO_REASON ","
		"{\"Code\":\"ConditionalCheckFailed\"}]}",
	};

	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(life_answer(&life, life.attempt, TRANSLATION_CONDITION,
	    0, reasons[_i]), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(looked(ITEM("b", THEIRS), ""), TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_CONFLICT);
	must_be(0, OUTCOME_REFUSED, 0);
	must_be(1, OUTCOME_CONFLICT, 0);
	end();
}

/* A record that cannot be read concerns its own key only. */
TEST_LOOP(test_bad_record, 0, 3)
{
	static const char bad[] = "\"holders\":{\"S\":\"me\"}";
	char reason[128];

	begin();
	must_send(1000, "TransactWriteItems");
	if (_i == 0) {
		(void)snprintf(reason, sizeof(reason), "{\"Code\":\"Conditional"
		    "CheckFailed\",\"Item\":{%s}}", bad);
		ck_assert_int_eq(cancelled(NO_REASON, reason),
		    TRANSLATION_FINAL);
	} else {
		ck_assert_int_eq(_i == 1 ? acknowledged() :
		    life_answer(&life, life.attempt, TRANSLATION_INVALID,
		    DDBLOCK_E_INTERNAL, NULL), TRANSLATION_NOW);
		must_send(1100, "BatchGetItem");
		(void)snprintf(reason, sizeof(reason),
		    "{\"key\":{\"S\":\"lock:b\"},%s}", bad);
		ck_assert_int_eq(looked(reason, ""), TRANSLATION_FINAL);
	}
	ck_assert_int_eq(life.outcome.kind, OUTCOME_CONFLICT);
	must_be(0, OUTCOME_REFUSED, 0);
	must_be(1, _i == 1 ? OUTCOME_UNKNOWN : OUTCOME_REFUSED,
	    DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(life.outcome.text, "lock:b"));
	end();
}

/* A token that leaves no room is not seen by the condition's failing. */
TEST(test_no_room)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(cancelled(FAILED(N("token", "9007199254740990")),
	    NO_REASON), TRANSLATION_FINAL);
	must_be(0, OUTCOME_REFUSED, DDBLOCK_E_BAD_RECORD);
	must_be(1, OUTCOME_REFUSED, 0);
	end();
}

/* An invalid request of which no record is the reason. */
TEST(test_invalid)
{
	begin();
	must_send(1000, "TransactWriteItems");
	ck_assert_int_eq(life_answer(&life, life.attempt, TRANSLATION_INVALID,
	    DDBLOCK_E_INTERNAL, NULL), TRANSLATION_NOW);
	must_send(1100, "BatchGetItem");
	ck_assert_int_eq(looked("", ""), TRANSLATION_FINAL);
	ck_assert_int_eq(life.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(life.outcome.code, DDBLOCK_E_INTERNAL);
	end();
}
