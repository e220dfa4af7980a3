/*
 * The admission of a request for a lock: what is refused at once, and the
 * memory that all the rest will need.
 */
#include "core/client/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* ---- any request ------------------------------------------------------ */

/* What gives something back is admitted whatever is full: it is over at once,
 * or bounded by the holds, and to refuse it would make no room. */
static bool
request_is_one_too_many(const struct core *core, const struct client *c,
    enum core_verb verb)
{
	if (verb == CORE_RELEASE || verb == CORE_CANCEL ||
	    verb == CORE_UNWATCH)
		return false;
	return core->n_requests >= core->limits.requests_max ||
	    (c != NULL &&
		c->n_requests >= core->limits.requests_per_client_max);
}

int
request_admit(struct core *core, const struct core_request *ask,
    struct request **ret)
{
	struct client *c = client_find(core, ask->client);
	int code;

	/* Another one takes over what it had, which it is about to hear. */
	if (c != NULL && (c->leaving || c->gone))
		return 0;
	if (c != NULL)
		c->heard_ms = core->now_ms;
	if (ask->namespace_index >= core->n_namespaces)
		return DDBLOCK_E_UNKNOWN_NAMESPACE;
	if (request_is_one_too_many(core, c, ask->verb))
		return DDBLOCK_E_LIMIT;
	if (c == NULL) {
		code = client_new(core, ask->client, ask->user, &c);
		if (code < 0)
			return code;
	}
	code = c->tenant->user == ask->user ? 0 :
	    share_set_tenant(core, c, ask->user);
	if (code == 0) {
		c->tenant->privileged = ask->privileged;
		if (ask->limits != NULL || c->tenant->rate_max > 0)
			tenant_set_rate(core, c->tenant, ask->limits);
		code = request_new(core, c, ask, ret);
	}
	if (code == 0)
		return 0;
	c->pinned = true;
	if (ask->verb == CORE_RELEASE)
		release_unheard(core, c, ask);
	c->pinned = false;
	client_free_if_unused(core, c);
	return code;
}

/* ---- ACQUIRE ---------------------------------------------------------- */

/* This client's hold of the lock, or NULL. Whichever list is the shorter one
 * tells. */
static struct hold *
admit_find_hold(const struct lock *l, const struct client *c)
{
	struct hold *by_client = c->holds, *h;
	const struct grant *g;
	const struct use *u;

	LL_FOREACH(l->grants, g)
	{
		DL_FOREACH(g->uses, u)
		{
			h = hold_of(u);
			if (h->client == c && !h->let_go && !multi_is_kept(h))
				return h;
			if (by_client == NULL)
				return NULL;
			if (by_client->use.lock == l && !by_client->lost &&
			    !by_client->let_go)
				return by_client;
			by_client = by_client->client_next;
		}
	}
	return NULL;
}

/* Two that share it and both wait to have it alone would wait for ever. */
static const char *
admit_why_held(const struct hold *h, const struct core_request *ask)
{
	if (ask->terms.reentrant && (h->terms == NULL || h->terms->count == 0))
		return "this connection holds the lock, and did not ask for it "
		       "with reentrant=yes then";
	if (h->use.grant->mode == ask->terms.mode)
		return NULL;
	return h->use.grant->mode == LOCK_MODE_SHARED ?
	    "this connection shares the lock; release it, then ask for "
	    "exclusive use: two sharers that waited for each other to leave "
	    "would wait for ever" :
	    "this connection holds the lock exclusively; release it, then "
	    "ask to share it";
}

/* Is it made of keys at all? */
static bool
admit_has_keys(const struct core_request *ask)
{
	const struct key *keys = ask->n_keys > 0 ? ask->keys : &ask->key;
	uint32_t n = ask->n_keys > 0 ? ask->n_keys : 1;

	for (uint32_t i = 0; i < n; i++) {
		if (!key_is_sound(keys[i]))
			return false;
	}
	return ask->n_keys != 1 && n <= MULTI_MAX;
}

/* What this client has of what it asks for, NULL: nothing; and the lock at the
 * last key, NULL: it is not known yet. */
static struct hold *
admit_find_held(const struct namespace *ns, const struct client *c,
    const struct core_request *ask, struct lock **ret_lock)
{
	const struct key *keys = ask->n_keys > 0 ? ask->keys : &ask->key;
	uint32_t n = ask->n_keys > 0 ? ask->n_keys : 1;
	struct hold *h = NULL;

	for (uint32_t i = 0; i < n && h == NULL; i++) {
		*ret_lock = lock_find(ns, keys[i]);
		if (*ret_lock != NULL)
			h = admit_find_hold(*ret_lock, c);
	}
	return h;
}

/* Is it for one lock, of one table? */
static bool
admit_is_single(const struct namespace *ns, const struct core_request *ask)
{
	return ask->n_keys == 0 && ns->bridge == NULL;
}

/* Why this request cannot even wait, or 0. */
static int
admit_refuse(const struct core *core, const struct client *c,
    const struct namespace *ns, const struct hold *held,
    const struct core_request *ask, char *ret_text, size_t text_size)
{
	uint32_t n_parts =
	    admit_is_single(ns, ask) ? 0 : multi_n_parts(ns, ask->n_keys);
	uint32_t n_more = n_parts > 0 ? n_parts - 1 : 0;
	int refusal = namespace_refusal(ns);

	if (core->stopping)
		return DDBLOCK_E_SHUTTING_DOWN;	/* once more, too */
	if (!admit_has_keys(ask))
		return DDBLOCK_E_BAD_REQUEST;
	/* It might wait for what is its own in a moment. */
	if (c->resume != NULL) {
		(void)snprintf(ret_text, text_size, RESUME_FIRST);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (ns->settings.lacks != 0 &&
	    format_refuse(ns, ask, ret_text, text_size) < 0)
		return DDBLOCK_E_UNSUPPORTED;
	if (ask->terms.mode == LOCK_MODE_SHARED && ask->change != NULL)
		return DDBLOCK_E_BAD_REQUEST;
	if (ask->terms.mode != LOCK_MODE_SHARED &&
	    (ask->terms.mode != LOCK_MODE_EXCLUSIVE || ask->terms.limit != 0))
		return DDBLOCK_E_BAD_REQUEST;
	if (ask->terms.limit > CORE_LIMIT_MAX ||
	    terms_check(ns, &ask->terms, ret_text, text_size) < 0)
		return DDBLOCK_E_BAD_REQUEST;
	if (n_parts > 0 && (ask->terms.fail_closed ||
	    ask->terms.every_ms > 0 || core_terms_are_own(&ask->terms)))
		return DDBLOCK_E_UNSUPPORTED;
	if (n_parts > MULTI_MAX)
		return DDBLOCK_E_LIMIT;
	if (held != NULL)
		return DDBLOCK_E_ALREADY_HELD;
	if (refusal < 0)
		return refusal;
	if (c->n_holds + c->n_requests + c->n_more + n_more >
	    core->limits.holds_per_client_max)
		return DDBLOCK_E_LIMIT;
	if (ns->has_sessions && ns->session == NULL &&
	    namespace_code_is_definite(ns->cause))
		return ns->cause;
	return 0;
}

/* The lock that it waits for first. A single one was looked for. */
static int
admit_find_lock(struct core *core, struct request *r,
    const struct core_request *ask, struct lock **ret)
{
	int code;

	if (admit_is_single(r->ns, ask))
		return *ret != NULL ? 0 :
		    lock_new(core, r->ns, ask->key, ret);
	code = multi_new(core, r, ask, &r->multi);
	if (code < 0)
		return code;
	r->client->n_more += r->multi->n - 1;
	r->waiter.is_multi = true;
	*ret = r->multi->parts[0].lock;
	return 0;
}

static int
admit_prepare(struct core *core, struct request *r,
    const struct core_request *ask, struct lock **ret)
{
	bool single = admit_is_single(r->ns, ask);
	int code;

	if (single)
		r->hold = hold_new(ask, NULL);
	if (ask->owner != NULL)
		r->waiter.owner = strdup(ask->owner);
	if ((single && (r->hold == NULL ||
	    terms_new(core, r->ns, r->hold, &ask->terms) < 0)) ||
	    (ask->owner != NULL && r->waiter.owner == NULL))
		return DDBLOCK_E_NOMEM;
	code = admit_find_lock(core, r, ask, ret);
	if (code == 0)
		rank_add(&core->waiting, &r->waiting, r->waiter.serial);
	return code;
}

/* What it wants of the lock, and until when. */
static void
admit_wants(const struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct waiter *w = &r->waiter;

	w->mode = ask->terms.mode;
	w->limit = (uint16_t)ask->terms.limit;
	w->fail_closed = ask->terms.fail_closed;
	w->poll_ms = ask->poll_ms;
	w->every_s = (uint32_t)((ask->terms.every_ms + 999) / 1000);
	w->counts_at_end = ask->terms.counts_at_end;
	w->deadline_ms = ask->wait_ms >= CORE_FOREVER - core->now_ms ?
	    CORE_FOREVER : core->now_ms + ask->wait_ms;
}

static int
admit_request(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct client *c = r->client;
	struct lock *l = NULL;
	struct hold *held = admit_find_held(r->ns, c, ask, &l);
	char why[OUTCOME_TEXT_MAX] = "";
	int code = admit_refuse(core, c, r->ns, held, ask, why, sizeof(why));
	const char *text = code == r->ns->cause ? r->ns->text : why;

	r->terms = ask->terms;
	admit_wants(core, r, ask);
	if (code == DDBLOCK_E_ALREADY_HELD) {
		if (reentrant_now(core, held, r))
			return 0;
		text = admit_why_held(held, ask);
		if (ask->n_keys > 0)
			r->reply.key = lock_key(held->use.lock);
	}
	if (code < 0) {
		request_reply(core, r, code, 0, text);
		return 0;
	}
	if (ask->terms.linger_ms > 0 || ask->terms.resumes)
		code = linger_ask(core, c, ask);
	if (code == 0)
		code = admit_prepare(core, r, ask, &l);
	if (code < 0)
		return code;
	queue_join(l, &r->waiter);

	if (ask->wait_ms == 0 && wait_is_hopeless(core, r)) {
		wait_expire(core, r);
		return 0;
	}
	if (ask->wait_ms == 0)
		wait_overdue(core, r);
	else if (r->waiter.deadline_ms != CORE_FOREVER)
		heap_set(&core->later, &r->waiter.timer,
		    r->waiter.deadline_ms);
	lock_advance(core, l);
	return 0;
}

/* What a client gets that leaves the policy open. */
static bool
admit_is_fail_closed(const struct namespace *ns, const struct core_request *ask)
{
	return ask->terms.fail_closed ||
	    ((ns->settings.lacks & CORE_LACKS_FAIL_OPEN) != 0 &&
		!ask->fail_open);
}

/* Not what has a rule of its own for the time without a client. */
static bool
admit_resumes(const struct core *core, const struct client *c,
    const struct core_request *ask)
{
	const struct core_terms *t = &ask->terms;

	return t->resumes && !t->fail_closed && !t->manual && !t->stays &&
	    t->process == 0 && linger_may_resume(core, c);
}

int
admit_acquire(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct core_request full = *ask;

	full.terms.fail_closed = admit_is_fail_closed(r->ns, ask);
	full.terms.resumes = admit_resumes(core, r->client, &full);
	return admit_request(core, r, &full);
}
