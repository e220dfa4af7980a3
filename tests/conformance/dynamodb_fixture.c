/*
 * A store on a DynamoDB endpoint for tests, and the endpoint.
 */
#include "dynamodb_fixture.h"

#include <check.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_dynamodb.h"

#define FIXTURE_AT_ONCE 3
#define FIXTURE_REGION "us-east-1"
#define FIXTURE_KEY_ID "AKIDEXAMPLE"
#define FIXTURE_SECRET "not-a-secret"

void
fixture_need_endpoint(void)
{
	const char *source = getenv("srcdir");
	char script[4096];
	char self[4096];
	ssize_t n;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") != NULL) {
		(void)signal(SIGPIPE, SIG_IGN);
		return;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		exit(99);
	self[n] = '\0';
	(void)snprintf(script, sizeof(script),
	    "%s/tests/integration/dynamodb-local",
	    source != NULL ? source : ".");
	(void)execl(script, script, "dynamodb-local.d", self, (char *)NULL);
	perror(script);
	exit(99);
}

/* 1 if the one that ends next has failed. */
static int
fixture_wait(void)
{
	int status;

	return wait(&status) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != EXIT_SUCCESS;
}

int
fixture_run_each(int (*run)(size_t), size_t n)
{
	int failed = 0;

	(void)fflush(stdout);
	for (size_t i = 0; i < n; i++) {
		pid_t child;

		if (i >= FIXTURE_AT_ONCE)
			failed += fixture_wait();
		child = fork();
		if (child == 0)
			exit(run(i) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
		if (child < 0)
			exit(99);
	}
	for (size_t i = 0; i < n && i < FIXTURE_AT_ONCE; i++)
		failed += fixture_wait();
	return failed;
}

static const char *
fixture_endpoint(void)
{
	return getenv("AWS_ENDPOINT_URL_DYNAMODB");
}

struct aws_client *
fixture_client(struct event_base *base)
{
	const struct aws_client_config config = { .service = "dynamodb" };
	struct credentials credentials = { .expires_ms = 0 };
	const struct aws_client_origin origin = {
		.url = fixture_endpoint(),
		.region = FIXTURE_REGION,
		.credentials = &credentials,
	};
	struct aws_client *client = NULL;
	char text[512] = "out of memory";

	if (credentials_set(&credentials, FIXTURE_KEY_ID, FIXTURE_SECRET, NULL,
	    text, sizeof(text)) < 0 ||
	    aws_client_new(base, &config, &client) < 0 ||
	    aws_client_use(client, &origin, text, sizeof(text)) < 0)
		ck_abort_msg("%s", text);
	credentials_done(&credentials);
	return client;
}

struct store *
fixture_open_as(struct event_base *base, struct store_dynamodb_config *config,
    store_outcome_fn outcome, void *arg)
{
	struct store *store = NULL;
	char text[512];

	config->namespace_name = "default";
	config->region = FIXTURE_REGION;
	config->access_key_id = FIXTURE_KEY_ID;
	config->secret_access_key = FIXTURE_SECRET;
	config->table.host = "web-1";
	config->table.pid = "812";
	config->table.version = "0.1.0";
	if (store_dynamodb_new(base, config, outcome, arg, &store, text,
	    sizeof(text)) < 0)
		ck_abort_msg("%s", text);
	return store;
}

struct store *
fixture_open(struct event_base *base, const char *table,
    const char *key_attribute, const char *sort_attribute,
    store_outcome_fn outcome, void *arg)
{
	return fixture_open_as(base, &(struct store_dynamodb_config){
		.endpoint = fixture_endpoint(), .table = {
			.table = table, .key_attribute = key_attribute,
			.sort_attribute = sort_attribute,
		},
	}, outcome, arg);
}

static void
fixture_on_answer(void *arg, int code, const char *text)
{
	struct fixture_answer *a = arg;

	ck_assert(!a->called);
	a->called = true;
	a->code = code;
	(void)snprintf(a->text, sizeof(a->text), "%s", text);
	(void)event_base_loopbreak(a->base);
}

static void
fixture_await(const struct fixture_answer *a, int code, const char *text)
{
	while (!a->called)
		ck_assert_int_eq(event_base_loop(a->base, 0), 0);
	ck_assert_msg(a->code == code && strstr(a->text, text) != NULL,
	    "%d: %s", a->code, a->text);
}

void
fixture_expect(struct event_base *base, struct store *store, bool init,
    int code,
    const char *text)
{
	struct fixture_answer a = { .base = base };

	if (init)
		store_init_table(store, fixture_on_answer, &a);
	else
		store_check_table(store, fixture_on_answer, &a);
	fixture_await(&a, code, text);
}

void
fixture_refuse(void *answer, struct operation *operation,
    const struct outcome *outcome)
{
	(void)operation;
	if (answer == NULL)
		ck_abort_msg("an outcome that nobody waits for");
	ck_assert_int_eq(outcome->kind, OUTCOME_REFUSED);
	fixture_on_answer(answer, outcome->code, outcome->text);
}

void
fixture_expect_refusal(struct store *store, struct operation *o,
    struct fixture_answer *answer, int code, const char *text)
{
	store_submit(store, o);
	fixture_await(answer, code, text);
}
