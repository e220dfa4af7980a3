/*
 * The ordered set: what it says of a number is what a plain array says, and no
 * branch of its tree grows long, in whatever order numbers come and go.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/rank.h"
#include "test.h"

#define MANY 2000

static struct rank nodes[MANY];
static bool present[MANY];

static uint32_t
depth(const struct rank *t)
{
	uint32_t left, right;

	if (t == NULL)
		return 0;
	left = depth(t->left);
	right = depth(t->right);
	ck_assert_uint_eq(t->n, 1 + (t->left == NULL ? 0 : t->left->n) +
	    (t->right == NULL ? 0 : t->right->n));
	return 1 + (left > right ? left : right);
}

/* Numbers are twice their index, so that some lie between. */
static void
expect(struct rank *set, uint32_t step)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MANY; i += step) {
		const struct rank *next = rank_after(set, 2 * i);
		uint32_t j = i + 1;

		n = 0;
		for (uint32_t k = 0; k < i; k++)
			n += present[k];
		while (j < MANY && !present[j])
			j++;
		ck_assert_uint_eq(rank_below(set, 2 * i), n);
		ck_assert_uint_eq(rank_below(set, 2 * i + 1), n + present[i]);
		ck_assert_uint_eq(rank_below(set, 2 * i + 2), n + present[i]);
		ck_assert_ptr_eq(next, j < MANY ? &nodes[j] : NULL);
	}
	/* 2.5 times the logarithm of 2,000 */
	ck_assert_uint_le(depth(set), 27);
}

static void
toggle(struct rank **set, uint32_t i)
{
	if (present[i])
		rank_remove(set, &nodes[i]);
	else
		rank_add(set, &nodes[i], 2 * i);
	present[i] = !present[i];
}

TEST(test_at_random)
{
	struct rank *set = NULL;
	uint64_t random = 42;

	for (uint32_t n = 0; n < 40 * MANY; n++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		toggle(&set, (uint32_t)(random >> 33) % MANY);
		if (n % (4 * MANY) == 0)
			expect(set, 1);
		else if (n % MANY == 0)
			expect(set, 61);
	}
	expect(set, 1);
}

/* As they are made: each above the last; and then gone from either end. */
TEST(test_in_order)
{
	struct rank *set = NULL;

	ck_assert_ptr_null(rank_after(set, 0));
	ck_assert_uint_eq(rank_below(set, 7), 0);
	for (uint32_t i = 0; i < MANY; i++)
		toggle(&set, i);
	expect(set, 1);
	for (uint32_t i = 0; i < MANY / 2; i++)
		toggle(&set, i);
	expect(set, 1);
	for (uint32_t i = MANY - 1; i > MANY / 2 + MANY / 4; i--)
		toggle(&set, i);
	expect(set, 1);
	while (set != NULL)
		toggle(&set, (uint32_t)(set->number / 2));
	expect(set, 61);
}
