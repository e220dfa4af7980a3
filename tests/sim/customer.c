/*
 * Local programs. Each is a connection with errands: lock a key, work for a
 * while, release it in one of several ways. They act by alarms only, as the
 * daemon hears of them through a socket.
 */
#include "sim_contents.h"
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct customer *
customer_of(struct world *w, uint64_t id)
{
	struct customer *c = &w->customers[id % (PLAN_CLIENTS_MAX + 1)];

	return c->id == id ? c : NULL;
}

/* ---- several keys ----------------------------------------------------- */

void
customer_split(const char *text, struct customer_keys *ret)
{
	ret->n = 0;
	while (*text != '\0' && ret->n < PLAN_KEY_MAX / 2) {
		size_t length = strcspn(text, "+");
		size_t at = ret->n++;
		char key[PLAN_KEY_MAX];

		(void)snprintf(key, sizeof(key), "%.*s", (int)length, text);
		for (; at > 0 && strcmp(ret->keys[at - 1], key) > 0; at--)
			memcpy(ret->keys[at], ret->keys[at - 1], PLAN_KEY_MAX);
		memcpy(ret->keys[at], key, sizeof(key));
		text += length + (text[length] == '+');
	}
}

/* Tell the judge: of several keys, as if each had been requested by itself. */
static void
customer_tell(struct customer *c, struct fact *f, const char *key)
{
	const struct customer_multi *held = customer_find_multi(c, f->hold);
	struct customer_keys keys;
	uint64_t request = f->request;

	bridge_split(c->host, f->namespace_index, key, &keys);
	if (keys.n < 2 || (f->verb != CORE_ACQUIRE &&
	    (f->verb != CORE_RELEASE || held == NULL))) {
		world_tell(c->world, f);
		return;
	}
	for (size_t i = 0; i < keys.n; i++) {
		f->multi = f->verb == CORE_ACQUIRE ? request : held->request;
		f->request = customer_nth(request, i);
		f->key = keys.keys[i];
		f->namespace_index = keys.namespaces[i];
		if (f->verb == CORE_RELEASE)
			f->hold = held->holds[i];
		world_tell(c->world, f);
	}
}

/* ---- connections ------------------------------------------------------ */

static void
errand_free(struct errand *e)
{
	struct customer *c = e->customer;
	struct errand **link = &c->errands;

	while (*link != e)
		link = &(*link)->next;
	*link = e->next;
	world_remove_alarm(c->world, &e->alarm);
	world_remove_alarm(c->world, &e->renewal);
	world_remove_alarm(c->world, &e->talk);
	free(e);
}

/* Does it wait for no answer, and for no event? */
bool
customer_stays(const struct customer *c)
{
	return c->asked == NULL && !c->watches;
}

void
customer_forget(struct customer *c)
{
	c->watches = false;
	while (c->errands != NULL)
		errand_free(c->errands);
	while (c->asked != NULL) {
		struct asked *next = c->asked->next;

		free(c->asked);
		c->asked = next;
	}
	customer_forget_releases(c);
	while (c->multis != NULL) {
		struct customer_multi *next = c->multis->next;

		free(c->multis);
		c->multis = next;
	}
	world_remove_alarm(c->world, &c->page);
	c->id = 0;
	c->draining = false;
}

void
customer_done(struct world *w)
{
	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++)
		if (w->customers[i].id != 0)
			customer_forget(&w->customers[i]);
}

struct customer *
customer_at(struct world *w, const struct plan_step *s)
{
	struct customer *c = &w->customers[s->client];
	struct host *h = &w->hosts[s->host];

	if (h->asleep || w->is_end)
		return NULL;
	if (c->id != 0 && c->host != h)
		customer_close(c);
	if (c->id != 0)
		return c->draining ? NULL : c;
	if (h->core == NULL || h->stopping)
		return NULL;
	c->world = w;
	c->host = h;
	c->number = s->client;
	c->id = ++w->n_connections * (PLAN_CLIENTS_MAX + 1) + s->client;
	pages_init(c);
	return c;
}

/* ---- asking ----------------------------------------------------------- */

/* By when the reply must be there, in real time. */
static uint64_t
customer_due(const struct customer *c, const struct core_request *q)
{
	const struct plan *p = c->world->plan;
	uint64_t ms = q->verb == CORE_ACQUIRE || q->verb == CORE_GET ?
	    bridge_try_ms(c->host, q->namespace_index) :
	    bridge_request_ms(c->host, q->namespace_index);

	if (q->verb == CORE_LIST)
		return WORLD_NEVER;	/* as many pages as there are */
	if (q->verb == CORE_ACQUIRE && q->wait_ms == CORE_FOREVER)
		return WORLD_NEVER;
	if (q->verb == CORE_ACQUIRE && q->wait_ms > ms)
		ms = q->wait_ms;
	return host_real_ms(c->host, host_boot_ms(c->host) + ms) +
	    p->lateness_ms + 1;
}

/* For people: how it wants the lock, if not exclusively. */
static void
customer_use(const struct core_request *q, char *text, size_t size)
{
	const char *closed = q->terms.fail_closed ? " fail-closed" : "";

	if (q->terms.mode != LOCK_MODE_SHARED)
		(void)snprintf(text, size, "%s", closed);
	else if (q->terms.limit > 0)
		(void)snprintf(text, size, " shared limit %" PRIu32 "%s",
		    q->terms.limit, closed);
	else
		(void)snprintf(text, size, " shared%s", closed);
}

uint64_t
customer_request(struct customer *c, struct core_request *q, const char *key)
{
	struct world *w = c->world;
	struct core_event ev = { .type = CORE_REQUEST };
	struct asked *a = world_alloc(sizeof(*a));
	struct fact f = { .kind = FACT_ASKED, .host = c->host->index,
		.client = c->id, .verb = q->verb, .key = key,
		.namespace_index =
		    bridge_namespace(c->host, q->namespace_index),
		.shared = q->terms.mode == LOCK_MODE_SHARED,
		.limit = q->terms.limit,
		.max_hold_ms = q->terms.max_hold_ms,
		.keepalive_ms = q->terms.keepalive_ms,
		.danger_ms = q->terms.danger_ms,
		.manual = q->terms.manual, .reentrant = q->terms.reentrant,
		.stays = q->terms.stays,
		.linger_ms = q->terms.linger_ms,
		.at_least_ms = q->terms.at_least_ms,
		.every_ms = q->terms.every_ms,
		.at_end = q->terms.counts_at_end,
		.resumes = q->terms.resumes,
		.process = q->terms.process,
		.wait_ms = q->wait_ms, .hold = q->hold, .token = q->token,
		.version = q->record,
		.target = q->target, .fail_closed = q->terms.fail_closed,
		.due_ms = customer_due(c, q) };
	char owner[24] = "", use[48];
	uint64_t id;

	c->watches = c->watches || q->verb == CORE_WATCH;
	q->namespace_index = f.namespace_index;
	*a = (struct asked){ .next = c->asked, .id = ++w->n_requests,
		.verb = q->verb, .namespace_index = q->namespace_index,
		.hold = q->hold };
	(void)snprintf(a->key, sizeof(a->key), "%s", key);
	c->asked = a;
	id = a->id;
	q->client = c->id;
	f.user = q->user |= c->stranger;
	q->privileged = q->user == 0;
	q->request = f.request = id;
	sim_contents_brought(q->change, id, f.contents);
	f.clears = q->change != NULL && q->change->clears;
	ev.request = *q;
	if (q->verb == CORE_ACQUIRE || q->verb == CORE_BREAK)
		(void)snprintf(owner, sizeof(owner), "c%u@%s", c->number,
		    c->host->name);
	customer_use(q, use, sizeof(use));
	world_trace(w, WORLD_TRACE_ASK, c->host->name, "c%u %s %s%s",
	    c->number, q->verb == CORE_ACQUIRE && q->wait_ms == 0 ? "try" :
	    show_verb(q->verb), key, use);
	customer_tell(c, &f, key);
	host_say(c->host, &ev, key, owner);
	return id;
}

static struct errand *
customer_errand(struct customer *c, const char *key)
{
	struct errand *e = c->errands;

	while (e != NULL && ((e->step->kind != STEP_LOCK &&
	    e->step->kind != STEP_RESUME) || strcmp(e->key, key) != 0))
		e = e->next;
	return e;
}

/* ---- errands ---------------------------------------------------------- */

static void
errand_release(struct errand *e)
{
	struct customer *c = e->customer;
	struct core_request q = { .verb = CORE_RELEASE, .hold = e->hold,
		.namespace_index = e->step->namespace_index,
		.change = e->step->clears ? kept_clear() :
		    sim_contents_ask(e->step->leaves, false) };
	char key[PLAN_KEY_MAX];

	memcpy(key, e->key, sizeof(key));
	if (!e->lost)
		customer_note_release(c, e->hold);
	errand_free(e);
	(void)customer_request(c, &q, key);
}

static void
customer_tell_drained(const struct customer *c)
{
	const struct fact f = { .kind = FACT_DRAINED, .host = c->host->index,
		.client = c->id };

	world_tell(c->world, &f);
}

static void
customer_drain(struct customer *c)
{
	struct core_event ev = { .type = CORE_HALF_CLOSED,
		.client = c->id };

	c->draining = true;
	world_trace(c->world, WORLD_TRACE_ASK, c->host->name, "c%u drains",
	    c->number);
	customer_tell_drained(c);
	host_say(c->host, &ev, "", "");
}

static void
errand_on_end(struct world *w, struct alarm *a)
{
	struct errand *e = (struct errand *)(void *)a;
	struct customer *c = e->customer;

	if (c->host->asleep || (e->step->end == END_CUT_OFF &&
	    host_is_paused(c->host))) {
		world_set(w, a, c->host->paused_until);
		return;
	}
	if (e->step->end == END_CUT_OFF) {
		customer_cut_off(c);
	} else if (c->draining || e->step->end == END_CLOSE) {
		customer_close(c);
	} else if (e->step->end == END_DRAIN) {
		world_set(w, a, w->now + 1 + e->step->hold_ms / 4);
		customer_drain(c);
	} else {
		errand_release(e);
	}
}

static void
errand_on_renewal(struct world *w, struct alarm *a)
{
	struct errand *e = (struct errand *)((char *)a -
	    offsetof(struct errand, renewal));
	struct customer *c = e->customer;
	struct core_request q = { .verb = CORE_RENEW, .hold = e->hold,
		.namespace_index = e->step->namespace_index,
		.change = sim_contents_ask(false, e->step->notes) };

	if (c->draining)
		return;
	world_set(w, a, w->now + e->step->renew_ms);
	if (!c->host->asleep)
		(void)customer_request(c, &q, e->key);
}

/* It has seen who holds the lock. */
static void
errand_on_break(struct world *w, struct alarm *a)
{
	struct errand *e = (struct errand *)(void *)a;
	struct customer *c = e->customer;
	const struct plan_step *s = e->step;
	struct core_request q = { .verb = CORE_BREAK, .token = e->token,
		.reason = "it hangs", .namespace_index = s->namespace_index };
	char record[FACT_VERSION_MAX];

	if (c->host->asleep) {
		world_set(w, a, c->host->paused_until);
		return;
	}
	memcpy(record, e->record, sizeof(record));
	if (record[0] != '\0')
		q.record = record;
	errand_free(e);
	if (!c->draining)
		(void)customer_request(c, &q, s->key);
}

/* Something that is no request of the core's, such as PING. */
static void
errand_on_talk(struct world *w, struct alarm *a)
{
	struct errand *e = (struct errand *)((char *)a -
	    offsetof(struct errand, talk));
	struct customer *c = e->customer;
	struct core_event ev = { .type = CORE_HEARD, .client = c->id };
	const struct fact f = { .kind = FACT_HEARD, .host = c->host->index,
		.client = c->id };

	if (c->draining)
		return;
	world_set(w, a, w->now + e->step->talk_ms);
	if (c->host->asleep)
		return;
	world_tell(w, &f);
	host_say(c->host, &ev, "", "");
}

static struct errand *
errand_new(struct customer *c, const struct plan_step *s,
    void (*on_alarm)(struct world *, struct alarm *))
{
	struct world *w = c->world;
	struct errand *e = world_alloc(sizeof(*e));

	e->customer = c;
	e->step = s;
	e->state = ERRAND_ASKED;
	memcpy(e->key, s->key, sizeof(e->key));
	e->next = c->errands;
	c->errands = e;
	world_add_alarm(w, &e->alarm, on_alarm);
	world_add_alarm(w, &e->renewal, errand_on_renewal);
	world_add_alarm(w, &e->talk, errand_on_talk);
	/* The answer may come at once. */
	e->request = w->n_requests + 1;
	return e;
}

void
customer_lock(struct world *w, const struct plan_step *s)
{
	struct customer *c = customer_at(w, s);
	struct core_request q = { .verb = CORE_ACQUIRE,
		.terms = {
			.fail_closed = s->fail_closed,
			.mode = s->shared ? LOCK_MODE_SHARED :
			    LOCK_MODE_EXCLUSIVE,
			.limit = s->limit,
			.max_hold_ms = s->max_hold_ms,
			.keepalive_ms = s->keepalive_ms,
			.danger_ms = s->danger_ms,
			.manual = s->manual,
			.reentrant = s->reentrant,
			.stays = s->stays,
			.linger_ms = s->linger_ms,
			.at_least_ms = s->at_least_ms,
			.every_ms = s->every_ms,
			.counts_at_end = s->at_end,
			.resumes = s->resumes,
			.process = s->process_ms > 0 ? w->n_requests + 1 : 0,
		},
		.namespace_index = s->namespace_index,
		.change = sim_contents_ask(s->brings, false),
		.only_if_exists = s->only_if_exists,
		.wait_ms = s->wait_ms };
	struct core_secret secret = { 0 };

	if (c == NULL)
		return;
	c->stranger = c->stranger || s->stranger;
	/* As good as random. */
	secret.clear = (struct ident){ w->n_requests + 1, s->client };
	memcpy(secret.digest, &secret.clear, sizeof(secret.clear));
	q.secret = &secret;
	survivor_new(errand_new(c, s, errand_on_end));
	(void)customer_request(c, &q, s->key);
}

/* Is this the end of something? */
static bool
customer_ends(struct customer *c, enum step_kind kind)
{
	if (kind == STEP_CLOSE)
		customer_close(c);
	else if (kind == STEP_CUT_OFF)
		customer_cut_off(c);
	else if (kind == STEP_END_PROCESS)
		survivor_end(c);
	else if (kind == STEP_DRAIN && !c->draining)
		customer_drain(c);
	else
		return false;
	return true;
}

/* Steps that are one request, or the end of all. */
void
customer_ask(struct world *w, const struct plan_step *s)
{
	struct customer *c;
	struct core_request q = { .namespace_index = s->namespace_index };
	struct errand *e;

	if (s->kind == STEP_GET || s->kind == STEP_WATCH ||
	    s->kind == STEP_BREAK || s->kind == STEP_RAISE) {
		c = customer_at(w, s);
		q.verb = s->kind == STEP_WATCH ? CORE_WATCH :
		    s->kind == STEP_RAISE ? CORE_RAISE : CORE_GET;
		if (c != NULL && s->kind == STEP_BREAK)
			(void)errand_new(c, s, errand_on_break);
		if (c != NULL)
			(void)customer_request(c, &q, s->key);
		return;
	}
	c = &w->customers[s->client];
	if (c->id == 0 || c->host->asleep)
		return;
	if (customer_ends(c, s->kind) || c->draining)
		return;
	if (s->kind == STEP_UNWATCH) {
		q.verb = CORE_UNWATCH;
		(void)customer_request(c, &q, s->key);
		return;
	}
	if (s->kind == STEP_CANCEL && pages_cancel(c, s))
		return;
	e = customer_errand(c, s->key);
	if (e == NULL || (e->state == ERRAND_ASKED) !=
	    (s->kind == STEP_CANCEL))
		return;
	if (s->kind == STEP_RELEASE) {
		errand_release(e);
	} else if (s->kind == STEP_RENEW) {
		q.verb = CORE_RENEW;
		q.hold = e->hold;
		q.change = sim_contents_ask(false, e->step->notes);
		(void)customer_request(c, &q, s->key);
	} else if (s->kind == STEP_DOWNGRADE) {
		q.verb = CORE_DOWNGRADE;
		q.hold = e->hold;
		q.terms.mode = LOCK_MODE_SHARED;
		q.terms.limit = s->limit;
		(void)customer_request(c, &q, s->key);
	} else {
		q.verb = CORE_CANCEL;
		q.target = e->request;
		(void)customer_request(c, &q, s->key);
	}
}

/* ---- for told.c ------------------------------------------------------- */

static void
errand_begin(struct errand *e, uint64_t hold)
{
	const struct plan_step *s = e->step;
	struct world *w = e->customer->world;

	e->state = ERRAND_HOLDS;
	e->hold = hold;
	if (s->hold_ms != PLAN_FOREVER && s->end != END_NEVER)
		world_set(w, &e->alarm, w->now + s->hold_ms);
	if (s->renew_ms > 0)
		world_set(w, &e->renewal, w->now + s->renew_ms);
	if (s->talk_ms > 0)
		world_set(w, &e->talk, w->now + s->talk_ms);
}

void
customer_granted(struct customer *c, uint64_t request, uint64_t hold)
{
	struct errand *e = c->errands;

	while (e != NULL && e->request != request)
		e = e->next;
	if (e == NULL)
		return;
	coverage_granted(&c->world->history, e->step);
	errand_begin(e, hold);
}

void
customer_has(struct customer *c, const char *key, uint64_t hold, bool lost)
{
	struct errand *e = errand_new(c, c->resumes, errand_on_end);
	struct core_hold_view v;

	(void)snprintf(e->key, sizeof(e->key), "%s", key);
	e->lost = core_view_hold(c->host->core, hold, host_boot_ms(c->host),
	    &v) && v.lost;
	e->request = 0;
	e->lost = lost;
	errand_begin(e, hold);
}

void
customer_not_granted(struct customer *c, uint64_t request)
{
	struct errand *e = c->errands;

	while (e != NULL && e->request != request)
		e = e->next;
	if (e != NULL)
		errand_free(e);
}

/* Where there are both, either will do. */
static void
errand_saw(struct errand *e, const struct core_holder_view *v)
{
	e->token = v->token;
	if (v->record != NULL && (v->token == 0 || e->request % 2 == 0)) {
		e->token = 0;
		(void)snprintf(e->record, sizeof(e->record), "%s", v->record);
	}
	world_set(e->customer->world, &e->alarm, e->customer->world->now + 1);
}

void
customer_looked(struct customer *c, uint64_t request,
    const struct core_holder_view *v)
{
	struct errand *e = c->errands;

	while (e != NULL && e->request != request)
		e = e->next;
	if (e == NULL)
		return;
	if (v == NULL || !v->held || (v->token == 0 && v->record == NULL))
		errand_free(e);
	else
		errand_saw(e, v);
}
