/*
 * A lane: calls from their start to their end.
 *
 * Each lane has its own pool of connections, its own bound on requests at a
 * time and its own queue, so that a beat never waits for other requests; and
 * users have turns there, so that none waits for all calls of another. Every
 * call has one timer, from the call to the answer, which covers name
 * resolution, queue, connection and exchange alike.
 */
#include "aws/lane.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/pool.h"
#include "aws/transfer.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/text.h"

struct aws_call {
	struct fair_item turn;	/* first: this is one, while waiting */
	bool waiting;
	bool put_off;			/* its timeout */
	TAILQ_ENTRY(aws_call) link;
	struct call_queue *queue;	/* that it is in, if not waiting */
	struct lane *lane;
	uint32_t user;
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

/* ---- a call's end ---- */

static void
call_move(struct aws_call *c, struct call_queue *to)
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
call_give_transfer(struct aws_call *c)
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
call_forget(struct aws_call *c)
{
	(void)event_del(&c->timer);
	call_move(c, NULL);
	call_give_transfer(c);
	free(c);
}

/* No answer came, because of @reason. */
static void
call_fail(struct aws_call *c, const char *reason, bool maybe_applied)
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
	call_forget(c);
	answer(arg, &a);
}

/* As above, from the loop. */
static void
call_fail_soon(struct aws_call *c, const char *reason)
{
	call_move(c, &c->lane->failing);
	c->failure = reason;
	event_active(&c->timer, EV_TIMEOUT, 0);
}

/* Thousands of calls may have no answer at one time: the loop sees to others in
 * between, unless leases depend on these. */
static bool
call_puts_off(struct aws_call *c)
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
call_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct aws_call *c = arg;
	struct lane *l = c->lane;
	char reason[TRANSFER_TEXT_MAX];
	bool taken = false;

	(void)fd;
	(void)what;
	if (call_puts_off(c))
		return;
	if (c->failure != NULL) {
		call_fail(c, c->failure, false);
		lane_pump(l);
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
	call_fail(c, reason, taken);
	lane_pump(l);
}

static struct transfer *
lane_transfer_of(CURL *easy)
{
	struct transfer *t = NULL;

	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
	return t;
}

/* From 8.12 on, libcurl closes its connections by a handle of its own. */
static uint32_t
lane_user_of(CURL *easy)
{
	const struct transfer *t = lane_transfer_of(easy);

	return t == NULL ? 0 : t->call->user;
}

static void
lane_on_finished(void *arg, CURL *easy, CURLcode result)
{
	struct lane *l = arg;
	struct aws_client *s = l->client;
	struct transfer *t = lane_transfer_of(easy);
	struct aws_answer a;
	struct aws_call *c = t->call;

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
	call_forget(c);
	lane_pump(l);
}

/* ---- a call's start ---- */

static struct transfer *
lane_take_transfer(struct lane *l)
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
lane_idle_max_s(const struct lane *l, uint64_t now_ms)
{
	uint64_t since_s;

	if (l->suspect_ms == 0)
		return TRANSFER_IDLE_MAX_S;
	since_s = (now_ms - l->suspect_ms) / 1000;
	return since_s > 0 ? since_s - 1 : 0; /* libcurl's seconds are whole */
}

static void
lane_start(struct aws_call *c, const char *addresses, uint32_t number)
{
	struct lane *l = c->lane;
	struct aws_client *s = l->client;
	struct transfer *t = lane_take_transfer(l);
	uint64_t now_ms = clock_boot_ms();
	uint64_t wall_ms = skew_wall_ms(&s->skew, now_ms);

	if (t == NULL) {
		call_fail_soon(c, "out of memory");
		return;
	}
	call_move(c, &l->running);
	c->transfer = t;
	t->call = c;
	c->sent_ms = now_ms;
	transfer_set_idle_max(t, lane_idle_max_s(l, now_ms));
	if (wall_ms == 0)
		wall_ms = clock_wall_ms();
	if (transfer_begin(t, s->origin, c->operation, c->body,
	    c->body_length, wall_ms / 1000,
	    number != l->addresses_number ? addresses : NULL, number) == 0 &&
	    pool_start(l->pool, t->easy) == 0)
		return;

	call_give_transfer(c);
	call_fail_soon(c, "the request cannot be made");
}

/* The one whose turn it is; it is in no queue. */
static struct aws_call *
lane_take_turn(struct lane *l)
{
	struct aws_call *c =
	    (struct aws_call *)(void *)fair_queue_take(&l->waiting);

	if (c != NULL)
		c->waiting = false;
	return c;
}

void
lane_pump(struct lane *l)
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
				return; /* client_go_on() does */
			if (addresses == NULL) {
				call_fail_soon(lane_take_turn(l),
				    resolver_error(s->resolver));
				continue;
			}
		}
		lane_start(lane_take_turn(l), addresses, number);
	}
}

static struct aws_call *
call_new(struct lane *l, const char *operation, const char *body,
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
	c = call_new(l, operation, body, body_length);
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->answer = answer;
	c->arg = arg;
	c->timeout_ms = timeout_ms;
	c->sent_ms = clock_boot_ms();
	if (evtimer_assign(&c->timer, s->base, call_on_timer, c) < 0 ||
	    evtimer_add(&c->timer, &t) < 0) {
		free(c);
		return DDBLOCK_E_NOMEM;
	}
	c->user = user;
	c->waiting = true;
	fair_queue_add(&l->waiting, &c->turn, user, 1);
	*ret = c;
	lane_pump(l);
	return 0;
}

void
aws_call_cancel(struct aws_call *c)
{
	struct lane *l = c->lane;

	if (c->transfer != NULL)
		pool_stop(l->pool, c->transfer->easy);
	call_forget(c);
	lane_pump(l);
}

/* ---- a lane ---- */

void
lane_init(struct lane *l, struct aws_client *s, uint32_t transfers_max)
{
	l->client = s;
	l->transfers_max = transfers_max;
	fair_queue_init(&l->waiting, 1);
	TAILQ_INIT(&l->running);
	TAILQ_INIT(&l->failing);
}

int
lane_open(struct lane *l)
{
	return pool_new(l->client->base, l->transfers_max, lane_on_finished,
	    lane_user_of, l, &l->pool);
}

void
lane_done(struct lane *l)
{
	struct aws_call *c;
	struct transfer *t;

	while ((c = TAILQ_FIRST(&l->running)) != NULL) {
		pool_stop(l->pool, c->transfer->easy);
		call_forget(c);
	}
	while ((c = lane_take_turn(l)) != NULL ||
	    (c = TAILQ_FIRST(&l->failing)) != NULL)
		call_forget(c);
	while ((t = l->idle) != NULL) {
		l->idle = t->next;
		transfer_free(t);
	}
	pool_free(l->pool);
}
