/*
 * The endpoint of requests and the credentials that sign them. It never
 * changes: other credentials make another one, and requests under way keep the
 * one they began with.
 */
#ifndef DDBLOCKD_AWS_ORIGIN_H
#define DDBLOCKD_AWS_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/sigv4.h"
#include "common/buffer.h"

/* Copied. */
struct origin_config {
	const char *url;
	const char *region;	/* NULL: on loopback, where nobody cares */
	const char *service;	/* "dynamodb" */
	const struct credentials *credentials;
	const char *ca_file;	/* NULL: the system's */
	bool allow_plain_http;	/* to other hosts than loopback */
};

struct origin {
	unsigned references;
	uint32_t number;	/* the client's: who signs */
	uint32_t route;		/* the client's: with the same one, endpoint
				 * and ca_file are the same */
	struct endpoint endpoint;
	struct credentials credentials;
	struct sigv4 sigv4;
	char *ca_file;			/* NULL: the system's */
	struct buffer token_line;	/* the header of the session token */
	char host_line[ENDPOINT_HOST_MAX + 32];
};

/*
 * With one reference. The reason of a failure is in @text, without secrets.
 *
 * DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM
 */
int origin_new(const struct origin_config *, struct origin **ret, char *text,
    size_t text_size);

struct origin *origin_ref(struct origin *);

/* Wipes the secrets with the last reference. Accepts NULL. */
void origin_unref(struct origin *);

/* Do they have the same endpoint? */
bool origin_same_route(const struct origin *, const struct origin *);

#endif
