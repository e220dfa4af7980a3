/*
 * The credentials of a container: ECS, EKS Pod Identity, and whatever else
 * offers them by HTTP. Where it may be asked was checked with the plan.
 */
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"

#define SOURCE_CONTAINER_TIMEOUT_MS 2000
#define SOURCE_CONTAINER_ATTEMPTS 3
#define SOURCE_CONTAINER_WHO "the container's endpoint of credentials"

enum source_container_step {
	SOURCE_CONTAINER_TOKEN = 0,
	SOURCE_CONTAINER_CREDENTIALS,
};

static enum source_verdict
source_container_ask(struct source *s)
{
	const struct chain_source *from = s->from;
	struct errand *e;

	s->step = SOURCE_CONTAINER_CREDENTIALS;
	buffer_clear(&s->url);
	(void)buffer_append_text(&s->url, from->url);
	e = source_fetch(s, "GET");
	e->plain_allowed = true;	/* chain.h has checked where to */
	e->timeout_ms = from->timeout_ms != 0 ? from->timeout_ms :
	    SOURCE_CONTAINER_TIMEOUT_MS;
	source_header(e, "Accept", "application/json");
	if (s->token.length > 0)
		source_header(e, "Authorization", s->token.data);
	if (strncmp(from->url, "https:", 6) == 0 &&
	    s->params->ca_file[0] != '\0')
		e->ca_file = s->params->ca_file;
	return source_go(s);
}

/* It becomes a header: it must not be able to end it. */
static enum source_verdict
source_container_authorize(struct source *s, const char *token,
    size_t length, const char *where)
{
	for (size_t i = 0; i < length; i++)
		if (token[i] < ' ' || token[i] > '~')
			return source_fail(s, "the authorization token of "
			    "%.256s has characters that cannot be in it",
			    where);
	buffer_clear(&s->token);
	(void)buffer_append(&s->token, token, length);
	return source_container_ask(s);
}

static enum source_verdict
source_container_start(struct source *s)
{
	const struct chain_source *from = s->from;

	s->step = SOURCE_CONTAINER_TOKEN;
	if (from->token_file != NULL) {
		source_read(s, from->token_file)->answer_max =
		    CREDENTIALS_TEXT_MAX;
		return SOURCE_WAIT;
	}
	if (from->token != NULL)
		return source_container_authorize(s, from->token,
		    strlen(from->token), "the environment");
	return source_container_ask(s);
}

static enum source_verdict
source_container_token(struct source *s, const struct errand_answer *a)
{
	const char *path = s->from->token_file;

	if (a->code != 0)
		return source_fail(s, "the authorization token file %.256s "
		    "could not be read: %.128s", path, a->text != NULL ?
		    a->text : error_text(a->code));
	if (a->body_length == 0)
		return source_fail(s, "the authorization token file %.256s "
		    "is empty", path);
	return source_container_authorize(s, a->body, a->body_length, path);
}

static enum source_verdict
source_container_refused(struct source *s, const struct errand_answer *a)
{
	char text[256];

	source_describe(s, a, text, sizeof(text));
	if (a->code == 0 && a->status >= 400 && a->status < 500 &&
	    a->status != 408 && a->status != 429)
		return source_refuse(s, SOURCE_CONTAINER_WHO " refused: %s",
		    text);
	return source_fail(s, a->code != 0 ?
	    SOURCE_CONTAINER_WHO " did not answer: %s" :
	    SOURCE_CONTAINER_WHO " answered: %s", text);
}

static enum source_verdict
source_container_answer(struct source *s, const struct errand_answer *a)
{
	static const struct source_fields fields = { "Token", true };
	struct json_object *json;
	enum source_verdict verdict;

	if (s->step == SOURCE_CONTAINER_TOKEN)
		return source_container_token(s, a);
	if (source_repeats(s, a, s->from->attempts_max != 0 ?
	    s->from->attempts_max : SOURCE_CONTAINER_ATTEMPTS))
		return SOURCE_WAIT;
	if (a->code != 0 || a->status != 200)
		return source_container_refused(s, a);
	json = source_json_parse(a->body, a->body_length);
	if (json == NULL)
		return source_fail(s, SOURCE_CONTAINER_WHO
		    " answered no JSON object");
	verdict = source_keep_json(s, SOURCE_CONTAINER_WHO, json, &fields);
	source_json_done(json);
	return verdict;
}

const struct source_methods source_container = {
	.name = "container",
	.start = source_container_start,
	.answer = source_container_answer,
};
