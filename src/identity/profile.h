/*
 * The profiles of the shared config and credentials files (pure: the texts are
 * arguments). Shapes and rules are those of botocore, which the other SDKs
 * follow: `[default]`, `[profile NAME]`, `[sso-session NAME]`, `[services
 * NAME]` in the config file, `[NAME]` in the credentials file; a key of the
 * credentials file beats the same key of the config file.
 */
#ifndef DDBLOCKD_IDENTITY_PROFILE_H
#define DDBLOCKD_IDENTITY_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#define PROFILE_TEXT_MAX (1024 * 1024)	/* of a file */

enum profile_file {
	PROFILE_CONFIG = 0,
	PROFILE_CREDENTIALS,
	PROFILE_FILES
};

enum profile_section {
	PROFILE_SECTION_PROFILE = 0,
	PROFILE_SECTION_SSO_SESSION,
	PROFILE_SECTION_SERVICES
};

struct profiles;

/* DDBLOCK_E_NOMEM */
int profiles_new(struct profiles **ret);

/* Wipes: there are secrets among the values. Accepts NULL. */
void profiles_free(struct profiles *);

/*
 * Take over what a file says. @name is for messages. @text_length bytes; they
 * need not end in NUL.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     With the reason and the line in @error, without values. Nothing of the
 *     file counts.
 * DDBLOCK_E_NOMEM
 */
int profiles_read(struct profiles *, enum profile_file, const char *name,
    const char *text, size_t text_length, char *error, size_t error_size);

bool profiles_has(const struct profiles *, enum profile_section,
    const char *name);

/* Is there no such section in the config file, or nothing in it? */
bool profiles_is_empty(const struct profiles *, enum profile_section,
    const char *name);

/* The value, borrowed; NULL: there is none. */
const char *profiles_get(const struct profiles *, enum profile_section,
    const char *name, const char *key);

/* As profiles_get(), of one file only. */
const char *profiles_get_from(const struct profiles *, enum profile_file,
    enum profile_section, const char *name, const char *key);

/* Of a nested setting: `dynamodb =` with `endpoint_url = ...` indented below,
 * in a section of services. */
const char *profiles_get_nested(const struct profiles *, enum profile_section,
    const char *name, const char *group, const char *key);

#endif
