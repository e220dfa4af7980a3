/*
 * Where credentials come from (pure): the first source that is configured, in
 * botocore's order, as a plan that identity.h carries out. A plan is a source
 * and the roles to assume with it, one after the other.
 *
 * A source that is configured and wrong is an error; it never falls through to
 * the next source, because then a program would act with another identity than
 * intended.
 */
#ifndef DDBLOCKD_IDENTITY_CHAIN_H
#define DDBLOCKD_IDENTITY_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/credentials.h"
#include "identity/profile.h"

#define CHAIN_ROLES_MAX 8

enum chain_kind {
	CHAIN_SETTINGS = 1,	/* keys of our own configuration */
	CHAIN_ENVIRONMENT,
	CHAIN_PROFILE,		/* keys of a profile */
	CHAIN_PROCESS,		/* credential_process */
	CHAIN_WEB_IDENTITY,
	CHAIN_SSO,
	CHAIN_CONTAINER,	/* ECS, EKS Pod Identity */
	CHAIN_IMDS,		/* the instance's metadata */
};

/* What the environment of the process says; NULL: not set. An empty value
 * counts as not set where it does in botocore. */
typedef const char *(*chain_variable_fn)(void *arg, const char *name);

/* All borrowed. */
struct chain_inputs {
	chain_variable_fn variable;
	void *variable_arg;
	const struct profiles *profiles;
	const char *profile;	/* named in our configuration; or NULL */
	const struct credentials *settings;	/* from there; or none */
};

/* sts:AssumeRole, or the role of a web identity. */
struct chain_role {
	char *profile;		/* that says so; NULL: the environment */
	char *role_arn;
	char *external_id;	/* NULL: none */
	char *session_name;	/* NULL: to be made */
	uint32_t duration_s;	/* 0: the service's own */
};

/* Members of other kinds are NULL or 0. */
struct chain_source {
	enum chain_kind kind;
	char *profile;		/* that says so; NULL: the environment */
	struct credentials keys;	/* SETTINGS, ENVIRONMENT, PROFILE */
	char *command;		/* PROCESS */
	char *account_id;	/* PROCESS, SSO, and others with one */
	char *token_file;	/* WEB_IDENTITY, CONTAINER */
	struct chain_role role;	/* WEB_IDENTITY */
	char *sso_session;	/* SSO; NULL: the form without a session */
	char *sso_start_url;
	char *sso_region;
	char *sso_role_name;
	char *url;		/* CONTAINER, checked; IMDS: "http://HOST" */
	char *token;		/* CONTAINER */
	bool v1_allowed;	/* IMDS: never unless asked */
	uint32_t timeout_ms;	/* CONTAINER, IMDS: of one attempt */
	uint32_t attempts_max;
};

struct chain {
	struct chain_source source;
	struct chain_role roles[CHAIN_ROLES_MAX];	/* in this order */
	size_t n_roles;
};

/* The profile that counts: the configuration's, the environment's, or
 * "default". Borrowed. */
const char *chain_profile(const struct chain_inputs *);

/*
 * @text (at least 512 bytes) says what is wrong and what to do, without
 * secrets. chain_done() is due after success only.
 *
 * DDBLOCK_E_NO_CREDENTIALS The configured source cannot be used, or the
 * metadata of the instance are
 *     switched off and there is nothing else.
 * DDBLOCK_E_NOMEM
 */
int chain_resolve(const struct chain_inputs *, struct chain *ret, char *text,
    size_t text_size);

/*
 * How the instance's metadata are asked, whatever credentials come from: as a
 * source of the kind IMDS, for its region. chain_source_done() is due after
 * success only.
 *
 * DDBLOCK_E_NO_CREDENTIALS
 *     They are switched off, or their configuration cannot be used.
 * DDBLOCK_E_NOMEM
 */
int chain_metadata(const struct chain_inputs *, struct chain_source *ret,
    char *text, size_t text_size);

/* For people, without secrets: "profile prod: role arn:... by instance
 * metadata". */
void chain_describe(const struct chain *, char *text, size_t text_size);

/* Wipe. */
void chain_done(struct chain *);
void chain_source_done(struct chain_source *);

#endif
