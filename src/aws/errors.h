/*
 * The meaning of an answer of DynamoDB for its request: by the name of the
 * error first, by the HTTP status where there is no name that we know.
 *
 * Names come after '#' in "__type", before which services and emulators put
 * differing namespaces; texts come as "message" or "Message"; some answer in
 * XML, and proxies in HTML. An answer without a name of DynamoDB's own proves
 * nothing, so it never counts as "it did not happen" (429 excepted).
 */
#ifndef DDBLOCKD_AWS_ERRORS_H
#define DDBLOCKD_AWS_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "aws/answer.h"

#define AWS_ERROR_NAME_MAX 64
#define AWS_ERROR_TEXT_MAX 256

enum aws_class {
	AWS_CLASS_OK = 0,	/* 2xx; says nothing of the body */
	AWS_CLASS_CONDITION,	/* the condition failed: it did not happen */
	AWS_CLASS_THROTTLED,	/* did not happen; repeat after a while */
	AWS_CLASS_TRANSIENT,	/* may have happened; repeat */
	AWS_CLASS_CLOCK,	/* did not happen; sign again with the time of
				 * the answer's Date, which the client has
				 * taken over already */
	AWS_CLASS_REFUSED,	/* did not happen, and would not next time */
};

struct json_object;

struct aws_error {
	enum aws_class class;
	int code;	/* 0 for OK and CONDITION, else DDBLOCK_E_* */
	char name[AWS_ERROR_NAME_MAX];	/* "ThrottlingException"; or empty */
	char text[AWS_ERROR_TEXT_MAX];	/* for people, advice first; empty for
					 * OK */
};

/*
 * Classify an answer with HTTP @status (0: none came, which is TRANSIENT and
 * UNREACHABLE; whether it may have been applied is in the answer). @body need
 * not be JSON nor end in NUL. @ret->text never holds control characters or
 * broken UTF-8.
 */
void aws_errors_classify(int status, const char *body, size_t body_length,
    struct aws_error *ret);

/* The same with a parsed body: @json may be NULL. */
void aws_errors_classify_json(int status, struct json_object *json,
    struct aws_error *ret);

/* The same for what came back, or did not: then code and text are those of the
 * answer. */
void aws_errors_classify_answer(const struct aws_answer *,
    struct aws_error *ret);

/*
 * Were the credentials not accepted, so that others may be: expired, unknown,
 * or not fitting the signature? Not a clock that is wrong, nor a permission
 * that is missing: those get no better by other credentials.
 */
bool aws_error_is_credentials(const struct aws_error *);

/* Does the service ask for fewer requests? Not if only a transaction of another
 * client was in the way. */
bool aws_error_is_throttling(const struct aws_error *);

#endif
