/*
 * Where credentials come from: the order of the sources, which is botocore's,
 * and their common parts. A file each for the rest: chain_*.c.
 */
#include "identity/chain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "identity/chain_internal.h"

/* ---- what the parts share ---- */

int
chain_fail(struct chain_search *s, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(s->text, s->text_size, format, list);
	va_end(list);
	return DDBLOCK_E_NO_CREDENTIALS;
}

static int
chain_no_memory(struct chain_search *s)
{
	(void)snprintf(s->text, s->text_size, "%s",
	    error_text(DDBLOCK_E_NOMEM));
	return DDBLOCK_E_NOMEM;
}

int
chain_keep(struct chain_search *s, char **to, const char *from)
{
	*to = NULL;
	if (from == NULL || from[0] == '\0')
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : chain_no_memory(s);
}

const char *
chain_variable(const struct chain_inputs *p, const char *name)
{
	return p->variable == NULL ? NULL : p->variable(p->variable_arg, name);
}

const char *
chain_get(const struct chain_search *s, const char *profile, const char *key)
{
	return profiles_get(s->inputs->profiles, PROFILE_SECTION_PROFILE,
	    profile, key);
}

/* NULL: nobody named one. */
static const char *
chain_named_profile(const struct chain_inputs *p)
{
	/* In botocore's order, though the other SDKs know the second only. */
	static const char *const variables[] = {
		"AWS_DEFAULT_PROFILE", "AWS_PROFILE",
	};

	if (p->profile != NULL && p->profile[0] != '\0')
		return p->profile;
	for (size_t i = 0; i < 2; i++) {
		const char *name = chain_variable(p, variables[i]);

		if (name != NULL && name[0] != '\0')
			return name;
	}
	return NULL;
}

const char *
chain_profile(const struct chain_inputs *p)
{
	const char *name = chain_named_profile(p);

	return name != NULL ? name : "default";
}

bool
chain_profile_exists(const struct chain_inputs *p)
{
	const char *name = chain_named_profile(p);

	return name == NULL ||
	    profiles_has(p->profiles, PROFILE_SECTION_PROFILE, name);
}

const char *
chain_setting(const struct chain_inputs *p, const char *variable,
    const char *key, const char **ret_name)
{
	const char *value = chain_variable(p, variable);

	if (ret_name != NULL)
		*ret_name = value != NULL ? variable : key;
	return value != NULL ? value : profiles_get(p->profiles,
	    PROFILE_SECTION_PROFILE, chain_profile(p), key);
}

bool
chain_is_true(const char *text)
{
	return text != NULL && strcasecmp(text, "true") == 0;
}

/* ---- the order ---- */

int
chain_profile_sources(struct chain_search *s, const char *profile)
{
	int r = chain_web_identity(s, profile);

	if (r == CHAIN_ABSENT)
		r = chain_sso(s, profile);
	if (r == CHAIN_ABSENT)
		r = chain_file_keys(s, PROFILE_CREDENTIALS, profile);
	if (r == CHAIN_ABSENT)
		r = chain_login(s, profile);
	if (r == CHAIN_ABSENT)
		r = chain_process(s, profile);
	if (r == CHAIN_ABSENT)
		r = chain_file_keys(s, PROFILE_CONFIG, profile);
	return r;
}

static int
chain_settings(struct chain_search *s)
{
	if (s->inputs->settings == NULL ||
	    !credentials_exist(s->inputs->settings))
		return CHAIN_ABSENT;
	s->chain->source.kind = CHAIN_SETTINGS;
	if (credentials_copy(&s->chain->source.keys, s->inputs->settings) < 0)
		return chain_no_memory(s);
	return CHAIN_FOUND;
}

static int
chain_search(struct chain_search *s)
{
	const char *profile = chain_profile(s->inputs);
	struct chain_source instance = { .kind = CHAIN_IMDS };
	int r = CHAIN_ABSENT, r_instance;

	/* A wrong name must not lead to another identity. */
	if (!chain_profile_exists(s->inputs))
		return chain_fail(s, "there is no profile \"%.100s\" in the "
		    "shared config and credentials files", profile);
	/* An error there is reported even if the part is not needed, as in
	 * botocore: it will be needed when the rest is gone. */
	r_instance = chain_instance(s, &instance);
	if (r_instance < 0)
		return r_instance;

	if (s->environment)
		r = chain_environment_keys(s);
	if (r == CHAIN_ABSENT)
		r = chain_roles(s, profile);
	if (r == CHAIN_ABSENT)
		r = chain_profile_sources(s, profile);
	if (r == CHAIN_ABSENT)
		r = chain_container(s);
	if (r == CHAIN_ABSENT && r_instance == CHAIN_FOUND) {
		s->chain->source = instance;
		return CHAIN_FOUND;
	}
	chain_source_done(&instance);
	if (r == CHAIN_ABSENT)
		return chain_fail(s, "no credentials are configured: not in "
		    "the configuration, the environment or the profile "
		    "\"%.100s\", and AWS_EC2_METADATA_DISABLED keeps the "
		    "instance's metadata from being asked", profile);
	return r;
}

int
chain_resolve(const struct chain_inputs *inputs, struct chain *ret, char *text,
    size_t text_size)
{
	struct chain made = { .n_roles = 0 };
	struct chain_search s = {
		.inputs = inputs, .chain = &made, .text = text,
		.text_size = text_size,
		.environment = inputs->profile == NULL ||
		    inputs->profile[0] == '\0',
	};
	int r = chain_settings(&s);

	if (r == CHAIN_ABSENT)
		r = chain_search(&s);
	if (r < 0) {
		chain_done(&made);
		return r;
	}
	*ret = made;
	return 0;
}

/* ---- for people ---- */

static void
chain_describe_source(const struct chain_source *s, char *text, size_t size)
{
	static const char *const names[] = {
		[CHAIN_SETTINGS] = "keys of the configuration",
		[CHAIN_ENVIRONMENT] = "keys of the environment",
		[CHAIN_PROFILE] = "keys",
		[CHAIN_PROCESS] = "credential_process",
		[CHAIN_WEB_IDENTITY] = "web identity",
		[CHAIN_SSO] = "SSO",
		[CHAIN_CONTAINER] = "the container's endpoint",
		[CHAIN_IMDS] = "the instance's metadata",
	};
	const char *role = s->kind == CHAIN_WEB_IDENTITY ? s->role.role_arn :
	    s->sso_role_name;

	(void)snprintf(text, size, "%s%s%.200s%s%.64s",
	    names[s->kind], role != NULL ? ", role " : "",
	    role != NULL ? role : "",
	    s->profile != NULL ? " of profile " : "",
	    s->profile != NULL ? s->profile : "");
}

void
chain_describe(const struct chain *c, char *text, size_t text_size)
{
	char source[400];
	size_t length = 0;

	chain_describe_source(&c->source, source, sizeof(source));
	if (text_size > 0)
		text[0] = '\0';
	for (size_t i = c->n_roles; i > 0 && length < text_size; i--) {
		(void)snprintf(text + length, text_size - length,
		    "%s%s%srole %.200s by ",
		    i == c->n_roles ? "profile " : "",
		    i == c->n_roles ? c->roles[i - 1].profile : "",
		    i == c->n_roles ? ": " : "", c->roles[i - 1].role_arn);
		length += strlen(text + length);
	}
	if (length < text_size)
		(void)snprintf(text + length, text_size - length, "%s",
		    source);
}

/* ---- the end ---- */

static void
chain_free_secret(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void
chain_role_done(struct chain_role *r)
{
	free(r->profile);
	free(r->role_arn);
	chain_free_secret(r->external_id);
	free(r->session_name);
}

void
chain_source_done(struct chain_source *s)
{
	credentials_done(&s->keys);
	chain_role_done(&s->role);
	chain_free_secret(s->command);
	chain_free_secret(s->token);
	free(s->profile);
	free(s->account_id);
	free(s->token_file);
	free(s->sso_session);
	free(s->sso_start_url);
	free(s->sso_region);
	free(s->sso_role_name);
	free(s->url);
	*s = (struct chain_source){ .profile = NULL };
}

void
chain_done(struct chain *c)
{
	chain_source_done(&c->source);
	for (size_t i = 0; i < c->n_roles; i++)
		chain_role_done(&c->roles[i]);
	*c = (struct chain){ .n_roles = 0 };
}
