/*
 * The sessions that this process keeps alive. Why this is safe: see the
 * header.
 */
#include "store/sqlite_sessions.h"

#include <assert.h>

void
sqlite_sessions_init(struct sqlite_sessions *l)
{
	*l = (struct sqlite_sessions){ 0 };
	(void)pthread_mutex_init(&l->lock, NULL);
}

void
sqlite_sessions_done(struct sqlite_sessions *l)
{
	(void)pthread_mutex_destroy(&l->lock);
}

static void
sqlite_sessions_lock(struct sqlite_sessions *l)
{
	int r = pthread_mutex_lock(&l->lock);

	assert(r == 0);
}

static void
sqlite_sessions_unlock(struct sqlite_sessions *l)
{
	int r = pthread_mutex_unlock(&l->lock);

	assert(r == 0);
}

static struct sqlite_life *
sqlite_sessions_find(struct sqlite_sessions *l, struct ident id)
{
	for (size_t i = 0; i < l->n; i++) {
		if (ident_equal(l->lives[i].id, id))
			return &l->lives[i];
	}
	return NULL;
}

bool
sqlite_sessions_knows(struct sqlite_sessions *l, struct ident id)
{
	const struct sqlite_life *life;
	bool known;

	sqlite_sessions_lock(l);
	life = sqlite_sessions_find(l, id);
	known = life != NULL && !life->ask;
	sqlite_sessions_unlock(l);
	return known;
}

bool
sqlite_sessions_beat(struct sqlite_sessions *l, const struct operation *o,
    uint64_t sent_ms, enum outcome_kind *ret_kind, struct session_record *ret)
{
	struct apply a = { .beat = apply_beat(o, sent_ms) };
	struct sqlite_life *life;
	bool known;

	sqlite_sessions_lock(l);
	life = sqlite_sessions_find(l, o->session);
	known = life != NULL && !life->ask;
	if (known) {
		struct session_record old = {
			.exists = true,
			.beat = life->beat,
			.lease_ms = life->lease_ms,
		};

		*ret_kind = apply_session(&a, o, &old, ret) == APPLY_CONFLICT ?
		    OUTCOME_CONFLICT : OUTCOME_DONE;
		life->beat = ret->beat;
	}
	sqlite_sessions_unlock(l);
	return known;
}

static bool
sqlite_sessions_ends(enum operation_kind kind)
{
	return kind == OPERATION_SESSION_KILL ||
	    kind == OPERATION_SESSION_BURY || kind == OPERATION_SESSION_CLOSE;
}

int
sqlite_sessions_apply(struct sqlite_sessions *l, const struct apply *a,
    const struct operation *o, struct session_record *old,
    struct session_record *ret_new)
{
	struct sqlite_life *life;
	int code;

	sqlite_sessions_lock(l);
	life = sqlite_sessions_find(l, o->session);
	if (life != NULL && old->exists && life->beat > old->beat)
		old->beat = life->beat;
	code = apply_session(a, o, old, ret_new);
	/* If the writing fails, a crash may still bring the end to light. Then
	 * no beat that is only here may be called done. */
	if (life != NULL && code == APPLY_NEW &&
	    sqlite_sessions_ends(o->kind))
		life->ask = true;
	sqlite_sessions_unlock(l);
	return code;
}

static void
sqlite_sessions_remove(struct sqlite_sessions *l, struct ident id)
{
	struct sqlite_life *life = sqlite_sessions_find(l, id);

	if (life != NULL)
		*life = l->lives[--l->n];
}

/* It is in the file, alive, as @record says. */
static void
sqlite_sessions_add(struct sqlite_sessions *l, struct ident id,
    const struct session_record *record)
{
	struct sqlite_life *life = sqlite_sessions_find(l, id);

	if (life == NULL) {
		if (l->n == SQLITE_SESSIONS_MAX)
			return;
		life = &l->lives[l->n++];
		*life = (struct sqlite_life){ .id = id };
	}
	if (record->beat > life->beat)
		life->beat = record->beat;
	life->lease_ms = record->lease_ms;
	life->ask = false;
}

static void
sqlite_sessions_settle_one(struct sqlite_sessions *l,
    const struct sqlite_job *j)
{
	const struct outcome *o = &j->outcome;
	enum operation_kind kind = j->ask.kind;
	struct sqlite_life *life;

	if (kind < OPERATION_SESSION_OPEN)
		return;
	if (o->kind == OUTCOME_UNKNOWN && sqlite_sessions_ends(kind)) {
		/* Also if a beat of the same batch was written before it. */
		life = sqlite_sessions_find(l, j->ask.session);
		if (life != NULL)
			life->ask = true;
	}
	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT)
		return;
	if (!o->session.exists || o->session.dead)
		sqlite_sessions_remove(l, j->ask.session);
	else if (o->kind == OUTCOME_DONE && (kind == OPERATION_SESSION_OPEN ||
	    kind == OPERATION_SESSION_BEAT))
		sqlite_sessions_add(l, j->ask.session, &o->session);
}

void
sqlite_sessions_settle(struct sqlite_sessions *l,
    struct sqlite_job *const *jobs,
    size_t n)
{
	sqlite_sessions_lock(l);
	for (size_t i = 0; i < n; i++)
		sqlite_sessions_settle_one(l, jobs[i]);
	sqlite_sessions_unlock(l);
}
