/*
 * Operations on their way to DynamoDB: each with its attempts (attempts.h), and
 * what those have not: timers, a connection, dice.
 */
#include "store/dynamodb_job.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

#include <event2/event.h>
#include <json-c/json.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/ignored.h"
#include "common/text.h"
#include "dialect/json.h"

#define DYNAMODB_TURN_NS 60000	/* for outcomes, before others */

/* An attempt under way. */
struct dynamodb_try {
	struct dynamodb_job *job;
	struct aws_call *call;		/* NULL: there is none */
	uint32_t attempt;		/* its number */
};

/* One operation. */
struct dynamodb_job {
	struct dynamodb_jobs *jobs;
	struct dynamodb_job *next;
	struct dynamodb_job **link;	/* what points to this one */
	struct operation *operation;
	struct attempts attempts;
	struct dynamodb_try tries[ATTEMPTS_OUT_MAX];
	struct event *timer;		/* until the next; made when needed */
	bool hedging;			/* the next is parallel to the first */
	bool starting;			/* within dynamodb_jobs_start() */
	struct outcome outcome;		/* if it ended there, */
	struct dynamodb_job *next_ended;	/* until it is told */
};

static void dynamodb_job_perform(struct dynamodb_job *j,
    struct attempts_step *step);

void
dynamodb_jobs_trouble(struct dynamodb_jobs *s, int code, const char *text)
{
	s->last_error = code;
	text_copy(s->last_text, sizeof(s->last_text), text);
}

void
dynamodb_jobs_learn(struct dynamodb_jobs *s, const struct aws_answer *answer,
    const struct aws_error *e)
{
	dynamodb_identity_set_clock(&s->identity);
	if (aws_error_is_credentials(e))
		dynamodb_identity_rejected(&s->identity, answer);
}

uint32_t
dynamodb_jobs_dice(struct dynamodb_jobs *s)
{
	return (uint32_t)jrand48(s->dice);
}

int
dynamodb_arm(struct event *timer, uint64_t wait_ms)
{
	struct timeval tv = clock_interval(wait_ms);

	return evtimer_add(timer, &tv);
}

static void
dynamodb_job_free(struct dynamodb_job *j)
{
	*j->link = j->next;
	if (j->next != NULL)
		j->next->link = j->link;
	for (size_t i = 0; i < ATTEMPTS_OUT_MAX; i++) {
		if (j->tries[i].call == NULL)
			continue;
		aws_call_cancel(j->tries[i].call);
		j->jobs->in_flight--;
	}
	if (j->timer != NULL)
		event_free(j->timer);
	attempts_done(&j->attempts);
	freelist_give(&j->jobs->free_jobs, j);
}

/* The outcome may submit more, but what it points to lives until it returns. */
static void
dynamodb_job_tell(struct dynamodb_job *j, const struct outcome *outcome)
{
	struct dynamodb_jobs *s = j->jobs;

	s->outcome(s->outcome_arg, j->operation, outcome);
	dynamodb_job_free(j);
}

static void
dynamodb_job_end(struct dynamodb_job *j, const struct outcome *outcome)
{
	if (!j->starting) {
		dynamodb_job_tell(j, outcome);
		return;
	}
	j->outcome = *outcome;
	j->next_ended = NULL;
	*j->jobs->ended_end = j;
	j->jobs->ended_end = &j->next_ended;
	event_active(j->jobs->ended_event, EV_TIMEOUT, 0);
}

static void
dynamodb_jobs_on_ended(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval at_once;
	struct dynamodb_jobs *s = arg;
	uint64_t end_ns = clock_monotonic_ns() + DYNAMODB_TURN_NS;
	struct dynamodb_job *j;

	(void)fd;
	(void)what;
	while ((j = s->ended) != NULL) {
		/* The others of the loop first, which comes back to this. */
		if (clock_monotonic_ns() >= end_ns &&
		    event_add(s->ended_event, &at_once) == 0)
			return;
		s->ended = j->next_ended;
		if (s->ended == NULL)
			s->ended_end = &s->ended;
		dynamodb_job_tell(j, &j->outcome);
	}
}

/* The clock that the times in records are of. */
static uint64_t
dynamodb_wall_ms(const struct dynamodb_jobs *s)
{
	return s->dialect->host_clock ? clock_wall_ms() :
	    aws_client_wall_ms(s->client);
}

static void
dynamodb_job_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dynamodb_job *j = arg;
	uint64_t now_ms = clock_boot_ms();
	struct attempts_step step;

	(void)fd;
	(void)what;
	attempts_set_wall(&j->attempts, dynamodb_wall_ms(j->jobs));
	if (j->hedging)
		attempts_hedge(&j->attempts, now_ms, &step);
	else
		attempts_send(&j->attempts, now_ms, &step);
	j->hedging = false;
	if (step.next == ATTEMPTS_SEND && step.attempt > 0)
		j->jobs->repetitions++;
	dynamodb_job_perform(j, &step);
}

/* False: there is no timer. */
static bool
dynamodb_job_wait(struct dynamodb_job *j, uint64_t wait_ms)
{
	if (j->timer == NULL)
		j->timer = evtimer_new(j->jobs->base, dynamodb_job_on_timer,
		    j);
	return j->timer != NULL && dynamodb_arm(j->timer, wait_ms) == 0;
}

static void
dynamodb_job_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_try *its = arg;
	struct dynamodb_job *j = its->job;
	struct attempts_step step;
	struct aws_error e;
	uint64_t now_ms = clock_boot_ms();

	its->call = NULL;
	j->jobs->in_flight--;
	if (j->hedging)
		(void)event_del(j->timer);
	j->hedging = false;
	attempts_set_wall(&j->attempts, dynamodb_wall_ms(j->jobs));
	attempts_answer(&j->attempts, its->attempt, answer, now_ms,
	    dynamodb_jobs_dice(j->jobs), &step, &e);
	if (j->jobs->store != NULL &&
	    attempts_is_refused(&j->attempts, its->attempt))
		store_refused(j->jobs->store, j->operation,
		    attempts_beat(&j->attempts, its->attempt));
	dynamodb_jobs_learn(j->jobs, answer, &e);
	dynamodb_jobs_trouble(j->jobs, e.code, e.code != 0 ? e.text : "");
	dynamodb_job_perform(j, &step);
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
	case OPERATION_REFRESH:
		return AWS_LANE_REFRESH;
	case OPERATION_READ_MANY:
	case OPERATION_SCAN:
		return AWS_LANE_BULK;
	default:
		return AWS_LANE_LOCK;
	}
}

/* Without a timer there is no second attempt: the first has its own. */
static void
dynamodb_job_hedge(struct dynamodb_job *j, const struct attempts_step *step)
{
	if (step->hedge_ms > 0)
		j->hedging = dynamodb_job_wait(j, step->hedge_ms);
}

/* Negative: not a byte has left. */
static int
dynamodb_job_call(struct dynamodb_job *j, const struct attempts_step *step)
{
	struct dynamodb_jobs *s = j->jobs;
	const struct dialect_request *request = step->request;
	struct dynamodb_try *its = &j->tries[0];
	int r;

	if (its->call != NULL)
		its = &j->tries[1];
	assert(its->call == NULL);
	its->job = j;
	its->attempt = step->attempt;
	if (s->store != NULL)
		store_sending(s->store, j->operation,
		    attempts_beat(&j->attempts, step->attempt));

	r = aws_client_call(s->client, dynamodb_lane(j->operation->kind),
	    j->operation->user, request->operation, request->body.data,
	    request->body.length, step->time_ms, dynamodb_job_on_answer, its,
	    &its->call);
	if (r < 0) {
		its->call = NULL;
		dynamodb_jobs_trouble(s, r, error_text(r));
		return r;
	}
	s->in_flight++;
	s->requests++;
	dynamodb_job_hedge(j, step);
	return 0;
}

static void
dynamodb_job_perform(struct dynamodb_job *j, struct attempts_step *step)
{
	int r;

	switch (step->next) {
	case ATTEMPTS_SEND:
		r = dynamodb_job_call(j, step);
		if (r == 0)
			return;
		attempts_fail(&j->attempts, step->attempt, r, step);
		if (step->next == ATTEMPTS_AWAIT)
			return;
		break;
	case ATTEMPTS_WAIT:
		if (dynamodb_job_wait(j, step->time_ms))
			return;
		attempts_give_up(&j->attempts, step);
		break;
	case ATTEMPTS_AWAIT:
		dynamodb_job_hedge(j, step);
		return;
	case ATTEMPTS_END:
		break;
	}
	dynamodb_job_end(j, &step->outcome);
}

void
dynamodb_jobs_refuse(struct dynamodb_jobs *s, struct operation *operation,
    int code, const char *text)
{
	struct outcome outcome = { .kind = OUTCOME_REFUSED, .code = code };

	text_copy(outcome.text, sizeof(outcome.text), text);
	s->outcome(s->outcome_arg, operation, &outcome);
}

/* NULL: no memory. */
static struct dynamodb_job *
dynamodb_job_new(struct dynamodb_jobs *s, struct operation *operation)
{
	struct dynamodb_job *j = freelist_take(&s->free_jobs, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->jobs = s;
	j->next = s->first;
	j->link = &s->first;
	j->operation = operation;
	attempts_init(&j->attempts, &s->shared, s->dialect, s->table, operation,
	    dynamodb_wall_ms(s));
	for (size_t i = 0; i < ATTEMPTS_OUT_MAX; i++)
		j->tries[i].call = NULL;
	j->timer = NULL;
	j->hedging = false;
	j->starting = true;
	if (j->next != NULL)
		j->next->link = &j->next;
	s->first = j;
	return j;
}

int
dynamodb_jobs_start(struct dynamodb_jobs *s, struct operation *operation)
{
	struct dynamodb_job *j = dynamodb_job_new(s, operation);
	struct attempts_step step;

	if (j == NULL)
		return DDBLOCK_E_NOMEM;
	attempts_send(&j->attempts, clock_boot_ms(), &step);
	dynamodb_job_perform(j, &step);
	j->starting = false;
	return 0;
}

int
dynamodb_jobs_init(struct dynamodb_jobs *s, struct event_base *base,
    const struct dialect_table *table, store_outcome_fn outcome,
    void *outcome_arg)
{
	*s = (struct dynamodb_jobs){
		.base = base, .table = table, .outcome = outcome,
		.outcome_arg = outcome_arg, .ended_end = &s->ended,
	};
	/* Without: all daemons wait as long as each other, which is no harm
	 * to any of them. */
	ignored(getrandom(s->dice, sizeof(s->dice), GRND_NONBLOCK));
	attempts_shared_init(&s->shared, clock_boot_ms());
	/* Without: each answer's reader makes its own. */
	s->shared.tokener = json_tokener_new_ex(JSON_DEPTH_MAX);
	s->ended_event = evtimer_new(base, dynamodb_jobs_on_ended, s);
	return s->ended_event == NULL ? DDBLOCK_E_NOMEM : 0;
}

void
dynamodb_jobs_done(struct dynamodb_jobs *s)
{
	while (s->first != NULL)
		dynamodb_job_free(s->first);
	if (s->shared.tokener != NULL)
		json_tokener_free(s->shared.tokener);
	freelist_done(&s->free_jobs);
	if (s->ended_event != NULL)
		event_free(s->ended_event);
}
