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

static struct seen *
case_wish(enum operation_kind kind, enum lock_mode mode, struct key key,
    struct ident session)
{
	struct operation o = case_operation(kind, key);

	o.mode = mode;
	o.session = session;
	return case_do(&o);
}

struct seen *
case_want(struct key key, struct ident session)
{
	return case_wish(OPERATION_WANT, LOCK_MODE_EXCLUSIVE, key, session);
}

struct seen *
case_unwant(struct key key, struct ident session)
{
	return case_wish(OPERATION_UNWANT, LOCK_MODE_EXCLUSIVE, key, session);
}

struct seen *
case_want_shared(struct key key, struct ident session)
{
	return case_wish(OPERATION_WANT, LOCK_MODE_SHARED, key, session);
}

struct seen *
case_unwant_shared(struct key key, struct ident session)
{
	return case_wish(OPERATION_UNWANT, LOCK_MODE_SHARED, key, session);
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
case_wish_among(const struct ident *wishes, size_t n, struct ident session)
{
	for (size_t i = 0; i < n; i++) {
		if (ident_equal(wishes[i], session))
			return true;
	}
	return false;
}

bool
case_wished(const struct seen_lock *l, struct ident session)
{
	return case_wish_among(l->exclusive_wishes,
	    l->record.n_exclusive_wishes, session);
}

bool
case_wished_shared(const struct seen_lock *l, struct ident session)
{
	return case_wish_among(l->shared_wishes, l->record.n_shared_wishes,
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
	ck_assert_uint_eq(a->record.ttl_s, b->record.ttl_s);
	ck_assert_str_eq(a->owner, b->owner);
	ck_assert_uint_eq(a->record.n_holders, b->record.n_holders);
	for (size_t i = 0; i < a->record.n_holders; i++)
		ck_assert(case_has(b, &a->holders[i]));
	ck_assert((a->record.broken_by == NULL) ==
	    (b->record.broken_by == NULL));
	ck_assert_str_eq(a->broken_by, b->broken_by);
	ck_assert(revision_equal(a->record.revision, b->record.revision));
	ck_assert_uint_eq(a->record.n_exclusive_wishes,
	    b->record.n_exclusive_wishes);
	for (size_t i = 0; i < a->record.n_exclusive_wishes; i++)
		ck_assert(case_wished(b, a->exclusive_wishes[i]));
	ck_assert_uint_eq(a->record.n_shared_wishes,
	    b->record.n_shared_wishes);
	for (size_t i = 0; i < a->record.n_shared_wishes; i++)
		ck_assert(case_wished_shared(b, a->shared_wishes[i]));
}

void
case_is_kind(const struct seen *s, enum outcome_kind kind, const char *file,
    int line)
{
	if (s->kind == kind)
		return;
	ck_abort_msg("%s:%d: outcome %d, expected %d (%s: %s)", file, line,
	    (int)s->kind, (int)kind, error_word(s->code), s->text);
}
