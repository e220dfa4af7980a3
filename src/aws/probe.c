/*
 * A new connection to an endpoint, which is closed again.
 *
 * The kept-alive connections of the client say nothing of whether a new one
 * could be made, and theirs was made long ago. libcurl says what it agreed on
 * with the other side only in words.
 */
#include "aws/probe.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/curl_setup.h"
#include "aws/endpoint.h"
#include "aws/pool.h"
#include "aws/resolver.h"
#include "aws/scrub.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"

#define PROBE_SAID "SSL connection using "
/* What the timer is used for, beside the time-out. */
#define PROBE_NEXT EV_READ
#define PROBE_ENDED EV_WRITE

struct probe {
	struct endpoint endpoint;
	char *ca_file;
	uint64_t timeout_ms;
	probe_fn done;
	void *arg;

	bool curl;		/* libcurl is set up for us */
	struct resolver *resolver;	/* NULL: nothing to resolve */
	struct pool *pool;
	CURL *easy;
	bool running;		/* in the pool */
	struct event *timer;	/* to start with, then the time-out */
	uint64_t began_ms;
	uint64_t connecting_ms;	/* since then; */
	uint64_t greeted_ms;	/* since then with TLS; 0: not yet */
	struct buffer resolve_line;
	struct curl_slist resolve;
	char error[CURL_ERROR_SIZE];
	struct probe_report report;
};

void
probe_cancel(struct probe *p)
{
	if (p == NULL)
		return;
	if (p->running)
		pool_stop(p->pool, p->easy);
	if (p->easy != NULL)
		curl_easy_cleanup(p->easy);
	pool_free(p->pool);
	resolver_free(p->resolver);
	if (p->timer != NULL)
		event_free(p->timer);
	if (p->curl)
		scrub_libcurl_done();
	buffer_done(&p->resolve_line);
	free(p->ca_file);
	free(p);
}

/* Tell it from the loop: neither libcurl nor the resolver can be freed from
 * within what they call. */
static void
probe_end(struct probe *p, enum probe_stage stage, const char *text)
{
	p->report.stage = stage;
	(void)snprintf(p->report.text, sizeof(p->report.text), "%s", text);
	event_active(p->timer, PROBE_ENDED, 0);
}

static void
probe_tell(struct probe *p)
{
	struct probe_report report = p->report;
	probe_fn done = p->done;
	void *arg = p->arg;

	probe_cancel(p);
	done(arg, &report);
}

/* ---- what libcurl says ---- */

/* From 8.12 on, it says that there is a connection only when TLS is agreed: so
 * the first byte of TLS says it. */
static int
probe_on_debug(CURL *easy, curl_infotype type, char *text, size_t length,
    void *arg)
{
	const size_t skip = sizeof(PROBE_SAID) - 1;
	struct probe *p = arg;

	(void)easy;
	if (type == CURLINFO_SSL_DATA_OUT && p->greeted_ms == 0)
		p->greeted_ms = clock_boot_ms();
	if (type == CURLINFO_TEXT && length > skip &&
	    memcmp(text, PROBE_SAID, skip) == 0)
		(void)snprintf(p->report.version, sizeof(p->report.version),
		    "%.*s", (int)strcspn(text + skip, "\r\n"), text + skip);
	return 0;
}

/* Of the server's own certificate, which is the first. */
static void
probe_read_certificate(struct probe *p)
{
	struct curl_certinfo *info = NULL;
	const struct curl_slist *line;

	if (curl_easy_getinfo(p->easy, CURLINFO_CERTINFO, &info) != CURLE_OK ||
	    info == NULL || info->num_of_certs < 1)
		return;
	for (line = info->certinfo[0]; line != NULL; line = line->next) {
		if (strncmp(line->data, "Issuer:", 7) == 0)
			(void)snprintf(p->report.issuer,
			    sizeof(p->report.issuer), "%s", line->data + 7);
		if (strncmp(line->data, "Expire date:", 12) == 0)
			p->report.expires_s =
			    (int64_t)curl_getdate(line->data + 12, NULL);
	}
}

/* Is there a connection, perhaps still without TLS? */
static bool
probe_is_connected(const struct probe *p)
{
	curl_off_t connected_us = 0;

	(void)curl_easy_getinfo(p->easy, CURLINFO_CONNECT_TIME_T,
	    &connected_us);
	return connected_us > 0 || p->greeted_ms != 0;
}

static void
probe_read_times(struct probe *p)
{
	curl_off_t connected_us = 0;

	(void)curl_easy_getinfo(p->easy, CURLINFO_CONNECT_TIME_T,
	    &connected_us);
	p->report.connect_ms = (uint64_t)connected_us / 1000;
	if (p->greeted_ms == 0)
		return;
	p->report.connect_ms = p->greeted_ms - p->connecting_ms;
	p->report.tls_ms = clock_boot_ms() - p->greeted_ms;
}

static void
probe_on_finished(void *arg, CURL *easy, CURLcode result)
{
	struct probe *p = arg;
	char *address = NULL;
	enum probe_stage stage = PROBE_DONE;

	p->running = false;
	(void)curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
	probe_read_times(p);
	(void)snprintf(p->report.address, sizeof(p->report.address), "%s",
	    address == NULL ? "" : address);
	probe_read_certificate(p);
	if (result != CURLE_OK)
		stage = probe_is_connected(p) ? PROBE_TLS : PROBE_CONNECT;
	probe_end(p, stage, result == CURLE_OK ? "" :
	    p->error[0] != '\0' ? p->error : curl_easy_strerror(result));
}

/* ---- one after the other ---- */

static int
probe_set(struct probe *p)
{
	CURL *e = p->easy;

	(void)curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	(void)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, p->error);
	(void)curl_easy_setopt(e, CURLOPT_CERTINFO, 1L);
	(void)curl_easy_setopt(e, CURLOPT_VERBOSE, 1L);
	(void)curl_easy_setopt(e, CURLOPT_DEBUGFUNCTION, probe_on_debug);
	(void)curl_easy_setopt(e, CURLOPT_DEBUGDATA, p);
	if (p->resolve.data != NULL &&
	    curl_easy_setopt(e, CURLOPT_RESOLVE, &p->resolve) != CURLE_OK)
		return DDBLOCK_E_NOMEM;
	return curl_setup_url(e, p->endpoint.url, p->endpoint.tls, p->ca_file);
}

static void
probe_arm(struct probe *p)
{
	struct timeval t = clock_interval(p->timeout_ms);

	if (event_add(p->timer, &t) < 0)
		event_active(p->timer, EV_TIMEOUT, 0);
}

static void
probe_connect(struct probe *p, const char *addresses)
{
	if (addresses != NULL) {
		p->report.lookup_ms = clock_boot_ms() - p->began_ms;
		(void)snprintf(p->report.addresses,
		    sizeof(p->report.addresses), "%s", addresses);
		if (buffer_printf(&p->resolve_line, "%s:%s:%s",
		    p->endpoint.host, p->endpoint.port, addresses) == 0)
			p->resolve.data = p->resolve_line.data;
	}
	p->report.stage = PROBE_CONNECT;
	p->connecting_ms = clock_boot_ms();
	if (probe_set(p) < 0 || pool_start(p->pool, p->easy) < 0) {
		probe_end(p, PROBE_CONNECT, error_text(DDBLOCK_E_NOMEM));
		return;
	}
	p->running = true;
	probe_arm(p);
}

static void
probe_resolve(struct probe *p)
{
	const char *addresses;
	uint32_t number;

	addresses = resolver_addresses(p->resolver, clock_boot_ms(), &number);
	if (addresses != NULL)
		probe_connect(p, addresses);
	else if (!resolver_busy(p->resolver))
		probe_end(p, PROBE_LOOKUP, resolver_error(p->resolver));
}

static void
probe_on_resolved(void *arg)
{
	struct probe *p = arg;

	/* A later lookup of the same name is of no interest. */
	if (p->report.stage == PROBE_LOOKUP)
		event_active(p->timer, PROBE_NEXT, 0);
}

static void
probe_time_out(struct probe *p)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "no answer within %llu ms",
	    (unsigned long long)p->timeout_ms);
	probe_end(p, p->running && probe_is_connected(p) ? PROBE_TLS :
	    p->report.stage, text);
}

static void
probe_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct probe *p = arg;

	(void)fd;
	if ((what & PROBE_ENDED) != 0) {
		probe_tell(p);
	} else if ((what & EV_TIMEOUT) != 0) {
		probe_time_out(p);
	} else if (p->resolver == NULL) {
		probe_connect(p, NULL);
	} else {
		probe_arm(p);
		probe_resolve(p);
	}
}

static int
probe_open(struct probe *p, struct event_base *base,
    const struct probe_config *config)
{
	const struct endpoint *e = &p->endpoint;
	int r = 0;

	if (config->ca_file != NULL &&
	    (p->ca_file = strdup(config->ca_file)) == NULL)
		return DDBLOCK_E_NOMEM;
	if (scrub_libcurl() < 0)
		return DDBLOCK_E_SYSTEM;
	p->curl = true;
	p->timer = event_new(base, -1, 0, probe_on_timer, p);
	p->easy = curl_setup_new(p->timeout_ms);
	if (p->timer == NULL || p->easy == NULL)
		return DDBLOCK_E_NOMEM;
	r = pool_new(base, 1, probe_on_finished, NULL, p, &p->pool);
	if (r == 0 && !e->literal)
		r = resolver_new(base, e->host, e->port, config->lookup,
		    probe_on_resolved, p, &p->resolver);
	return r;
}

int
probe_start(struct event_base *base, const struct probe_config *config,
    probe_fn done, void *arg, struct probe **ret)
{
	struct probe *p = calloc(1, sizeof(*p));
	char text[PROBE_TEXT_MAX];
	int r;

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->done = done;
	p->arg = arg;
	p->timeout_ms = config->timeout_ms;
	p->began_ms = clock_boot_ms();
	buffer_init(&p->resolve_line, 16384);
	r = endpoint_parse(config->url, true, &p->endpoint, text,
	    sizeof(text));
	if (r == 0)
		r = probe_open(p, base, config);
	if (r < 0) {
		probe_cancel(p);
		return r;
	}
	p->report = (struct probe_report){
		.stage = p->endpoint.literal ? PROBE_CONNECT : PROBE_LOOKUP,
		.literal = p->endpoint.literal,
		.loopback = p->endpoint.loopback, .tls = p->endpoint.tls,
	};
	(void)snprintf(p->report.host, sizeof(p->report.host), "%s",
	    p->endpoint.host);
	(void)snprintf(p->report.port, sizeof(p->report.port), "%s",
	    p->endpoint.port);
	*ret = p;
	event_active(p->timer, PROBE_NEXT, 0);
	return 0;
}
