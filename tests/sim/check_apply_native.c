/*
 * The native format's expressions agree with core/apply.h.
 *
 * Records are random; some are beyond what our histories leave. The dialect
 * writes an operation that knows a part of the record, or none of it, and the
 * model of DynamoDB executes it. It must succeed exactly if apply_lock() says
 * so, and leave the same record.
 *
 * Two differences are right: WAITER_MARKS_MAX is a limit of the embedded store,
 * while an item holds as many marks as fit; and an operation whose token as
 * seen leaves no room for more is refused unsent (is_refused_unsent).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "suite.h"
#include "trial_native.h"

#define TRIALS 4000
#define RETENTION_S 604800

static const struct dialect_table table = { .retention_s = RETENTION_S };

static bool
same_lock(const struct lock_record *a, const struct lock_record *b)
{
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	return a->mode == b->mode && a->token == b->token &&
	    a->limit == b->limit && trial_same_holders(a, b, true) &&
	    trial_same_idents(a->exclusive_waiters, a->n_exclusive_waiters,
		b->exclusive_waiters, b->n_exclusive_waiters) &&
	    trial_same_idents(a->shared_waiters, a->n_shared_waiters,
		b->shared_waiters, b->n_shared_waiters) &&
	    trial_same_order(a->line, a->n_line, b->line, b->n_line) &&
	    trial_same_text(a->owner, b->owner) &&
	    trial_same_text(a->broken_by, b->broken_by) &&
	    ident_equal(a->kept, b->kept) &&
	    a->ran_s == b->ran_s && a->marked == b->marked &&
	    a->ran_before_s == b->ran_before_s &&
	    a->acquired_at_s == b->acquired_at_s && a->ttl_s == b->ttl_s &&
	    revision_equal(a->revision, b->revision) &&
	    contents_are_equal(&a->contents, &b->contents);
}

/* ---- operations ---------------------------------------------------------- */

/* Holders as the record shows them, some of them, or with a stranger; or, of a
 * holder changed by hand, another lease. */
static size_t
some_holders(struct trial *t, const struct lock_record *l,
    struct holder ret[NATIVE_HOLDERS])
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_holders; i++) {
		if (!trial_one_in(t, 4))
			ret[n++] = l->holders[i];
	}
	if (n == 0)
		ret[n++] = native_any_holder(t);
	if (trial_one_in(t, 8))
		ret[0].lease_ms++;
	return n;
}

/* The client: it is never among the dead holders of its acquire, because names
 * of grants are not used twice. */
static struct holder
who_asks(struct trial *t, const struct lock_record *l,
    const struct operation *o)
{
	struct holder me = native_any_holder(t);

	if (o->kind != OPERATION_ACQUIRE && l->n_holders > 0 &&
	    !trial_one_in(t, 4))
		me = l->holders[0];
	if (o->kind != OPERATION_ACQUIRE && trial_one_in(t, 8))
		me.lease_ms++;
	if (o->n_dead > 0)
		me.grant.high = 9;
	return me;
}

/* Where it stands in the line; or anywhere, or nowhere. */
static void
fill_place(struct trial *t, struct operation *o, const struct lock_record *l)
{
	struct ident who =
	    o->kind == OPERATION_ACQUIRE ? o->me.session : o->session;

	if (o->kind == OPERATION_ADD_WAITER) {
		if (o->mode == LOCK_MODE_EXCLUSIVE && trial_one_in(t, 2))
			o->line_max = (uint32_t)(1 + trial_below(t, 5));
		return;
	}
	if (o->kind != OPERATION_REMOVE_WAITER &&
	    o->kind != OPERATION_ACQUIRE)
		return;
	if (o->kind == OPERATION_REMOVE_WAITER &&
	    o->mode == LOCK_MODE_SHARED)
		return;
	for (size_t i = 0; i < l->n_line; i++) {
		if (ident_equal(l->line[i], who) && !trial_one_in(t, 4))
			o->place = (uint32_t)i + 1;
	}
	if (trial_one_in(t, 8))
		o->place = (uint32_t)trial_below(t, 5);
	if (o->kind == OPERATION_REMOVE_WAITER && trial_one_in(t, 2))
		o->token_seen = 0;
}

static void
fill(struct trial *t, struct operation *o, const struct lock_record *l,
    struct native_pieces *p)
{
	o->mode = (enum lock_mode)(1 + trial_below(t, 2));
	o->tokens = 1;
	if (o->kind == OPERATION_EXTEND || o->mode == LOCK_MODE_EXCLUSIVE)
		o->tokens += trial_below(t, 3);
	if (o->kind == OPERATION_RAISE)
		o->tokens = trial_below(t, 3) * TOKENS_RAISED;
	o->keeps = o->kind == OPERATION_ACQUIRE && trial_one_in(t, 2);
	if (o->kind == OPERATION_ACQUIRE && o->mode == LOCK_MODE_SHARED)
		o->limit = trial_one_in(t, 2) ? l->limit : trial_below(t, 4);
	if (o->kind == OPERATION_ACQUIRE && trial_one_in(t, 2)) {
		o->every_s = 1 + trial_below(t, 3);
		o->marks = trial_one_in(t, 2);
	}
	o->run_end = (enum run_end)trial_below(t,
	    l->ran_s > 0 ? 3 : 2);
	o->token_seen = trial_one_in(t, 4) ? native_any_token(t) : l->token;
	o->holders = p->holders;
	o->n_holders = some_holders(t, l, p->holders);
	if (o->kind == OPERATION_ACQUIRE && trial_one_in(t, 3)) {
		o->dead = o->holders;
		o->n_dead = o->n_holders;
	}
	o->me = who_asks(t, l, o);
	o->session = native_session(t);
	fill_place(t, o, l);
	o->owner = native_any_text(t);
	o->revision = native_any_revision(t);
	o->contents = native_any_contents(t, p);
}

/* Done by the form of a release that fits. */
static int
carry_out(struct trial *t, const struct operation *o,
    const struct dialect_attempt *a)
{
	struct dialect_attempt stays = *a;
	int done = trial_do(t, o, a);

	stays.step = DIALECT_DO_STAYS;
	return done == 0 && o->kind == OPERATION_RELEASE ?
	    trial_do(t, o, &stays) : done;
}

/* If the token that was seen leaves no room, no request is sent. */
static bool
is_refused_unsent(const struct operation *o, int done)
{
	return done == DDBLOCK_E_BAD_RECORD && (o->n_dead > 0 ||
	    o->kind == OPERATION_EXTEND) &&
	    o->token_seen > TOKEN_MAX - o->tokens;
}

static void
check_lock(struct trial *t, const struct operation *o,
    const struct lock_record *old, unsigned counts[APPLY_NEW + 1])
{
	const struct apply a = {
		.wall_s = t->wall_ms / 1000, .retention_s = RETENTION_S,
	};
	const struct apply again = {
		.wall_s = t->wall_ms / 1000, .repeated = true,
	};
	const struct dialect_attempt attempt = {
		.step = DIALECT_DO, .wall_ms = t->wall_ms,
	};
	const char *name = operation_kind_name(o->kind);
	void *memory = malloc(apply_room(o, old));
	struct lock_record expected = *old;
	struct dialect_view view;
	int verdict, done;

	ck_assert_ptr_nonnull(memory);
	native_put(t, "lock:k", old, NULL);
	verdict = apply_lock(&a, o, old, memory, &expected);
	done = carry_out(t, o, &attempt);
	if (verdict < 0)
		ck_assert_msg(done == verdict, "%s: %d", name, done);
	if (verdict == APPLY_CONFLICT)
		ck_assert_msg(done == 0 || is_refused_unsent(o, done),
		    "%s: %s", name, t->request.body.data);
	if (verdict == APPLY_NEW)
		ck_assert_msg(done == 1, "%s: %s\n%s", name,
		    t->request.body.data, t->answer.body.data);
	dialect_view_init(&view);
	trial_look(t, o, &view);
	ck_assert_msg(same_lock(&view.lock, &expected), "%s leaves %s", name,
	    t->answer.body.data);
	/* If its answer was lost, the record shows its own effect. */
	if (verdict == APPLY_NEW)
		ck_assert_msg(apply_judge_lock(&again, o, &view.lock) ==
		    APPLY_SAME, "%s", name);
	if (verdict > 0)
		counts[verdict]++;
	dialect_view_clear(&view);
	free(memory);
}

static const enum operation_kind lock_kinds[] = {
	OPERATION_ACQUIRE, OPERATION_RELEASE, OPERATION_EXTEND,
	OPERATION_UPDATE, OPERATION_ADD_WAITER, OPERATION_REMOVE_WAITER,
	    OPERATION_BREAK, OPERATION_RAISE,
};
#define LOCK_KINDS ((int)(sizeof(lock_kinds) / sizeof(lock_kinds[0])))

START_TEST(locks)
{
	struct trial t;
	unsigned counts[APPLY_NEW + 1] = { 0 };

	if (_i >= LOCK_KINDS)
		return;
	trial_init(&t, &dialect_native, &table, (uint64_t)_i);
	for (unsigned i = 0; i < TRIALS; i++) {
		struct native_pieces of_record, of_operation;
		struct lock_record old;
		struct operation o = {
			.kind = lock_kinds[_i], .key = { "k", 1 },
		};

		native_make(&t, &of_record, &old);
		fill(&t, &o, &old, &of_operation);
		if (operation_is_sound(&o))
			check_lock(&t, &o, &old, counts);
	}
	trial_done(&t);
	ck_assert_uint_gt(counts[APPLY_NEW], TRIALS / 50);
	ck_assert_uint_gt(counts[APPLY_CONFLICT], TRIALS / 50);
}
END_TEST

/*
 * ---- several operations at once
 * -----------------------------------------------------
 */

/* All conditions hold, or the write fails: each is that of a single acquire. */
START_TEST(together)
{
	struct key keys[2] = { { "k", 1 }, { "l", 1 } };
	const struct apply a = { .wall_s = TRIAL_WALL_MS / 1000 };
	struct trial t;
	unsigned n_done = 0;

	if (_i > 0)
		return;
	trial_init(&t, &dialect_native, &table, 99);
	for (unsigned i = 0; i < TRIALS; i++) {
		struct native_pieces p[2];
		struct lock_record old[2];
		struct operation part[2];
		const struct operation *parts[2] = { &part[0], &part[1] };
		struct operation o = {
			.kind = OPERATION_MULTI, .keys = keys,
			.n_keys = 2, .parts = parts,
		};
		bool expected = true, done;

		for (size_t j = 0; j < 2; j++) {
			native_make(&t, &p[j], &old[j]);
			native_put(&t, j == 0 ? "lock:k" : "lock:l",
			    &old[j], NULL);
			part[j] = (struct operation){
				.kind = OPERATION_ACQUIRE, .key = keys[j],
				.mode = (enum lock_mode)(1 +
				    trial_below(&t, 2)),
				.tokens = 1,
				/* No two transactions have the same token. */
				.me = { { 7, 1 }, { 10, 2 * i + j }, 20000,
				    false },
			};
			expected = expected && apply_judge_lock(&a, &part[j],
			    &old[j]) == APPLY_NEW;
		}
		done = trial_do(&t, &o, &(struct dialect_attempt){
		    .step = DIALECT_DO, .wall_ms = t.wall_ms }) == 1;
		ck_assert_msg(done == expected, "%s", t.request.body.data);
		n_done += done;
	}
	trial_done(&t);
	ck_assert_uint_gt(n_done, TRIALS / 50);
}
END_TEST

/* ---- sessions ------------------------------------------------------------ */

static void
session_make(struct trial *t, struct session_record *s)
{
	*s = (struct session_record){ .exists = !trial_one_in(t, 4) };
	if (!s->exists)
		return;
	s->beat = trial_below(t, 4);
	s->lease_ms = 20000;
	s->host = "web-1";
	s->dead = trial_one_in(t, 3);
	if (s->dead)
		s->dead_by = trial_one_in(t, 2) ? "db-2" : "self";
}

static bool
same_session(const struct session_record *a, const struct session_record *b)
{
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	if (a->dead || b->dead)	/* nothing else matters then */
		return a->dead == b->dead &&
		    strcmp(a->dead_by, b->dead_by) == 0;
	return a->beat == b->beat && a->lease_ms == b->lease_ms &&
	    trial_same_text(a->host, b->host);
}

static void
check_session(struct trial *t, const struct operation *o,
    const struct session_record *old, uint64_t beat)
{
	const struct apply a = { .beat = beat, .host = t->table.host };
	const struct apply again = { .beat = beat, .repeated = true };
	const struct dialect_attempt attempt = {
		.step = DIALECT_DO, .wall_ms = t->wall_ms, .beat = beat,
	};
	const char *name = operation_kind_name(o->kind);
	struct session_record expected;
	struct dialect_view view;
	int verdict = apply_session(&a, o, old, &expected);

	native_put(t, "session:00000000000000070000000000000001", NULL, old);
	ck_assert_msg(trial_do(t, o, &attempt) == (verdict != APPLY_CONFLICT),
	    "%s: %s", name, t->request.body.data);
	dialect_view_init(&view);
	trial_look(t, o, &view);
	ck_assert_msg(same_session(&view.session, &expected), "%s leaves %s",
	    name, t->answer.body.data);
	if (verdict == APPLY_NEW)
		ck_assert_msg(apply_judge_session(&again, o, &view.session) ==
		    APPLY_SAME, "%s", name);
	dialect_view_clear(&view);
}

START_TEST(sessions)
{
	static const enum operation_kind kinds[] = {
		OPERATION_SESSION_OPEN, OPERATION_SESSION_BEAT,
		OPERATION_SESSION_KILL, OPERATION_SESSION_BURY,
		OPERATION_SESSION_CLOSE,
	};
	struct trial t;

	trial_init(&t, &dialect_native, &table, (uint64_t)_i);
	for (unsigned i = 0; i < TRIALS / 4; i++) {
		struct session_record old;
		struct operation o = {
			.kind = kinds[trial_below(&t, 5)], .session = { 7, 1 },
			.lease_ms = 20000, .owner = native_any_text(&t),
			.beat = trial_below(&t, 4),
		};

		session_make(&t, &old);
		/* One that was buried has no beat to compare. */
		if (!old.dead && (o.kind == OPERATION_SESSION_BEAT ||
		    o.kind == OPERATION_SESSION_CLOSE))
			o.beat_below = trial_below(&t, 5);
		check_session(&t, &o, &old, o.beat + 1 + trial_below(&t, 2));
	}
	trial_done(&t);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { locks, together, sessions, NULL };

	return suite_run_loops("apply native", tests, LOCK_KINDS);
}
