/*
 * The time that the daemon adds to DynamoDB: lock and release through the
 * socket, against the very same two request bodies, signed and sent by the same
 * HTTP code from a loop of the bench's own. Needs an endpoint in the
 * environment (`make bench` starts DynamoDB Local).
 */
#include "bench.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/clock.h"
#include "dialect/dialect.h"

#define DYNAMODB_WHAT "DynamoDB Local, lock + release"
#define SEVERAL 10
#define SEVERAL_REPETITIONS 50

struct dynamodb_bench {
	struct daemon daemon;
	struct line_client client;
	struct event_base *base;
	struct aws_client *aws;
	struct dialect_table table;
	uint64_t serial;
	bool answered;
};

static void
dynamodb_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_bench *b = arg;

	if (answer->status != 200)
		die("DynamoDB says %d: %.*s %s", answer->status,
		    (int)answer->body_length,
		    answer->body != NULL ? answer->body : "", answer->text);
	b->answered = true;
}

static void
dynamodb_call(struct dynamodb_bench *b, const struct operation *operation)
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
	    request.body.data, request.body.length, 5000, dynamodb_on_answer,
	    b, &call) != 0)
		die("a request cannot be sent");
	while (!b->answered)
		event_base_loop(b->base, EVLOOP_ONCE);
	dialect_view_clear(&view);
	dialect_request_done(&request);
}

/* As the core asks for it: the same owner, the same length of the key. */
static double
dynamodb_measure_bare(struct dynamodb_bench *b)
{
	char key[64];
	struct operation operation = { .kind = OPERATION_ACQUIRE };
	double start_us = now_us();

	snprintf(key, sizeof(key), "bench/dynamodb/%012" PRIu64,
	    b->serial++);
	operation.key.bytes = key;
	operation.key.length = strlen(key);
	operation.me.session.high = 0x0123456789abcdef;
	operation.me.grant.low = b->serial;
	operation.me.lease_ms = 20000;
	operation.tokens = 1;
	operation.mode = LOCK_MODE_EXCLUSIVE;
	operation.owner = "a-host/ddblock-bench:1234567";
	dynamodb_call(b, &operation);
	operation.kind = OPERATION_RELEASE;
	operation.holders = &operation.me;
	operation.n_holders = 1;
	dynamodb_call(b, &operation);
	return now_us() - start_us;
}

static double
dynamodb_measure_ours(struct dynamodb_bench *b)
{
	char key[64];
	double start_us = now_us();

	snprintf(key, sizeof(key), "bench/dynamodb/%012" PRIu64,
	    b->serial++);
	line_cycle(&b->client, key);
	return now_us() - start_us;
}

/* How many requests the daemon has sent by now. */
static double
dynamodb_requests(struct dynamodb_bench *b)
{
	static const char name[] = " requests=";
	const char *found;
	double number;

	line_send(&b->client, "STATUS\n");
	found = strstr(line_read(&b->client), name);
	if (found == NULL)
		die("STATUS does not say how many requests there were");
	number = strtod(found + strlen(name), NULL);
	line_read_ok(&b->client);
	return number;
}

static double
dynamodb_several(struct dynamodb_bench *b)
{
	double before = dynamodb_requests(b), after;
	const char *line;
	uint64_t id;

	line_send(&b->client, "ACQUIRE");
	for (int i = 0; i < SEVERAL; i++)
		line_send(&b->client, " bench/%012" PRIu64, b->serial++);
	line_send(&b->client, "\n");
	while ((line = line_read(&b->client))[0] == '+')
		continue;
	if (strncmp(line, "OK id=", 6) != 0)
		die("several locks: %s", line);
	id = strtoull(line + 6, NULL, 10);
	after = dynamodb_requests(b);
	line_send(&b->client, "RELEASE id=%" PRIu64 "\n", id);
	line_read_ok(&b->client);
	return after - before;
}

/* The cost of several locks as one, when they are free. */
static void
dynamodb_report_several(struct dynamodb_bench *b)
{
	double requests[SEVERAL_REPETITIONS];
	double middle;
	char text[32];

	for (int i = 0; i < SEVERAL_REPETITIONS; i++)
		requests[i] = dynamodb_several(b);
	middle = median(requests, SEVERAL_REPETITIONS);
	snprintf(text, sizeof(text), "%.0f", middle);
	report_row("DynamoDB Local, requests for 10 locks as one", text, "",
	    middle, AT_MOST, 2);
}

static void
dynamodb_open(struct dynamodb_bench *b)
{
	char text[256] = "";
	struct credentials credentials = { .expires_ms = 0 };
	const struct aws_client_config config = {
		.service = "dynamodb",
		.connections_max = { 1, 1, 1 },
		.connect_timeout_ms = 1000,
	};
	const struct aws_client_origin origin = {
		.url = getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		.region = getenv("AWS_REGION"),
		.credentials = &credentials,
	};

	b->table.table = "ddblock-bench";
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
	init_table("ddblock-bench");
	daemon_start(&b->daemon, "dynamodb", "store = dynamodb\n"
	    "table = ddblock-bench\nrequest_rate = 0\n");
	line_open(&b->client, b->daemon.socket);
}

void
bench_dynamodb(void)
{
	static struct dynamodb_bench b;
	struct pairs pairs;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed(DYNAMODB_WHAT, "there is no endpoint");
		return;
	}
	dynamodb_open(&b);
	/* The Java virtual machine needs a while to be itself. */
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		dynamodb_measure_ours(&b);
		dynamodb_measure_bare(&b);
	}
	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = dynamodb_measure_ours(&b);

		pairs_add(&pairs, ours, dynamodb_measure_bare(&b));
	}
	report_us(DYNAMODB_WHAT, &pairs, AT_MOST, 1.15);
	pairs_done(&pairs);
	dynamodb_report_several(&b);
	line_close(&b.client);
	daemon_stop(&b.daemon);
	aws_client_free(b.aws);
	event_base_free(b.base);
}
