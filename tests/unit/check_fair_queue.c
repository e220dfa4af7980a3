/*
 * Users are served in turn, each in the order of its own items; and what is
 * taken or leaves from anywhere leaves the rest as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "common/fair_queue.h"
#include "test.h"

#define MANY 10000
#define NOBODY UINT32_MAX

struct thing {
	struct fair_item turn;	/* first */
	uint32_t number;
	bool in;
};

static struct thing things[MANY];
static struct fair_queue queue;

static void
add(uint32_t number, uint32_t user, uint32_t cost)
{
	things[number].number = number;
	things[number].in = true;
	fair_queue_add(&queue, &things[number].turn, user, cost);
}

static struct thing *
take(void)
{
	struct thing *t = (struct thing *)(void *)fair_queue_take(&queue);

	if (t != NULL)
		t->in = false;
	return t;
}

static void
drop(uint32_t number)
{
	fair_queue_remove(&queue, &things[number].turn);
	things[number].in = false;
}

static void
expect(const uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct thing *t = take();

		ck_assert_ptr_nonnull(t);
		ck_assert_uint_eq(t->number, numbers[i]);
	}
}

#define EXPECT(...)                                                            \
	expect((const uint32_t[]){ __VA_ARGS__ },                              \
	    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void
expect_empty(void)
{
	ck_assert(fair_queue_is_empty(&queue));
	ck_assert_uint_eq(queue.length, 0);
	ck_assert_ptr_null(take());
	for (size_t i = 0; i < FAIR_QUEUE_BUCKETS; i++)
		ck_assert_ptr_null(queue.buckets[i]);
}

TEST(test_one_user)
{
	fair_queue_init(&queue, 1);
	expect_empty();
	for (uint32_t i = 0; i < 5; i++)
		add(i, 1000, 1);
	EXPECT(0, 1, 2, 3, 4);
	expect_empty();
}

/* What comes after very many items of another user is next but one. */
TEST(test_after_many)
{
	fair_queue_init(&queue, 1);
	for (uint32_t i = 0; i < MANY - 2; i++)
		add(i, 1000, 1);
	add(MANY - 2, 0, 1);
	add(MANY - 1, NOBODY, 1);
	EXPECT(0, MANY - 2, MANY - 1, 1, 2);
	ck_assert_uint_eq(queue.length, MANY - 5);
}

TEST(test_turn_of_several)
{
	fair_queue_init(&queue, 3);
	for (uint32_t i = 0; i < 8; i++)
		add(i, i < 5 ? 1 : 2, 1);
	EXPECT(0, 1, 2, 5, 6, 7, 3, 4);
	expect_empty();
}

/* What costs more than a turn is paid for by turns; the last in the queue
 * takes along what is owed. */
TEST(test_owed)
{
	fair_queue_init(&queue, 2);
	add(0, 1, 7);
	add(1, 1, 1);
	for (uint32_t i = 2; i < 12; i++)
		add(i, 2, 1);
	EXPECT(0, 2, 3, 4, 5, 6, 7, 1, 8);
	add(12, 1, 1);
	EXPECT(9, 12, 10, 11);
	expect_empty();
	add(0, 1, 1000);
	add(1, 1, 1);
	EXPECT(0, 1);
	expect_empty();
}

/* The first, one in the middle, the last; the only one of its user. */
TEST(test_removal)
{
	fair_queue_init(&queue, 1);
	for (uint32_t i = 0; i < 6; i++)
		add(i, 1, 1);
	add(6, 2, 1);
	drop(0);
	drop(3);
	drop(5);
	ck_assert_uint_eq(queue.length, 4);
	EXPECT(1, 6, 2);
	add(7, 2, 1);
	add(8, 1, 1);
	drop(7);
	EXPECT(4, 8);
	expect_empty();
}

/* An heir has its user's place in the line, and what the user owes. */
TEST(test_heir)
{
	fair_queue_init(&queue, 1);
	add(0, 1, 3);
	add(1, 1, 1);
	add(2, 1, 1);
	for (uint32_t i = 3; i < 8; i++)
		add(i, 2, 1);
	EXPECT(0, 3);
	drop(1);
	EXPECT(4, 5, 2, 6, 7);
	expect_empty();
}

/* More users than buckets, so that some are in one chain. */
TEST(test_many_users)
{
	const uint32_t users = 1000, each = MANY / users;

	fair_queue_init(&queue, 1);
	for (uint32_t i = 0; i < MANY; i++)
		add(i, 100000 + i / each, 1);
	for (uint32_t round = 0; round < each; round++) {
		for (uint32_t u = 0; u < users; u++)
			EXPECT(u * each + round);
	}
	expect_empty();
	for (uint32_t i = 0; i < MANY; i++)
		add(i, i % users * 64, 1);
	for (uint32_t i = 0; i < MANY; i++)
		drop(i % 2 == 0 ? i / 2 : MANY - 1 - i / 2);
	expect_empty();
}

/* By chance: nothing is lost or comes twice, and a user's are in order. */
TEST_LOOP(test_by_chance, 1, 50)
{
	uint32_t last[4] = { 0 }, got[4] = { 0 }, n = 0, dropped = 0;
	unsigned short dice[3] = { 1, 2, (unsigned short)_i };
	uint32_t turn = (uint32_t)_i % 7 + 1;

	fair_queue_init(&queue, turn);
	memset(things, 0, sizeof(things));
	while (n < 3000 || !fair_queue_is_empty(&queue)) {
		uint32_t chance = (uint32_t)jrand48(dice) >> 8;
		struct thing *t;

		if (n < 3000 && chance % 8 < 4) {
			add(n, chance / 8 % 4, chance / 32 % 5 + 1);
			n++;
		} else if (n > 0 && chance % 8 == 4) {
			if (!things[chance / 8 % n].in)
				continue;
			drop(chance / 8 % n);
			dropped++;
		} else if ((t = take()) != NULL) {
			ck_assert(got[t->turn.user] == 0 ||
			    last[t->turn.user] < t->number);
			last[t->turn.user] = t->number;
			got[t->turn.user]++;
		}
	}
	ck_assert_uint_eq(got[0] + got[1] + got[2] + got[3] + dropped, n);
	expect_empty();
}

/* Of users who always have something, none gets more than another by more than
 * two turns and the dearest piece, by cost. */
TEST_LOOP(test_shares, 1, 20)
{
	unsigned short dice[3] = { 3, 4, (unsigned short)_i };
	uint32_t dearest[3] = { 1, 5, 101 };
	uint64_t spent[3] = { 0 };
	uint32_t turn = (uint32_t)_i;

	fair_queue_init(&queue, turn);
	for (uint32_t i = 0; i < MANY; i++)
		add(i, i % 3, (uint32_t)jrand48(dice) % dearest[i % 3] + 1);
	for (int i = 0; i < 3000; i++) {
		struct thing *t = take();

		spent[t->turn.user] += t->turn.cost;
		for (int u = 0; u < 3; u++)
			ck_assert_uint_le(spent[t->turn.user],
			    spent[u] + 2 * turn + 101);
	}
}
