/*
 * Asking the model of DynamoDB in tests.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_ask.h"

#define ASK_TABLE "'TableName':'table'"

char *
ask_quote(const char *text)
{
	char *quoted = malloc(strlen(text) * sizeof(ASK_TABLE) + 1);
	size_t n = 0;

	ck_assert(quoted != NULL);
	for (; *text != '\0'; text++) {
		const char *piece = *text == '~' ? ASK_TABLE : text;
		size_t length = *text == '~' ? strlen(ASK_TABLE) : 1;

		for (size_t i = 0; i < length; i++)
			quoted[n++] = piece[i] == '\'' ? '"' : piece[i];
	}
	quoted[n] = '\0';
	return quoted;
}

void
ask(struct ask *a, const char *operation, const char *request)
{
	struct dynamo_answer answer;
	char *quoted = ask_quote(request);
	struct json_object *type;
	const char *name;

	dynamo_answer_init(&answer);
	dynamo_request(a->dynamo, a->wall_ms, operation, quoted,
	    strlen(quoted), &answer);
	json_object_put(a->answer);
	a->answer = json_tokener_parse(answer.body.data);
	ck_assert_msg(a->answer != NULL, "%s", answer.body.data);
	a->status = answer.status;
	a->name[0] = '\0';
	if (json_object_object_get_ex(a->answer, "__type", &type)) {
		name = strchr(json_object_get_string(type), '#');
		ck_assert(name != NULL);
		(void)snprintf(a->name, sizeof(a->name), "%s", name + 1);
	}
	dynamo_answer_done(&answer);
	free(quoted);
}

void
ask_long(struct ask *a, const char *operation, const char *before, size_t n,
    const char *after)
{
	char *text = malloc(strlen(before) + n + strlen(after) + 1);

	ck_assert(text != NULL);
	memcpy(text, before, strlen(before));
	memset(text + strlen(before), 'k', n);
	memcpy(text + strlen(before) + n, after, strlen(after) + 1);
	ask(a, operation, text);
	free(text);
}

void
ask_expect(struct ask *a, const char *operation, const char *request,
    const char *answer)
{
	char *quoted = ask_quote(answer);
	struct json_object *expected = json_tokener_parse(quoted);

	ask(a, operation, request);
	ck_assert_msg(expected != NULL, "%s", quoted);
	ck_assert_msg(a->status == 200 &&
	    json_object_equal(expected, a->answer), "%s %s:\n%d %s\n, not %s",
	    operation, request, a->status, json_object_to_json_string(
	    a->answer), quoted);
	json_object_put(expected);
	free(quoted);
}

void
ask_refused(struct ask *a, const char *operation, const char *request,
    const char *name)
{
	ask(a, operation, request);
	ck_assert_msg(a->status == 400 && strcmp(a->name, name) == 0,
	    "%s %.500s:\n%d %s\n, not %s", operation, request, a->status,
	    json_object_to_json_string(a->answer), name);
}

const char *
ask_text(const struct ask *a, const char *path)
{
	struct json_object *o = a->answer;
	char step[64];

	while (*path != '\0' && o != NULL) {
		size_t n = strcspn(path, "/");

		ck_assert(n < sizeof(step));
		memcpy(step, path, n);
		step[n] = '\0';
		path += n + (path[n] == '/' ? 1 : 0);
		o = json_object_is_type(o, json_type_array) ?
		    json_object_array_get_idx(o, strtoul(step, NULL, 10)) :
		    json_object_object_get(o, step);
	}
	return o != NULL ? json_object_get_string(o) : "";
}

void
ask_init(struct ask *a)
{
	*a = (struct ask){ .wall_ms = ASK_WALL_MS, .dynamo = dynamo_new() };
	ck_assert(a->dynamo != NULL);
	ask(a, "CreateTable", "{~,'BillingMode':'PAY_PER_REQUEST',"
	    "'KeySchema':[{'AttributeName':'key','KeyType':'HASH'}],"
	    "'AttributeDefinitions':"
	    "[{'AttributeName':'key','AttributeType':'S'}]}");
	ck_assert_int_eq(a->status, 200);
}

void
ask_done(struct ask *a)
{
	json_object_put(a->answer);
	dynamo_free(a->dynamo);
}
