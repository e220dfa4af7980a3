/*
 * credential_process: a program prints credentials as JSON. Neither its output
 * nor its errors are ever shown: there may be secrets in it.
 */
#include <json-c/json.h>
#include <stdio.h>

#include "common/error.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"

/* Some wait for a hardware key to be touched. */
#define SOURCE_PROCESS_TIMEOUT_MS 60000

static void
source_process_who(const struct source *s, char *who, size_t size)
{
	(void)snprintf(who, size, "the credential_process of profile %.128s",
	    s->from->profile != NULL ? s->from->profile : "default");
}

static enum source_verdict
source_process_start(struct source *s)
{
	s->errand = (struct errand){
		.kind = ERRAND_RUN,
		.timeout_ms = SOURCE_PROCESS_TIMEOUT_MS,
		.answer_max = ERRAND_ANSWER_MAX,
		.command = s->from->command,
	};
	return SOURCE_WAIT;
}

static enum source_verdict
source_process_failed(struct source *s, const char *who,
    const struct errand_answer *a)
{
	if (a->code == DDBLOCK_E_ACQUIRE_TIMEOUT)
		return source_fail(s, "%s took longer than %d s and was "
		    "stopped", who, SOURCE_PROCESS_TIMEOUT_MS / 1000);
	if (a->code == DDBLOCK_E_LIMIT)
		return source_fail(s, "%s printed more than %d bytes", who,
		    ERRAND_ANSWER_MAX);
	if (a->code != 0)
		return source_fail(s, "%s could not be run: %.256s", who,
		    a->text != NULL ? a->text : error_text(a->code));
	if (a->status > 128)
		return source_fail(s, "%s was ended by signal %d; run it by "
		    "hand to see why", who, a->status - 128);
	return source_fail(s, "%s ended with status %d; run it by hand to "
	    "see why", who, a->status);
}

static enum source_verdict
source_process_read(struct source *s, const char *who,
    struct json_object *json)
{
	static const struct source_fields fields = { "SessionToken", false };

	if (source_json_number(json, "Version") != 1)
		return source_fail(s, "%s printed JSON whose Version is not 1",
		    who);
	return source_keep_json(s, who, json, &fields);
}

static enum source_verdict
source_process_answer(struct source *s, const struct errand_answer *a)
{
	struct json_object *json;
	enum source_verdict verdict;
	char who[192];

	source_process_who(s, who, sizeof(who));
	if (a->code != 0 || a->status != 0)
		return source_process_failed(s, who, a);
	json = source_json_parse(a->body, a->body_length);
	if (json == NULL)
		return source_fail(s, "%s printed no JSON object",
		    who);
	verdict = source_process_read(s, who, json);
	source_json_done(json);
	return verdict;
}

const struct source_methods source_process = {
	.name = "process",
	.start = source_process_start,
	.answer = source_process_answer,
};
