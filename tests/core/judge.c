/*
 * Bookkeeping of what was promised to whom, and the comparison with the store.
 */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between a deadline and the event loop's next look at it. */
#define JUDGE_SLACK_MS 100

__attribute__((format(printf, 2, 3)))
static void
judge_fail(struct judge *j, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	j->fail(j->arg, text);
}

void
judge_done(struct judge *j)
{
	while (j->holds != NULL) {
		struct judge_hold *next = j->holds->next;

		free(j->holds);
		j->holds = next;
	}
	while (j->requests != NULL) {
		struct judge_request *next = j->requests->next;

		free(j->requests);
		j->requests = next;
	}
}

/* ---- requests --------------------------------------------------------- */

void
judge_asked(struct judge *j, const struct judge_request *request)
{
	struct judge_request *r = malloc(sizeof(*r));

	if (r == NULL)
		abort();
	*r = *request;
	r->next = j->requests;
	j->requests = r;
}

struct judge_request *
judge_replied(struct judge *j, unsigned host, unsigned client, uint64_t id)
{
	struct judge_request **at;

	for (at = &j->requests; *at != NULL; at = &(*at)->next) {
		struct judge_request *r = *at;

		if (r->host == host && r->client == client && r->id == id) {
			*at = r->next;
			return r;
		}
	}
	judge_fail(j, "c%u: a reply to request %" PRIu64
	    ", which is not open", client, id);
	return NULL;
}

static void
judge_drop_requests(struct judge *j, unsigned host, unsigned client)
{
	struct judge_request **at = &j->requests;

	while (*at != NULL) {
		struct judge_request *r = *at;

		if (r->host == host && (client == 0 || r->client == client)) {
			*at = r->next;
			free(r);
		} else {
			at = &r->next;
		}
	}
}

/* ---- holds ------------------------------------------------------------ */

static bool
judge_is_valid(const struct judge *j, const struct judge_hold *h,
    uint64_t now)
{
	return h->state == JUDGE_VALID &&
	    net_boot_ms(j->net, h->host, now) < h->until_ms;
}

static bool
judge_is_mute(const struct judge *j, unsigned host, uint64_t now)
{
	/* In the very moment in which it goes on it may not have come to it. */
	return !j->alive[host] || j->net->hosts[host].paused_until >= now;
}

/* Nobody can tell this one anything: its client looks at the clock. */
static bool
judge_is_alone(const struct judge *j, const struct judge_hold *h,
    uint64_t now)
{
	return h->deserted || judge_is_mute(j, h->host, now);
}

/* Of two sessions of a host nobody can tell by which of them a client shares a
 * lock: the one that was renewed last counts. */
static uint64_t
judge_sent_ms(const struct judge *j, const struct judge_hold *h,
    const struct model_session *own)
{
	const struct model_session *m;
	uint64_t sent_ms = own->sent_ms;

	if (h->mode != LOCK_MODE_SHARED)
		return sent_ms;
	for (m = j->net->store.sessions; m != NULL; m = m->next)
		if (m->host == (int)h->host && m->sent_ms > sent_ms)
			sent_ms = m->sent_ms;
	return sent_ms;
}

static void
judge_check_deadline(struct judge *j, const struct judge_hold *h)
{
	const struct core_namespace *ns = &j->namespaces[h->namespace_index];
	const struct model_session *m =
	    model_find_session(&j->net->store, h->session);
	uint64_t most_ms;

	if (m == NULL || !m->exists)
		return;		/* deleted by hand */
	most_ms = judge_sent_ms(j, h, m) + ns->lease_ms - ns->margin_ms;
	if (h->until_ms > most_ms)
		judge_fail(j, "c%u: %s until %" PRIu64 ", but its session's "
		    "record allows %" PRIu64 " at most", h->client, h->key,
		    h->until_ms, most_ms);
}

static void
judge_check_alone(struct judge *j, const struct judge_hold *h, uint64_t now)
{
	const struct judge_hold *o;
	uint32_t n = 1;

	for (o = j->holds; o != NULL; o = o->next) {
		if (o == h || o->namespace_index != h->namespace_index ||
		    strcmp(o->key, h->key) != 0)
			continue;
		if (h->mode == LOCK_MODE_SHARED && o->mode == h->mode &&
		    o->n_max == h->n_max) {
			if (judge_is_valid(j, o, now) && ++n == h->n_max + 1)
				judge_fail(j, "more than %" PRIu32 " hold %s",
				    h->n_max, h->key);
			continue;
		}
		if (judge_is_valid(j, o, now))
			judge_fail(j, "c%u and c%u both hold %s", o->client,
			    h->client, h->key);
		if (o->state == JUDGE_VALID && !judge_is_alone(j, o, now))
			judge_fail(j, "c%u was not told that it lost %s before"
			    " c%u was granted it", o->client, h->key,
			    h->client);
		if (o->token >= h->token)
			judge_fail(j, "%s: token %" PRIu64 " after %" PRIu64,
			    h->key, h->token, o->token);
	}
}

/* A living session of this host that has it. */
static const struct model_session *
judge_find_session(const struct judge *j, const struct model_lock *l,
    unsigned host)
{
	const struct model_session *m;
	size_t i;

	for (i = 0; i < l->n_holders; i++) {
		m = model_find_session(&j->net->store, l->holders[i].session);
		if (m != NULL && m->host == (int)host && !m->dead)
			return m;
	}
	return NULL;
}

void
judge_granted(struct judge *j, uint64_t now, const struct judge_hold *hold)
{
	const struct model_lock *l = model_find_lock(&j->net->store,
	    hold->namespace_index, hold->key);
	const struct model_session *m = NULL;
	struct judge_hold *h = malloc(sizeof(*h));

	if (h == NULL)
		abort();
	*h = *hold;
	h->state = JUDGE_VALID;
	h->since = now;
	h->next = j->holds;
	j->holds = h;
	if (l != NULL && l->tampered)
		return;
	if (l != NULL)
		m = judge_find_session(j, l, h->host);
	if (m != NULL)
		h->session = m->ident;
	if (m == NULL || (l->n_holders > 1 && h->mode != LOCK_MODE_SHARED))
		judge_fail(j, "c%u was granted %s, which the store does not "
		    "show", h->client, h->key);
	if (l != NULL && h->token > l->token)
		judge_fail(j, "%s: token %" PRIu64 " is above the store's",
		    h->key, h->token);
	judge_check_deadline(j, h);
	judge_check_alone(j, h, now);
}

struct judge_hold *
judge_find_id(const struct judge *j, unsigned host, uint64_t hold)
{
	struct judge_hold *h;

	for (h = j->holds; h != NULL; h = h->next)
		if (h->host == host && h->id == hold && !h->deserted)
			return h;
	return NULL;
}

struct judge_hold *
judge_find(const struct judge *j, unsigned client, const char *key)
{
	struct judge_hold *h, *newest = NULL;

	for (h = j->holds; h != NULL; h = h->next) {
		if (h->client != client || h->deserted ||
		    strcmp(h->key, key) != 0)
			continue;
		if (h->state == JUDGE_VALID)
			return h;
		if (newest == NULL)
			newest = h;
	}
	return newest;
}

static void
judge_end(struct judge_hold *h, enum judge_state state, uint64_t now)
{
	if (h->state == JUDGE_VALID) {
		h->state = state;
		h->ended = now;
	}
}

void
judge_lost(struct judge *j, uint64_t now, unsigned host, uint64_t hold)
{
	struct judge_hold *h = judge_find_id(j, host, hold);

	if (h == NULL || h->state != JUDGE_VALID)
		judge_fail(j, "hold %" PRIu64 " lost, which is not held",
		    hold);
	else
		judge_end(h, JUDGE_LOST, now);
}

void
judge_released(struct judge *j, uint64_t now, unsigned host, uint64_t hold)
{
	struct judge_hold *h = judge_find_id(j, host, hold);

	if (h != NULL)
		judge_end(h, JUDGE_ENDED, now);
}

void
judge_renewed(struct judge *j, unsigned host, uint64_t hold,
    uint64_t until_ms)
{
	struct judge_hold *h = judge_find_id(j, host, hold);

	if (h == NULL || h->state != JUDGE_VALID) {
		judge_fail(j, "hold %" PRIu64 " renewed, which is not held",
		    hold);
		return;
	}
	if (until_ms < h->until_ms)
		judge_fail(j, "c%u: the deadline of %s went back", h->client,
		    h->key);
	h->until_ms = until_ms;
	judge_check_deadline(j, h);
}

void
judge_renewed_all(struct judge *j, unsigned host, uint32_t namespace_index,
    uint64_t until_ms)
{
	struct judge_hold *h;

	for (h = j->holds; h != NULL; h = h->next)
		if (h->host == host && h->state == JUDGE_VALID &&
		    !h->deserted && h->namespace_index == namespace_index)
			judge_renewed(j, host, h->id, until_ms);
}

void
judge_gone(struct judge *j, uint64_t now, unsigned host, unsigned client)
{
	struct judge_hold *h;

	for (h = j->holds; h != NULL; h = h->next)
		if (h->host == host && h->client == client)
			judge_end(h, JUDGE_ENDED, now);
	judge_drop_requests(j, host, client);
}

void
judge_host_died(struct judge *j, unsigned host)
{
	struct judge_hold *h;

	j->alive[host] = false;
	for (h = j->holds; h != NULL; h = h->next)
		if (h->host == host)
			h->deserted = true;
	judge_drop_requests(j, host, 0);
}

/* What was due while the daemon was paused is begun when it goes on. */
static uint64_t
judge_limit(const struct judge *j, const struct judge_request *r)
{
	uint64_t resumed = j->net->hosts[r->host].paused_until;
	uint64_t request_ms = j->namespaces[r->namespace_index].request_ms;

	if (r->verb == CORE_ACQUIRE || r->verb == CORE_GET)
		request_ms = 1;
	if (r->limit == NET_NEVER || r->limit >= resumed + request_ms)
		return r->limit;
	return resumed + request_ms;
}

void
judge_moment(struct judge *j, uint64_t now)
{
	const struct judge_hold *h;
	const struct judge_request *r;

	for (h = j->holds; h != NULL; h = h->next)
		if (h->state == JUDGE_VALID && !judge_is_alone(j, h, now) &&
		    !judge_is_valid(j, h, now))
			judge_fail(j, "c%u was left with %s beyond its "
			    "deadline", h->client, h->key);
	for (r = j->requests; r != NULL; r = r->next)
		if (judge_limit(j, r) != NET_NEVER &&
		    now > judge_limit(j, r) + JUDGE_SLACK_MS &&
		    !judge_is_mute(j, r->host, now))
			judge_fail(j, "c%u: request %" PRIu64 " has no reply "
			    "in time", r->client, r->id);
}
