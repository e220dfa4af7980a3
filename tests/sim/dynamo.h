/*
 * A model of DynamoDB: it interprets the very request that would go on the
 * wire, and answers with the status and body that the service would send.
 *
 * It has no clock, no network and no chance: time comes with each request, a
 * request is carried out at once and atomically. Loss, delay and repetition
 * belong to the network (network.c), and what capacity there is, to a meter.
 *
 * Items are trees of json-c in DynamoDB's own JSON ({"key":{"S":"x"}}).
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_H
#define DDBLOCKD_TESTS_DYNAMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

struct dynamo;
struct json_object;

struct dynamo_answer {
	int status;		/* of HTTP */
	struct buffer body;	/* JSON; "__type" and "message" if not 200 */
};

void dynamo_answer_init(struct dynamo_answer *);
void dynamo_answer_done(struct dynamo_answer *);

/* NULL: no memory. */
struct dynamo *dynamo_new(void);
void dynamo_free(struct dynamo *);

/*
 * Carry out one request: CreateTable, DescribeTable, DeleteTable, GetItem,
 * PutItem, UpdateItem, DeleteItem, BatchGetItem, Scan, TransactWriteItems,
 * UpdateTimeToLive, DescribeTimeToLive; any other name is an
 * UnknownOperationException. @wall_ms: the service's clock. Memory that runs
 * out ends the process with a message.
 */
void dynamo_request(struct dynamo *, uint64_t wall_ms, const char *operation,
    const char *body, size_t length, struct dynamo_answer *ret);

/* The answer of a service that fails: "ThrottlingException" with 400, ... */
void dynamo_fail(struct dynamo_answer *ret, int status, const char *name,
    const char *message);

/* BatchGetItem leaves the last @n keys of the next such request unprocessed. */
void dynamo_leave_unprocessed(struct dynamo *, size_t n);

/* The condition of the next request fails, for any item. */
void dynamo_refuse_condition(struct dynamo *);

/* A page of a Scan has at most @n items; 0: as many as the service gives. */
void dynamo_set_page(struct dynamo *, size_t n);

/* TransactWriteItems is unknown from now on, as at some emulators. */
void dynamo_refuse_transactions(struct dynamo *);

/*
 * Reads that are not consistent show an item as it was @ms before (0 at first).
 * A deleted item is gone at once.
 */
void dynamo_set_lag(struct dynamo *, uint64_t ms);

/*
 * Who counts what requests use, and what a partition has. @hash: of the item's
 * partition key, by which the partitions share the items. A request is
 * throttled if one of its items' partitions has nothing left; else it is
 * carried out, and then uses what it does, also if its condition failed. A Scan
 * is not counted.
 */
struct dynamo_meter {
	bool (*has)(void *arg, uint64_t hash, bool write);
	void (*use)(void *arg, uint64_t hash, bool write, uint64_t milliunits);
	void *arg;
};
/* NULL: nobody (at first). Borrowed. */
void dynamo_set_meter(struct dynamo *, const struct dynamo_meter *);

/*
 * Remove the items that TTL would remove at that time: those with an attribute
 * below it.
 */
void dynamo_expire(struct dynamo *, uint64_t wall_s);

/*
 * Called after each change of an item, with the item before and after (NULL:
 * none); both are borrowed for the call. @expired: TTL.
 */
typedef void (*dynamo_watch_fn)(void *arg, const char *table,
    struct json_object *before, struct json_object *after, bool expired);
void dynamo_watch(struct dynamo *, dynamo_watch_fn, void *arg);

#endif
