/*
 * Views for listings and answers. They change nothing that anybody could see.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint64_t
view_since(uint64_t now_ms, uint64_t then_ms)
{
	return now_ms > then_ms ? now_ms - then_ms : 0;
}

static void
view_owner(struct core_holder_view *v, const char *owner)
{
	if (owner != NULL)
		(void)snprintf(v->owner, sizeof(v->owner), "%s", owner);
}

/* What is known of a holder's session, if it was ever looked at. */
static void
view_session(const struct core *core, const struct namespace *ns,
    struct key key, const struct holder *h, uint64_t now_ms,
    struct core_holder_view *v)
{
	const struct observation *o = observe_holder(ns, key, h);
	uint64_t end_ms = 0;

	v->lease_ms = h->lease_ms;
	v->dead = v->seen = v->silent = v->ends = false;
	v->renewal = 0;
	if (o == NULL || o->state == OBSERVATION_NEW)
		return;
	v->renewal = o->beat;
	v->ends = !v->fail_closed && observe_knows_end(o, now_ms, &end_ms);
	v->ends_ms = view_since(end_ms, now_ms);
	v->dead = observe_is_over(core, o);
	v->silent = v->dead || observe_is_stale(core, o);
	v->seen = true;
	v->unchanged_ms = view_since(now_ms, o->since_ms);
}

static void
view_policy(const struct holder *holders, size_t n_holders,
    struct core_holder_view *v)
{
	for (size_t i = 0; i < n_holders; i++)
		v->fail_closed = v->fail_closed || holders[i].fail_closed;
}

/* Of those who share it, one that is not dead, or silent, if there is any. A
 * fail-closed one keeps all of them from being dead. */
static void
view_sessions(const struct core *core, const struct namespace *ns,
    struct key key, const struct holder *holders, size_t n_holders,
    uint64_t now_ms, struct core_holder_view *v)
{
	view_policy(holders, n_holders, v);
	for (size_t i = 0; i < n_holders && (i == 0 ||
	    (v->fail_closed ? v->silent : v->dead)); i++)
		view_session(core, ns, key, &holders[i], now_ms, v);
	v->dead = v->dead && !v->fail_closed;
	v->silent = v->silent && v->fail_closed;
}

static void
view_hold(const struct hold *hold, uint64_t now_ms,
    struct core_holder_view *v)
{
	v->held = true;
	v->here = true;
	v->client = hold->client->id;
	v->namespace_index = hold->lock->ns->index;
	v->named = hold_owner(hold) != NULL;
	view_owner(v, hold_owner(hold));
	v->token = grant_token_text(hold->grant) == NULL ? hold->token : 0;
	v->fail_closed = hold->fail_closed;
	v->mode = hold->grant->mode;
	v->limit = hold->grant->limit;
	if (hold->lock->ns->settings.life != LOCK_LIFE_NEVER)
		v->lease_ms = hold->lock->ns->settings.lease_ms;
	v->held_ms = view_since(now_ms, hold->since_ms);
	v->renewal = terms_until_ms(hold);
	v->ends = !hold->fail_closed;
	v->ends_ms = view_since(v->renewal +
	    hold->lock->ns->settings.margin_ms, now_ms);
}

/* How many here have it. What is kept for a request for several locks, until it
 * has all of them, nobody has; but somebody is in the way. */
static uint32_t
view_n_holds(const struct core *core, const struct lock *l)
{
	uint32_t n = l->n_holds;
	const struct grant *g;
	const struct hold *h;

	if (core->joints == NULL)
		return n;
	LL_FOREACH(l->grants, g)
	{
		DL_FOREACH2(g->holds, h, grant_next)
		{
			if (joint_is_kept(h))
				n--;
		}
	}
	return n > 0 ? n : 1;
}

/* Who has this lock, as far as it is known without asking. */
void
view_lock(const struct core *core, const struct lock *l, uint64_t now_ms,
    struct core_holder_view *ret)
{
	const struct sight *sight = l->sight;
	const struct hold *hold = lock_first_hold(l);

	*ret = (struct core_holder_view){ 0 };
	if (hold != NULL) {
		view_hold(hold, now_ms, ret);
		ret->n_holders = view_n_holds(core, l) + l->others_seen;
	} else if (sight != NULL && sight->n_holders > 0) {
		ret->held = true;
		ret->token = sight->token;
		ret->mode = sight->mode;
		ret->limit = l->limit_seen;
		ret->n_holders = (uint32_t)sight->n_holders;
		ret->acquired_at_s = sight->acquired_at_s;
		view_owner(ret, sight->owner);
		view_sessions(core, l->ns, lock_key(l), sight->holders,
		    sight->n_holders, now_ms, ret);
	}
}

/* How many of those whom the record shows are others. Of ours that it shows,
 * which client holds it is in @ret_hold. */
static uint32_t
view_n_others(const struct lock *l, const struct lock_record *record,
    const struct hold **ret_hold)
{
	const struct grant *g;
	uint32_t n_ours = 0;

	LL_FOREACH(l->grants, g)
	{
		if (!record_shows(record, g))
			continue;
		n_ours++;
		if (g->holds != NULL)
			*ret_hold = g->holds;
	}
	return (uint32_t)record->n_holders - n_ours;
}

/* The same from a record that was just read. A grant of ours that no client
 * holds (it is kept idle, or on its way out) is free to whoever asks. */
void
view_record(const struct core *core, const struct namespace *ns,
    struct key key, const struct lock_record *record, uint64_t now_ms,
    struct core_holder_view *ret)
{
	const struct lock *l = lock_find(ns, key);
	const struct hold *hold = NULL;
	uint32_t n_others = (uint32_t)record->n_holders;

	*ret = (struct core_holder_view){ 0 };
	ret->token = record->token_text == NULL ? record->token : 0;
	ret->mode = record->mode;
	if (l != NULL)
		n_others = view_n_others(l, record, &hold);
	if (n_others == 0 && hold == NULL)
		return;
	ret->held = true;
	ret->limit = record->limit;
	ret->n_holders = n_others;
	if (hold != NULL) {
		view_hold(hold, now_ms, ret);
		/* Of those who share it the record tells all. */
		if (ret->mode == LOCK_MODE_SHARED)
			ret->token = record->token;
		view_policy(record->holders, record->n_holders, ret);
		ret->ends = !ret->fail_closed;
		ret->n_holders += view_n_holds(core, l);
	} else {
		view_sessions(core, ns, key, record->holders,
		    record->n_holders, now_ms, ret);
	}
	ret->acquired_at_s = record->acquired_at_s;
	if (!ret->named)
		view_owner(ret, record->owner);
}

static void
view_fill_hold(struct hold *h, uint64_t now_ms,
    struct core_hold_view *ret)
{
	const struct lock *l = h->lock;
	uint64_t until_ms = 0;

	*ret = (struct core_hold_view){
		.hold = h->notice.hold,
		.id = joint_speaker(h)->notice.hold,
		.client = h->client->id,
		.namespace_index = l->ns->index,
		.key = lock_key(l),
		.token = h->token,
		.owner = hold_owner(h),
		.lost = h->lost,
		.count = terms_count(h),
		.loss = h->lost ? h->notice.loss : 0,
		.margin_ms = l->ns->settings.margin_ms,
		.held_ms = view_since(now_ms, h->since_ms),
	};
	ret->terms.fail_closed = h->fail_closed;
	if (process_has(h))
		ret->terms.process = h->terms->process;
	if (linger_keeps(h))
		ret->lingers_ms =
		    view_since(h->terms->linger_end_ms, now_ms);
	if (h->lost)
		return;
	until_ms = terms_until_ms(h);
	ret->token_text = level_token_text(h);
	ret->terms.mode = h->grant->mode;
	ret->terms.limit = h->grant->limit;
	ret->danger = h->fail_closed ? l->ns->closed_danger :
	    terms_are_common(h) ? h->grant->session->danger :
	    h->terms->danger;
	ret->remaining_ms = view_since(until_ms, now_ms);
	ret->until_ms = until_ms;
	ret->end_ms = terms_end_ms(h);
}

/* They are in the order of their numbers. If the one we stood at is gone, look
 * for its successor from the front. */
bool
core_next_hold(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_hold_view *ret)
{
	struct hold *h = core->holds;

	if (after != 0) {
		const struct hold *at = hold_find(core, after);

		if (at != NULL)
			h = at->next;
	}
	while (h != NULL && h->notice.hold <= after)
		h = h->next;
	if (h == NULL)
		return false;
	view_fill_hold(h, now_ms, ret);
	return true;
}

/* A client's holds are in the order of their numbers, so it goes on behind the
 * one that was seen, if that is still there. */
bool
core_next_hold_of(const struct core *core, uint64_t client, uint64_t after,
    uint64_t now_ms, struct core_hold_view *ret)
{
	const struct client *c = client_find(core, client);
	struct hold *h = hold_find(core, after);

	if (c == NULL)
		return false;
	if (h == NULL || h->client != c)
		h = c->holds;
	while (h != NULL && h->notice.hold <= after)
		h = h->client_next;
	if (h == NULL)
		return false;
	view_fill_hold(h, now_ms, ret);
	return true;
}

bool
core_view_hold(const struct core *core, uint64_t hold, uint64_t now_ms,
    struct core_hold_view *ret)
{
	struct hold *h = hold_find(core, hold);

	if (h == NULL)
		return false;
	view_fill_hold(h, now_ms, ret);
	return true;
}

static void
view_fill_waiter(const struct core *core, const struct request *r,
    uint64_t now_ms, struct core_waiter_view *ret)
{
	const struct lock *l = r->lock;

	*ret = (struct core_waiter_view){
		.serial = r->serial,
		.client = r->client->id,
		.namespace_index = r->ns->index,
		.key = lock_key(l),
		.n_keys = r->joint == NULL ? 1 : r->joint->n,
		.n_had = r->joint == NULL ? 0 : joint_n_had(r->joint),
		.terms = r->terms,
		.ahead = queue_ahead(r),
		.waited_ms = view_since(now_ms, r->asked_ms),
		.cause = l->cause != 0 ? l->cause : r->ns->cause,
	};
	view_lock(core, l, now_ms, &ret->holder);
	ret->holder.ahead = ret->ahead;
}

bool
core_next_waiter(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_waiter_view *ret)
{
	const struct request *r = core->waiting;

	if (after != 0) {
		const struct request *at;

		HASH_FIND(hh, core->waiting, &after, sizeof(after), at);
		if (at != NULL)
			r = at->hh.next;
	}
	while (r != NULL && r->serial <= after)
		r = r->hh.next;
	if (r == NULL)
		return false;
	view_fill_waiter(core, r, now_ms, ret);
	return true;
}

bool
core_view_request(const struct core *core, uint64_t client, uint64_t request,
    uint64_t now_ms, struct core_waiter_view *ret)
{
	const struct client *c = client_find(core, client);
	const struct request *r;

	if (c == NULL)
		return false;
	DL_FOREACH2(c->requests, r, client_next)
	{
		if (r->reply.request != request || r->lock == NULL ||
		    r->reply.verb != CORE_ACQUIRE)
			continue;
		view_fill_waiter(core, r, now_ms, ret);
		return true;
	}
	return false;
}

bool
core_view_watch(const struct core *core, uint64_t client,
    uint32_t namespace_index, struct key key,
    struct core_holder_view *ret_holder, int *ret_cause)
{
	const struct namespace *ns = &core->namespaces[namespace_index];
	const struct lock *l = lock_find(ns, key);
	const struct watch *watch;
	const struct client *c = client_find(core, client);

	assert(namespace_index < core->n_namespaces);
	if (c == NULL || l == NULL)
		return false;
	watch = watch_find(core, c, l);
	if (watch == NULL || watch->request != NULL)
		return false;
	*ret_holder = l->watched->view;
	*ret_cause = l->watched->known ? 0 : l->watched->cause;
	return true;
}

void
core_view_namespace(const struct core *core, uint32_t namespace_index,
    uint64_t now_ms, struct core_namespace_view *ret)
{
	const struct namespace *ns = &core->namespaces[namespace_index];
	const struct session *s = ns->session;
	bool open;

	assert(namespace_index < core->n_namespaces);
	open = ns->settings.life == LOCK_LIFE_SESSION ?
	    s != NULL && s->state == SESSION_VALID : ns->cause == 0;
	*ret = (struct core_namespace_view){
		.name = ns->settings.name,
		.format = ns->settings.format,
		.open = open,
		.cause = ns->cause,
		.text = ns->text,
		.locks = ns->locks.n,
		.held = ns->n_held,
		.lingering = linger_count(core, ns),
		.waiting = ns->n_waiting,
		.doubts = ns->n_doubts,
		.lost = ns->lost,
		.granted = ns->granted,
		.handed_over = ns->handed_over,
	};
	if (!open || s == NULL)
		return;
	if (ret->cause == 0) {
		ret->cause = s->cause;
		ret->text = s->text;
	}
	ret->danger = s->danger;
	ret->remaining_ms = view_since(session_until_ms(s), now_ms);
	ret->renewed_ago_ms = view_since(now_ms, s->sent_ms);
}

bool
core_client_holds(const struct core *core, uint64_t client,
    uint32_t namespace_index)
{
	const struct client *c = client_find(core, client);

	assert(namespace_index < core->n_namespaces);
	return c != NULL && c->held_in[namespace_index] > 0;
}
