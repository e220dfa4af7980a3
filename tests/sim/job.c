/*
 * Operations on their way to the table, as dynamodb_job.c does them in the
 * daemon: with the same attempts, over a simulated network.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "ddblock.h"

enum { JOB_STREAM = 300 };

static void
job_unlink(struct job *j)
{
	*j->link = j->next;
	if (j->next != NULL)
		j->next->link = j->link;
	j->next = NULL;
	j->link = &j->next;
}

static void
job_abandon(struct job *j)
{
	for (size_t i = 0; i < ATTEMPTS_OUT_MAX; i++)
		network_abandon(j->tries[i].message);
}

void
job_free(struct job *j)
{
	job_unlink(j);
	job_abandon(j);
	if (j->started)
		attempts_done(&j->attempts);
	world_remove_alarm(j->host->world, &j->alarm);
	if (j->hit)
		j->host->world->history.operations_hit++;
	free(j);
}

/*
 * The outcome may submit more operations; the data that it points to lives
 * until it returns.
 */
static void
job_end(struct job *j, const struct outcome *outcome)
{
	struct host *h = j->host;
	struct operation *o = j->operation;

	/* The host may end with it, and all jobs that it knows. */
	job_unlink(j);
	host_stored(h, o, outcome);
	job_free(j);
}

/* The next time at which something is due. */
static void
job_set(struct job *j)
{
	uint64_t at_ms = j->next_ms;

	if (j->hedge_ms != 0 && j->hedge_ms < at_ms)
		at_ms = j->hedge_ms;
	for (size_t i = 0; i < ATTEMPTS_OUT_MAX; i++)
		if (j->tries[i].message != NULL &&
		    j->tries[i].until_ms < at_ms)
			at_ms = j->tries[i].until_ms;
	if (at_ms == UINT64_MAX)
		world_unset(j->host->world, &j->alarm);
	else
		world_set(j->host->world, &j->alarm,
		    host_real_ms(j->host, at_ms));
}

/* A beat is noted before it is sent. False: the daemon died of that. */
static bool
job_note(struct job *j, const struct attempts_step *s)
{
	const struct translation *t = &j->attempts.translation;

	core_sending(j->host->core, j->operation,
	    t->attempts[s->attempt].what.beat);
	if (restart_save(j->host))
		return true;
	world_set(j->host->world, &j->host->alarm, j->host->world->now);
	return false;
}

static void
job_send(struct job *j, const struct attempts_step *s)
{
	struct job_try *its = &j->tries[0];
	struct host *h = j->host;
	char what[96];

	if (its->message != NULL)
		its = &j->tries[1];
	its->attempt = s->attempt;
	its->until_ms = host_boot_ms(h) + s->time_ms;
	if (j->operation->kind == OPERATION_SESSION_BEAT && !job_note(j, s))
		return;
	show_operation(h, j->operation, what, sizeof(what));
	its->message = network_send(h, j, s->request->operation,
	    s->request->body.data, s->request->body.length,
	    j->operation->kind, what);
}

static void
job_perform(struct job *j, struct attempts_step *s)
{
	j->next_ms = UINT64_MAX;
	if (s->hedge_ms > 0)
		j->hedge_ms = host_boot_ms(j->host) + s->hedge_ms;
	switch (s->next) {
	case ATTEMPTS_SEND:
		job_send(j, s);
		break;
	case ATTEMPTS_WAIT:
		j->next_ms = host_boot_ms(j->host) + s->time_ms;
		break;
	case ATTEMPTS_AWAIT:
		break;
	case ATTEMPTS_END:
		job_end(j, &s->outcome);
		return;
	}
	job_set(j);
}

/* The clock that the times in records are of. */
static uint64_t
job_wall_ms(const struct job *j)
{
	struct host *h = j->host;
	const struct dialect *dialect =
	    h->world->dialects[j->operation->namespace_index];

	return dialect->host_clock ? host_wall_ms(h) :
	    skew_wall_ms(&h->skew, host_boot_ms(h));
}

void
job_answered(struct job *j, struct message *m, const struct aws_answer *answer)
{
	struct job_try *its = j->tries[0].message == m ?
	    &j->tries[0] : &j->tries[1];
	struct attempts_step step;
	struct aws_error e;
	struct host *h = j->host;
	uint32_t random = (uint32_t)world_chance(h->world,
	    JOB_STREAM + h->index, h->n_messages, UINT32_MAX);

	its->message = NULL;
	j->hedge_ms = 0;
	attempts_set_wall(&j->attempts, job_wall_ms(j));
	attempts_answer(&j->attempts, its->attempt, answer, host_boot_ms(h),
	    random, &step, &e);
	if (attempts_is_refused(&j->attempts, its->attempt))
		core_refused(h->core, j->operation,
		    attempts_beat(&j->attempts, its->attempt));
	job_perform(j, &step);
}

static void
job_start(struct job *j)
{
	struct host *h = j->host;
	const struct operation *o = j->operation;
	struct attempts_step step;

	j->started = true;
	if (!h->world->plan->hedges) {
		h->shared.hedge.credit = 0;
		h->shared.patience.doublings = 0;
	}
	attempts_init(&j->attempts, &h->shared,
	    h->world->dialects[o->namespace_index],
	    &h->world->tables[o->namespace_index], o, job_wall_ms(j));
	if (!h->world->plan->hedges)
		j->attempts.again_ms = 0;
	attempts_send(&j->attempts, host_boot_ms(h), &step);
	job_perform(j, &step);
}

/* There was no answer in time. */
static void
job_time_out(struct job *j, struct message *m)
{
	struct aws_answer answer = {
		.code = DDBLOCK_E_UNREACHABLE, .maybe_applied = true,
		.text = "there was no answer in time",
		.sent_ms = m->sent_boot_ms,
	};

	j->hit = true;
	m->job = NULL;
	job_answered(j, m, &answer);
	network_abandon(m);
}

/* The first due time: a time-out, or another attempt. */
static void
job_go_on(struct job *j)
{
	uint64_t now_ms = host_boot_ms(j->host);
	struct attempts_step step;

	for (size_t i = 0; i < ATTEMPTS_OUT_MAX; i++) {
		if (j->tries[i].message == NULL ||
		    j->tries[i].until_ms > now_ms)
			continue;
		job_time_out(j, j->tries[i].message);
		return;
	}
	attempts_set_wall(&j->attempts, job_wall_ms(j));
	if (j->hedge_ms != 0 && j->hedge_ms <= now_ms) {
		j->hedge_ms = 0;
		attempts_hedge(&j->attempts, now_ms, &step);
	} else if (j->next_ms <= now_ms) {
		attempts_send(&j->attempts, now_ms, &step);
	} else {
		job_set(j);
		return;
	}
	job_perform(j, &step);
}

static void
job_on_alarm(struct world *w, struct alarm *a)
{
	struct job *j = (struct job *)(void *)a;
	struct host *h = j->host;

	if (host_is_paused(h)) {
		j->hit = true;
		world_set(w, a, h->paused_until);
	} else if (!j->started && h->skew.known) {
		job_start(j);
	} else if (!j->started) {
		/* The table was never seen. */
		struct outcome outcome = { .kind = OUTCOME_REFUSED,
			.code = DDBLOCK_E_UNREACHABLE };

		if (host_boot_ms(h) < j->operation->deadline_ms)
			world_set(w, a, host_real_ms(h,
			    j->operation->deadline_ms));
		else
			job_end(j, &outcome);
	} else {
		job_go_on(j);
	}
}

void
job_submit(struct host *h, struct operation *o)
{
	struct job *j = world_alloc(sizeof(*j));

	h->world->history.operations++;
	j->host = h;
	j->operation = o;
	j->next = h->jobs;
	j->link = &h->jobs;
	if (j->next != NULL)
		j->next->link = &j->next;
	h->jobs = j;
	world_add_alarm(h->world, &j->alarm, job_on_alarm);
	world_set(h->world, &j->alarm, h->world->now);
}

void
job_start_all(struct host *h)
{
	for (struct job *j = h->jobs; j != NULL; j = j->next)
		if (!j->started)
			world_set(h->world, &j->alarm, h->world->now);
}
