/*
 * What a source of credentials wants done in the world: a small file read or
 * written, an HTTP exchange, a program run. Sources are pure; their errands are
 * performed by a loop (provider.h), or by a test in virtual time.
 */
#ifndef DDBLOCKD_IDENTITY_ERRAND_H
#define DDBLOCKD_IDENTITY_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/credentials.h"

#define ERRAND_HEADERS_MAX 8
#define ERRAND_ANSWER_MAX (256 * 1024)

enum errand_kind {
	ERRAND_NONE = 0,
	ERRAND_READ,	/* the file @path, if not everybody can change it */
	ERRAND_WRITE,	/* @body into the file @path: next to it, mode
			 * 0600, and renamed */
	ERRAND_FETCH,	/* an HTTP exchange; neither proxy nor redirection */
	ERRAND_RUN,	/* @command without a shell, for its output */
};

struct errand_header {
	const char *name;
	const char *value;
};

/* All borrowed from the source, until the answer. */
struct errand {
	enum errand_kind kind;
	uint32_t timeout_ms;	/* for all of it */
	size_t answer_max;	/* bytes; more is an error */
	const char *path;
	const char *command;	/* words and quotes as botocore splits them */
	const char *method;	/* "GET", "PUT", "POST" */
	const char *url;
	struct errand_header headers[ERRAND_HEADERS_MAX];
	size_t n_headers;
	const char *body;	/* NULL: none */
	size_t body_length;
	/* Sign it as @service in @region; NULL: send it unsigned. */
	const struct credentials *signer;
	const char *service;
	const char *region;
	const char *ca_file;	/* NULL: the system's */
	bool plain_allowed;	/* http:// beyond loopback: the services of
				 * metadata have no other */
};

/* What came of it; borrowed while it is being told. */
struct errand_answer {
	/*
	 * 0; or it was not done: DDBLOCK_E_UNREACHABLE (fetch: no whole
	 * answer), _SYSTEM (see @error), _LIMIT (too much), _NOMEM, _DENIED
	 * (read: everybody can change it), _ACQUIRE_TIMEOUT (a program or a
	 * file took too long).
	 */
	int code;
	int error;		/* errno of _SYSTEM; or 0 */
	const char *text;	/* why not, for people, without secrets */
	int status;		/* FETCH: HTTP; RUN: the exit status, or 128 +
				 * the signal */
	const char *body;	/* ends in NUL as well; never NULL */
	size_t body_length;
	bool is_exposed;	/* READ: everybody can read it */
};

/* For the code that performs one. From the loop, once, never from within the
 * call that began it. */
typedef void (*errand_done_fn)(void *arg, const struct errand_answer *);

#endif
