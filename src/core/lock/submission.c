/*
 * A lock's operations on their way to the store, with the memory that they
 * point to.
 *
 * Every operation gets its memory before it is sent, a doubt included, so no
 * answer can come that there is no room to deal with. Without memory nothing
 * is sent, and the lock tries again later.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

void
submission_free(struct core *core, struct submission *s)
{
	if (s == NULL)
		return;
	in_doubt_drop(core, s->in_doubt);
	free(s->owner);
	free(s->version);
	free(s->contents);
	/* The others are longer. */
	if (s->submit.operation.n_dead == 0)
		freelist_give(&core->submissions, s);
	else
		free(s);
}

static struct submission *
submission_alloc(struct core *core, size_t n_dead)
{
	struct submission *s;

	if (n_dead > 0)
		return calloc(1,
		    sizeof(*s) + n_dead * sizeof(struct holder));
	s = freelist_take(&core->submissions, sizeof(*s));
	if (s != NULL)
		memset(s, 0, sizeof(*s));
	return s;
}

/* Would a release of ours name one of the dead, too? */
static bool
submission_takes_along(const struct lock *l)
{
	return l->leftovers != NULL &&
	    !ident_is_none(l->leftovers->dead.grant);
}

/* How many holders this operation names, where that is more than its own. */
static size_t
submission_n_dead(const struct lock *l, enum operation_kind kind,
    const struct grant *g)
{
	const struct leftovers *left = l->leftovers;
	bool orphan = left != NULL && !ident_is_none(left->orphan.grant);

	if (kind == OPERATION_ACQUIRE && g != NULL)
		return 1;	/* our own */
	if (kind == OPERATION_RELEASE && g != NULL)
		return submission_takes_along(l) ? 2 : 0;
	if (l->sight == NULL)
		return 0;
	if (kind == OPERATION_RELEASE && g == NULL && !orphan)
		return record_dead(l, RELEASE_MAX, NULL);
	/* It is taken from the dead if all holders are: waiter marks do not
	 * hinder that. Otherwise it is an acquire beside them, or one that asks
	 * for a lock of which they may have no use. */
	if (kind == OPERATION_ACQUIRE &&
	    record_dead(l, HOLDERS_MAX, NULL) == l->sight->n_holders)
		return l->sight->n_holders;
	return 0;
}

/* Whose it is: of a grant that of its holder; else that of the first in line.
 */
static uint32_t
submission_user(const struct lock *l, enum operation_kind kind,
    const struct grant *g)
{
	if (g != NULL && (kind != OPERATION_ACQUIRE || g->user != USER_NONE))
		return g->user;
	return l->queue == NULL ? USER_NONE : l->queue->user;
}

static struct submission *
submission_new(struct core *core, struct lock *l, enum operation_kind kind,
    uint32_t user, size_t n_dead)
{
	struct submission *s = submission_alloc(core, n_dead);

	if (s == NULL)
		return NULL;
	if (kind == OPERATION_ACQUIRE || kind == OPERATION_ADD_WAITER) {
		s->in_doubt = in_doubt_new(core, l->ns, user);
		if (s->in_doubt == NULL) {
			submission_free(core, s);
			return NULL;
		}
	}
	s->submit.operation.key = lock_key(l);
	s->submit.operation.user = user;
	return s;
}

struct holder
submission_me(const struct grant *g)
{
	return (struct holder){
		.session = grant_session_id(g),
		.grant = g->id,
		.lease_ms = g->lock->ns->settings.lease_ms,
		.fail_closed = g->fail_closed,
	};
}

/* A new grant has a new name: none is ever used twice. */
static void
submission_prepare_acquire(struct core *core, struct grant *g,
    const struct waiter *w, struct submission *s, size_t n_dead)
{
	struct lock *l = g->lock;
	struct operation *o = &s->submit.operation;

	g->mode = w->mode;
	g->limit = (uint16_t)w->limit;
	g->fail_closed = w->fail_closed;
	if (g->fail_closed)
		g->extras->session =
		    l->ns->session != NULL ? l->ns->session->id : g->id;
	grant_enter(core, g, GRANT_ASKING,
	    g->lease != NULL ? g->lease : l->ns->session);
	s->holder = submission_me(g);
	s->version = l->version;
	l->version = NULL;
	if (w->owner != NULL)
		s->owner = strdup(w->owner);
	/* A write of such a record writes all of it. */
	if (w->owner != NULL && l->ns->renews_records)
		record_lease_set_owner(g->lease, w->owner);
	o->me = s->holder;
	o->mode = g->mode;
	o->limit = g->limit;
	o->session = s->holder.session;
	o->owner = s->owner;
	g->n_tokens = grant_tokens(g);
	o->tokens = g->n_tokens;
	o->version = s->version;
	if (w->every_s > 0)
		every_ask(g, w, o);
	o->keeps = l->ns->settings.idle_ms > 0 && w->every_s == 0 &&
	    !l->ns->settings.keeps_idle && kept_is_planned(core, l, w);
	o->keeps_contents = w->change != NULL && w->change->spares_data;
	if (!l->ns->has_sessions)
		o->token_seen = l->token_seen;
	if (l->line != NULL) {
		o->place = line_place(l, o->session);
		if (o->place > 0 && l->hint == HINT_FOLLOWED)
			o->place = 1;
		o->token_seen = l->line->token;
	}
	if (n_dead > 0) {
		o->n_dead = n_dead;
		memcpy(s->dead, l->sight->holders,
		    n_dead * sizeof(struct holder));
		o->dead = s->dead;
		o->token_seen = l->sight->token;
		if (l->ns->renews_records)
			o->mark = observe_mark(l->ns, lock_key(l));
	}
	if (l->sight != NULL)
		record_forget_sight(l);
	l->view = VIEW_NEW;
}

/* The same each time it is sent (downgrade.c). */
static void
submission_prepare_downgrade(const struct grant *g, struct submission *s)
{
	const struct downgrade *downgrade = grant_downgrade(g);
	struct operation *o = &s->submit.operation;

	s->downgrading = true;
	s->dead[0] = submission_me(g);
	s->holder = s->dead[0];
	s->holder.grant = downgrade->id;
	if (downgrade->owner != NULL)
		s->owner = strdup(downgrade->owner);
	o->me = s->holder;
	o->mode = LOCK_MODE_SHARED;
	o->limit = downgrade->limit;
	o->session = g->lease->id;
	o->owner = s->owner;
	o->tokens = 1;
	o->n_dead = 1;
	o->dead = s->dead;
	o->token_seen = g->token_last;
}

static void
submission_prepare_release(struct core *core, struct grant *g,
    struct submission *s, size_t n_named)
{
	struct operation *o = &s->submit.operation;

	s->holder = submission_me(g);
	grant_enter(core, g, GRANT_RELEASING, g->lease);
	/* Sent at once, its own end says more than the timer. */
	if (g->releasing != NULL && g->releasing->asked_ms == core->now_ms &&
	    g->releasing->grants == g && g->releasing_next == NULL)
		heap_unset(&core->later, &g->releasing->timer);
	o->holders = &s->holder;
	o->n_holders = 1;
	if (n_named > 0) {
		s->dead[0] = s->holder;
		s->dead[1] = g->lock->leftovers->dead;
		o->holders = s->dead;
		o->n_holders = n_named;
	}
	o->others_hold = g->lock->others_seen >= o->n_holders ||
	    g->lock->grants->next != NULL;
	if (g->extras != NULL)
		o->run_end = every_end(g);
	o->keeps_contents = g->releasing != NULL &&
	    g->releasing->keeps_contents;
}

/* Elements to remove: an orphan of ours, or the dead of a semaphore. */
static void
submission_prepare_cleaning(struct lock *l, struct submission *s, size_t n_dead)
{
	struct operation *o = &s->submit.operation;

	s->cleaning = true;
	if (n_dead > 0) {
		o->n_holders = record_dead(l, n_dead, s->dead);
		o->holders = s->dead;
	} else {
		s->holder = l->leftovers->orphan;
		o->n_holders = 1;
		o->holders = &s->holder;
		o->run_end = l->leftovers->orphan_is_marked ?
		    RUN_NEVER_WAS : RUN_AS_IT_IS;
	}
	o->others_hold = l->others_seen > o->n_holders || l->grants != NULL;
}

/* By what a hold of ours changes its record; in formats without sessions that
 * renews it, too. */
static void
submission_prepare_change(struct grant *g, struct submission *s)
{
	struct operation *o = &s->submit.operation;

	s->holder = submission_me(g);
	o->me = s->holder;
	if (g->lease == NULL || !lease_is_of_record(g->lease))
		return;
	o->beat = g->lease->beat;
	o->owner = record_lease_owner(g->lease);
	record_lease_sent(g->lease);
}

static void
submission_prepare_extend(const struct core *core, struct grant *g,
    struct submission *s)
{
	struct operation *o = &s->submit.operation;

	submission_prepare_change(g, s);
	s->version = g->lock->version;	/* which has the token, too */
	g->lock->version = NULL;
	o->version = s->version;
	o->tokens = grant_extension(core, g, &o->token_seen);
}

/* Its contents follow: submission_update(). */
static void
submission_prepare_update(struct core *core, struct grant *g,
    struct submission *s)
{
	struct operation *o = &s->submit.operation;

	submission_prepare_change(g, s);
	o->revision.sequence = g->lock->sequence + 1;
	/* Odd: no store can drop digits at its end. */
	o->revision.random = random_next(&core->random) | 1;
}

/* Where others hold it, contents do not matter yet, except for only_if_exists.
 * */
static void
submission_prepare_read(const struct lock *l, struct submission *s)
{
	s->submit.operation.with_contents = l->grants != NULL ||
	    (l->queue != NULL && l->queue->only_if_exists);
}

/* The version is that of the last sight; it comes with the answer again. */
static void
submission_prepare_mark(struct core *core, struct lock *l,
    struct submission *s)
{
	struct operation *o = &s->submit.operation;

	s->version = l->version;
	l->version = NULL;
	o->version = s->version;
	o->mark = random_ident(&core->random);
	o->mark_form = l->mark_due;
	l->mark_due = MARK_NONE;
}

static void
submission_prepare_remove_waiter(struct lock *l, struct submission *s)
{
	const struct leftovers *left = l->leftovers;
	struct operation *o = &s->submit.operation;

	if (left != NULL && !ident_is_none(left->own_mark)) {
		o->session = left->own_mark;
		o->mode = left->stray_mark_mode;
	} else if (left != NULL && !ident_is_none(left->stale_mark)) {
		o->session = left->stale_mark;
		o->mode = left->stale_mark_mode;
		if (l->line != NULL)
			o->token_seen = l->line->token;
	} else if (l->ns->session != NULL) {
		o->session = l->ns->session->id;
		o->mode = l->own_mark_mode;
	}
	if (o->mode == LOCK_MODE_EXCLUSIVE)
		o->place = line_place(l, o->session);
}

static void
submission_prepare(struct core *core, struct lock *l, struct submission *s,
    enum operation_kind kind, struct grant *g, size_t n_dead)
{
	struct operation *o = &s->submit.operation;

	switch (kind) {
	case OPERATION_ACQUIRE:
		if (g->extras != NULL && grant_downgrade(g) != NULL)
			submission_prepare_downgrade(g, s);
		else
			submission_prepare_acquire(core, g, l->queue, s,
			    n_dead);
		return;
	case OPERATION_RELEASE:
		if (g == NULL)
			submission_prepare_cleaning(l, s, n_dead);
		else
			submission_prepare_release(core, g, s, n_dead);
		return;
	case OPERATION_REFRESH:
		submission_prepare_change(g, s);
		return;
	case OPERATION_EXTEND:
		submission_prepare_extend(core, g, s);
		return;
	case OPERATION_UPDATE:
		submission_prepare_update(core, g, s);
		return;
	case OPERATION_READ:
		submission_prepare_read(l, s);
		return;
	case OPERATION_ADD_WAITER:
		o->session = l->ns->session->id;
		o->mode = lock_mark_mode(l);
		if (line_is_kept(l) && line_has_room(l))
			o->line_max = l->ns->settings.line_max;
		return;
	case OPERATION_REMOVE_WAITER:
		submission_prepare_remove_waiter(l, s);
		return;
	case OPERATION_MARK:
		submission_prepare_mark(core, l, s);
		return;
	default:
		return;
	}
}

/*
 * Submit the operation @kind for this lock, and for its grant @g where it is
 * about one: ACQUIRE makes one unless it changes one, RELEASE without one
 * cleans up. False: not now;
 * the lock's timer is set to try again.
 */
bool
submission_send(struct core *core, struct lock *l, enum operation_kind kind,
    struct grant *g)
{
	size_t n_dead = submission_n_dead(l, kind, g);
	uint32_t user = submission_user(l, kind, g);
	struct submission *s;

	assert(l->submission == NULL);
	s = submission_new(core, l, kind, user, n_dead);
	if (s != NULL && kind == OPERATION_ACQUIRE && g == NULL) {
		g = grant_new(core, l, l->queue->fail_closed ||
		    l->queue->every_s > 0);
		if (g == NULL) {
			submission_free(core, s);
			s = NULL;
		}
	}
	if (s == NULL) {
		lock_try_later(core, l);
		return false;
	}
	/* What keeps a hold alive is free. */
	if ((l->ns->settings.request_rate > 0 || core->had_rates) &&
	    kind != OPERATION_REFRESH)
		lock_take_place(core, l, user);
	submission_prepare(core, l, s, kind, g, n_dead);
	if (kind != OPERATION_READ)
		l->writes++;
	l->submission = s;
	action_submit(core, &s->submit, l->ns, kind,
	    core->now_ms + l->ns->settings.request_ms, CORE_ABOUT_LOCK, l);
	return true;
}

/* Write these contents, for the request with this serial number. */
void
submission_update(struct core *core, struct grant *g,
    const struct contents *contents, uint64_t serial)
{
	struct contents *copy = contents_copy(contents);
	struct lock *l = g->lock;
	struct submission *s;

	if (copy == NULL) {
		lock_try_later(core, l);
		return;
	}
	if (!submission_send(core, l, OPERATION_UPDATE, g)) {
		free(copy);
		return;
	}
	grant_touch(g);
	s = l->submission;
	s->contents = copy;
	s->serial = serial;
	s->submit.operation.contents = *copy;
}

/* ---- one of several --------------------------------------------------- */

bool
submission_begin_part(struct core *core, struct lock *l, uint32_t user)
{
	struct submission *s =
	    submission_new(core, l, OPERATION_ACQUIRE, user, 0);
	struct grant *g = s == NULL ? NULL : grant_new(core, l, false);

	assert(l->submission == NULL);
	if (g == NULL) {
		submission_free(core, s);
		return false;
	}
	s->holder.grant = g->id;
	l->submission = s;
	return true;
}

void
submission_undo_part(struct core *core, struct lock *l)
{
	struct grant *g = grant_find(l, l->submission->holder.grant);

	grant_enter(core, g, GRANT_NONE, NULL);
	submission_drop(core, l);
}

const struct operation *
submission_send_part(struct core *core, struct lock *l,
    const struct waiter *w, uint64_t deadline_ms)
{
	struct submission *s = l->submission;

	submission_prepare_acquire(core,
	    grant_find(l, s->holder.grant), w, s, 0);
	action_fill(core, &s->submit.operation, l->ns, OPERATION_ACQUIRE,
	    deadline_ms);
	l->writes++;
	return &s->submit.operation;
}

/* The core goes away with operations under way. */
void
submission_drop(struct core *core, struct lock *l)
{
	submission_free(core, l->submission);
	l->submission = NULL;
}
