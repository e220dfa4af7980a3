/*
 * The hash table: an entry is found, also after growth, and gone after its
 * removal; iteration meets each once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/hash.h"
#include "test.h"

#define MANY 10000

struct object {
	struct hash_link link;	/* first */
	uint32_t key;
	uint32_t met;
};

static struct object objects[MANY];

static uint32_t
spread(const struct hash_link *link)
{
	return ((const struct object *)link)->key * UINT32_C(2654435761);
}

/* Four of them, at most, for all. */
static uint32_t
crowd(const struct hash_link *link)
{
	return ((const struct object *)link)->key % 4;
}

static const struct object *
find(const struct hash_table *t, uint32_t key)
{
	const struct object wanted = { .key = key };
	const struct hash_link *link = hash_chain(t, t->hash(&wanted.link));

	while (link != NULL && ((const struct object *)link)->key != key)
		link = link->next;
	return (const struct object *)link;
}

/* Exactly the entries whose keys are not multiples of @gone are in @t. */
static void
expect(const struct hash_table *t, uint32_t n, uint32_t gone)
{
	struct hash_link *link;

	for (uint32_t i = 0; i < n; i++) {
		const struct object *o = i % gone == 0 ? NULL : &objects[i];

		ck_assert_ptr_eq(find(t, i), o);
		objects[i].met = 0;
	}
	for (link = hash_next(t, NULL); link != NULL;
	    link = hash_next(t, link))
		((struct object *)link)->met++;
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(objects[i].met, i % gone == 0 ? 0 : 1);
}

static void
fill(struct hash_table *t, hash_fn hash, uint32_t n)
{
	ck_assert_int_eq(hash_init(t, hash), 0);
	ck_assert_ptr_null(hash_next(t, NULL));
	for (uint32_t i = 0; i < n; i++) {
		objects[i].key = i;
		hash_add(t, &objects[i].link, hash(&objects[i].link));
	}
	ck_assert_uint_eq(t->n, n);
	hash_remove(t, &objects[0].link, hash(&objects[0].link));
	expect(t, n, n);
}

TEST(test_many)
{
	struct hash_table t;

	fill(&t, spread, MANY);
	ck_assert_uint_ge(t.n_chains, MANY / 4);
	for (uint32_t i = 7; i < MANY; i += 7)
		hash_remove(&t, &objects[i].link,
		    spread(&objects[i].link));
	expect(&t, MANY, 7);
	hash_done(&t);
}

/* With room for all of them it does not grow, and it never shrinks. */
TEST(test_reserved)
{
	struct hash_table t;
	uint32_t n_chains;

	fill(&t, spread, 200);
	hash_reserve(&t, MANY);
	n_chains = t.n_chains;
	ck_assert_uint_gt(n_chains, MANY / 8);
	expect(&t, 200, 200);
	hash_reserve(&t, 1);
	for (uint32_t i = 200; i < MANY; i++) {
		objects[i].key = i;
		hash_add(&t, &objects[i].link, spread(&objects[i].link));
	}
	ck_assert_uint_eq(t.n_chains, n_chains);
	expect(&t, MANY, MANY);
	hash_done(&t);
}

/* No step moves more than a chain's objects. */
TEST(test_grows_by_one_chain)
{
	struct hash_table t;

	ck_assert_int_eq(hash_init(&t, spread), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t n_chains = t.n_chains;

		objects[i].key = i;
		hash_add(&t, &objects[i].link, spread(&objects[i].link));
		ck_assert_uint_le(t.n_chains, n_chains + 1);
	}
	hash_done(&t);
}

TEST(test_same_hash)
{
	struct hash_table t;

	fill(&t, crowd, 200);
	for (uint32_t i = 3; i < 200; i += 3)
		hash_remove(&t, &objects[i].link,
		    crowd(&objects[i].link));
	expect(&t, 200, 3);
	hash_done(&t);
}

/* One may go while all are looked at, once the next is known. */
TEST(test_removed_on_the_way)
{
	struct hash_table t;
	struct hash_link *link, *next;
	uint32_t n = 0;

	fill(&t, spread, MANY);
	for (link = hash_next(&t, NULL); link != NULL; link = next) {
		next = hash_next(&t, link);
		hash_remove(&t, link, spread(link));
		n++;
	}
	ck_assert_uint_eq(n, MANY - 1);
	ck_assert_uint_eq(t.n, 0);
	ck_assert_ptr_null(hash_next(&t, NULL));
	hash_done(&t);
	hash_done(&t);
}
