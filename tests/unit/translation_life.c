/*
 * One operation in the hands of a test.
 */
#include "translation_life.h"

#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/json.h"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct holder me = { { 0, 1 }, { 0, 2 }, 20000, false };
static const struct holder other = { { 0, 3 }, { 0, 4 }, 20000, false };
static const struct holder both[] = {
	{ { 0, 1 }, { 0, 2 }, 20000, false },
	{ { 0, 3 }, { 0, 4 }, 20000, false },
};

void
life_init(struct life *l, int kind)
{
	memset(l, 0, sizeof(*l));
	l->operation = (struct operation){
		.kind = (enum operation_kind)kind, .key = { "k", 1 },
		.me = me, .tokens = 5, .token_seen = 40, .holders = &me,
		.n_holders = 1, .owner = "us", .session = { 0, 1 },
		.beat = 990, .lease_ms = 20000, .mode = LOCK_MODE_EXCLUSIVE,
	};
	if (kind == TAKE) {
		l->operation.kind = OPERATION_ACQUIRE;
		l->operation.dead = &other;
		l->operation.n_dead = 1;
	} else if (kind == STAYS) {
		l->operation.kind = OPERATION_RELEASE;
		l->operation.others_hold = true;
	} else if (kind == ALONG) {
		l->operation.kind = OPERATION_RELEASE;
		l->operation.holders = both;
		l->operation.n_holders = 2;
	} else if (kind == SHARE) {
		l->operation.kind = OPERATION_ACQUIRE;
		l->operation.tokens = 1;
		l->operation.limit = 3;
	} else if (kind == ADD_SHARED_WAITER) {
		l->operation.kind = OPERATION_ADD_WAITER;
	} else if (kind == REMOVE_SHARED_WAITER) {
		l->operation.kind = OPERATION_REMOVE_WAITER;
	}
	if (kind == SHARE || kind == ADD_SHARED_WAITER ||
	    kind == REMOVE_SHARED_WAITER)
		l->operation.mode = LOCK_MODE_SHARED;
	translation_init(&l->translation, &dialect_native, &table,
	    &l->operation, WALL);
}

void
life_done(struct life *l)
{
	translation_done(&l->translation);
}

void
life_send(struct life *l, uint64_t now_ms)
{
	ck_assert_int_eq(translation_next(&l->translation, now_ms, &l->request,
	    &l->attempt), 0);
}

enum translation_verdict
life_answer(struct life *l, uint32_t attempt, enum translation_class class,
    int code, const char *body)
{
	struct translation_answer a = {
		.class = class, .code = code, .text = "said so", .body = body,
		.body_length = body != NULL ? strlen(body) : 0,
	};

	return translation_answer(&l->translation, attempt, &a, &l->outcome);
}

enum translation_verdict
life_lose(struct life *l)
{
	return life_answer(l, l->attempt, TRANSLATION_LOST,
	    DDBLOCK_E_UNREACHABLE, NULL);
}

enum translation_verdict
life_conflict(struct life *l, const char *item)
{
	(void)snprintf(l->body, sizeof(l->body), "{\"Item\":{%s}}", item);
	return life_answer(l, l->attempt, TRANSLATION_CONDITION, 0, l->body);
}

enum translation_verdict
life_ok(struct life *l, const char *attributes)
{
	(void)snprintf(l->body, sizeof(l->body), "{\"Attributes\":{%s}}",
	    attributes);
	return life_answer(l, l->attempt, TRANSLATION_OK, 0, l->body);
}

static void
life_must_ask(const struct life *l, const char *expected)
{
	struct json_object *o = json_read_object(NULL, l->request->body.data,
	    l->request->body.length);
	struct json_object *condition = json_find(o, "ConditionExpression");

	ck_assert_str_eq(condition != NULL ? json_object_get_string(condition) :
	    l->request->operation, expected);
	json_object_put(o);
}

void
life_play(struct life *l, const struct life_course *c)
{
	enum translation_verdict verdict = TRANSLATION_LATER;
	const size_t n = sizeof(c->turns) / sizeof(c->turns[0]);

	life_init(l, c->kind);
	for (size_t i = 0; i < n && c->turns[i].sent_ms > 0; i++) {
		const struct life_turn *t = &c->turns[i];

		life_send(l, t->sent_ms);
		if (t->asks != NULL)
			life_must_ask(l, t->asks);
		verdict = life_answer(l, l->attempt, t->class, t->code,
		    t->body);
		ck_assert_int_eq(verdict, t->verdict);
	}
	if (verdict != TRANSLATION_FINAL)
		translation_give_up(&l->translation, &l->outcome);
	ck_assert_int_eq(l->outcome.kind, c->outcome);
	ck_assert_int_eq(l->outcome.code, c->code);
	if (c->outcome == OUTCOME_DONE)
		ck_assert_uint_eq(l->outcome.sent_ms, c->sent_ms);
	ck_assert(l->outcome.unanswered == (c->unanswered_ms > 0));
	if (l->outcome.unanswered)
		ck_assert_uint_eq(l->outcome.unanswered_ms, c->unanswered_ms);
}
