/*
 * One HTTP exchange: a curl easy handle that is set up once and used for many
 * signed requests, one after the other.
 */
#ifndef DDBLOCKD_AWS_TRANSFER_H
#define DDBLOCKD_AWS_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/client.h"
#include "aws/origin.h"
#include "aws/response.h"
#include "aws/sigv4.h"
#include "aws/tls.h"
#include "common/buffer.h"

#define TRANSFER_ANSWER_MAX (20 * 1024 * 1024)
#define TRANSFER_TEXT_MAX 832
#define TRANSFER_HEADERS 8
#define TRANSFER_OPERATION_MAX 63
#define TRANSFER_DATE "X-Amz-Date: "
#define TRANSFER_TARGET "X-Amz-Target: "
#define TRANSFER_SERVICE "DynamoDB_20120810."
#define TRANSFER_IDLE_MAX_S 55	/* below what front ends allow */

struct transfer {
	struct origin *origin;		/* of the request; NULL: idle */
	uint32_t route;			/* that @easy is set up for; or 0 */
	CURL *easy;
	CURLU *url;			/* NULL: before the first route */
	struct aws_call *call;		/* NULL: idle */
	struct transfer *next;		/* of the idle */

	/* The request. */
	const char *body;
	size_t body_length;
	bool out;		/* or may be */
	char date_line[sizeof(TRANSFER_DATE) + SIGV4_DATE_SIZE];
	char target_line[sizeof(TRANSFER_TARGET TRANSFER_SERVICE) +
	    TRANSFER_OPERATION_MAX];
	struct buffer authorization_line;
	struct curl_slist headers[TRANSFER_HEADERS];
	struct buffer addresses;	/* of CURLOPT_RESOLVE */
	struct curl_slist resolve;
	uint32_t addresses_number;	/* 0: it carries none */

	/* The answer. */
	struct buffer answer;
	size_t share;			/* that it has of the room for all */
	bool crowded;			/* there was none left for it */
	struct response response;
	char error[CURL_ERROR_SIZE];
	char text[TRANSFER_TEXT_MAX];
};

/* DDBLOCK_E_NOMEM */
int transfer_new(const struct tls *, uint64_t connect_timeout_ms,
    struct transfer **ret);
void transfer_free(struct transfer *);

/*
 * Sign and prepare, for @origin, which it keeps until transfer_end(); @body is
 * borrowed until then. @addresses: of the host, or NULL if the pool knows them.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_LIMIT, DDBLOCK_E_SYSTEM
 */
int transfer_begin(struct transfer *, struct origin *origin,
    const char *operation, const char *body, size_t body_length,
    uint64_t wall_s, const char *addresses, uint32_t addresses_number);

/*
 * Use no connection that has been idle for more than @idle_max_s whole seconds
 * (at most TRANSFER_IDLE_MAX_S); with 0 none that there is.
 */
void transfer_set_idle_max(struct transfer *, uint64_t idle_max_s);

/* What came of it; @ret is borrowed until transfer_end(). */
void transfer_result(struct transfer *, CURLcode, struct aws_answer *ret);

/* Ready for the next. */
void transfer_end(struct transfer *);

#endif
