/*
 * What signs requests, and until when.
 */
#ifndef DDBLOCKD_AWS_CREDENTIALS_H
#define DDBLOCKD_AWS_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREDENTIALS_TEXT_MAX 8192 /* of each; headers have 16 KB in all */

/* Zeroed: none. */
struct credentials {
	char *access_key_id;
	char *secret_access_key;
	char *session_token;	/* NULL: none */
	char *account_id;	/* NULL: nobody told */
	uint64_t expires_ms;	/* ms since 1970; 0: never */
};

/*
 * Replace them by copies; NULL or empty means none. @text (at least 128 bytes)
 * says what is wrong, without the values.
 *
 * DDBLOCK_E_NO_CREDENTIALS
 *     A key is missing, or has what cannot go into a header. Unchanged.
 * DDBLOCK_E_NOMEM
 */
int credentials_set(struct credentials *, const char *access_key_id,
    const char *secret_access_key, const char *session_token, char *text,
    size_t text_size);

/* The same for the account; what is no account of twelve digits is none. */
int credentials_set_account(struct credentials *, const char *account_id);

/* DDBLOCK_E_NOMEM: unchanged. */
int credentials_copy(struct credentials *to, const struct credentials *from);

bool credentials_exist(const struct credentials *);

/* Both are equally secret; when they expire does not count. */
bool credentials_equal(const struct credentials *,
    const struct credentials *);

/*
 * Make what @text recites of a secret unreadable, however it is quoted: AWS,
 * and what stands before it, repeat requests in their errors, and these carry
 * the session token. A value that is too short to tell from a word is left.
 */
void credentials_mask(const struct credentials *, char *text, size_t length);

/* The same of one text; NULL: nothing. */
void credentials_mask_secret(const char *secret, char *text, size_t length);

/* Wipes. The result is none. */
void credentials_done(struct credentials *);

#endif
