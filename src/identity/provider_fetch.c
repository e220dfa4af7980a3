/*
 * One small HTTP exchange.
 */
#include <config.h>

#include "identity/provider_fetch.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aws/curl_setup.h"
#include "aws/endpoint.h"
#include "aws/pool.h"
#include "aws/resolver.h"
#include "aws/sigv4.h"
#include "aws/tls.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"

#define FETCH_HEADERS_MAX (ERRAND_HEADERS_MAX + 6)	/* those of its own */
#define FETCH_TEXT_MAX 832
#define FETCH_TLS_TEXT_MAX (CURL_ERROR_SIZE + 256)
#define FETCH_LINES_MAX (64 * 1024)

struct provider_fetch {
	const struct errand *errand;
	struct endpoint endpoint;
	char *path;		/* of the URL, with the query */
	struct pool *pool;
	struct resolver *resolver;	/* NULL: nothing to resolve */
	CURL *easy;
	bool running;		/* in the pool */
	struct event *timer;	/* its time is over; or it has ended */
	bool ended;
	uint64_t wall_s;

	struct buffer lines;	/* of the headers */
	size_t starts[FETCH_HEADERS_MAX];	/* of them, in @lines */
	struct curl_slist headers[FETCH_HEADERS_MAX];
	size_t n_headers;
	struct buffer addresses;
	struct curl_slist resolve;

	struct buffer answer;
	int status;
	char error[CURL_ERROR_SIZE];
	char text[FETCH_TEXT_MAX];
	errand_done_fn done;
	void *arg;
};

void
provider_fetch_stop(struct provider_fetch *f)
{
	if (f == NULL)
		return;
	if (f->running)
		pool_stop(f->pool, f->easy);
	if (f->easy != NULL)
		curl_easy_cleanup(f->easy);
	pool_free(f->pool);
	resolver_free(f->resolver);
	if (f->timer != NULL)
		event_free(f->timer);
	buffer_done(&f->lines);
	buffer_done(&f->addresses);
	buffer_done(&f->answer);
	free(f->path);
	free(f);
}

/* ---- the end ---- */

/* Told from the loop, when none of our functions is on the stack. */
static void
fetch_end(struct provider_fetch *f, const char *reason)
{
	f->ended = true;
	if (reason != NULL)
		(void)snprintf(f->text, sizeof(f->text), "%s: %s",
		    f->endpoint.authority, reason);
	event_active(f->timer, EV_TIMEOUT, 0);
}

static void
fetch_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct provider_fetch *f = arg;
	struct errand_answer a = { .body = "", .text = f->text };

	(void)fd;
	(void)what;
	if (!f->ended)
		(void)snprintf(f->text, sizeof(f->text),
		    "%s: no answer within %u ms", f->endpoint.authority,
		    (unsigned)f->errand->timeout_ms);
	a.status = f->status;
	if (buffer_failed(&f->answer) < 0) {
		a.code = buffer_failed(&f->answer);
	} else if (f->status == 0) {
		a.code = DDBLOCK_E_UNREACHABLE;
	} else if (f->answer.data != NULL) {
		a.body = f->answer.data;
		a.body_length = f->answer.length;
	}
	f->done(f->arg, &a);
	provider_fetch_stop(f);
}

static const char *
fetch_reason(const struct provider_fetch *f, CURLcode result)
{
	if (buffer_failed(&f->answer) < 0)
		return "the answer is too large";
	return f->error[0] != '\0' ? f->error : curl_easy_strerror(result);
}

static void
fetch_on_finished(void *arg, CURL *easy, CURLcode result)
{
	struct provider_fetch *f = arg;
	char text[FETCH_TLS_TEXT_MAX];
	const char *reason = NULL;
	long status = 0;

	f->running = false;
	if (result == CURLE_OK)
		(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	f->status = (int)status;
	if (status == 0)
		reason = tls_reason(easy, result, f->error,
		    f->errand->ca_file, text, sizeof(text)) ?
		    text : fetch_reason(f, result);
	fetch_end(f, reason);
}

static size_t
fetch_write(char *from, size_t size, size_t n, void *arg)
{
	struct provider_fetch *f = arg;

	return buffer_append(&f->answer, from, size * n) == 0 ? size * n : 0;
}

/* ---- the request ---- */

static void
fetch_add_header(struct provider_fetch *f, const char *name, const char *value)
{
	f->starts[f->n_headers++] = f->lines.length;
	(void)buffer_printf(&f->lines, "%s:%s%s", name,
	    value[0] == '\0' ? "" : " ", value);
	(void)buffer_append(&f->lines, "", 1);
}

static int
fetch_sign(struct provider_fetch *f)
{
	const struct errand *e = f->errand;
	const struct credentials *c = e->signer;
	struct sigv4_header headers[FETCH_HEADERS_MAX];
	char date[SIGV4_DATE_SIZE];
	struct sigv4_request request = {
		.method = e->method,
		.path = f->path,
		.query = "",
		.headers = headers,
		.body = e->body != NULL ? e->body : "",
		.body_length = e->body_length,
	};
	struct buffer line;
	struct sigv4 s;
	int r;

	sigv4_date(f->wall_s, date);
	headers[request.n_headers++] =
	    (struct sigv4_header){ "host", f->endpoint.authority };
	headers[request.n_headers++] =
	    (struct sigv4_header){ "x-amz-date", date };
	for (size_t i = 0; i < e->n_headers; i++)
		headers[request.n_headers++] = (struct sigv4_header){
			e->headers[i].name, e->headers[i].value,
		};
	if (c->session_token != NULL)
		headers[request.n_headers++] = (struct sigv4_header){
			"x-amz-security-token", c->session_token,
		};
	r = sigv4_init(&s, c->access_key_id, c->secret_access_key, e->region,
	    e->service);
	if (r < 0)
		return r;
	buffer_init(&line, SIGV4_TEXT_MAX);
	r = sigv4_sign(&s, &request, date, &line);
	sigv4_done(&s);
	if (r == 0) {
		fetch_add_header(f, "X-Amz-Date", date);
		if (c->session_token != NULL)
			fetch_add_header(f, "X-Amz-Security-Token",
			    c->session_token);
		fetch_add_header(f, "Authorization", line.data);
	}
	buffer_done(&line);
	return r;
}

/* Neither Expect nor what libcurl would say of its own is wanted. */
static int
fetch_set_headers(struct provider_fetch *f)
{
	const struct errand *e = f->errand;
	bool typed = false;
	int r = 0;

	fetch_add_header(f, "Host", f->endpoint.authority);
	fetch_add_header(f, "Expect", "");
	for (size_t i = 0; i < e->n_headers; i++) {
		fetch_add_header(f, e->headers[i].name, e->headers[i].value);
		if (strcasecmp(e->headers[i].name, "content-type") == 0)
			typed = true;
	}
	if (!typed)
		fetch_add_header(f, "Content-Type", "");
	if (e->signer != NULL)
		r = fetch_sign(f);
	if (r == 0)
		r = buffer_failed(&f->lines);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->n_headers; i++) {
		f->headers[i].data = f->lines.data + f->starts[i];
		f->headers[i].next = i + 1 < f->n_headers ?
		    &f->headers[i + 1] : NULL;
	}
	return curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers) ==
	    CURLE_OK ? 0 : DDBLOCK_E_NOMEM;
}

static int
fetch_set_request(struct provider_fetch *f)
{
	const struct errand *e = f->errand;
	CURL *c = f->easy;
	bool get = strcmp(e->method, "GET") == 0;
	int r = curl_setup_url(c, e->url, f->endpoint.tls, e->ca_file);

	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, f->error);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, fetch_write);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
	if (r == 0 && !get) {
		(void)curl_easy_setopt(c, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)e->body_length);
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS,
		    e->body != NULL ? e->body : "");
		if (curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, e->method) !=
		    CURLE_OK)
			r = DDBLOCK_E_NOMEM;
	}
	return r == 0 ? fetch_set_headers(f) : r;
}

static int
fetch_set_addresses(struct provider_fetch *f, const char *addresses)
{
	if (buffer_printf(&f->addresses, "%s:%s:%s", f->endpoint.host,
	    f->endpoint.port, addresses) < 0)
		return DDBLOCK_E_NOMEM;
	f->resolve.data = f->addresses.data;
	return curl_easy_setopt(f->easy, CURLOPT_RESOLVE, &f->resolve) ==
	    CURLE_OK ? 0 : DDBLOCK_E_NOMEM;
}

static void
fetch_send(struct provider_fetch *f, const char *addresses)
{
	int r = addresses != NULL ? fetch_set_addresses(f, addresses) : 0;

	if (r == 0)
		r = pool_start(f->pool, f->easy);
	if (r < 0)
		fetch_end(f, error_text(r));
	else
		f->running = true;
}

/* ---- its start ---- */

static void
fetch_on_resolved(void *arg)
{
	struct provider_fetch *f = arg;
	uint32_t number;
	const char *addresses = resolver_addresses(f->resolver,
	    clock_boot_ms(), &number);

	if (f->running || f->ended)
		return;
	if (addresses != NULL)
		fetch_send(f, addresses);
	else
		fetch_end(f, resolver_error(f->resolver));
}

/* Its path with the query; "/" if it has none. Ours have no fragments. */
static int
fetch_take_path(struct provider_fetch *f)
{
	const char *path = strstr(f->errand->url, "://");

	path = path == NULL ? NULL : strchr(path + 3, '/');
	f->path = strdup(path == NULL ? "/" : path);
	return f->path == NULL ? DDBLOCK_E_NOMEM : 0;
}

static int
fetch_parse(struct provider_fetch *f)
{
	const struct errand *e = f->errand;
	char base[ENDPOINT_HOST_MAX + 32];
	char text[256];
	size_t length;
	int r = fetch_take_path(f);

	if (r < 0)
		return r;
	length = strlen(e->url);
	if (strcmp(f->path, "/") != 0)
		length -= strlen(f->path);
	if (length >= sizeof(base))
		return DDBLOCK_E_LIMIT;
	memcpy(base, e->url, length);
	base[length] = '\0';
	return endpoint_parse(base, e->plain_allowed, &f->endpoint, text,
	    sizeof(text));
}

static int
fetch_open(struct provider_fetch *f, struct event_base *base)
{
	const struct timeval t = clock_interval(f->errand->timeout_ms);
	int r = fetch_parse(f);

	if (r < 0)
		return r;
	f->timer = evtimer_new(base, fetch_on_timer, f);
	f->easy = curl_setup_new(f->errand->timeout_ms);
	if (f->timer == NULL || f->easy == NULL ||
	    evtimer_add(f->timer, &t) < 0)
		return DDBLOCK_E_NOMEM;
	r = pool_new(base, 1, fetch_on_finished, NULL, f, &f->pool);
	if (r == 0)
		r = fetch_set_request(f);
	if (r == 0 && !f->endpoint.literal)
		r = resolver_new(base, f->endpoint.host, f->endpoint.port,
		    NULL, fetch_on_resolved, f, &f->resolver);
	return r;
}

int
provider_fetch_start(struct event_base *base, const struct errand *e, uint64_t
    wall_s, errand_done_fn done, void *arg, struct provider_fetch **ret)
{
	struct provider_fetch *f = calloc(1, sizeof(*f));
	const char *addresses = NULL;
	uint32_t number;
	int r;

	if (f == NULL)
		return DDBLOCK_E_NOMEM;
	f->errand = e;
	f->wall_s = wall_s;
	f->done = done;
	f->arg = arg;
	buffer_init_secret(&f->lines, FETCH_LINES_MAX);
	buffer_init(&f->addresses, FETCH_LINES_MAX);
	buffer_init_secret(&f->answer, e->answer_max);
	r = fetch_open(f, base);
	if (r < 0) {
		provider_fetch_stop(f);
		return r;
	}
	if (f->resolver != NULL)
		addresses = resolver_addresses(f->resolver, clock_boot_ms(),
		    &number);
	if (f->resolver == NULL || addresses != NULL)
		fetch_send(f, addresses);
	else if (!resolver_busy(f->resolver))
		fetch_end(f, resolver_error(f->resolver));
	*ret = f;
	return 0;
}
