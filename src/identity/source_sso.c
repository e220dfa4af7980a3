/*
 * IAM Identity Center ("SSO"): the token that `aws sso login` left in a file
 * buys the credentials of a role. A token of a session is renewed before it
 * expires, and the file is written again, as the AWS CLI does it, so that both
 * go on from the newest; if the file cannot be written, the token is
 * remembered.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"
#include "identity/source_sso_token.h"

/* As in botocore. */
#define SOURCE_SSO_EARLY_MS (15 * 60 * UINT64_C(1000))

enum source_sso_step {
	SOURCE_SSO_STEP_FILE = 0,
	SOURCE_SSO_STEP_RENEW,
	SOURCE_SSO_STEP_WRITE,
	SOURCE_SSO_STEP_CREDENTIALS,
};

static enum source_verdict
source_sso_login(struct source *s, const char *why)
{
	const char *profile = s->from->profile != NULL ? s->from->profile :
	    "default";

	return source_refuse(s, "%.256s: log in with `aws sso login "
	    "--profile %.128s`", why, profile);
}

/* ---- the token's file ---- */

static enum source_verdict
source_sso_start(struct source *s)
{
	const struct chain_source *from = s->from;
	char name[SOURCE_SSO_NAME_SIZE];

	if (s->home == NULL)
		return source_fail(s, "there is no home directory, where the "
		    "AWS CLI keeps the tokens of SSO");
	if (!source_sso_name(from->sso_session != NULL ? from->sso_session :
	    from->sso_start_url, name))
		return source_fail_code(s, DDBLOCK_E_SYSTEM);
	/* The remembered token is of this session only. */
	if (strcmp(s->memory->sso_name, name) != 0)
		buffer_done(&s->memory->sso_token);
	(void)snprintf(s->memory->sso_name, sizeof(s->memory->sso_name),
	    "%s", name);
	buffer_clear(&s->spare);
	(void)buffer_printf(&s->spare, "%s/.aws/sso/cache/%s.json", s->home,
	    name);
	s->step = SOURCE_SSO_STEP_FILE;
	(void)source_read(s, s->spare.data);
	return source_go(s);
}

static enum source_verdict
source_sso_ask(struct source *s, const struct source_sso_token *t)
{
	char url[ENDPOINT_PARAMS_URL_MAX], text[256];
	struct endpoint_params params = *s->params;
	struct errand *e;

	(void)snprintf(params.region, sizeof(params.region), "%s",
	    s->from->sso_region);
	if (endpoint_rules_url(&params, "sso", NULL, url, sizeof(url), text,
	    sizeof(text)) < 0)
		return source_fail(s, "there is no endpoint of SSO: %s",
		    text);
	buffer_done(&s->token);
	(void)buffer_append_text(&s->token, t->access);
	buffer_clear(&s->url);
	(void)buffer_append_text(&s->url, url);
	while (s->url.length > 0 && s->url.data[s->url.length - 1] == '/')
		s->url.data[--s->url.length] = '\0';
	(void)buffer_append_text(&s->url, "/federation/credentials"
	    "?role_name=");
	source_encode(&s->url, s->from->sso_role_name);
	(void)buffer_append_text(&s->url, "&account_id=");
	source_encode(&s->url, s->from->account_id);
	s->step = SOURCE_SSO_STEP_CREDENTIALS;
	e = source_fetch(s, "GET");
	source_header(e, "Accept", "application/json");
	source_header(e, "x-amz-sso_bearer_token", s->token.data);
	if (s->params->ca_file[0] != '\0')
		e->ca_file = s->params->ca_file;
	return source_go(s);
}

static enum source_verdict
source_sso_renew(struct source *s, const struct source_sso_token *t)
{
	char url[ENDPOINT_PARAMS_URL_MAX], text[256];
	struct endpoint_params params = *s->params;
	struct errand *e;

	(void)snprintf(params.region, sizeof(params.region), "%s",
	    s->from->sso_region);
	if (endpoint_rules_url(&params, "oidc", NULL, url, sizeof(url), text,
	    sizeof(text)) < 0)
		return source_fail(s, "there is no endpoint of SSO's OIDC: "
		    "%s", text);
	buffer_clear(&s->url);
	(void)buffer_append_text(&s->url, url);
	while (s->url.length > 0 && s->url.data[s->url.length - 1] == '/')
		s->url.data[--s->url.length] = '\0';
	(void)buffer_append_text(&s->url, "/token");
	if (source_sso_request(t, &s->body) < 0)
		return source_fail_code(s, DDBLOCK_E_NOMEM);
	s->step = SOURCE_SSO_STEP_RENEW;
	e = source_fetch(s, "POST");
	source_header(e, "Content-Type", "application/json");
	e->body = s->body.data;
	e->body_length = s->body.length;
	if (s->params->ca_file[0] != '\0')
		e->ca_file = s->params->ca_file;
	return source_go(s);
}

/* What there is by now: the file's and the remembered one's newer. */
static enum source_verdict
source_sso_consider(struct source *s)
{
	struct source_memory *m = s->memory;
	struct source_sso_token token;
	enum source_verdict verdict;

	if (!source_sso_read(m->sso_token.data, m->sso_token.length, &token))
		return source_sso_login(s, "the cached token of SSO cannot "
		    "be read");
	if (s->from->sso_session != NULL && !s->renewed &&
	    token.expires_ms < s->wall_ms + SOURCE_SSO_EARLY_MS &&
	    source_sso_renewable(&token, s->wall_ms))
		verdict = source_sso_renew(s, &token);
	else if (token.expires_ms <= s->wall_ms)
		verdict = source_sso_login(s, "the token of SSO has expired");
	else
		verdict = source_sso_ask(s, &token);
	source_sso_token_done(&token);
	return verdict;
}

static enum source_verdict
source_sso_file(struct source *s, const struct errand_answer *a)
{
	struct source_memory *m = s->memory;

	if (a->code == 0 && source_sso_newer(a->body, a->body_length,
	    m->sso_token.data, m->sso_token.length)) {
		buffer_done(&m->sso_token);
		if (buffer_append(&m->sso_token, a->body,
		    a->body_length) < 0)
			return source_fail_code(s,
			    buffer_failed(&m->sso_token));
	}
	if (m->sso_token.length > 0)
		return source_sso_consider(s);
	if (a->code == 0)
		return source_sso_login(s, "the cached token of SSO cannot "
		    "be read");
	return source_sso_login(s, "there is no cached token of SSO");
}

/* ---- a newer token ---- */

static enum source_verdict
source_sso_renewed(struct source *s, const struct errand_answer *a)
{
	struct source_memory *m = s->memory;
	int r;

	if (source_repeats(s, a, SOURCE_SERVICE_ATTEMPTS))
		return SOURCE_WAIT;
	s->renewed = true;
	/* Without: the old one may be good for a while. */
	if (a->code != 0 || a->status != 200)
		return source_sso_consider(s);
	buffer_done(&s->body);
	r = source_sso_merge(m->sso_token.data, m->sso_token.length, a->body,
	    a->body_length, s->wall_ms, &s->body);
	if (r == DDBLOCK_E_BAD_REQUEST)
		return source_sso_consider(s);
	if (r < 0)
		return source_fail_code(s, r);
	/* Renewing may have made the older token void: remember first. */
	buffer_done(&m->sso_token);
	if (buffer_append(&m->sso_token, s->body.data, s->body.length) < 0)
		return source_fail_code(s, buffer_failed(&m->sso_token));
	s->step = SOURCE_SSO_STEP_WRITE;
	s->errand = (struct errand){
		.kind = ERRAND_WRITE,
		.timeout_ms = SOURCE_FILE_TIMEOUT_MS,
		.path = s->spare.data,
		.body = s->body.data,
		.body_length = s->body.length,
	};
	return source_go(s);
}

/* ---- credentials ---- */

static enum source_verdict
source_sso_take(struct source *s, struct json_object *json)
{
	struct json_object *role = source_json_member(json,
	    "roleCredentials");
	struct source_sso_credentials c;

	if (role == NULL || !source_sso_credentials(role, &c))
		return source_fail(s, "SSO gave credentials without all of "
		    "their fields");
	return source_keep(s, "SSO", &(struct credentials){
		.access_key_id = c.access_key_id,
		.secret_access_key = c.secret_access_key,
		.session_token = c.session_token,
		.account_id = s->from->account_id,
		.expires_ms = c.expires_ms,
	});
}

static enum source_verdict
source_sso_credentials_came(struct source *s, const struct errand_answer *a)
{
	struct json_object *json;
	enum source_verdict verdict;
	char text[256];

	if (source_repeats(s, a, SOURCE_SERVICE_ATTEMPTS))
		return SOURCE_WAIT;
	source_describe(s, a, text, sizeof(text));
	if (a->code == 0 && a->status == 401) {
		/* Revoked: what we remember is no better than the file's. */
		buffer_done(&s->memory->sso_token);
		return source_sso_login(s, "SSO does not accept the token");
	}
	if (a->code == 0 && a->status >= 400 && a->status < 500 &&
	    a->status != 429 && a->status != 408)
		return source_refuse(s, "SSO refused the role %.64s: %s",
		    s->from->sso_role_name, text);
	if (a->code != 0 || a->status != 200)
		return source_fail(s, a->code != 0 ?
		    "SSO did not answer: %s" : "SSO answered: %s", text);
	json = source_json_parse(a->body, a->body_length);
	if (json == NULL)
		return source_fail(s, "SSO answered no JSON object");
	verdict = source_sso_take(s, json);
	source_json_done(json);
	return verdict;
}

static enum source_verdict
source_sso_answer(struct source *s, const struct errand_answer *a)
{
	switch ((enum source_sso_step)s->step) {
	case SOURCE_SSO_STEP_FILE:
		return source_sso_file(s, a);
	case SOURCE_SSO_STEP_RENEW:
		return source_sso_renewed(s, a);
	case SOURCE_SSO_STEP_WRITE:
		/* Whether it could be written or not. */
		return source_sso_consider(s);
	case SOURCE_SSO_STEP_CREDENTIALS:
		return source_sso_credentials_came(s, a);
	}
	return source_fail_code(s, DDBLOCK_E_INTERNAL);
}

const struct source_methods source_sso = {
	.name = "sso",
	.start = source_sso_start,
	.answer = source_sso_answer,
};
