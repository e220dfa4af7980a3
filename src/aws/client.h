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
#include "aws/credentials.h"

struct addrinfo;
struct event_base;
struct aws_client;
struct aws_call;

/* Calls of one lane never wait for those of another. Within a lane users have
 * turns: many calls of one, that wait, delay the others by one. */
enum aws_lane {
	AWS_LANE_SESSION = 0,	/* beats: what our leases depend on */
	AWS_LANE_REFRESH,	/* and those that each lock has of its own */
	AWS_LANE_LOCK,		/* acquire, release, polls, looks */
	AWS_LANE_BULK,		/* audit, scan */
	AWS_LANES
};

/* Copied. */
struct aws_client_config {
	const char *service;	/* NULL: "dynamodb" */
	uint32_t connections_max[AWS_LANES];	/* 0: 4, 64, 64, 4 */
	uint64_t connect_timeout_ms;	/* 0: 3 s */
	bool allow_plain_http;	/* to other hosts than loopback */

	/* NULL: getaddrinfo(). It is called on a thread. */
	int (*lookup)(const char *host, const char *port,
	    const struct addrinfo *hints, struct addrinfo **ret);
};

/* The endpoint of requests and the credentials that sign them. Copied. */
struct aws_client_origin {
	const char *url;
	const char *region;	/* NULL: @url is on loopback, where emulators
				 * do not care */
	const struct credentials *credentials;
	const char *ca_file;	/* NULL: the system's */
};

typedef void (*aws_answer_fn)(void *arg, const struct aws_answer *);

/*
 * It sends nothing before aws_client_use(); calls wait for that. Writing to a
 * closed connection must not raise SIGPIPE: ignore it.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int aws_client_new(struct event_base *, const struct aws_client_config *,
    struct aws_client **ret);

/*
 * From now on requests go there and are signed so; those under way go on as
 * they began. @text (at least 256 bytes) says what is wrong, without secrets;
 * then nothing has changed.
 *
 * DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM,
 * DDBLOCK_E_SYSTEM
 */
int aws_client_use(struct aws_client *, const struct aws_client_origin *,
    char *text, size_t text_size);

/* Why there has been no aws_client_use() yet: what calls are told whose time
 * is over. @text is copied. */
void aws_client_lack(struct aws_client *, int code, const char *text);

/* Whether there has been one. */
bool aws_client_ready(const struct aws_client *);

/* Whose signature an answer's request had (aws_answer.signer), borrowed; NULL
 * if requests are signed with others now. */
const struct credentials *aws_client_signer(const struct aws_client *,
    uint32_t signer);

/*
 * Wipes the secrets. Calls under way get no answer. Accepts NULL. Not from
 * within an answer.
 */
void aws_client_free(struct aws_client *);

/*
 * POST @body (copied) to "/" with X-Amz-Target "DynamoDB_20120810.@operation",
 * for @user, any number, when it is that one's turn in the lane.
 * @answer is called once, from the loop, at the latest after @timeout_ms
 * (waiting for a connection included), unless aws_call_cancel() came first.
 * @sent_ms of the answer is when the request was given to the connection; if
 * it never was, it is the time of the call.
 *
 * DDBLOCK_E_NOMEM
 */
int aws_client_call(struct aws_client *, enum aws_lane, uint32_t user,
    const char *operation, const char *body, size_t body_length,
    uint64_t timeout_ms, aws_answer_fn answer, void *arg,
    struct aws_call **ret);

/* Never after the answer, nor from within it. A request may be out already. */
void aws_call_cancel(struct aws_call *);

/*
 * The endpoint's wall clock, from the Date of its answers (and what signatures
 * use); 0 before the first answer.
 */
uint64_t aws_client_wall_ms(const struct aws_client *);

/* The credentials in use, borrowed; NULL before there is anybody. */
const struct credentials *aws_client_credentials(const struct aws_client *);

/* The endpoint in use, for messages; "" before there is one. */
const char *aws_client_endpoint(const struct aws_client *);

#endif
