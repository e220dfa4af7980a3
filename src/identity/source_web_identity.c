/*
 * A role by a token of another issuer (EKS: IAM roles for service accounts).
 * The token lives for a day or less and its file is written again in time, so
 * it is read each time.
 */
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"

#define SOURCE_WEB_IDENTITY_TOKEN_MAX 20000	/* of the service's model */

enum source_web_identity_step {
	SOURCE_WEB_IDENTITY_TOKEN = 0,
	SOURCE_WEB_IDENTITY_ROLE,
};

static enum source_verdict
source_web_identity_start(struct source *s)
{
	s->step = SOURCE_WEB_IDENTITY_TOKEN;
	source_read(s, s->from->token_file)->answer_max =
	    SOURCE_WEB_IDENTITY_TOKEN_MAX;
	return SOURCE_WAIT;
}

/* A line end at the end is the editor's; the token has none. */
static bool
source_web_identity_take(struct source *s, const struct errand_answer *a)
{
	size_t length = a->body_length;

	while (length > 0 && strchr("\r\n", a->body[length - 1]) != NULL)
		length--;
	for (size_t i = 0; i < length; i++)
		if (a->body[i] <= ' ' || a->body[i] > '~')
			return false;
	buffer_clear(&s->token);
	(void)buffer_append(&s->token, a->body, length);
	return length > 0;
}

static enum source_verdict
source_web_identity_token(struct source *s, const struct errand_answer *a)
{
	const char *path = s->from->token_file;

	if (a->code != 0)
		return source_fail(s, "the web identity token file %.256s "
		    "could not be read: %.128s", path, a->text != NULL ?
		    a->text : error_text(a->code));
	if (!source_web_identity_take(s, a))
		return source_fail(s, "the web identity token file %.256s "
		    "has no token in it", path);
	if (buffer_failed(&s->token) != 0)
		return source_fail_code(s, buffer_failed(&s->token));
	s->step = SOURCE_WEB_IDENTITY_ROLE;
	source_sts_begin(s, "AssumeRoleWithWebIdentity", &s->from->role);
	source_sts_parameter(s, "WebIdentityToken", s->token.data);
	return source_sts_send(s);
}

static enum source_verdict
source_web_identity_answer(struct source *s, const struct errand_answer *a)
{
	if (s->step == SOURCE_WEB_IDENTITY_TOKEN)
		return source_web_identity_token(s, a);
	return source_sts_answer(s, "AssumeRoleWithWebIdentity",
	    &s->from->role, a);
}

const struct source_methods source_web_identity = {
	.name = "web-identity",
	.start = source_web_identity_start,
	.answer = source_web_identity_answer,
};
