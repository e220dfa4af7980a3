/*
 * One operation on its way through the embedded store.
 */
#include "store/sqlite_job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static bool
sqlite_job_copy_key(struct sqlite_job *j, struct key *k)
{
	k->bytes = arena_copy(&j->arena, k->bytes, k->length);
	return k->bytes != NULL;
}

static bool
sqlite_job_copy_keys(struct sqlite_job *j)
{
	struct operation *o = &j->ask;
	struct key *keys;

	keys = arena_copy(&j->arena, o->keys, o->n_keys * sizeof(*keys));
	if (keys == NULL)
		return false;
	for (size_t i = 0; i < o->n_keys; i++) {
		if (!sqlite_job_copy_key(j, &keys[i]))
			return false;
	}
	o->keys = keys;
	return true;
}

static bool
sqlite_job_copy_contents(struct sqlite_job *j, struct contents *c)
{
	void *memory;

	if (contents_are_empty(c))
		return true;
	memory = arena_alloc(&j->arena, contents_room(c));
	if (memory != NULL)
		contents_put(c, memory, c);
	return memory != NULL;
}

/* All that an operation by itself points to. */
static bool
sqlite_job_copy_one(struct sqlite_job *j, const struct operation *operation,
    struct operation *o)
{
	*o = *operation;
	if (!sqlite_job_copy_key(j, &o->key) ||
	    !sqlite_job_copy_key(j, &o->prefix) ||
	    !sqlite_job_copy_key(j, &o->cursor) ||
	    !sqlite_job_copy_contents(j, &o->contents))
		return false;
	o->dead = arena_copy(&j->arena, o->dead, o->n_dead * sizeof(*o->dead));
	o->holders = arena_copy(&j->arena, o->holders,
	    o->n_holders * sizeof(*o->holders));
	if (o->dead == NULL || o->holders == NULL)
		return false;
	if (o->owner != NULL) {
		o->owner =
		    arena_copy_text(&j->arena, o->owner, strlen(o->owner));
		if (o->owner == NULL)
			return false;
	}
	return true;
}

static bool
sqlite_job_copy_parts(struct sqlite_job *j)
{
	struct operation *o = &j->ask;
	size_t n = o->kind == OPERATION_MULTI ? o->n_keys : 0;
	struct operation *parts = arena_alloc(&j->arena, n * sizeof(*parts));
	const struct operation **list =
	    arena_alloc(&j->arena, n * sizeof(*list));

	if (parts == NULL || list == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		list[i] = &parts[i];
		if (!sqlite_job_copy_one(j, o->parts[i], &parts[i]))
			return false;
	}
	o->parts = list;
	return true;
}

static bool
sqlite_job_copy(struct sqlite_job *j, const struct operation *operation)
{
	return sqlite_job_copy_one(j, operation, &j->ask) &&
	    sqlite_job_copy_keys(j) && sqlite_job_copy_parts(j);
}

struct sqlite_job *
sqlite_job_new(struct freelist *free_jobs, struct operation *operation)
{
	struct sqlite_job *j = freelist_take(free_jobs, sizeof(*j));

	if (j == NULL)
		return NULL;
	memset(j, 0, offsetof(struct sqlite_job, room));
	arena_init(&j->arena, j->room, sizeof(j->room));
	j->state = SQLITE_JOB_QUEUED;
	j->operation = operation;
	j->ask.user = USER_NONE;
	if (operation != NULL && !sqlite_job_copy(j, operation)) {
		sqlite_job_free(free_jobs, j);
		return NULL;
	}
	return j;
}

void
sqlite_job_free(struct freelist *free_jobs, struct sqlite_job *j)
{
	if (j == NULL)
		return;
	arena_done(&j->arena);
	if (free_jobs != NULL)
		freelist_give(free_jobs, j);
	else
		free(j);
}

void
sqlite_queue_add(struct sqlite_queue *q, struct sqlite_job *j)
{
	j->next = NULL;
	j->previous = q->last;
	if (q->last != NULL)
		q->last->next = j;
	else
		q->first = j;
	q->last = j;
	q->length++;
}

void
sqlite_queue_remove(struct sqlite_queue *q, struct sqlite_job *j)
{
	assert(q->length > 0);
	if (j->previous != NULL)
		j->previous->next = j->next;
	else
		q->first = j->next;
	if (j->next != NULL)
		j->next->previous = j->previous;
	else
		q->last = j->previous;
	j->next = NULL;
	j->previous = NULL;
	q->length--;
}

struct sqlite_job *
sqlite_queue_take(struct sqlite_queue *q)
{
	struct sqlite_job *j = q->first;

	if (j != NULL)
		sqlite_queue_remove(q, j);
	return j;
}

void
sqlite_turns_add(struct fair_queue *q, struct sqlite_job *j)
{
	fair_queue_add(q, &j->turn, j->ask.user,
	    (uint32_t)sqlite_job_weight(j));
}

struct sqlite_job *
sqlite_turns_take(struct fair_queue *q)
{
	return (struct sqlite_job *)(void *)fair_queue_take(q);
}

bool
sqlite_job_checks(const struct sqlite_job *j)
{
	return j->table_done != NULL || j->facts != NULL;
}

bool
sqlite_job_reads(const struct sqlite_job *j)
{
	switch (j->ask.kind) {
	case OPERATION_READ:
	case OPERATION_READ_MANY:
	case OPERATION_SCAN:
	case OPERATION_SESSION_READ:
		return true;
	default:
		return sqlite_job_checks(j);
	}
}

bool
sqlite_job_urgent(const struct sqlite_job *j)
{
	return j->ask.kind >= OPERATION_SESSION_OPEN;
}

size_t
sqlite_job_weight(const struct sqlite_job *j)
{
	switch (j->ask.kind) {
	case OPERATION_READ_MANY:
	case OPERATION_MULTI:
		return j->ask.n_keys + 1;
	case OPERATION_SCAN:
		return SCAN_PAGE_MAX;
	case OPERATION_UPDATE:
		return 1 + j->ask.contents.data.length / SQLITE_JOB_PAGE;
	default:
		return 1;
	}
}

void
sqlite_job_restart(struct sqlite_job *j)
{
	memset(&j->outcome, 0, sizeof(j->outcome));
}

void
sqlite_job_fail(struct sqlite_job *j, enum outcome_kind kind, int code,
    const char *text)
{
	struct outcome *o = &j->outcome;

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	o->code = code;
	o->sent_ms = j->sent_ms;
	if (kind == OUTCOME_UNKNOWN && !sqlite_job_reads(j)) {
		o->unanswered = true;
		o->unanswered_ms = j->sent_ms;
	}
	(void)snprintf(o->text, sizeof(o->text), "%s", text);
}
