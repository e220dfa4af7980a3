/*
 * The conditions and the effects of the operations.
 */
#include "store/sqlite_apply.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "ddblock.h"

/* A host's clock may be wrong by decades; tokens must not run out for that. */
#define WALL_S_MAX (UINT64_C(1) << 32)

static bool
sqlite_apply_equal(const struct holder *a, const struct holder *b)
{
	return ident_equal(a->session, b->session) &&
	    ident_equal(a->grant, b->grant) && a->lease_ms == b->lease_ms &&
	    a->fail_closed == b->fail_closed;
}

static bool
sqlite_apply_contains(const struct holder *set, size_t n,
    const struct holder *one)
{
	for (size_t i = 0; i < n; i++) {
		if (sqlite_apply_equal(&set[i], one))
			return true;
	}
	return false;
}

/* Are the holders exactly these? Both are sets: no element comes twice. */
static bool
sqlite_apply_exactly(const struct lock_record *old, const struct holder *set,
    size_t n)
{
	if (old->n_holders != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!sqlite_apply_contains(old->holders, old->n_holders,
		    &set[i]))
			return false;
	}
	return true;
}

/* Put @n more tokens on @r. */
static int
sqlite_apply_tokens(const struct sqlite_apply *a, struct lock_record *r,
    uint64_t n)
{
	uint64_t token = r->token;

	if (token == 0) {
		token = a->wall_s < WALL_S_MAX ? a->wall_s : WALL_S_MAX;
		token <<= 20;
		/* Tokens of a key whose record was cleaned up, perhaps while
		 * the clock was ahead, were below this. */
		if (token < a->token_floor)
			token = a->token_floor;
	}
	if (token > TOKEN_MAX - n)
		return DDBLOCK_E_BAD_RECORD;
	r->token = token + n;
	return 0;
}

/* The wishes of @r for @mode, and how many they are. */
static const struct ident **
sqlite_apply_wishes(struct lock_record *r, enum lock_mode mode, size_t **ret_n)
{
	if (mode == LOCK_MODE_SHARED) {
		*ret_n = &r->n_shared_wishes;
		return &r->shared_wishes;
	}
	*ret_n = &r->n_exclusive_wishes;
	return &r->exclusive_wishes;
}

static int
sqlite_apply_unwish(const struct sqlite_apply *a, struct lock_record *r,
    enum lock_mode mode, struct ident session, bool *ret_found)
{
	size_t *n_wishes;
	const struct ident **wishes = sqlite_apply_wishes(r, mode, &n_wishes);
	struct ident *left;
	size_t n = 0;

	*ret_found = false;
	if (*n_wishes == 0)
		return 0;
	left = arena_alloc(a->arena, *n_wishes * sizeof(*left));
	if (left == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < *n_wishes; i++) {
		if (!ident_equal((*wishes)[i], session))
			left[n++] = (*wishes)[i];
	}
	*ret_found = n < *n_wishes;
	*wishes = left;
	*n_wishes = n;
	return 0;
}

/* Who gets what it asked for wishes no more. */
static int
sqlite_apply_granted(const struct sqlite_apply *a, const struct operation *o,
    struct lock_record *r)
{
	bool found;
	int code;

	code = sqlite_apply_unwish(a, r, LOCK_MODE_EXCLUSIVE, o->me.session,
	    &found);
	if (code == 0 && o->mode == LOCK_MODE_SHARED)
		code = sqlite_apply_unwish(a, r, LOCK_MODE_SHARED,
		    o->me.session, &found);
	return code;
}

static bool
sqlite_apply_may_acquire(const struct operation *o,
    const struct lock_record *old)
{
	if (o->n_dead > 0)
		return sqlite_apply_exactly(old, o->dead, o->n_dead) &&
		    old->token == o->token_seen;
	return operation_may_enter(o, old);
}

/* We join those who share the lock, or have it alone. */
static int
sqlite_apply_enter(const struct sqlite_apply *a, const struct operation *o,
    struct lock_record *r)
{
	size_t n = o->n_dead == 0 ? r->n_holders : 0;
	struct holder *holders;

	if (n == 0) {
		r->holders = &o->me;
		r->n_holders = 1;
		return 0;
	}
	holders = arena_alloc(a->arena, (n + 1) * sizeof(*holders));
	if (holders == NULL)
		return DDBLOCK_E_NOMEM;
	memcpy(holders, r->holders, n * sizeof(*holders));
	holders[n] = o->me;
	r->holders = holders;
	r->n_holders = n + 1;
	return 0;
}

static int
sqlite_apply_acquire(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *r)
{
	int code;

	/* Its own effect: the same grant was asked for before. */
	if (sqlite_apply_contains(old->holders, old->n_holders, &o->me))
		return SQLITE_SAME;
	if (!sqlite_apply_may_acquire(o, old))
		return SQLITE_CONFLICT;
	code = sqlite_apply_tokens(a, r, o->tokens);
	if (code == 0)
		code = sqlite_apply_granted(a, o, r);
	if (code == 0)
		code = sqlite_apply_enter(a, o, r);
	if (code < 0)
		return code;
	r->exists = true;
	r->mode = o->mode;
	r->limit = o->limit;
	r->owner = o->owner;
	r->acquired_at_s = a->wall_s;
	r->broken_by = NULL;
	r->ttl_s = 0;
	return SQLITE_WRITE;
}

static int
sqlite_apply_release(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *r)
{
	struct holder *left;
	size_t n = 0;

	for (size_t i = 0; i < o->n_holders; i++) {
		if (!sqlite_apply_contains(old->holders, old->n_holders,
		    &o->holders[i]))
			return SQLITE_CONFLICT;
	}
	left = arena_alloc(a->arena, old->n_holders * sizeof(*left));
	if (left == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < old->n_holders; i++) {
		if (!sqlite_apply_contains(o->holders, o->n_holders,
		    &old->holders[i]))
			left[n++] = old->holders[i];
	}
	r->holders = left;
	r->n_holders = n;
	if (n == 0)
		r->ttl_s = a->wall_s + a->retention_s;
	return SQLITE_WRITE;
}

static int
sqlite_apply_extend(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *r)
{
	int code;

	if (!sqlite_apply_exactly(old, &o->me, 1) ||
	    old->token != o->token_seen)
		return SQLITE_CONFLICT;
	code = sqlite_apply_tokens(a, r, o->tokens);
	return code < 0 ? code : SQLITE_WRITE;
}

static int
sqlite_apply_update(const struct operation *o, const struct lock_record *old,
    struct lock_record *r)
{
	if (revision_equal(old->revision, o->revision))
		return SQLITE_SAME;
	if (!sqlite_apply_contains(old->holders, old->n_holders, &o->me) ||
	    !revision_is_less(old->revision, o->revision))
		return SQLITE_CONFLICT;
	r->revision = o->revision;
	r->contents = o->contents;
	return SQLITE_WRITE;
}

static int
sqlite_apply_want(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *r)
{
	size_t *n;
	const struct ident **wishes = sqlite_apply_wishes(r, o->mode, &n);
	struct ident *more;

	if (old->n_holders == 0)
		return SQLITE_CONFLICT;
	for (size_t i = 0; i < *n; i++) {
		if (ident_equal((*wishes)[i], o->session))
			return SQLITE_SAME;
	}
	if (*n >= WISHES_MAX)
		return DDBLOCK_E_LIMIT;
	more = arena_alloc(a->arena, (*n + 1) * sizeof(*more));
	if (more == NULL)
		return DDBLOCK_E_NOMEM;
	if (*n > 0)
		memcpy(more, *wishes, *n * sizeof(*more));
	more[*n] = o->session;
	*wishes = more;
	(*n)++;
	return SQLITE_WRITE;
}

static int
sqlite_apply_unwant(const struct sqlite_apply *a, const struct operation *o,
    struct lock_record *r)
{
	bool found;
	int code = sqlite_apply_unwish(a, r, o->mode, o->session, &found);

	if (code < 0)
		return code;
	return found ? SQLITE_WRITE : SQLITE_CONFLICT;
}

static int
sqlite_apply_break(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *r)
{
	if (old->n_holders == 0 || old->token != o->token_seen)
		return SQLITE_CONFLICT;
	r->n_holders = 0;
	r->broken_by = o->owner != NULL ? o->owner : "";
	r->ttl_s = a->wall_s + a->retention_s;
	return SQLITE_WRITE;
}

int
sqlite_apply_lock(const struct sqlite_apply *a, const struct operation *o,
    const struct lock_record *old, struct lock_record *ret_new)
{
	struct lock_record r = *old;
	int applied;

	if (!operation_is_sound(o))
		return DDBLOCK_E_BAD_REQUEST;
	switch (o->kind) {
	case OPERATION_ACQUIRE:
		applied = sqlite_apply_acquire(a, o, old, &r);
		break;
	case OPERATION_RELEASE:
		applied = sqlite_apply_release(a, o, old, &r);
		break;
	case OPERATION_EXTEND:
		applied = sqlite_apply_extend(a, o, old, &r);
		break;
	case OPERATION_UPDATE:
		applied = sqlite_apply_update(o, old, &r);
		break;
	case OPERATION_WANT:
		applied = sqlite_apply_want(a, o, old, &r);
		break;
	case OPERATION_UNWANT:
		applied = sqlite_apply_unwant(a, o, &r);
		break;
	case OPERATION_BREAK:
		applied = sqlite_apply_break(a, o, old, &r);
		break;
	default:
		assert(o->kind == OPERATION_READ);
		applied = SQLITE_SAME;
	}
	if (applied == SQLITE_SAME || applied == SQLITE_WRITE)
		*ret_new = r;
	return applied;
}

static int
sqlite_apply_open(const struct sqlite_apply *a, const struct operation *o,
    const struct session_record *old, struct session_record *r)
{
	if (old->exists)
		return SQLITE_CONFLICT;
	r->exists = true;
	r->lease_ms = o->lease_ms;
	r->host = a->host;
	return SQLITE_WRITE;
}

static int
sqlite_apply_beat(const struct sqlite_apply *a, const struct operation *o,
    const struct session_record *old, struct session_record *r)
{
	uint64_t beat = a->sent_ms > o->beat ? a->sent_ms : o->beat + 1;

	if (!old->exists || old->dead || old->beat >= beat)
		return SQLITE_CONFLICT;
	r->beat = beat;
	return SQLITE_WRITE;
}

static int
sqlite_apply_death(const struct operation *o, const struct session_record *old,
    struct session_record *r)
{
	bool may;

	if (o->kind == OPERATION_SESSION_KILL)
		may = old->exists && !old->dead && old->beat == o->beat;
	else if (o->kind == OPERATION_SESSION_BURY)
		may = !old->exists;
	else
		may = old->exists;
	if (!may)
		return SQLITE_CONFLICT;
	if (old->dead)
		return SQLITE_SAME; /* closing a killed one: keep who did it */
	r->exists = true;
	r->dead = true;
	if (o->kind == OPERATION_SESSION_CLOSE)
		r->dead_by = "self";
	else
		r->dead_by = o->owner != NULL ? o->owner : "";
	return SQLITE_WRITE;
}

int
sqlite_apply_session(const struct sqlite_apply *a, const struct operation *o,
    const struct session_record *old, struct session_record *ret_new)
{
	struct session_record r = *old;
	int applied;

	switch (o->kind) {
	case OPERATION_SESSION_OPEN:
		applied = sqlite_apply_open(a, o, old, &r);
		break;
	case OPERATION_SESSION_BEAT:
		applied = sqlite_apply_beat(a, o, old, &r);
		break;
	case OPERATION_SESSION_KILL:
	case OPERATION_SESSION_BURY:
	case OPERATION_SESSION_CLOSE:
		applied = sqlite_apply_death(o, old, &r);
		break;
	default:
		assert(o->kind == OPERATION_SESSION_READ);
		applied = SQLITE_SAME;
	}
	if (applied == SQLITE_SAME || applied == SQLITE_WRITE)
		*ret_new = r;
	return applied;
}
