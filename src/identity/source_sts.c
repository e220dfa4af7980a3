/*
 * The Security Token Service: what AssumeRole and AssumeRoleWithWebIdentity
 * have in common. Its protocol is a form that is posted, and XML.
 */
#include <stdio.h>
#include <string.h>

#include "aws/errors.h"
#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "identity/source_date.h"
#include "identity/source_internal.h"
#include "identity/source_xml.h"

#define SOURCE_STS_VERSION "2011-06-15"
#define SOURCE_STS_FIELD_MAX CREDENTIALS_TEXT_MAX
#define SOURCE_STS_PATH_MAX 128

/* ---- the request ---- */

/* The same for as long as we run, so that what we did can be found. */
static const char *
source_sts_session(struct source *s, const struct chain_role *role)
{
	struct source_memory *m = s->memory;

	if (role->session_name != NULL)
		return role->session_name;
	if (m->session_name[0] == '\0')
		(void)snprintf(m->session_name, sizeof(m->session_name),
		    "ddblockd-%llu",
		    (unsigned long long)(s->wall_ms / 1000));
	return m->session_name;
}

void
source_sts_parameter(struct source *s, const char *name, const char *value)
{
	(void)buffer_printf(&s->body, "&%s=", name);
	source_encode(&s->body, value);
}

void
source_sts_begin(struct source *s, const char *action,
    const struct chain_role *role)
{
	char number[16];

	buffer_clear(&s->body);
	(void)buffer_printf(&s->body, "Action=%s&Version=%s", action,
	    SOURCE_STS_VERSION);
	source_sts_parameter(s, "RoleArn", role->role_arn);
	source_sts_parameter(s, "RoleSessionName",
	    source_sts_session(s, role));
	if (role->duration_s != 0) {
		(void)snprintf(number, sizeof(number), "%u",
		    role->duration_s);
		source_sts_parameter(s, "DurationSeconds", number);
	}
}

enum source_verdict
source_sts_send(struct source *s)
{
	char url[ENDPOINT_PARAMS_URL_MAX], text[256];
	const char *host;
	struct errand *e;

	if (endpoint_rules_url(s->params, "sts", NULL, url, sizeof(url), text,
	    sizeof(text)) < 0)
		return source_fail(s, "there is no endpoint of STS: %s",
		    text);
	host = strstr(url, "://");
	if (host == NULL)
		return source_fail(s, "the endpoint of STS, \"%.100s\", is no "
		    "URL such as https://HOST", url);
	buffer_clear(&s->url);
	(void)buffer_append_text(&s->url, url);
	/* A path is part of what is signed. */
	if (strchr(host + strlen("://"), '/') == NULL)
		(void)buffer_append_text(&s->url, "/");
	e = source_fetch(s, "POST");
	source_header(e, "Content-Type",
	    "application/x-www-form-urlencoded; charset=utf-8");
	e->body = s->body.data;
	e->body_length = s->body.length;
	if (s->params->ca_file[0] != '\0')
		e->ca_file = s->params->ca_file;
	return source_go(s);
}

/* ---- the answer ---- */

/* The text at @path into @ret, a string; false: there is none. */
static bool
source_sts_read(const struct errand_answer *a, const char *path,
    struct buffer *ret)
{
	buffer_init_secret(ret, SOURCE_STS_FIELD_MAX);
	return source_xml_read(a->body, a->body_length, path, ret) == 0 &&
	    ret->length > 0 && strlen(ret->data) == ret->length;
}

/* The twelve digits of arn:aws:sts::123456789012:assumed-role/... */
static void
source_sts_account(const struct errand_answer *a, const char *action,
    char account[16])
{
	char path[SOURCE_STS_PATH_MAX];
	struct buffer arn;
	const char *field;

	account[0] = '\0';
	(void)snprintf(path, sizeof(path),
	    "%sResponse/%sResult/AssumedRoleUser/Arn", action, action);
	if (source_sts_read(a, path, &arn) &&
	    strncmp(arn.data, "arn:", 4) == 0) {
		field = arn.data;
		for (int i = 0; i < 4 && field != NULL; i++) {
			field = strchr(field, ':');
			field = field != NULL ? field + 1 : NULL;
		}
		if (field != NULL && strcspn(field, ":") < 16)
			(void)snprintf(account, 16, "%.*s",
			    (int)strcspn(field, ":"), field);
	}
	buffer_done(&arn);
}

static enum source_verdict
source_sts_take(struct source *s, const char *action, const char *who,
    const struct errand_answer *a)
{
	static const char *const names[] = {
		"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration",
	};
	enum source_verdict verdict = SOURCE_DONE;
	char path[SOURCE_STS_PATH_MAX], account[16];
	struct buffer fields[4] = { { .data = NULL } };
	struct credentials c;

	for (size_t i = 0; i < 4 && verdict == SOURCE_DONE; i++) {
		(void)snprintf(path, sizeof(path),
		    "%sResponse/%sResult/Credentials/%s", action, action,
		    names[i]);
		if (!source_sts_read(a, path, &fields[i]))
			verdict = source_fail(s, "%s: the answer of STS has "
			    "no %s", who, names[i]);
	}
	if (verdict == SOURCE_DONE) {
		source_sts_account(a, action, account);
		c = (struct credentials){
			.access_key_id = fields[0].data,
			.secret_access_key = fields[1].data,
			.session_token = fields[2].data,
			.account_id = account,
		};
		if (!source_date_read(fields[3].data, &c.expires_ms))
			verdict = source_fail(s, "%s: STS gave an Expiration "
			    "that is no date", who);
		else
			verdict = source_keep(s, who, &c);
	}
	for (size_t i = 0; i < 4; i++)
		buffer_done(&fields[i]);
	return verdict;
}

/* Its code and message. The lines after the first say of a wrong signature
 * what was signed, the session token included. */
static void
source_sts_describe(const struct source *s, const struct errand_answer *a,
    char *text, size_t size)
{
	struct buffer code, message;
	char clean[224];

	(void)snprintf(text, size, "HTTP status %d", a->status);
	if (source_sts_read(a, "ErrorResponse/Error/Code", &code)) {
		source_quote(s, code.data, text, size);
		if (source_sts_read(a, "ErrorResponse/Error/Message",
		    &message)) {
			source_quote(s, message.data, clean, sizeof(clean));
			(void)snprintf(text + strlen(text),
			    size - strlen(text), ": %s", clean);
		}
		buffer_done(&message);
	}
	buffer_done(&code);
}

static enum source_verdict
source_sts_refused(struct source *s, const char *who,
    const struct errand_answer *a)
{
	struct aws_error error;
	char text[320];

	aws_errors_classify(a->status, a->body, a->body_length, &error);
	source_sts_describe(s, a, text, sizeof(text));
	/* The issuer of a web identity may have a short outage. */
	if (error.class == AWS_CLASS_REFUSED &&
	    strcmp(error.name, "IDPCommunicationError") != 0)
		return source_refuse(s, "%s: STS refused: %s", who, text);
	return source_fail(s, "%s: STS answered: %s", who, text);
}

enum source_verdict
source_sts_answer(struct source *s, const char *action,
    const struct chain_role *role, const struct errand_answer *a)
{
	char who[192];

	if (source_repeats(s, a, SOURCE_SERVICE_ATTEMPTS))
		return SOURCE_WAIT;
	(void)snprintf(who, sizeof(who), "role %.160s", role->role_arn);
	if (a->code != 0)
		return source_fail(s, "%s: STS did not answer: %.256s", who,
		    a->text != NULL ? a->text : error_text(a->code));
	if (a->status != 200)
		return source_sts_refused(s, who, a);
	return source_sts_take(s, action, who, a);
}
