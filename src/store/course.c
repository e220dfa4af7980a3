/*
 * The course of one operation to DynamoDB. See course.h.
 */
#include "store/course.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

void
course_init(struct course *c, const struct dialect *dialect,
    const struct dialect_table *table, const struct operation *operation,
    uint64_t wall_ms)
{
	/* Nobody's lease depends on what is done in bulk. */
	bool bulk = operation->kind == OPERATION_READ_MANY ||
	    operation->kind == OPERATION_SCAN;

	c->attempt = 0;
	c->rejected = 0;
	retry_init(&c->retry, RETRY_ATTEMPTS_UNLIMITED,
	    bulk ? RETRY_CAP_MS : RETRY_CAP_SESSION_MS);
	exchange_init(&c->exchange, dialect, table, operation, wall_ms);
}

void
course_done(struct course *c)
{
	exchange_done(&c->exchange);
}

void
course_set_wall(struct course *c, uint64_t wall_ms)
{
	exchange_set_wall(&c->exchange, wall_ms);
}

void
course_give_up(struct course *c, struct course_step *ret)
{
	*ret = (struct course_step){ .next = COURSE_END };
	exchange_give_up(&c->exchange, &ret->outcome);
}

/* How long the next attempt may take. */
static uint64_t
course_attempt_ms(const struct course *c, uint64_t left_ms)
{
	const struct operation *o = c->exchange.operation;
	uint64_t ms = (o->deadline_ms - o->submitted_ms) / 4;

	if (ms > COURSE_ATTEMPT_MS)
		ms = COURSE_ATTEMPT_MS;
	if (ms < COURSE_ATTEMPT_MIN_MS)
		ms = COURSE_ATTEMPT_MIN_MS;
	for (uint32_t i = 0; i < c->exchange.n_lost && ms < left_ms; i++)
		ms *= 2;
	return ms < left_ms ? ms : left_ms;
}

void
course_send(struct course *c, uint64_t now_ms, struct course_step *ret)
{
	uint64_t deadline_ms = c->exchange.operation->deadline_ms;

	*ret = (struct course_step){ .next = COURSE_SEND };
	if (now_ms >= deadline_ms || exchange_next(&c->exchange, now_ms,
	    &ret->request, &c->attempt) < 0) {
		course_give_up(c, ret);
		return;
	}
	ret->time_ms = course_attempt_ms(c, deadline_ms - now_ms);
}

static void
course_later(struct course *c, enum aws_class class, uint64_t now_ms,
    uint32_t random, struct course_step *ret)
{
	uint64_t wait_ms;

	/* What succeeded, or failed, and must be sent again all the same. */
	if (class == AWS_CLASS_OK || class == AWS_CLASS_CONDITION)
		class = AWS_CLASS_TRANSIENT;
	if (!retry_next(&c->retry, class, now_ms,
	    c->exchange.operation->deadline_ms, random, &wait_ms)) {
		course_give_up(c, ret);
		return;
	}
	/* Never twice in one millisecond: it is the number of a beat. */
	*ret = (struct course_step){
		.next = COURSE_WAIT, .time_ms = wait_ms > 0 ? wait_ms : 1,
	};
}

/* What the raw answer means for the exchange. */
static struct exchange_answer
course_translate(const struct aws_answer *answer, const struct aws_error *e)
{
	struct exchange_answer a = {
		.code = e->code, .text = e->text, .body = answer->body,
		.body_length = answer->body_length, .sent_ms = answer->sent_ms,
	};

	switch (e->class) {
	case AWS_CLASS_OK:
		a.class = EXCHANGE_OK;
		break;
	case AWS_CLASS_CONDITION:
		a.class = EXCHANGE_CONDITION;
		break;
	case AWS_CLASS_THROTTLED:
	case AWS_CLASS_CLOCK:
		a.class = EXCHANGE_AGAIN;
		break;
	case AWS_CLASS_TRANSIENT:
		a.class = answer->status == 0 && !answer->maybe_applied ?
		    EXCHANGE_AGAIN : EXCHANGE_LOST;
		break;
	case AWS_CLASS_REFUSED:
		a.class = strcmp(e->name, "ValidationException") == 0 ?
		    EXCHANGE_INVALID : EXCHANGE_REFUSED;
		break;
	}
	return a;
}

/* Others are being got meanwhile: that takes as long as after throttling. */
static bool
course_hopes(struct course *c, const struct aws_error *e)
{
	return aws_error_is_credentials(e) &&
	    c->rejected++ < COURSE_REJECTED_MAX;
}

void
course_answer(struct course *c, const struct aws_answer *answer,
    uint64_t now_ms, uint32_t random, struct course_step *ret,
    struct aws_error *ret_error)
{
	struct course_step end = { .next = COURSE_END };
	struct exchange_answer a;
	enum aws_class class;

	aws_errors_classify_answer(answer, ret_error);
	class = ret_error->class;
	a = course_translate(answer, ret_error);
	if (course_hopes(c, ret_error)) {
		a.class = EXCHANGE_AGAIN;
		class = AWS_CLASS_THROTTLED;
	}
	switch (exchange_answer(&c->exchange, c->attempt, &a, &end.outcome)) {
	case EXCHANGE_FINAL:
		*ret = end;
		break;
	case EXCHANGE_NOW:
		course_send(c, now_ms, ret);
		break;
	case EXCHANGE_LATER:
		course_later(c, class, now_ms, random, ret);
		break;
	}
}

void
course_fail(struct course *c, int code, struct course_step *ret)
{
	struct exchange_answer a = {
		.class = EXCHANGE_REFUSED, .code = code,
		.text = error_text(code),
	};
	enum exchange_verdict verdict;

	*ret = (struct course_step){ .next = COURSE_END };
	verdict = exchange_answer(&c->exchange, c->attempt, &a,
	    &ret->outcome);
	assert(verdict == EXCHANGE_FINAL);
	(void)verdict;
}
