/*
 * Conformance: what clients keep in a lock.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "ddblock.h"

#define TEXT(text) { (text), sizeof(text) - 1 }

static const struct attribute test_attributes[] = {
	{ TEXT("customer"), TEXT("Zo\xc3\xab \"&\" co"), false },
	{ TEXT("n\xc3\xa9 = 1"), TEXT(""), false },
	{ TEXT("stage"), TEXT("{\"N\":\"42\"}"), true },
	{ TEXT("tree"), TEXT("{\"M\":{\"a\":{\"L\":[{\"BOOL\":true},"
	    "{\"NULL\":true},{\"B\":\"AP8=\"},{\"S\":\"a/b\"}]}}}"), true },
	{ TEXT("set"), TEXT("{\"SS\":[\"a\"]}"), true },
};

#define TEST_ATTRIBUTES (sizeof(test_attributes) / sizeof(struct attribute))

static const struct contents test_none = { { NULL, 0 }, NULL, 0 };

static struct contents
test_data(const char *data, size_t n_attributes)
{
	return (struct contents){
		{ data, strlen(data) }, test_attributes, n_attributes,
	};
}

static void
test_shows(const struct seen *s, const struct contents *expected,
    uint64_t sequence, uint64_t random)
{
	const struct revision revision = { sequence, random };

	ck_assert(revision_equal(s->lock.record.revision, revision));
	ck_assert(contents_are_equal(s->contents, expected));
}

TEST(test_update)
{
	struct holder me = case_holder();
	struct key key = case_key("contents");
	struct contents c = test_data("hello", TEST_ATTRIBUTES);
	struct seen *held = case_acquire(key, &me, 4), *s;

	case_done(held);
	test_shows(held, &test_none, 0, 0);
	s = case_done(case_update(key, &me, &c, 1, 7));
	test_shows(s, &c, 1, 7);
	/* Nothing else has changed. */
	ck_assert(case_holds(&s->lock, &me));
	ck_assert_uint_eq(s->lock.record.token, held->lock.record.token);
	ck_assert_uint_eq(s->lock.record.ttl_s, 0);
	s = case_read_contents(key);
	test_shows(s, &c, 1, 7);
	/* One that only watches sees that there are some. */
	test_shows(case_read(key), &test_none, 1, 7);
}

/* They belong to the lock: the next holder finds them, and no other write
 * takes them away. */
TEST(test_stay)
{
	struct holder me = case_holder(), you = case_holder();
	struct key key = case_key("stay");
	struct contents c = test_data("hello", 2);
	struct seen *s = case_acquire(key, &me, 1);

	case_done(case_update(key, &me, &c, 5, 9));
	s = case_done(case_extend(key, &me, s->lock.record.token, 3));
	test_shows(s, &c, 5, 9);
	s = case_add_waiter(key, case_ident());
	test_shows(s, &c, 5, 9);
	s = case_take(key, &you, &me, 1, case_read(key)->lock.record.token);
	case_done(s);
	test_shows(s, &c, 5, 9);
	s = case_done(case_release(key, &you));
	test_shows(s, &c, 5, 9);
	s = case_done(case_share(key, &me, 2));
	test_shows(s, &c, 5, 9);
	/* And a conflict shows them as well. */
	s = case_conflict(case_acquire(key, &you, 1));
	test_shows(s, &c, 5, 9);
	s = case_done(case_break(key, s->lock.record.token));
	test_shows(s, &c, 5, 9);
	test_shows(case_read_contents(key), &c, 5, 9);
}

/* Data alone, attributes alone, and none: whole, each time. */
TEST(test_replace)
{
	struct holder me = case_holder();
	struct key key = case_key("replace");
	struct contents both = test_data("both", 3);
	struct contents data = test_data("data", 0);
	struct contents attributes = test_data("", 2);
	const struct contents *order[] = {
		&both, &data, &attributes, &data, &test_none, &both,
		&test_none, &attributes,
	};

	case_done(case_acquire(key, &me, 1));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct seen *s = case_update(key, &me, order[i], i + 1, 1);

		case_done(s);
		test_shows(s, order[i], i + 1, 1);
		test_shows(case_read_contents(key), order[i], i + 1, 1);
	}
}

/* An earlier update does not undo a later one. */
TEST(test_late)
{
	struct holder me = case_holder();
	struct key key = case_key("late");
	struct contents early = test_data("early", 1);
	struct contents late = test_data("late", 2);
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_update(key, &me, &late, 3, 5));
	s = case_conflict(case_update(key, &me, &early, 2, UINT64_MAX));
	test_shows(s, &late, 3, 5);
	s = case_conflict(case_update(key, &me, &early, 3, 3));
	test_shows(s, &late, 3, 5);
	/* The dice decide between equals. */
	case_done(case_update(key, &me, &early, 3, UINT64_MAX));
	/* Twice is once. */
	s = case_done(case_update(key, &me, &early, 3, UINT64_MAX));
	test_shows(s, &early, 3, UINT64_MAX);
	case_done(case_update(key, &me, &late, UINT64_C(1) << 57, 1));
	test_shows(case_read_contents(key), &late, UINT64_C(1) << 57, 1);
}

/* Only by the holder. */
TEST(test_holders_only)
{
	struct holder me = case_holder(), you = case_holder();
	struct key key = case_key("holders only");
	struct contents c = test_data("mine", 1);
	struct seen *s = case_update(key, &me, &c, 1, 1);

	case_conflict(s);
	ck_assert(!s->lock.record.exists);
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_acquire(key, &me, 1));
	case_conflict(case_update(key, &you, &c, 1, 1));
	case_done(case_release(key, &me));
	s = case_conflict(case_update(key, &me, &c, 1, 1));
	test_shows(s, &test_none, 0, 0);
	/* A sharer may. */
	case_done(case_share(key, &me, 0));
	case_done(case_share(key, &you, 0));
	s = case_done(case_update(key, &you, &c, 1, 1));
	ck_assert_uint_eq(s->lock.record.n_holders, 2);
}

/* All bytes there are, as many as there may be. */
TEST(test_large)
{
	struct holder me = case_holder();
	struct key key = case_key("large");
	char *bytes = malloc(CONTENTS_MAX);
	struct contents c = { { bytes, CONTENTS_MAX }, NULL, 0 };
	struct seen *s;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < CONTENTS_MAX; i++)
		bytes[i] = (char)(i * 167 + i / 256);
	case_done(case_acquire(key, &me, 1));
	s = case_done(case_update(key, &me, &c, 1, 1));
	test_shows(s, &c, 1, 1);
	test_shows(case_read_contents(key), &c, 1, 1);
	/* Every length of the last group of base64. */
	for (c.data.length = 1; c.data.length < 4; c.data.length++) {
		case_done(case_update(key, &me, &c, 1 + c.data.length, 1));
		test_shows(case_read_contents(key), &c, 1 + c.data.length, 1);
	}
	free(bytes);
}

TEST(test_refused)
{
	struct holder me = case_holder();
	struct key key = case_key("refused");
	struct attribute odd[ATTRIBUTES_MAX + 1];
	char names[ATTRIBUTES_MAX + 1][3];
	struct contents c = { { NULL, 0 }, odd, 1 };
	char *bytes = calloc(1, CONTENTS_MAX + 1);
	struct seen *s;

	ck_assert_ptr_nonnull(bytes);
	case_done(case_acquire(key, &me, 1));
	for (size_t i = 0; i <= ATTRIBUTES_MAX; i++) {
		names[i][0] = (char)('a' + i / 10);
		names[i][1] = (char)('0' + i % 10);
		odd[i] = (struct attribute){ { names[i], 2 }, { "x", 1 }, 0 };
	}
	c.n_attributes = ATTRIBUTES_MAX + 1;
	s = case_update(key, &me, &c, 1, 1);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_REQUEST);
	c.n_attributes = ATTRIBUTES_MAX;
	case_done(case_update(key, &me, &c, 1, 1));
	odd[0].typed = true;
	s = case_update(key, &me, &c, 2, 1);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	c = (struct contents){ { bytes, CONTENTS_MAX + 1 }, NULL, 0 };
	s = case_update(key, &me, &c, 2, 1);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	/* Without a revision, or with a revision whose digits may get lost. */
	s = case_update(key, &me, &test_none, 0, 1);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	s = case_update(key, &me, &test_none, 2, 10);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_uint_eq(case_read(key)->lock.record.revision.sequence, 1);
	free(bytes);
}

/* What reads many leaves the contents out. */
TEST(test_many)
{
	struct holder me = case_holder();
	struct key key = case_key("many");
	struct contents c = test_data("hello", 2);
	struct operation o = case_operation(OPERATION_READ_MANY, key);
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	case_done(case_update(key, &me, &c, 1, 3));
	o.keys = &key;
	o.n_keys = 1;
	s = case_done(case_do(&o));
	ck_assert_uint_eq(s->n_locks, 1);
	ck_assert(case_holds(&s->locks[0], &me));
	ck_assert_uint_eq(s->locks[0].record.revision.random, 3);
	ck_assert(contents_are_empty(&s->locks[0].record.contents));
	s = case_page(key, false, NULL);
	while (s->n_locks == 0 && s->cursor_length > 0)
		s = case_page(key, false, s);
	ck_assert_uint_eq(s->n_locks, 1);
	ck_assert(case_holds(&s->locks[0], &me));
	ck_assert(contents_are_empty(&s->locks[0].record.contents));
}

TCase *
conformance_contents(void)
{
	return test_case("contents", __FILE__);
}
