/*
 * A client of one AWS endpoint: signs, sends over a pool of kept-alive
 * connections inside the event loop, and hands back the raw answer. It sends
 * each call once; whether to repeat it is for its caller to say (retry.h).
 */
#ifndef DDBLOCKD_AWS_CLIENT_H
#define DDBLOCKD_AWS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/answer.h"

struct addrinfo;
struct event_base;
struct aws_client;
struct aws_call;

/* Calls of one lane never wait for those of another. */
enum aws_lane {
	AWS_LANE_SESSION = 0,	/* beats: what our leases depend on */
	AWS_LANE_REFRESH,	/* and those that each lock has of its own */
	AWS_LANE_LOCK,		/* acquire, release, polls, looks */
	AWS_LANE_BULK,		/* audit, scan */
	AWS_LANES
};

/* Copied. */
struct aws_client_config {
	const char *endpoint;	/* NULL: from the region */
	const char *region;
	const char *service;	/* "dynamodb" */
	const char *access_key_id;
	const char *secret_access_key;
	const char *session_token;	/* NULL: none */
	uint32_t connections_max[AWS_LANES];	/* 0: 4, 64, 64, 4 */
	uint64_t connect_timeout_ms;	/* 0: 3 s */
	bool allow_plain_http;	/* to other hosts than loopback */
	const char *ca_file;	/* NULL: the system's */

	/* NULL: getaddrinfo(). It is called on a thread. */
	int (*lookup)(const char *host, const char *port,
	    const struct addrinfo *hints, struct addrinfo **ret);
};

typedef void (*aws_answer_fn)(void *arg, const struct aws_answer *);

/*
 * @ret_text (at least 256 bytes) says what is wrong, without secrets. Writing
 * to a closed connection must not raise SIGPIPE: ignore it.
 *
 * DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM,
 * DDBLOCK_E_SYSTEM
 */
int aws_client_new(struct event_base *, const struct aws_client_config *,
    struct aws_client **ret, char *ret_text, size_t text_size);

/*
 * Wipes the secrets. Calls under way get no answer. Accepts NULL. Not from
 * within an answer.
 */
void aws_client_free(struct aws_client *);

/*
 * POST @body (copied) to "/" with X-Amz-Target "DynamoDB_20120810.@operation".
 * @answer is called once, from the loop, at the latest after @timeout_ms
 * (waiting for a connection included), unless aws_call_cancel() came first.
 * @sent_ms of the answer is when the request was given to the connection; if
 * it never was, it is the time of the call.
 *
 * DDBLOCK_E_NOMEM
 */
int aws_client_call(struct aws_client *, enum aws_lane, const char *operation,
    const char *body, size_t body_length, uint64_t timeout_ms,
    aws_answer_fn answer, void *arg, struct aws_call **ret);

/* Never after the answer, nor from within it. A request may be out already. */
void aws_call_cancel(struct aws_call *);

/*
 * The endpoint's wall clock, from the Date of its answers (and what signatures
 * use); 0 before the first answer.
 */
uint64_t aws_client_wall_ms(const struct aws_client *);

/* The endpoint in use, for messages. */
const char *aws_client_endpoint(const struct aws_client *);

#endif
