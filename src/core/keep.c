/*
 * What clients keep in locks: telling who is granted one what is in it, and
 * changing it for who holds it alone.
 *
 * Nothing of it is kept here. While an element of ours is in a record, only an
 * update of ours changes its contents: who shares a lock may not, and nobody
 * else holds it. So any record that shows contents, read since that element
 * came in and after the last update was settled, tells what a grant must tell.
 * It serves one grant, in the step in which it came (core->found). A lock whose
 * record never had contents is handed over without a look.
 *
 *  1. An update is of whole contents: what is there, and what is asked for.
 *  2. One whose answer never came may yet land, within its grant. Until a later
 *     one, with a greater revision, was acknowledged, nobody new is granted the
 *     lock by that grant (grant->unsealed).
 *  3. What a release or a renewal changes comes before whatever follows it.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

static const struct contents keep_nothing = { { NULL, 0 }, NULL, 0 };
static const struct change keep_no_change = { .sets_data = false };

/* The first of the renewals that change something. */
static struct request *
keep_renewal(const struct grant *g)
{
	return g->extras == NULL ? NULL : g->extras->changing;
}

/* The request of who has the lock, or had it, that comes next. */
static struct request *
keep_owed_to(const struct grant *g)
{
	if (keep_renewal(g) != NULL)
		return keep_renewal(g);
	return g->releasing != NULL && g->releasing->change != NULL ?
	    g->releasing : NULL;
}

bool
keep_is_owed(const struct grant *g)
{
	return keep_owed_to(g) != NULL;
}

/* ---- what is known in this step --------------------------------------- */

void
keep_forget(struct core *core)
{
	free(core->found.contents);
	core->found = (struct found){ .contents = NULL };
}

static bool
keep_is_wanted(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (keep_is_owed(g))
			return true;
	}
	return l->grants != NULL && l->queue != NULL;
}

/* Does an answer to this operation show contents? Writes' do. */
static bool
keep_is_shown(const struct operation *o)
{
	return o->kind != OPERATION_READ || o->with_contents;
}

void
keep_seen(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	struct contents *c;

	keep_forget(core);
	if ((o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) ||
	    !keep_is_shown(&s->submit.operation) || l->sequence == 0 ||
	    !keep_is_wanted(l))
		return;
	c = contents_copy(&o->lock.contents);
	if (c == NULL) {
		lock_hold_off(core, l, RETRY_MS);
		return;
	}
	core->found = (struct found){
		.lock = l,
		.contents = c,
		.applied = o->kind == OUTCOME_DONE ? s->serial : 0,
	};
}

/* The contents of the lock; NULL: the record must be asked. */
static const struct contents *
keep_known(const struct core *core, const struct grant *g)
{
	if (core->found.lock == g->lock)
		return core->found.contents;
	return g->lock->sequence == 0 && !g->unsealed ? &keep_nothing : NULL;
}

/* ---- one request ------------------------------------------------------ */

static enum keep
keep_refuse(struct core *core, struct request *r, int code, const char *text)
{
	request_reply(core, r, code, 0, text);
	return KEEP_REFUSED;
}

/* What it asks for is known to be possible: is there something to write? */
static enum keep
keep_change(struct core *core, struct grant *g, struct request *r,
    const struct contents *base)
{
	const struct change *change =
	    r->change != NULL ? r->change : &keep_no_change;
	struct contents *new;
	int code = change_apply(change, base, &new);
	bool same;

	if (code == DDBLOCK_E_LIMIT)
		return keep_refuse(core, r, code, "with what is kept in the "
		    "lock already that is more than 307200 bytes, or than 32 "
		    "attributes");
	if (code < 0) {
		/* What was admitted goes on: whose release this is has let
		 * go of the lock. */
		lock_try_later(core, g->lock);
		return KEEP_LATER;
	}
	same = !g->unsealed && contents_are_equal(base, new);
	if (!same)
		submission_update(core, g, new, r->serial);
	free(new);
	return same ? KEEP_READY : KEEP_LATER;
}

/* An update of who had it before, and has left meanwhile, may be on its way. */
static bool
keep_is_under_way(const struct lock *l)
{
	return l->submission != NULL &&
	    l->submission->submit.operation.kind == OPERATION_UPDATE;
}

/*
 * Has the lock the contents that @r wants in it, and are they known, for its
 * grant? If not, ask for what is missing.
 */
enum keep
keep_look(struct core *core, struct grant *g, struct request *r)
{
	struct lock *l = g->lock;
	const struct contents *base = keep_known(core, g);
	bool applied = base != NULL && core->found.applied == r->serial;

	if (keep_is_under_way(l))
		return KEEP_LATER;
	/* Of several, what is kept in each is not told. */
	if (r->joint != NULL && !g->unsealed)
		return KEEP_READY;
	if (r->only_if_exists && base != NULL && !applied &&
	    l->ns->settings.life == LOCK_LIFE_SESSION &&
	    contents_are_empty(base))
		return keep_refuse(core, r, DDBLOCK_E_NO_SUCH_LOCK,
		    "nothing is kept in that lock, and it was asked for only "
		    "if it exists");
	if (base != NULL && !g->unsealed && (applied || r->change == NULL))
		return KEEP_READY;
	if (l->submission != NULL || lock_must_wait(core, l))
		return KEEP_LATER;
	if (base != NULL)
		return keep_change(core, g, r, base);
	(void)submission_send(core, l, OPERATION_READ, NULL);
	return KEEP_LATER;
}

/* The change is in the record. */
static void
keep_finish(struct core *core, struct grant *g, struct request *r)
{
	free(r->change);
	r->change = NULL;
	if (r != keep_renewal(g))
		return;
	keep_leave(r);
	renew_ask(core, grant_session(g), r);
}

/* What the holder asked for, as far as it can be done now. */
void
keep_advance(struct core *core, struct grant *g)
{
	struct request *r;

	while (g->state == GRANT_HELD && grant_is_good(core, g) &&
	    (r = keep_owed_to(g)) != NULL) {
		switch (keep_look(core, g, r)) {
		case KEEP_READY:
			keep_finish(core, g, r);
			break;
		case KEEP_REFUSED:
			break;
		case KEEP_LATER:
			return;
		}
	}
}

/* Whoever is granted the lock is told what it did not bring itself. */
void
keep_tell(struct core *core, struct request *r)
{
	if (core->found.lock != r->lock || core->found.lock == NULL)
		return;
	r->found = core->found.contents;
	core->found = (struct found){ .contents = NULL };
	if (r->change != NULL)
		change_leave_out(r->change, r->found);
	r->reply.contents = r->found;
}

/* ---- the holder's requests -------------------------------------------- */

/* DDBLOCK_E_NOMEM */
int
keep_join(struct grant *g, struct request *r)
{
	struct extras *extras = grant_extras(g);

	if (extras == NULL)
		return DDBLOCK_E_NOMEM;
	r->changing = g;
	DL_APPEND2(extras->changing, r, renew_previous, renew_next);
	return 0;
}

void
keep_leave(struct request *r)
{
	DL_DELETE2(r->changing->extras->changing, r, renew_previous,
	    renew_next);
	r->changing = NULL;
}

/* The hold is over, and with it what it was to change. */
void
keep_lose(struct core *core, struct grant *g)
{
	struct request *r;

	while ((r = keep_renewal(g)) != NULL)
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, NULL);
}

/* ---- the answer to an update ------------------------------------------ */

/* Who asked for it, if he is still there. */
static struct request *
keep_asker(const struct grant *g, uint64_t serial)
{
	struct request *r = keep_owed_to(g);

	if (r == NULL)
		r = g->lock->queue;
	return r != NULL && r->serial == serial ? r : NULL;
}

/* It did not happen, or nobody knows. False: nobody was told so. */
bool
keep_failed(struct core *core, struct grant *g, uint64_t serial,
    const struct outcome *o)
{
	struct request *r;

	if (o->kind == OUTCOME_UNKNOWN) {
		/* The next one must be above it. */
		g->unsealed = true;
		g->lock->sequence++;
		return false;
	}
	r = keep_asker(g, serial);
	if (r == NULL || !namespace_code_is_definite(o->code))
		return false;
	request_reply(core, r, o->code, 0, o->text);
	return true;
}
