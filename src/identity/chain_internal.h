/*
 * The parts of the search for credentials (pure), for chain*.c and
 * endpoint_params.c.
 */
#ifndef DDBLOCKD_IDENTITY_CHAIN_INTERNAL_H
#define DDBLOCKD_IDENTITY_CHAIN_INTERNAL_H

#include "identity/chain.h"

/* The result of a part of the search, besides errors: */
enum chain_answer {
	CHAIN_ABSENT = 0,	/* nothing of that kind is configured */
	CHAIN_FOUND,		/* the source is filled in */
};

struct chain_search {
	const struct chain_inputs *inputs;
	struct chain *chain;	/* being made */
	char *text;
	size_t text_size;
	/* Whether the environment may name keys and web identities: not if a
	 * profile was chosen in our configuration, nor for a source_profile. */
	bool environment;
};

/* DDBLOCK_E_NO_CREDENTIALS, for returning. */
int chain_fail(struct chain_search *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Copy a text; NULL and empty are none. DDBLOCK_E_NOMEM */
int chain_keep(struct chain_search *, char **to, const char *from);

/* Of the environment; NULL: not set. An empty value is a value. */
const char *chain_variable(const struct chain_inputs *, const char *name);

/* Of a profile, both files together. */
const char *chain_get(const struct chain_search *, const char *profile,
    const char *key);

/*
 * A setting as botocore looks for it: in the environment, then in the profile
 * that counts. @ret_name is where it was found, for messages; it may be NULL.
 */
const char *chain_setting(const struct chain_inputs *, const char *variable,
    const char *key, const char **ret_name);

/* Whether a text says true as botocore has it; NULL does not. */
bool chain_is_true(const char *);

/* The profile that was named exists, or none was: botocore refuses others. */
bool chain_profile_exists(const struct chain_inputs *);

/* chain_keys.c */
int chain_environment_keys(struct chain_search *);
int chain_file_keys(struct chain_search *, enum profile_file,
    const char *profile);

/* chain_sources.c: settings of a profile besides keys and roles. */
int chain_web_identity(struct chain_search *, const char *profile);
int chain_sso(struct chain_search *, const char *profile);
int chain_login(struct chain_search *, const char *profile);
int chain_process(struct chain_search *, const char *profile);

/* chain_roles.c: all of what @profile's role_arn leads to. */
int chain_roles(struct chain_search *, const char *profile);

/* chain_container.c */
int chain_container(struct chain_search *);

/* chain_metadata.c: as CHAIN_ABSENT, they are switched off. */
int chain_instance(struct chain_search *, struct chain_source *ret);

/* chain.c: the sources of a profile, but for roles, in their order. */
int chain_profile_sources(struct chain_search *, const char *profile);

#endif
