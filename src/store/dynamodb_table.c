/*
 * The table itself: look at it, check it, create it.
 *
 * One request at a time, each step chosen by the answer to the last, so that
 * it may be run twice, by two at a time, or again after it was interrupted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <json-c/json.h>

#include "aws/errors.h"
#include "aws/retry.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"
#include "dialect/json.h"
#include "store/dynamodb_schema.h"
#include "store/dynamodb_table.h"

#define TABLE_CALL_MS 5000	/* an answer to one request */
#define TABLE_SILENCE_MS 10000	/* for the first answer of all */
#define TABLE_WAIT_MS 500	/* between two looks at a table in the making */
#define TABLE_NAME_SHOWN 100

enum dynamodb_table_step {
	TABLE_DESCRIBE = 1,
	TABLE_TIME,	/* a request for the time of its answer only */
	TABLE_CREATE,
	TABLE_DESCRIBE_TTL,
	TABLE_SET_TTL,
	TABLE_ASK_TTL,	/* whether it can be set, without setting it */
};

struct dynamodb_table {
	struct dynamodb_jobs *jobs;
	struct aws_client *client;
	const char *table;
	const struct dialect_table *schema;
	const char *ttl_attribute;	/* NULL: it needs no time to live */
	uint64_t read_capacity;		/* 0: paid by request */
	uint64_t write_capacity;
	enum dynamodb_table_goal goal;
	uint64_t deadline_ms;
	uint64_t silence_ms;		/* its end, while nothing answers */
	store_table_fn done;
	void *arg;

	enum dynamodb_table_step step;
	struct retry retry;	/* of this step */
	struct aws_call *call;	/* under way; or NULL */
	struct event *timer;	/* until the next request */
	bool made;		/* by us, or by another program just now */
	bool created;
	bool ttl_set;
	uint32_t ttl_tries;
};

static void dynamodb_table_send(struct dynamodb_table *t);

void
dynamodb_table_cancel(struct dynamodb_table *t)
{
	if (t == NULL)
		return;
	if (t->call != NULL)
		aws_call_cancel(t->call);
	if (t->timer != NULL)
		event_free(t->timer);
	free(t);
}

__attribute__((format(printf, 3, 4)))
static void
dynamodb_table_end(struct dynamodb_table *t, int code, const char *format,
    ...)
{
	char text[DYNAMODB_TABLE_TEXT_MAX];
	store_table_fn done = t->done;
	void *arg = t->arg;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	dynamodb_table_cancel(t);
	done(arg, code, text);
}

static void
dynamodb_table_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	dynamodb_table_send(arg);
}

static void
dynamodb_table_wait(struct dynamodb_table *t, uint64_t wait_ms)
{
	if (dynamodb_arm(t->timer, wait_ms) < 0)
		dynamodb_table_end(t, DDBLOCK_E_NOMEM, "out of memory");
}

/* An endpoint that says nothing at all is given up sooner than a table that is
 * in the making. */
static uint64_t
dynamodb_table_end_ms(const struct dynamodb_table *t)
{
	return t->silence_ms < t->deadline_ms ? t->silence_ms : t->deadline_ms;
}

/* The same request once more, after a while. False: not after this, or there is
 * no time left for it. */
static bool
dynamodb_table_again(struct dynamodb_table *t, enum aws_class class)
{
	uint64_t wait_ms;

	if (!retry_next(&t->retry, class, clock_boot_ms(),
	    dynamodb_table_end_ms(t), dynamodb_jobs_dice(t->jobs), &wait_ms))
		return false;
	dynamodb_table_wait(t, wait_ms);
	return true;
}

/* The next request is another one. */
static void
dynamodb_table_next(struct dynamodb_table *t, enum dynamodb_table_step step)
{
	t->step = step;
	retry_init(&t->retry, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_SESSION_MS);
	dynamodb_table_send(t);
}

static void
dynamodb_table_write_create(const struct dynamodb_table *t, struct buffer *b)
{
	if (t->read_capacity == 0)
		(void)buffer_append_text(b,
		    ",\"BillingMode\":\"PAY_PER_REQUEST\"");
	else
		(void)buffer_printf(b, ",\"ProvisionedThroughput\":{"
		    "\"ReadCapacityUnits\":%" PRIu64 ","
		    "\"WriteCapacityUnits\":%" PRIu64 "}",
		    t->read_capacity, t->write_capacity);
	schema_write(b, t->schema);
	(void)buffer_append_text(b, "}");
}

static const char *
dynamodb_table_write(const struct dynamodb_table *t, struct buffer *b)
{
	(void)buffer_append_text(b, "{\"TableName\":");
	json_append_text(b, t->table);
	switch (t->step) {
	case TABLE_DESCRIBE:
		(void)buffer_append_text(b, "}");
		return "DescribeTable";
	case TABLE_TIME:
		(void)buffer_append_text(b, ",\"Key\":");
		schema_write_no_key(b, t->schema);
		(void)buffer_append_text(b, "}");
		return "GetItem";
	case TABLE_CREATE:
		dynamodb_table_write_create(t, b);
		return "CreateTable";
	case TABLE_DESCRIBE_TTL:
		(void)buffer_append_text(b, "}");
		return "DescribeTimeToLive";
	case TABLE_ASK_TTL:	/* incomplete: nobody can do this */
		(void)buffer_append_text(b, "}");
		return "UpdateTimeToLive";
	case TABLE_SET_TTL:
		break;
	}
	(void)buffer_append_text(b, ",\"TimeToLiveSpecification\":{"
	    "\"Enabled\":true,\"AttributeName\":");
	json_append_text(b, t->ttl_attribute);
	(void)buffer_append_text(b, "}}");
	return "UpdateTimeToLive";
}

static void
dynamodb_table_good(struct dynamodb_table *t, const char *ttl)
{
	const char *what = !t->created ?
	    t->ttl_set ? "changed" : "as it must be" :
	    t->read_capacity == 0 ? "created, on demand" : "created";
	char keys[SCHEMA_TEXT_MAX];

	schema_needed(t->schema, keys);
	dynamodb_table_end(t, 0, "table %.*s: %s; %s, %s", TABLE_NAME_SHOWN,
	    t->table, what, keys, ttl);
}

/* It answers, but not as DynamoDB does. Who looks in order to go on asks it
 * again, like one that does not answer: not at once. */
static void
dynamodb_table_strange(struct dynamodb_table *t, const char *what)
{
	char text[DYNAMODB_TABLE_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%s %s",
	    aws_client_endpoint(t->client), what);
	if (t->goal == DYNAMODB_TABLE_LOOK) {
		dynamodb_jobs_trouble(t->jobs, DDBLOCK_E_UNREACHABLE, text);
		if (dynamodb_table_again(t, AWS_CLASS_TRANSIENT))
			return;
	}
	dynamodb_table_end(t, DDBLOCK_E_UNREACHABLE, "%s", text);
}

static void
dynamodb_table_described(struct dynamodb_table *t, struct json_object *answer)
{
	struct json_object *table = json_find(answer, "Table");
	const char *status = schema_text(table, "TableStatus");
	char have[SCHEMA_TEXT_MAX];
	char need[SCHEMA_TEXT_MAX];

	if (table == NULL) {
		dynamodb_table_strange(t, "does not answer as DynamoDB does");
		return;
	}
	schema_found(table, have);
	schema_needed(t->schema, need);
	if (strcmp(have, need) != 0) {
		/* Who only looks is told what to do by others. */
		dynamodb_table_end(t, DDBLOCK_E_WRONG_TABLE,
		    "table %.*s has %s, but the namespace needs %s and no "
		    "other%s", TABLE_NAME_SHOWN, t->table, have, need,
		    t->goal == DYNAMODB_TABLE_LOOK ? "" : "; " SCHEMA_ADVICE);
		return;
	}
	if (strcmp(status, "CREATING") == 0 ||
	    strcmp(status, "DELETING") == 0) {
		if (t->goal == DYNAMODB_TABLE_INIT &&
		    clock_boot_ms() < t->deadline_ms)
			dynamodb_table_wait(t, TABLE_WAIT_MS);
		else
			dynamodb_table_end(t, DDBLOCK_E_NO_TABLE,
			    "table %.*s is not ready: it is %s",
			    TABLE_NAME_SHOWN, t->table, status);
		return;
	}
	if (t->goal != DYNAMODB_TABLE_LOOK && t->ttl_attribute == NULL)
		dynamodb_table_good(t, "no time to live needed");
	else if (t->goal != DYNAMODB_TABLE_LOOK)
		dynamodb_table_next(t, TABLE_DESCRIBE_TTL);
	else if (aws_client_wall_ms(t->client) == 0)
		dynamodb_table_next(t, TABLE_TIME);
	else
		dynamodb_table_end(t, 0, "table %.*s has %s",
		    TABLE_NAME_SHOWN, t->table, have);
}

static void
dynamodb_table_no_ttl(struct dynamodb_table *t, const char *status)
{
	dynamodb_table_end(t, DDBLOCK_E_WRONG_TABLE, "table %.*s has no time "
	    "to live (%s), but the namespace needs it on attribute \"%s\", or "
	    "records of free locks are never removed; %s", TABLE_NAME_SHOWN,
	    t->table, status[0] != '\0' ? status : "unknown",
	    t->ttl_attribute, t->goal == DYNAMODB_TABLE_CHECK ?
	    "\"ddblock init-table\" switches it on" :
	    "DynamoDB changes it once an hour: run this again then");
}

static void
dynamodb_table_ttl(struct dynamodb_table *t, struct json_object *answer)
{
	struct json_object *d = json_find(answer, "TimeToLiveDescription");
	const char *status = schema_text(d, "TimeToLiveStatus");
	const char *attribute = schema_text(d, "AttributeName");
	char good[SCHEMA_TEXT_MAX];
	bool on = strcmp(status, "ENABLED") == 0 ||
	    strcmp(status, "ENABLING") == 0;

	if (on && strcmp(attribute, t->ttl_attribute) == 0) {
		(void)snprintf(good, sizeof(good), "time to live on \"%s\"",
		    attribute);
		dynamodb_table_good(t, good);
	} else if (on) {
		dynamodb_table_end(t, DDBLOCK_E_WRONG_TABLE, "table %.*s has "
		    "its time to live on attribute \"%s\", but the namespace "
		    "needs it on \"%s\"; switch it off first, or set "
		    "ttl_attribute", TABLE_NAME_SHOWN, t->table, attribute,
		    t->ttl_attribute);
	} else if (t->goal == DYNAMODB_TABLE_INIT &&
	    strcmp(status, "DISABLED") == 0 && t->ttl_tries++ < 3) {
		dynamodb_table_next(t, TABLE_SET_TTL);
	} else if (t->goal == DYNAMODB_TABLE_CHECK &&
	    strcmp(status, "DISABLED") == 0) {
		dynamodb_table_next(t, TABLE_ASK_TTL);
	} else {
		dynamodb_table_no_ttl(t, status);
	}
}

static void
dynamodb_table_succeeded(struct dynamodb_table *t,
    const struct aws_answer *answer)
{
	struct json_object *o = json_read_object(NULL, answer->body,
	    answer->body_length);

	switch (t->step) {
	case TABLE_DESCRIBE:
		dynamodb_table_described(t, o);
		break;
	case TABLE_TIME:
		if (aws_client_wall_ms(t->client) == 0)
			dynamodb_table_strange(t,
			    "gives no Date with its answers");
		else
			dynamodb_table_end(t, 0, "table %.*s answers",
			    TABLE_NAME_SHOWN, t->table);
		break;
	case TABLE_CREATE:
		t->created = true;
		t->made = true;
		dynamodb_table_next(t, TABLE_DESCRIBE);
		break;
	case TABLE_DESCRIBE_TTL:
		dynamodb_table_ttl(t, o);
		break;
	case TABLE_SET_TTL:
		t->ttl_set = true;
		dynamodb_table_next(t, TABLE_DESCRIBE_TTL);
		break;
	case TABLE_ASK_TTL:
		dynamodb_table_no_ttl(t, "DISABLED");
		break;
	}
	json_object_put(o);
}

/* Is the endpoint one that does not know, or does not let us do, this? */
static bool
dynamodb_table_not_allowed(const struct aws_error *e)
{
	return e->code == DDBLOCK_E_ACCESS_DENIED ||
	    strcmp(e->name, "UnknownOperationException") == 0;
}

static void
dynamodb_table_refused(struct dynamodb_table *t, const struct aws_error *e)
{
	char need[SCHEMA_TEXT_MAX];

	if (t->step == TABLE_DESCRIBE && t->goal == DYNAMODB_TABLE_INIT &&
	    e->code == DDBLOCK_E_NO_TABLE && !t->made) {
		dynamodb_table_next(t, TABLE_CREATE);
	} else if (t->step == TABLE_DESCRIBE && t->made &&
	    e->code == DDBLOCK_E_NO_TABLE &&
	    clock_boot_ms() < t->deadline_ms) {
		/* A new table is not visible everywhere at once. */
		dynamodb_table_wait(t, TABLE_WAIT_MS);
	} else if (t->step == TABLE_CREATE &&
	    strcmp(e->name, "ResourceInUseException") == 0) {
		t->made = true;
		dynamodb_table_next(t, TABLE_DESCRIBE);
	} else if (t->step == TABLE_SET_TTL &&
	    strcmp(e->name, "ValidationException") == 0) {
		/* Another program switched it on in between. */
		dynamodb_table_next(t, TABLE_DESCRIBE_TTL);
	} else if (t->step == TABLE_DESCRIBE &&
	    t->goal == DYNAMODB_TABLE_LOOK && dynamodb_table_not_allowed(e)) {
		dynamodb_table_next(t, TABLE_TIME);
	} else if ((t->step == TABLE_DESCRIBE_TTL ||
	    t->step == TABLE_SET_TTL || t->step == TABLE_ASK_TTL) &&
	    strcmp(e->name, "UnknownOperationException") == 0) {
		dynamodb_table_good(t, "no time to live at this endpoint");
	} else if (t->step == TABLE_ASK_TTL) {
		dynamodb_table_no_ttl(t, "DISABLED");
	} else if (e->code == DDBLOCK_E_NO_TABLE) {
		dynamodb_table_end(t, e->code, "table %.*s does not exist at "
		    "%s", TABLE_NAME_SHOWN, t->table,
		    aws_client_endpoint(t->client));
	} else if (t->step == TABLE_TIME &&
	    strcmp(e->name, "ValidationException") == 0) {
		schema_needed(t->schema, need);
		dynamodb_table_end(t, DDBLOCK_E_WRONG_TABLE, "table %.*s has "
		    "other keys than %s: %s", TABLE_NAME_SHOWN, t->table,
		    need, e->text);
	} else {
		dynamodb_table_end(t, e->code, "table %.*s at %s: %s",
		    TABLE_NAME_SHOWN, t->table,
		    aws_client_endpoint(t->client), e->text);
	}
}

static void
dynamodb_table_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_table *t = arg;
	struct aws_error e;

	t->call = NULL;
	if (answer->status != 0)
		t->silence_ms = t->deadline_ms;
	aws_errors_classify_answer(answer, &e);
	dynamodb_jobs_learn(t->jobs, answer, &e);
	health_learn(&t->jobs->shared.health, answer, &e, clock_boot_ms());
	if (e.class == AWS_CLASS_OK) {
		dynamodb_table_succeeded(t, answer);
		return;
	}
	dynamodb_jobs_trouble(t->jobs, e.code, e.text);
	if (!dynamodb_table_again(t, e.class))
		dynamodb_table_refused(t, &e);
}

/* The time of one request. */
static uint64_t
dynamodb_table_call_ms(const struct dynamodb_table *t)
{
	uint64_t end_ms = dynamodb_table_end_ms(t), now_ms = clock_boot_ms();

	if (end_ms == t->deadline_ms || end_ms >= now_ms + TABLE_CALL_MS)
		return TABLE_CALL_MS;
	return end_ms > now_ms ? end_ms - now_ms : 1;
}

static void
dynamodb_table_send(struct dynamodb_table *t)
{
	const char *operation;
	struct buffer body;
	int r;

	buffer_init(&body, 4096);
	operation = dynamodb_table_write(t, &body);
	r = buffer_failed(&body);
	if (r == 0)
		r = aws_client_call(t->client, AWS_LANE_SESSION, USER_NONE,
		    operation, body.data, body.length,
		    dynamodb_table_call_ms(t), dynamodb_table_on_answer, t,
		    &t->call);
	buffer_done(&body);
	if (r < 0)
		dynamodb_table_end(t, r, "%s", error_text(r));
	else
		t->jobs->requests++;
}

int
dynamodb_table_run(struct dynamodb_jobs *jobs, enum dynamodb_table_goal goal,
    uint64_t deadline_ms, store_table_fn done, void *arg,
    struct dynamodb_table **ret)
{
	struct dynamodb_table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return DDBLOCK_E_NOMEM;
	*t = (struct dynamodb_table){
		.jobs = jobs, .client = jobs->client,
		.table = jobs->table->table,
		.schema = jobs->table,
		.ttl_attribute = jobs->table->ttl_attribute,
		.read_capacity = jobs->table->read_capacity,
		.write_capacity = jobs->table->write_capacity, .goal = goal,
		.deadline_ms = deadline_ms,
		.silence_ms = clock_boot_ms() + TABLE_SILENCE_MS,
		.done = done, .arg = arg,
		.step = TABLE_DESCRIBE,
	};
	retry_init(&t->retry, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_SESSION_MS);
	t->timer = evtimer_new(jobs->base, dynamodb_table_on_timer, t);
	if (t->timer == NULL) {
		dynamodb_table_cancel(t);
		return DDBLOCK_E_NOMEM;
	}
	*ret = t;
	/* From the loop, so that an answer never comes before the return. */
	event_active(t->timer, 0, 1);
	return 0;
}
