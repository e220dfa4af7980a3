/*
 * Keys that simply stand there: in the environment, or in a file of profiles.
 */
#include <stdio.h>

#include "common/error.h"
#include "identity/chain_internal.h"
#include "identity/source_date.h"

/* What counts as not set if it is empty. */
static const char *
keys_variable(const struct chain_search *s, const char *name)
{
	const char *value = chain_variable(s->inputs, name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* @where is for messages, with its preposition. */
static int
keys_set(struct chain_search *s, const char *access_key_id, const char *secret,
    const char *token, const char *account_id, const char *where)
{
	struct credentials *keys = &s->chain->source.keys;
	char fault[128];
	int r = credentials_set(keys, access_key_id, secret, token, fault,
	    sizeof(fault));

	if (r == 0)
		r = credentials_set_account(keys, account_id);
	else if (r == DDBLOCK_E_NO_CREDENTIALS)
		return chain_fail(s, "%s: %s", where, fault);
	return r < 0 ? r : CHAIN_FOUND;
}

int
chain_environment_keys(struct chain_search *s)
{
	static const char where[] = "in the environment (AWS_ACCESS_KEY_ID is "
	    "set)";
	const char *id = keys_variable(s, "AWS_ACCESS_KEY_ID");
	const char *token = keys_variable(s, "AWS_SECURITY_TOKEN");
	const char *expires = keys_variable(s, "AWS_CREDENTIAL_EXPIRATION");
	uint64_t expires_ms = 0;
	int r;

	if (id == NULL)
		return CHAIN_ABSENT;
	if (token == NULL)
		token = keys_variable(s, "AWS_SESSION_TOKEN");
	s->chain->source.kind = CHAIN_ENVIRONMENT;
	if (expires != NULL && !source_date_read(expires, &expires_ms))
		return chain_fail(s, "%s: AWS_CREDENTIAL_EXPIRATION is no time "
		    "such as 2026-01-31T12:00:00Z", where);
	r = keys_set(s, id, keys_variable(s, "AWS_SECRET_ACCESS_KEY"), token,
	    keys_variable(s, "AWS_ACCOUNT_ID"), where);
	s->chain->source.keys.expires_ms = expires_ms;
	return r;
}

int
chain_file_keys(struct chain_search *s, enum profile_file file,
    const char *profile)
{
	static const char *const names[] = {
		"aws_access_key_id", "aws_secret_access_key",
		"aws_security_token", "aws_session_token", "aws_account_id",
	};
	const char *values[5];
	char where[128];
	int r;

	for (size_t i = 0; i < 5; i++)
		values[i] = profiles_get_from(s->inputs->profiles, file,
		    PROFILE_SECTION_PROFILE, profile, names[i]);
	if (values[0] == NULL)
		return CHAIN_ABSENT;
	r = chain_keep(s, &s->chain->source.profile, profile);
	if (r < 0)
		return r;
	s->chain->source.kind = CHAIN_PROFILE;
	(void)snprintf(where, sizeof(where), "profile \"%.64s\" in the %s "
	    "file", profile, file == PROFILE_CONFIG ? "config" :
	    "credentials");
	return keys_set(s, values[0], values[1],
	    values[2] != NULL ? values[2] : values[3], values[4], where);
}
