/*
 * A store on a DynamoDB endpoint for tests, and the endpoint.
 */
#ifndef DDBLOCKD_TESTS_DYNAMODB_FIXTURE_H
#define DDBLOCKD_TESTS_DYNAMODB_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "aws/client.h"
#include "store/store.h"

struct event_base;

/*
 * Without an endpoint in the environment: run this program again beside a
 * DynamoDB Local (tests/integration/dynamodb-local). Returns if there is one;
 * then SIGPIPE is ignored, as the daemon does.
 */
void fixture_need_endpoint(void);

/* Each in a process of its own, some at a time, for they mostly wait: how many
 * have failed. @run returns 0 if all is well. */
int fixture_run_each(int (*run)(size_t which), size_t n);

/* A client of it, for requests of the test's own. Fails the test if it cannot.
 */
struct aws_client *fixture_client(struct event_base *);

/* On the environment's endpoint; with a table's own names of its keys, or NULL
 * (@sort_attribute: no sort key). Fails the test if it cannot. */
struct store *fixture_open(struct event_base *, const char *table,
    const char *key_attribute, const char *sort_attribute, store_outcome_fn,
    void *outcome_arg);

struct store_dynamodb_config;

/* Of any format and table; @config says that, and the endpoint. */
struct store *fixture_open_as(struct event_base *,
    struct store_dynamodb_config *,
    store_outcome_fn, void *outcome_arg);

/* Make the store's table, or look at it: the answer has this code, and this
 * text in it. */
void fixture_expect(struct event_base *, struct store *, bool init, int code,
    const char *text);

/* A read of a store opened with fixture_refuse() and this @answer is refused,
 * and in the same way. */
struct fixture_answer {
	struct event_base *base;
	bool called;
	int code;
	char text[1024];
};

void fixture_refuse(void *answer, struct operation *, const struct outcome *);
void fixture_expect_refusal(struct store *, struct operation *,
    struct fixture_answer *, int code, const char *text);

#endif
