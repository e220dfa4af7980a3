/*
 * What all requests of a client have in common.
 *
 * The credentials are those of the configuration and never change. Where they
 * come from otherwise (files, roles, the metadata of the host), and that they
 * are renewed in time, belongs before origin_take().
 */
#include "aws/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define ORIGIN_CONNECT_TIMEOUT_MS 3000
#define ORIGIN_SECRET_MAX 8192	/* what fits a request's headers of 16 KB */

/* Whatever goes into a header must not be able to end it. */
static bool
origin_is_printable(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return length > 0 && length <= ORIGIN_SECRET_MAX;
}

static int
origin_check_credentials(const struct aws_client_config *config, char *text,
    size_t text_size)
{
	const char *what = NULL;

	if (config->access_key_id == NULL || config->access_key_id[0] == '\0')
		what = "there is no access key id";
	else if (config->secret_access_key == NULL ||
	    config->secret_access_key[0] == '\0')
		what = "there is no secret access key";
	else if (!origin_is_printable(config->access_key_id))
		what = "the access key id has characters that cannot be in it";
	else if (!origin_is_printable(config->secret_access_key))
		what = "the secret access key has characters that cannot be "
		    "in it";
	else if (config->session_token != NULL &&
	    config->session_token[0] != '\0' &&
	    !origin_is_printable(config->session_token))
		what = "the session token has characters that cannot be in it";
	if (what == NULL)
		return 0;
	(void)snprintf(text, text_size, "AWS credentials: %s", what);
	return DDBLOCK_E_NO_CREDENTIALS;
}

static int
origin_take(struct origin *o, const struct aws_client_config *config)
{
	const char *token = config->session_token;
	int r;

	(void)snprintf(o->host_line, sizeof(o->host_line), "Host: %s",
	    o->endpoint.authority);
	o->connect_timeout_ms = config->connect_timeout_ms > 0 ?
	    config->connect_timeout_ms : ORIGIN_CONNECT_TIMEOUT_MS;
	if (config->ca_file != NULL &&
	    (o->ca_file = strdup(config->ca_file)) == NULL)
		return DDBLOCK_E_NOMEM;
	if (token != NULL && token[0] != '\0') {
		o->session_token = strdup(token);
		r = buffer_printf(&o->token_line, "X-Amz-Security-Token: %s",
		    token);
		if (o->session_token == NULL || r < 0)
			return DDBLOCK_E_NOMEM;
	}
	return sigv4_init(&o->sigv4, config->access_key_id,
	    config->secret_access_key,
	    config->region != NULL ? config->region : "us-east-1",
	    config->service != NULL ? config->service : "dynamodb");
}

int
origin_init(struct origin *o, const struct aws_client_config *config,
    char *text, size_t text_size)
{
	int r = origin_check_credentials(config, text, text_size);

	*o = (struct origin){ .session_token = NULL };
	buffer_init(&o->token_line, 2 * ORIGIN_SECRET_MAX);
	if (r == 0)
		r = endpoint_parse(config->endpoint, config->region,
		    config->service != NULL ? config->service : "dynamodb",
		    config->allow_plain_http, &o->endpoint, text, text_size);
	if (r < 0)
		return r;
	r = origin_take(o, config);
	if (r < 0)
		(void)snprintf(text, text_size, "%s", error_text(r));
	return r;
}

void
origin_done(struct origin *o)
{
	if (o->session_token != NULL)
		explicit_bzero(o->session_token, strlen(o->session_token));
	free(o->session_token);
	free(o->ca_file);
	buffer_wipe(&o->token_line);
	sigv4_done(&o->sigv4);
}
