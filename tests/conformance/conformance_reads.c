/*
 * Conformance: reading many locks at once, and all of them page by page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define PAGED 230	/* more than two pages */

static char names[PAGED][64];
static struct holder holders[PAGED];

/* Acquire @n locks called @prefix and a number. */
static void
test_fill(const char *prefix, size_t n)
{
	static struct operation o[PAGED];
	static struct seen *s[PAGED];

	for (size_t i = 0; i < n; i++) {
		struct key key;
		char text[24];

		(void)snprintf(text, sizeof(text), "%s%03zu", prefix, i);
		key = case_key(text);
		memcpy(names[i], key.bytes, key.length);
		names[i][key.length] = '\0';
		key.bytes = names[i];
		holders[i] = case_holder();
		o[i] = case_operation(OPERATION_ACQUIRE, key);
		o[i].me = holders[i];
		o[i].tokens = 1;
	}
	case_do_all(o, n, s);
}

static struct key
test_name(size_t i)
{
	return (struct key){ names[i], strlen(names[i]) };
}

TEST(test_read_many)
{
	struct operation o;
	struct key keys[READ_MANY_MAX];
	struct seen *s;

	o = case_operation(OPERATION_READ_MANY, (struct key){ 0 });
	test_fill("many", READ_MANY_MAX / 2);
	for (size_t i = 0; i < READ_MANY_MAX; i++) {
		char text[24];

		(void)snprintf(text, sizeof(text), "absent%zu", i);
		keys[i] = i % 2 == 0 ? test_name(i / 2) : case_key(text);
	}
	o.keys = keys;
	o.n_keys = READ_MANY_MAX;
	s = case_done(case_do(&o));
	for (size_t i = 0; i < READ_MANY_MAX; i++) {
		ck_assert(s->processed[i]);
		ck_assert_int_eq(s->locks[i].record.exists, i % 2 == 0);
		if (i % 2 == 0)
			ck_assert(case_holds(&s->locks[i], &holders[i / 2]));
	}
}

TEST(test_read_many_one)
{
	struct operation o;
	struct key key = case_key("one");
	struct holder me = case_holder();
	struct seen *held = case_acquire(key, &me, 1);
	struct seen *s;

	o = case_operation(OPERATION_READ_MANY, (struct key){ 0 });
	o.keys = &key;
	o.n_keys = 1;
	s = case_done(case_do(&o));
	ck_assert(s->processed[0]);
	case_same(&s->locks[0], &held->lock);
}

/* Which of our locks is it? PAGED: none. */
static size_t
test_find(const struct seen_lock *l)
{
	for (size_t i = 0; i < PAGED; i++) {
		if (strlen(names[i]) == l->key_length &&
		    memcmp(names[i], l->key, l->key_length) == 0)
			return i;
	}
	return PAGED;
}

/* Read all pages of @prefix; each row must be ours, and come once. */
static size_t
test_scan_all(struct key prefix, bool *found)
{
	struct seen *s = NULL;
	size_t n = 0;

	while ((s = case_page(prefix, false, s)) != NULL) {
		ck_assert_uint_le(s->n_locks, SCAN_PAGE_MAX);
		for (size_t i = 0; i < s->n_locks; i++, n++) {
			size_t at = test_find(&s->locks[i]);

			ck_assert_uint_lt(at, PAGED);
			ck_assert(!found[at]);
			found[at] = true;
			ck_assert(case_holds(&s->locks[i], &holders[at]));
		}
	}
	return n;
}

TEST(test_scan)
{
	bool found[PAGED] = { false };
	struct holder me = case_holder();

	case_done(case_session(OPERATION_SESSION_OPEN, me.session, 0));
	case_done(case_acquire(case_key("page"), &me, 1));
	case_done(case_acquire(case_key("pagf"), &me, 1));
	case_done(case_acquire(case_key("pag"), &me, 1));
	test_fill("page/", PAGED);
	ck_assert_uint_eq(test_scan_all(case_key("page/"), found), PAGED);
}

TEST(test_scan_one_of_many)
{
	bool found[PAGED] = { false };

	test_fill("one/", PAGED);
	ck_assert_uint_eq(test_scan_all(case_key("one/22"), found), 10);
	memset(found, 0, sizeof(found));
	ck_assert_uint_eq(test_scan_all(case_key("one/007"), found), 1);
	ck_assert(found[7]);
}

TEST(test_scan_none)
{
	bool found[PAGED] = { false };

	ck_assert_uint_eq(test_scan_all(case_key("none/"), found), 0);
}

/* Free locks are in the listing too: their tokens live there. */
TEST(test_scan_free)
{
	struct holder me = case_holder();
	struct key key = case_key("free");
	struct seen *released, *s = NULL;
	size_t n = 0;

	case_done(case_acquire(key, &me, 1));
	released = case_release(key, &me);
	while ((s = case_page(key, false, s)) != NULL) {
		for (size_t i = 0; i < s->n_locks; i++, n++)
			case_same(&s->locks[i], &released->lock);
	}
	ck_assert_uint_eq(n, 1);
}

/* If asked for held locks, the store leaves out free ones, and says how many it
 * has examined. */
TEST(test_scan_held_only)
{
	bool found[PAGED] = { false };
	const struct key prefix = case_key("held/");
	struct seen *s = NULL;
	uint64_t n_examined = 0;
	size_t n = 0;

	test_fill("held/", PAGED);
	for (size_t i = 0; i < PAGED; i += 2)
		case_done(case_release(test_name(i), &holders[i]));
	while ((s = case_page(prefix, true, s)) != NULL) {
		for (size_t i = 0; i < s->n_locks; i++, n++) {
			size_t at = test_find(&s->locks[i]);

			ck_assert(at % 2 == 1 && !found[at]);
			found[at] = true;
		}
		ck_assert_uint_le(s->n_examined, SCAN_PAGE_MAX);
		n_examined += s->n_examined;
	}
	ck_assert_uint_eq(n, PAGED / 2);
	ck_assert_uint_ge(n_examined, PAGED);
}

TCase *
conformance_reads(void)
{
	return test_case("reads", __FILE__);
}
