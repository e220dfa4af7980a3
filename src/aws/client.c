/*
 * The client of one endpoint: lanes, queues, deadlines.
 *
 * Each lane has its own pool of connections, its own bound on requests at a
 * time and its own queue, so that a beat never waits for other requests; and
 * users have turns there, so that none waits for all calls of another. Every
 * call has one timer, from the call to the answer, which covers name
 * resolution, queue, connection and exchange alike.
 */
#include "aws/client.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "aws/pool.h"
#include "aws/resolver.h"
#include "aws/scrub.h"
#include "aws/skew.h"
#include "aws/spread.h"
#include "aws/transfer.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/fair_queue.h"
#include "common/text.h"

#define CLIENT_CONNECT_TIMEOUT_MS 3000
#define CLIENT_LACK_MAX 512

TAILQ_HEAD(call_queue, aws_call);

struct lane {
	struct aws_client *client;
	struct pool *pool;
	struct fair_queue waiting;
	struct call_queue running;	/* with a transfer */
	struct call_queue failing;	/* to be answered soon */
	struct transfer *idle;
	struct spread timeouts;
	uint32_t n_transfers;
	uint32_t transfers_max;
	uint32_t addresses_number;	/* that the pool knows; 0: none */
	uint64_t suspect_ms;	/* when an answer did not come; 0: never */
};

struct aws_call {
	struct fair_item turn;	/* first: this is one, while waiting */
	bool waiting;
	bool put_off;			/* its timeout */
	TAILQ_ENTRY(aws_call) link;
	struct call_queue *queue;	/* that it is in, if not waiting */
	struct lane *lane;
	struct transfer *transfer;	/* while running */
	const char *failure;		/* while failing */
	struct event timer;
	uint64_t timeout_ms;
	uint64_t sent_ms;
	aws_answer_fn answer;
	void *arg;
	char operation[TRANSFER_OPERATION_MAX + 1];
	size_t body_length;
	char body[];
};

struct aws_client {
	struct event_base *base;
	struct origin *origin;		/* NULL: calls wait */
	int lack_code;			/* why it is NULL */
	char lack_text[CLIENT_LACK_MAX];
	uint32_t origins;		/* so far */
	uint32_t routes;
	char *service;
	uint64_t connect_timeout_ms;
	bool allow_plain_http;
	resolver_lookup_fn lookup;
	struct resolver *resolver;	/* NULL: nothing to resolve */
	struct tls tls;
	struct skew skew;
	struct lane lanes[AWS_LANES];
	bool curl;			/* libcurl is set up for us */
};

static void client_pump(struct lane *);

/* ---- a call's end ---- */

static void
client_move_call(struct aws_call *c, struct call_queue *to)
{
	if (c->waiting)
		fair_queue_remove(&c->lane->waiting, &c->turn);
	c->waiting = false;
	if (c->queue != NULL)
		TAILQ_REMOVE(c->queue, c, link);
	if (to != NULL)
		TAILQ_INSERT_TAIL(to, c, link);
	c->queue = to;
}

static void
client_give_transfer(struct aws_call *c)
{
	struct transfer *t = c->transfer;

	if (t == NULL)
		return;
	transfer_end(t);
	t->next = c->lane->idle;
	c->lane->idle = t;
	c->transfer = NULL;
}

/* Its transfer is finished with, or stopped. */
static void
client_forget_call(struct aws_call *c)
{
	(void)event_del(&c->timer);
	client_move_call(c, NULL);
	client_give_transfer(c);
	free(c);
}

/* No answer came, because of @reason. */
static void
client_fail_call(struct aws_call *c, const char *reason, bool maybe_applied)
{
	const struct aws_client *s = c->lane->client;
	char text[TRANSFER_TEXT_MAX];
	struct aws_answer a = {
		.code = DDBLOCK_E_UNREACHABLE,
		.maybe_applied = maybe_applied,
		.queued = c->transfer == NULL && c->failure == NULL,
		.body = "",
		.text = text,
		.sent_ms = c->sent_ms,
	};
	aws_answer_fn answer = c->answer;
	void *arg = c->arg;

	if (s->origin != NULL) {
		(void)snprintf(text, sizeof(text), "%s: %s",
		    s->origin->endpoint.authority, reason);
	} else {
		(void)snprintf(text, sizeof(text), "%s", s->lack_text);
		if (s->lack_code != 0)
			a.code = s->lack_code;
	}
	client_forget_call(c);
	answer(arg, &a);
}

/* As above, from the loop. */
static void
client_fail_call_soon(struct aws_call *c, const char *reason)
{
	client_move_call(c, &c->lane->failing);
	c->failure = reason;
	event_active(&c->timer, EV_TIMEOUT, 0);
}

/* Thousands of calls may have no answer at one time: the loop sees to others in
 * between, unless leases depend on these. */
static bool
client_puts_off(struct aws_call *c)
{
	struct timeval wait;
	uint64_t wait_us;

	if (c->put_off || c->failure != NULL ||
	    c->lane < &c->lane->client->lanes[AWS_LANE_LOCK])
		return false;
	wait_us = spread_take_us(&c->lane->timeouts, clock_monotonic_ns());
	wait = (struct timeval){ (time_t)(wait_us / 1000000),
		(suseconds_t)(wait_us % 1000000) };
	c->put_off = wait_us > 0 && evtimer_add(&c->timer, &wait) == 0;
	return c->put_off;
}

static void
client_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct aws_call *c = arg;
	struct lane *l = c->lane;
	char reason[TRANSFER_TEXT_MAX];
	bool taken = false;

	(void)fd;
	(void)what;
	if (client_puts_off(c))
		return;
	if (c->failure != NULL) {
		client_fail_call(c, c->failure, false);
		client_pump(l);
		return;
	}
	if (c->transfer != NULL) {
		pool_stop(l->pool, c->transfer->easy);
		taken = c->transfer->out;
		if (taken)
			l->suspect_ms = clock_boot_ms();
		else if (l->client->resolver != NULL)
			resolver_distrust(l->client->resolver);
	}
	(void)snprintf(reason, sizeof(reason), "no answer within %llu ms%s",
	    (unsigned long long)c->timeout_ms,
	    c->transfer == NULL ? " (never sent)" :
	    taken ? "" : " (no connection)");
	client_fail_call(c, reason, taken);
	client_pump(l);
}

static void
client_on_finished(void *arg, CURL *easy, CURLcode result)
{
	struct lane *l = arg;
	struct aws_client *s = l->client;
	struct transfer *t = NULL;
	struct aws_answer a;
	struct aws_call *c;

	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
	c = t->call;
	transfer_result(t, result, &a);
	if (a.status >= 300)
		credentials_mask(&t->origin->credentials, t->answer.data,
		    t->answer.length);
	a.sent_ms = c->sent_ms;
	if (t->response.date_s > 0)
		skew_learn(&s->skew, c->sent_ms, clock_boot_ms(),
		    t->response.date_s);
	if (t->addresses_number != 0 && t->route == s->routes)
		l->addresses_number = t->addresses_number;
	if (s->resolver != NULL && (result == CURLE_COULDNT_CONNECT ||
	    result == CURLE_OPERATION_TIMEDOUT))
		resolver_distrust(s->resolver);

	/* The answer is read out of the transfer: this stays busy till then. */
	(void)event_del(&c->timer);
	c->answer(c->arg, &a);
	client_forget_call(c);
	client_pump(l);
}

/* ---- a call's start ---- */

static struct transfer *
client_take_transfer(struct lane *l)
{
	struct transfer *t = l->idle;

	if (t != NULL) {
		l->idle = t->next;
	} else if (l->n_transfers < l->transfers_max) {
		if (transfer_new(&l->client->tls,
		    l->client->connect_timeout_ms, &t) < 0)
			return NULL;
		l->n_transfers++;
	}
	return t;
}

/*
 * An answer that did not come may mean that the way to the endpoint has
 * changed, and then every kept connection is as dead as that one, and each
 * would cost a timeout. So connections that were idle at that time are not
 * used any more.
 */
static uint64_t
client_idle_max_s(const struct lane *l, uint64_t now_ms)
{
	uint64_t since_s;

	if (l->suspect_ms == 0)
		return TRANSFER_IDLE_MAX_S;
	since_s = (now_ms - l->suspect_ms) / 1000;
	return since_s > 0 ? since_s - 1 : 0; /* libcurl's seconds are whole */
}

static void
client_start(struct aws_call *c, const char *addresses, uint32_t number)
{
	struct lane *l = c->lane;
	struct aws_client *s = l->client;
	struct transfer *t = client_take_transfer(l);
	uint64_t now_ms = clock_boot_ms();
	uint64_t wall_ms = skew_wall_ms(&s->skew, now_ms);

	if (t == NULL) {
		client_fail_call_soon(c, "out of memory");
		return;
	}
	client_move_call(c, &l->running);
	c->transfer = t;
	t->call = c;
	c->sent_ms = now_ms;
	transfer_set_idle_max(t, client_idle_max_s(l, now_ms));
	if (wall_ms == 0)
		wall_ms = clock_wall_ms();
	if (transfer_begin(t, s->origin, c->operation, c->body,
	    c->body_length, wall_ms / 1000,
	    number != l->addresses_number ? addresses : NULL, number) == 0 &&
	    pool_start(l->pool, t->easy) == 0)
		return;

	client_give_transfer(c);
	client_fail_call_soon(c, "the request cannot be made");
}

/* The one whose turn it is; it is in no queue. */
static struct aws_call *
client_take_turn(struct lane *l)
{
	struct aws_call *c =
	    (struct aws_call *)(void *)fair_queue_take(&l->waiting);

	if (c != NULL)
		c->waiting = false;
	return c;
}

/* Start what waits, as far as connections and addresses allow. */
static void
client_pump(struct lane *l)
{
	struct aws_client *s = l->client;
	const char *addresses = NULL;
	uint32_t number = 0;

	while (s->origin != NULL && !fair_queue_is_empty(&l->waiting) &&
	    (l->idle != NULL || l->n_transfers < l->transfers_max)) {
		if (s->resolver != NULL) {
			addresses = resolver_addresses(s->resolver,
			    clock_boot_ms(), &number);
			if (addresses == NULL && resolver_busy(s->resolver))
				return; /* client_on_resolved() goes on */
			if (addresses == NULL) {
				client_fail_call_soon(client_take_turn(l),
				    resolver_error(s->resolver));
				continue;
			}
		}
		client_start(client_take_turn(l), addresses, number);
	}
}

static void
client_on_resolved(void *arg)
{
	struct aws_client *s = arg;

	for (size_t i = 0; i < AWS_LANES; i++)
		client_pump(&s->lanes[i]);
}

static struct aws_call *
client_new_call(struct lane *l, const char *operation, const char *body,
    size_t body_length)
{
	struct aws_call *c = malloc(sizeof(*c) + body_length);

	if (c == NULL)
		return NULL;
	*c = (struct aws_call){ .lane = l, .body_length = body_length };
	text_copy(c->operation, sizeof(c->operation), operation);
	if (body_length > 0)
		memcpy(c->body, body, body_length);
	return c;
}

int
aws_client_call(struct aws_client *s, enum aws_lane lane, uint32_t user,
    const char *operation, const char *body, size_t body_length,
    uint64_t timeout_ms, aws_answer_fn answer, void *arg,
    struct aws_call **ret)
{
	struct timeval t = clock_interval(timeout_ms);
	struct lane *l = &s->lanes[lane];
	struct aws_call *c;

	assert(strlen(operation) <= TRANSFER_OPERATION_MAX);
	c = client_new_call(l, operation, body, body_length);
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->answer = answer;
	c->arg = arg;
	c->timeout_ms = timeout_ms;
	c->sent_ms = clock_boot_ms();
	if (evtimer_assign(&c->timer, s->base, client_on_timer, c) < 0 ||
	    evtimer_add(&c->timer, &t) < 0) {
		free(c);
		return DDBLOCK_E_NOMEM;
	}
	c->waiting = true;
	fair_queue_add(&l->waiting, &c->turn, user, 1);
	*ret = c;
	client_pump(l);
	return 0;
}

void
aws_call_cancel(struct aws_call *c)
{
	struct lane *l = c->lane;

	if (c->transfer != NULL)
		pool_stop(l->pool, c->transfer->easy);
	client_forget_call(c);
	client_pump(l);
}

/* ---- the client ---- */

static int
client_init_lanes(struct aws_client *s, const struct aws_client_config *config)
{
	static const uint32_t standard[AWS_LANES] = { 4, 64, 64, 4 };

	for (size_t i = 0; i < AWS_LANES; i++) {
		struct lane *l = &s->lanes[i];
		int r;

		l->transfers_max = config->connections_max[i] > 0 ?
		    config->connections_max[i] : standard[i];
		r = pool_new(s->base, l->transfers_max, client_on_finished, l,
		    &l->pool);
		if (r < 0)
			return r;
	}
	return 0;
}

int
aws_client_new(struct event_base *base, const struct aws_client_config *config,
    struct aws_client **ret)
{
	struct aws_client *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	for (size_t i = 0; i < AWS_LANES; i++) {
		s->lanes[i].client = s;
		fair_queue_init(&s->lanes[i].waiting, 1);
		TAILQ_INIT(&s->lanes[i].running);
		TAILQ_INIT(&s->lanes[i].failing);
	}
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
		r = client_init_lanes(s, config);
	if (r < 0) {
		aws_client_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- where to, and who signs ---- */

/* Earlier knowledge about the host is of no use any more. */
static int
client_change_route(struct aws_client *s, const struct origin *o)
{
	struct resolver *resolver = NULL;

	if (!o->endpoint.literal) {
		int r = resolver_new(s->base, o->endpoint.host,
		    o->endpoint.port, s->lookup, client_on_resolved, s,
		    &resolver);

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
	for (size_t i = 0; i < AWS_LANES; i++)
		client_pump(&s->lanes[i]);
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

static void
client_done_lane(struct lane *l)
{
	struct aws_call *c;
	struct transfer *t;

	while ((c = TAILQ_FIRST(&l->running)) != NULL) {
		pool_stop(l->pool, c->transfer->easy);
		client_forget_call(c);
	}
	while ((c = client_take_turn(l)) != NULL ||
	    (c = TAILQ_FIRST(&l->failing)) != NULL)
		client_forget_call(c);
	while ((t = l->idle) != NULL) {
		l->idle = t->next;
		transfer_free(t);
	}
	pool_free(l->pool);
}

void
aws_client_free(struct aws_client *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < AWS_LANES; i++)
		client_done_lane(&s->lanes[i]);
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
