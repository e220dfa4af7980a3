/*
 * A weight-balanced tree: no side of a node weighs more than RANK_DELTA times
 * the other. (Hirai and Yamamoto, "Balancing weight-balanced trees", prove that
 * these two constants keep it so; Haskell's Data.Map has the same.) What it is
 * balanced by is what tells a place, so nothing else is stored.
 */
#include "core/rank.h"

#include <assert.h>
#include <stddef.h>

#define RANK_DELTA 3
#define RANK_GAMMA 2

static uint32_t
rank_n(const struct rank *t)
{
	return t == NULL ? 0 : t->n;
}

static uint64_t
rank_weight(const struct rank *t)
{
	return UINT64_C(1) + rank_n(t);
}

static void
rank_count(struct rank *t)
{
	t->n = 1 + rank_n(t->left) + rank_n(t->right);
}

static struct rank *
rank_turn_left(struct rank *t)
{
	struct rank *top = t->right;

	t->right = top->left;
	top->left = t;
	rank_count(t);
	rank_count(top);
	return top;
}

static struct rank *
rank_turn_right(struct rank *t)
{
	struct rank *top = t->left;

	t->left = top->right;
	top->right = t;
	rank_count(t);
	rank_count(top);
	return top;
}

/* One side has changed by one node. */
static struct rank *
rank_balance(struct rank *t)
{
	struct rank *l = t->left, *r = t->right;

	rank_count(t);
	if (rank_weight(r) > RANK_DELTA * rank_weight(l)) {
		if (rank_weight(r->left) >= RANK_GAMMA * rank_weight(r->right))
			t->right = rank_turn_right(r);
		return rank_turn_left(t);
	}
	if (rank_weight(l) > RANK_DELTA * rank_weight(r)) {
		if (rank_weight(l->right) >= RANK_GAMMA * rank_weight(l->left))
			t->left = rank_turn_left(l);
		return rank_turn_right(t);
	}
	return t;
}

static struct rank *
rank_added(struct rank *t, struct rank *node)
{
	if (t == NULL)
		return node;
	assert(t->number != node->number);
	if (node->number < t->number)
		t->left = rank_added(t->left, node);
	else
		t->right = rank_added(t->right, node);
	return rank_balance(t);
}

/* Without its lowest, which comes back in @ret. */
static struct rank *
rank_without_first(struct rank *t, struct rank **ret)
{
	if (t->left == NULL) {
		*ret = t;
		return t->right;
	}
	t->left = rank_without_first(t->left, ret);
	return rank_balance(t);
}

static struct rank *
rank_without(struct rank *t, struct rank *node)
{
	struct rank *next;

	assert(t != NULL);
	if (node->number < t->number) {
		t->left = rank_without(t->left, node);
		return rank_balance(t);
	}
	if (node->number > t->number) {
		t->right = rank_without(t->right, node);
		return rank_balance(t);
	}
	assert(t == node);
	if (t->left == NULL)
		return t->right;
	if (t->right == NULL)
		return t->left;
	t->right = rank_without_first(t->right, &next);
	next->left = t->left;
	next->right = t->right;
	return rank_balance(next);
}

void
rank_add(struct rank **set, struct rank *node, uint64_t number)
{
	*node = (struct rank){ .number = number, .n = 1 };
	*set = rank_added(*set, node);
}

void
rank_remove(struct rank **set, struct rank *node)
{
	*set = rank_without(*set, node);
}

struct rank *
rank_after(struct rank *t, uint64_t number)
{
	struct rank *found = NULL;

	while (t != NULL) {
		if (t->number > number) {
			found = t;
			t = t->left;
		} else {
			t = t->right;
		}
	}
	return found;
}

uint32_t
rank_below(const struct rank *t, uint64_t number)
{
	uint32_t n = 0;

	while (t != NULL) {
		if (t->number < number) {
			n += 1 + rank_n(t->left);
			t = t->right;
		} else {
			t = t->left;
		}
	}
	return n;
}
