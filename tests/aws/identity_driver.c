/*
 * Identities in virtual time, driven line by line: a test in Python tells the
 * time and what came of errands, and is told what to do next.
 *
 *     {"do":"new","id":0,"environment":{...},"home":"/h","region":"..."}
 *     {"do":"start","id":0,"boot":1,"wall":2,"random":3}
 *     {"do":"answer",...,"code":"OK","error":0,"status":200,"body":"..."}
 *     {"do":"wake",...}   {"do":"rejected",...}
 *
 * Each line has one in answer: the errand, when to wake, and the view.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/identity.h"

#define IDENTITIES_MAX 4096

struct driven {
	struct identity *identity;
	struct json_object *environment;
	bool busy;
};

static struct driven driven[IDENTITIES_MAX];

static void
die(const char *text)
{
	(void)fprintf(stderr, "identity_driver: %s\n", text);
	exit(EXIT_FAILURE);
}

/* ---- reading ---- */

static const char *
text_of(struct json_object *json, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(json, name, &value) &&
	    json_object_is_type(value, json_type_string) ?
	    json_object_get_string(value) : NULL;
}

static int64_t
number_of(struct json_object *json, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(json, name, &value) ?
	    json_object_get_int64(value) : 0;
}

static const char *
variable(void *arg, const char *name)
{
	const struct driven *d = arg;

	return text_of(d->environment, name);
}

static void
make(struct driven *d, struct json_object *line)
{
	struct identity_config config = {
		.endpoints = { .region = text_of(line, "region") },
		.profile = text_of(line, "profile"),
		.variable = variable,
		.variable_arg = d,
		.home = text_of(line, "home"),
	};
	struct json_object *environment;

	identity_free(d->identity);
	(void)json_object_put(d->environment);
	if (!json_object_object_get_ex(line, "environment", &environment))
		die("no environment");
	d->environment = json_object_get(environment);
	d->busy = false;
	if (identity_new(&config, &d->identity) < 0)
		die("no memory");
}

static int
answer(struct driven *d, struct json_object *line,
    const struct identity_now *now, struct identity_step *step)
{
	const char *code = text_of(line, "code"), *body = text_of(line,
	    "body");
	struct errand_answer a = {
		.code = error_from_word(code, strlen(code)),
		.error = (int)number_of(line, "error"),
		.status = (int)number_of(line, "status"),
		.body = body != NULL ? body : "",
		.body_length = body != NULL ? strlen(body) : 0,
	};

	a.text = a.error != 0 ? strerror(a.error) : error_text(a.code);
	if (!d->busy)
		return -1;
	d->busy = false;
	identity_answer(d->identity, now, &a, step);
	return 0;
}

/* ---- writing ---- */

static void
put_text(struct json_object *json, const char *name, const char *text)
{
	(void)json_object_object_add(json, name, text != NULL ?
	    json_object_new_string(text) : NULL);
}

static void
put_number(struct json_object *json, const char *name, uint64_t number)
{
	(void)json_object_object_add(json, name,
	    json_object_new_int64((int64_t)number));
}

static struct json_object *
credentials_json(const struct credentials *c)
{
	struct json_object *json;

	if (c == NULL)
		return NULL;
	json = json_object_new_object();
	put_text(json, "access_key_id", c->access_key_id);
	put_text(json, "secret", c->secret_access_key);
	put_text(json, "token", c->session_token);
	put_text(json, "account", c->account_id);
	put_number(json, "expires", c->expires_ms);
	return json;
}

static struct json_object *
errand_json(const struct errand *e)
{
	static const char *const kinds[] = {
		"none", "read", "write", "fetch", "run",
	};
	struct json_object *json, *headers;

	if (e == NULL)
		return NULL;
	json = json_object_new_object();
	headers = json_object_new_object();
	put_text(json, "kind", kinds[e->kind]);
	put_number(json, "timeout", e->timeout_ms);
	put_number(json, "max", e->answer_max);
	put_text(json, "path", e->path);
	put_text(json, "command", e->command);
	put_text(json, "method", e->method);
	put_text(json, "url", e->url);
	for (size_t i = 0; i < e->n_headers; i++)
		put_text(headers, e->headers[i].name, e->headers[i].value);
	(void)json_object_object_add(json, "headers", headers);
	(void)json_object_object_add(json, "body", e->body == NULL ? NULL :
	    json_object_new_string_len(e->body, (int)e->body_length));
	(void)json_object_object_add(json, "signer",
	    credentials_json(e->signer));
	put_text(json, "service", e->service);
	put_text(json, "region", e->region);
	return json;
}

static struct json_object *
view_json(const struct identity *identity, uint64_t wall_ms)
{
	struct json_object *json = json_object_new_object();
	struct identity_view view;

	identity_view(identity, wall_ms, &view);
	(void)json_object_object_add(json, "credentials",
	    credentials_json(view.credentials));
	put_text(json, "region", view.params != NULL ? view.params->region :
	    NULL);
	put_text(json, "source", view.source);
	put_text(json, "about", view.about);
	put_text(json, "code", error_word(view.code));
	put_text(json, "text", view.text);
	(void)json_object_object_add(json, "stale",
	    json_object_new_boolean(view.stale));
	put_number(json, "failures", view.failures);
	put_number(json, "next", view.next_ms == UINT64_MAX ? 0 :
	    view.next_ms);
	put_number(json, "refreshed", view.refreshed_ms);
	return json;
}

static void
tell(struct driven *d, const struct identity_step *step, uint64_t wall_ms)
{
	struct json_object *json = json_object_new_object();

	d->busy = d->busy || step->errand != NULL;
	(void)json_object_object_add(json, "errand",
	    errand_json(step->errand));
	(void)json_object_object_add(json, "wake",
	    step->wake_ms == UINT64_MAX ? NULL :
	    json_object_new_int64((int64_t)step->wake_ms));
	(void)json_object_object_add(json, "changed",
	    json_object_new_boolean(step->changed));
	(void)json_object_object_add(json, "view",
	    view_json(d->identity, wall_ms));
	(void)puts(json_object_to_json_string_ext(json,
	    JSON_C_TO_STRING_PLAIN));
	(void)json_object_put(json);
}

/* ---- lines ---- */

/* What AWS does not accept are the ones in use. */
static void
reject(struct driven *d, const struct identity_now *now,
    struct identity_step *step)
{
	struct identity_view view;

	identity_view(d->identity, now->wall_ms, &view);
	if (view.credentials == NULL)
		die("there are none to reject");
	identity_rejected(d->identity, now, view.credentials, step);
}

static void
obey(struct json_object *line)
{
	struct identity_step step = { .wake_ms = UINT64_MAX };
	int64_t id = number_of(line, "id");
	const char *what = text_of(line, "do");
	struct identity_now now = {
		.boot_ms = (uint64_t)number_of(line, "boot"),
		.wall_ms = (uint64_t)number_of(line, "wall"),
		.random = (uint32_t)number_of(line, "random"),
	};
	struct driven *d;

	if (id < 0 || id >= IDENTITIES_MAX || what == NULL)
		die("no such identity, or nothing to do");
	d = &driven[id];
	if (strcmp(what, "new") == 0)
		make(d, line);
	else if (d->identity == NULL)
		die("there is no identity yet");
	else if (strcmp(what, "start") == 0)
		identity_start(d->identity, &now, &step);
	else if (strcmp(what, "wake") == 0)
		identity_wake(d->identity, &now, &step);
	else if (strcmp(what, "rejected") == 0)
		reject(d, &now, &step);
	else if (strcmp(what, "answer") != 0 || answer(d, line, &now,
	    &step) < 0)
		die("what should be done?");
	tell(d, &step, now.wall_ms);
}

int
main(void)
{
	char *line = NULL;
	size_t size = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	while (getline(&line, &size, stdin) > 0) {
		struct json_object *json = json_tokener_parse(line);

		if (!json_object_is_type(json, json_type_object))
			die("a line that is no JSON object");
		obey(json);
		(void)json_object_put(json);
	}
	free(line);
	for (size_t i = 0; i < IDENTITIES_MAX; i++) {
		identity_free(driven[i].identity);
		(void)json_object_put(driven[i].environment);
	}
	return EXIT_SUCCESS;
}
