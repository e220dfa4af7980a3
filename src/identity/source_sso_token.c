/*
 * The token of SSO as the AWS CLI caches it.
 */
#include "identity/source_sso_token.h"

#include <json-c/json.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/json_quote.h"
#include "identity/source_date.h"
#include "identity/source_json.h"

#define SOURCE_SSO_LIFE_MAX_S (366 * UINT64_C(86400))

bool
source_sso_name(const char *of, char name[SOURCE_SSO_NAME_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int length = 0;

	if (EVP_Digest(of, strlen(of), digest, &length, EVP_sha1(),
	    NULL) != 1 || length * 2 + 1 != SOURCE_SSO_NAME_SIZE)
		return false;
	for (unsigned i = 0; i < length; i++)
		(void)snprintf(name + i * 2, 3, "%02x", digest[i]);
	return true;
}

static uint64_t
source_sso_date(struct json_object *json, const char *name)
{
	const char *text = source_json_text(json, name);
	uint64_t ms;

	return text != NULL && source_date_read(text, &ms) ? ms : 0;
}

bool
source_sso_read(const char *text, size_t length, struct source_sso_token *ret)
{
	struct json_object *json = text != NULL ?
	    source_json_parse(text, length) : NULL;
	struct source_sso_token t = { .json = json };

	if (json == NULL)
		return false;
	t.access = source_json_text(json, "accessToken");
	t.expires_ms = source_sso_date(json, "expiresAt");
	t.refresh = source_json_text(json, "refreshToken");
	t.client_id = source_json_text(json, "clientId");
	t.client_secret = source_json_text(json, "clientSecret");
	t.registration_ms = source_sso_date(json, "registrationExpiresAt");
	if (t.access == NULL || t.expires_ms == 0) {
		source_json_done(json);
		return false;
	}
	*ret = t;
	return true;
}

void
source_sso_token_done(struct source_sso_token *t)
{
	source_json_done(t->json);
	*t = (struct source_sso_token){ .json = NULL };
}

bool
source_sso_newer(const char *text, size_t length, const char *old,
    size_t old_length)
{
	struct source_sso_token one, other;
	bool newer;

	if (!source_sso_read(text, length, &one))
		return false;
	newer = !source_sso_read(old, old_length, &other);
	if (!newer) {
		/* The same one may have been written with more in it. */
		newer = one.expires_ms >= other.expires_ms;
		source_sso_token_done(&other);
	}
	source_sso_token_done(&one);
	return newer;
}

bool
source_sso_renewable(const struct source_sso_token *t, uint64_t wall_ms)
{
	return t->refresh != NULL && t->client_id != NULL &&
	    t->client_secret != NULL && t->registration_ms > wall_ms;
}

/* In the place of the old one. */
static bool
source_sso_put_text(struct json_object *json, const char *name,
    const char *text)
{
	struct json_object *value = json_object_new_string(text);

	source_json_remove(json, name);
	if (value != NULL && json_object_object_add(json, name, value) == 0)
		return true;
	source_json_done(value);
	return false;
}

/*
 * What json-c writes a text into moves as it grows, and leaves what it had:
 * texts are ours to write, and all else is json-c's.
 */
static int
source_sso_write_value(struct buffer *b, struct json_object *value)
{
	const char *text;

	if (json_object_is_type(value, json_type_string)) {
		json_quote(b, json_object_get_string(value),
		    (size_t)json_object_get_string_len(value));
		return buffer_failed(b);
	}
	text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	return text != NULL ? buffer_append_text(b, text) :
	    DDBLOCK_E_NOMEM;
}

static int
source_sso_write(struct json_object *json, struct buffer *ret)
{
	int r = 0;

	buffer_clear(ret);
	json_object_object_foreach(json, name, value) {
		(void)buffer_append(ret, ret->length == 0 ? "{" : ",", 1);
		json_quote(ret, name, strlen(name));
		(void)buffer_append(ret, ":", 1);
		if (r == 0)
			r = source_sso_write_value(ret, value);
	}
	return r < 0 ? r : buffer_append(ret, "}", 1);
}

int
source_sso_request(const struct source_sso_token *t, struct buffer *ret)
{
	struct json_object *json = json_object_new_object();
	int r = DDBLOCK_E_NOMEM;

	if (json != NULL &&
	    source_sso_put_text(json, "clientId", t->client_id) &&
	    source_sso_put_text(json, "clientSecret", t->client_secret) &&
	    source_sso_put_text(json, "grantType", "refresh_token") &&
	    source_sso_put_text(json, "refreshToken", t->refresh))
		r = source_sso_write(json, ret);
	source_json_done(json);
	return r;
}

static int
source_sso_apply(struct json_object *json, struct json_object *answer,
    uint64_t wall_ms, struct buffer *ret)
{
	const char *access = source_json_text(answer, "accessToken");
	const char *refresh = source_json_text(answer, "refreshToken");
	uint64_t life_s = source_json_number(answer, "expiresIn");
	char date[SOURCE_DATE_SIZE];

	if (access == NULL || life_s == 0 || life_s > SOURCE_SSO_LIFE_MAX_S)
		return DDBLOCK_E_BAD_REQUEST;
	source_date_write(wall_ms + life_s * 1000, date);
	/* One that was used is used up. */
	source_json_remove(json, "refreshToken");
	if (!source_sso_put_text(json, "accessToken", access) ||
	    !source_sso_put_text(json, "expiresAt", date) ||
	    (refresh != NULL &&
	    !source_sso_put_text(json, "refreshToken", refresh)))
		return DDBLOCK_E_NOMEM;
	return source_sso_write(json, ret);
}

int
source_sso_merge(const char *text, size_t length, const char *answer,
    size_t answer_length, uint64_t wall_ms, struct buffer *ret)
{
	struct json_object *json = source_json_parse(text, length);
	struct json_object *news = source_json_parse(answer, answer_length);
	int r = DDBLOCK_E_BAD_REQUEST;

	if (json != NULL && news != NULL)
		r = source_sso_apply(json, news, wall_ms, ret);
	source_json_done(json);
	source_json_done(news);
	return r;
}

/* Only read; the cast says so where the struct cannot. */
static char *
source_sso_borrow(struct json_object *json, const char *name)
{
	return (char *)(uintptr_t)source_json_text(json, name);
}

bool
source_sso_credentials(struct json_object *json,
    struct source_sso_credentials *ret)
{
	*ret = (struct source_sso_credentials){
		.access_key_id = source_sso_borrow(json, "accessKeyId"),
		.secret_access_key = source_sso_borrow(json,
		    "secretAccessKey"),
		.session_token = source_sso_borrow(json, "sessionToken"),
		.expires_ms = source_json_number(json, "expiration"),
	};
	return ret->access_key_id != NULL && ret->secret_access_key != NULL &&
	    ret->session_token != NULL && ret->expires_ms != 0;
}
