/*
 * The embedded store, on the event loop's side: hands jobs to the worker,
 * keeps every deadline whatever the disk does, and delivers the outcomes. The
 * beats of this process's sessions it answers by itself (sqlite_sessions.h), so
 * that no lease hangs on the disk, and an idle store writes nothing.
 *
 * At a deadline, what the worker has not looked at is taken back and REFUSED:
 * it will never happen. Operations that it has taken are UNKNOWN: it may happen
 * when the disk comes back. What the worker has taken is carried out before all
 * that is submitted later, for any user, so a read that is answered later shows
 * for certain what became of it.
 *
 * Users have turns (fair_queue.h) at the worker and when outcomes are told. So
 * jobs of different users that are queued at one time have no order. None is
 * needed: the core has one operation of a lock under way (lock->submission),
 * and what may be beside it, reads and a break, is right in any order, as it
 * must be at DynamoDB. The next for that lock comes after the outcome: of a job
 * that is done, taken, or withdrawn.
 */
#include "store/store_sqlite.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "store/sqlite_check.h"
#include "store/sqlite_sessions.h"
#include "store/sqlite_worker.h"

#define STORE_SQLITE_FREE_MS 2000
#define STORE_SQLITE_CHECK_MS 5000
#define STORE_SQLITE_NEVER UINT64_MAX
#define STORE_SQLITE_TURN_NS 60000	/* for outcomes, before others */

struct store_sqlite {
	struct store store;	/* first: this is one */
	struct event_base *base;
	struct sqlite_worker *worker;
	struct event *done_event;
	struct event *more_event;	/* while there is more in @done */
	struct fair_queue done;		/* that the worker posted */
	struct event *due_event;
	uint64_t due_ms;		/* when due_event fires */
	char *path;

	struct freelist jobs;
	struct sqlite_job *due_first;	/* in order of deadlines */
	struct sqlite_job *due_last;
	/* To be answered in the loop's next turn: beats, and what there was
	 * no memory for. */
	struct operation *soon;
	struct operation **soon_end;
	struct event *soon_event;	/* not due_event: setting a time takes
					 * an event's activation back */

	uint64_t requests;
	uint32_t in_flight;
	int last_error;
	char last_text[OUTCOME_TEXT_MAX];
	bool delivering;
	store_finding_fn found;		/* of the check under way */
	void *found_arg;
};

static void
store_sqlite_arm(struct store_sqlite *s, uint64_t at_ms)
{
	uint64_t now_ms = clock_boot_ms();
	uint64_t wait_ms = at_ms > now_ms ? at_ms - now_ms : 0;
	struct timeval wait = clock_interval(wait_ms);

	s->due_ms = at_ms;
	/* Fails only without memory; any later submission tries again. */
	if (event_add(s->due_event, &wait) < 0)
		s->due_ms = STORE_SQLITE_NEVER;
}

/* Deadlines mostly come in order, so the place is near the end. */
static void
store_sqlite_add_due(struct store_sqlite *s, struct sqlite_job *j)
{
	struct sqlite_job *before = s->due_last;

	while (before != NULL && before->ask.deadline_ms > j->ask.deadline_ms)
		before = before->due_previous;
	j->due_previous = before;
	j->due_next = before != NULL ? before->due_next : s->due_first;
	if (j->due_next != NULL)
		j->due_next->due_previous = j;
	else
		s->due_last = j;
	if (before != NULL)
		before->due_next = j;
	else
		s->due_first = j;
	s->in_flight++;
	/* The event is not taken back when the job ends early: it fires, finds
	 * nothing, and is set for the next. */
	if (j->ask.deadline_ms < s->due_ms)
		store_sqlite_arm(s, j->ask.deadline_ms);
}

static void
store_sqlite_remove_due(struct store_sqlite *s, struct sqlite_job *j)
{
	if (j->due_previous != NULL)
		j->due_previous->due_next = j->due_next;
	else
		s->due_first = j->due_next;
	if (j->due_next != NULL)
		j->due_next->due_previous = j->due_previous;
	else
		s->due_last = j->due_previous;
	j->due_next = NULL;
	j->due_previous = NULL;
	s->in_flight--;
}

static void
store_sqlite_note(struct store_sqlite *s, const struct outcome *o)
{
	if (o->kind == OUTCOME_DONE) {
		s->last_error = o->code;
		s->last_text[0] = '\0';
	} else if (o->kind != OUTCOME_CONFLICT) {
		s->last_error = o->code;
		(void)snprintf(s->last_text, sizeof(s->last_text), "%s",
		    o->text);
	}
}

/* The end of a look from outside. */
static void
store_sqlite_tell(struct store_sqlite *s, const struct sqlite_job *j,
    const struct outcome *o)
{
	struct finding f;

	if (o->kind == OUTCOME_DONE) {
		sqlite_check_tell(s->path, j->facts, (uint32_t)geteuid(),
		    o->code, o->text, s->found, s->found_arg);
	} else {
		/* The worker may be in the middle of writing the facts. */
		finding_set(&f, "file", FINDING_ERROR, "%.700s", o->text);
		finding_advise(&f, "see what the kernel says of that disk");
		s->found(s->found_arg, &f);
	}
	s->found(s->found_arg, NULL);
}

/* Give the job's outcome. The operation is its owner's from here on. */
static void
store_sqlite_deliver(struct store_sqlite *s, struct sqlite_job *j,
    const struct outcome *o)
{
	struct operation *operation = j->operation;
	store_table_fn done = j->table_done;

	store_sqlite_remove_due(s, j);
	if (operation != NULL && o->kind == OUTCOME_REFUSED && !o->unanswered)
		store_refused(&s->store, operation,
		    apply_beat(operation, j->sent_ms));
	j->operation = NULL;
	store_sqlite_note(s, o);
	s->delivering = true;
	if (operation != NULL)
		s->store.outcome(s->store.outcome_arg, operation, o);
	else if (j->facts != NULL)
		store_sqlite_tell(s, j, o);
	else
		done(j->table_arg, o->code, o->text);
	s->delivering = false;
}

/* Is it time for the rest of the loop, which comes back to this? */
static bool
store_sqlite_is_over(struct store_sqlite *s, uint64_t end_ns)
{
	static const struct timeval at_once;

	return clock_monotonic_ns() >= end_ns &&
	    event_add(s->more_event, &at_once) == 0;
}

static void
store_sqlite_collect(struct store_sqlite *s)
{
	uint64_t end_ns = clock_monotonic_ns() + STORE_SQLITE_TURN_NS;
	struct sqlite_job *j, *next;

	for (j = sqlite_worker_collect(s->worker); j != NULL; j = next) {
		next = j->next;
		sqlite_turns_add(&s->done, j);
	}
	while (!fair_queue_is_empty(&s->done) &&
	    !store_sqlite_is_over(s, end_ns)) {
		j = sqlite_turns_take(&s->done);
		if (!j->answered) {
			j->answered = true;
			store_sqlite_deliver(s, j, &j->outcome);
		}
		sqlite_job_free(&s->jobs, j);
	}
}

static void
store_sqlite_on_done(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	store_sqlite_collect(arg);
}

static void
store_sqlite_on_more(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	store_sqlite_collect(arg);
}

/* The job's time is over. False: it was finished in this very moment, and its
 * event is on its way. */
static bool
store_sqlite_give_up(struct store_sqlite *s, struct sqlite_job *j)
{
	struct outcome o = {
		.code = DDBLOCK_E_UNREACHABLE,
		.sent_ms = j->sent_ms,
	};
	enum sqlite_job_state state = sqlite_worker_withdraw(s->worker, j);

	if (state == SQLITE_JOB_DONE)
		return false;
	o.kind = state == SQLITE_JOB_QUEUED ? OUTCOME_REFUSED :
	    OUTCOME_UNKNOWN;
	if (o.kind == OUTCOME_UNKNOWN && !sqlite_job_reads(j)) {
		o.unanswered = true;
		o.unanswered_ms = j->sent_ms;
	}
	(void)snprintf(o.text, sizeof(o.text),
	    "%s: the disk did not answer in time", s->path);
	j->answered = true;
	store_sqlite_deliver(s, j, &o);
	if (state == SQLITE_JOB_QUEUED)
		sqlite_job_free(&s->jobs, j);
	return true;
}

static void
store_sqlite_send(struct store_sqlite *s, struct sqlite_job *j)
{
	j->sent_ms = clock_boot_ms();
	store_sending(&s->store, &j->ask, apply_beat(&j->ask, j->sent_ms));
	j->wall_s = clock_wall_ms() / 1000;
	s->requests++;
	store_sqlite_add_due(s, j);
	sqlite_worker_submit(s->worker, j);
}

/* One that is not, or not any more, on its way to the worker. */
static void
store_sqlite_answer(struct store_sqlite *s, struct operation *operation,
    const struct outcome *o)
{
	s->delivering = true;
	s->store.outcome(s->store.outcome_arg, operation, o);
	s->delivering = false;
}

/* False: it is for the worker. */
static bool
store_sqlite_beat(struct store_sqlite *s, struct operation *operation)
{
	struct outcome o = {
		.sent_ms = clock_boot_ms(),
		.from_memory = true,
	};

	store_sending(&s->store, operation,
	    apply_beat(operation, o.sent_ms));
	if (o.sent_ms >= operation->deadline_ms) {
		/* The loop stood still: a beat that is not waited for must not
		 * prolong a lease. */
		o.kind = OUTCOME_REFUSED;
		o.code = DDBLOCK_E_UNREACHABLE;
		store_refused(&s->store, operation,
		    apply_beat(operation, o.sent_ms));
	} else if (!sqlite_sessions_beat(sqlite_worker_sessions(s->worker),
	    operation, o.sent_ms, &o.kind, &o.session)) {
		return false;
	}
	store_sqlite_answer(s, operation, &o);
	return true;
}

static void
store_sqlite_do(struct store_sqlite *s, struct operation *operation)
{
	struct outcome o = {
		.kind = OUTCOME_REFUSED,
		.code = DDBLOCK_E_NOMEM,
		.sent_ms = operation->submitted_ms,
	};
	struct sqlite_job *j;

	if (operation->kind == OPERATION_SESSION_BEAT &&
	    store_sqlite_beat(s, operation))
		return;
	j = sqlite_job_new(&s->jobs, operation);
	if (j != NULL) {
		store_sqlite_send(s, j);
		return;
	}
	(void)snprintf(o.text, sizeof(o.text), "%s", error_text(o.code));
	store_sqlite_answer(s, operation, &o);
}

static void
store_sqlite_on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct store_sqlite *s = arg;
	struct operation *operation = s->soon;

	(void)fd;
	(void)what;
	s->soon = NULL;
	s->soon_end = &s->soon;
	while (operation != NULL) {
		struct operation *next = operation->store_next;

		store_sqlite_do(s, operation);
		operation = next;
	}
}

static void
store_sqlite_on_due(evutil_socket_t fd, short what, void *arg)
{
	struct store_sqlite *s = arg;
	uint64_t end_ns = clock_monotonic_ns() + STORE_SQLITE_TURN_NS;
	struct sqlite_job *j;
	uint64_t now_ms;

	(void)fd;
	(void)what;
	s->due_ms = STORE_SQLITE_NEVER;
	/* An answer that is here is better than none. */
	store_sqlite_collect(s);
	now_ms = clock_boot_ms();
	do {
		j = s->due_first;
	} while (j != NULL && j->ask.deadline_ms <= now_ms &&
	    clock_monotonic_ns() < end_ns && store_sqlite_give_up(s, j));
	if (s->due_first != NULL && s->due_first->ask.deadline_ms < s->due_ms)
		store_sqlite_arm(s, s->due_first->ask.deadline_ms);
}

static void
store_sqlite_submit(struct store *store, struct operation *operation)
{
	struct store_sqlite *s = (struct store_sqlite *)store;
	struct sqlite_job *j = NULL;

	if (operation->kind != OPERATION_SESSION_BEAT ||
	    !sqlite_sessions_knows(sqlite_worker_sessions(s->worker),
	    operation->session))
		j = sqlite_job_new(&s->jobs, operation);
	if (j != NULL) {
		store_sqlite_send(s, j);
		return;
	}
	operation->store_next = NULL;
	*s->soon_end = operation;
	s->soon_end = &operation->store_next;
	event_active(s->soon_event, EV_TIMEOUT, 0);
}

/* The file was made and looked at when the store was opened; what is left is
 * to read it. */
static void
store_sqlite_check_table(struct store *store, store_table_fn done, void *arg)
{
	struct store_sqlite *s = (struct store_sqlite *)store;
	struct sqlite_job *j = sqlite_job_new(&s->jobs, NULL);

	if (j == NULL) {
		done(arg, DDBLOCK_E_NOMEM, error_text(DDBLOCK_E_NOMEM));
		return;
	}
	j->table_done = done;
	j->table_arg = arg;
	j->ask.deadline_ms = clock_boot_ms() + STORE_SQLITE_CHECK_MS;
	store_sqlite_send(s, j);
}

static int
store_sqlite_check(struct store *store, store_finding_fn found, void *arg)
{
	struct store_sqlite *s = (struct store_sqlite *)store;
	struct sqlite_job *j = sqlite_job_new(&s->jobs, NULL);

	if (j == NULL)
		return DDBLOCK_E_NOMEM;
	j->facts = arena_alloc(&j->arena, sizeof(*j->facts));
	if (j->facts == NULL) {
		sqlite_job_free(&s->jobs, j);
		return DDBLOCK_E_NOMEM;
	}
	s->found = found;
	s->found_arg = arg;
	j->ask.deadline_ms = clock_boot_ms() + STORE_SQLITE_CHECK_MS;
	store_sqlite_send(s, j);
	return 0;
}

static void
store_sqlite_status(const struct store *store, struct store_status *ret)
{
	const struct store_sqlite *s = (const struct store_sqlite *)store;

	*ret = (struct store_status){
		.kind = store_sqlite_kind.name,
		.scope = store_sqlite_kind.scope,
		.sorts = true,
		.where = s->path,
		.last_error = s->last_error,
		.last_text = s->last_text,
		.requests = s->requests,
		.in_flight = s->in_flight,
	};
}

static void
store_sqlite_free(struct store *store)
{
	struct store_sqlite *s = (struct store_sqlite *)store;
	struct sqlite_job *j;

	assert(!s->delivering);
	if (s->done_event != NULL)
		event_free(s->done_event);
	if (s->due_event != NULL)
		event_free(s->due_event);
	if (s->soon_event != NULL)
		event_free(s->soon_event);
	if (s->more_event != NULL)
		event_free(s->more_event);
	while ((j = sqlite_turns_take(&s->done)) != NULL)
		sqlite_job_free(&s->jobs, j);
	sqlite_worker_free(s->worker, STORE_SQLITE_FREE_MS);
	freelist_done(&s->jobs);
	free(s->path);
	free(s);
}

static const struct store_methods store_sqlite_methods = {
	.submit = store_sqlite_submit,
	.init_table = store_sqlite_check_table,
	.check_table = store_sqlite_check_table,
	.check = store_sqlite_check,
	.status = store_sqlite_status,
	.free = store_sqlite_free,
};

static int
store_sqlite_start(struct store_sqlite *s,
    const struct store_sqlite_config *config, char *text, size_t text_size)
{
	int r;

	(void)snprintf(text, text_size, "out of memory");
	s->path = strdup(config->path);
	s->due_event = evtimer_new(s->base, store_sqlite_on_due, s);
	s->soon_event = evtimer_new(s->base, store_sqlite_on_soon, s);
	s->more_event = evtimer_new(s->base, store_sqlite_on_more, s);
	if (s->path == NULL || s->due_event == NULL ||
	    s->soon_event == NULL || s->more_event == NULL)
		return DDBLOCK_E_NOMEM;
	r = sqlite_worker_new(config, &s->worker, text, text_size);
	if (r < 0)
		return r;
	s->done_event = event_new(s->base, sqlite_worker_fd(s->worker),
	    EV_READ | EV_PERSIST, store_sqlite_on_done, s);
	if (s->done_event == NULL || event_add(s->done_event, NULL) < 0) {
		(void)snprintf(text, text_size, "out of memory");
		return DDBLOCK_E_NOMEM;
	}
	return 0;
}

int
store_sqlite_new(struct event_base *base,
    const struct store_sqlite_config *config, store_outcome_fn outcome,
    void *outcome_arg, struct store **ret, char *ret_text, size_t text_size)
{
	struct store_sqlite *s = calloc(1, sizeof(*s));
	char text[1024] = "";
	int r = DDBLOCK_E_NOMEM;

	if (s != NULL) {
		s->store.methods = &store_sqlite_methods;
		s->store.outcome = outcome;
		s->store.outcome_arg = outcome_arg;
		s->base = base;
		s->due_ms = STORE_SQLITE_NEVER;
		s->soon_end = &s->soon;
		fair_queue_init(&s->done, SQLITE_JOB_TURN);
		r = store_sqlite_start(s, config, text, sizeof(text));
	}
	if (r < 0) {
		(void)snprintf(ret_text, text_size, "namespace %s: %s",
		    config->namespace_name,
		    text[0] != '\0' ? text : error_text(r));
		if (s != NULL)
			store_sqlite_free(&s->store);
		return r;
	}
	*ret = &s->store;
	return 0;
}
