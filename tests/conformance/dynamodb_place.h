/*
 * A store on a DynamoDB endpoint for tests, and the endpoint.
 */
#ifndef DDBLOCKD_TESTS_DYNAMODB_PLACE_H
#define DDBLOCKD_TESTS_DYNAMODB_PLACE_H

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
void place_need_endpoint(void);

/* Each in a process of its own, some at a time, for they mostly wait: how many
 * have failed. @run returns 0 if all is well. */
int place_run_each(int (*run)(size_t which), size_t n);

/* A client of it, for requests of the test's own. Fails the test if it cannot.
 */
struct aws_client *place_client(struct event_base *);

/* Fails the test if it cannot. */
struct store *place_open(struct event_base *, const char *endpoint,
    const char *table, const char *key_attribute, store_outcome_fn,
    void *outcome_arg);
/* On a table with a sort key (NULL: without). */
struct store *place_open_sorted(struct event_base *, const char *table,
    const char *key_attribute, const char *sort_attribute, store_outcome_fn,
    void *outcome_arg);

struct store_dynamodb_config;

/* Of any format and table; @config says that, and the endpoint. */
struct store *place_open_as(struct event_base *, struct store_dynamodb_config *,
    store_outcome_fn, void *outcome_arg);

struct place_answer {
	struct event_base *base;
	bool called;
	int code;
	char text[1024];
};

/* What store_init_table() or store_check_table() said. */
struct place_answer place_ask_table(struct event_base *, struct store *,
    bool init);
void place_on_table(void *arg, int code, const char *text);

#endif
