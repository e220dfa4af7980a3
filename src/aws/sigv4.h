/*
 * AWS Signature Version 4 on libcrypto (pure: the time is an argument).
 *
 * Our own, because libcurl's signer has differed from release to release and
 * cannot correct for a wrong clock of the host.
 */
#ifndef DDBLOCKD_AWS_SIGV4_H
#define DDBLOCKD_AWS_SIGV4_H

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

#define SIGV4_HEADERS_MAX 16
#define SIGV4_DATE_SIZE 17	/* "20150830T123600Z" and a NUL */
#define SIGV4_DAY_LENGTH 8	/* of it */
#define SIGV4_KEY_SIZE 32
#define SIGV4_TEXT_MAX 65536	/* of a canonical request */

struct sigv4_header {
	const char *name;	/* any case */
	const char *value;	/* as sent; blanks are taken care of */
};

/* Everything belongs to the caller. */
struct sigv4_request {
	const char *method;
	const char *path;	/* normalised; %XX in it is kept as it is */
	const char *query;	/* without '?'; may be empty */
	const struct sigv4_header *headers;	/* those to sign */
	size_t n_headers;
	const void *body;
	size_t body_length;
};

/* The credentials and their scope, and parts that need not be made again for
 * each request. */
struct sigv4 {
	char *access_key_id;
	char *secret;
	char *region;
	char *service;
	char day[SIGV4_DAY_LENGTH + 1];	/* empty: none yet; else of: */
	EVP_MAC_CTX *mac;	/* with the key of the day, of four HMACs */
	struct buffer scope;	/* "20150830/REGION/SERVICE/aws4_request" */
	EVP_MD *sha256;
	EVP_MD_CTX *hash;
	struct buffer canonical;	/* of the last request; secret, as a
					 * session token may be in it */
	struct buffer text;		/* that was signed last */
};

/* Copies. DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM */
int sigv4_init(struct sigv4 *, const char *access_key_id, const char *secret,
    const char *region, const char *service);

/* Wipes the secrets. Accepts a zeroed one. */
void sigv4_done(struct sigv4 *);

/* The value of X-Amz-Date at @wall_s seconds since 1970. */
void sigv4_date(uint64_t wall_s, char ret_date[SIGV4_DATE_SIZE]);

/*
 * Append the value of the Authorization header to @authorization. @date is
 * that of the X-Amz-Date header, which must be among the request's.
 *
 * DDBLOCK_E_NOMEM
 * DDBLOCK_E_LIMIT
 *     More than SIGV4_HEADERS_MAX headers, or a text too long.
 * DDBLOCK_E_SYSTEM
 *     libcrypto failed.
 */
int sigv4_sign(struct sigv4 *, const struct sigv4_request *,
    const char date[SIGV4_DATE_SIZE], struct buffer *authorization);

/* The steps of it, for the published vectors. They append. */
int sigv4_canonical(struct sigv4 *, const struct sigv4_request *,
    struct buffer *);
int sigv4_string_to_sign(struct sigv4 *, const struct sigv4_request *,
    const char date[SIGV4_DATE_SIZE], struct buffer *);

#endif
