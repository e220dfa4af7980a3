/*
 * The harmless requests that show what the credentials may do (pure): one of
 * each kind that the format sends. Writes have a condition that cannot hold, on
 * a key that no lock has, so that nothing can change, whatever is there; a
 * missing permission is reported before the condition is evaluated.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_REQUESTS_H
#define DDBLOCKD_STORE_DYNAMODB_REQUESTS_H

#include <stdbool.h>

#include "common/buffer.h"
#include "dialect/dialect.h"

enum dynamodb_request {
	REQUEST_GET = 0,
	REQUEST_BATCH_GET,
	REQUEST_SCAN,
	REQUEST_PUT,
	REQUEST_UPDATE,
	REQUEST_DELETE,
	REQUEST_TRANSACT,
	REQUESTS
};

/* Does this format send such requests, with these settings of the table? */
bool requests_has(const struct dialect *, const struct dialect_table *,
    enum dynamodb_request);

/* "GetItem" */
const char *requests_name(enum dynamodb_request);

/* The body of the harmless one. */
void requests_write(enum dynamodb_request, const struct dialect_table *,
    struct buffer *);

#endif
