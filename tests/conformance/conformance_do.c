/*
 * The usual operations of the conformance cases, and what to expect of them.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "conformance.h"

struct seen *
case_read(struct key key)
{
	struct operation o = case_operation(OPERATION_READ, key);

	return case_do(&o);
}

struct seen *
case_acquire(struct key key, const struct holder *me, uint32_t tokens)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = *me;
	o.tokens = tokens;
	o.owner = "web-1/nightly:4711";
	return case_do(&o);
}

struct seen *
case_share(struct key key, const struct holder *me, uint64_t limit)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.mode = LOCK_MODE_SHARED;
	o.limit = limit;
	o.me = *me;
	o.tokens = 1;
	o.owner = "web-1/reader:4711";
	return case_do(&o);
}

struct seen *
case_take(struct key key, const struct holder *me, const struct holder *dead,
    size_t n_dead, uint64_t token_seen)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = *me;
	o.tokens = 1;
	o.dead = dead;
	o.n_dead = n_dead;
	o.token_seen = token_seen;
	o.owner = "web-2/nightly:4712";
	return case_do(&o);
}

struct seen *
case_release(struct key key, const struct holder *holder)
{
	struct operation o = case_operation(OPERATION_RELEASE, key);

	o.holders = holder;
	o.n_holders = 1;
	return case_do(&o);
}

struct seen *
case_extend(struct key key, const struct holder *me, uint64_t token_seen,
    uint32_t tokens)
{
	struct operation o = case_operation(OPERATION_EXTEND, key);

	o.me = *me;
	o.token_seen = token_seen;
	o.tokens = tokens;
	return case_do(&o);
}

struct seen *
case_update(struct key key, const struct holder *me,
    const struct contents *contents, uint64_t sequence, uint64_t random)
{
	struct operation o = case_operation(OPERATION_UPDATE, key);

	o.me = *me;
	o.contents = *contents;
	o.revision = (struct revision){ sequence, random };
	return case_do(&o);
}

struct seen *
case_read_contents(struct key key)
{
	struct operation o = case_operation(OPERATION_READ, key);

	o.with_contents = true;
	return case_do(&o);
}

struct seen *
case_page(struct key prefix, bool held_only, const struct seen *last)
{
	struct operation o = case_operation(OPERATION_SCAN, (struct key){ 0 });

	if (last != NULL && last->cursor_length == 0)
		return NULL;
	o.prefix = prefix;
	o.held_only = held_only;
	if (last != NULL)
		o.cursor = (struct key){ last->cursor, last->cursor_length };
	return case_done(case_do(&o));
}

static struct seen *
case_waiter_mark(enum operation_kind kind, enum lock_mode mode, struct key key,
    struct ident session)
{
	struct operation o = case_operation(kind, key);

	o.mode = mode;
	o.session = session;
	return case_do(&o);
}

struct seen *
case_add_waiter(struct key key, struct ident session)
{
	return case_waiter_mark(OPERATION_ADD_WAITER, LOCK_MODE_EXCLUSIVE, key,
	    session);
}

struct seen *
case_remove_waiter(struct key key, struct ident session)
{
	return case_waiter_mark(OPERATION_REMOVE_WAITER, LOCK_MODE_EXCLUSIVE,
	    key, session);
}

struct seen *
case_add_shared_waiter(struct key key, struct ident session)
{
	return case_waiter_mark(OPERATION_ADD_WAITER, LOCK_MODE_SHARED, key,
	    session);
}

struct seen *
case_remove_shared_waiter(struct key key, struct ident session)
{
	return case_waiter_mark(OPERATION_REMOVE_WAITER, LOCK_MODE_SHARED, key,
	    session);
}

struct seen *
case_break(struct key key, uint64_t token_seen)
{
	struct operation o = case_operation(OPERATION_BREAK, key);

	o.token_seen = token_seen;
	o.owner = "web-9/admin:1";
	return case_do(&o);
}

struct seen *
case_session(enum operation_kind kind, struct ident session, uint64_t beat)
{
	struct operation o = case_operation(kind, (struct key){ 0 });

	o.session = session;
	o.beat = beat;
	o.lease_ms = 20000;
	o.owner = "web-3";
	return case_do(&o);
}

bool
case_has(const struct seen_lock *l, const struct holder *h)
{
	for (size_t i = 0; i < l->record.n_holders; i++) {
		const struct holder *one = &l->holders[i];

		if (ident_equal(one->session, h->session) &&
		    ident_equal(one->grant, h->grant) &&
		    one->lease_ms == h->lease_ms &&
		    one->fail_closed == h->fail_closed)
			return true;
	}
	return false;
}

bool
case_holds(const struct seen_lock *l, const struct holder *h)
{
	return l->record.n_holders == 1 && case_has(l, h);
}

static bool
case_waiter_mark_among(const struct ident *waiter_marks, size_t n,
    struct ident session)
{
	for (size_t i = 0; i < n; i++) {
		if (ident_equal(waiter_marks[i], session))
			return true;
	}
	return false;
}

bool
case_marked(const struct seen_lock *l, struct ident session)
{
	return case_waiter_mark_among(l->exclusive_waiters,
	    l->record.n_exclusive_waiters, session);
}

bool
case_marked_shared(const struct seen_lock *l, struct ident session)
{
	return case_waiter_mark_among(l->shared_waiters,
	    l->record.n_shared_waiters,
	    session);
}

void
case_same(const struct seen_lock *a, const struct seen_lock *b)
{
	ck_assert_int_eq(a->record.exists, b->record.exists);
	ck_assert_int_eq((int)a->record.mode, (int)b->record.mode);
	ck_assert_uint_eq(a->record.token, b->record.token);
	ck_assert_uint_eq(a->record.limit, b->record.limit);
	ck_assert_uint_eq(a->record.acquired_at_s, b->record.acquired_at_s);
	ck_assert_uint_eq(a->record.ran_s, b->record.ran_s);
	ck_assert_uint_eq(a->record.ran_before_s, b->record.ran_before_s);
	ck_assert_uint_eq(a->record.ttl_s, b->record.ttl_s);
	ck_assert_str_eq(a->owner, b->owner);
	ck_assert_uint_eq(a->record.n_holders, b->record.n_holders);
	for (size_t i = 0; i < a->record.n_holders; i++)
		ck_assert(case_has(b, &a->holders[i]));
	ck_assert((a->record.broken_by == NULL) ==
	    (b->record.broken_by == NULL));
	ck_assert_str_eq(a->broken_by, b->broken_by);
	ck_assert(revision_equal(a->record.revision, b->record.revision));
	ck_assert_uint_eq(a->record.n_exclusive_waiters,
	    b->record.n_exclusive_waiters);
	for (size_t i = 0; i < a->record.n_exclusive_waiters; i++)
		ck_assert(case_marked(b, a->exclusive_waiters[i]));
	ck_assert_uint_eq(a->record.n_shared_waiters,
	    b->record.n_shared_waiters);
	for (size_t i = 0; i < a->record.n_shared_waiters; i++)
		ck_assert(case_marked_shared(b, a->shared_waiters[i]));
	ck_assert_uint_eq(a->record.n_line, b->record.n_line);
	for (size_t i = 0; i < a->record.n_line; i++)
		ck_assert(ident_equal(a->line[i], b->line[i]));
}

struct seen *
case_is_kind(struct seen *s, enum outcome_kind kind, const char *file, int line)
{
	if (s->kind != kind)
		ck_abort_msg("%s:%d: outcome %d, expected %d (%s: %s)", file,
		    line, (int)s->kind, (int)kind, error_word(s->code),
		    s->text);
	return s;
}
