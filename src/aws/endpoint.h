/*
 * Where requests go: a URL taken apart once, and checked. identity/ finds out
 * which.
 */
#ifndef DDBLOCKD_AWS_ENDPOINT_H
#define DDBLOCKD_AWS_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#define ENDPOINT_HOST_MAX 255
#define ENDPOINT_URL_MAX (ENDPOINT_HOST_MAX + 32)

struct endpoint {
	char url[ENDPOINT_URL_MAX];	/* "https://host[:port]/" */
	char host[ENDPOINT_HOST_MAX + 1];	/* no brackets */
	char authority[ENDPOINT_HOST_MAX + 16];	/* of the Host header */
	char port[6];
	bool tls;
	bool literal;	/* the host is an address: nothing to look up */
	bool loopback;
};

/*
 * Plain http is refused except to loopback, unless @allow_plain_http:
 * signatures do not hide what is asked and answered, and a session token would
 * be there to copy.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     With the reason in @text.
 */
int endpoint_parse(const char *url, bool allow_plain_http,
    struct endpoint *ret, char *text, size_t text_size);

#endif
