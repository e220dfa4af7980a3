/*
 * Operations on their way to DynamoDB: a loop around the pure parts.
 *
 * An attempt gets a fraction of the operation's time at first and more with
 * each repetition: a hung connection costs little, a slow endpoint still gets
 * its chance. One that was ended so counts as unanswered.
 */
#include "store/dynamodb_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <event2/event.h>

#include "aws/errors.h"
#include "aws/retry.h"
#include "common/clock.h"
#include "common/error.h"
#include "dialect/exchange.h"

#define DYNAMODB_ATTEMPT_MS 1500	/* for the first at most */
#define DYNAMODB_ATTEMPT_MIN_MS 100

/* One operation. */
struct dynamodb_job {
	struct dynamodb_jobs *jobs;
	struct dynamodb_job *next;
	struct dynamodb_job **link;	/* what points to this one */
	struct operation *operation;
	struct exchange exchange;
	struct retry retry;
	uint32_t attempt;		/* under way */
	struct aws_call *call;		/* its call; or NULL */
	struct event *timer;		/* until the next; made when needed */
};

static void dynamodb_job_send(struct dynamodb_job *j);

void
dynamodb_jobs_trouble(struct dynamodb_jobs *s, int code, const char *text)
{
	s->last_error = code;
	(void)snprintf(s->last_text, sizeof(s->last_text), "%s", text);
}

int
dynamodb_arm(struct event *timer, uint64_t wait_ms)
{
	struct timeval tv = {
		.tv_sec = (time_t)(wait_ms / 1000),
		.tv_usec = (suseconds_t)(wait_ms % 1000 * 1000),
	};

	return evtimer_add(timer, &tv);
}

static void
dynamodb_job_free(struct dynamodb_job *j)
{
	*j->link = j->next;
	if (j->next != NULL)
		j->next->link = j->link;
	if (j->call != NULL) {
		aws_call_cancel(j->call);
		j->jobs->in_flight--;
	}
	if (j->timer != NULL)
		event_free(j->timer);
	exchange_done(&j->exchange);
	free(j);
}

/* The outcome may submit more, but what it points to lives until it returns. */
static void
dynamodb_job_end(struct dynamodb_job *j, const struct outcome *outcome)
{
	struct dynamodb_jobs *s = j->jobs;

	s->outcome(s->outcome_arg, j->operation, outcome);
	dynamodb_job_free(j);
}

static void
dynamodb_job_give_up(struct dynamodb_job *j)
{
	struct outcome outcome;

	exchange_give_up(&j->exchange, &outcome);
	dynamodb_job_end(j, &outcome);
}

static void
dynamodb_job_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	dynamodb_job_send(arg);
}

static void
dynamodb_job_wait(struct dynamodb_job *j, uint64_t wait_ms)
{
	if (j->timer == NULL)
		j->timer = evtimer_new(j->jobs->base, dynamodb_job_on_timer,
		    j);
	if (j->timer == NULL || dynamodb_arm(j->timer, wait_ms) < 0)
		dynamodb_job_give_up(j);
}

/* What the raw answer means for the exchange. */
static struct exchange_answer
dynamodb_translate(const struct aws_answer *answer, struct aws_error *e)
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

static void
dynamodb_job_later(struct dynamodb_job *j, enum aws_class class)
{
	uint32_t random = 0;
	uint64_t wait_ms;

	/* What succeeded, or failed, and must be sent again all the same. */
	if (class == AWS_CLASS_OK || class == AWS_CLASS_CONDITION)
		class = AWS_CLASS_TRANSIENT;
	(void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
	if (!retry_next(&j->retry, class, clock_boot_ms(),
	    j->operation->deadline_ms, random, &wait_ms)) {
		dynamodb_job_give_up(j);
		return;
	}
	/* Never twice in one millisecond: it is the number of a beat. */
	dynamodb_job_wait(j, wait_ms > 0 ? wait_ms : 1);
}

static void
dynamodb_job_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_job *j = arg;
	struct dynamodb_jobs *s = j->jobs;
	struct exchange_answer a;
	struct outcome outcome;
	struct aws_error e;

	j->call = NULL;
	s->in_flight--;
	aws_errors_classify(answer->status, answer->body, answer->body_length,
	    &e);
	if (answer->status == 0)
		(void)snprintf(e.text, sizeof(e.text), "%s", answer->text);
	if (e.code != 0)
		dynamodb_jobs_trouble(s, e.code, e.text);
	else
		dynamodb_jobs_trouble(s, 0, "");
	a = dynamodb_translate(answer, &e);
	switch (exchange_answer(&j->exchange, j->attempt, &a, &outcome)) {
	case EXCHANGE_FINAL:
		dynamodb_job_end(j, &outcome);
		break;
	case EXCHANGE_NOW:
		dynamodb_job_send(j);
		break;
	case EXCHANGE_LATER:
		dynamodb_job_later(j, e.class);
		break;
	}
}

/* What our own leases depend on has a lane of its own. Looks at other hosts'
 * sessions are as many as there are hosts, so they go with the locks. */
static enum aws_lane
dynamodb_lane(enum operation_kind kind)
{
	switch (kind) {
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BEAT:
	case OPERATION_SESSION_CLOSE:
		return AWS_LANE_SESSION;
	case OPERATION_READ_MANY:
	case OPERATION_SCAN:
		return AWS_LANE_BULK;
	default:
		return AWS_LANE_LOCK;
	}
}

/* How long the next attempt may take. */
static uint64_t
dynamodb_attempt_ms(const struct dynamodb_job *j, uint64_t left_ms)
{
	const struct operation *o = j->operation;
	uint64_t ms = (o->deadline_ms - o->submitted_ms) / 4;

	if (ms > DYNAMODB_ATTEMPT_MS)
		ms = DYNAMODB_ATTEMPT_MS;
	if (ms < DYNAMODB_ATTEMPT_MIN_MS)
		ms = DYNAMODB_ATTEMPT_MIN_MS;
	for (uint32_t i = 0; i < j->exchange.n_lost && ms < left_ms; i++)
		ms *= 2;
	return ms < left_ms ? ms : left_ms;
}

static void
dynamodb_job_send(struct dynamodb_job *j)
{
	struct dynamodb_jobs *s = j->jobs;
	const struct dialect_request *request;
	uint64_t now_ms = clock_boot_ms();
	uint64_t deadline_ms = j->operation->deadline_ms;
	int r;

	if (now_ms >= deadline_ms ||
	    exchange_next(&j->exchange, now_ms, &request, &j->attempt) < 0) {
		dynamodb_job_give_up(j);
		return;
	}
	r = aws_client_call(s->client, dynamodb_lane(j->operation->kind),
	    request->operation, request->body.data, request->body.length,
	    dynamodb_attempt_ms(j, deadline_ms - now_ms),
	    dynamodb_job_on_answer, j, &j->call);
	if (r < 0) {
		struct exchange_answer a = {
			.class = EXCHANGE_REFUSED, .code = r,
			.text = error_text(r),
		};
		struct outcome outcome;

		j->call = NULL;
		dynamodb_jobs_trouble(s, r, a.text);
		(void)exchange_answer(&j->exchange, j->attempt, &a, &outcome);
		dynamodb_job_end(j, &outcome);
		return;
	}
	s->in_flight++;
	s->requests++;
	if (j->attempt > 0)
		s->repetitions++;
}

void
dynamodb_jobs_refuse(struct dynamodb_jobs *s, struct operation *operation,
    int code, const char *text)
{
	struct outcome outcome = { .kind = OUTCOME_REFUSED, .code = code };

	(void)snprintf(outcome.text, sizeof(outcome.text), "%s", text);
	s->outcome(s->outcome_arg, operation, &outcome);
}

void
dynamodb_jobs_start(struct dynamodb_jobs *s, struct operation *operation)
{
	struct dynamodb_job *j = calloc(1, sizeof(*j));
	uint64_t cap_ms = dynamodb_lane(operation->kind) == AWS_LANE_BULK ?
	    RETRY_CAP_MS : RETRY_CAP_SESSION_MS;

	if (j == NULL) {
		dynamodb_jobs_refuse(s, operation, DDBLOCK_E_NOMEM,
		    error_text(DDBLOCK_E_NOMEM));
		return;
	}
	j->jobs = s;
	j->operation = operation;
	retry_init(&j->retry, RETRY_ATTEMPTS_UNLIMITED, cap_ms);
	exchange_init(&j->exchange, &dialect_native, s->table, operation,
	    aws_client_wall_ms(s->client));
	j->next = s->first;
	j->link = &s->first;
	if (j->next != NULL)
		j->next->link = &j->next;
	s->first = j;
	dynamodb_job_send(j);
}

void
dynamodb_jobs_init(struct dynamodb_jobs *s, struct event_base *base,
    const struct dialect_table *table, store_outcome_fn outcome,
    void *outcome_arg)
{
	*s = (struct dynamodb_jobs){
		.base = base, .table = table, .outcome = outcome,
		.outcome_arg = outcome_arg,
	};
}

void
dynamodb_jobs_done(struct dynamodb_jobs *s)
{
	while (s->first != NULL)
		dynamodb_job_free(s->first);
}
