/*
 * What answers mean, with bodies as DynamoDB, its emulators, older services
 * and proxies send them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/errors.h"
#include "common/error.h"
#include "test.h"

struct row {
	int status;
	const char *body;
	enum aws_class class;
	int code;
	const char *name;
	const char *text;
};

static const struct row rows[] = {
	{ 200, "{}", AWS_CLASS_OK, 0, "", "" },
	{ 200, "garbage", AWS_CLASS_OK, 0, "", "" },
	{ 0, "", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "no answer" },

	{ 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"
	    "ConditionalCheckFailedException\",\"message\":\"The conditional "
	    "request failed\",\"Item\":{\"key\":{\"S\":\"lock:a\"}}}",
	    AWS_CLASS_CONDITION, 0, "ConditionalCheckFailedException",
	    "ConditionalCheckFailedException: The conditional request "
	    "failed" },
	{ 400, "{\"__type\":\"ConditionalCheckFailedException\"}",
	    AWS_CLASS_CONDITION, 0, "ConditionalCheckFailedException",
	    "ConditionalCheckFailedException" },

	/* A transaction that was cancelled: its reasons say what for. */
	{ 400, "{\"__type\":\"TransactionCanceledException\","
	    "\"CancellationReasons\":[{\"Code\":\"None\"},"
	    "{\"Code\":\"TransactionConflict\"},"
	    "{\"Code\":\"ConditionalCheckFailed\"}]}",
	    AWS_CLASS_CONDITION, 0, "TransactionCanceledException",
	    "TransactionCanceledException" },
	{ 400, "{\"__type\":\"TransactionCanceledException\","
	    "\"CancellationReasons\":[{\"Code\":\"None\"},"
	    "{\"Code\":\"TransactionConflict\"}]}",
	    AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED,
	    "TransactionCanceledException", "TransactionCanceledException" },
	{ 400, "{\"__type\":\"TransactionCanceledException\","
	    "\"CancellationReasons\":[{\"Code\":\"ValidationError\"},"
	    "{\"Code\":\"ThrottlingError\"}]}",
	    AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL, "ValidationException",
	    "ValidationException" },
	{ 400, "{\"__type\":\"TransactionCanceledException\","
	    "\"CancellationReasons\":[{\"Code\":\"AccessDenied\"}]}",
	    AWS_CLASS_REFUSED, DDBLOCK_E_ACCESS_DENIED,
	    "TransactionCanceledException", "TransactionCanceledException" },
	{ 400, "{\"__type\":\"TransactionCanceledException\","
	    "\"CancellationReasons\":[{},7,{\"Code\":"
	    "\"ItemCollectionSizeLimitExceeded\"}]}",
	    AWS_CLASS_REFUSED, DDBLOCK_E_STORE_FULL,
	    "TransactionCanceledException", "TransactionCanceledException" },
	{ 400, "{\"__type\":\"TransactionInProgressException\"}",
	    AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE,
	    "TransactionInProgressException",
	    "TransactionInProgressException" },

	{ 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"
	    "ProvisionedThroughputExceededException\",\"message\":\"m\"}",
	    AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED,
	    "ProvisionedThroughputExceededException",
	    "ProvisionedThroughputExceededException: m" },
	{ 400, "{\"__type\":\"com.amazon.coral.availability#"
	    "ThrottlingException\",\"Message\":\"Rate exceeded\"}",
	    AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED, "ThrottlingException",
	    "ThrottlingException: Rate exceeded" },
	{ 429, "", AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED, "",
	    "HTTP status 429" },
	{ 503, "<Error><Code>SlowDown</Code></Error>", AWS_CLASS_THROTTLED,
	    DDBLOCK_E_THROTTLED, "SlowDown",
	    "SlowDown: <Error><Code>SlowDown</Code></Error>" },

	{ 500, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"
	    "InternalServerError\",\"message\":\"oops\"}",
	    AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "InternalServerError",
	    "InternalServerError: oops" },
	{ 500, "{\"__type\":\"a#NeverHeardOf\"}", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE, "NeverHeardOf", "NeverHeardOf" },
	{ 502, "<html>\r\n<head><title>502 Bad Gateway</title>",
	    AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "HTTP status 502: <html> <head><title>502 Bad Gateway</title>" },
	{ 503, "", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "HTTP status 503" },
	{ 404, "nothing here", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "HTTP status 404: nothing here" },
	{ 400, "{\"__type\":", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "HTTP status 400: {\"__type\":" },
	{ 400, "{\"__type\":7,\"message\":{}}", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE, "", "HTTP status 400" },
	{ 301, "", AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE, "",
	    "HTTP status 301" },
	/* The ends of a name and the beginning of a text overlap. */
	{ 400, "{\"__type\":\",\"message\":\"xm\"}", AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE, "", "HTTP status 400: "
	    "{\"__type\":\",\"message\":\"xm\"}" },
	{ 403, "<html>proxy", AWS_CLASS_TRANSIENT, DDBLOCK_E_ACCESS_DENIED,
	    "", "HTTP status 403: <html>proxy" },

	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "InvalidSignatureException\",\"message\":\"Signature expired: "
	    "20200101T000000Z is now earlier than ...\"}", AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "InvalidSignatureException",
	    "this host's clock is behind: InvalidSignatureException: "
	    "Signature expired: 20200101T000000Z is now earlier than ..." },
	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "InvalidSignatureException\",\"message\":\"Signature not yet "
	    "current: 20300101T000000Z\"}", AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "InvalidSignatureException",
	    "this host's clock is ahead: InvalidSignatureException: "
	    "Signature not yet current: 20300101T000000Z" },
	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "InvalidSignatureException\",\"message\":\"The request signature "
	    "we calculated does not match\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "InvalidSignatureException",
	    "the secret access key does not belong to the access key id: "
	    "InvalidSignatureException: The request signature we calculated "
	    "does not match" },
	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "InvalidSignatureException\",\"message\":\"Credential should be "
	    "scoped to a valid region. \"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, "InvalidSignatureException",
	    "the region is not that of the endpoint: "
	    "InvalidSignatureException: Credential should be scoped to a "
	    "valid region. " },
	{ 403, "{\"__type\":\"RequestTimeTooSkewed\"}", AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "RequestTimeTooSkewed",
	    "this host's clock is wrong: RequestTimeTooSkewed" },
	{ 403, "{\"__type\":\"RequestExpired\"}", AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "RequestExpired",
	    "this host's clock is behind: RequestExpired" },
	{ 403, "{\"__type\":\"RequestInTheFuture\"}", AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "RequestInTheFuture",
	    "this host's clock is ahead: RequestInTheFuture" },
	{ 403, "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch"
	    "</Code><Message>Not the same</Message></Error>",
	    AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS,
	    "SignatureDoesNotMatch", "the secret access key does not belong "
	    "to the access key id: SignatureDoesNotMatch: Not the same" },

	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "UnrecognizedClientException\",\"message\":\"The security token "
	    "included in the request is invalid.\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "UnrecognizedClientException",
	    "AWS does not know this access key, or the session token is not "
	    "its: UnrecognizedClientException: The security token included in "
	    "the request is invalid." },
	{ 400, "{\"__type\":\"com.amazon.coral.service#ExpiredTokenException\""
	    ",\"message\":\"x\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "ExpiredTokenException",
	    "the session token has expired: get a new one: "
	    "ExpiredTokenException: x" },
	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "MissingAuthenticationToken\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "MissingAuthenticationToken",
	    "the signature did not arrive whole, as if a proxy changed "
	    "requests: MissingAuthenticationToken" },
	{ 403, "{\"__type\":\"OptInRequired\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, "OptInRequired", "the account has not "
	    "enabled this service in this region: OptInRequired" },
	/* A text inside a client's data is no advice. */
	{ 400, "{\"__type\":\"ValidationException\",\"message\":"
	    "\"Signature expired\"}", AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL,
	    "ValidationException", "ValidationException: Signature expired" },
	{ 400, "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\""
	    ",\"Message\":\"User: x is not authorized\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, "AccessDeniedException",
	    "AccessDeniedException: User: x is not authorized" },
	{ 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"
	    "ResourceNotFoundException\",\"message\":\"Requested resource not "
	    "found\"}", AWS_CLASS_REFUSED, DDBLOCK_E_NO_TABLE,
	    "ResourceNotFoundException", "ResourceNotFoundException: "
	    "Requested resource not found" },
	{ 400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\","
	    "\"message\":\"The provided key element does not match the "
	    "schema\"}", AWS_CLASS_REFUSED, DDBLOCK_E_WRONG_TABLE,
	    "ValidationException", "ValidationException: The provided key "
	    "element does not match the schema" },
	{ 400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\","
	    "\"message\":\"Invalid UpdateExpression\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_INTERNAL, "ValidationException",
	    "ValidationException: Invalid UpdateExpression" },
	{ 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"
	    "SomethingNewException:http://x/\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_INTERNAL, "SomethingNewException",
	    "SomethingNewException" },
};

static void
expect(const struct row *w, size_t length)
{
	struct aws_error e;
	char *body = malloc(length > 0 ? length : 1);

	/* No byte more than there is, for the sanitizer's sake. */
	memcpy(body, w->body, length);
	memset(&e, 0xa5, sizeof(e));
	aws_errors_classify(w->status, body, length, &e);
	ck_assert_msg(e.class == w->class, "%s: class %u", w->body, e.class);
	ck_assert_msg(e.code == w->code, "%s: code %d", w->body, e.code);
	ck_assert_str_eq(e.name, w->name);
	ck_assert_str_eq(e.text, w->text);
	free(body);
}

TEST_ROWS(test_row, rows)
{
	expect(&rows[_i], strlen(rows[_i].body));
}

static void
classify(const char *body, size_t length, struct aws_error *ret)
{
	memset(ret, 0xa5, sizeof(*ret));
	aws_errors_classify(400, body, length, ret);
}

TEST(test_text_is_fit_to_print)
{
	static const char bytes[] = "a\0\x1b[31m\xff\xc3\xa4\xc3\n\n b\xed\xa0"
	    "\x80" "c\xf0\x9f\x94\x92";
	struct aws_error e;

	classify(bytes, sizeof(bytes) - 1, &e);
	ck_assert_str_eq(e.text, "HTTP status 400: a [31m \xc3\xa4 b c"
	    "\xf0\x9f\x94\x92");
}

/* What AWS says of a wrong signature has the session token in it. */
TEST(test_text_is_one_line)
{
	static const char body[] = "{\"__type\":\"com.amazon.coral.service"
	    "#InvalidSignatureException\",\"message\":\"It does not match."
	    "\\n\\nThe Canonical String for this request should have been"
	    "\\n'POST\\n/\\n\\nx-amz-security-token:hush'\"}";
	struct aws_error e;

	classify(body, sizeof(body) - 1, &e);
	ck_assert_int_eq(e.code, DDBLOCK_E_NO_CREDENTIALS);
	ck_assert_str_eq(e.text,
	    "the secret access key does not belong to the access key id: "
	    "InvalidSignatureException: It does not match.");
}

TEST(test_text_is_bounded)
{
	static char body[20000];
	struct aws_error e;
	size_t length;

	/* Two-byte characters, so that the cut must not be in one. */
	length = (size_t)snprintf(body, sizeof(body),
	    "{\"__type\":\"ThrottlingException\",\"message\":\"");
	while (length < 10000) {
		memcpy(body + length, "\xc3\xa4", 2);
		length += 2;
	}
	memcpy(body + length, "\"}", 2);
	length += 2;
	classify(body, length, &e);
	ck_assert_int_eq(e.class, AWS_CLASS_THROTTLED);
	ck_assert_uint_ge(strlen(e.text), AWS_ERROR_TEXT_MAX - 3);
	ck_assert_uint_lt(strlen(e.text), AWS_ERROR_TEXT_MAX);
	ck_assert_uint_eq((strlen(e.text) - strlen("ThrottlingException: ")) %
	    2, 0);
}

TEST(test_name_is_bounded)
{
	char body[512];
	struct aws_error e;
	int length = snprintf(body, sizeof(body), "{\"__type\":\"x#%0200d\"}",
	    7);

	classify(body, (size_t)length, &e);
	ck_assert_uint_eq(strlen(e.name), AWS_ERROR_NAME_MAX - 1);
	ck_assert_int_eq(e.class, AWS_CLASS_REFUSED);
}

TEST(test_deep_and_strange_bodies)
{
	static const char *const strange[] = {
		"", "null", "[]", "[[[[", "\"text\"", "{}",
		"{\"message\":null}",
		"{\"__type\":\"\"}", "{\"__type\":\"#\"}", "<Code>", "<Code><",
		"<Message>", "\xef\xbb\xbf{}", "{\"__type\":\"\\u0000\"}",
	};
	static char deep[4000];
	struct aws_error e;

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		classify(strange[i], strlen(strange[i]), &e);
		ck_assert_int_eq(e.class, AWS_CLASS_TRANSIENT);
		ck_assert_int_eq(e.code, DDBLOCK_E_UNREACHABLE);
		ck_assert_str_eq(e.name, "");
	}
	memset(deep, '[', sizeof(deep));
	classify(deep, sizeof(deep), &e);
	ck_assert_int_eq(e.class, AWS_CLASS_TRANSIENT);
}

/* Which of them other credentials may cure. */
TEST(test_credentials)
{
	static const struct {
		const char *body;
		bool its;
	} cases[] = {
		{ "{\"__type\":\"ExpiredTokenException\"}", true },
		{ "{\"__type\":\"UnrecognizedClientException\"}", true },
		{ "{\"__type\":\"InvalidClientTokenId\"}", true },
		{ "{\"__type\":\"InvalidSignatureException\"}", true },
		{ "{\"__type\":\"InvalidSignatureException\",\"message\":"
		    "\"Signature expired: x\"}", false },
		{ "{\"__type\":\"InvalidSignatureException\",\"message\":"
		    "\"Credential should be scoped to x\"}", false },
		{ "{\"__type\":\"RequestExpired\"}", false },
		{ "{\"__type\":\"AccessDeniedException\"}", false },
		{ "{\"__type\":\"ValidationException\"}", false },
		{ "not by AWS", false },
	};
	struct aws_error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		classify(cases[i].body, strlen(cases[i].body), &e);
		ck_assert_msg(aws_error_is_credentials(&e) == cases[i].its,
		    "%s", cases[i].body);
	}
}
