/*
 * Ours and theirs on one table of a test.
 */
#include "config.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "trace_stage.h"

const struct holder us = {
	{ UINT64_C(0x1111222233334444), UINT64_C(0x8555666600000000) },
	{ UINT64_C(0x1111222233334444), UINT64_C(0x8555666600000000) },
	3000, false
};

void
stage_init(struct stage *s, const struct trace_client *c, const char *key)
{
	memset(s, 0, sizeof(*s));
	s->client = c;
	s->dialect = dialect_find(c->format);
	ck_assert_msg(s->dialect != NULL, "there is no %s", c->format);
	s->table = (struct dialect_table){
		.table = c->table, .key_attribute = c->key,
		.sort_attribute = c->sort, .expiry_s = 3600,
		.go_lease = strcmp(c->name, "dynamolock") == 0,
		.fencing = strcmp(c->name, "dlock-fencing") == 0,
		.skew_ms = SKEW_MS, .host = "web-1",
	};
	s->dynamo = trace_dynamo(c);
	s->wall_ms = TRACES_WALL_MS;
	s->key = key;
	dialect_request_init(&s->request);
	dialect_view_init(&s->view);
}

void
stage_done(struct stage *s)
{
	dialect_view_clear(&s->view);
	dialect_request_done(&s->request);
	dynamo_free(s->dynamo);
}

struct json_object *
stage_item(struct stage *s)
{
	struct json_object *request, *answer, *item = NULL;
	char body[256], sort[64] = "";
	int status;

	if (s->client->sort != NULL)
		(void)snprintf(sort, sizeof(sort), ",\"%s\":{\"S\":\"-\"}",
		    s->client->sort);
	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\",\"Key\":{"
	    "\"%s\":{\"S\":\"%s\"}%s},\"ConsistentRead\":true}",
	    s->client->table, s->client->key, s->key, sort);
	request = json_tokener_parse(body);
	answer = trace_ask(s->dynamo, "GetItem", request, &status);
	ck_assert_int_eq(status, 200);
	if (json_object_object_get_ex(answer, "Item", &item))
		(void)json_object_get(item);
	json_object_put(answer);
	json_object_put(request);
	return item;
}

const char *
text_of(struct json_object *item, const char *name, const char *type)
{
	struct json_object *attribute, *value;

	if (!json_object_object_get_ex(item, name, &attribute) ||
	    !json_object_object_get_ex(attribute, type, &value))
		return "";
	return json_object_get_string(value);
}

/* ---- ours ------------------------------------------------------------- */

/* Carry out an operation of ours. Did its condition hold? */
static bool
we(struct stage *s, struct operation o, uint64_t beat)
{
	struct dialect_attempt a = { .step = DIALECT_DO, .beat = beat,
		.wall_ms = s->wall_ms };
	struct json_object *request, *answer;
	int status, r;

	o.key = (struct key){ s->key, strlen(s->key) };
	o.tokens = 1;
	o.mode = LOCK_MODE_EXCLUSIVE;
	o.me = us;
	o.holders = &us;
	o.n_holders = 1;
	o.owner = "us";
	o.with_contents = true;
	dialect_view_clear(&s->view);
	buffer_clear(&s->request.body);
	r = s->dialect->request(&s->table, &o, &a, &s->request, &s->view);
	ck_assert_msg(r == 0, "%s: %d %s", operation_kind_name(o.kind), r,
	    s->view.text);
	request = json_tokener_parse(s->request.body.data);
	answer = trace_ask(s->dynamo, s->request.operation, request, &status);
	ck_assert_msg(status == 200 || (status == 400 && strstr(
	    json_object_get_string(answer), "ConditionalCheckFailed") != NULL),
	    "%s", json_object_get_string(answer));
	dialect_view_clear(&s->view);
	r = s->dialect->answer(&s->table, &o, &a, status != 200,
	    json_object_to_json_string(answer),
	    strlen(json_object_to_json_string(answer)), &s->view);
	ck_assert_msg(r == 0, "%d %s", r, s->view.text);
	json_object_put(answer);
	json_object_put(request);
	return status == 200;
}

bool
we_do(struct stage *s, enum operation_kind kind, uint64_t beat)
{
	return we(s, (struct operation){ .kind = kind }, beat);
}

uint64_t
beat_of(const struct stage *s, uint64_t n)
{
	return s->dialect->life == LOCK_LIFE_DEADLINE ?
	    s->wall_ms + us.lease_ms + n : n;
}

const struct lock_record *
we_look(struct stage *s)
{
	ck_assert(we_do(s, OPERATION_READ, 0));
	return &s->view.lock;
}

bool
we_take(struct stage *s, const struct lock_record *seen)
{
	struct holder dead = { 0 };
	char version[512];
	struct operation o = { .kind = OPERATION_ACQUIRE,
		.token_seen = seen->token, .dead = &dead,
		.n_dead = seen->n_holders };

	(void)snprintf(version, sizeof(version), "%s", seen->version);
	o.version = version;
	if (seen->n_holders > 0)
		dead = seen->holders[0];
	return we(s, o, beat_of(s, 0));
}

/* ---- theirs ----------------------------------------------------------- */

/* The value that this placeholder is compared with; NULL: none of the item. */
static struct json_object *
compared(struct json_object *names, const char *condition,
    const char *placeholder, struct json_object *item)
{
	const char *at = condition;
	struct json_object *real, *value = NULL;
	char name[64];

	while ((at = strstr(at, placeholder)) != NULL) {
		const char *end = at - 3, *start;

		at += strlen(placeholder);
		if (isalnum((unsigned char)*at) || end < condition ||
		    strncmp(end, " = ", 3) != 0)
			continue;
		for (start = end; start > condition && (isalnum(
		    (unsigned char)start[-1]) || start[-1] == '#'); start--)
			;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - start),
		    start);
		if (name[0] == '#' && json_object_object_get_ex(names, name,
		    &real))
			(void)snprintf(name, sizeof(name), "%s",
			    json_object_get_string(real));
		(void)json_object_object_get_ex(item, name, &value);
		return value;
	}
	return NULL;
}

struct json_object *
member(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(o, name, &value);
	return value;
}

/* A copy with one value after the other changed. */
static struct json_object *
copy_of(struct json_object *o)
{
	return json_tokener_parse(json_object_to_json_string(o));
}

bool
they(struct stage *s, const struct trace_row *row, struct json_object *seen)
{
	struct json_object *request = copy_of(row->request), *answer, *values;
	struct json_object *where = member(request, "Key") != NULL ?
	    member(request, "Key") : member(request, "Item");
	const char *condition = json_object_get_string(
	    member(request, "ConditionExpression"));
	int status;

	json_object_object_add(member(where, s->client->key), "S",
	    json_object_new_string(s->key));
	values = member(request, "ExpressionAttributeValues");
	if (seen != NULL && values != NULL) {
		struct json_object *changed = copy_of(values);

		json_object_object_foreach(values, name, old) {
			struct json_object *value = compared(member(request,
			    "ExpressionAttributeNames"), condition, name, seen);

			(void)old;
			if (value != NULL)
				json_object_object_add(changed, name,
				    copy_of(value));
		}
		json_object_object_add(request, "ExpressionAttributeValues",
		    changed);
	}
	answer = trace_ask(s->dynamo, row->operation, request, &status);
	ck_assert_msg(status == 200 || strstr(json_object_get_string(answer),
	    "ConditionalCheckFailed") != NULL, "%s",
	    json_object_get_string(answer));
	json_object_put(answer);
	json_object_put(request);
	return status == 200;
}

static bool
row_is(const struct trace_row *row, const struct trace_client *c,
    enum row_kind kind)
{
	const char *condition = json_object_get_string(
	    member(row->request, "ConditionExpression"));
	const char *update = json_object_get_string(
	    member(row->request, "UpdateExpression"));
	const char *text = json_object_get_string(row->request);
	bool put = strcmp(row->operation, "PutItem") == 0;
	bool own, frees;

	if (condition == NULL || row->status != 200)
		return false;
	/* A put that insists on a record: of its own, or of one that it saw. */
	own = put && strstr(condition, "not_exists") == NULL &&
	    strncmp(condition, "NOT", 3) != 0;
	frees = strcmp(row->operation, "DeleteItem") == 0 ||
	    strstr(text, "\"N\": \"1000\"") != NULL ||
	    strstr(text, "\"leaseDurationMs\": { \"N\": \"1\" }") != NULL;
	switch (kind) {
	case ROW_NEW:
		return put && !own && strstr(condition, "guid =") == NULL &&
		    strstr(condition, "#3") == NULL;
	case ROW_TAKEOVER:
		if (strncmp(c->name, "js", 2) == 0)
			return strstr(condition, "fencingToken =") != NULL;
		if (strncmp(c->name, "dlock", 5) == 0)
			return put && strstr(condition, "not_exists") != NULL;
		return own;
	case ROW_RENEWAL:
		return !frees && (update != NULL || own);
	default:
		return frees && (update != NULL || own || !put);
	}
}

const struct trace_row *
row_of(struct trace *t, const struct trace_client *c, enum row_kind kind)
{
	for (size_t i = 0; i < t->n; i++)
		if (row_is(&t->rows[i], c, kind))
			return &t->rows[i];
	ck_abort_msg("%s: there is no such request", c->name);
}
