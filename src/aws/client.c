/*
 * The client of one endpoint: where to, who signs, what is known of it. Its
 * calls are made in lanes (lane.c).
 */
#include "aws/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/origin.h"
#include "aws/scrub.h"
#include "common/clock.h"
#include "common/error.h"

#define CLIENT_CONNECT_TIMEOUT_MS 3000

static int
client_open_lanes(struct aws_client *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < AWS_LANES; i++)
		r = lane_open(&s->lanes[i]);
	return r;
}

int
aws_client_new(struct event_base *base, const struct aws_client_config *config,
    struct aws_client **ret)
{
	static const uint32_t standard[AWS_LANES] = { 4, 64, 64, 4 };
	struct aws_client *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	for (size_t i = 0; i < AWS_LANES; i++)
		lane_init(&s->lanes[i], s, config->connections_max[i] > 0 ?
		    config->connections_max[i] : standard[i]);
	s->connect_timeout_ms = config->connect_timeout_ms > 0 ?
	    config->connect_timeout_ms : CLIENT_CONNECT_TIMEOUT_MS;
	s->allow_plain_http = config->allow_plain_http;
	s->lookup = config->lookup;
	aws_client_lack(s, 0, "there are no credentials yet");
	s->service = strdup(config->service != NULL ? config->service :
	    "dynamodb");
	s->curl = scrub_libcurl() == 0;
	r = s->service == NULL ? DDBLOCK_E_NOMEM :
	    s->curl ? tls_init(&s->tls) : DDBLOCK_E_SYSTEM;
	if (r == 0)
		r = client_open_lanes(s);
	if (r < 0) {
		aws_client_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- where to, and who signs ---- */

/* What waited for that. */
static void
client_go_on(void *arg)
{
	struct aws_client *s = arg;

	for (size_t i = 0; i < AWS_LANES; i++)
		lane_pump(&s->lanes[i]);
}

/* Earlier knowledge about the host is of no use any more. */
static int
client_change_route(struct aws_client *s, const struct origin *o)
{
	struct resolver *resolver = NULL;

	if (!o->endpoint.literal) {
		int r = resolver_new(s->base, o->endpoint.host,
		    o->endpoint.port, s->lookup, client_go_on, s, &resolver);

		if (r < 0)
			return r;
	}
	resolver_free(s->resolver);
	s->resolver = resolver;
	s->routes++;
	for (size_t i = 0; i < AWS_LANES; i++)
		s->lanes[i].addresses_number = 0;
	return 0;
}

int
aws_client_use(struct aws_client *s, const struct aws_client_origin *from,
    char *text, size_t text_size)
{
	const struct origin_config config = {
		.url = from->url, .region = from->region,
		.service = s->service, .credentials = from->credentials,
		.ca_file = from->ca_file,
		.allow_plain_http = s->allow_plain_http,
	};
	struct origin *o = NULL;
	int r = origin_new(&config, &o, text, text_size);

	if (r == 0 && (s->origin == NULL || !origin_same_route(s->origin, o)))
		r = client_change_route(s, o);
	if (r < 0) {
		origin_unref(o);
		return r;
	}
	o->number = ++s->origins;
	o->route = s->routes;
	origin_unref(s->origin);
	s->origin = o;
	client_go_on(s);
	return 0;
}

void
aws_client_lack(struct aws_client *s, int code, const char *text)
{
	s->lack_code = code;
	(void)snprintf(s->lack_text, sizeof(s->lack_text), "%s", text);
}

bool
aws_client_ready(const struct aws_client *s)
{
	return s->origin != NULL;
}

const struct credentials *
aws_client_signer(const struct aws_client *s, uint32_t signer)
{
	return s->origin != NULL && s->origin->number == signer ?
	    &s->origin->credentials : NULL;
}

/* ---- its end ---- */

void
aws_client_free(struct aws_client *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < AWS_LANES; i++)
		lane_done(&s->lanes[i]);
	tls_done(&s->tls);
	resolver_free(s->resolver);
	origin_unref(s->origin);
	free(s->service);
	if (s->curl)
		scrub_libcurl_done();
	free(s);
}

uint64_t
aws_client_wall_ms(const struct aws_client *s)
{
	return skew_wall_ms(&s->skew, clock_boot_ms());
}

const struct credentials *
aws_client_credentials(const struct aws_client *s)
{
	return s->origin != NULL ? &s->origin->credentials : NULL;
}

const char *
aws_client_endpoint(const struct aws_client *s)
{
	return s->origin != NULL ? s->origin->endpoint.url : "";
}
