/*
 * The fleet's store: carries operations to DynamoDB.
 *
 * Before the first operation the store looks at the table, once: that names a
 * missing or different table at once, and brings the endpoint's time, without
 * which nothing may be written. Operations that come before it is done wait in
 * a queue; those that come later go at once. Each is a job of its own
 * (dynamodb_job.h). Users have no turns in that queue: it is gone through
 * whole, and none of its operations waits for those before it. Their turns come
 * where the jobs' requests wait for a connection (aws/client.h).
 */
#include "store/store_dynamodb.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/error.h"
#include "store/dynamodb_check.h"
#include "store/dynamodb_format.h"
#include "store/dynamodb_job.h"
#include "store/dynamodb_sessions.h"
#include "store/dynamodb_status.h"
#include "store/dynamodb_table.h"

#define DYNAMODB_LOOK_MS 10000		/* for one run of looks */
#define DYNAMODB_INIT_MS 300000
#define DYNAMODB_CHECK_MS 20000
#define DYNAMODB_WHERE_MAX 512
#define DYNAMODB_RENAMED_MAX 8	/* no format has so many attributes */
#define DYNAMODB_STRINGS_MAX (16 + 2 * DYNAMODB_RENAMED_MAX)

/* A run of store_init_table() or store_check_table(). */
struct dynamodb_run {
	struct dynamodb_store *store;
	struct dynamodb_run *next;
	struct dynamodb_table *table;
	store_table_fn done;
	void *arg;
};

struct dynamodb_store {
	struct store store;
	struct dialect_table table;
	struct dynamodb_jobs jobs;
	struct dialect_name renamed[DYNAMODB_RENAMED_MAX];
	char *strings[DYNAMODB_STRINGS_MAX];	/* what the table points to */
	size_t n_strings;
	char where[DYNAMODB_WHERE_MAX];
	int (*synchronised)(void);	/* NULL: whatever the clock shows */
	const char *unsynchronised_text;

	bool ready;		/* the table was looked at */
	struct dynamodb_table *look;	/* under way; or NULL */
	struct operation *queue;	/* wait for it, first in first out */
	struct operation **queue_end;
	struct event *queue_timer;	/* at the first of their deadlines: */
	uint64_t queue_ms;

	struct dynamodb_run *runs;

	struct dynamodb_check *check;	/* under way; or NULL */
	store_finding_fn found;	/* of one that waits for the identity; or NULL
				 */
	void *found_arg;

	struct dynamodb_sessions *sessions;	/* under way; or NULL */
};

static void dynamodb_look(struct dynamodb_store *s);

static struct dynamodb_store *
dynamodb_of(struct store *store)
{
	return (struct dynamodb_store *)(void *)store;
}

/* ---- the queue ---- */

/* Come back when this one must start or end. */
static void
dynamodb_queue_arm(struct dynamodb_store *s, const struct operation *o)
{
	uint64_t now_ms = clock_boot_ms();

	if (!s->ready && o->deadline_ms >= s->queue_ms)
		return;
	s->queue_ms = o->deadline_ms;
	if (s->ready || dynamodb_arm(s->queue_timer,
	    s->queue_ms > now_ms ? s->queue_ms - now_ms : 0) < 0)
		event_active(s->queue_timer, 0, 1);
}

/* Append it; the queue is gone through later, from the loop. */
static void
dynamodb_enqueue(struct dynamodb_store *s, struct operation *operation)
{
	operation->store_next = NULL;
	*s->queue_end = operation;
	s->queue_end = &operation->store_next;
	dynamodb_queue_arm(s, operation);
}

/* The table did not answer in time. */
static void
dynamodb_expire(struct dynamodb_store *s, struct operation *operation)
{
	int code = s->jobs.last_error != 0 ?
	    s->jobs.last_error : DDBLOCK_E_UNREACHABLE;

	dynamodb_jobs_refuse(&s->jobs, operation, code,
	    s->jobs.last_text[0] != '\0' ?
	    s->jobs.last_text : error_text(code));
}

/* With an unsynchronised clock, other hosts would trust our times, and we
 * theirs. Held locks are renewed and released all the same. */
static bool
dynamodb_may_start(const struct dynamodb_store *s, const struct operation *o)
{
	return s->synchronised == NULL || o->kind != OPERATION_ACQUIRE ||
	    s->synchronised() > 0;
}

static void
dynamodb_refuse_clock(struct dynamodb_store *s, struct operation *operation)
{
	struct outcome outcome = {
		.kind = OUTCOME_REFUSED, .code = DDBLOCK_E_UNREACHABLE,
		.from_memory = true,
	};

	(void)snprintf(outcome.text, sizeof(outcome.text), "%s",
	    s->unsynchronised_text);
	s->store.outcome(s->store.outcome_arg, operation, &outcome);
}

/*
 * Go through the queue as it is now: start what can be started, refuse what
 * has run out of time; with @code, all of it. Outcomes may submit more.
 */
static void
dynamodb_drain(struct dynamodb_store *s, int code, const char *text)
{
	struct operation *waiting = s->queue;
	struct operation *next;
	uint64_t now_ms = clock_boot_ms();

	s->queue = NULL;
	s->queue_end = &s->queue;
	s->queue_ms = UINT64_MAX;
	for (; waiting != NULL; waiting = next) {
		next = waiting->store_next;
		waiting->store_next = NULL;
		if (code != 0)
			dynamodb_jobs_refuse(&s->jobs, waiting, code, text);
		else if (!dynamodb_may_start(s, waiting))
			dynamodb_refuse_clock(s, waiting);
		else if (!s->ready && now_ms >= waiting->deadline_ms)
			dynamodb_expire(s, waiting);
		else if (!s->ready)
			dynamodb_enqueue(s, waiting);
		else if (dynamodb_jobs_start(&s->jobs, waiting) < 0)
			dynamodb_jobs_refuse(&s->jobs, waiting,
			    DDBLOCK_E_NOMEM, error_text(DDBLOCK_E_NOMEM));
	}
	if (s->queue != NULL && !s->ready && s->look == NULL)
		dynamodb_look(s);
}

static void
dynamodb_on_queue(evutil_socket_t fd, short what, void *arg)
{
	struct dynamodb_store *s = arg;

	(void)fd;
	(void)what;
	dynamodb_drain(s, 0, "");
}

static void
dynamodb_on_look(void *arg, int code, const char *text)
{
	struct dynamodb_store *s = arg;

	s->look = NULL;
	s->ready = code == 0;
	dynamodb_jobs_trouble(&s->jobs, code, code != 0 ? text : "");
	/* An endpoint that is away may come back while they wait, and
	 * credentials that were nowhere may be found. */
	if (code == DDBLOCK_E_UNREACHABLE || code == DDBLOCK_E_THROTTLED ||
	    !aws_client_ready(s->jobs.client))
		code = 0;
	dynamodb_drain(s, code, text);
}

static void
dynamodb_look(struct dynamodb_store *s)
{
	int r = dynamodb_table_run(&s->jobs, DYNAMODB_TABLE_LOOK,
	    clock_boot_ms() + DYNAMODB_LOOK_MS, dynamodb_on_look, s,
	    &s->look);

	if (r < 0)
		dynamodb_jobs_trouble(&s->jobs, r, error_text(r));
}

static void
dynamodb_submit(struct store *store, struct operation *operation)
{
	struct dynamodb_store *s = dynamodb_of(store);

	if (s->ready && s->queue == NULL && dynamodb_may_start(s, operation) &&
	    dynamodb_jobs_start(&s->jobs, operation) == 0)
		return;
	dynamodb_enqueue(s, operation);
	if (!s->ready && s->look == NULL)
		dynamodb_look(s);
}

/* ---- the table ---- */

static void
dynamodb_on_run(void *arg, int code, const char *text)
{
	struct dynamodb_run *run = arg;
	struct dynamodb_run **link = &run->store->runs;

	while (*link != run)
		link = &(*link)->next;
	*link = run->next;
	run->done(run->arg, code, text);
	free(run);
}

static void
dynamodb_run(struct store *store, enum dynamodb_table_goal goal,
    uint64_t time_ms, store_table_fn done, void *arg)
{
	struct dynamodb_store *s = dynamodb_of(store);
	struct dynamodb_run *run = calloc(1, sizeof(*run));

	if (run != NULL) {
		*run = (struct dynamodb_run){ s, s->runs, NULL, done, arg };
		if (dynamodb_table_run(&s->jobs, goal,
		    clock_boot_ms() + time_ms, dynamodb_on_run, run,
		    &run->table) == 0) {
			s->runs = run;
			return;
		}
	}
	free(run);
	done(arg, DDBLOCK_E_NOMEM, error_text(DDBLOCK_E_NOMEM));
}

static void
dynamodb_init_table(struct store *store, store_table_fn done, void *arg)
{
	dynamodb_run(store, DYNAMODB_TABLE_INIT, DYNAMODB_INIT_MS, done, arg);
}

static void
dynamodb_check_table(struct store *store, store_table_fn done, void *arg)
{
	dynamodb_run(store, DYNAMODB_TABLE_CHECK, DYNAMODB_CHECK_MS, done,
	    arg);
}

/* ---- the check ---- */

static int
dynamodb_check_start(struct dynamodb_store *s, store_finding_fn found,
    void *arg)
{
	const struct dynamodb_identity *i = &s->jobs.identity;
	const struct dynamodb_check_config config = {
		.target = {
			.endpoint = i->endpoint[0] != '\0' ? i->endpoint :
			    NULL,
			.region = i->region[0] != '\0' ? i->region : NULL,
			.dialect = s->jobs.dialect,
			.table = &s->table,
			.clock_counts = s->synchronised != NULL,
		},
		.ca_file = i->ca_file[0] != '\0' ? i->ca_file : NULL,
	};

	return dynamodb_check_run(&s->jobs, &config, found, arg, &s->check);
}

/* Just after the start the credentials are not known yet. */
static int
dynamodb_check(struct store *store, store_finding_fn found, void *arg)
{
	struct dynamodb_store *s = dynamodb_of(store);

	assert(s->check == NULL && s->found == NULL);
	if (dynamodb_identity_concluded(&s->jobs.identity))
		return dynamodb_check_start(s, found, arg);
	s->found = found;
	s->found_arg = arg;
	return 0;
}

/* The one that waited. */
static void
dynamodb_check_go(struct dynamodb_store *s)
{
	store_finding_fn found = s->found;

	if (found == NULL ||
	    !dynamodb_identity_concluded(&s->jobs.identity))
		return;
	s->found = NULL;
	if (dynamodb_check_start(s, found, s->found_arg) < 0)
		found(s->found_arg, NULL);
}

static int
dynamodb_list_sessions(struct store *store,
    const struct store_sessions_calls *calls, void *arg)
{
	struct dynamodb_store *s = dynamodb_of(store);

	return dynamodb_sessions_run(&s->jobs, calls, arg, &s->sessions);
}

static void
dynamodb_status(const struct store *store, struct store_status *ret)
{
	const struct dynamodb_store *s =
	    (const struct dynamodb_store *)(const void *)store;

	*ret = (struct store_status){
		.kind = store_dynamodb_kind.name,
		.scope = store_dynamodb_kind.scope,
		.where = s->where,
		.format = s->jobs.dialect->name,
		.sorts = s->table.sort_attribute != NULL,
		.last_error = s->jobs.last_error,
		.last_text = s->jobs.last_text,
		.requests = s->jobs.requests,
		.repetitions = s->jobs.repetitions,
		.in_flight = s->jobs.in_flight,
	};
	dynamodb_status_identity(&s->jobs.identity, ret);
	dynamodb_status_health(&s->jobs.shared, ret);
}

/* ---- its life ---- */

static void
dynamodb_on_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	struct dynamodb_store *s = arg;

	/* The table was there, and is not now: look again before the next. */
	if (outcome->code == DDBLOCK_E_NO_TABLE)
		s->ready = false;
	s->store.outcome(s->store.outcome_arg, operation, outcome);
}

static void
dynamodb_free(struct store *store)
{
	struct dynamodb_store *s = dynamodb_of(store);

	if (s == NULL)
		return;
	dynamodb_jobs_done(&s->jobs);
	while (s->runs != NULL) {
		struct dynamodb_run *next = s->runs->next;

		dynamodb_table_cancel(s->runs->table);
		free(s->runs);
		s->runs = next;
	}
	dynamodb_table_cancel(s->look);
	dynamodb_check_cancel(s->check);
	dynamodb_sessions_cancel(s->sessions);
	dynamodb_identity_done(&s->jobs.identity);
	if (s->queue_timer != NULL)
		event_free(s->queue_timer);
	aws_client_free(s->jobs.client);
	for (size_t i = 0; i < s->n_strings; i++)
		free(s->strings[i]);
	free(s);
}

static const struct store_methods dynamodb_methods = {
	.submit = dynamodb_submit,
	.init_table = dynamodb_init_table,
	.check_table = dynamodb_check_table,
	.check = dynamodb_check,
	.sessions = dynamodb_list_sessions,
	.status = dynamodb_status,
	.free = dynamodb_free,
};

/* A copy of @text that lives as long as the store; NULL if there is none. */
static const char *
dynamodb_keep(struct dynamodb_store *s, const char *text, int *r)
{
	char *copy;

	if (text == NULL || *r < 0)
		return NULL;
	copy = strdup(text);
	if (copy == NULL)
		*r = DDBLOCK_E_NOMEM;
	else
		s->strings[s->n_strings++] = copy;
	return copy;
}

/* Keep what the dialect's table points to. */
static int
dynamodb_copy(struct dynamodb_store *s, const struct dialect_table *from)
{
	struct dialect_table *t = &s->table;
	const char **texts[] = {
		&t->table, &t->key_attribute, &t->sort_attribute,
		&t->ttl_attribute, &t->prefix, &t->host, &t->pid, &t->boot_id,
		&t->version,
	};
	int r = 0;

	assert(from->n_renamed <= DYNAMODB_RENAMED_MAX);
	*t = *from;
	if (t->key_attribute == NULL)
		t->key_attribute = "key";
	if (t->ttl_attribute == NULL && s->jobs.dialect == &dialect_native)
		t->ttl_attribute = "ttl";
	if (t->retention_s == 0)
		t->retention_s = STORE_DYNAMODB_RETENTION_S;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = dynamodb_keep(s, *texts[i], &r);
	for (size_t i = 0; i < from->n_renamed; i++)
		s->renamed[i] = (struct dialect_name){
			dynamodb_keep(s, from->renamed[i].own, &r),
			dynamodb_keep(s, from->renamed[i].here, &r),
		};
	t->renamed = s->renamed;
	return r;
}

static int
dynamodb_find_format(struct dynamodb_store *s,
    const struct store_dynamodb_config *c, char *ret_text, size_t text_size)
{
	const char *format = c->format != NULL ? c->format :
	    dialect_native.name;

	s->jobs.dialect = dialect_find(format);
	if (s->jobs.dialect != NULL)
		return 0;
	(void)snprintf(ret_text, text_size, "namespace %s: this ddblockd does "
	    "not know the record format %s", c->namespace_name, format);
	return DDBLOCK_E_BAD_REQUEST;
}

static void
dynamodb_set_where(struct dynamodb_store *s)
{
	const char *endpoint = s->jobs.identity.endpoint;
	size_t length = strlen(endpoint);

	(void)snprintf(s->where, sizeof(s->where), "%s%s%s", endpoint,
	    length == 0 || endpoint[length - 1] == '/' ? "" : "/",
	    s->table.table);
}

static void
dynamodb_on_identity(void *arg, int code, const char *text)
{
	struct dynamodb_store *s = arg;

	dynamodb_set_where(s);
	dynamodb_check_go(s);
	/* What was refused, or missing, was not these. */
	if (code == 0 && s->jobs.last_error == DDBLOCK_E_NO_CREDENTIALS)
		dynamodb_jobs_trouble(&s->jobs, 0, "");
	if (code == 0 || aws_client_ready(s->jobs.client))
		return;
	dynamodb_jobs_trouble(&s->jobs, code, text);
	/* Operations wait for what time may cure, up to their deadlines; a
	 * person who asks about the table wants to know now. */
	while (s->runs != NULL) {
		dynamodb_table_cancel(s->runs->table);
		dynamodb_on_run(s->runs, code, text);
	}
}

static int
dynamodb_connect(struct dynamodb_store *s,
    const struct store_dynamodb_config *c, char *ret_text, size_t text_size)
{
	struct aws_client_config config = {
		.service = "dynamodb",
		.allow_plain_http = c->allow_plain_http,
	};
	int r;

	for (int i = 0; i < AWS_LANES; i++)
		config.connections_max[i] = c->connections_max[i];
	r = aws_client_new(s->jobs.base, &config, &s->jobs.client);
	if (r < 0)
		return r;
	return dynamodb_identity_init(&s->jobs.identity, s->jobs.client, c,
	    dynamodb_on_identity, s, ret_text, text_size);
}

int
store_dynamodb_use(struct store *store, struct provider *provider)
{
	struct dynamodb_store *s = (struct dynamodb_store *)store;

	return dynamodb_identity_listen(&s->jobs.identity, provider);
}

int
store_dynamodb_new(struct event_base *base,
    const struct store_dynamodb_config *config, store_outcome_fn outcome,
    void *outcome_arg, struct store **ret, char *ret_text, size_t text_size)
{
	struct dynamodb_store *s = calloc(1, sizeof(*s));
	int r = DDBLOCK_E_NOMEM;

	(void)snprintf(ret_text, text_size, "%s", error_text(r));
	if (s == NULL)
		return r;
	s->store = (struct store){
		.methods = &dynamodb_methods, .outcome = outcome,
		.outcome_arg = outcome_arg,
	};
	s->queue_end = &s->queue;
	s->queue_ms = UINT64_MAX;
	s->queue_timer = evtimer_new(base, dynamodb_on_queue, s);
	if (dynamodb_jobs_init(&s->jobs, base, &s->table, dynamodb_on_outcome,
	    s) < 0 || s->queue_timer == NULL)
		goto fail;
	s->jobs.store = &s->store;
	r = dynamodb_find_format(s, config, ret_text, text_size);
	if (r < 0)
		goto fail;
	r = dynamodb_copy(s, &config->table);
	s->synchronised = config->synchronised;
	s->unsynchronised_text =
	    dynamodb_keep(s, config->unsynchronised_text, &r);
	if (r < 0)
		goto fail;
	r = dynamodb_format_check_names(s->jobs.dialect, &s->table,
	    config->namespace_name, ret_text, text_size);
	if (r < 0)
		goto fail;
	r = dynamodb_connect(s, config, ret_text, text_size);
	if (r < 0)
		goto fail;
	*ret = &s->store;
	return 0;
fail:
	dynamodb_free(&s->store);
	return r;
}
