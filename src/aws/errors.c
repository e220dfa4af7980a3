/*
 * What an answer of DynamoDB means.
 */
#include "config.h"

#include "aws/errors.h"

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"
#include "common/json_shape.h"
#include "common/utf8.h"

/* DynamoDB's values nest 32 deep, each an object in an object or a list. */
#define ERRORS_DEPTH_MAX 80
#define ERRORS_BODY_MAX (4 * 1024 * 1024)	/* an item is 400 KB */
#define ERRORS_SNIPPET_MAX 80		/* of a body that is not JSON */

/* What is said of a signature for another region or service. */
#define ERRORS_SCOPE "Credential should be scoped to"

#define ERRORS_WRONG_KEY \
	"the secret access key does not belong to the access key id"
#define ERRORS_UNKNOWN_KEY \
	"AWS does not know this access key, or the session token is not its"
#define ERRORS_EXPIRED "the session token has expired: get a new one"
#define ERRORS_CHANGED \
	"the signature did not arrive whole, as if a proxy changed requests"

struct errors_row {
	const char *name;
	enum aws_class class;
	int code;
};

/* Of the service model, the developer guide and the SDKs' lists. */
static const struct errors_row errors_table[] = {
	{ "ConditionalCheckFailedException", AWS_CLASS_CONDITION, 0 },

	{ "ProvisionedThroughputExceededException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },
	{ "ThrottlingException", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	{ "Throttling", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	{ "ThrottledException", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	{ "RequestThrottled", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	{ "RequestThrottledException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },
	{ "RequestLimitExceeded", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	{ "TooManyRequestsException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },
	{ "SlowDown", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED },
	/* Too many tables made or changed at a time. */
	{ "LimitExceededException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },
	/* A transaction of another client holds the item for a moment. */
	{ "TransactionConflictException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },
	/* Its reasons say more: errors_cancelled(). */
	{ "TransactionCanceledException", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED },

	{ "InternalServerError", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE },
	{ "InternalFailure", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE },
	{ "InternalError", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE },
	{ "ServiceUnavailable", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE },
	{ "ServiceUnavailableException", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE },
	{ "RequestTimeout", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE },
	{ "RequestTimeoutException", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE },
	{ "ReplicatedWriteConflictException", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE },
	{ "TransactionInProgressException", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE },

	{ "RequestTimeTooSkewed", AWS_CLASS_CLOCK, DDBLOCK_E_ACCESS_DENIED },
	{ "RequestExpired", AWS_CLASS_CLOCK, DDBLOCK_E_ACCESS_DENIED },
	{ "RequestInTheFuture", AWS_CLASS_CLOCK, DDBLOCK_E_ACCESS_DENIED },

	/* These two may be the clock's fault: errors_refine() says. */
	{ "InvalidSignatureException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "SignatureDoesNotMatch", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "AuthFailure", AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS },
	{ "UnrecognizedClientException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "InvalidClientTokenId", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "InvalidAccessKeyId", AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS },
	{ "MissingAuthenticationToken", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "MissingAuthenticationTokenException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "IncompleteSignature", AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS },
	{ "IncompleteSignatureException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },
	{ "ExpiredToken", AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS },
	{ "ExpiredTokenException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS },

	{ "AccessDeniedException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED },
	{ "AccessDenied", AWS_CLASS_REFUSED, DDBLOCK_E_ACCESS_DENIED },
	{ "OptInRequired", AWS_CLASS_REFUSED, DDBLOCK_E_ACCESS_DENIED },

	{ "ResourceNotFoundException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_TABLE },
	{ "TableNotFoundException", AWS_CLASS_REFUSED, DDBLOCK_E_NO_TABLE },
	{ "ResourceInUseException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_WRONG_TABLE },
	{ "ItemCollectionSizeLimitExceededException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_STORE_FULL },
	{ "ValidationException", AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL },
	{ "SerializationException", AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL },
	{ "UnknownOperationException", AWS_CLASS_REFUSED,
	    DDBLOCK_E_UNREACHABLE },
};

/* ---- texts from outside ---- */

/* Append what is fit to print; runs of anything else become one space. */
static void
errors_append(char *to, size_t size, const char *text, size_t length)
{
	size_t at = strlen(to);

	for (size_t i = 0, n; i < length; i += n > 0 ? n : 1) {
		const unsigned char *c = (const unsigned char *)text + i;

		n = utf8_shown(text + i, length - i);
		if (n == 0 || *c == ' ') {
			n = 0;
			if (at == 0 || to[at - 1] == ' ' || at + 1 >= size)
				continue;
			to[at++] = ' ';
		} else if (at + n < size) {
			memcpy(to + at, c, n);
			at += n;
		} else {
			break;
		}
	}
	to[at] = '\0';
}

static void
errors_append_text(char *to, size_t size, const char *text)
{
	errors_append(to, size, text, strlen(text));
}

/* "namespace#Name:rest" to "Name". */
static void
errors_take_name(struct aws_error *e, const char *type, size_t length)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *hash = memchr(type, '#', length);
	size_t n = 0;

	if (hash != NULL) {
		length -= (size_t)(hash + 1 - type);
		type = hash + 1;
	}
	while (n < length && n < sizeof(e->name) - 1 && type[n] != '\0' &&
	    strchr(allowed, type[n]) != NULL)
		n++;
	memcpy(e->name, type, n);
	e->name[n] = '\0';
}

/* ---- meaning ---- */

static bool
errors_contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* What only the text tells. */
static void
errors_refine(struct aws_error *e, const char *message)
{
	if (e->class == AWS_CLASS_REFUSED &&
	    e->code == DDBLOCK_E_NO_CREDENTIALS &&
	    (errors_contains(message, "Signature expired") ||
	    errors_contains(message, "Signature not yet current"))) {
		e->class = AWS_CLASS_CLOCK;
		e->code = DDBLOCK_E_ACCESS_DENIED;
	} else if (e->code == DDBLOCK_E_NO_CREDENTIALS &&
	    errors_contains(message, ERRORS_SCOPE)) {
		/* Others would be as wrong there. */
		e->code = DDBLOCK_E_ACCESS_DENIED;
	}
	if (e->code == DDBLOCK_E_INTERNAL &&
	    (errors_contains(message, "does not match the schema") ||
	    errors_contains(message, "Type mismatch for key") ||
	    errors_contains(message, "Missing the key")))
		e->code = DDBLOCK_E_WRONG_TABLE;
}

static void
errors_classify_status(int status, struct aws_error *e)
{
	e->class = AWS_CLASS_TRANSIENT;
	e->code = DDBLOCK_E_UNREACHABLE;
	if (status == 429) {
		e->class = AWS_CLASS_THROTTLED;
		e->code = DDBLOCK_E_THROTTLED;
	} else if (status == 401 || status == 403) {
		e->code = DDBLOCK_E_ACCESS_DENIED;
	} else if (status >= 400 && status < 500 && e->name[0] != '\0') {
		/* An error of DynamoDB's own that is newer than we are. */
		e->class = AWS_CLASS_REFUSED;
		e->code = DDBLOCK_E_INTERNAL;
	}
}

static void
errors_classify_name(int status, struct aws_error *e, const char *message)
{
	size_t n = sizeof(errors_table) / sizeof(errors_table[0]);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(errors_table[i].name, e->name) != 0)
			continue;
		e->class = errors_table[i].class;
		e->code = errors_table[i].code;
		errors_refine(e, message);
		return;
	}
	errors_classify_status(status, e);
}

/* What to do about those that people can do something about; the first whose
 * name, and part of the message, fit. */
static const struct {
	const char *name;	/* NULL: any */
	const char *part;	/* NULL: any message */
	const char *text;
} errors_hints[] = {
	{ NULL, "Signature expired", "this host's clock is behind" },
	{ NULL, "Signature not yet current", "this host's clock is ahead" },
	{ "RequestExpired", NULL, "this host's clock is behind" },
	{ "RequestInTheFuture", NULL, "this host's clock is ahead" },
	{ "RequestTimeTooSkewed", NULL, "this host's clock is wrong" },
	{ NULL, ERRORS_SCOPE, "the region is not that of the endpoint" },
	{ "InvalidSignatureException", NULL, ERRORS_WRONG_KEY },
	{ "SignatureDoesNotMatch", NULL, ERRORS_WRONG_KEY },
	{ "UnrecognizedClientException", NULL, ERRORS_UNKNOWN_KEY },
	{ "InvalidClientTokenId", NULL, ERRORS_UNKNOWN_KEY },
	{ "InvalidAccessKeyId", NULL, ERRORS_UNKNOWN_KEY },
	{ "ExpiredTokenException", NULL, ERRORS_EXPIRED },
	{ "ExpiredToken", NULL, ERRORS_EXPIRED },
	{ "MissingAuthenticationTokenException", NULL, ERRORS_CHANGED },
	{ "MissingAuthenticationToken", NULL, ERRORS_CHANGED },
	{ "IncompleteSignatureException", NULL, ERRORS_CHANGED },
	{ "IncompleteSignature", NULL, ERRORS_CHANGED },
	{ "OptInRequired", NULL, "the account has not enabled this service "
	    "in this region" },
};

/* NULL: there is none. */
static const char *
errors_hint(const char *name, const char *message)
{
	size_t n = sizeof(errors_hints) / sizeof(errors_hints[0]);

	for (size_t i = 0; i < n; i++) {
		if (errors_hints[i].name != NULL &&
		    strcmp(errors_hints[i].name, name) != 0)
			continue;
		if (errors_hints[i].part == NULL ||
		    errors_contains(message, errors_hints[i].part))
			return errors_hints[i].text;
	}
	return NULL;
}

/* Only of errors about credentials and time: "Signature expired" in the message
 * of another error is data of a client. */
static bool
errors_deserves_hint(const struct aws_error *e)
{
	return e->class == AWS_CLASS_CLOCK || (e->class == AWS_CLASS_REFUSED &&
	    (e->code == DDBLOCK_E_NO_CREDENTIALS ||
	    e->code == DDBLOCK_E_ACCESS_DENIED));
}

static void
errors_write_text(struct aws_error *e, int status, const char *message,
    size_t message_length)
{
	char number[] = "HTTP status 000";
	size_t size = sizeof(e->text);
	const char *hint = errors_deserves_hint(e) ?
	    errors_hint(e->name, message) : NULL;

	if (hint != NULL) {
		errors_append_text(e->text, size, hint);
		errors_append_text(e->text, size, ": ");
	}
	if (e->name[0] != '\0') {
		errors_append_text(e->text, size, e->name);
	} else {
		for (size_t i = 0; i < 3; i++, status /= 10)
			number[14 - i] = (char)('0' + status % 10);
		errors_append_text(e->text, size, number);
	}
	if (message_length == 0)
		return;
	errors_append_text(e->text, size, ": ");
	errors_append(e->text, size, message, message_length);
}

/* Those that have nothing to look into; true if it was one. */
static bool
errors_classify_bare(int status, struct aws_error *ret)
{
	*ret = (struct aws_error){ .class = AWS_CLASS_OK };
	if (status >= 200 && status < 300)
		return true;
	if (status != 0)
		return false;
	ret->class = AWS_CLASS_TRANSIENT;
	ret->code = DDBLOCK_E_UNREACHABLE;
	errors_append_text(ret->text, sizeof(ret->text), "no answer");
	return true;
}

static const char *
errors_member(struct json_object *json, const char *name)
{
	struct json_object *value;

	if (!json_object_is_type(json, json_type_object) ||
	    !json_object_object_get_ex(json, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static bool
errors_has_reason(struct json_object *json, const char *code)
{
	struct json_object *reasons;
	size_t n;

	if (!json_object_object_get_ex(json, "CancellationReasons",
	    &reasons) || !json_object_is_type(reasons, json_type_array))
		return false;
	n = json_object_array_length(reasons);
	for (size_t i = 0; i < n; i++) {
		const char *its = errors_member(
		    json_object_array_get_idx(reasons, i), "Code");

		if (its != NULL && strcmp(its, code) == 0)
			return true;
	}
	return false;
}

/* A transaction did not happen. Where a condition failed, to repeat it is of
 * no use; what is throttled, or somebody else's for a moment, may come. */
static void
errors_cancelled(struct json_object *json, struct aws_error *e)
{
	if (strcmp(e->name, "TransactionCanceledException") != 0)
		return;
	if (errors_has_reason(json, "ConditionalCheckFailed")) {
		e->class = AWS_CLASS_CONDITION;
		e->code = 0;
	} else if (errors_has_reason(json, "ValidationError")) {
		errors_take_name(e, "ValidationException",
		    strlen("ValidationException"));
		e->class = AWS_CLASS_REFUSED;
		e->code = DDBLOCK_E_INTERNAL;
	} else if (errors_has_reason(json, "AccessDenied")) {
		e->class = AWS_CLASS_REFUSED;
		e->code = DDBLOCK_E_ACCESS_DENIED;
	} else if (errors_has_reason(json,
	    "ItemCollectionSizeLimitExceeded")) {
		e->class = AWS_CLASS_REFUSED;
		e->code = DDBLOCK_E_STORE_FULL;
	}
}

void
aws_errors_classify_json(int status, struct json_object *json,
    struct aws_error *ret)
{
	const char *type, *message;

	if (errors_classify_bare(status, ret))
		return;
	type = errors_member(json, "__type");
	if (type == NULL)
		type = errors_member(json, "code");
	message = errors_member(json, "message");
	if (message == NULL)
		message = errors_member(json, "Message");
	if (message == NULL)
		message = "";
	if (type != NULL)
		errors_take_name(ret, type, strlen(type));
	errors_classify_name(status, ret, message);
	errors_cancelled(json, ret);
	/* Of a wrong signature the lines that follow say what was signed, the
	 * session token included. */
	errors_write_text(ret, status, message, strcspn(message, "\n"));
}

/* What stands between <@tag> and the next '<'; NULL if it is not there. */
static const char *
errors_xml(const char *body, size_t body_length, const char *tag,
    size_t *ret_length)
{
	const char *start = memmem(body, body_length, tag, strlen(tag));
	const char *end;
	size_t left;

	if (start == NULL)
		return NULL;
	start += strlen(tag);
	left = body_length - (size_t)(start - body);
	end = memchr(start, '<', left);
	*ret_length = end != NULL ? (size_t)(end - start) : left;
	return start;
}

/*
 * ScyllaDB's Alternator puts its texts into JSON as they are, quotes included,
 * and that is none any more; but the name comes first, and is whole.
 */
static bool
errors_classify_unquoted(int status, const char *body, size_t body_length,
    struct aws_error *ret)
{
	static const char start[] = "{\"__type\":\"";
	static const char middle[] = "\",\"message\":\"";
	static const char end[] = "\"}";
	const size_t n_start = sizeof(start) - 1;
	const size_t n_middle = sizeof(middle) - 1, n_end = sizeof(end) - 1;
	char message[AWS_ERROR_TEXT_MAX] = "";
	const char *found, *text;

	if (body_length < n_start + n_middle + n_end ||
	    memcmp(body, start, n_start) != 0 ||
	    memcmp(body + body_length - n_end, end, n_end) != 0)
		return false;
	/* Between the two, or they would overlap. */
	found = memmem(body + n_start, body_length - n_start - n_end, middle,
	    n_middle);
	if (found == NULL)
		return false;
	text = found + n_middle;
	errors_take_name(ret, body + n_start,
	    (size_t)(found - body) - n_start);
	errors_append(message, sizeof(message), text,
	    (size_t)(body + body_length - n_end - text));
	errors_classify_name(status, ret, message);
	errors_write_text(ret, status, message, strlen(message));
	return true;
}

/* XML of the older services, HTML of a proxy, or anything. */
static void
errors_classify_text(int status, const char *body, size_t body_length,
    struct aws_error *ret)
{
	size_t code_length, length;
	const char *code = errors_xml(body, body_length, "<Code>",
	    &code_length);
	const char *text = errors_xml(body, body_length, "<Message>",
	    &length);
	char message[AWS_ERROR_TEXT_MAX] = "";

	if (code != NULL)
		errors_take_name(ret, code, code_length);
	if (text == NULL) {
		text = body;
		length = body_length < ERRORS_SNIPPET_MAX ?
		    body_length : ERRORS_SNIPPET_MAX;
	}
	errors_append(message, sizeof(message), text, length);
	errors_classify_name(status, ret, message);
	errors_write_text(ret, status, message, strlen(message));
}

static struct json_object *
errors_parse(const char *body, size_t body_length)
{
	struct json_tokener *tokener;
	struct json_object *json;

	if (body_length > ERRORS_BODY_MAX ||
	    !json_shape_is_object(body, body_length))
		return NULL;
	tokener = json_tokener_new_ex(ERRORS_DEPTH_MAX);
	if (tokener == NULL)
		return NULL;
	json = json_tokener_parse_ex(tokener, body, (int)body_length);
	json_tokener_free(tokener);
	return json;
}

bool
aws_error_is_credentials(const struct aws_error *e)
{
	return e->class == AWS_CLASS_REFUSED &&
	    e->code == DDBLOCK_E_NO_CREDENTIALS;
}

bool
aws_error_is_throttling(const struct aws_error *e)
{
	return e->class == AWS_CLASS_THROTTLED &&
	    strncmp(e->name, "Transaction", strlen("Transaction")) != 0;
}

void
aws_errors_classify(int status, const char *body, size_t body_length,
    struct aws_error *ret)
{
	struct json_object *json;

	if (errors_classify_bare(status, ret))
		return;
	json = errors_parse(body, body_length);
	if (json_object_is_type(json, json_type_object))
		aws_errors_classify_json(status, json, ret);
	else if (!errors_classify_unquoted(status, body, body_length, ret))
		errors_classify_text(status, body, body_length, ret);
	(void)json_object_put(json);
}

void
aws_errors_classify_answer(const struct aws_answer *answer,
    struct aws_error *ret)
{
	aws_errors_classify(answer->status, answer->body, answer->body_length,
	    ret);
	if (answer->status != 0)
		return;
	ret->code = answer->code;
	ret->text[0] = '\0';
	errors_append_text(ret->text, sizeof(ret->text), answer->text);
}
