/*
 * What all requests of a client have in common: where they go and who signs.
 */
#ifndef DDBLOCKD_AWS_ORIGIN_H
#define DDBLOCKD_AWS_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/client.h"
#include "aws/endpoint.h"
#include "aws/sigv4.h"
#include "common/buffer.h"

struct origin {
	struct endpoint endpoint;
	struct sigv4 sigv4;
	char *session_token;		/* NULL: none */
	char *ca_file;			/* NULL: the system's */
	struct buffer token_line;	/* the header of it */
	char host_line[ENDPOINT_HOST_MAX + 32];
	uint64_t connect_timeout_ms;
};

/*
 * Copies. The reason of a failure is in @text, without secrets; origin_done()
 * is due in any case.
 *
 * DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM
 */
int origin_init(struct origin *, const struct aws_client_config *, char *text,
    size_t text_size);

/* Wipes the secrets. */
void origin_done(struct origin *);

#endif
