/*
 * The fleet's store: locks in a DynamoDB table, or in anything that speaks its
 * API. A thin loop around the pure parts: the dialect writes requests and
 * reads records, the translation says what the answers mean together, the
 * policy of attempts when to send again and when to stop (attempts.h). The
 * client carries it.
 */
#ifndef DDBLOCKD_STORE_STORE_DYNAMODB_H
#define DDBLOCKD_STORE_STORE_DYNAMODB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/client.h"
#include "dialect/dialect.h"
#include "store/kind.h"

struct provider;

extern const struct store_kind store_dynamodb_kind;

#define STORE_DYNAMODB_RETENTION_S (UINT64_C(7) * 24 * 3600)

/* Copied. */
struct store_dynamodb_config {
	const char *namespace_name;	/* for messages */
	const char *format;		/* NULL: "native" */
	/* Of its members, these may be left out: key_attribute ("key"),
	 * ttl_attribute (as the format has it), retention_s. */
	struct dialect_table table;
	/* The credentials of the store, borrowed; NULL: what follows, for ever.
	 * */
	struct provider *provider;
	const char *endpoint;
	const char *region;
	const char *access_key_id;
	const char *secret_access_key;
	const char *session_token;	/* NULL: none */
	uint32_t connections_max[AWS_LANES];	/* 0: the default */
	bool allow_plain_http;	/* to other hosts than loopback */
	/*
	 * clock_is_synchronised(): no lock is acquired unless it says that it
	 * is; and why that matters and what to do, for people. NULL: it does
	 * not matter.
	 */
	int (*synchronised)(void);
	const char *unsynchronised_text;
};

/*
 * Nothing is sent before the first operation. The first request looks at the
 * table and learns the endpoint's time; operations wait for it. @ret_text (at
 * least 512 bytes) says what is wrong, without secrets.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NO_CREDENTIALS (without a provider),
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 *
 * store_free() must not be called from within an outcome.
 */
int store_dynamodb_new(struct event_base *,
    const struct store_dynamodb_config *, store_outcome_fn,
    void *outcome_arg, struct store **ret, char *ret_text, size_t text_size);

/*
 * Its credentials come from this one from now on. Those in use are used until
 * it has some. Not from within what a provider tells.
 *
 * DDBLOCK_E_NOMEM
 */
int store_dynamodb_use(struct store *, struct provider *);

#endif
