/*
 * DynamoDB and nothing else: the two requests that taking and releasing a lock
 * cost at least, with the very same bodies, signed and sent by the daemon's
 * HTTP code from a loop of the bench's own. Needs an endpoint in the
 * environment.
 */
#define _GNU_SOURCE 1 /* memmem() */

#include "bench.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/clock.h"
#include "dialect/dialect.h"

#define TIMEOUT_MS 5000

/* A line in which at least one host stands, in the text of a record. */
#define LINE_TEXT "\"line\":{\"L\":[{"

struct bare_dynamodb {
	struct event_base *base;
	struct aws_client *aws;
	struct dialect_table table;
	uint64_t serial;
	bool answered;
	bool line_seen;		/* in the last answer */
};

static void
bare_dynamodb_on_answer(void *arg, const struct aws_answer *answer)
{
	struct bare_dynamodb *b = arg;

	if (answer->status != 200)
		die("DynamoDB says %d: %.*s %s", answer->status,
		    (int)answer->body_length,
		    answer->body != NULL ? answer->body : "", answer->text);
	b->line_seen = answer->body != NULL && memmem(answer->body,
	    answer->body_length, LINE_TEXT, strlen(LINE_TEXT)) != NULL;
	b->answered = true;
}

static void
bare_dynamodb_call(struct bare_dynamodb *b, const struct operation *operation)
{
	struct dialect_attempt attempt = { .step = DIALECT_DO };
	struct dialect_request request;
	struct dialect_view view;
	struct aws_call *call;

	attempt.wall_ms = clock_wall_ms();
	dialect_request_init(&request);
	dialect_view_init(&view);
	if (dialect_native.request(&b->table, operation, &attempt, &request,
	    &view) != 0)
		die("a request: %s", view.text);
	b->answered = false;
	if (aws_client_call(b->aws, AWS_LANE_LOCK, 0, request.operation,
	    request.body.data, request.body.length, TIMEOUT_MS,
	    bare_dynamodb_on_answer, b, &call) != 0)
		die("a request cannot be sent");
	while (!b->answered)
		event_base_loop(b->base, EVLOOP_ONCE);
	dialect_view_clear(&view);
	dialect_request_done(&request);
}

/* As the core asks for it, with the same owner. */
double
bare_dynamodb_cycle(struct bare_dynamodb *b, const char *key)
{
	struct operation operation = { .kind = OPERATION_ACQUIRE };
	double start_us = now_us();

	operation.key.bytes = key;
	operation.key.length = strlen(key);
	operation.me.session.high = 0x0123456789abcdef;
	operation.me.grant.low = ++b->serial;
	operation.me.lease_ms = 20000;
	operation.tokens = 1;
	operation.mode = LOCK_MODE_EXCLUSIVE;
	operation.owner = "a-host/ddblock-bench:1234567";
	bare_dynamodb_call(b, &operation);
	operation.kind = OPERATION_RELEASE;
	operation.holders = &operation.me;
	operation.n_holders = 1;
	bare_dynamodb_call(b, &operation);
	return now_us() - start_us;
}

bool
bare_dynamodb_has_line(struct bare_dynamodb *b, const char *key)
{
	struct operation operation = { .kind = OPERATION_READ };

	operation.key.bytes = key;
	operation.key.length = strlen(key);
	bare_dynamodb_call(b, &operation);
	return b->line_seen;
}

struct bare_dynamodb *
bare_dynamodb_open(const char *table)
{
	const struct aws_client_config config = {
		.service = "dynamodb",
		.connections_max = { 1, 1, 1 },
		.connect_timeout_ms = 1000,
	};
	struct credentials credentials = { .expires_ms = 0 };
	const struct aws_client_origin origin = {
		.url = getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		.region = getenv("AWS_REGION"),
		.credentials = &credentials,
	};
	struct bare_dynamodb *b = calloc(1, sizeof(*b));
	char text[256] = "";

	if (b == NULL)
		die("out of memory");
	b->table.table = table;
	b->table.key_attribute = "key";
	b->table.retention_s = 7 * 24 * 3600;
	b->table.host = "a-host";
	b->table.pid = "1";
	b->table.version = "bench";
	b->base = event_base_new();
	if (b->base == NULL || aws_client_new(b->base, &config, &b->aws) != 0)
		die("aws: no client");
	if (credentials_set(&credentials, getenv("AWS_ACCESS_KEY_ID"),
	    getenv("AWS_SECRET_ACCESS_KEY"), NULL, text, sizeof(text)) != 0 ||
	    aws_client_use(b->aws, &origin, text, sizeof(text)) != 0)
		die("aws: %s", text);
	credentials_done(&credentials);
	return b;
}

void
bare_dynamodb_close(struct bare_dynamodb *b)
{
	aws_client_free(b->aws);
	event_base_free(b->base);
	free(b);
}
