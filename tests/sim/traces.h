/*
 * The recordings in tests/traces: what older clients sent, what DynamoDB Local
 * answered, and in which table.
 */
#ifndef DDBLOCKD_TESTS_TRACES_H
#define DDBLOCKD_TESTS_TRACES_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json.h>

#include "dynamo.h"

#define TRACES_WALL_MS UINT64_C(1795219000000)	/* shortly before them */
#define TRACE_ROWS_MAX 32

enum trace_scene {
	TRACE_UNCONTENDED,
	TRACE_CONTENDED,
	TRACE_DEATH,
	TRACE_TAKEOVER,		/* of what TRACE_DEATH left */
	TRACE_SCENES
};

struct trace_client {
	const char *name;	/* of its files */
	const char *format;	/* as ours is called */
	const char *table;
	const char *key, *sort;	/* attributes, S; NULL: it has no sort key */
	bool fails_closed;	/* there is no takeover */
};

#define TRACE_CLIENTS 7
/* Ends with a name of NULL. */
extern const struct trace_client trace_clients[];

struct trace_row {
	const char *operation;
	int status;
	struct json_object *request, *answer;
};

struct trace {
	struct json_object *lines[TRACE_ROWS_MAX];
	struct trace_row rows[TRACE_ROWS_MAX];
	size_t n;
};

const char *trace_scene_name(enum trace_scene);
/* A recording that cannot be read ends the test. */
void trace_read(struct trace *, const struct trace_client *,
    enum trace_scene);
void trace_done(struct trace *);

/* A model of DynamoDB with the client's table. */
struct dynamo *trace_dynamo(const struct trace_client *);
/* Ask it; the answer is the caller's to put. */
struct json_object *trace_ask(struct dynamo *, const char *operation,
    struct json_object *request, int *ret_status);
/* Is this the recorded answer? Local spells "message" in its own way. */
bool trace_agrees(const struct trace_row *, int status,
    struct json_object *answer);

#endif
