/*
 * Asking the model of DynamoDB in tests. JSON is written with single quotes;
 * `~` in it stands for "TableName":"table".
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_ASK_H
#define DDBLOCKD_TESTS_DYNAMO_ASK_H

#include <json-c/json.h>

#include "dynamo.h"

#define KEY(k) "'Key':{'key':{'S':'" k "'}}"
#define PUT(k, more) "{~,'Item':{'key':{'S':'" k "'}" more "}}"
#define NAMES(alias, name) \
	"'ExpressionAttributeNames':{'" alias "':'" name "'}"
#define VALUES(alias, value) \
	"'ExpressionAttributeValues':{'" alias "':" value "}"
#define INVALID "ValidationException"
#define MALFORMED "SerializationException"
#define CONDITION "ConditionalCheckFailedException"
#define CANCELED "TransactionCanceledException"

#define ASK_WALL_MS UINT64_C(1700000000000)

/* "table" with partition key "key" (S), and the service's time. */
struct ask {
	struct dynamo *dynamo;
	uint64_t wall_ms;
	int status;
	char name[64];			/* of the error; "" */
	struct json_object *answer;	/* borrowed until the next */
};

void ask_init(struct ask *);
void ask_done(struct ask *);
/* @request may be longer than any format string: it is not one. */
void ask(struct ask *, const char *operation, const char *request);
/* Ask with @n letters between two pieces. */
void ask_long(struct ask *, const char *operation, const char *before,
    size_t n, const char *after);
/* Ask, and it must succeed with just this answer. */
void ask_expect(struct ask *, const char *operation, const char *request,
    const char *answer);
/* Ask, and it must fail with this error. */
void ask_refused(struct ask *, const char *operation, const char *request,
    const char *name);
/* The member of the answer at "a/b/0", as text; "" if there is none. */
const char *ask_text(const struct ask *, const char *path);
/* Single quotes become double quotes. Free it. */
char *ask_quote(const char *text);

#endif
