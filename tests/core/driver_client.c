/*
 * What clients ask and what they are told, as requests to the core and lines
 * of the trace; and that nothing of them is left when they have gone.
 */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static const char *const driver_verb_words[] = {
	[CORE_ACQUIRE] = "acquire",
	[CORE_CANCEL] = "cancel",
	[CORE_RELEASE] = "release",
	[CORE_RENEW] = "renew",
	[CORE_DOWNGRADE] = "downgrade",
	[CORE_GET] = "get",
	[CORE_LIST] = "list",
	[CORE_WATCH] = "watch",
	[CORE_UNWATCH] = "unwatch",
	[CORE_RESUME] = "resume",
};

static const char *
driver_client_host(const struct driver *d, unsigned client)
{
	return driver_host_names[d->clients[client].host];
}

struct driver *
driver_new_started(unsigned n_hosts)
{
	struct driver *d = driver_new(1, n_hosts);

	driver_start(d);
	return d;
}

unsigned
driver_connect(struct driver *d, unsigned host)
{
	unsigned client = ++d->n_clients;

	if (client >= DRIVER_CLIENTS_MAX)
		driver_fail(d, "too many clients");
	d->clients[client] = (struct driver_client){ .host = host,
		.connected = true };
	return client;
}

/* ---- asking ----------------------------------------------------------- */

/* By when the reply must be there, in real time. */
static uint64_t
driver_limit(const struct driver *d, const struct core_request *q,
    unsigned host)
{
	uint64_t boot_ms = net_boot_ms(&d->net, host, d->now);
	const struct core_namespace *ns;
	uint64_t ms;

	if (q->namespace_index >= d->n_namespaces)
		return NET_NEVER;	/* will not be admitted */
	if (q->verb == CORE_LIST)
		return NET_NEVER;	/* as slow as its client */
	ns = &d->namespaces[q->namespace_index];
	ms = q->verb == CORE_ACQUIRE || q->verb == CORE_GET ? ns->try_ms :
	    ns->request_ms;
	if (q->verb == CORE_ACQUIRE && q->wait_ms == CORE_FOREVER)
		return NET_NEVER;
	if (q->verb == CORE_ACQUIRE && q->wait_ms > ms)
		ms = q->wait_ms;
	return net_real_ms(&d->net, host, boot_ms + ms);
}

/* The host must not be dead or paused: nobody would read the request. */
int
driver_ask(struct driver *d, unsigned client, struct core_request *q,
    const char *key)
{
	unsigned host = d->clients[client].host;
	struct core_event ev = { .type = CORE_REQUEST };
	struct judge_request jr = { .host = host, .client = client,
		.verb = q->verb, .hold = q->hold, .mode = q->terms.mode,
		.n_max = q->terms.limit,
		.namespace_index = q->namespace_index };
	struct judge_request *back;
	int r;

	q->client = client;
	q->request = ++d->n_requests;
	q->change = d->change;
	q->only_if_exists = d->only_if_exists;
	d->change = NULL;
	d->only_if_exists = false;
	jr.id = q->request;
	jr.limit = driver_limit(d, q, host);
	(void)snprintf(jr.key, sizeof(jr.key), "%s", key);
	judge_asked(&d->judge, &jr);
	ev.request = *q;
	r = driver_step(d, host, &ev);
	if (r < 0) {
		trace_add(&d->trace, TRACE_REPLY, d->now,
		    driver_host_names[host], "c%u %s %s: not admitted, %s",
		    client, driver_verb_words[q->verb], key, error_word(r));
		back = judge_replied(&d->judge, host, client, jr.id);
		free(back);
		d->clients[client].replies++;
		d->clients[client].code = r;
	}
	return r;
}

static int
driver_ask_use(struct driver *d, unsigned client, struct core_request *q,
    const char *key)
{
	char owner[32], use[32];

	(void)snprintf(owner, sizeof(owner), "%s/c%u",
	    driver_client_host(d, client), client);
	q->verb = CORE_ACQUIRE;
	q->key = (struct key){ key, strlen(key) };
	q->owner = owner;
	driver_describe_use(q->terms.mode, q->terms.limit, use, sizeof(use));
	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u %s %s%s", client, q->wait_ms == 0 ? "try" : "acquire", key,
	    use);
	return driver_ask(d, client, q, key);
}

int
driver_ask_acquire(struct driver *d, unsigned client,
    uint32_t namespace_index, const char *key, uint64_t wait_ms,
    uint64_t poll_ms)
{
	struct core_request q = { .terms.mode = LOCK_MODE_EXCLUSIVE,
		.namespace_index = namespace_index, .wait_ms = wait_ms,
		.poll_ms = poll_ms };

	return driver_ask_use(d, client, &q, key);
}

void
driver_share(struct driver *d, unsigned client, const char *key,
    uint32_t limit, uint64_t wait_ms)
{
	struct core_request q = {
		.terms = { .mode = LOCK_MODE_SHARED, .limit = limit },
		.wait_ms = wait_ms };

	(void)driver_ask_use(d, client, &q, key);
}

void
driver_acquire(struct driver *d, unsigned client, const char *key,
    uint64_t wait_ms)
{
	(void)driver_ask_acquire(d, client, 0, key, wait_ms, 0);
}

void
driver_try(struct driver *d, unsigned client, const char *key)
{
	(void)driver_ask_acquire(d, client, 0, key, 0, 0);
}

static struct judge_hold *
driver_find_hold(struct driver *d, unsigned client, const char *key)
{
	struct judge_hold *h = judge_find(&d->judge, client, key);

	if (h == NULL)
		driver_fail(d, "c%u never held %s", client, key);
	return h;
}

static void
driver_ask_hold(struct driver *d, unsigned client, enum core_verb verb,
    const char *key)
{
	struct judge_hold *h = driver_find_hold(d, client, key);
	struct core_request q = { .verb = verb, .hold = h->id,
		.namespace_index = h->namespace_index };
	enum judge_state state = h->state;

	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u %s %s", client, driver_verb_words[verb], key);
	if (verb == CORE_RELEASE)
		judge_released(&d->judge, d->now, h->host, h->id);
	if (driver_ask(d, client, &q, key) < 0 && verb != CORE_RELEASE)
		h->state = state;	/* nothing has changed */
}

void
driver_release(struct driver *d, unsigned client, const char *key)
{
	driver_ask_hold(d, client, CORE_RELEASE, key);
}

void
driver_renew(struct driver *d, unsigned client, const char *key)
{
	driver_ask_hold(d, client, CORE_RENEW, key);
}

void
driver_cancel(struct driver *d, unsigned client, const char *key)
{
	struct core_request q = { .verb = CORE_CANCEL };
	const struct judge_request *r;

	for (r = d->judge.requests; r != NULL; r = r->next)
		if (r->client == client && strcmp(r->key, key) == 0 &&
		    (r->verb == CORE_ACQUIRE || r->verb == CORE_LIST))
			q.target = r->id;
	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u cancel %s", client, key);
	(void)driver_ask(d, client, &q, key);
}

void
driver_get(struct driver *d, unsigned client, const char *key)
{
	struct core_request q = { .verb = CORE_GET,
		.key = { key, strlen(key) } };

	(void)driver_ask(d, client, &q, key);
}

void
driver_list(struct driver *d, unsigned client, const char *prefix)
{
	struct core_request q = { .verb = CORE_LIST,
		.key = { prefix, strlen(prefix) } };

	(void)driver_ask(d, client, &q, prefix);
}

void
driver_list_held(struct driver *d, unsigned client, const char *prefix)
{
	struct core_request q = { .verb = CORE_LIST, .held_only = true,
		.key = { prefix, strlen(prefix) } };

	(void)driver_ask(d, client, &q, prefix);
}

void
driver_continue(struct driver *d, unsigned client)
{
	struct core_event ev = { .type = CORE_CONTINUE };
	const struct judge_request *r;

	for (r = d->judge.requests; r != NULL; r = r->next)
		if (r->client == client && r->verb == CORE_LIST)
			break;
	if (r == NULL)
		return;		/* that was the last one */
	ev.more.client = client;
	ev.more.request = r->id;
	(void)driver_step(d, r->host, &ev);
}

void
driver_drain(struct driver *d, unsigned client)
{
	struct core_event ev = { .type = CORE_DRAIN, .client = client };

	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u drain", client);
	(void)driver_step(d, d->clients[client].host, &ev);
}

void
driver_leave(struct driver *d, unsigned client)
{
	struct core_event ev = { .type = CORE_GONE, .client = client };

	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u gone", client);
	d->clients[client].connected = false;
	(void)driver_step(d, d->clients[client].host, &ev);
}

void
driver_disconnect(struct driver *d, unsigned client)
{
	judge_gone(&d->judge, d->now, d->clients[client].host, client);
	driver_leave(d, client);
}

void
driver_cut_off(struct driver *d, unsigned client)
{
	struct core_event ev = { .type = CORE_CUT, .client = client };
	unsigned host = d->clients[client].host;

	trace_add(&d->trace, TRACE_ASK, d->now, driver_client_host(d, client),
	    "c%u cut off", client);
	(void)driver_step(d, host, &ev);
	d->clients[client].connected = false;
	judge_gone(&d->judge, d->now, host, client);
}

/* ---- being told ------------------------------------------------------- */

/* A token as the distance from the first of its record. */
static uint64_t
driver_token(const struct driver *d, uint32_t namespace_index,
    const char *key, uint64_t token)
{
	const struct model_lock *l =
	    model_find_lock(&d->net.store, namespace_index, key);

	return l == NULL || token < l->base ? token : token - l->base;
}

static void
driver_describe_holder(const struct driver *d, const char *key,
    const struct core_holder_view *v, char *text, size_t size)
{
	char unchanged[48] = "", ends[80] = "", owner[MODEL_OWNER_MAX];

	if (!v->held) {
		(void)snprintf(text, size, "free");
		return;
	}
	if (v->seen)
		(void)snprintf(unchanged, sizeof(unchanged),
		    " unchanged %" PRIu64, v->unchanged_ms);
	if (d->tells_leases && v->ends)
		(void)snprintf(ends, sizeof(ends), " ends in %" PRIu64
		    " renewed %" PRIu64, v->ends_ms, v->renewal);
	if (v->here)
		(void)snprintf(owner, sizeof(owner), "c%" PRIu64 " here",
		    v->client);
	else
		(void)snprintf(owner, sizeof(owner), "%.*s",
		    (int)sizeof(owner) - 1, v->owner);
	(void)snprintf(text, size, "%s +%" PRIu64 " by %s%s%s",
	    v->dead ? "dead" : "held", driver_token(d, 0, key, v->token),
	    owner, unchanged, ends);
}

/* What is kept in the lock: "; data DATA name=text name:value". */
static void
driver_describe_contents(const struct contents *c, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	if (c == NULL || contents_are_empty(c))
		return;
	length = (size_t)snprintf(text, size, "; data %.*s",
	    (int)c->data.length, c->data.bytes);
	for (size_t i = 0; i < c->n_attributes && length < size; i++) {
		const struct attribute *a = &c->attributes[i];

		length += (size_t)snprintf(text + length, size - length,
		    " %.*s%c%.*s", (int)a->name.length, a->name.bytes,
		    a->typed ? ':' : '=', (int)a->value.length,
		    a->value.bytes);
	}
}

static void
driver_tell_grant(struct driver *d, const struct judge_request *r,
    const struct core_reply *reply)
{
	struct judge_hold h = { .host = r->host, .client = r->client,
		.id = reply->hold, .token = reply->token, .mode = r->mode,
		.n_max = r->n_max, .until_ms = reply->until_ms,
		.namespace_index = r->namespace_index };
	char contents[128];

	(void)snprintf(h.key, sizeof(h.key), "%s", r->key);
	driver_describe_contents(reply->contents, contents, sizeof(contents));
	trace_add(&d->trace, TRACE_REPLY, d->now, driver_host_names[r->host],
	    "c%u grant %s +%" PRIu64 " remaining %" PRIu64 "%s", r->client,
	    r->key, driver_token(d, r->namespace_index, r->key, reply->token),
	    reply->remaining_ms, contents);
	if (reply->until_ms != net_boot_ms(&d->net, r->host, d->now) +
	    reply->remaining_ms)
		driver_fail(d, "until and remaining disagree");
	judge_granted(&d->judge, d->now, &h);
}

static void
driver_tell_other(struct driver *d, const struct judge_request *r,
    const struct core_reply *reply)
{
	char more[288] = "", holder[256] = "";

	if (reply->verb == CORE_RENEW && reply->code == 0) {
		(void)snprintf(more, sizeof(more), " remaining %" PRIu64,
		    reply->remaining_ms);
		judge_renewed(&d->judge, r->host, r->hold, reply->until_ms);
	} else if (reply->holder != NULL && reply->holder->held) {
		driver_describe_holder(d, r->key, reply->holder, holder,
		    sizeof(holder));
		(void)snprintf(more, sizeof(more), " %s", holder);
	} else if (reply->verb == CORE_GET && reply->code == 0) {
		(void)snprintf(more, sizeof(more), " free");
	}
	trace_add(&d->trace, TRACE_REPLY, d->now, driver_host_names[r->host],
	    "c%u %s %s: %s%s%s%s", r->client, driver_verb_words[reply->verb],
	    r->key, error_word(reply->code),
	    reply->cause == 0 ? "" : " cause=",
	    reply->cause == 0 ? "" : error_word(reply->cause), more);
}

void
driver_tell_reply(struct driver *d, unsigned host,
    const struct core_reply *reply)
{
	struct judge_request *r = judge_replied(&d->judge, host,
	    (unsigned)reply->client, reply->request);
	struct driver_client *c = &d->clients[r->client];

	if (r->verb != reply->verb)
		driver_fail(d, "a reply with another verb");
	c->replies++;
	c->code = reply->code;
	c->cause = reply->cause;
	c->replied_at = d->now;
	if (reply->verb == CORE_ACQUIRE && reply->code == 0)
		driver_tell_grant(d, r, reply);
	else
		driver_tell_other(d, r, reply);
	free(r);
}

void
driver_tell_rows(struct driver *d, unsigned host, const struct core_rows *rows)
{
	struct driver_client *c = &d->clients[rows->client];
	char holder[256], key[MODEL_KEY_MAX];
	size_t i;

	for (i = 0; i < rows->n_rows; i++) {
		const struct core_row *row = &rows->rows[i];

		(void)snprintf(key, sizeof(key), "%.*s", (int)row->key.length,
		    row->key.bytes);
		driver_describe_holder(d, key, &row->holder, holder,
		    sizeof(holder));
		trace_add(&d->trace, TRACE_REPLY, d->now,
		    driver_host_names[host], "c%u row %s %s",
		    (unsigned)rows->client, key, holder);
	}
	if (!c->slow && !c->has_page) {
		c->has_page = true;
		d->n_pages++;
	}
}

/* Whoever is quick asks for the next page at once. */
void
driver_turn_pages(struct driver *d)
{
	unsigned c;

	for (c = 1; c <= d->n_clients && d->n_pages > 0; c++) {
		struct driver_client *client = &d->clients[c];

		if (!client->has_page)
			continue;
		client->has_page = false;
		d->n_pages--;
		if (client->connected &&
		    d->net.hosts[client->host].paused_until <= d->now)
			driver_continue(d, c);
	}
}

/* ---- the end ---------------------------------------------------------- */

static void
driver_check_host_clean(struct driver *d, unsigned host)
{
	struct core_hold_view hold;
	struct core_waiter_view waiter;
	struct core_namespace_view ns;
	uint64_t boot_ms = net_boot_ms(&d->net, host, d->now);

	if (d->hosts[host].core == NULL)
		return;
	core_view_namespace(d->hosts[host].core, 0, boot_ms, &ns);
	if (ns.held > 0 || ns.waiting > 0)
		driver_fail(d, "%s counts %u holds and %u waiters",
		    driver_host_names[host], ns.held, ns.waiting);
	/* A lock is remembered for what may still land, and for nothing else;
	 * of one that was kept idle the time may not be over yet. */
	if (d->namespaces[0].idle_ms == 0 && ns.locks > ns.doubts)
		driver_fail(d, "%s remembers %u locks for %u doubts",
		    driver_host_names[host], ns.locks, ns.doubts);
	if (core_next_hold(d->hosts[host].core, 0, boot_ms, &hold))
		driver_fail(d, "%s still has a hold",
		    driver_host_names[host]);
	if (core_next_waiter(d->hosts[host].core, 0, boot_ms, &waiter))
		driver_fail(d, "%s still has a waiter",
		    driver_host_names[host]);
}

static bool
driver_is_live(const struct driver *d, struct ident session)
{
	const struct model_session *m =
	    model_find_session(&d->net.store, session);

	return m != NULL && m->exists && !m->dead && m->host >= 0 &&
	    d->hosts[m->host].core != NULL;
}

static void
driver_check_store_clean(struct driver *d)
{
	const struct model_lock *l;
	size_t i;

	for (l = d->net.store.locks; l != NULL; l = l->next) {
		for (i = 0; i < l->n_holders; i++)
			if (driver_is_live(d, l->holders[i].session))
				driver_fail(d, "an orphan of %s on %s",
				    model_session_name(&d->net.store,
				    l->holders[i].session), l->key);
		for (i = 0; i < l->n_exclusive_wishes; i++)
			if (driver_is_live(d, l->exclusive_wishes[i]))
				driver_fail(d, "a wish of %s on %s",
				    model_session_name(&d->net.store,
				    l->exclusive_wishes[i]), l->key);
		for (i = 0; i < l->n_shared_wishes; i++)
			if (driver_is_live(d, l->shared_wishes[i]))
				driver_fail(d, "a wish of %s on %s",
				    model_session_name(&d->net.store,
				    l->shared_wishes[i]), l->key);
	}
}

void
driver_expect_clean(struct driver *d)
{
	unsigned c, i;

	for (c = 1; c <= d->n_clients; c++)
		if (d->clients[c].connected)
			driver_disconnect(d, c);
	/* A lost session closes, and one audit passes. */
	driver_run(d, d->namespaces[0].lease_ms + d->namespaces[0].audit_ms);
	driver_run(d, d->namespaces[0].audit_ms);
	for (i = 0; i < d->net.n_hosts; i++)
		driver_check_host_clean(d, i);
	driver_check_store_clean(d);
}
