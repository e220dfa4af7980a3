/*
 * The errors of programs that answer in DynamoDB's place: ScyllaDB's
 * Alternator, as its source writes them (alternator/error.hh for names and
 * statuses, server.cc for the body, the file named for the text), and dynalite
 * 4.0.0, as recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "aws/errors.h"
#include "common/error.h"
#include "ddblock.h"
#include "test.h"

#define ALTERNATOR(name, message) \
	"{\"__type\":\"com.amazonaws.dynamodb.v20120810#" name "\"," \
	"\"message\":\"" message "\"}"
#define DYNALITE(space, name, message) \
	"{\"__type\":\"" space "#" name "\",\"message\":\"" message "\"}"

static const struct row {
	int status;
	const char *body;
	enum aws_class class;
	int code;
	const char *name;
} rows[] = {
	/* executor.cc; older ones say "Failed condition." */
	{ 400, ALTERNATOR("ConditionalCheckFailedException",
	    "The conditional request failed"), AWS_CLASS_CONDITION, 0,
	    "ConditionalCheckFailedException" },
	{ 400, ALTERNATOR("ConditionalCheckFailedException",
	    "Failed condition."), AWS_CLASS_CONDITION, 0,
	    "ConditionalCheckFailedException" },
	/* auth.cc, check_expiry() */
	{ 400, ALTERNATOR("InvalidSignatureException", "Signature expired: "
	    "20260101T000000Z is now earlier than 20260101T002000Z (current "
	    "time - 15 min.)"), AWS_CLASS_CLOCK, DDBLOCK_E_ACCESS_DENIED,
	    "InvalidSignatureException" },
	{ 400, ALTERNATOR("InvalidSignatureException", "Signature not yet "
	    "current: 20260101T004000Z is still later than 20260101T002000Z "
	    "(current time + 15 min.)"), AWS_CLASS_CLOCK,
	    DDBLOCK_E_ACCESS_DENIED, "InvalidSignatureException" },
	/* auth.cc, get_key_from_roles() */
	{ 400, ALTERNATOR("UnrecognizedClientException",
	    "User not found: AKIDEXAMPLE"), AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "UnrecognizedClientException" },
	/* server.cc, verify_signature(): of a wrong secret, too */
	{ 400, ALTERNATOR("UnrecognizedClientException", "The security token "
	    "included in the request is invalid."), AWS_CLASS_REFUSED,
	    DDBLOCK_E_NO_CREDENTIALS, "UnrecognizedClientException" },
	{ 400, ALTERNATOR("MissingAuthenticationTokenException",
	    "Authorization header is mandatory for signature verification"),
	    AWS_CLASS_REFUSED, DDBLOCK_E_NO_CREDENTIALS,
	    "MissingAuthenticationTokenException" },
	/* server.cc, handle_api_request(): transactions, for one */
	{ 400, ALTERNATOR("UnknownOperationException",
	    "Unsupported operation TransactWriteItems"), AWS_CLASS_REFUSED,
	    DDBLOCK_E_UNREACHABLE, "UnknownOperationException" },
	{ 400, ALTERNATOR("RequestLimitExceeded", "too many in-flight "
	    "requests: 1001"), AWS_CLASS_THROTTLED, DDBLOCK_E_THROTTLED,
	    "RequestLimitExceeded" },
	/* executor.cc, rmw_operation::execute() */
	{ 400, ALTERNATOR("ValidationException", "Read-modify-write operations "
	    "are disabled by 'forbid_rmw' write isolation policy."),
	    AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL, "ValidationException" },
	/* server.cc, api_handler: whatever else was thrown; the write may
	 * have been carried out. The second has quotes of its own. */
	{ 500, ALTERNATOR("InternalServerError", "Internal server error: "
	    "exceptions::mutation_write_timeout_exception (Operation timed "
	    "out)"), AWS_CLASS_TRANSIENT, DDBLOCK_E_UNREACHABLE,
	    "InternalServerError" },
	{ 500, ALTERNATOR("InternalServerError", "Internal server error: "
	    "std::runtime_error (no \"quorum\" of it)"), AWS_CLASS_TRANSIENT,
	    DDBLOCK_E_UNREACHABLE, "InternalServerError" },
	{ 400, ALTERNATOR("ValidationException", "Invalid \"Key\": {\"a\":1}"),
	    AWS_CLASS_REFUSED, DDBLOCK_E_INTERNAL, "ValidationException" },
	/* dynalite */
	{ 400, DYNALITE("com.amazonaws.dynamodb.v20120810",
	    "ConditionalCheckFailedException",
	    "The conditional request failed"), AWS_CLASS_CONDITION, 0,
	    "ConditionalCheckFailedException" },
	{ 400, DYNALITE("com.amazonaws.dynamodb.v20120810",
	    "ResourceNotFoundException", "Requested resource not found"),
	    AWS_CLASS_REFUSED, DDBLOCK_E_NO_TABLE,
	    "ResourceNotFoundException" },
	{ 400, "{\"__type\":\"com.amazon.coral.service#"
	    "UnknownOperationException\"}", AWS_CLASS_REFUSED,
	    DDBLOCK_E_UNREACHABLE, "UnknownOperationException" },
	{ 400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\","
	    "\"message\":\"The provided key element does not match the "
	    "schema\"}", AWS_CLASS_REFUSED, DDBLOCK_E_WRONG_TABLE,
	    "ValidationException" },
};

TEST(test_rows)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct aws_error e;

		aws_errors_classify(rows[i].status, rows[i].body,
		    strlen(rows[i].body), &e);
		ck_assert_msg(e.class == rows[i].class, "%s", rows[i].body);
		ck_assert_msg(e.code == rows[i].code, "%s", rows[i].body);
		ck_assert_str_eq(e.name, rows[i].name);
	}
}

/* What quotes break, the text still tells. */
TEST(test_quotes)
{
	static const char body[] = ALTERNATOR("ValidationException",
	    "no \"a\" in\n{\"b\":1}");
	struct aws_error e;

	aws_errors_classify(400, body, sizeof(body) - 1, &e);
	ck_assert_str_eq(e.text,
	    "ValidationException: no \"a\" in {\"b\":1}");
}

/* One that was cut off is not taken for whole, wherever that was. */
TEST(test_cut_off)
{
	static const char body[] = ALTERNATOR(
	    "ConditionalCheckFailedException", "no \"a\"");
	struct aws_error e;

	for (size_t n = 0; n < sizeof(body) - 1; n++) {
		aws_errors_classify(400, body, n, &e);
		ck_assert_msg(e.class == AWS_CLASS_TRANSIENT, "%zu", n);
		ck_assert_str_eq(e.name, "");
	}
	aws_errors_classify(400, body, sizeof(body) - 1, &e);
	ck_assert_int_eq(e.class, AWS_CLASS_CONDITION);
}
