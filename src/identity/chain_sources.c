/*
 * Settings of a profile besides keys and roles: a web identity, SSO, a program
 * that prints credentials.
 */
#include <string.h>

#include "common/error.h"
#include "identity/chain_internal.h"

static bool
sources_given(const char *value)
{
	return value != NULL && value[0] != '\0';
}

/* ---- web identity ---- */

/* The environment beats the profile, each setting for itself; an empty setting
 * there hides the profile's, too. */
static const char *
web_get(const struct chain_search *s, const char *profile,
    const char *variable, const char *key, bool *ret_environment)
{
	const char *value = s->environment ?
	    chain_variable(s->inputs, variable) : NULL;

	*ret_environment = value != NULL;
	return value != NULL ? value : chain_get(s, profile, key);
}

int
chain_web_identity(struct chain_search *s, const char *profile)
{
	struct chain_source *source = &s->chain->source;
	bool environment, ignored;
	const char *file = web_get(s, profile, "AWS_WEB_IDENTITY_TOKEN_FILE",
	    "web_identity_token_file", &environment);
	const char *arn = web_get(s, profile, "AWS_ROLE_ARN", "role_arn",
	    &ignored);
	const char *name = web_get(s, profile, "AWS_ROLE_SESSION_NAME",
	    "role_session_name", &ignored);
	int r;

	if (!sources_given(file))
		return CHAIN_ABSENT;
	if (!sources_given(arn))
		return chain_fail(s, "there is a web identity, but no role for "
		    "it: set AWS_ROLE_ARN, or role_arn in the profile "
		    "\"%.64s\"", profile);
	source->kind = CHAIN_WEB_IDENTITY;
	if ((r = chain_keep(s, &source->token_file, file)) < 0 ||
	    (r = chain_keep(s, &source->role.role_arn, arn)) < 0 ||
	    (r = chain_keep(s, &source->role.session_name, name)) < 0)
		return r;
	if (!environment &&
	    ((r = chain_keep(s, &source->profile, profile)) < 0 ||
	    (r = chain_keep(s, &source->role.profile, profile)) < 0))
		return r;
	return CHAIN_FOUND;
}

/* ---- SSO ---- */

#define SSO_OF_SESSION 2	/* settings that a session has itself */

/* The profile's value, which must agree with the session's if both are there;
 * NULL: in neither. */
static const char *
sso_get(struct chain_search *s, const char *profile, const char *session,
    const char *key, bool *ret_agree)
{
	const char *of_profile = chain_get(s, profile, key);
	const char *of_session = session == NULL ? NULL :
	    profiles_get(s->inputs->profiles, PROFILE_SECTION_SSO_SESSION,
	    session, key);

	if (of_profile != NULL && of_session != NULL &&
	    strcmp(of_profile, of_session) != 0)
		*ret_agree = false;
	return of_session != NULL ? of_session : of_profile;
}

int
chain_sso(struct chain_search *s, const char *profile)
{
	static const char *const keys[] = {
		"sso_start_url", "sso_region", "sso_role_name",
		"sso_account_id",
	};
	struct chain_source *source = &s->chain->source;
	char **const to[] = {
		&source->sso_start_url, &source->sso_region,
		&source->sso_role_name, &source->account_id,
	};
	const char *session = chain_get(s, profile, "sso_session");
	int r;

	if (chain_get(s, profile, "sso_role_name") == NULL &&
	    chain_get(s, profile, "sso_account_id") == NULL)
		return CHAIN_ABSENT;
	if (session != NULL && !profiles_has(s->inputs->profiles,
	    PROFILE_SECTION_SSO_SESSION, session))
		return chain_fail(s, "profile \"%.64s\": there is no section "
		    "[sso-session %.64s] in the config file", profile,
		    session);
	for (size_t i = 0; i < 4; i++) {
		bool agree = true;
		const char *value = sso_get(s, profile, session, keys[i],
		    &agree);

		if (!agree)
			return chain_fail(s, "profile \"%.64s\": %s is another "
			    "than in [sso-session %.64s]", profile, keys[i],
			    session);
		/* A session's token is got from where the session says. */
		if (i < SSO_OF_SESSION && session != NULL)
			value = profiles_get(s->inputs->profiles,
			    PROFILE_SECTION_SSO_SESSION, session, keys[i]);
		if (!sources_given(value))
			return chain_fail(s, "profile \"%.64s\" is for SSO, "
			    "but %s is missing (aws configure sso writes such "
			    "profiles)", profile, keys[i]);
		if ((r = chain_keep(s, to[i], value)) < 0)
			return r;
	}
	source->kind = CHAIN_SSO;
	if ((r = chain_keep(s, &source->sso_session, session)) < 0 ||
	    (r = chain_keep(s, &source->profile, profile)) < 0)
		return r;
	return CHAIN_FOUND;
}

/* ---- programs ---- */

int
chain_login(struct chain_search *s, const char *profile)
{
	if (chain_get(s, profile, "login_session") == NULL)
		return CHAIN_ABSENT;
	return chain_fail(s, "profile \"%.64s\" has a login_session (aws "
	    "login), which is not supported: let the AWS CLI get the "
	    "credentials, with another profile that says \"credential_process "
	    "= aws configure export-credentials --profile %.64s --format "
	    "process\"", profile, profile);
}

int
chain_process(struct chain_search *s, const char *profile)
{
	struct chain_source *source = &s->chain->source;
	const char *command = chain_get(s, profile, "credential_process");
	int r;

	if (command == NULL)
		return CHAIN_ABSENT;
	if (command[0] == '\0')
		return chain_fail(s, "profile \"%.64s\": credential_process is "
		    "empty", profile);
	source->kind = CHAIN_PROCESS;
	if ((r = chain_keep(s, &source->command, command)) < 0 ||
	    (r = chain_keep(s, &source->profile, profile)) < 0 ||
	    (r = chain_keep(s, &source->account_id, chain_get(s, profile,
	    "aws_account_id"))) < 0)
		return r;
	return CHAIN_FOUND;
}
