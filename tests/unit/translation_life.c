/*
 * One operation in the hands of a test.
 */
#include "translation_life.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"

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
	} else if (kind == WANT_SHARED) {
		l->operation.kind = OPERATION_WANT;
	} else if (kind == UNWANT_SHARED) {
		l->operation.kind = OPERATION_UNWANT;
	}
	if (kind == SHARE || kind == WANT_SHARED || kind == UNWANT_SHARED)
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
