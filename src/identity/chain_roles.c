/*
 * Roles that profiles assume: from one source_profile to the next, down to one
 * that has credentials, or to a credential_source.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/chain_internal.h"

#define ROLES_DURATION_MIN_S 900	/* STS's */
#define ROLES_DURATION_MAX_S 43200

/* A profile with a web identity assumes its role with that. */
static bool
roles_assumes(const struct chain_search *s, const char *profile)
{
	return chain_get(s, profile, "role_arn") != NULL &&
	    chain_get(s, profile, "web_identity_token_file") == NULL;
}

static bool
roles_has_keys(const struct chain_search *s, const char *profile)
{
	return chain_get(s, profile, "aws_access_key_id") != NULL ||
	    chain_get(s, profile, "aws_secret_access_key") != NULL;
}

static int
roles_duration(struct chain_search *s, const char *profile,
    uint32_t *ret_duration_s)
{
	const char *text = chain_get(s, profile, "duration_seconds");
	unsigned long value;

	*ret_duration_s = 0;
	if (text == NULL)
		return 0;
	value = strlen(text) <= 5 && text[strspn(text, "0123456789")] == '\0' ?
	    strtoul(text, NULL, 10) : 0;
	if (value < ROLES_DURATION_MIN_S || value > ROLES_DURATION_MAX_S)
		return chain_fail(s, "profile \"%.64s\": duration_seconds is "
		    "not a number from %d to %d", profile,
		    ROLES_DURATION_MIN_S, ROLES_DURATION_MAX_S);
	*ret_duration_s = (uint32_t)value;
	return 0;
}

/* Add the role of @profile to the plan. */
static int
roles_add(struct chain_search *s, const char *profile)
{
	struct chain_role *role = &s->chain->roles[s->chain->n_roles];
	const char *arn = chain_get(s, profile, "role_arn");
	int r;

	if (s->chain->n_roles == CHAIN_ROLES_MAX)
		return chain_fail(s, "profile \"%.64s\": more than %d roles, "
		    "one by the other", profile, CHAIN_ROLES_MAX);
	if (arn[0] == '\0')
		return chain_fail(s, "profile \"%.64s\": role_arn is empty",
		    profile);
	if (chain_get(s, profile, "mfa_serial") != NULL)
		return chain_fail(s, "profile \"%.64s\" has an mfa_serial, and "
		    "a daemon cannot type a code: use a role that does not ask "
		    "for one, or SSO", profile);
	s->chain->n_roles++;
	if ((r = chain_keep(s, &role->profile, profile)) < 0 ||
	    (r = chain_keep(s, &role->role_arn, arn)) < 0 ||
	    (r = chain_keep(s, &role->external_id, chain_get(s, profile,
	    "external_id"))) < 0 ||
	    (r = chain_keep(s, &role->session_name, chain_get(s, profile,
	    "role_session_name"))) < 0)
		return r;
	return roles_duration(s, profile, &role->duration_s);
}

/* The names are those of the other SDKs, letter by letter. */
static int
roles_from_source(struct chain_search *s, const char *profile,
    const char *source)
{
	int r;

	if (strcmp(source, "Environment") == 0)
		r = chain_environment_keys(s);
	else if (strcmp(source, "EcsContainer") == 0)
		r = chain_container(s);
	else if (strcmp(source, "Ec2InstanceMetadata") == 0)
		r = chain_instance(s, &s->chain->source);
	else
		return chain_fail(s, "profile \"%.64s\": credential_source is "
		    "\"%.40s\"; there are Environment, EcsContainer and "
		    "Ec2InstanceMetadata", profile, source);
	if (r == CHAIN_ABSENT)
		return chain_fail(s, "profile \"%.64s\": credential_source is "
		    "%s, and there are no credentials", profile, source);
	return r;
}

/* Whether @name has been come by, in this plan. */
static bool
roles_visited(const struct chain_search *s, const char *name)
{
	for (size_t i = 0; i < s->chain->n_roles; i++)
		if (strcmp(s->chain->roles[i].profile, name) == 0)
			return true;
	return false;
}

static int
roles_check_profile(struct chain_search *s, const char *profile,
    const char *source)
{
	if (!profiles_has(s->inputs->profiles, PROFILE_SECTION_PROFILE, source))
		return chain_fail(s, "profile \"%.64s\": its source_profile "
		    "\"%.64s\" does not exist", profile, source);
	/* Itself is well if it has keys: it begins with them. */
	if (roles_visited(s, source) && (strcmp(source, profile) != 0 ||
	    !roles_has_keys(s, source)))
		return chain_fail(s, "profile \"%.64s\": its source_profile "
		    "\"%.64s\" leads back to it", profile, source);
	return 0;
}

/* The source of credentials that needs no further role. */
static int
roles_from_profile(struct chain_search *s, const char *source)
{
	bool environment = s->environment;
	int r;

	s->environment = false;
	r = chain_profile_sources(s, source);
	s->environment = environment;
	if (r == CHAIN_ABSENT)
		return chain_fail(s, "the source_profile \"%.64s\" has no "
		    "credentials", source);
	return r;
}

/* They were added from the last to the first. */
static void
roles_turn(struct chain *c)
{
	for (size_t i = 0; i < c->n_roles / 2; i++) {
		struct chain_role role = c->roles[i];

		c->roles[i] = c->roles[c->n_roles - 1 - i];
		c->roles[c->n_roles - 1 - i] = role;
	}
}

/* One step on the way; CHAIN_ABSENT: go on with @ret_next. */
static int
roles_step(struct chain_search *s, const char *profile, const char **ret_next)
{
	const char *source_profile = chain_get(s, profile, "source_profile");
	const char *source = chain_get(s, profile, "credential_source");
	int r;

	if ((source_profile != NULL) == (source != NULL))
		return chain_fail(s, "profile \"%.64s\" has a role_arn: it "
		    "must have either source_profile or credential_source, "
		    "and has %s", profile, source != NULL ? "both" :
		    "neither");
	r = roles_add(s, profile);
	if (r < 0)
		return r;
	if (source != NULL)
		return roles_from_source(s, profile, source);
	r = roles_check_profile(s, profile, source_profile);
	if (r < 0)
		return r;
	if (roles_has_keys(s, source_profile) ||
	    !roles_assumes(s, source_profile))
		return roles_from_profile(s, source_profile);
	*ret_next = source_profile;
	return CHAIN_ABSENT;
}

int
chain_roles(struct chain_search *s, const char *profile)
{
	int r = CHAIN_ABSENT;

	if (!roles_assumes(s, profile))
		return CHAIN_ABSENT;
	while (r == CHAIN_ABSENT)
		r = roles_step(s, profile, &profile);
	roles_turn(s->chain);
	return r;
}
