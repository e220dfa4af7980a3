/*
 * The credentials and the endpoint of a store: hears of it from a provider, or
 * has it fixed, and tells the client.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_IDENTITY_H
#define DDBLOCKD_STORE_DYNAMODB_IDENTITY_H

#include "aws/client.h"
#include "aws/endpoint.h"
#include "identity/provider.h"
#include "store/store.h"

#define DYNAMODB_IDENTITY_TEXT_MAX 512

struct store_dynamodb_config;

/* The client's endpoint, or why it has none, is another now. */
typedef void (*dynamodb_identity_fn)(void *arg, int code, const char *text);

struct dynamodb_identity {
	struct aws_client *client;
	struct provider *provider;	/* NULL: it is fixed */
	struct provider_listener *listener;
	dynamodb_identity_fn changed;
	void *arg;
	/* In use; empty: none (yet). */
	char endpoint[ENDPOINT_URL_MAX];
	char region[REGION_NAME_MAX + 1];
	char ca_file[ENDPOINT_PARAMS_FILE_MAX];
	/* Why the newest cannot be used, though there is one; 0: it can. */
	int code;
	char text[DYNAMODB_IDENTITY_TEXT_MAX];
};

/*
 * @changed is called from the loop, and at once if there is something to tell.
 * @text (at least 512 bytes) says what is wrong in the settings.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_NOMEM
 */
int dynamodb_identity_init(struct dynamodb_identity *, struct aws_client *,
    const struct store_dynamodb_config *, dynamodb_identity_fn changed,
    void *arg, char *text, size_t text_size);

/*
 * Hear of it from another provider; what is known is used until that one knows
 * better.
 *
 * DDBLOCK_E_NOMEM
 */
int dynamodb_identity_listen(struct dynamodb_identity *, struct provider *);

/* Accepts a zeroed one. */
void dynamodb_identity_done(struct dynamodb_identity *);

/* An answer said that the signature of its request counts no more. */
void dynamodb_identity_rejected(struct dynamodb_identity *,
    const struct aws_answer *);

/* After an answer: the endpoint's clock may be known better. */
void dynamodb_identity_set_clock(struct dynamodb_identity *);

/* Whether there is an identity, or has been an attempt to get one. */
bool dynamodb_identity_concluded(const struct dynamodb_identity *);

/* All that is known, borrowed until the loop goes on. */
void dynamodb_identity_look(const struct dynamodb_identity *,
    struct identity_view *ret);

#endif
