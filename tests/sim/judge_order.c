/*
 * Is there an order in which a lock's history could have happened, one thing
 * after the other? (Linearizability, as Wing and Gong search for it, with
 * Lowe's memory of what was tried.)
 *
 * A grant takes effect at some moment between its request and its reply, a
 * release between its request and its reply; a loss takes effect when it is
 * told, and a desertion when the client leaves or its deadline comes. In the
 * order found, an exclusive grant meets a free lock and has a higher token than
 * all before; a shared one meets a free lock, or one that is shared within the
 * same limit by fewer than that, and has a higher token than each exclusive one
 * before; and each end meets the grant that it ends.
 *
 *     calls and returns in order of time:
 *         ( first  ( second )  [ end of second ]  )  ...
 *     whatever has been called before the first return may be the next.
 *
 * Of the grants few can be the next. An exclusive grant has its place between
 * all with lower and all with higher tokens, because those would have no place
 * any more. Of the sharers in between, the first answered may be first: if
 * another was, it might as well come right after. Without that, a thousand
 * waiters would be tried in all their orders.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdlib.h>

/* So much effort is enough for any history that is not hostile. */
#define ORDER_STEPS_MAX 4000000

struct order_op;

struct order_event {
	struct order_event *prev, *next;
	struct order_op *op;
	uint64_t at_ms;
	bool is_return;
};

struct order_op {
	const struct judge_turn *turn;
	struct order_op *grant;	/* of an end */
	bool is_end;
	bool placed;
	size_t era;		/* of a grant: between which exclusive grants */
	uint64_t mark;		/* of two, the hashes of their sets */
	struct order_event call;
	struct order_event done;
};

/* The lock, in the order so far; and which operations that was. */
struct order_state {
	const struct judge_turn *last;	/* granted; all holders have the same
					 * use */
	uint64_t n_holders;
	uint64_t age;
	uint64_t token;
	uint64_t token_exclusive;
	uint64_t sums[2];
};

struct order_seen {
	UT_hash_handle hh;
	struct order_state state;
};

struct order_choice {
	struct order_op *op;
	struct order_state before;
	size_t first;
};

struct order {
	struct order_op *ops;
	size_t n_ops;
	struct order_event head;	/* operations without a place yet */
	struct order_state state;
	struct order_op **grants;	/* as they may be next */
	size_t n_grants;
	size_t first;			/* of them that has no place yet */
	struct order_seen *seen;
	struct order_choice *choices;
	size_t n_choices;
	uint64_t steps;

	size_t farthest;		/* for the report */
	const struct order_op *stuck;
	struct order_state stuck_state;
};

/* ---- events ----------------------------------------------------------- */

/* Pseudo-random numbers, one for each operation (splitmix64). */
static uint64_t
order_mark(uint64_t n)
{
	n = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ^ (n >> 31);
}

static struct order_op *
order_add_op(struct order *o, const struct judge_turn *t,
    struct order_op *grant, uint64_t call_ms, uint64_t done_ms)
{
	struct order_op *op = &o->ops[o->n_ops];

	op->turn = t;
	op->grant = grant;
	op->is_end = grant != NULL;
	op->mark = order_mark(o->n_ops++);
	op->call = (struct order_event){ .op = op, .at_ms = call_ms };
	op->done = (struct order_event){ .op = op, .at_ms = done_ms,
		.is_return = true };
	return op;
}

/* Events of the same millisecond count as simultaneous. */
static int
order_compare(const void *a, const void *b)
{
	const struct order_event *x = *(struct order_event *const *)a;
	const struct order_event *y = *(struct order_event *const *)b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	if (x->is_return != y->is_return)
		return x->is_return ? 1 : -1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void
order_sort(struct order *o)
{
	struct order_event **events =
	    judge_alloc(2 * o->n_ops * sizeof(struct order_event *));
	struct order_event *last = &o->head;

	for (size_t i = 0; i < o->n_ops; i++) {
		events[2 * i] = &o->ops[i].call;
		events[2 * i + 1] = &o->ops[i].done;
	}
	qsort(events, 2 * o->n_ops, sizeof(struct order_event *),
	    order_compare);
	for (size_t i = 0; i < 2 * o->n_ops; i++) {
		last->next = events[i];
		events[i]->prev = last;
		last = events[i];
	}
	free(events);
}

static void
order_unlink(struct order_event *e)
{
	e->prev->next = e->next;
	if (e->next != NULL)
		e->next->prev = e->prev;
}

static void
order_relink(struct order_event *e)
{
	e->prev->next = e;
	if (e->next != NULL)
		e->next->prev = e;
}

/* ---- the search ------------------------------------------------------- */

static bool
order_is_above(const struct judge_turn *t, uint64_t age, uint64_t token)
{
	return t->age != age ? t->age > age : t->token > token;
}

/* As far as the other grants go. */
static bool
order_is_next(const struct order *o, const struct order_op *op)
{
	const struct order_op *first = o->grants[o->first];

	return op->era == first->era &&
	    op->turn->granted_ms == first->turn->granted_ms;
}

/* Does the lock let it in? */
static bool
order_is_open(const struct order_state *s, const struct judge_turn *t)
{
	if (!order_is_above(t, s->age,
	    t->shared ? s->token_exclusive : s->token))
		return false;
	if (s->n_holders == 0)
		return true;
	return judge_is_compatible(t->shared, t->limit, s->last->shared,
	    s->last->limit) && (t->limit == 0 || s->n_holders < t->limit);
}

/* The lock's state after @op; false: @op cannot be next. */
static bool
order_apply(const struct order *o, const struct order_op *op,
    struct order_state *ret)
{
	const struct order_state *s = &o->state;
	const struct judge_turn *t = op->turn;
	struct order_state after = *s;

	after.sums[0] += op->mark;
	after.sums[1] += order_mark(op->mark);
	if (op->is_end) {
		if (!op->grant->placed)
			return false;
		after.n_holders--;
	} else {
		if (!order_is_next(o, op) || !order_is_open(s, t))
			return false;
		if (t->age != s->age)
			after.token = after.token_exclusive = 0;
		after.last = t;
		after.n_holders++;
		after.age = t->age;
		if (t->token > after.token)
			after.token = t->token;
		if (!t->shared)
			after.token_exclusive = t->token;
	}
	*ret = after;
	return true;
}

/* Not tried yet; from now on it is. */
static bool
order_is_new(struct order *o, const struct order_state *s)
{
	struct order_seen *seen;

	HASH_FIND(hh, o->seen, s, sizeof(*s), seen);
	if (seen != NULL)
		return false;
	seen = judge_alloc(sizeof(*seen));
	seen->state = *s;
	HASH_ADD(hh, o->seen, state, sizeof(seen->state), seen);
	return true;
}

static void
order_choose(struct order *o, struct order_op *op,
    const struct order_state *after)
{
	o->choices[o->n_choices++] = (struct order_choice){ .op = op,
		.before = o->state, .first = o->first };
	o->state = *after;
	op->placed = true;
	while (o->first < o->n_grants && o->grants[o->first]->placed)
		o->first++;
	order_unlink(&op->call);
	order_unlink(&op->done);
}

/* Take the last choice back; NULL: there is none. */
static struct order_event *
order_regret(struct order *o)
{
	struct order_choice *c;

	if (o->n_choices == 0)
		return NULL;
	c = &o->choices[--o->n_choices];
	o->state = c->before;
	o->first = c->first;
	c->op->placed = false;
	order_relink(&c->op->done);
	order_relink(&c->op->call);
	return c->op->call.next;
}

static void
order_stuck(struct order *o, const struct order_op *op)
{
	if (o->stuck != NULL && o->n_choices <= o->farthest)
		return;
	o->farthest = o->n_choices;
	o->stuck = op;
	o->stuck_state = o->state;
}

static bool
order_search(struct order *o)
{
	struct order_event *e = o->head.next;
	struct order_state after;

	while (o->head.next != NULL) {
		if (++o->steps > ORDER_STEPS_MAX)
			return false;
		if (e->is_return) {
			order_stuck(o, e->op);
			e = order_regret(o);
			if (e == NULL)
				return false;
		} else if (order_apply(o, e->op, &after) &&
		    order_is_new(o, &after)) {
			order_choose(o, e->op, &after);
			e = o->head.next;
		} else {
			e = e->next;
		}
	}
	return true;
}

/* ---- a lock ----------------------------------------------------------- */

static int
order_compare_tokens(const void *a, const void *b)
{
	const struct order_op *x = *(struct order_op *const *)a;
	const struct order_op *y = *(struct order_op *const *)b;

	if (order_is_above(x->turn, y->turn->age, y->turn->token))
		return 1;
	if (order_is_above(y->turn, x->turn->age, x->turn->token))
		return -1;
	/*
	 * A sharer with the token of an exclusive grant has no place after it.
	 */
	if (x->turn->shared != y->turn->shared)
		return x->turn->shared ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int
order_compare_answers(const void *a, const void *b)
{
	const struct order_op *x = *(struct order_op *const *)a;
	const struct order_op *y = *(struct order_op *const *)b;

	if (x->era != y->era)
		return x->era < y->era ? -1 : 1;
	if (x->turn->granted_ms != y->turn->granted_ms)
		return x->turn->granted_ms < y->turn->granted_ms ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void
order_sort_grants(struct order *o)
{
	const struct judge_turn *before = NULL;
	size_t era = 0;

	o->grants = judge_alloc((o->n_ops + 1) * sizeof(struct order_op *));
	for (size_t i = 0; i < o->n_ops; i++)
		if (!o->ops[i].is_end)
			o->grants[o->n_grants++] = &o->ops[i];
	qsort(o->grants, o->n_grants, sizeof(struct order_op *),
	    order_compare_tokens);
	for (size_t i = 0; i < o->n_grants; i++) {
		const struct judge_turn *t = o->grants[i]->turn;

		if (before != NULL && (!t->shared || !before->shared ||
		    t->age != before->age))
			era++;
		o->grants[i]->era = era;
		before = t;
	}
	qsort(o->grants, o->n_grants, sizeof(struct order_op *),
	    order_compare_answers);
}

static void
order_read(struct order *o, const struct judge_lock *l)
{
	o->ops = judge_alloc((2 * l->n_turns + 1) * sizeof(*o->ops));
	o->choices = judge_alloc((2 * l->n_turns + 1) * sizeof(*o->choices));
	for (size_t i = 0; i < l->n_turns; i++) {
		const struct judge_turn *t = &l->turns[i];
		struct order_op *grant;

		if (t->exempt)
			continue;
		grant = order_add_op(o, t, NULL, t->asked_ms, t->granted_ms);
		if (t->end != END_OPEN)
			(void)order_add_op(o, t, grant, t->end_ms,
			    t->ended_ms);
	}
	order_sort(o);
	order_sort_grants(o);
}

static void
order_free(struct order *o)
{
	struct order_seen *seen, *next;

	HASH_ITER(hh, o->seen, seen, next)
	{
		HASH_DEL(o->seen, seen);
		free(seen);
	}
	free(o->ops);
	free(o->grants);
	free(o->choices);
}

static void
order_report(struct judge *j, const struct judge_lock *l,
    const struct order *o)
{
	const struct judge_turn *t = o->stuck->turn;
	const struct judge_turn *holder = o->stuck_state.n_holders == 0 ?
	    NULL : o->stuck_state.last;

	if (o->steps > ORDER_STEPS_MAX)
		judge_find(j, "order", "%s: the search of its %zu operations "
		    "was given up", judge_lock_name(l), o->n_ops);
	else if (holder != NULL)
		judge_find(j, "order", "%s: the %s of token %" PRIu64
		    " (%" PRIu64 "..%" PRIu64 ") has no place while token %"
		    PRIu64 " is held", judge_lock_name(l),
		    o->stuck->is_end ? "end" : "grant", t->token,
		    o->stuck->call.at_ms, o->stuck->done.at_ms,
		    holder->token);
	else
		judge_find(j, "order", "%s: the %s of token %" PRIu64
		    " (%" PRIu64 "..%" PRIu64 ") has no place after token %"
		    PRIu64, judge_lock_name(l),
		    o->stuck->is_end ? "end" : "grant", t->token,
		    o->stuck->call.at_ms, o->stuck->done.at_ms,
		    o->stuck_state.token);
}

void
judge_order_check(struct judge *j, const struct judge_lock *l)
{
	struct order o = { .n_ops = 0 };

	if (l->n_turns == 0)
		return;
	order_read(&o, l);
	if (!order_search(&o))
		order_report(j, l, &o);
	order_free(&o);
}
