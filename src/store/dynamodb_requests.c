/*
 * The harmless requests that show what the credentials may do.
 */
#include "store/dynamodb_requests.h"

#include "dialect/json.h"
#include "store/dynamodb_schema.h"

#define REQUESTS_NEVER "attribute_exists(#k) AND attribute_not_exists(#k)"

static unsigned
requests_of(const struct dialect *d, const struct dialect_table *t)
{
	const unsigned reads = 1u << REQUEST_GET | 1u << REQUEST_BATCH_GET |
	    1u << REQUEST_SCAN;
	const unsigned put = 1u << REQUEST_PUT, delete = 1u << REQUEST_DELETE;
	const unsigned update = 1u << REQUEST_UPDATE;

	const unsigned take = t->keep_attributes ? 0 : put;

	if (d == &dialect_native)
		return reads | put | update | 1u << REQUEST_TRANSACT;
	if (d == &dialect_awslabs)
		return reads | put | update | (t->keep_released ? 0 : delete);
	if (d == &dialect_js_fail_open)
		return reads | take | update;
	if (d == &dialect_js_fail_closed)
		return reads | update | delete;
	if (d == &dialect_dlock)
		return reads | take | update | (t->fencing ? 0 : delete);
	return reads | put | update | delete;
}

bool
requests_has(const struct dialect *d, const struct dialect_table *t,
    enum dynamodb_request request)
{
	return (requests_of(d, t) >> request & 1) != 0;
}

const char *
requests_name(enum dynamodb_request request)
{
	static const char *const names[] = {
		[REQUEST_GET] = "GetItem",
		[REQUEST_BATCH_GET] = "BatchGetItem",
		[REQUEST_SCAN] = "Scan",
		[REQUEST_PUT] = "PutItem",
		[REQUEST_UPDATE] = "UpdateItem",
		[REQUEST_DELETE] = "DeleteItem",
		[REQUEST_TRANSACT] = "TransactWriteItems",
	};

	return names[request];
}

static void
requests_write_table(struct buffer *b, const struct dialect_table *t)
{
	(void)buffer_append_text(b, "\"TableName\":");
	json_append_text(b, t->table);
}

/* ,"Key":{...}, or as another member */
static void
requests_write_key(struct buffer *b, const struct dialect_table *t,
    const char *member)
{
	(void)buffer_printf(b, ",\"%s\":", member);
	schema_write_no_key(b, t);
}

static void
requests_write_never(struct buffer *b, const struct dialect_table *t,
    const char *more_names)
{
	(void)buffer_printf(b, ",\"ConditionExpression\":\"%s\","
	    "\"ExpressionAttributeNames\":{%s\"#k\":", REQUESTS_NEVER,
	    more_names);
	json_append_text(b, t->key_attribute);
	(void)buffer_append_text(b, "}");
}

static void
requests_write_batch(struct buffer *b, const struct dialect_table *t)
{
	(void)buffer_append_text(b, "\"RequestItems\":{");
	json_append_text(b, t->table);
	(void)buffer_append_text(b, ":{\"ConsistentRead\":true,\"Keys\":[");
	schema_write_no_key(b, t);
	(void)buffer_append_text(b, "]}}");
}

/* In a transaction, unlike by itself, an update must say what it changes. */
static void
requests_write_transaction(struct buffer *b, const struct dialect_table *t)
{
	(void)buffer_append_text(b, "\"TransactItems\":[{\"Update\":{");
	requests_write_table(b, t);
	requests_write_key(b, t, "Key");
	(void)buffer_append_text(b, ",\"UpdateExpression\":\"REMOVE #none\"");
	requests_write_never(b, t, "\"#none\":\"none\",");
	(void)buffer_append_text(b, "}}]");
}

void
requests_write(enum dynamodb_request request, const struct dialect_table *t,
    struct buffer *b)
{
	(void)buffer_append_text(b, "{");
	switch (request) {
	case REQUEST_BATCH_GET:
		requests_write_batch(b, t);
		break;
	case REQUEST_TRANSACT:
		requests_write_transaction(b, t);
		break;
	case REQUEST_GET:
		requests_write_table(b, t);
		requests_write_key(b, t, "Key");
		(void)buffer_append_text(b, ",\"ConsistentRead\":true");
		break;
	case REQUEST_SCAN:
		requests_write_table(b, t);
		(void)buffer_append_text(b, ",\"Limit\":1");
		break;
	case REQUEST_PUT:
	case REQUEST_UPDATE:
	case REQUEST_DELETE:
	case REQUESTS:
		requests_write_table(b, t);
		requests_write_key(b, t, request == REQUEST_PUT ?
		    "Item" : "Key");
		requests_write_never(b, t, "");
		break;
	}
	(void)buffer_append_text(b, "}");
}
