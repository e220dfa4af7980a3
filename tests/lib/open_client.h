/*
 * A client of AWS with an identity of its own, for an endpoint of the test.
 */
#ifndef DDBLOCKD_TESTS_OPEN_CLIENT_H
#define DDBLOCKD_TESTS_OPEN_CLIENT_H

#include <check.h>

#include "aws/client.h"

/* @token and @ca_file may be NULL. */
static inline struct aws_client *
open_client(struct event_base *base, const struct aws_client_config *config,
    const char *url, const char *token, const char *ca_file)
{
	struct credentials credentials = { .expires_ms = 0 };
	const struct aws_client_origin origin = {
		.url = url, .region = "eu-central-1",
		.credentials = &credentials, .ca_file = ca_file,
	};
	struct aws_client *client;
	char text[256];

	ck_assert_int_eq(credentials_set(&credentials, "AKIDEXAMPLE",
	    "verysecretverysecret", token, text, sizeof(text)), 0);
	ck_assert_int_eq(aws_client_new(base, config, &client), 0);
	ck_assert_int_eq(aws_client_use(client, &origin, text, sizeof(text)),
	    0);
	credentials_done(&credentials);
	return client;
}

#endif
