/*
 * The endpoint of requests and the credentials that sign them.
 */
#include "aws/origin.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/region.h"
#include "common/error.h"
#include "common/text.h"

/* Emulators do not care which region signs, and they are on loopback. */
static int
origin_check_region(const struct origin_config *config, bool loopback,
    char *text, size_t text_size)
{
	if (config->region == NULL ? loopback :
	    region_is_name(config->region))
		return 0;
	if (config->region == NULL)
		(void)snprintf(text, text_size, "endpoint \"%.100s\": no "
		    "region is set, and signatures need it", config->url);
	else
		(void)snprintf(text, text_size, "\"%.40s\" is not the name of "
		    "a region", config->region);
	return DDBLOCK_E_BAD_REQUEST;
}

static int
origin_take(struct origin *o, const struct origin_config *config)
{
	const struct credentials *c = &o->credentials;
	int r = credentials_copy(&o->credentials, config->credentials);

	(void)snprintf(o->host_line, sizeof(o->host_line), "Host: %s",
	    o->endpoint.authority);
	if (r == 0 && config->ca_file != NULL &&
	    (o->ca_file = strdup(config->ca_file)) == NULL)
		r = DDBLOCK_E_NOMEM;
	if (r == 0 && c->session_token != NULL)
		r = buffer_printf(&o->token_line, "X-Amz-Security-Token: %s",
		    c->session_token);
	if (r < 0)
		return r;
	return sigv4_init(&o->sigv4, c->access_key_id, c->secret_access_key,
	    config->region != NULL ? config->region : REGION_LOOPBACK,
	    config->service);
}

int
origin_new(const struct origin_config *config, struct origin **ret,
    char *text, size_t text_size)
{
	struct origin *o = calloc(1, sizeof(*o));
	int r = o == NULL ? DDBLOCK_E_NOMEM : 0;

	(void)snprintf(text, text_size, "%s", error_text(DDBLOCK_E_NOMEM));
	if (r < 0)
		return r;
	o->references = 1;
	buffer_init_secret(&o->token_line, 2 * CREDENTIALS_TEXT_MAX);
	if (!credentials_exist(config->credentials)) {
		(void)snprintf(text, text_size, "there are no credentials");
		r = DDBLOCK_E_NO_CREDENTIALS;
	}
	if (r == 0)
		r = endpoint_parse(config->url, config->allow_plain_http,
		    &o->endpoint, text, text_size);
	if (r == 0)
		r = origin_check_region(config, o->endpoint.loopback, text,
		    text_size);
	if (r == 0)
		r = origin_take(o, config);
	if (r < 0) {
		origin_unref(o);
		return r;
	}
	*ret = o;
	return 0;
}

struct origin *
origin_ref(struct origin *o)
{
	assert(o->references > 0);
	o->references++;
	return o;
}

void
origin_unref(struct origin *o)
{
	if (o == NULL || --o->references > 0)
		return;
	credentials_done(&o->credentials);
	buffer_done(&o->token_line);
	sigv4_done(&o->sigv4);
	free(o->ca_file);
	free(o);
}

bool
origin_same_route(const struct origin *a, const struct origin *b)
{
	return text_equal(a->ca_file, b->ca_file) &&
	    strcmp(a->endpoint.url, b->endpoint.url) == 0;
}
