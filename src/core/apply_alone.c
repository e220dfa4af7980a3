/*
 * Conditions and effects on a record that has one holder, which renews it by
 * itself: what the formats of older clients have (operation.h, "in a format
 * without sessions").
 */
#include <string.h>

#include "core/apply_rules.h"
#include "ddblock.h"

/* ---- acquire ------------------------------------------------------------- */

static bool
alone_has_version(const struct operation *o, const struct lock_record *l)
{
	return l->version != NULL && o->version != NULL &&
	    strcmp(l->version, o->version) == 0;
}

static bool
alone_has_mark(const struct operation *o, const struct lock_record *l)
{
	for (size_t i = 0; i < l->n_marks; i++) {
		if (ident_equal(l->marks[i], o->mark))
			return true;
	}
	return false;
}

/* It is free. */
static bool
alone_is_free(const struct apply *a, const struct lock_record *l)
{
	return l->n_holders == 0 ||
	    (a->life == LOCK_LIFE_DEADLINE && l->ends_in_ms == 0);
}

/* What is given back under the version that was seen is free all the same. */
static bool
alone_may_take(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (!alone_has_version(o, l) || l->token != o->token_seen)
		return false;
	if (o->n_dead == 0 || a->life == LOCK_LIFE_DEADLINE)
		return alone_is_free(a, l);
	return ident_is_none(o->mark) || alone_has_mark(o, l);
}

static int
alone_judge_tokens(const struct apply *a, uint64_t token, uint64_t n)
{
	return a->tokens_unbounded ? APPLY_NEW : apply_judge_tokens(token, n);
}

static uint64_t
alone_add(uint64_t token, uint64_t n)
{
	return apply_judge_tokens(token, n) < 0 ? TOKEN_MAX : token + n;
}

static int
alone_judge_acquire(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	bool may = o->version == NULL ?
	    alone_is_free(a, l) : alone_may_take(a, o, l);

	if (o->version != NULL && a->life == LOCK_LIFE_NEVER)
		return DDBLOCK_E_UNSUPPORTED;
	if (apply_has(l, &o->me))
		return APPLY_SAME;
	return may ? alone_judge_tokens(a, l->token, o->tokens) :
	    APPLY_CONFLICT;
}

/* What every write leaves, but a mark. */
static void
alone_write(struct lock_record *r)
{
	r->version = NULL;
	r->token_text = NULL;
	r->n_marks = 0;
}

static void
alone_hold(const struct apply *a, const struct operation *o,
    struct lock_record *r)
{
	alone_write(r);
	r->holders = &o->me;
	r->n_holders = 1;
	r->beat = a->beat;
	r->ends_in_ms = a->life == LOCK_LIFE_DEADLINE ? o->me.lease_ms : 0;
}

static void
alone_make_acquire(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	if (!a->contents_stay && !o->keeps_contents)
		r->contents = (struct contents){ .n_attributes = 0 };
	alone_hold(a, o, r);
	r->exists = true;
	r->mode = LOCK_MODE_EXCLUSIVE;
	r->token = alone_add(r->token, o->tokens);
	r->owner = o->owner;
}

/* ---- what a holder does -------------------------------------------------- */

/* By each attempt's number it is known which of them took effect. */
static int
alone_judge_refresh(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (!apply_has(l, &o->me))
		return APPLY_CONFLICT;
	if (l->beat < a->beat)
		return APPLY_NEW;
	return a->repeated && l->beat == a->beat ? APPLY_SAME : APPLY_CONFLICT;
}

static void
alone_make_refresh(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	alone_hold(a, o, r);
}

static int
alone_judge_extend(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	int verdict = alone_judge_refresh(a, o, l);

	if (verdict != APPLY_NEW)
		return verdict;
	return l->token <= alone_add(o->token_seen, o->tokens) ?
	    alone_judge_tokens(a, o->token_seen, o->tokens) : APPLY_CONFLICT;
}

/* However often it lands, it is raised to that. */
static void
alone_make_extend(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	alone_hold(a, o, r);
	r->token = alone_add(o->token_seen, o->tokens);
}

static void
alone_make_update(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	alone_hold(a, o, r);
	r->owner = o->owner;
	r->contents = o->contents;
}

static int
alone_judge_release(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (apply_has(l, &o->holders[0]))
		return APPLY_NEW;
	return a->repeated ? APPLY_SAME : APPLY_CONFLICT;
}

/* ---- what others do ------------------------------------------------------ */

/* The author of a break is not recorded. */
static int
alone_judge_break(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (a->repeated && l->n_holders == 0)
		return APPLY_SAME;
	return alone_has_version(o, l) ? APPLY_NEW : APPLY_CONFLICT;
}

static void
alone_make_free(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	(void)memory;
	if (!a->free_stays && !o->keeps_contents) {
		*r = (struct lock_record){ .exists = false };
		return;
	}
	alone_write(r);
	r->n_holders = 0;
	r->ends_in_ms = 0;
}

static bool
alone_is_marked_so(const struct operation *o, const struct lock_record *l)
{
	switch (o->mark_form) {
	case MARK_FIRST:
		return l->n_marks == 0;
	case MARK_BESIDE:
		return l->n_marks > 0 && l->n_marks < MARKS_MAX;
	case MARK_INSTEAD:
		return l->n_marks >= MARKS_MAX;
	case MARK_NONE:
		break;
	}
	return false;
}

static int
alone_judge_mark(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	if (a->life != LOCK_LIFE_RECORD)
		return DDBLOCK_E_UNSUPPORTED;
	if (l->n_holders == 0 || !alone_has_version(o, l) ||
	    !alone_is_marked_so(o, l))
		return APPLY_CONFLICT;
	return o->mark_form == MARK_BESIDE && alone_has_mark(o, l) ?
	    APPLY_SAME : APPLY_NEW;
}

static void
alone_make_mark(const struct apply *a, const struct operation *o,
    void *memory, struct lock_record *r)
{
	struct ident *marks = memory;
	size_t n = 0;

	(void)a;
	if (o->mark_form == MARK_BESIDE) {
		n = r->n_marks;
		memcpy(marks, r->marks, n * sizeof(*marks));
	}
	marks[n++] = o->mark;
	r->marks = marks;
	r->n_marks = n;
}

const struct apply_rule apply_alone_rules[APPLY_KINDS] = {
	[OPERATION_READ] = { apply_judge_read, NULL },
	[OPERATION_ACQUIRE] = { alone_judge_acquire, alone_make_acquire },
	[OPERATION_RELEASE] = { alone_judge_release, alone_make_free },
	[OPERATION_REFRESH] = { alone_judge_refresh, alone_make_refresh },
	[OPERATION_EXTEND] = { alone_judge_extend, alone_make_extend },
	[OPERATION_UPDATE] = { alone_judge_refresh, alone_make_update },
	[OPERATION_MARK] = { alone_judge_mark, alone_make_mark },
	[OPERATION_BREAK] = { alone_judge_break, alone_make_free },
};
