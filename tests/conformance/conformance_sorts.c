/*
 * Conformance: sort values. Locks with one key and different sort values are
 * different locks, wherever they are named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define SORTS 230	/* more than two pages */

static char names[SORTS][KEY_BYTES_MAX];

/* The lock with the key of @key and this sort value; kept as number @i. */
static struct key
test_sorted(size_t i, struct key key, const char *sort)
{
	const struct key_parts parts = { key, key_text(sort) };

	return key_join(&parts, names[i]);
}

TEST(test_different_locks)
{
	const struct key key = case_key("sorts");
	const struct key a = test_sorted(0, key, "a");
	const struct key b = test_sorted(1, key, "b");
	struct holder holders[] = {
		case_holder(), case_holder(), case_holder(),
	};
	struct seen *s;

	case_done(case_acquire(key, &holders[0], 1));
	case_done(case_acquire(a, &holders[1], 1));
	case_done(case_acquire(b, &holders[2], 1));
	s = case_conflict(case_acquire(a, &holders[2], 1));
	ck_assert(case_holds(&s->lock, &holders[1]));
	case_done(case_release(a, &holders[1]));
	ck_assert_uint_eq(case_read(a)->lock.record.n_holders, 0);
	ck_assert(case_holds(&case_read(key)->lock, &holders[0]));
	ck_assert(case_holds(&case_read(b)->lock, &holders[2]));
	case_done(case_add_waiter(b, holders[0].session));
	ck_assert(!case_marked(&case_read(key)->lock, holders[0].session));
	case_done(case_break(b, case_read(b)->lock.record.token));
	ck_assert(case_holds(&case_read(key)->lock, &holders[0]));
}

TEST(test_longest)
{
	char key[KEY_LENGTH_MAX], sort[KEY_SORT_MAX + 1];
	const struct key start = case_key("");
	struct holder me = case_holder();
	struct key name;

	memset(key, 'k', sizeof(key));
	memcpy(key, start.bytes, start.length);
	memset(sort, 's', KEY_SORT_MAX);
	sort[KEY_SORT_MAX] = '\0';
	name = test_sorted(0, (struct key){ key, sizeof(key) }, sort);
	ck_assert_uint_eq(name.length, KEY_BYTES_MAX);
	case_done(case_acquire(name, &me, 1));
	ck_assert(case_holds(&case_read(name)->lock, &me));
	name.length--;
	ck_assert(!case_read(name)->lock.record.exists);
}

TEST(test_read_many_sorted)
{
	const struct key key = case_key("many");
	const struct key keys[] = {
		test_sorted(0, key, "b"), key, test_sorted(1, key, "none"),
		test_sorted(2, key, "a"),
	};
	struct operation o = case_operation(OPERATION_READ_MANY,
	    (struct key){ 0 });
	struct holder holders[4];
	struct seen *s;

	for (size_t i = 0; i < 4; i++) {
		holders[i] = case_holder();
		if (i != 2)
			case_done(case_acquire(keys[i], &holders[i], 1));
	}
	o.keys = keys;
	o.n_keys = 4;
	s = case_done(case_do(&o));
	for (size_t i = 0; i < 4; i++) {
		ck_assert(s->processed[i]);
		if (i == 2)
			ck_assert(!s->locks[i].record.exists);
		else
			ck_assert(case_holds(&s->locks[i], &holders[i]));
	}
}

/* Locks of one key with several sort values are several locks. */
TEST(test_multi_sorted)
{
	const struct key key = case_key("together");
	const struct key keys[] = {
		key, test_sorted(0, key, "a"), test_sorted(1, key, "b"),
	};
	struct holder other = case_holder();
	struct multi v;

	multi_init(&v, keys, 3);
	case_done(case_acquire(keys[1], &other, 1));
	case_conflict(case_do(&v.whole));
	ck_assert_uint_eq(case_read(keys[0])->lock.record.n_holders, 0);
	case_done(case_release(keys[1], &other));
	multi_init(&v, keys, 3);
	case_done(case_do(&v.whole));
	for (size_t i = 0; i < 3; i++)
		ck_assert(case_holds(&case_read(keys[i])->lock,
		    &v.parts[i].me));
}

/* Which of the locks is it? Each comes once. */
static void
test_mark(const struct seen_lock *l, const struct key *keys, bool *found)
{
	const struct key name = { l->key, l->key_length };
	size_t i = 0;

	while (i < SORTS && !key_equal(keys[i], name))
		i++;
	ck_assert_uint_lt(i, SORTS);
	ck_assert(!found[i]);
	found[i] = true;
}

/* Pages go on within a key, and a prefix is one of keys, not of sort values. */
TEST(test_scan_sorted)
{
	static struct operation operations[SORTS];
	static struct seen *seen[SORTS];
	struct key keys[SORTS];
	bool found[SORTS] = { false };
	const struct key prefix = case_key("page/");
	struct holder me = case_holder();
	struct seen *s = NULL;
	size_t n = 0;

	case_done(case_acquire(test_sorted(0, case_key("pag"), "e/1"), &me,
	    1));
	for (size_t i = 0; i < SORTS; i++) {
		char text[24];

		(void)snprintf(text, sizeof(text), "page/%zu", i % 2);
		keys[i] = case_key(text);
		(void)snprintf(text, sizeof(text), "%zu", i);
		keys[i] = test_sorted(i, keys[i], i < 2 ? "-" : text);
		/* case_key() keeps its bytes for a while only. */
		memmove(names[i], keys[i].bytes, keys[i].length);
		keys[i].bytes = names[i];
		operations[i] = case_operation(OPERATION_ACQUIRE, keys[i]);
		operations[i].me = case_holder();
		operations[i].tokens = 1;
	}
	case_do_all(operations, SORTS, seen);
	while ((s = case_page(prefix, false, s)) != NULL) {
		for (size_t i = 0; i < s->n_locks; i++, n++)
			test_mark(&s->locks[i], keys, found);
	}
	ck_assert_uint_eq(n, SORTS);
}

TCase *
conformance_sorts(void)
{
	return test_case("sorts", __FILE__);
}
