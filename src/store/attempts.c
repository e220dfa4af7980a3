/*
 * The attempts of one operation at DynamoDB. See attempts.h.
 */
#include "store/attempts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "store/consumed.h"

void
attempts_shared_init(struct attempts_shared *s, uint64_t now_ms)
{
	memset(s, 0, sizeof(*s));
	retry_budget_init(&s->budget, now_ms);
	rate_limit_init(&s->rate, now_ms);
	fair_queue_init(&s->line, 1);
	hedge_init(&s->hedge);
}

/* Does it make a lease longer? Each attempt has a number of its own, so that
 * two may be under way at a time. */
static bool
attempts_is_renewal(const struct dialect *dialect, enum operation_kind kind)
{
	return kind == OPERATION_SESSION_BEAT ||
	    (kind == OPERATION_REFRESH && dialect->life != LOCK_LIFE_SESSION);
}

/* Does it begin, lengthen or end what a lease stands for? */
static bool
attempts_is_for_lease(enum operation_kind kind)
{
	switch (kind) {
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BEAT:
	case OPERATION_SESSION_CLOSE:
	case OPERATION_REFRESH:
	case OPERATION_EXTEND:
	case OPERATION_UPDATE:
	case OPERATION_RELEASE:
		return true;
	default:
		return false;
	}
}

void
attempts_init(struct attempts *c, struct attempts_shared *shared,
    const struct dialect *dialect, const struct dialect_table *table,
    const struct operation *operation, uint64_t wall_ms)
{
	/* No lease depends on operations in bulk. */
	bool bulk = operation->kind == OPERATION_READ_MANY ||
	    operation->kind == OPERATION_SCAN;

	c->rejected = 0;
	c->shared = shared;
	c->n_out = 0;
	c->cost = 0;
	c->hedge = 0;
	c->rounds = 0;
	c->sent_ms = 0;
	c->again_ms = operation->again_ms;
	if (c->again_ms > 0 && c->again_ms < ATTEMPTS_MIN_MS)
		c->again_ms = ATTEMPTS_MIN_MS;
	c->lease = attempts_is_for_lease(operation->kind);
	c->renewal = attempts_is_renewal(dialect, operation->kind);
	c->held_back = false;
	c->in_line = false;
	c->let_go = false;
	if (c->renewal)
		hedge_earn(&shared->hedge);
	retry_init(&c->retry, RETRY_ATTEMPTS_UNLIMITED,
	    bulk ? RETRY_CAP_MS : RETRY_CAP_SESSION_MS);
	translation_init(&c->translation, dialect, table, operation, wall_ms);
	c->translation.view.tokener = shared->tokener;
}

static void
attempts_leave_line(struct attempts *c)
{
	if (c->in_line)
		fair_queue_remove(&c->shared->line, &c->turn);
	c->in_line = false;
}

void
attempts_done(struct attempts *c)
{
	attempts_leave_line(c);
	translation_done(&c->translation);
}

void
attempts_set_wall(struct attempts *c, uint64_t wall_ms)
{
	translation_set_wall(&c->translation, wall_ms);
}

uint64_t
attempts_beat(const struct attempts *c, uint32_t attempt)
{
	return c->translation.attempts[attempt].what.beat;
}

bool
attempts_is_refused(const struct attempts *c, uint32_t attempt)
{
	return c->translation.attempts[attempt].refused;
}

void
attempts_give_up(struct attempts *c, struct attempts_step *ret)
{
	attempts_leave_line(c);
	*ret = (struct attempts_step){ .next = ATTEMPTS_END };
	translation_give_up(&c->translation, &ret->outcome);
	if (!c->held_back || c->translation.n_attempts > 0)
		return;
	ret->outcome.code = DDBLOCK_E_THROTTLED;
	(void)snprintf(ret->outcome.text, sizeof(ret->outcome.text),
	    "the endpoint throttles requests: this one was held back");
}

/* How long the first attempt may take at an endpoint that answers. */
static uint64_t
attempts_usual_ms(const struct attempts *c)
{
	const struct operation *o = c->translation.operation;
	uint64_t ms = (o->deadline_ms - o->submitted_ms) / 4;

	if (ms > ATTEMPTS_FIRST_MS)
		ms = ATTEMPTS_FIRST_MS;
	return ms > ATTEMPTS_MIN_MS ? ms : ATTEMPTS_MIN_MS;
}

/* How long the next attempt may take. */
static uint64_t
attempts_time_ms(const struct attempts *c, uint64_t left_ms)
{
	uint64_t ms = attempts_usual_ms(c);
	uint32_t doublings = c->shared->patience.doublings;

	if (doublings < c->rounds)
		doublings = c->rounds;
	for (uint32_t i = 0; i < doublings && ms < left_ms; i++)
		ms *= 2;
	return ms < left_ms ? ms : left_ms;
}

/* Give what the rate allows to those in the line, of users in turn; each goes
 * when its own wait is over. *@ret_wait_ms: until there is more, if the line is
 * not empty. */
static void
attempts_let_go(struct attempts_shared *s, uint64_t now_ms,
    uint64_t *ret_wait_ms)
{
	while (!fair_queue_is_empty(&s->line) &&
	    rate_limit_take(&s->rate, now_ms, ret_wait_ms)) {
		struct attempts *c =
		    (struct attempts *)(void *)fair_queue_take(&s->line);

		c->in_line = false;
		c->let_go = true;
	}
}

/* True: @ret says what comes before it can be sent. */
static bool
attempts_hold_back(struct attempts *c, uint64_t now_ms,
    struct attempts_step *ret)
{
	uint64_t wait_ms = 0;

	if (c->lease) {
		(void)rate_limit_take(&c->shared->rate, now_ms, &wait_ms);
		return false;
	}
	if (!c->in_line && !c->let_go) {
		fair_queue_add(&c->shared->line, &c->turn,
		    c->translation.operation->user, 1);
		c->in_line = true;
	}
	attempts_let_go(c->shared, now_ms, &wait_ms);
	if (c->let_go) {
		c->let_go = false;
		return false;
	}
	c->held_back = true;
	if (now_ms + wait_ms >= c->translation.operation->deadline_ms)
		attempts_give_up(c, ret);
	else
		*ret = (struct attempts_step){
			.next = ATTEMPTS_WAIT, .time_ms = wait_ms,
		};
	return true;
}

/* False: there can be no other attempt. */
static bool
attempts_begin(struct attempts *c, uint64_t now_ms, struct attempts_step *ret)
{
	uint64_t deadline_ms = c->translation.operation->deadline_ms;

	if (now_ms >= deadline_ms || translation_next(&c->translation, now_ms,
	    &ret->request, &ret->attempt) < 0)
		return false;
	c->n_out++;
	c->sent_ms = now_ms;
	ret->next = ATTEMPTS_SEND;
	ret->time_ms = attempts_time_ms(c, deadline_ms - now_ms);
	return true;
}

/* How long until there must be another attempt; 0: there need not be. Never
 * twice in one millisecond: it is the number of a beat. */
static uint64_t
attempts_due_ms(const struct attempts *c, uint64_t now_ms)
{
	uint64_t due_ms = c->sent_ms + c->again_ms;

	if (c->again_ms == 0)
		return 0;
	return due_ms > now_ms ? due_ms - now_ms : 1;
}

void
attempts_send(struct attempts *c, uint64_t now_ms, struct attempts_step *ret)
{
	uint64_t late_ms;

	if (attempts_hold_back(c, now_ms, ret))
		return;
	*ret = (struct attempts_step){ .next = ATTEMPTS_SEND };
	if (!attempts_begin(c, now_ms, ret)) {
		attempts_give_up(c, ret);
		return;
	}
	if (c->n_out > 1)
		return;
	ret->hedge_ms = attempts_due_ms(c, now_ms);
	if (c->renewal) {
		late_ms = hedge_delay_ms(&c->shared->health, now_ms);
		if (ret->hedge_ms == 0 || late_ms < ret->hedge_ms)
			ret->hedge_ms = late_ms;
	}
	if (ret->hedge_ms >= ret->time_ms)
		ret->hedge_ms = 0;
}

void
attempts_hedge(struct attempts *c, uint64_t now_ms, struct attempts_step *ret)
{
	bool due = c->again_ms > 0 && now_ms >= c->sent_ms + c->again_ms;

	*ret = (struct attempts_step){ .next = ATTEMPTS_AWAIT };
	assert(c->n_out == 1);
	if (!due && !hedge_take(&c->shared->hedge)) {
		ret->hedge_ms = attempts_due_ms(c, now_ms);
		return;
	}
	if (!attempts_begin(c, now_ms, ret))
		return;
	/* The next but one needs its place. */
	if (c->again_ms > 0 && ret->time_ms > c->again_ms)
		ret->time_ms = c->again_ms;
	if (!c->renewal)
		return;
	c->hedge = ret->attempt;
	c->shared->hedges++;
}

/* May it be repeated, as far as all others are concerned? */
static enum retry_leave
attempts_leave(struct attempts *c, const struct aws_answer *answer,
    const struct aws_error *e, uint64_t now_ms)
{
	/* What waited here for its turn was no request yet. A wrong time or
	 * wrong credentials are no overload, and are counted. */
	if (answer->queued || e->class == AWS_CLASS_CLOCK ||
	    aws_error_is_credentials(e))
		return RETRY_GRANTED;
	return retry_budget_take(&c->shared->budget,
	    aws_error_is_throttling(e), c->lease, now_ms, &c->cost);
}

static void
attempts_later(struct attempts *c, const struct aws_answer *answer,
    const struct aws_error *e, enum aws_class class, uint64_t now_ms,
    uint32_t random, struct attempts_step *ret)
{
	uint64_t deadline_ms = c->translation.operation->deadline_ms;
	enum retry_leave leave;
	uint64_t wait_ms;

	*ret = (struct attempts_step){
		.next = ATTEMPTS_AWAIT, .hedge_ms = attempts_due_ms(c, now_ms),
	};
	if (c->n_out > 0)
		return;
	/* What succeeded, or failed, and must be sent again all the same. */
	if (class == AWS_CLASS_OK || class == AWS_CLASS_CONDITION)
		class = AWS_CLASS_TRANSIENT;
	if (!retry_next(&c->retry, class, now_ms, deadline_ms, random,
	    &wait_ms) ||
	    (leave = attempts_leave(c, answer, e, now_ms)) == RETRY_REFUSED) {
		attempts_give_up(c, ret);
		return;
	}
	if (leave == RETRY_SLOWLY)
		wait_ms = retry_longest(&c->retry, now_ms, deadline_ms);
	wait_ms = retry_heed(&c->retry, wait_ms, answer->retry_after_ms,
	    now_ms, deadline_ms);
	if (c->again_ms > 0 && wait_ms > attempts_due_ms(c, now_ms))
		wait_ms = attempts_due_ms(c, now_ms);
	/* Never twice in one millisecond, as above. */
	*ret = (struct attempts_step){
		.next = ATTEMPTS_WAIT, .time_ms = wait_ms > 0 ? wait_ms : 1,
	};
}

/* Was there time enough for an answer? */
static void
attempts_learn_patience(struct attempts *c, uint32_t attempt, bool answered,
    uint64_t now_ms)
{
	uint64_t sent_ms = c->translation.attempts[attempt].sent_ms;
	bool prompt = now_ms - sent_ms < attempts_usual_ms(c);

	if (answered)
		patience_heard(&c->shared->patience, prompt);
	else if (!prompt)
		patience_lost(&c->shared->patience, sent_ms, now_ms);
}

/* It writes, and does not only look. */
static bool
attempts_is_write(const struct attempts *c, uint32_t attempt)
{
	return c->translation.attempts[attempt].what.step != DIALECT_LOOK &&
	    dialect_is_write(c->translation.operation->kind);
}

/* What an answer tells about the endpoint. */
static void
attempts_learn(struct attempts *c, uint32_t attempt,
    const struct aws_answer *answer, const struct aws_error *e,
    uint64_t now_ms)
{
	struct attempts_shared *s = c->shared;
	const uint64_t units = consumed_milliunits(answer->body,
	    answer->body_length);

	s->throttled += aws_error_is_throttling(e);
	s->unanswered += answer->status == 0;
	if (attempts_is_write(c, attempt))
		s->write_milliunits += units;
	else
		s->read_milliunits += units;
	attempts_learn_patience(c, attempt, answer->status != 0, now_ms);
	health_learn(&c->shared->health, answer, e, now_ms);
	rate_limit_answered(&c->shared->rate, aws_error_is_throttling(e),
	    now_ms);
	if (e->class != AWS_CLASS_OK && e->class != AWS_CLASS_CONDITION)
		return;
	retry_budget_succeeded(&c->shared->budget, c->cost);
	c->cost = 0;
}

/* Others are being got meanwhile: that takes as long as after throttling. */
static bool
attempts_hopes(struct attempts *c, const struct aws_error *e)
{
	return aws_error_is_credentials(e) &&
	    c->rejected++ < ATTEMPTS_REJECTED_MAX;
}

void
attempts_answer(struct attempts *c, uint32_t attempt,
    const struct aws_answer *answer, uint64_t now_ms, uint32_t random,
    struct attempts_step *ret, struct aws_error *ret_error)
{
	struct attempts_step end = { .next = ATTEMPTS_END };
	struct translation_answer a;
	enum aws_class class;

	assert(c->n_out > 0);
	c->n_out--;
	aws_errors_classify_answer(answer, ret_error);
	class = ret_error->class;
	attempts_learn(c, attempt, answer, ret_error, now_ms);
	a = translation_read(answer, ret_error);
	if (attempts_hopes(c, ret_error)) {
		a.class = TRANSLATION_AGAIN;
		class = AWS_CLASS_THROTTLED;
	} else if (c->n_out > 0 && a.class >= TRANSLATION_INVALID) {
		/* It did not happen; the other attempt may have. */
		a.class = TRANSLATION_AGAIN;
	}
	if (a.class == TRANSLATION_LOST && c->n_out == 0)
		c->rounds++;
	switch (translation_answer(&c->translation, attempt, &a,
	    &end.outcome)) {
	case TRANSLATION_FINAL:
		if (c->hedge != 0 && attempt == c->hedge)
			c->shared->hedges_won++;
		*ret = end;
		break;
	case TRANSLATION_NOW:
		attempts_send(c, now_ms, ret);
		break;
	case TRANSLATION_LATER:
		attempts_later(c, answer, ret_error, class, now_ms, random,
		    ret);
		break;
	}
}

void
attempts_fail(struct attempts *c, uint32_t attempt, int code,
    struct attempts_step *ret)
{
	struct translation_answer a = {
		.class = TRANSLATION_REFUSED, .code = code,
		.text = error_text(code),
	};
	enum translation_verdict verdict;

	assert(c->n_out > 0);
	c->n_out--;
	*ret = (struct attempts_step){ .next = ATTEMPTS_AWAIT };
	if (c->n_out > 0)
		a.class = TRANSLATION_AGAIN;
	verdict = translation_answer(&c->translation, attempt, &a,
	    &ret->outcome);
	if (c->n_out == 0) {
		assert(verdict == TRANSLATION_FINAL);
		ret->next = ATTEMPTS_END;
	}
	(void)verdict;
}
