/*
 * Operations on their way to DynamoDB: each a job that carries out what
 * attempts.h decides.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_JOB_H
#define DDBLOCKD_STORE_DYNAMODB_JOB_H

#include "aws/client.h"
#include "common/freelist.h"
#include "dialect/dialect.h"
#include "store/attempts.h"
#include "store/dynamodb_identity.h"
#include "store/store.h"

struct event;
struct dynamodb_job;

/* All those of one store. */
struct dynamodb_jobs {
	struct event_base *base;
	struct aws_client *client;	/* set before the first starts, */
	struct dynamodb_identity identity;	/* of it, */
	const struct dialect *dialect;	/* and this */
	const struct dialect_table *table;
	store_outcome_fn outcome;
	void *outcome_arg;
	const struct store *store;	/* hears what is sent; or NULL */
	struct dynamodb_job *first;
	struct dynamodb_job *ended;	/* when they started, first in first */
	struct dynamodb_job **ended_end;	/* out: told from the loop */
	struct event *ended_event;
	struct freelist free_jobs;
	uint64_t requests;
	uint64_t repetitions;
	uint32_t in_flight;
	unsigned short dice[3];		/* of jrand48() */
	struct attempts_shared shared;	/* and how the endpoint fares */
	int last_error;			/* 0 after a success */
	char last_text[OUTCOME_TEXT_MAX];
};

/* DDBLOCK_E_NOMEM; dynamodb_jobs_done() is due in any case. */
int dynamodb_jobs_init(struct dynamodb_jobs *, struct event_base *,
    const struct dialect_table *, store_outcome_fn, void *outcome_arg);

/* Those under way get no outcome. The client must still be there. */
void dynamodb_jobs_done(struct dynamodb_jobs *);

/* Sends what can go at once. The outcome comes from the loop, never before the
 * return. DDBLOCK_E_NOMEM: there is none. */
int dynamodb_jobs_start(struct dynamodb_jobs *, struct operation *);

/* An outcome, now, without a job. */
void dynamodb_jobs_refuse(struct dynamodb_jobs *, struct operation *,
    int code, const char *text);

/* Remember what went wrong last; 0: nothing. */
void dynamodb_jobs_trouble(struct dynamodb_jobs *, int code,
    const char *text);

/* Common knowledge from the answer to any request. */
void dynamodb_jobs_learn(struct dynamodb_jobs *, const struct aws_answer *,
    const struct aws_error *);

/* By chance, for how long to wait: it need not be unpredictable. */
uint32_t dynamodb_jobs_dice(struct dynamodb_jobs *);

/* evtimer_add() in milliseconds. */
int dynamodb_arm(struct event *timer, uint64_t wait_ms);

#endif
