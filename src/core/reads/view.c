/*
 * Views for listings and answers. They change nothing visible.
 */
#include "core/reads/room.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void
view_fill_hold(struct hold *h, uint64_t now_ms,
    struct core_hold_view *ret)
{
	const struct lock *l = h->use.lock;
	uint64_t until_ms = 0;

	*ret = (struct core_hold_view){
		.hold = h->notice.hold,
		.id = hold_speaker(h)->notice.hold,
		.client = h->client->id,
		.namespace_index = l->ns->index,
		.key = lock_key(l),
		.token = h->use.token,
		.labels = hold_labels(h),
		.lost = h->lost,
		.count = hold_count(h),
		.loss = h->lost ? h->notice.loss : 0,
		.margin_ms = l->ns->settings.margin_ms,
		.held_ms = view_since(now_ms, h->since_ms),
	};
	ret->terms.fail_closed = h->use.fail_closed;
	ret->terms.process = hold_process(h);
	ret->lingers_ms = view_since(hold_linger_end_ms(h), now_ms);
	ret->least_ms = view_since(hold_least_ms(h), now_ms);
	ret->let_go = h->let_go;
	if (h->lost)
		return;
	until_ms = hold_until_ms(h);
	ret->token_text = bridge_token_text(h);
	ret->terms.mode = h->use.grant->mode;
	ret->terms.limit = h->use.grant->limit;
	ret->danger = hold_is_endangered(h);
	ret->remaining_ms = view_since(until_ms, now_ms);
	ret->until_ms = until_ms;
	ret->end_ms = hold_end_ms(h);
}

bool
core_next_hold(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_hold_view *ret)
{
	struct hold *h = hold_after(core, after);

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
	const struct lock *l = r->waiter.lock;

	*ret = (struct core_waiter_view){
		.serial = r->waiter.serial,
		.client = r->client->id,
		.namespace_index = r->ns->index,
		.key = lock_key(l),
		.n_keys = request_n_keys(r),
		.n_had = request_n_had(r),
		.terms = r->terms,
		.ahead = queue_ahead(&r->waiter),
		.place = lock_own_place(l),
		.waited_ms = view_since(now_ms, r->waiter.asked_ms),
		.cause = l->cause != 0 ? l->cause : r->ns->cause,
	};
	view_lock(core, l, now_ms, &ret->holder);
	ret->holder.ahead = ret->ahead;
}

bool
core_next_waiter(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_waiter_view *ret)
{
	const struct request *r = request_waiting_after(core, after);

	if (r == NULL)
		return false;
	view_fill_waiter(core, r, now_ms, ret);
	return true;
}

bool
core_view_request(const struct core *core, uint64_t client, uint64_t request,
    uint64_t now_ms, struct core_waiter_view *ret)
{
	const struct request *r = request_find(core, client, request);

	if (r == NULL || r->waiter.lock == NULL ||
	    r->reply.verb != CORE_ACQUIRE)
		return false;
	view_fill_waiter(core, r, now_ms, ret);
	return true;
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

bool
core_watch_of(const struct core *core, uint64_t client, uint32_t n,
    uint32_t *ret_namespace_index, struct key *ret)
{
	const struct client *c = client_find(core, client);
	const struct watch *watch;

	if (c == NULL)
		return false;
	DL_FOREACH2(c->watches, watch, client_next)
	{
		if (watch->request != NULL || n-- > 0)
			continue;
		*ret_namespace_index = watch->lock->ns->index;
		*ret = lock_key(watch->lock);
		return true;
	}
	return false;
}

void
core_view_namespace(const struct core *core, uint32_t namespace_index,
    uint64_t now_ms, struct core_namespace_view *ret)
{
	const struct namespace *ns = &core->namespaces[namespace_index];
	const struct lease *s = ns->session;
	bool open;

	assert(namespace_index < core->n_namespaces);
	open = ns->has_sessions ?
	    s != NULL && s->state == LEASE_VALID : ns->cause == 0;
	*ret = (struct core_namespace_view){
		.name = ns->settings.name,
		.format = ns->settings.format,
		.open = open,
		.drained = ns->drained,
		.removed = ns->settings.removed,
		.cause = ns->cause,
		.text = ns->text,
		.locks = ns->locks.n,
		.held = ns->n_held,
		.lingering = ns->n_lingering,
		.waiting = ns->n_waiting,
		.followers = follow_count(ns),
		.n_in_doubt = ns->n_in_doubt,
		.counters = ns->counters,
		.figures = ns->figures,
		.n_figures = ns->n_figures,
		.tokens_back = &ns->tokens_back,
	};
	if (!open || s == NULL)
		return;
	if (ret->cause == 0) {
		ret->cause = s->cause;
		ret->text = s->text;
	}
	ret->danger = s->danger;
	ret->remaining_ms = view_since(lease_until_ms(s), now_ms);
	ret->renewed_ago_ms = view_since(now_ms, s->sent_ms);
	ret->danger_in_ms = view_since(s->sent_ms + ns->settings.danger_ms,
	    now_ms);
}

uint64_t
core_view_memory(const struct core *core, uint32_t user)
{
	const struct tenant *t;

	if (user == CORE_ALL_USERS)
		return core->shares.has[SHARE_BYTES];
	t = tenant_find(core, user);
	return t == NULL ? 0 : t->shares.has[SHARE_BYTES];
}

bool
core_client_holds(const struct core *core, uint64_t client,
    uint32_t namespace_index)
{
	const struct client *c = client_find(core, client);

	assert(namespace_index < core->n_namespaces);
	return c != NULL && c->held_in[namespace_index] > 0;
}
