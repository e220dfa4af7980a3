/*
 * Says where credentials come from and where requests go, for test_chain.py and
 * test_endpoints.py: one JSON object a line comes in, with the files, the
 * environment and our own settings; one goes out, with the plan and the
 * endpoints. What stands there as a secret is one of the tests'.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity/chain.h"
#include "identity/endpoint_rules.h"
#include "identity/profile.h"
#include "identity/profile_words.h"

#define TEXT_MAX 1024
#define WORDS_MAX 16

static struct json_object *
member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (o != NULL)
		(void)json_object_object_get_ex(o, key, &value);
	return value;
}

static const char *
text_of(struct json_object *o, const char *key)
{
	struct json_object *value = member(o, key);

	return value != NULL ? json_object_get_string(value) : NULL;
}

static void
put(struct json_object *o, const char *key, const char *value)
{
	if (value != NULL)
		json_object_object_add(o, key, json_object_new_string(value));
}

static void
put_number(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static const char *
variable(void *arg, const char *name)
{
	return text_of(arg, name);
}

/* ---- what goes out ---- */

static struct json_object *
role_object(const struct chain_role *role)
{
	struct json_object *o = json_object_new_object();

	put(o, "role_arn", role->role_arn);
	put(o, "external_id", role->external_id);
	put(o, "session_name", role->session_name);
	put_number(o, "duration_s", role->duration_s);
	return o;
}

static void
put_words(struct json_object *o, const char *command)
{
	char text[TEXT_MAX], *words[WORDS_MAX];
	struct json_object *list = json_object_new_array();
	int n;

	(void)snprintf(text, sizeof(text), "%s", command);
	n = profile_words(text, words, WORDS_MAX);
	for (int i = 0; i < n && i < WORDS_MAX; i++)
		json_object_array_add(list, json_object_new_string(words[i]));
	json_object_object_add(o, "words", list);
}

static void
put_chain(struct json_object *out, const struct chain *c)
{
	static const char *const kinds[] = {
		[CHAIN_SETTINGS] = "settings",
		[CHAIN_ENVIRONMENT] = "environment",
		[CHAIN_PROFILE] = "profile",
		[CHAIN_PROCESS] = "process",
		[CHAIN_WEB_IDENTITY] = "web_identity",
		[CHAIN_SSO] = "sso",
		[CHAIN_CONTAINER] = "container",
		[CHAIN_IMDS] = "imds",
	};
	const struct chain_source *s = &c->source;
	struct json_object *o = json_object_new_object();
	struct json_object *roles = json_object_new_array();

	put(o, "kind", kinds[s->kind]);
	put(o, "access_key_id", s->keys.access_key_id);
	put(o, "secret_access_key", s->keys.secret_access_key);
	put(o, "session_token", s->keys.session_token);
	put(o, "account_id", s->keys.account_id != NULL ?
	    s->keys.account_id : s->account_id);
	put_number(o, "expires_ms", s->keys.expires_ms);
	if (s->command != NULL)
		put_words(o, s->command);
	put(o, "token_file", s->token_file);
	json_object_object_add(o, "role", role_object(&s->role));
	put(o, "sso_session", s->sso_session);
	put(o, "sso_start_url", s->sso_start_url);
	put(o, "sso_region", s->sso_region);
	put(o, "sso_role_name", s->sso_role_name);
	put(o, "url", s->url);
	put(o, "token", s->token);
	json_object_object_add(o, "v1_allowed",
	    json_object_new_boolean(s->v1_allowed));
	put_number(o, "timeout_ms", s->timeout_ms);
	put_number(o, "attempts_max", s->attempts_max);
	for (size_t i = 0; i < c->n_roles; i++)
		json_object_array_add(roles, role_object(&c->roles[i]));
	json_object_object_add(out, "source", o);
	json_object_object_add(out, "roles", roles);
}

static void
put_urls(struct json_object *out, const struct endpoint_params *params,
    const char *account_id)
{
	static const char *const services[] = {
		"dynamodb", "sts", "sso", "oidc",
	};
	struct json_object *urls = json_object_new_object();
	struct json_object *signed_for = json_object_new_object();

	for (size_t i = 0; i < 4; i++) {
		char url[ENDPOINT_PARAMS_URL_MAX], text[TEXT_MAX] = "";

		if (endpoint_rules_url(params, services[i], account_id, url,
		    sizeof(url), text, sizeof(text)) == 0)
			put(urls, services[i], url);
		put(signed_for, services[i],
		    endpoint_rules_signing_region(params, services[i]));
	}
	json_object_object_add(out, "urls", urls);
	json_object_object_add(out, "signed_for", signed_for);
}

static void
put_params(struct json_object *out, const struct endpoint_params *params)
{
	put(out, "region", params->region);
	put(out, "ca_file", params->ca_file);
	json_object_object_add(out, "fips",
	    json_object_new_boolean(params->fips));
	json_object_object_add(out, "dual_stack",
	    json_object_new_boolean(params->dual_stack));
	put_number(out, "account_mode", params->account_mode);
}

/* ---- what comes in ---- */

/* False: it was refused, and @out says so. */
static bool
read_file(struct json_object *in, const char *key, enum profile_file file,
    struct profiles *p, struct json_object *out)
{
	struct json_object *value = member(in, key);
	char text[TEXT_MAX] = "";

	if (value == NULL)
		return true;
	if (profiles_read(p, file, key, json_object_get_string(value),
	    (size_t)json_object_get_string_len(value), text,
	    sizeof(text)) == 0)
		return true;
	put(out, "error", text);
	return false;
}

static void
answer(struct json_object *in, const struct chain_inputs *p,
    struct json_object *out)
{
	struct json_object *s = member(in, "settings");
	struct endpoint_settings settings = {
		.region = text_of(s, "region"),
		.endpoint = text_of(s, "endpoint"),
		.ca_file = text_of(s, "ca_file"),
		.fips = json_object_get_boolean(member(s, "fips")),
		.dual_stack = json_object_get_boolean(member(s, "dual_stack")),
	};
	char text[TEXT_MAX] = "";
	struct endpoint_params params;
	struct chain chain;

	if (chain_resolve(p, &chain, text, sizeof(text)) == 0) {
		put_chain(out, &chain);
		chain_done(&chain);
	} else {
		put(out, "error", text);
	}
	if (endpoint_params_resolve(&settings, p, &params, text, sizeof(text))
	    == 0) {
		put_params(out, &params);
		put_urls(out, &params, text_of(in, "account_id"));
	} else {
		put(out, "endpoint_error", text);
	}
}

static const char *
text_at(struct json_object *list, size_t i)
{
	struct json_object *value = json_object_array_get_idx(list, i);

	return value != NULL ? json_object_get_string(value) : NULL;
}

/* The values of [section's kind, name, key, group or null]. */
static void
answer_values(struct json_object *wanted, const struct profiles *p,
    struct json_object *out)
{
	struct json_object *values = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(wanted); i++) {
		struct json_object *q = json_object_array_get_idx(wanted, i);
		enum profile_section kind = (enum profile_section)
		    json_object_get_int(json_object_array_get_idx(q, 0));
		const char *group = text_at(q, 3);
		const char *value = group == NULL ?
		    profiles_get(p, kind, text_at(q, 1), text_at(q, 2)) :
		    profiles_get_nested(p, kind, text_at(q, 1), group,
		    text_at(q, 2));

		json_object_array_add(values, value == NULL ? NULL :
		    json_object_new_string(value));
	}
	json_object_object_add(out, "values", values);
}

static int
one(const char *line)
{
	struct json_object *in = json_tokener_parse(line);
	struct json_object *out = json_object_new_object();
	struct json_object *environment = member(in, "environment");
	struct chain_inputs p = {
		.variable = variable, .variable_arg = environment,
		.profile = text_of(member(in, "settings"), "profile"),
	};
	struct profiles *profiles = NULL;

	if (in == NULL || environment == NULL || profiles_new(&profiles) < 0)
		return -1;
	p.profiles = profiles;
	if (read_file(in, "config", PROFILE_CONFIG, profiles, out) &&
	    read_file(in, "credentials", PROFILE_CREDENTIALS, profiles, out)) {
		if (member(in, "values") != NULL)
			answer_values(member(in, "values"), profiles, out);
		else
			answer(in, &p, out);
	}
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
	profiles_free(profiles);
	json_object_put(in);
	json_object_put(out);
	return 0;
}

int
main(void)
{
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	while (status == 0 && getline(&line, &size, stdin) > 0)
		if (one(line) < 0) {
			fprintf(stderr, "aws_endpoints: what is this?\n");
			status = 2;
		}
	free(line);
	return status;
}
