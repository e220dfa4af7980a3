/*
 * One element of ours in a lock's record, from the request for it to the end
 * of its removal. Exclusive use has one at most, sharers of a host have one
 * for all of them, and each local holder of a semaphore has its own.
 *
 *             acquire sent         done
 *      NONE ---------------> ASKING ---> HELD <--+ hand-over: the next
 *       ^ ^                   |  |        |  +---+ local client, with the
 *       | +---- conflict -----+  |unknown |        next token; or one more
 *       |       refused          v        |        sharer
 *       |                      UNSURE     | nobody here wants it,
 *       |      a read shows      |        v or others' turn
 *       +------- it is not ------+     RELEASING --+ unknown: a read
 *       |        there      it is|there   |   ^----+ settles it
 *       |                        +-> HELD |
 *       +---------------------------------+ done
 *
 *    From every state, when the session is lost, or when the record shows
 *    that somebody took our grant out: NONE, and the clients are told.
 *
 *  1. A client holds the lock only in HELD, under a session that is good.
 *  2. A grant, once a release of it was submitted, is never given to anybody.
 *  3. UNSURE is neither failure nor success: only a consistent read tells.
 *  4. A token of exclusive use is given once; a new one comes from a block
 *     that is already in the record. Sharers have the token of their grant.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

/* NULL: no memory. */
struct extras *
grant_extras(struct grant *g)
{
	if (g->extras == NULL)
		g->extras = calloc(1, sizeof(*g->extras));
	return g->extras;
}

/* NULL: it is not being downgraded. */
struct downgrade *
grant_downgrade(const struct grant *g)
{
	return g->extras == NULL ? NULL : g->extras->downgrade;
}

/* What its element says of its session, not when that was lost; what is
 * fail-closed keeps it. */
struct ident
grant_session_id(const struct grant *g)
{
	return g->fail_closed ? g->extras->session : g->lease->id;
}

/* Is this its name, or the one that it may have now? */
bool
grant_has(const struct grant *g, struct ident id)
{
	return ident_equal(g->id, id) ||
	    (grant_downgrade(g) != NULL &&
		ident_equal(grant_downgrade(g)->id, id));
}

struct grant *
grant_find(const struct lock *l, struct ident id)
{
	struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (grant_has(g, id))
			return g;
	}
	return NULL;
}

bool
grant_is_lost(const struct grant *g)
{
	return g->lease == NULL && !g->fail_closed;
}

/* Is this element of the record ours? */
bool
grant_is_holder(const struct grant *g, const struct holder *h)
{
	return !grant_is_lost(g) &&
	    ident_equal(h->session, grant_session_id(g)) &&
	    grant_has(g, h->grant);
}

/* How many of these elements are ours? */
size_t
grant_count_holders(const struct lock *l, const struct lock_record *record)
{
	const struct grant *g;
	size_t n = 0;

	LL_FOREACH(l->grants, g)
	{
		for (size_t i = 0; i < record->n_holders; i++)
			n += grant_is_holder(g, &record->holders[i]);
	}
	return n;
}

/* ---- its uses ------------------------------------------------------ */

void
grant_add_use(struct grant *g, struct use *u)
{
	u->lock = g->lock;
	u->grant = g;
	u->fail_closed = g->fail_closed;
	u->token = grant_next_token(g) & TOKEN_MAX;
	DL_APPEND2(g->uses, u, previous, next);
	g->lock->n_uses++;
	if (g->extras != NULL)
		every_begin(g);
	grant_touch(g);
}

void
grant_drop_use(struct use *u)
{
	DL_DELETE2(u->grant->uses, u, previous, next);
	assert(u->lock->n_uses > 0);
	u->lock->n_uses--;
	u->grant = NULL;
}

bool
grant_is_taken(const struct core *core, const struct grant *g)
{
	return g->uses != NULL || core->now_ms < g->gap_ms;
}

/* Could this request hold the lock by this grant, now or after its holder? */
bool
grant_suits(const struct grant *g, const struct waiter *w)
{
	return g->mode == w->mode && g->limit == w->limit &&
	    g->fail_closed == w->fail_closed &&
	    (g->extras == NULL ? w->every_s == 0 : every_suits(g, w));
}

/* Do all clients here that share it have this one? A fail-closed holder may be
 * left held, so it has its own. */
bool
grant_is_common(const struct grant *g)
{
	return g->mode == LOCK_MODE_SHARED && g->limit == 0 && !g->fail_closed;
}

/* Could it, together with its present holders? */
bool
grant_fits(const struct core *core, const struct grant *g,
    const struct waiter *w)
{
	return grant_suits(g, w) &&
	    (!grant_is_taken(core, g) || grant_is_common(g));
}

struct lease *
grant_lease(const struct grant *g)
{
	return g->fail_closed ? g->lock->ns->session : g->lease;
}

/* Does only its holder end it now? */
bool
grant_is_good(const struct core *core, const struct grant *g)
{
	return g->fail_closed ||
	    (g->lease != NULL && core->now_ms < g->lease->good_until_ms);
}

/* May anything new be given by it? Not under a session that retires. */
bool
grant_is_usable(const struct grant *g)
{
	return g->fail_closed ? !g->unproven :
	    g->lease != NULL && lease_takes_grants(g->lease);
}

/* It is not inherited, or was seen to be ours alone. */
bool
grant_is_proven(const struct grant *g)
{
	return !g->unproven && (g->lease == NULL || !g->lease->unproven);
}

/* Not while its client is leaving: no client would be told, and it might
 * linger. */
bool
grant_can_give(const struct core *core, const struct grant *g,
    const struct waiter *w)
{
	return !w->leaving && g->state == GRANT_HELD &&
	    grant_fits(core, g, w) && grant_is_usable(g) &&
	    grant_is_good(core, g) && grant_has_token(g) &&
	    grant_downgrade(g) == NULL && !update_is_owed(g) &&
	    !lock_run_is_over(core, g->lock);
}

bool
grant_is_being_downgraded(const struct grant *g)
{
	return grant_downgrade(g) != NULL;
}

/* The next grant of this round, which goes to the end of its list. */
struct grant *
grant_next_in(struct grant **list, uint16_t round)
{
	struct grant *g = *list;

	if (g == NULL || g->audit_round == round)
		return NULL;
	g->audit_round = round;
	DL_DELETE2(*list, g, lease_previous, lease_next);
	DL_APPEND2(*list, g, lease_previous, lease_next);
	return g;
}

struct grant *
grant_next_to_audit(struct lease *lease)
{
	return grant_next_in(&lease->grants, lease->ns->audit_round);
}
