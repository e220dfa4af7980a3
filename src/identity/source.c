/*
 * What the sources have in common.
 */
#include "identity/source.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_date.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"

#define SOURCE_URL_MAX 4096
#define SOURCE_BODY_MAX (64 * 1024)
#define SOURCE_SECRET_MAX (64 * 1024)

void
source_memory_init(struct source_memory *m)
{
	*m = (struct source_memory){ .metadata_until_ms = 0 };
	buffer_init_secret(&m->metadata_token, CREDENTIALS_TEXT_MAX);
	buffer_init_secret(&m->sso_token, SOURCE_SECRET_MAX);
}

void
source_memory_done(struct source_memory *m)
{
	buffer_done(&m->metadata_token);
	buffer_done(&m->sso_token);
	m->metadata_until_ms = 0;
}

void
source_init(struct source *s, const struct source_methods *methods)
{
	*s = (struct source){ .methods = methods };
	buffer_init(&s->url, SOURCE_URL_MAX);
	/* A body may have a web identity or a refresh token in it. */
	buffer_init_secret(&s->body, SOURCE_BODY_MAX);
	buffer_init_secret(&s->token, SOURCE_SECRET_MAX);
	buffer_init_secret(&s->spare, SOURCE_SECRET_MAX);
}

void
source_done(struct source *s)
{
	credentials_done(&s->credentials);
	buffer_done(&s->url);
	buffer_done(&s->body);
	buffer_done(&s->token);
	buffer_done(&s->spare);
}

/* ---- verdicts ---- */

enum source_verdict
source_fail(struct source *s, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(s->text, sizeof(s->text), format, arguments);
	va_end(arguments);
	return SOURCE_FAILED;
}

enum source_verdict
source_refuse(struct source *s, const char *format, ...)
{
	va_list arguments;

	s->rejected = true;
	va_start(arguments, format);
	(void)vsnprintf(s->text, sizeof(s->text), format, arguments);
	va_end(arguments);
	return SOURCE_FAILED;
}

enum source_verdict
source_fail_code(struct source *s, int code)
{
	return source_fail(s, "%s", error_text(code));
}

/* ---- errands ---- */

struct errand *
source_fetch(struct source *s, const char *method)
{
	s->attempts = 0;
	s->errand = (struct errand){
		.kind = ERRAND_FETCH,
		.timeout_ms = SOURCE_SERVICE_TIMEOUT_MS,
		.answer_max = SOURCE_SECRET_MAX,
		.method = method,
		.url = s->url.data,
	};
	return &s->errand;
}

struct errand *
source_read(struct source *s, const char *path)
{
	s->attempts = 0;
	s->errand = (struct errand){
		.kind = ERRAND_READ,
		.timeout_ms = SOURCE_FILE_TIMEOUT_MS,
		.answer_max = SOURCE_SECRET_MAX,
		.path = path,
	};
	return &s->errand;
}

void
source_header(struct errand *e, const char *name, const char *value)
{
	e->headers[e->n_headers++] = (struct errand_header){ name, value };
}

enum source_verdict
source_go(struct source *s)
{
	const struct buffer *parts[] = {
		&s->url, &s->body, &s->token, &s->spare,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (buffer_failed(parts[i]) != 0)
			return source_fail_code(s, buffer_failed(parts[i]));
	return SOURCE_WAIT;
}

bool
source_repeats(struct source *s, const struct errand_answer *a,
    uint32_t attempts_max)
{
	bool passing = a->code == DDBLOCK_E_UNREACHABLE ||
	    a->code == DDBLOCK_E_ACQUIRE_TIMEOUT ||
	    (a->code == 0 && a->status >= 500);

	return passing && ++s->attempts < attempts_max;
}

static void
source_mask(const struct source *s, char *text, size_t length)
{
	credentials_mask_secret(s->token.data, text, length);
	credentials_mask_secret(s->memory->metadata_token.data, text, length);
	if (s->signer != NULL)
		credentials_mask(s->signer, text, length);
	if (s->given != NULL)
		credentials_mask(s->given, text, length);
}

void
source_quote(const struct source *s, const char *from, char *to, size_t size)
{
	size_t length = strlen(from), n = 0;
	char *copy = strdup(from);

	if (copy != NULL)
		source_mask(s, copy, length);
	for (const char *c = copy; c != NULL && *c != '\0' && *c != '\n' &&
	    n + 1 < size; c++)
		/* However long a secret was, there is room for what follows. */
		if (*c != '*' || n < 3 || memcmp(to + n - 3, "***", 3) != 0)
			to[n++] = *c >= ' ' && *c <= '~' ? *c : '?';
	to[n] = '\0';
	if (copy != NULL)
		explicit_bzero(copy, length);
	free(copy);
}

/* The first of the two that is there. */
static const char *
source_either(struct json_object *json, const char *one, const char *other)
{
	const char *text = source_json_text(json, one);

	return text != NULL ? text : source_json_text(json, other);
}

void
source_describe(const struct source *s, const struct errand_answer *a,
    char *text, size_t text_size)
{
	struct json_object *json;
	const char *code, *message;
	char clean[2][160] = { "", "" };

	if (a->code != 0) {
		(void)snprintf(text, text_size, "%s", a->text != NULL ?
		    a->text : error_text(a->code));
		return;
	}
	(void)snprintf(text, text_size, "HTTP status %d", a->status);
	json = source_json_parse(a->body, a->body_length);
	if (json == NULL)
		return;
	code = source_either(json, "Code", "code");
	message = source_either(json, "Message", "message");
	if (code != NULL)
		source_quote(s, code, clean[0], sizeof(clean[0]));
	if (message != NULL)
		source_quote(s, message, clean[1], sizeof(clean[1]));
	if (code != NULL || message != NULL)
		(void)snprintf(text, text_size, "HTTP status %d, %s%s%s",
		    a->status, clean[0],
		    code != NULL && message != NULL ? ": " : "", clean[1]);
	source_json_done(json);
}

void
source_encode(struct buffer *b, const char *text)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text != '\0'; text++)
		if (strchr(unreserved, *text) != NULL)
			(void)buffer_append(b, text, 1);
		else
			(void)buffer_printf(b, "%%%02X",
			    (unsigned)(unsigned char)*text);
}

/* ---- results ---- */

enum source_verdict
source_keep(struct source *s, const char *who, const struct credentials *c)
{
	char text[128];
	int r = credentials_set(&s->credentials, c->access_key_id,
	    c->secret_access_key, c->session_token, text, sizeof(text));

	if (r == 0)
		r = credentials_set_account(&s->credentials, c->account_id);
	else if (r == DDBLOCK_E_NO_CREDENTIALS)
		return source_fail(s, "%s gave no usable credentials: %s",
		    who, text);
	if (r < 0)
		return source_fail_code(s, r);
	s->credentials.expires_ms = c->expires_ms;
	return SOURCE_DONE;
}

/* json-c's memory is only read; the cast says so where the struct cannot. */
static char *
source_borrow(struct json_object *json, const char *name)
{
	return (char *)(uintptr_t)source_json_text(json, name);
}

enum source_verdict
source_keep_json(struct source *s, const char *who, struct json_object *json,
    const struct source_fields *fields)
{
	const char *expiration = source_json_text(json, "Expiration");
	struct credentials c = {
		.access_key_id = source_borrow(json, "AccessKeyId"),
		.secret_access_key = source_borrow(json, "SecretAccessKey"),
		.session_token = source_borrow(json, fields->token),
		.account_id = source_borrow(json, "AccountId"),
	};
	struct json_object *given;

	if (c.account_id == NULL)
		c.account_id = s->from->account_id;
	if (fields->temporary && c.session_token == NULL)
		return source_fail(s, "%s gave credentials without a %s", who,
		    fields->token);
	if (fields->temporary && expiration == NULL)
		return source_fail(s, "%s gave credentials without an "
		    "Expiration", who);
	/* Some say that there is none; what is given must be a date. */
	if (expiration == NULL &&
	    json_object_object_get_ex(json, "Expiration", &given) &&
	    given != NULL)
		return source_fail(s, "%s gave an Expiration that is no date",
		    who);
	if (expiration != NULL && !source_date_read(expiration,
	    &c.expires_ms))
		return source_fail(s, "%s gave an Expiration that is no date",
		    who);
	return source_keep(s, who, &c);
}
