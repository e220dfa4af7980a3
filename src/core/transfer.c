/*
 * A lock's operations: what is asked of the store, and what its answer means.
 *
 * Every operation gets its memory before it is sent, a doubt included, so no
 * answer can come that there is no room to deal with. Without memory nothing
 * is sent, and the lock tries again later.
 */
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static void
submission_free(struct core *core, struct submission *s)
{
	if (s == NULL)
		return;
	doubt_drop(core, s->doubt);
	free(s->owner);
	if (s->submit.operation.n_dead > 0 ||
	    core->n_spare_submissions >= SPARES_MAX) {
		free(s);
		return;
	}
	s->next_spare = core->spare_submissions;
	core->spare_submissions = s;
	core->n_spare_submissions++;
}

void
transfer_free_spares(struct core *core)
{
	while (core->spare_submissions != NULL) {
		struct submission *s = core->spare_submissions;

		core->spare_submissions = s->next_spare;
		free(s);
	}
}

static struct submission *
submission_alloc(struct core *core, size_t n_dead)
{
	struct submission *s = core->spare_submissions;

	if (n_dead > 0 || s == NULL)
		return calloc(1,
		    sizeof(*s) + n_dead * sizeof(struct holder));
	core->spare_submissions = s->next_spare;
	core->n_spare_submissions--;
	memset(s, 0, sizeof(*s));
	return s;
}

static struct submission *
submission_new(struct core *core, struct lock *l, enum operation_kind kind)
{
	bool take = kind == OPERATION_ACQUIRE && l->sight != NULL;
	size_t n_dead = take ? l->sight->n_holders : 0;
	struct submission *s = submission_alloc(core, n_dead);

	if (s == NULL)
		return NULL;
	if (kind == OPERATION_ACQUIRE || kind == OPERATION_WANT) {
		s->doubt = doubt_new(core, l);
		if (s->doubt == NULL) {
			submission_free(core, s);
			return NULL;
		}
	}
	s->submit.operation.key = lock_key(l);
	return s;
}

static struct holder
transfer_me(const struct lock *l)
{
	return (struct holder){
		.session = l->session->id,
		.grant = l->grant,
		.lease_ms = l->ns->settings.lease_ms,
	};
}

/* A new name for every acquire: a grant is never used twice. */
static void
transfer_prepare_acquire(struct core *core, struct lock *l,
    struct submission *s)
{
	const struct core_namespace *t = &l->ns->settings;
	struct operation *o = &s->submit.operation;

	l->grant = random_ident(&core->random);
	lock_enter(core, l, LOCK_ASKING, l->ns->session);
	l->tokens_asked =
	    (uint16_t)(t->host_only ? TOKENS_MAX : t->handover_max);
	s->holder = transfer_me(l);
	if (l->queue->owner != NULL)
		s->owner = strdup(l->queue->owner);
	o->me = s->holder;
	o->session = l->session->id;
	o->mode = LOCK_MODE_EXCLUSIVE;
	o->owner = s->owner;
	o->tokens = l->tokens_asked;
	if (l->sight != NULL) {
		o->n_dead = l->sight->n_holders;
		memcpy(s->dead, l->sight->holders,
		    o->n_dead * sizeof(struct holder));
		o->dead = s->dead;
		o->token_seen = l->sight->token;
	}
	record_forget_sight(l);
	l->view = VIEW_NEW;
}

static void
transfer_prepare_release(struct core *core, struct lock *l,
    struct submission *s)
{
	struct operation *o = &s->submit.operation;

	if (l->state == LOCK_NONE) {
		s->holder = l->leftovers->orphan;
		s->orphan = true;
	} else {
		s->holder = transfer_me(l);
		lock_enter(core, l, LOCK_RELEASING, l->session);
		/* Sent at once, its own end says more than the timer. */
		if (l->releasing != NULL &&
		    l->releasing->asked_ms == core->now_ms)
			heap_unset(&core->heap, &l->releasing->timer);
	}
	o->holders = &s->holder;
	o->n_holders = 1;
}

static void
transfer_prepare_extend(struct lock *l, struct submission *s)
{
	struct operation *o = &s->submit.operation;

	s->holder = transfer_me(l);
	o->me = s->holder;
	o->token_seen = l->token_last;
	o->tokens = l->tokens_asked;
}

static void
transfer_prepare_unwant(struct lock *l, struct submission *s)
{
	const struct leftovers *left = l->leftovers;
	struct operation *o = &s->submit.operation;

	o->mode = LOCK_MODE_EXCLUSIVE;
	if (left != NULL && !ident_is_none(left->own_wish))
		o->session = left->own_wish;
	else if (left != NULL && !ident_is_none(left->stale_wish))
		o->session = left->stale_wish;
	else if (l->ns->session != NULL)
		o->session = l->ns->session->id;
}

static void
transfer_prepare(struct core *core, struct lock *l, struct submission *s,
    enum operation_kind kind)
{
	switch (kind) {
	case OPERATION_ACQUIRE:
		transfer_prepare_acquire(core, l, s);
		return;
	case OPERATION_RELEASE:
		transfer_prepare_release(core, l, s);
		return;
	case OPERATION_EXTEND:
		transfer_prepare_extend(l, s);
		return;
	case OPERATION_WANT:
		s->submit.operation.session = l->ns->session->id;
		s->submit.operation.mode = LOCK_MODE_EXCLUSIVE;
		return;
	case OPERATION_UNWANT:
		transfer_prepare_unwant(l, s);
		return;
	default:
		return;
	}
}

/*
 * Submit the operation @kind for this lock. False: not now; the lock's timer
 * is set to try again.
 */
bool
transfer_submit(struct core *core, struct lock *l, enum operation_kind kind)
{
	struct submission *s;

	assert(l->submission == NULL);
	s = submission_new(core, l, kind);
	if (s == NULL) {
		lock_hold_off(core, l, RETRY_MS);
		heap_set(&core->heap, &l->timer, l->hold_off_ms);
		return false;
	}
	transfer_prepare(core, l, s, kind);
	if (kind != OPERATION_READ)
		l->writes++;
	l->submission = s;
	action_submit(core, &s->submit, l->ns, kind,
	    core->now_ms + l->ns->settings.request_ms, CORE_ABOUT_LOCK, l);
	return true;
}

/* Why it is not done, or not known to be. */
static int16_t
transfer_cause(const struct outcome *o)
{
	return (int16_t)(o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE);
}

/*
 * The store could not say. After a definite answer nobody needs to wait any
 * longer, unless a client here has the lock, which ends by itself, or a release
 * is on its way, which will be asked again.
 */
static void
transfer_failed(struct core *core, struct lock *l, const struct outcome *o)
{
	bool definite = o->kind == OUTCOME_REFUSED &&
	    namespace_code_is_definite(o->code);

	l->cause = transfer_cause(o);
	lock_hold_off(core, l, lock_poll_ms(l));
	if (definite && l->hold == NULL && l->state != LOCK_RELEASING)
		queue_fail(core, l, o->code, o->text);
}

static void
transfer_seen(struct core *core, struct lock *l, const struct outcome *o,
    uint64_t submitted_ms)
{
	record_seen(core, l, &o->lock, submitted_ms);
	l->due_ms =
	    core->now_ms + random_jitter(&core->random, lock_poll_ms(l));
}

/* The grant is in the record, and its tokens are ours. */
static void
transfer_granted(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o, uint64_t submitted_ms)
{
	uint64_t last = o->lock.token;

	if (!session_is_good(core, l->session) || last < l->tokens_asked ||
	    last > TOKEN_MAX) {
		/* Nobody was told of it: give it back. */
		lock_enter(core, l, LOCK_NONE, NULL);
		transfer_seen(core, l, o, submitted_ms);
		record_orphan(core, l, &s->holder);
		return;
	}
	lock_enter(core, l, LOCK_HELD, l->session);
	l->token_last = last;
	l->token_next = last - l->tokens_asked + 1;
	l->run = 0;
	l->run_started_ms = core->now_ms;
	l->passed = false;
	/* Just written: this round of the audit need not read it. */
	l->audit_round = l->ns->audit.round;
	l->stand_back = false;
	l->hold_off_ms = 0;
	l->due_ms = core->now_ms + l->ns->settings.idle_ms;
	record_seen(core, l, &o->lock, submitted_ms);
}

static void
transfer_acquired(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;

	if (o->kind == OUTCOME_DONE) {
		transfer_granted(core, l, s, o, submitted_ms);
	} else if (o->kind == OUTCOME_UNKNOWN && l->session != NULL) {
		lock_enter(core, l, LOCK_UNSURE, l->session);
		l->cause = transfer_cause(o);
		l->hold_off_ms = core->now_ms;
		/* Ours or not, nobody can read what it says. */
		if (o->code == DDBLOCK_E_BAD_RECORD)
			queue_fail(core, l, o->code, o->text);
	} else {
		lock_enter(core, l, LOCK_NONE, NULL);
		if (o->kind == OUTCOME_CONFLICT)
			transfer_seen(core, l, o, submitted_ms);
		else
			transfer_failed(core, l, o);
		/* What looks free and yet was refused: others' turn, or it
		 * changed. Look before writing again. */
		if (l->view != VIEW_FOREIGN)
			l->view = VIEW_STALE;
		if (o->kind == OUTCOME_REFUSED)
			l->view = VIEW_NEW;
	}
}

static void
transfer_orphan_removed(struct core *core, struct lock *l,
    struct submission *s, const struct outcome *o)
{
	if (o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT) {
		transfer_seen(core, l, o, s->submit.operation.submitted_ms);
		return;
	}
	transfer_failed(core, l, o);
	free(l->leftovers);
	l->leftovers = NULL;
	l->read_due = true; /* which finds it, if it is still there */
}

/* Ours is out of the record. */
static void
transfer_gone(struct core *core, struct lock *l, const struct outcome *o,
    uint64_t submitted_ms)
{
	bool stand_back = l->stand_back;

	l->unsettled = false;
	l->stand_back = false;
	lock_enter(core, l, LOCK_NONE, NULL);
	transfer_seen(core, l, o, submitted_ms);
	if (!stand_back || l->queue == NULL)
		return;
	l->hold_off_ms = core->now_ms + 2 * l->ns->settings.poll_ms;
	l->due_ms = l->hold_off_ms;
	if (l->view != VIEW_FOREIGN)
		l->view = VIEW_STALE;
}

static void
transfer_released(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	int code = transfer_cause(o);

	if (s->orphan) {
		transfer_orphan_removed(core, l, s, o);
		return;
	}
	if (o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT) {
		code = o->kind == OUTCOME_DONE ? 0 : DDBLOCK_E_LOCK_STOLEN;
		lock_released(core, l, code, 0, NULL);
		transfer_gone(core, l, o, submitted_ms);
		return;
	}
	lock_released(core, l, code, 0, o->text);
	l->unsettled = o->kind == OUTCOME_UNKNOWN;
	if (l->session == NULL) {
		lock_enter(core, l, LOCK_NONE, NULL);
		l->unsettled = false;
		l->view = VIEW_STALE;
	}
	transfer_failed(core, l, o);
}

static void
transfer_read(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	bool shown;

	if (o->kind != OUTCOME_DONE) {
		transfer_failed(core, l, o);
		return;
	}
	shown = l->session != NULL &&
	    record_shows(&o->lock, l->session->id, l->grant);
	if (l->state == LOCK_UNSURE && shown) {
		s->holder = transfer_me(l);
		transfer_granted(core, l, s, o, submitted_ms);
	} else if (l->state == LOCK_UNSURE) {
		lock_enter(core, l, LOCK_NONE, NULL);
		transfer_seen(core, l, o, submitted_ms);
	} else if (l->state == LOCK_RELEASING) {
		l->unsettled = false;
		if (!shown)
			transfer_gone(core, l, o, submitted_ms);
	} else if (l->state == LOCK_HELD && !shown) {
		lock_lose(core, l, record_loss(&o->lock));
	} else {
		transfer_seen(core, l, o, submitted_ms);
		if (l->state == LOCK_HELD)
			lock_adopt(core, l, &o->lock);
	}
}

static void
transfer_extended(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		transfer_failed(core, l, o);
		return;
	}
	if (l->state == LOCK_HELD &&
	    !record_shows(&o->lock, l->session->id, l->grant)) {
		lock_lose(core, l, record_loss(&o->lock));
		return;
	}
	transfer_seen(core, l, o, s->submit.operation.submitted_ms);
	if (l->state == LOCK_HELD)
		lock_adopt(core, l, &o->lock);
}

static void
transfer_wished(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	const struct operation *operation = &s->submit.operation;

	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		transfer_failed(core, l, o);
		return;
	}
	transfer_seen(core, l, o, operation->submitted_ms);
	/* Of very many wishes a record's reader need not show ours. */
	if (operation->kind == OPERATION_WANT && o->kind == OUTCOME_DONE &&
	    l->ns->session != NULL &&
	    ident_equal(l->ns->session->id, operation->session))
		l->wanted = true;
}

/* An attempt that was never answered may land later: remember it. */
static void
transfer_doubt(struct core *core, struct submission *s,
    const struct outcome *o)
{
	const struct operation *operation = &s->submit.operation;
	struct doubt *d = s->doubt;

	if (d == NULL || (!o->unanswered && o->kind != OUTCOME_UNKNOWN))
		return;
	s->doubt = NULL;
	doubt_add(core, d, operation->session, operation->me.grant,
	    o->unanswered ? o->unanswered_ms : core->now_ms);
}

void
transfer_stored(struct core *core, struct lock *l, const struct outcome *o)
{
	struct submission *s = l->submission;

	assert(s != NULL);
	l->submission = NULL;
	l->references++; /* not freed while we look at it */
	namespace_trouble(l->ns, o);
	transfer_doubt(core, s, o);
	switch (s->submit.operation.kind) {
	case OPERATION_READ:
		transfer_read(core, l, s, o);
		break;
	case OPERATION_ACQUIRE:
		transfer_acquired(core, l, s, o);
		break;
	case OPERATION_RELEASE:
		transfer_released(core, l, s, o);
		break;
	case OPERATION_EXTEND:
		transfer_extended(core, l, s, o);
		break;
	default:
		transfer_wished(core, l, s, o);
		break;
	}
	submission_free(core, s);
	queue_review(core, l);
	l->references--;
	lock_advance(core, l);
}

/* The core goes away with operations under way. */
void
transfer_drop(struct core *core, struct lock *l)
{
	submission_free(core, l->submission);
	l->submission = NULL;
}
