/*
 * What signs requests, and until when.
 */
#include "config.h"

#include "aws/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"

#define CREDENTIALS_ACCOUNT_DIGITS 12
#define CREDENTIALS_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789"
#define CREDENTIALS_UNRESERVED CREDENTIALS_PLAIN "-._~"	/* in a URL */
#define CREDENTIALS_SECRET_MIN 16	/* AWS's have 40 characters and more;
					 * emulators take "secret" */
#define CREDENTIALS_PIECE_MIN 6	/* shorter ones may be words */

static bool
credentials_given(const char *text)
{
	return text != NULL && text[0] != '\0';
}

/* Whatever goes into a header must not be able to end it. */
static bool
credentials_printable(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return length <= CREDENTIALS_TEXT_MAX;
}

static const char *
credentials_fault(const char *access_key_id, const char *secret_access_key,
    const char *session_token)
{
	if (!credentials_given(access_key_id))
		return "there is no access key id";
	if (!credentials_given(secret_access_key))
		return "there is no secret access key";
	if (!credentials_printable(access_key_id))
		return "the access key id has characters that cannot be in it";
	if (!credentials_printable(secret_access_key))
		return "the secret access key has characters that cannot be "
		    "in it";
	if (credentials_given(session_token) &&
	    !credentials_printable(session_token))
		return "the session token has characters that cannot be in it";
	return NULL;
}

static void
credentials_wipe(char **text)
{
	if (*text != NULL)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static bool
credentials_keep(char **to, const char *from)
{
	*to = credentials_given(from) ? strdup(from) : NULL;
	return *to != NULL || !credentials_given(from);
}

int
credentials_set(struct credentials *c, const char *access_key_id,
    const char *secret_access_key, const char *session_token, char *text,
    size_t text_size)
{
	const char *fault = credentials_fault(access_key_id,
	    secret_access_key, session_token);
	struct credentials made = { .expires_ms = 0 };

	if (fault != NULL) {
		(void)snprintf(text, text_size, "%s", fault);
		return DDBLOCK_E_NO_CREDENTIALS;
	}
	if (!credentials_keep(&made.access_key_id, access_key_id) ||
	    !credentials_keep(&made.secret_access_key, secret_access_key) ||
	    !credentials_keep(&made.session_token, session_token)) {
		credentials_done(&made);
		(void)snprintf(text, text_size, "%s",
		    error_text(DDBLOCK_E_NOMEM));
		return DDBLOCK_E_NOMEM;
	}
	credentials_done(c);
	*c = made;
	return 0;
}

int
credentials_set_account(struct credentials *c, const char *account_id)
{
	char *copy = NULL;

	if (credentials_given(account_id) &&
	    strlen(account_id) == CREDENTIALS_ACCOUNT_DIGITS &&
	    strspn(account_id, "0123456789") == CREDENTIALS_ACCOUNT_DIGITS &&
	    (copy = strdup(account_id)) == NULL)
		return DDBLOCK_E_NOMEM;
	free(c->account_id);
	c->account_id = copy;
	return 0;
}

int
credentials_copy(struct credentials *to, const struct credentials *from)
{
	struct credentials made = { .expires_ms = from->expires_ms };

	if (!credentials_keep(&made.access_key_id, from->access_key_id) ||
	    !credentials_keep(&made.secret_access_key,
	    from->secret_access_key) ||
	    !credentials_keep(&made.session_token, from->session_token) ||
	    !credentials_keep(&made.account_id, from->account_id)) {
		credentials_done(&made);
		return DDBLOCK_E_NOMEM;
	}
	credentials_done(to);
	*to = made;
	return 0;
}

bool
credentials_exist(const struct credentials *c)
{
	return c->access_key_id != NULL;
}

bool
credentials_equal(const struct credentials *a, const struct credentials *b)
{
	return text_equal(a->access_key_id, b->access_key_id) &&
	    text_equal(a->secret_access_key, b->secret_access_key) &&
	    text_equal(a->session_token, b->session_token) &&
	    text_equal(a->account_id, b->account_id);
}

static void
credentials_mask_piece(const char *piece, size_t piece_length, char *text,
    size_t length)
{
	char *end = text + length;

	while ((text = memmem(text, (size_t)(end - text), piece,
	    piece_length)) != NULL) {
		memset(text, '*', piece_length);
		text += piece_length;
	}
}

/* Of these characters alone. */
static void
credentials_mask_runs(const char *secret, const char *characters, char *text,
    size_t length)
{
	size_t n;

	for (; *secret != '\0'; secret += n > 0 ? n : 1) {
		n = strspn(secret, characters);
		if (n >= CREDENTIALS_PIECE_MIN)
			credentials_mask_piece(secret, n, text, length);
	}
}

/* A text that was quoted again only at its special characters still has the
 * pieces between them. What is special differs: the longer pieces come first,
 * because a short one would leave what is around it. */
void
credentials_mask_secret(const char *secret, char *text, size_t length)
{
	if (length == 0 || secret == NULL ||
	    strlen(secret) < CREDENTIALS_SECRET_MIN)
		return;
	credentials_mask_piece(secret, strlen(secret), text, length);
	credentials_mask_runs(secret, CREDENTIALS_UNRESERVED, text, length);
	credentials_mask_runs(secret, CREDENTIALS_PLAIN, text, length);
}

void
credentials_mask(const struct credentials *c, char *text, size_t length)
{
	credentials_mask_secret(c->session_token, text, length);
	credentials_mask_secret(c->secret_access_key, text, length);
}

void
credentials_done(struct credentials *c)
{
	credentials_wipe(&c->access_key_id);
	credentials_wipe(&c->secret_access_key);
	credentials_wipe(&c->session_token);
	credentials_wipe(&c->account_id);
	c->expires_ms = 0;
}
