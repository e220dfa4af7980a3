/*
 * Reading the recordings of older clients, and asking the model of DynamoDB
 * what is in them.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "traces.h"

const struct trace_client trace_clients[] = {
	{ "java", "awslabs", "jlock", "key", NULL, false },
	{ "dynamolock", "awslabs", "dynamolock", "key", NULL, false },
	{ "python", "python", "plock", "lock_key", "sort_key", false },
	{ "js-fail-open", "js-fail-open", "jslock", "id", NULL, false },
	{ "js-fail-closed", "js-fail-closed", "jsclosed", "id", NULL, true },
	{ "dlock", "dlock", "dlock", "key", NULL, false },
	{ "dlock-fencing", "dlock", "dlockf", "key", NULL, false },
	{ .name = NULL },
};

const char *
trace_scene_name(enum trace_scene scene)
{
	static const char *const names[] = {
		[TRACE_UNCONTENDED] = "uncontended",
		[TRACE_CONTENDED] = "contended",
		[TRACE_DEATH] = "death",
		[TRACE_TAKEOVER] = "takeover",
	};

	return names[scene];
}

static struct json_object *
trace_member(struct json_object *o, const char *name)
{
	struct json_object *member;

	ck_assert_msg(json_object_object_get_ex(o, name, &member),
	    "there is no %s in %s", name, json_object_to_json_string(o));
	return member;
}

static void
trace_read_line(struct trace *t, const char *line)
{
	struct trace_row *row = &t->rows[t->n];
	struct json_object *o = json_tokener_parse(line);

	ck_assert_msg(o != NULL, "this is no JSON: %s", line);
	row->operation = json_object_get_string(trace_member(o, "operation"));
	row->status = json_object_get_int(trace_member(o, "status"));
	row->request = trace_member(o, "request");
	row->answer = trace_member(o, "answer");
	t->lines[t->n++] = o;
}

void
trace_read(struct trace *t, const struct trace_client *c,
    enum trace_scene scene)
{
	char path[512], line[4096];
	FILE *from;

	(void)snprintf(path, sizeof(path), "%s/%s.%s.jsonl", TRACES_DIR,
	    c->name, trace_scene_name(scene));
	from = fopen(path, "re");
	ck_assert_msg(from != NULL, "%s cannot be read", path);
	t->n = 0;
	while (fgets(line, sizeof(line), from) != NULL) {
		ck_assert_msg(t->n < TRACE_ROWS_MAX, "%s is long", path);
		trace_read_line(t, line);
	}
	ck_assert_msg(t->n > 0, "%s is empty", path);
	(void)fclose(from);
}

void
trace_done(struct trace *t)
{
	while (t->n > 0)
		json_object_put(t->lines[--t->n]);
}

struct json_object *
trace_ask(struct dynamo *d, const char *operation,
    struct json_object *request, int *ret_status)
{
	const char *text = json_object_to_json_string(request);
	struct dynamo_answer a;
	struct json_object *answer;

	dynamo_answer_init(&a);
	dynamo_request(d, TRACES_WALL_MS, operation, text, strlen(text), &a);
	answer = json_tokener_parse(a.body.data);
	ck_assert_msg(answer != NULL, "%s", a.body.data);
	*ret_status = a.status;
	dynamo_answer_done(&a);
	return answer;
}

struct dynamo *
trace_dynamo(const struct trace_client *c)
{
	struct dynamo *d = dynamo_new();
	struct json_object *request;
	char sort[2][128] = { "", "" }, body[768];
	int status;

	ck_assert(d != NULL);
	if (c->sort != NULL) {
		(void)snprintf(sort[0], sizeof(sort[0]), ",{\"AttributeName\":"
		    "\"%s\",\"AttributeType\":\"S\"}", c->sort);
		(void)snprintf(sort[1], sizeof(sort[1]), ",{\"AttributeName\":"
		    "\"%s\",\"KeyType\":\"RANGE\"}", c->sort);
	}
	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":"
	    "[{\"AttributeName\":\"%s\",\"AttributeType\":\"S\"}%s],"
	    "\"KeySchema\":[{\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"}"
	    "%s]}", c->table, c->key, sort[0], c->key, sort[1]);
	request = json_tokener_parse(body);
	json_object_put(trace_ask(d, "CreateTable", request, &status));
	ck_assert_int_eq(status, 200);
	json_object_put(request);
	return d;
}

static const char *
trace_message(struct json_object *answer)
{
	struct json_object *message;

	if (!json_object_object_get_ex(answer, "Message", &message) &&
	    !json_object_object_get_ex(answer, "message", &message))
		return "";
	return json_object_get_string(message);
}

bool
trace_agrees(const struct trace_row *row, int status,
    struct json_object *answer)
{
	if (status != row->status)
		return false;
	if (status == 200)
		return json_object_equal(row->answer, answer) != 0;
	return json_object_equal(trace_member(row->answer, "__type"),
	    trace_member(answer, "__type")) != 0 &&
	    strcmp(trace_message(row->answer), trace_message(answer)) == 0;
}
