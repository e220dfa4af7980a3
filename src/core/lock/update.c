/*
 * What clients keep in locks: telling the data with a grant, and changing them
 * for an exclusive holder.
 *
 * Nothing of it is kept here. While an element of ours is in a record, only an
 * update of ours changes its contents: sharers may not, and an exclusive lock
 * has one holder. So any record that shows contents, read since that element
 * came in and after the last update was settled, tells what a grant must tell.
 * It serves one grant, in the step in which it came (core->found). A lock whose
 * record never had contents is handed over without a look.
 *
 *  1. An update is of whole contents: what is there, and what is asked for.
 *  2. One whose answer never came may yet land, within its grant. Until a later
 *     one, with a greater revision, was acknowledged, no new client is granted
 *     the lock by that grant (grant->unsealed).
 *  3. What a release or a renewal changes comes before whatever follows it.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

static const struct contents update_nothing = { { NULL, 0 }, NULL, 0 };
static const struct change update_no_change = { .sets_data = false };

/* ---- what is known in this step --------------------------------------- */

void
update_forget(struct core *core)
{
	free(core->found);
	core->found = NULL;
	core->found_lock = NULL;
	core->found_applied = 0;
}

static bool
update_is_wanted(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (update_is_owed(g))
			return true;
	}
	return l->grants != NULL && l->queue != NULL;
}

/* Does an answer to this operation show contents? Writes' do. */
static bool
update_is_shown(const struct operation *o)
{
	return o->kind != OPERATION_READ || o->with_contents;
}

void
update_seen(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	struct contents *c;

	update_forget(core);
	if ((o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) ||
	    !update_is_shown(&s->submit.operation) || l->sequence == 0 ||
	    !update_is_wanted(l))
		return;
	c = contents_copy(&o->lock.contents);
	if (c == NULL) {
		lock_hold_off(core, l, RETRY_MS);
		return;
	}
	core->found = c;
	core->found_lock = l;
	core->found_applied = o->kind == OUTCOME_DONE ? s->serial : 0;
}

/* The contents of the lock; NULL: the record must be asked. */
static const struct contents *
update_known(const struct core *core, const struct grant *g)
{
	if (core->found_lock == g->lock)
		return core->found;
	return g->lock->sequence == 0 && !g->unsealed ? &update_nothing : NULL;
}

/* ---- one request ------------------------------------------------------ */

static enum update
update_refuse(struct core *core, struct waiter *w, int code, const char *text)
{
	core->lock_events->answered(core, w, code, 0, text);
	return UPDATE_REFUSED;
}

/* What it asks for is known to be possible: is there something to write? */
static enum update
update_change(struct core *core, struct grant *g, struct waiter *w,
    const struct contents *base)
{
	const struct change *change =
	    w->change != NULL ? w->change : &update_no_change;
	struct contents *new;
	int code = change_apply(change, base, &new);
	bool same;

	if (code == DDBLOCK_E_LIMIT)
		return update_refuse(core, w, code, "together with the data "
		    "already in the lock that is more than 307200 bytes, or 32 "
		    "attributes");
	if (code < 0) {
		/* What was admitted goes on: the client of this release has
		 * given up the lock. */
		lock_try_later(core, g->lock);
		return UPDATE_LATER;
	}
	same = !g->unsealed && contents_are_equal(base, new);
	if (!same)
		submission_update(core, g, new, w->serial);
	free(new);
	return same ? UPDATE_READY : UPDATE_LATER;
}

/* An update of the last holder, which has left meanwhile, may be on its way. */
static bool
update_is_under_way(const struct lock *l)
{
	return l->submission != NULL &&
	    l->submission->submit.operation.kind == OPERATION_UPDATE;
}

/*
 * Has the lock the contents that @w wants in it, and are they known, for its
 * grant? If not, ask for what is missing.
 */
enum update
update_look(struct core *core, struct grant *g, struct waiter *w)
{
	struct lock *l = g->lock;
	const struct contents *base = update_known(core, g);
	bool applied = base != NULL && core->found_applied == w->serial;

	if (update_is_under_way(l))
		return UPDATE_LATER;
	/* Of several, what is kept in each is not told. */
	if (w->is_multi && !g->unsealed)
		return UPDATE_READY;
	if (w->only_if_exists && base != NULL && !applied &&
	    l->ns->has_sessions &&
	    contents_are_empty(base))
		return update_refuse(core, w, DDBLOCK_E_NO_SUCH_LOCK,
		    "the lock has no data and no attributes, and "
		    "only_if_exists was given");
	if (base != NULL && !g->unsealed && (applied || w->change == NULL))
		return UPDATE_READY;
	if (!lock_may_send(core, l))
		return UPDATE_LATER;
	if (base != NULL)
		return update_change(core, g, w, base);
	(void)submission_send(core, l, OPERATION_READ, NULL);
	return UPDATE_LATER;
}

/* The change is in the record. */
static void
update_finish(struct core *core, struct grant *g, struct waiter *w)
{
	free(w->change);
	w->change = NULL;
	if (w != update_renewal(g))
		return;
	update_leave(w);
	core->lock_events->updated(core, g, w);
}

/* What the holder asked for, as far as it can be done now. */
void
update_advance(struct core *core, struct grant *g)
{
	struct waiter *w;

	while (g->state == GRANT_HELD && (w = update_owed_to(g)) != NULL &&
	    grant_is_good(core, g) && grant_is_proven(g)) {
		switch (update_look(core, g, w)) {
		case UPDATE_READY:
			update_finish(core, g, w);
			break;
		case UPDATE_REFUSED:
			break;
		case UPDATE_LATER:
			return;
		}
	}
}

struct contents *
update_take_found(struct core *core, const struct lock *l)
{
	struct contents *found = core->found_lock == l ? core->found : NULL;

	if (found == NULL)
		return NULL;
	core->found = NULL;
	update_forget(core);
	return found;
}

/* ---- the answer to an update ------------------------------------------ */

/* Its client, if there still is one. */
static struct waiter *
update_asker(const struct grant *g, uint64_t serial)
{
	struct waiter *w = update_owed_to(g);

	if (w == NULL)
		w = g->lock->queue;
	return w != NULL && w->serial == serial ? w : NULL;
}

/* An update by this grant may yet land: the next one must be above it. */
void
update_doubt(struct grant *g)
{
	g->unsealed = true;
	g->lock->sequence++;
}

/* It did not happen, or that is unknown. False: no client was told so. */
bool
update_failed(struct core *core, struct grant *g, uint64_t serial,
    const struct outcome *o)
{
	struct waiter *w;

	if (o->kind == OUTCOME_UNKNOWN) {
		update_doubt(g);
		grant_touch(g);
		return false;
	}
	w = update_asker(g, serial);
	if (w == NULL || !namespace_code_is_definite(o->code))
		return false;
	core->lock_events->answered(core, w, o->code, 0, o->text);
	return true;
}
