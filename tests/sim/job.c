/*
 * Operations on their way to the table: what dynamodb_job.c does in the
 * daemon, with the same course, over a simulated network.
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

void
job_free(struct job *j)
{
	job_unlink(j);
	network_abandon(j->message);
	if (j->started)
		course_done(&j->course);
	world_remove_alarm(j->host->world, &j->alarm);
	if (j->hit)
		j->host->world->history.operations_hit++;
	free(j);
}

/* The outcome may submit more; what it points to lives until it returns. */
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

static void
job_perform(struct job *j, struct course_step *s)
{
	struct host *h = j->host;
	uint64_t now_ms = host_boot_ms(h);
	char what[96];

	switch (s->next) {
	case COURSE_SEND:
		host_describe(h->world, j->operation, what, sizeof(what));
		j->message = network_send(h, j, s->request->operation,
		    s->request->body.data, s->request->body.length,
		    j->operation->kind, what);
		/* fall through */
	case COURSE_WAIT:
		world_set(h->world, &j->alarm,
		    host_real_ms(h, now_ms + s->time_ms));
		break;
	case COURSE_END:
		job_end(j, &s->outcome);
		break;
	}
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
job_answered(struct job *j, const struct aws_answer *answer)
{
	struct course_step step;
	struct aws_error e;
	struct host *h = j->host;
	uint32_t random = (uint32_t)world_chance(h->world,
	    JOB_STREAM + h->index, h->n_messages, UINT32_MAX);

	course_set_wall(&j->course, job_wall_ms(j));
	course_answer(&j->course, answer, host_boot_ms(h), random, &step, &e);
	job_perform(j, &step);
}

static void
job_start(struct job *j)
{
	struct host *h = j->host;
	const struct operation *o = j->operation;
	struct course_step step;

	j->started = true;
	course_init(&j->course, h->world->dialects[o->namespace_index],
	    &h->world->tables[o->namespace_index], o, job_wall_ms(j));
	course_send(&j->course, host_boot_ms(h), &step);
	job_perform(j, &step);
}

/* There was no answer in time. */
static void
job_time_out(struct job *j)
{
	struct aws_answer answer = {
		.code = DDBLOCK_E_UNREACHABLE, .maybe_applied = true,
		.text = "there was no answer in time",
		.sent_ms = j->message->sent_boot_ms,
	};

	network_abandon(j->message);
	j->message = NULL;
	j->hit = true;
	job_answered(j, &answer);
}

static void
job_on_alarm(struct world *w, struct alarm *a)
{
	struct job *j = (struct job *)(void *)a;
	struct host *h = j->host;
	struct course_step step;

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
	} else if (j->message != NULL) {
		job_time_out(j);
	} else {
		course_set_wall(&j->course, job_wall_ms(j));
		course_send(&j->course, host_boot_ms(h), &step);
		job_perform(j, &step);
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
