/*
 * Conditions and effects on the record of a lock whose holders are kept alive
 * by their sessions (doc/records.md, "A lock").
 */
#include <string.h>

#include "core/apply_rules.h"
#include "ddblock.h"

/* A host's clock may be wrong by decades; tokens must not run out for that. */
#define APPLY_WALL_S_MAX (UINT64_C(1) << 32)

/* ---- sets ---------------------------------------------------------------- */

static bool
apply_equal(const struct holder *a, const struct holder *b)
{
	return ident_equal(a->session, b->session) &&
	    ident_equal(a->grant, b->grant) && a->lease_ms == b->lease_ms &&
	    a->fail_closed == b->fail_closed;
}

static bool
apply_contains(const struct holder *set, size_t n, const struct holder *one)
{
	for (size_t i = 0; i < n; i++) {
		if (apply_equal(&set[i], one))
			return true;
	}
	return false;
}

static bool
apply_contains_all(const struct lock_record *l, const struct holder *set,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!apply_contains(l->holders, l->n_holders, &set[i]))
			return false;
	}
	return true;
}

/* Are the holders exactly these? Both are sets: no element comes twice. */
static bool
apply_exactly(const struct lock_record *l, const struct holder *set, size_t n)
{
	return l->n_holders == n && apply_contains_all(l, set, n);
}

/* The waiter marks for @mode, and their number. */
static const struct ident **
apply_waiter_marks(struct lock_record *r, enum lock_mode mode, size_t **ret_n)
{
	if (mode == LOCK_MODE_SHARED) {
		*ret_n = &r->n_shared_waiters;
		return &r->shared_waiters;
	}
	*ret_n = &r->n_exclusive_waiters;
	return &r->exclusive_waiters;
}

static bool
apply_is_marked(const struct lock_record *l, enum lock_mode mode,
    struct ident session)
{
	return mode == LOCK_MODE_SHARED ?
	    ident_is_among(l->shared_waiters, l->n_shared_waiters, session) :
	    ident_is_among(l->exclusive_waiters, l->n_exclusive_waiters,
	    session);
}

/* Remove the session's waiter mark for @mode. The memory behind what that took.
 * */
static void *
apply_remove_mark(struct lock_record *r, enum lock_mode mode,
    struct ident session,
    void *memory)
{
	size_t *n_waiter_marks;
	const struct ident **waiter_marks = apply_waiter_marks(r, mode,
	    &n_waiter_marks);
	struct ident *left = memory;
	size_t n = 0;

	for (size_t i = 0; i < *n_waiter_marks; i++) {
		if (!ident_equal((*waiter_marks)[i], session))
			left[n++] = (*waiter_marks)[i];
	}
	*waiter_marks = left;
	*n_waiter_marks = n;
	return left + n;
}

/* ---- the line ------------------------------------------------------------ */

/* Has @session that place in it, if @place says one? */
static bool
apply_has_place(const struct lock_record *l, struct ident session,
    uint32_t place)
{
	return place == 0 || (place <= l->n_line &&
	    ident_equal(l->line[place - 1], session));
}

static bool
apply_is_in_line(const struct lock_record *l, struct ident session)
{
	return ident_is_among(l->line, l->n_line, session);
}

/* Take the places from the @first to the @last out of it. */
static void *
apply_leave_line(struct lock_record *r, uint32_t first, uint32_t last,
    void *memory)
{
	struct ident *left = memory;
	size_t n = 0;

	for (size_t i = 0; i < r->n_line; i++) {
		if (i + 1 < first || i + 1 > last)
			left[n++] = r->line[i];
	}
	r->line = left;
	r->n_line = n;
	return left + n;
}

/* ---- acquire ------------------------------------------------------------- */

static bool
apply_may_join(const struct operation *o, const struct lock_record *l)
{
	uint64_t limit = o->limit != 0 ? o->limit : HOLDERS_MAX;

	return o->mode == LOCK_MODE_SHARED && l->mode == LOCK_MODE_SHARED &&
	    l->limit == o->limit && l->n_holders < limit &&
	    l->n_exclusive_waiters == 0;
}

/* Exclusive use is for those in line, if there is one. What is said of the
 * places before ours holds for one turn. */
static bool
apply_has_turn(const struct operation *o, const struct lock_record *l)
{
	if (o->mode == LOCK_MODE_EXCLUSIVE && o->place == 0)
		return l->n_line == 0;
	return apply_has_place(l, o->me.session, o->place) &&
	    (o->place <= 1 || l->token == o->token_seen);
}

/* Do the holders and the waiter marks let it in, if no holder is dead? */
static bool
apply_may_enter(const struct operation *o, const struct lock_record *l)
{
	if (l->n_holders > 0)
		return apply_may_join(o, l);
	/* The kinds alternate, so that neither starves. */
	if (l->mode != o->mode)
		return true;
	if (o->mode == LOCK_MODE_EXCLUSIVE)
		return l->n_shared_waiters == 0;
	/* A waiter for another limit marks itself for exclusive use. */
	return l->n_exclusive_waiters == 0 ||
	    apply_is_marked(l, LOCK_MODE_EXCLUSIVE, o->me.session);
}

/* Of a record that is made now, less one. */
static uint64_t
apply_first_token(const struct apply *a)
{
	uint64_t first_s = a->wall_s < APPLY_WALL_S_MAX ?
	    a->wall_s : APPLY_WALL_S_MAX;

	return first_s << 20;
}

/* What new tokens are added to. */
static uint64_t
apply_token(const struct apply *a, const struct lock_record *l)
{
	uint64_t first = apply_first_token(a);

	if (l->exists)
		return l->token;
	/* Tokens of a key whose record was cleaned up, perhaps while the clock
	 * was ahead, were below the floor. */
	return first > a->token_floor ? first : a->token_floor;
}

/* Was the last run long enough ago? */
static bool
apply_is_due(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	return o->every_s == 0 || l->ran_s == 0 ||
	    (a->wall_s >= l->ran_s && a->wall_s - l->ran_s >= o->every_s);
}

static int
apply_judge_acquire(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	bool may = o->n_dead > 0 ?
	    apply_exactly(l, o->dead, o->n_dead) && l->token == o->token_seen :
	    apply_may_enter(o, l);

	may = may && apply_has_turn(o, l) && apply_is_due(a, o, l);
	if (apply_has(l, &o->me))
		return APPLY_SAME;
	return may ? apply_judge_tokens(apply_token(a, l), o->tokens) :
	    APPLY_CONFLICT;
}

/* @me joins the sharers of the lock, or has it exclusively. */
static void *
apply_enter(const struct operation *o, void *memory, struct lock_record *r)
{
	size_t n = o->n_dead == 0 ? r->n_holders : 0;
	struct holder *holders = memory;

	if (n > 0)
		memcpy(holders, r->holders, n * sizeof(*holders));
	holders[n++] = o->me;
	r->holders = holders;
	r->n_holders = n;
	return holders + n;
}

static void
apply_make_acquire(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	memory = apply_enter(o, memory, r);
	/* A new holder's waiter marks are removed. */
	memory = apply_remove_mark(r, LOCK_MODE_EXCLUSIVE, o->me.session,
	    memory);
	if (o->mode == LOCK_MODE_SHARED)
		memory = apply_remove_mark(r, LOCK_MODE_SHARED, o->me.session,
		    memory);
	if (o->place > 0)
		(void)apply_leave_line(r, 1, o->place, memory);
	r->token = apply_token(a, r) + o->tokens;
	r->exists = true;
	r->mode = o->mode;
	r->limit = o->limit;
	r->owner = o->owner;
	r->acquired_at_s = a->wall_s;
	r->ran_before_s = o->marks ? r->ran_s : 0;
	r->marked = o->marks;
	if (o->marks)
		r->ran_s = a->wall_s;
	r->kept = o->keeps ? o->me.grant : (struct ident){ 0, 0 };
	r->broken_by = NULL;
	r->ttl_s = 0;
}

/* ---- what a holder does -------------------------------------------------- */

static int
apply_judge_release(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (apply_contains_all(l, o->holders, o->n_holders))
		return APPLY_NEW;
	/* All went with the first. Of the dead that went with it one may have
	 * landed again. */
	return a->repeated && !apply_has(l, &o->holders[0]) ?
	    APPLY_SAME : APPLY_CONFLICT;
}

static void
apply_make_release(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	struct holder *left = memory;
	size_t n = 0;

	for (size_t i = 0; i < r->n_holders; i++) {
		if (!apply_contains(o->holders, o->n_holders, &r->holders[i]))
			left[n++] = r->holders[i];
	}
	r->holders = left;
	r->n_holders = n;
	if (n == 0)
		r->ttl_s = a->wall_s + a->retention_s;
	if (n > 0 || o->run_end == RUN_AS_IT_IS)
		return;
	if (o->run_end == RUN_COUNTS)
		r->ran_s = r->acquired_at_s;
	else if (r->marked)
		r->ran_s = r->ran_before_s;
	r->ran_before_s = 0;
	r->marked = false;
}

static int
apply_judge_extend(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (apply_exactly(l, &o->me, 1) && l->token == o->token_seen)
		return apply_judge_tokens(l->token, o->tokens);
	return a->repeated && l->n_holders == 1 && apply_has(l, &o->me) &&
	    l->token >= o->token_seen + o->tokens ?
	    APPLY_SAME : APPLY_CONFLICT;
}

static void
apply_make_extend(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)a;
	(void)memory;
	r->token += o->tokens;
}

static int
apply_judge_update(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	(void)a;
	/* No other writer uses this revision. */
	if (revision_equal(l->revision, o->revision))
		return APPLY_SAME;
	return apply_contains(l->holders, l->n_holders, &o->me) &&
	    revision_is_less(l->revision, o->revision) ?
	    APPLY_NEW : APPLY_CONFLICT;
}

static void
apply_make_update(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)a;
	(void)memory;
	r->revision = o->revision;
	r->contents = o->contents;
}

/* ---- what others do ------------------------------------------------------ */

static int
apply_judge_join_line(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (apply_is_in_line(l, o->session))
		return a->repeated ? APPLY_SAME : APPLY_CONFLICT;
	return (l->n_holders > 0 || l->n_line > 0) &&
	    l->n_line < o->line_max ? APPLY_NEW : APPLY_CONFLICT;
}

static int
apply_judge_add_waiter(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	size_t n = o->mode == LOCK_MODE_SHARED ?
	    l->n_shared_waiters : l->n_exclusive_waiters;
	bool is_marked = apply_is_marked(l, o->mode, o->session);

	if (o->line_max > 0)
		return apply_judge_join_line(a, o, l);
	if (l->n_holders == 0)
		return a->repeated && is_marked ? APPLY_SAME : APPLY_CONFLICT;
	if (is_marked)
		return APPLY_SAME;
	if (n >= WAITER_MARKS_MAX)
		return DDBLOCK_E_LIMIT;
	return APPLY_NEW;
}

/* One more, the last. The memory behind what that took. */
static void *
apply_append(const struct ident **set, size_t *n, struct ident session,
    void *memory)
{
	struct ident *more = memory;

	if (*n > 0)
		memcpy(more, *set, *n * sizeof(*more));
	more[*n] = session;
	*set = more;
	(*n)++;
	return more + *n;
}

static void
apply_make_add_waiter(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	size_t *n;
	const struct ident **waiter_marks = apply_waiter_marks(r, o->mode, &n);

	(void)a;
	if (!apply_is_marked(r, o->mode, o->session))
		memory = apply_append(waiter_marks, n, o->session, memory);
	if (o->line_max > 0)
		(void)apply_append(&r->line, &r->n_line, o->session, memory);
}

static int
apply_judge_remove_waiter(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	bool is_there = apply_is_marked(l, o->mode, o->session);

	if (o->place > 0) {
		if (apply_has_place(l, o->session, o->place) &&
		    (o->token_seen == 0 || o->token_seen == l->token))
			return APPLY_NEW;
		is_there = apply_is_in_line(l, o->session);
	} else if (is_there && (o->mode == LOCK_MODE_SHARED ||
	    !apply_is_in_line(l, o->session))) {
		return APPLY_NEW;
	}
	return a->repeated && !is_there ? APPLY_SAME : APPLY_CONFLICT;
}

static void
apply_make_remove_waiter(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)a;
	memory = apply_remove_mark(r, o->mode, o->session, memory);
	if (o->place > 0)
		(void)apply_leave_line(r, o->place, o->place, memory);
}

/* It is free, and by us: an acquire since would have taken the name away. */
static bool
apply_is_broken(const struct operation *o, const struct lock_record *l)
{
	return l->n_holders == 0 && l->token == o->token_seen &&
	    l->broken_by != NULL &&
	    strcmp(l->broken_by, o->owner != NULL ? o->owner : "") == 0;
}

static int
apply_judge_break(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (l->n_holders > 0 && l->token == o->token_seen)
		return APPLY_NEW;
	return a->repeated && apply_is_broken(o, l) ?
	    APPLY_SAME : APPLY_CONFLICT;
}

static void
apply_make_break(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	r->n_holders = 0;
	r->broken_by = o->owner != NULL ? o->owner : "";
	r->ttl_s = a->wall_s + a->retention_s;
}

static uint64_t
apply_raised_token(const struct apply *a, const struct operation *o)
{
	return o->tokens > 0 ? o->tokens :
	    apply_first_token(a) + TOKENS_RAISED;
}

static int
apply_judge_raise(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (!l->exists)
		return APPLY_CONFLICT;
	if (l->token < apply_raised_token(a, o))
		return APPLY_NEW;
	return a->repeated ? APPLY_SAME : APPLY_CONFLICT;
}

static void
apply_make_raise(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	r->token = apply_raised_token(a, o);
}

const struct apply_rule apply_rules[APPLY_KINDS] = {
	[OPERATION_READ] = { apply_judge_read, NULL },
	[OPERATION_ACQUIRE] = { apply_judge_acquire, apply_make_acquire },
	[OPERATION_RELEASE] = { apply_judge_release, apply_make_release },
	[OPERATION_EXTEND] = { apply_judge_extend, apply_make_extend },
	[OPERATION_UPDATE] = { apply_judge_update, apply_make_update },
	[OPERATION_ADD_WAITER] = { apply_judge_add_waiter,
	    apply_make_add_waiter },
	[OPERATION_REMOVE_WAITER] = { apply_judge_remove_waiter,
	    apply_make_remove_waiter },
	[OPERATION_BREAK] = { apply_judge_break, apply_make_break },
	[OPERATION_RAISE] = { apply_judge_raise, apply_make_raise },
};
