/*
 * The expressions of the formats without sessions agree with core/apply.h.
 *
 * Three holds of one record come and go by chance: each operation knows the
 * record, or an earlier one, or no record; the dialect writes it and the model
 * of DynamoDB executes it. It must succeed exactly if apply_lock() says so, and
 * leave the same record. (Records of other clients and people:
 * check_format_terms. The native format: check_apply_native.)
 *
 * Not compared: versions, the wall-clock times and the names for people, which
 * are the format's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "suite.h"
#include "trial.h"

#define STEPS 8000
#define HOLDS 3
#define LEASE_MS 3000
#define SKEW_MS 1000
#define VERSION_MAX 300

/* Where a format legitimately says something else, and why. */
enum deviation {
	/* It has no tokens: those of operations are ignored. */
	NO_TOKENS = 1,
	/* It says when the lease ends, or never, but not how long it was. */
	NO_LEASE = 2,
	/* An acquire that has not seen the record requires that there is no
	 * item: a free or ended record is taken only after it was seen. */
	UNSEEN_IS_ABSENT = 4,
	/* The record of a free lock names the last hold, whose release succeeds
	 * once more: the record stays free, or is deleted. */
	RELEASES_AGAIN = 8,
	/* A token is bytes, so "not above that" cannot be asked: an extension
	 * asks for the very token that was seen. */
	TOKEN_AS_SEEN = 16,
	/* The contents of the lock go with the item, in any release. */
	KEEPS_NOTHING = 32,
};

struct row {
	const char *name;
	const struct dialect *dialect;
	unsigned deviations;
	bool free_stays;
	struct dialect_table table;	/* with fencing: tokens of any size */
};

static const struct row rows[] = {
	{ "awslabs", &dialect_awslabs, NO_TOKENS | UNSEEN_IS_ABSENT |
	    RELEASES_AGAIN, false, { .keep_attributes = false } },
	{ "awslabs, released ones stay", &dialect_awslabs, NO_TOKENS |
	    UNSEEN_IS_ABSENT | RELEASES_AGAIN, true, { .keep_released = true,
	    .keep_attributes = true, .go_lease = true } },
	{ "python", &dialect_python, NO_TOKENS | UNSEEN_IS_ABSENT |
	    KEEPS_NOTHING, false, { .keep_attributes = true } },
	{ "js-fail-open", &dialect_js_fail_open, RELEASES_AGAIN, true,
	    { .local_time = true } },
	{ "js-fail-open, attributes stay", &dialect_js_fail_open,
	    RELEASES_AGAIN, true, { .keep_attributes = true } },
	{ "js-fail-closed", &dialect_js_fail_closed, NO_TOKENS | NO_LEASE |
	    UNSEEN_IS_ABSENT | KEEPS_NOTHING, false, { .local_time = false } },
	{ "dlock", &dialect_dlock, NO_TOKENS | NO_LEASE | KEEPS_NOTHING, false,
	    { .skew_ms = SKEW_MS } },
	{ "dlock, with fencing", &dialect_dlock, NO_LEASE | UNSEEN_IS_ABSENT |
	    RELEASES_AGAIN | TOKEN_AS_SEEN, true, { .fencing = true,
	    .skew_ms = SKEW_MS } },
};

/* One walk. */
struct walk {
	const struct row *row;
	struct trial t;
	char older[VERSION_MAX];	/* version of an earlier record */
	uint64_t older_token;
	unsigned observers;	/* that are about to mark the record */
	struct attribute attribute;
	unsigned counts[OPERATION_SESSION_CLOSE + 1][APPLY_NEW + 1];
};

static bool
deviates(const struct walk *w, enum deviation deviation)
{
	return (w->row->deviations & (unsigned)deviation) != 0;
}

static enum lock_life
life_of(const struct walk *w)
{
	return w->row->dialect->life;
}

/* ---- operations ---------------------------------------------------------- */

static struct holder
any_hold(struct walk *w)
{
	struct ident name = ident_renewable((struct ident){
		5, (1 + trial_below(&w->t, HOLDS)) << 40 });

	return (struct holder){
		.session = name, .grant = name, .lease_ms = LEASE_MS,
		.fail_closed = life_of(w) == LOCK_LIFE_NEVER,
	};
}

static struct contents
any_contents(struct walk *w)
{
	struct contents c = {
		.n_attributes = (size_t)trial_below(&w->t, 2),
	};

	w->attribute = (struct attribute){
		{ "colour", 6 }, { "blue", 4 }, false,
	};
	c.attributes = &w->attribute;
	if ((w->row->dialect->features & DIALECT_DATA) != 0)
		c.data = (struct key){ "bytes",
			5 * (size_t)trial_below(&w->t, 2) };
	return c;
}

/* What the operation knows: the record, an earlier one, or none. */
static void
fill_sight(struct walk *w, struct operation *o, const struct lock_record *l)
{
	o->token_seen = l->token;
	if (l->version != NULL && !trial_one_in(&w->t, 4)) {
		o->version = l->version;
	} else if (w->older[0] != '\0' && !trial_one_in(&w->t, 3)) {
		o->version = w->older;
		o->token_seen = w->older_token;
	}
	/* Tokens that dlock compares are those in the version. */
	if (!deviates(w, NO_TOKENS) && life_of(w) != LOCK_LIFE_DEADLINE &&
	    trial_one_in(&w->t, 8))
		o->token_seen++;
}

static void
fill_acquire(struct walk *w, struct operation *o, const struct lock_record *l)
{
	o->tokens = 1;
	if (trial_one_in(&w->t, 4))
		o->version = NULL;
	/* Names of holds are not used twice: a holder that acquires again,
	 * unseen, does not take the lock from itself. */
	while (l->n_holders > 0 &&
	    ident_equal(l->holders[0].grant, o->me.grant) &&
	    (o->version != NULL || (life_of(w) == LOCK_LIFE_DEADLINE &&
	    l->ends_in_ms == 0)))
		o->me = any_hold(w);
	if (o->version == NULL)
		return;
	/* A lock is taken as free only if its record shows that. */
	if (l->n_holders > 0)
		o->n_dead = life_of(w) == LOCK_LIFE_RECORD &&
		    w->row->free_stays && trial_one_in(&w->t, 8) ? 0 : 1;
	else
		o->n_dead = trial_one_in(&w->t, 3) ? 1 : 0;
	o->dead = o->holders;
	if (o->n_dead > 0 && life_of(w) == LOCK_LIFE_RECORD &&
	    trial_one_in(&w->t, 3))
		o->mark = (struct ident){ 0, 1 + trial_below(&w->t, 20) };
}

static void
fill(struct walk *w, struct operation *o, const struct lock_record *l)
{
	fill_sight(w, o, l);
	o->me = any_hold(w);
	if (l->n_holders > 0 && !trial_one_in(&w->t, 3)) {
		o->me.grant = l->holders[0].grant;
		o->me.session = l->holders[0].session;
	}
	o->holders = &o->me;
	o->n_holders = 1;
	o->owner = "us";
	o->mode = LOCK_MODE_EXCLUSIVE;
	o->revision = (struct revision){ 1, 1 };
	o->contents = any_contents(w);
	if (!deviates(w, KEEPS_NOTHING))
		o->keeps_contents = trial_one_in(&w->t, 3);
	if (o->kind == OPERATION_ACQUIRE)
		fill_acquire(w, o, l);
	if (o->kind == OPERATION_EXTEND) {
		o->tokens = 1 + trial_below(&w->t, 3);
		o->version = NULL;
		o->token_seen = l->token + trial_below(&w->t, 6);
		o->token_seen -= o->token_seen > 4 ? 4 : 0;
		/* As over a bridge. */
		if (trial_one_in(&w->t, 30))
			o->tokens = TOKEN_MAX - l->token - 1;
	}
	if (o->kind == OPERATION_MARK) {
		o->mark = (struct ident){ 0, 1 + trial_below(&w->t, 20) };
		o->mark_form = (enum mark_form)(1 + trial_below(&w->t, 3));
	}
	if (w->observers > 0) {
		w->observers--;
		o->version = l->version;
		o->mark.low = w->observers + 1;
		if (l->n_marks < MARKS_MAX)
			o->mark_form = l->n_marks == 0 ?
			    MARK_FIRST : MARK_BESIDE;
	}
}

/* The number that this attempt writes, near that of the record. */
static uint64_t
any_beat(struct walk *w, const struct operation *o,
    const struct lock_record *l)
{
	bool deadline = life_of(w) == LOCK_LIFE_DEADLINE;
	uint64_t beat = l->n_holders > 0 ? l->beat : 1;

	if (o->kind == OPERATION_ACQUIRE || o->kind == OPERATION_RELEASE ||
	    l->n_holders == 0)
		return deadline ? w->t.wall_ms + LEASE_MS : 0;
	if (deadline && trial_one_in(&w->t, 2))
		return w->t.wall_ms + LEASE_MS;
	return beat + trial_below(&w->t, 3) + (beat == 0 ? 1 : 0);
}

/* ---- comparing ----------------------------------------------------------- */

static bool
same(const struct walk *w, const struct lock_record *a,
    const struct lock_record *b)
{
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	return a->mode == b->mode && a->limit == b->limit &&
	    (deviates(w, NO_TOKENS) || a->token == b->token) &&
	    trial_same_holders(a, b, !deviates(w, NO_LEASE)) &&
	    (a->n_holders == 0 || a->beat == b->beat) &&
	    (a->n_holders == 0 || trial_same_idents(a->marks, a->n_marks,
		b->marks, b->n_marks)) &&
	    (a->n_holders == 0 || trial_same_text(a->owner, b->owner)) &&
	    contents_are_equal(&a->contents, &b->contents);
}

/* The format's result where apply_lock() has judged so. */
static bool
is_as_judged(const struct walk *w, const struct operation *o,
    const struct lock_record *old, int verdict, int done)
{
	/* If the token that was seen leaves no room, no request is sent. */
	if (done == DDBLOCK_E_BAD_RECORD)
		return verdict == DDBLOCK_E_BAD_RECORD ||
		    (verdict == APPLY_CONFLICT &&
		    o->token_seen > TOKEN_MAX - o->tokens);
	switch (verdict) {
	case APPLY_NEW:
		if (o->kind == OPERATION_ACQUIRE && o->version == NULL &&
		    old->exists && deviates(w, UNSEEN_IS_ABSENT))
			return done == 0;
		if (o->kind == OPERATION_EXTEND &&
		    o->token_seen != old->token && deviates(w, TOKEN_AS_SEEN))
			return done == 0;
		return done == 1;
	case APPLY_CONFLICT:
		return done == 0 || (o->kind == OPERATION_RELEASE &&
		    old->n_holders == 0 && deviates(w, RELEASES_AGAIN));
	case APPLY_SAME:
		return true;	/* as long as nothing changes */
	default:
		return done == verdict;
	}
}

static bool
is_refused(int done)
{
	return done == DDBLOCK_E_UNSUPPORTED || done == DDBLOCK_E_BAD_REQUEST;
}

static void
check_left(struct walk *w, const struct operation *o, const struct apply *a,
    const struct lock_record *expected, bool by_us)
{
	struct apply again = *a;
	struct dialect_view view;

	dialect_view_init(&view);
	trial_look(&w->t, o, &view);
	ck_assert_msg(same(w, &view.lock, expected), "%s: %s leaves %s",
	    w->row->name, operation_kind_name(o->kind),
	    w->t.answer.body.data);
	/* If its answer was lost, the record shows its own effect. A mark is
	 * never sent twice. */
	again.repeated = true;
	if (by_us && o->kind != OPERATION_MARK)
		ck_assert_msg(apply_judge_lock(&again, o, &view.lock) ==
		    APPLY_SAME, "%s: %s", w->row->name,
		    operation_kind_name(o->kind));
	dialect_view_clear(&view);
}

static void
check_one(struct walk *w, const struct operation *o,
    const struct lock_record *old)
{
	const struct dialect_attempt attempt = {
		.step = DIALECT_DO, .wall_ms = w->t.wall_ms,
		.beat = any_beat(w, o, old),
	};
	const struct apply a = {
		.life = life_of(w), .beat = attempt.beat,
		.free_stays = w->row->free_stays,
		.contents_stay = w->row->table.keep_attributes,
		.tokens_unbounded = w->row->table.fencing,
	};
	struct ident memory[64];
	struct lock_record expected = *old;
	int verdict, done;

	ck_assert_uint_le(apply_room(o, old), sizeof(memory));
	verdict = apply_lock(&a, o, old, memory, &expected);
	done = trial_do(&w->t, o, &attempt);
	if (is_refused(done)) {
		expected = *old;
	} else {
		ck_assert_msg(is_as_judged(w, o, old, verdict, done),
		    "%s: %s is judged %d, and is %d\n%s\n%s", w->row->name,
		    operation_kind_name(o->kind), verdict, done,
		    w->t.request.body.data, w->t.answer.body.data);
		if (verdict > 0)
			w->counts[o->kind][verdict]++;
		if (done != 1)
			expected = *old;
		else if (verdict == APPLY_CONFLICT)
			expected.exists = w->row->free_stays ||
			    o->keeps_contents;
	}
	check_left(w, o, &a, &expected, done == 1 && verdict == APPLY_NEW);
}

static void
remove_by_hand(struct walk *w)
{
	static const char body[] = "{\"TableName\":\"" TRIAL_TABLE "\","
	    "\"Key\":{\"key\":{\"S\":\"k\"}}}";

	ck_assert(trial_send(&w->t, "DeleteItem", body, strlen(body)));
}

static void
step(struct walk *w)
{
	static const enum operation_kind kinds[] = {
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_ACQUIRE,
		OPERATION_REFRESH, OPERATION_REFRESH, OPERATION_EXTEND,
		OPERATION_UPDATE, OPERATION_RELEASE, OPERATION_BREAK,
		OPERATION_MARK, OPERATION_MARK, OPERATION_MARK,
		OPERATION_MARK, OPERATION_MARK, OPERATION_MARK,
	};
	bool often = life_of(w) == LOCK_LIFE_RECORD;
	struct operation o = {
		.kind = kinds[trial_below(&w->t, often ? 15 : 9)],
		.key = { "k", 1 },
	};
	const struct lock_record *l;
	struct dialect_view view;

	if (trial_one_in(&w->t, 100))
		remove_by_hand(w);
	if (often && w->observers == 0 && trial_one_in(&w->t, 50))
		w->observers = 20;	/* more than it has room for */
	if (w->observers > 0)
		o.kind = OPERATION_MARK;
	w->t.wall_ms += trial_one_in(&w->t, 6) ? LEASE_MS + SKEW_MS :
	    trial_below(&w->t, 3);
	dialect_view_init(&view);
	trial_look(&w->t, &o, &view);
	l = &view.lock;
	fill(w, &o, l);
	check_one(w, &o, l);
	if (l->version != NULL && trial_one_in(&w->t, 2)) {
		ck_assert_uint_lt(strlen(l->version), sizeof(w->older));
		(void)snprintf(w->older, sizeof(w->older), "%s", l->version);
		w->older_token = l->token;
	}
	dialect_view_clear(&view);
}

/* Each operation of the format succeeded often, and failed often. */
static void
check_counts(const struct walk *w, enum operation_kind kind, bool has)
{
	const unsigned *counts = w->counts[kind];

	ck_assert_msg(has == (counts[APPLY_NEW] > STEPS / 1000 &&
	    counts[APPLY_CONFLICT] > STEPS / 1000), "%s: %s: %u, %u",
	    w->row->name, operation_kind_name(kind), counts[APPLY_NEW],
	    counts[APPLY_CONFLICT]);
}

START_TEST(formats)
{
	unsigned features = rows[_i].dialect->features;
	struct walk w = { .row = &rows[_i] };

	trial_init(&w.t, rows[_i].dialect, &rows[_i].table, (uint64_t)_i);
	for (unsigned i = 0; i < STEPS; i++)
		step(&w);
	trial_done(&w.t);
	check_counts(&w, OPERATION_ACQUIRE, true);
	check_counts(&w, OPERATION_REFRESH, true);
	check_counts(&w, OPERATION_RELEASE, true);
	check_counts(&w, OPERATION_BREAK, true);
	check_counts(&w, OPERATION_EXTEND, !deviates(&w, NO_TOKENS));
	check_counts(&w, OPERATION_UPDATE,
	    (features & DIALECT_ATTRIBUTES) != 0);
	check_counts(&w, OPERATION_MARK, life_of(&w) == LOCK_LIFE_RECORD);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { formats, NULL };

	return suite_run_loops("apply formats", tests, ROWS(rows));
}
