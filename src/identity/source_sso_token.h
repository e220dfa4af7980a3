/*
 * The token of SSO as the AWS CLI caches it (pure): its file is JSON, and we
 * write it as we would like to find it.
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_SSO_TOKEN_H
#define DDBLOCKD_IDENTITY_SOURCE_SSO_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

#define SOURCE_SSO_NAME_SIZE 41	/* 40 digits and a NUL */

struct json_object;

/* All but the first borrowed from it; what is not there is NULL or 0. */
struct source_sso_token {
	struct json_object *json;
	const char *access;
	uint64_t expires_ms;
	const char *refresh;
	const char *client_id;
	const char *client_secret;
	uint64_t registration_ms;	/* until then the client is known */
};

/* Borrowed. */
struct source_sso_credentials {
	char *access_key_id;
	char *secret_access_key;
	char *session_token;
	uint64_t expires_ms;
};

/* The name of the file for a session or a start URL. False: libcrypto
 * failed. */
bool source_sso_name(const char *of, char name[SOURCE_SSO_NAME_SIZE]);

/* False: it is no token. source_sso_token_done() is due after success. */
bool source_sso_read(const char *text, size_t length,
    struct source_sso_token *ret);
void source_sso_token_done(struct source_sso_token *);

/* Whether @text is a token, and @old is none or expires earlier. */
bool source_sso_newer(const char *text, size_t length, const char *old,
    size_t old_length);

/* Whether there is all that CreateToken needs. */
bool source_sso_renewable(const struct source_sso_token *, uint64_t wall_ms);

/* The body of CreateToken, into @ret. DDBLOCK_E_NOMEM */
int source_sso_request(const struct source_sso_token *, struct buffer *ret);

/*
 * The file of a token that was renewed at @wall_ms, into @ret: what it was,
 * and what @answer changes.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The answer has no new token in it.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_LIMIT
 */
int source_sso_merge(const char *text, size_t length, const char *answer,
    size_t answer_length, uint64_t wall_ms, struct buffer *ret);

/* "roleCredentials". False: there is not all of them. */
bool source_sso_credentials(struct json_object *,
    struct source_sso_credentials *ret);

#endif
