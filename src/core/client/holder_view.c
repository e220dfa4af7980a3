/*
 * The holder of a lock, for answers and listings. It changes nothing visible.
 */
#include "core/client/room.h"

#include <stdio.h>

static void
view_owner(struct core_holder_view *v, const char *owner)
{
	if (owner != NULL)
		(void)snprintf(v->owner, sizeof(v->owner), "%s", owner);
}

/* What is known of a holder's session, if it was ever looked at; or that its
 * client was one of ours. */
static void
view_session(const struct core *core, const struct namespace *ns,
    struct key key, const struct holder *h, uint64_t now_ms,
    struct core_holder_view *v)
{
	struct observed seen;

	observe_tell(core, observe_holder(ns, key, h), now_ms, &seen);
	v->left = record_holder_is_left(ns, lock_find(ns, key), h);
	v->lease_ms = h->lease_ms;
	v->seen = seen.seen;
	v->renewal = seen.beat;
	v->dead = seen.dead;
	v->silent = seen.silent || v->left;
	v->ends = seen.ends && !v->fail_closed;
	if (!seen.seen)
		return;
	v->ends_ms = v->ends ? view_since(seen.end_ms, now_ms) : 0;
	v->unchanged_ms = view_since(now_ms, seen.since_ms);
}

static void
view_policy(const struct holder *holders, size_t n_holders,
    struct core_holder_view *v)
{
	for (size_t i = 0; i < n_holders; i++)
		v->fail_closed = v->fail_closed || holders[i].fail_closed;
}

/* Of the sharers, one that is not dead, or silent, if there is any. A
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
	v->left = v->left && v->silent;
}

static void
view_hold(const struct hold *hold, uint64_t now_ms,
    struct core_holder_view *v)
{
	const struct grant *g = hold->use.grant;
	const struct namespace *ns = hold->use.lock->ns;

	v->held = true;
	v->here = true;
	v->client = hold->client->id;
	v->process = hold_process(hold);
	v->namespace_index = ns->index;
	v->named = hold_labels(hold).owner != NULL;
	view_owner(v, hold_labels(hold).owner);
	v->token = grant_token_text(g) == NULL ? hold->use.token : 0;
	v->fail_closed = hold->use.fail_closed;
	v->mode = g->mode;
	v->limit = g->limit;
	if (!ns->never_ends)
		v->lease_ms = ns->settings.lease_ms;
	/* What is kept for a request for several locks nobody has yet. */
	v->held_ms = multi_is_kept(hold) ? 0 :
	    view_since(now_ms, hold->since_ms);
	v->renewal = terms_until_ms(hold);
	v->ends = !hold->use.fail_closed;
	v->ends_ms =
	    view_since(v->renewal + ns->settings.margin_ms, now_ms);
}

/* How many here have it. What is kept for a request for several locks, until it
 * has all of them, nobody has; but somebody is in the way. */
static uint32_t
view_n_holds(const struct core *core, const struct lock *l)
{
	uint32_t n = l->n_uses;
	const struct grant *g;
	const struct use *u;

	if (core->multis == NULL)
		return n;
	LL_FOREACH(l->grants, g)
	{
		DL_FOREACH(g->uses, u)
		{
			if (multi_is_kept(hold_of(u)))
				n--;
		}
	}
	return n > 0 ? n : 1;
}

/* Marks of other hosts that wait. */
static uint32_t
view_n_marks(const struct namespace *ns, const struct ident *marks,
    size_t n_marks)
{
	uint32_t n = 0;

	for (size_t i = 0; i < n_marks; i++)
		n += session_find(ns, marks[i]) == NULL;
	return n;
}

void
view_lock(const struct core *core, const struct lock *l, uint64_t now_ms,
    struct core_holder_view *ret)
{
	const struct sight *sight = l->sight;
	const struct hold *hold = hold_of(lock_first_use(l));

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

/* How many of the holders in the record belong to other hosts. Of ours that it
 * shows, which client holds it is in @ret_hold. */
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
		if (g->uses != NULL)
			*ret_hold = hold_of(g->uses);
	}
	return (uint32_t)record->n_holders - n_ours;
}

/* A lock whose grant of ours has no client (kept idle, or on its way out) is
 * free to any client. */
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
	ret->n_hosts_waiting = view_n_marks(ns, record->exclusive_waiters,
	    record->n_exclusive_waiters) + view_n_marks(ns,
	    record->shared_waiters, record->n_shared_waiters);
	if (l != NULL)
		n_others = view_n_others(l, record, &hold);
	if (n_others == 0 && hold == NULL)
		return;
	ret->held = true;
	ret->limit = record->limit;
	ret->n_holders = n_others;
	if (hold != NULL) {
		view_hold(hold, now_ms, ret);
		/* The record shows all sharers. */
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
