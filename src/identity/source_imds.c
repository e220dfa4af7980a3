/*
 * The metadata service of the instance (IMDSv2): a session token by PUT, then
 * the name of the role, then its credentials; or the instance's region.
 *
 * The token is good for hours and is used for whatever is asked; when the
 * service does not know it any more (401), there is a new one. The first
 * version of the service, without a token, is asked only where the
 * configuration allows it: any program that fetches URLs for others can be made
 * to ask that.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"

#define SOURCE_IMDS_TTL "21600"		/* seconds; the longest there is */
#define SOURCE_IMDS_TTL_MS (21600 * UINT64_C(1000))
#define SOURCE_IMDS_EARLY_MS (120 * UINT64_C(1000)) /* is renewed before */
#define SOURCE_IMDS_TIMEOUT_MS 1000
#define SOURCE_IMDS_ATTEMPTS 3
#define SOURCE_IMDS_NAME_MAX 128
#define SOURCE_IMDS_ROLE "latest/meta-data/iam/security-credentials/"
#define SOURCE_IMDS_REGION "latest/meta-data/placement/region"
#define SOURCE_IMDS_WHO "the instance's metadata service"

enum source_imds_step {
	SOURCE_IMDS_STEP_TOKEN = 0,
	SOURCE_IMDS_STEP_ROLE,
	SOURCE_IMDS_STEP_CREDENTIALS,
	SOURCE_IMDS_STEP_REGION,
};

/* ---- asking ---- */

static struct errand *
source_imds_wish(struct source *s, const char *method, const char *path,
    const char *rest)
{
	const char *host = s->from->url;
	size_t length = strlen(host);
	struct errand *e;

	while (length > 0 && host[length - 1] == '/')
		length--;
	buffer_clear(&s->url);
	(void)buffer_append(&s->url, host, length);
	(void)buffer_printf(&s->url, "/%s%s", path, rest);
	e = source_fetch(s, method);
	e->plain_allowed = true;	/* the service has no other */
	e->timeout_ms = s->from->timeout_ms != 0 ? s->from->timeout_ms :
	    SOURCE_IMDS_TIMEOUT_MS;
	return e;
}

static enum source_verdict
source_imds_get(struct source *s, enum source_imds_step step,
    const char *path, const char *rest)
{
	struct errand *e = source_imds_wish(s, "GET", path, rest);

	s->step = step;
	if (s->memory->metadata_token.length > 0)
		source_header(e, "X-aws-ec2-metadata-token",
		    s->memory->metadata_token.data);
	return source_go(s);
}

/* With a token, or without because there may be none. */
static enum source_verdict
source_imds_first(struct source *s)
{
	if (s->methods == &source_imds_region)
		return source_imds_get(s, SOURCE_IMDS_STEP_REGION,
		    SOURCE_IMDS_REGION, "");
	return source_imds_get(s, SOURCE_IMDS_STEP_ROLE, SOURCE_IMDS_ROLE,
	    "");
}

static enum source_verdict
source_imds_ask_token(struct source *s)
{
	struct errand *e = source_imds_wish(s, "PUT", "latest/api/token", "");

	s->step = SOURCE_IMDS_STEP_TOKEN;
	buffer_done(&s->memory->metadata_token);
	source_header(e, "X-aws-ec2-metadata-token-ttl-seconds",
	    SOURCE_IMDS_TTL);
	return source_go(s);
}

static enum source_verdict
source_imds_start(struct source *s)
{
	const struct source_memory *m = s->memory;
	uint64_t now_ms = s->wall_ms;

	/* Setting the clock does not change the token: if it is no good any
	 * more, the service says so. */
	if (m->metadata_token.length > 0 &&
	    now_ms + SOURCE_IMDS_EARLY_MS < m->metadata_until_ms)
		return source_imds_first(s);
	return source_imds_ask_token(s);
}

/* ---- answers ---- */

static bool
source_imds_printable(const struct errand_answer *a)
{
	for (size_t i = 0; i < a->body_length; i++)
		if (a->body[i] <= ' ' || a->body[i] > '~')
			return false;
	return a->body_length > 0;
}

static enum source_verdict
source_imds_bad(struct source *s, const struct errand_answer *a,
    const char *what)
{
	char text[256];

	source_describe(s, a, text, sizeof(text));
	if (a->code != 0)
		return source_fail(s, SOURCE_IMDS_WHO " did not answer when "
		    "asked for %s: %s", what, text);
	return source_fail(s, SOURCE_IMDS_WHO " gave no %s: %s", what, text);
}

static enum source_verdict
source_imds_no_token(struct source *s, const struct errand_answer *a)
{
	/*
	 * There is no service; or the answer is not let through to a container,
	 * which is a hop further than the service allows by itself.
	 */
	if (a->code != 0 && !s->from->v1_allowed) {
		(void)snprintf(s->text, sizeof(s->text), SOURCE_IMDS_WHO
		    " did not answer; in a container on an instance its hop "
		    "limit must be 2");
		return SOURCE_ABSENT;
	}
	if (s->from->v1_allowed && (a->code != 0 || a->status == 403 ||
	    a->status == 404 || a->status == 405))
		return source_imds_first(s);
	if (a->status == 404 || a->status == 405)
		return source_refuse(s, SOURCE_IMDS_WHO " knows no session "
		    "tokens (IMDSv2), and the first version is asked only if "
		    "ec2_metadata_v1_disabled = false says so");
	if (a->status == 403)
		return source_refuse(s, SOURCE_IMDS_WHO " is switched off "
		    "for this instance (status 403)");
	return source_imds_bad(s, a, "token");
}

static enum source_verdict
source_imds_token(struct source *s, const struct errand_answer *a)
{
	struct source_memory *m = s->memory;

	if (a->code != 0 || a->status != 200)
		return source_imds_no_token(s, a);
	if (!source_imds_printable(a) ||
	    a->body_length > CREDENTIALS_TEXT_MAX)
		return source_fail(s, SOURCE_IMDS_WHO " gave a token that "
		    "cannot be one");
	buffer_clear(&m->metadata_token);
	if (buffer_append(&m->metadata_token, a->body, a->body_length) < 0)
		return source_fail_code(s, buffer_failed(&m->metadata_token));
	m->metadata_until_ms = s->wall_ms + SOURCE_IMDS_TTL_MS;
	return source_imds_first(s);
}

/* The first line; roles have names of these characters. */
static enum source_verdict
source_imds_role(struct source *s, const struct errand_answer *a)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+=,.@_-";
	size_t length = strspn(a->body, allowed);
	char name[SOURCE_IMDS_NAME_MAX + 1];

	if (a->code == 0 && a->status == 404)
		return source_refuse(s, "the instance has no role: attach an "
		    "instance profile to it, or configure other credentials");
	if (a->code != 0 || a->status != 200)
		return source_imds_bad(s, a, "role");
	if (length == 0 || length > SOURCE_IMDS_NAME_MAX ||
	    (a->body[length] != '\0' && a->body[length] != '\n' &&
	    a->body[length] != '\r'))
		return source_fail(s, SOURCE_IMDS_WHO " gave a name of a "
		    "role that cannot be one");
	memcpy(name, a->body, length);
	name[length] = '\0';
	return source_imds_get(s, SOURCE_IMDS_STEP_CREDENTIALS,
	    SOURCE_IMDS_ROLE, name);
}

static enum source_verdict
source_imds_read(struct source *s, struct json_object *json)
{
	static const struct source_fields fields = { "Token", true };
	const char *code = source_json_text(json, "Code");
	const char *message = source_json_text(json, "Message");
	char clean[2][160];

	if (code == NULL || strcmp(code, "Success") == 0)
		return source_keep_json(s, SOURCE_IMDS_WHO, json, &fields);
	source_quote(s, code, clean[0], sizeof(clean[0]));
	source_quote(s, message != NULL ? message : "no reason given",
	    clean[1], sizeof(clean[1]));
	return source_refuse(s, SOURCE_IMDS_WHO " has no credentials of the "
	    "role: %s: %s", clean[0], clean[1]);
}

static enum source_verdict
source_imds_credentials(struct source *s, const struct errand_answer *a)
{
	struct json_object *json;
	enum source_verdict verdict;

	if (a->code != 0 || a->status != 200)
		return source_imds_bad(s, a, "credentials");
	json = source_json_parse(a->body, a->body_length);
	if (json == NULL)
		return source_fail(s, SOURCE_IMDS_WHO " answered no JSON "
		    "object");
	verdict = source_imds_read(s, json);
	source_json_done(json);
	return verdict;
}

static enum source_verdict
source_imds_take_region(struct source *s, const struct errand_answer *a)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	if (a->code != 0 || a->status != 200)
		return source_imds_bad(s, a, "region");
	if (a->body_length == 0 || a->body_length > REGION_NAME_MAX ||
	    strspn(a->body, allowed) != a->body_length)
		return source_fail(s, SOURCE_IMDS_WHO " gave a region that "
		    "cannot be one");
	buffer_clear(&s->spare);
	if (buffer_append(&s->spare, a->body, a->body_length) < 0)
		return source_fail_code(s, buffer_failed(&s->spare));
	return SOURCE_DONE;
}

static enum source_verdict
source_imds_answer(struct source *s, const struct errand_answer *a)
{
	uint32_t attempts_max = s->from->attempts_max != 0 ?
	    s->from->attempts_max : SOURCE_IMDS_ATTEMPTS;

	if (source_repeats(s, a, attempts_max))
		return SOURCE_WAIT;
	if (s->step == SOURCE_IMDS_STEP_TOKEN)
		return source_imds_token(s, a);
	if (a->code == 0 && a->status == 401 && !s->renewed) {
		s->renewed = true;
		return source_imds_ask_token(s);
	}
	switch ((enum source_imds_step)s->step) {
	case SOURCE_IMDS_STEP_ROLE:
		return source_imds_role(s, a);
	case SOURCE_IMDS_STEP_CREDENTIALS:
		return source_imds_credentials(s, a);
	case SOURCE_IMDS_STEP_REGION:
		return source_imds_take_region(s, a);
	case SOURCE_IMDS_STEP_TOKEN:
		break;
	}
	return source_fail_code(s, DDBLOCK_E_INTERNAL);
}

const struct source_methods source_imds = {
	.name = "imds",
	.outlives = true,
	.start = source_imds_start,
	.answer = source_imds_answer,
};

const struct source_methods source_imds_region = {
	.name = "imds-region",
	.start = source_imds_start,
	.answer = source_imds_answer,
};
