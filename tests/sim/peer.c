/*
 * Shared by all older clients: programs that want locks, calls with their SDK's
 * repetitions, and the effect of answers and clocks on beliefs.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

/* ---- beliefs ------------------------------------------------- */

static void
peer_tell(struct peer_lock *l, enum fact_kind kind)
{
	struct host *h = l->peer->host;
	const struct fact f = { .kind = kind, .host = h->index,
		.namespace_index = l->step->namespace_index,
		.client = l->step->client, .key = l->step->key,
		.token = kind == FACT_PEER_HAS ? l->token : 0 };

	world_tell(h->world, &f);
}

static void
peer_believe(struct peer_lock *l)
{
	l->believes = true;
	world_trace(l->peer->host->world, WORLD_TRACE_TOLD,
	    l->peer->host->name, "c%u has %s", l->step->client,
	    l->step->key);
	peer_tell(l, FACT_PEER_HAS);
}

static void
peer_disbelieve(struct peer_lock *l, const char *why)
{
	if (!l->believes)
		return;
	l->believes = false;
	world_trace(l->peer->host->world, WORLD_TRACE_TOLD,
	    l->peer->host->name, "c%u has %s no more: %s", l->step->client,
	    l->step->key, why);
	peer_tell(l, FACT_PEER_LEFT);
}

/* ---- calls ------------------------------------------------------------ */

static void peer_on_patience(struct world *, struct alarm *);
static void peer_done_with(struct peer_call *, int status,
    struct json_object *answer);

static void
peer_call_free(struct peer_call *c)
{
	struct peer_call **link = &c->lock->calls;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	network_abandon(c->message);
	world_remove_alarm(c->lock->peer->host->world, &c->alarm);
	buffer_done(&c->body);
	free(c);
}

/* How long its SDK waits for an answer. */
static uint64_t
peer_patience_ms(const struct peer *p)
{
	return p->plan->patience_ms > 0 ? p->plan->patience_ms :
	    p->host->world->plan->ns.request_ms;
}

static void
peer_call_send(struct peer_call *c)
{
	static const enum operation_kind kinds[] = {
		[PEER_LOOK] = OPERATION_READ,
		[PEER_TAKE] = OPERATION_ACQUIRE,
		[PEER_RENEW] = OPERATION_REFRESH,
		[PEER_RELEASE] = OPERATION_RELEASE,
	};
	struct host *h = c->lock->peer->host;
	char what[96];

	(void)snprintf(what, sizeof(what), "%s %s",
	    operation_kind_name(kinds[c->what]), c->lock->step->key);
	world_trace(h->world, c->what == PEER_RENEW ? WORLD_TRACE_BEAT :
	    WORLD_TRACE_STORE, h->name, "> %s", what);
	h->world->history.operations++;
	c->message = network_send(h, NULL, c->operation, c->body.data,
	    c->body.length, kinds[c->what], what);
	c->message->call = c;
	world_set(h->world, &c->alarm, host_real_ms(h, host_boot_ms(h) +
	    peer_patience_ms(c->lock->peer)));
}

static void
peer_call(struct peer_lock *l, enum peer_what what)
{
	const struct peer_library *library = l->peer->library;
	struct peer_call *c = world_alloc(sizeof(*c));

	c->lock = l;
	c->what = what;
	c->left = l->peer->plan->retries;
	c->next = l->calls;
	l->calls = c;
	buffer_init(&c->body, 8192);
	world_add_alarm(l->peer->host->world, &c->alarm, peer_on_patience);
	c->operation = what == PEER_LOOK ? library->look(c) :
	    what == PEER_TAKE ? library->take(c) :
	    what == PEER_RENEW ? library->renew(c) : library->release(c);
	peer_call_send(c);
}

/* It did not come through, as far as the SDK knows. */
static void
peer_call_failed(struct peer_call *c)
{
	network_abandon(c->message);
	c->message = NULL;
	c->lock->peer->host->world->history.operations_hit++;
	if (c->left > 0) {
		c->left--;
		peer_call_send(c);
		return;
	}
	peer_done_with(c, 0, NULL);
}

static void
peer_on_patience(struct world *w, struct alarm *a)
{
	struct peer_call *c = (struct peer_call *)(void *)a;
	struct host *h = c->lock->peer->host;

	if (host_is_paused(h))
		world_set(w, a, h->paused_until);
	else
		peer_call_failed(c);
}

static bool
peer_is_conflict(struct json_object *answer)
{
	struct json_object *type;

	return json_object_object_get_ex(answer, "__type", &type) &&
	    strstr(json_object_get_string(type),
	    "#ConditionalCheckFailedException") != NULL;
}

void
peer_answered(struct peer_call *c, const struct dynamo_answer *a)
{
	struct json_object *answer = a == NULL ? NULL :
	    json_tokener_parse(a->body.data);

	if (answer != NULL && (a->status == 200 || peer_is_conflict(answer)))
		peer_done_with(c, a->status, answer);
	else
		peer_call_failed(c);
	json_object_put(answer);
}

/* ---- tries ------------------------------------------------------------ */

static void
peer_lock_free(struct peer_lock *l)
{
	struct peer_lock **link = &l->peer->locks;
	struct world *w = l->peer->host->world;

	while (l->calls != NULL)
		peer_call_free(l->calls);
	while (*link != l)
		link = &(*link)->next;
	*link = l->next;
	world_remove_alarm(w, &l->alarm);
	world_remove_alarm(w, &l->end);
	free(l);
}

static void
peer_over(struct peer_lock *l)
{
	l->state = PEER_OVER;
	world_unset(l->peer->host->world, &l->alarm);
	world_unset(l->peer->host->world, &l->end);
	if (l->calls == NULL)
		peer_lock_free(l);
}

static void
peer_after(struct peer_lock *l, uint64_t ms)
{
	struct host *h = l->peer->host;

	world_set(h->world, &l->alarm,
	    host_real_ms(h, host_boot_ms(h) + ms));
}

/* Look at it, or take it at once. */
static void
peer_try(struct peer_lock *l)
{
	bool looks = l->peer->library->look != NULL && !l->patient;

	l->patient = false;
	peer_call(l, looks ? PEER_LOOK : PEER_TAKE);
}

/* It was in vain; once more, if there is time. */
static void
peer_try_later(struct peer_lock *l, uint64_t ms)
{
	if (peer_boot_ms(l) + ms > l->until_ms) {
		world_trace(l->peer->host->world, WORLD_TRACE_TOLD,
		    l->peer->host->name, "c%u gives up %s", l->step->client,
		    l->step->key);
		peer_over(l);
		return;
	}
	peer_after(l, ms);
}

static void
peer_looked(struct peer_lock *l, struct json_object *answer)
{
	uint64_t poll_ms = peer_plan(l)->ns.poll_ms;
	struct json_object *item = NULL;
	uint64_t wait_ms;

	(void)json_object_object_get_ex(answer, "Item", &item);
	if (item == NULL)
		l->seen = false;
	wait_ms = l->peer->library->read(l, item);
	if (wait_ms == 0) {
		peer_call(l, PEER_TAKE);
		return;
	}
	if (wait_ms != PEER_LATER && l->peer->library->blind) {
		l->patient = true;
		peer_try_later(l, wait_ms);
		return;
	}
	peer_try_later(l, poll_ms);
}

static void
peer_took(struct peer_lock *l, const struct peer_call *c)
{
	struct world *w = l->peer->host->world;
	const struct plan_step *s = l->step;

	l->state = PEER_HOLDS;
	l->renewed_ms = peer_boot_ms(l);
	memcpy(l->version, c->version, sizeof(l->version));
	l->token = c->token;
	l->renews = l->peer->library->renew != NULL;
	if (l->renews)
		peer_after(l, peer_plan(l)->ns.heartbeat_ms);
	if (s->hold_ms != PLAN_FOREVER && s->end != END_NEVER)
		world_set(w, &l->end, w->now + s->hold_ms);
	peer_believe(l);
}

/* ---- holds ------------------------------------------------------------ */

static bool
peer_is_renewing(const struct peer_lock *l)
{
	const struct peer_call *c = l->calls;

	while (c != NULL && c->what != PEER_RENEW)
		c = c->next;
	return c != NULL;
}

static void
peer_beat(struct peer_lock *l)
{
	const struct peer_library *library = l->peer->library;

	if (library->is_over != NULL && library->is_over(l)) {
		l->renews = false;
		peer_disbelieve(l, "its lease is over");
		return;
	}
	if (library->safe_percent > 0 && peer_boot_ms(l) - l->renewed_ms >
	    peer_plan(l)->ns.lease_ms * library->safe_percent / 100)
		l->renews = false;
	/* It may renew no more, and believe for all that. */
	if (!l->renews)
		return;
	if (!peer_is_renewing(l))
		peer_call(l, PEER_RENEW);
	peer_after(l, peer_plan(l)->ns.heartbeat_ms);
}

/* @status: 200, 400 if its condition failed, or 0: not known. */
static void
peer_renewed(struct peer_lock *l, const struct peer_call *c, int status)
{
	if (status == 200) {
		l->renewed_ms = peer_boot_ms(l);
		memcpy(l->version, c->version, sizeof(l->version));
		return;
	}
	if (status != 0 || l->peer->library->stops)
		l->renews = false;
	if (status != 0)
		peer_disbelieve(l, "it was stolen");
}

static void
peer_release(struct peer_lock *l)
{
	bool had = l->believes;

	l->renews = false;
	if (l->peer->library->waits && peer_is_renewing(l)) {
		l->leaving = true;
		return;
	}
	peer_disbelieve(l, "released");
	if (!had) {
		peer_over(l);
		return;
	}
	peer_call(l, PEER_RELEASE);
	world_unset(l->peer->host->world, &l->alarm);
	l->state = PEER_OVER;
}

static void
peer_on_end(struct world *w, struct alarm *a)
{
	struct peer_lock *l = (struct peer_lock *)((char *)a -
	    offsetof(struct peer_lock, end));

	if (host_is_paused(l->peer->host))
		world_set(w, a, l->peer->host->paused_until);
	else
		peer_release(l);
}

static void
peer_on_alarm(struct world *w, struct alarm *a)
{
	struct peer_lock *l = (struct peer_lock *)(void *)a;

	if (host_is_paused(l->peer->host))
		world_set(w, a, l->peer->host->paused_until);
	else if (l->state == PEER_TRIES)
		peer_try(l);
	else if (l->state == PEER_HOLDS)
		peer_beat(l);
}

/* A call has ended. */
static void
peer_done_with(struct peer_call *c, int status, struct json_object *answer)
{
	static const char *const words[] = { "failed", "done", "conflict" };
	struct peer_lock *l = c->lock;
	const struct peer_call was = *c;
	struct host *h = l->peer->host;

	world_trace(h->world, c->what == PEER_RENEW ? WORLD_TRACE_BEAT :
	    WORLD_TRACE_STORE, h->name, "< %s %s %s",
	    c->what == PEER_LOOK ? "read" : c->what == PEER_TAKE ? "acquire" :
	    c->what == PEER_RENEW ? "refresh" : "release", l->step->key,
	    words[status == 0 ? 0 : status == 200 ? 1 : 2]);
	peer_call_free(c);
	if (l->state == PEER_OVER) {
		if (l->calls == NULL)
			peer_lock_free(l);
	} else if (was.what == PEER_RENEW) {
		peer_renewed(l, &was, status);
		if (l->leaving)
			peer_release(l);
	} else if (was.what == PEER_TAKE && status == 200) {
		peer_took(l, &was);
	} else if (was.what == PEER_LOOK && status == 200) {
		peer_looked(l, answer);
	} else {
		/* An exception, which its program survives: it asks again, and
		 * that is another acquisition. */
		if (status == 0) {
			l->seen = false;
			l->version[0] = '\0';
		}
		peer_try_later(l, peer_plan(l)->ns.poll_ms);
	}
}

/* ---- its life --------------------------------------------------------- */

static const struct peer_library *
peer_library_of(const struct plan *p, const struct plan_peer *of)
{
	switch (of->kind) {
	case PEER_PYTHON:
		return &peer_python;
	case PEER_JS_OPEN:
		return &peer_js_open;
	case PEER_JS_CLOSED:
		return &peer_js_closed;
	case PEER_DLOCK:
		for (uint32_t i = 0; i < p->n_namespaces; i++)
			if (p->namespaces[i].format == FORMAT_DLOCK &&
			    p->namespaces[i].fencing)
				return &peer_dlock_fencing;
		return &peer_dlock;
	default:
		return &peer_awslabs;
	}
}

static void
peer_boot(struct peer *p)
{
	p->dead = false;
	p->lives++;
	(void)snprintf(p->owner, sizeof(p->owner), "%s%u-%016" PRIx64,
	    p->host->name, p->lives, peer_random(p));
}

void
peer_init(struct host *h)
{
	const struct plan *p = h->world->plan;

	h->peer = world_alloc(sizeof(*h->peer));
	h->peer->host = h;
	h->peer->plan = &p->peers[h->index - PLAN_PEER_FIRST];
	h->peer->library = peer_library_of(p, h->peer->plan);
	peer_boot(h->peer);
}

static void
peer_die(struct peer *p)
{
	while (p->locks != NULL) {
		peer_disbelieve(p->locks, "its process is dead");
		peer_lock_free(p->locks);
	}
	p->dead = true;
}

void
peer_done(struct host *h)
{
	while (h->peer->locks != NULL)
		peer_lock_free(h->peer->locks);
	free(h->peer);
	h->peer = NULL;
}

/* It releases its locks, and acquires no more. */
void
peer_leave(struct host *h)
{
	struct peer_lock *l, *next;

	for (l = h->peer->locks; l != NULL; l = next) {
		next = l->next;
		if (l->state == PEER_HOLDS)
			peer_release(l);
		else
			peer_over(l);
	}
	h->peer->dead = true;
}

static void
peer_want(struct peer *p, const struct plan_step *s)
{
	struct world *w = p->host->world;
	struct peer_lock *l = world_alloc(sizeof(*l));

	l->peer = p;
	l->step = s;
	l->state = PEER_TRIES;
	l->until_ms = s->wait_ms == PLAN_FOREVER ? UINT64_MAX :
	    host_boot_ms(p->host) + s->wait_ms;
	l->next = p->locks;
	p->locks = l;
	world_add_alarm(w, &l->alarm, peer_on_alarm);
	world_add_alarm(w, &l->end, peer_on_end);
	world_trace(w, WORLD_TRACE_ASK, p->host->name, "c%u %s %s", s->client,
	    s->wait_ms == 0 ? "try" : "acquire", s->key);
	peer_try(l);
}

void
peer_step(struct host *h, const struct plan_step *s)
{
	struct peer *p = h->peer;

	if (s->kind == STEP_KILL)
		peer_die(p);
	else if (s->kind == STEP_BOOT && p->dead)
		peer_boot(p);
	else if (s->kind == STEP_LOCK && !p->dead && !host_is_paused(h))
		peer_want(p, s);
}
