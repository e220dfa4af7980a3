/*
 * The names of locks: one for each, and back to its parts.
 */
#include <string.h>

#include "core/core.h"
#include "core/key.h"
#include "test.h"

/* A name of a constant text, NUL and all. */
#define NAME(text) ((struct key){ text, sizeof(text) - 1 })

static void
expect_parts(struct key name, struct key key, struct key sort)
{
	struct key_parts parts = key_split(name);
	char bytes[KEY_BYTES_MAX];

	ck_assert(key_equal(parts.key, key));
	ck_assert(key_equal(parts.sort, sort));
	ck_assert(key_equal(key_join(&parts, bytes), name));
}

TEST(test_parts)
{
	expect_parts(NAME("jobs"), NAME("jobs"), NAME("-"));
	expect_parts(NAME("jobs\0nightly"), NAME("jobs"), NAME("nightly"));
	expect_parts(NAME("jobs\0--"), NAME("jobs"), NAME("--"));
	expect_parts(NAME("-"), NAME("-"), NAME("-"));
	expect_parts(NAME("a\0b c"), NAME("a"), NAME("b c"));
	expect_parts(NAME(""), NAME(""), NAME("-"));
}

/* "-" is the sort value of a lock whose client gives none. */
TEST(test_one_name)
{
	struct key_parts parts = { NAME("jobs"), NAME("-") };
	char bytes[KEY_BYTES_MAX];

	ck_assert(!key_is_sorted(&parts));
	ck_assert(key_equal(key_join(&parts, bytes), NAME("jobs")));
	ck_assert(key_is_sound(NAME("jobs")));
	ck_assert(!key_is_sound(NAME("jobs\0-")));
	parts.sort = NAME("x");
	ck_assert(key_is_sorted(&parts));
	ck_assert(key_equal(key_join(&parts, bytes), NAME("jobs\0x")));
	ck_assert(key_is_sound(NAME("jobs\0x")));
}

TEST(test_order)
{
	const struct key keys[] = {
		NAME(""), NAME("a"), NAME("a\0b"), NAME("ab"), NAME("b"),
		NAME("\xff"),
	};
	const int n = (int)(sizeof(keys) / sizeof(keys[0]));

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
			int r = key_compare(&keys[i], &keys[j]);

			ck_assert_int_eq((r > 0) - (r < 0), (i > j) - (i < j));
		}
	}
	ck_assert(key_begins_with(keys[2], keys[1]));
	ck_assert(key_begins_with(keys[2], keys[0]));
	ck_assert(!key_begins_with(keys[1], keys[2]));
	ck_assert(!key_begins_with(keys[4], keys[1]));
}

TEST(test_sound)
{
	char longest[KEY_BYTES_MAX + 1];
	struct key key = { longest, KEY_BYTES_MAX };

	ck_assert(!key_is_sound(NAME("")));
	ck_assert(!key_is_sound(NAME("\0sort")));
	ck_assert(!key_is_sound(NAME("key\0")));
	ck_assert(!key_is_sound(NAME("key\0sort\0more")));
	memset(longest, 'k', sizeof(longest));
	longest[KEY_LENGTH_MAX] = '\0';
	ck_assert(key_is_sound(key));
	key.length++;
	ck_assert(!key_is_sound(key));
	key.length = KEY_LENGTH_MAX;
	ck_assert(key_is_sound(key));
	longest[KEY_LENGTH_MAX] = 'k';
	key.length++;
	ck_assert(!key_is_sound(key));
}

TEST(test_equal)
{
	ck_assert(key_equal(NAME("a\0b"), NAME("a\0b")));
	ck_assert(!key_equal(NAME("a\0b"), NAME("a\0c")));
	ck_assert(!key_equal(NAME("a"), NAME("a\0b")));
	ck_assert(key_equal((struct key){ NULL, 0 }, NAME("")));
	ck_assert(key_equal(key_text("jobs"), NAME("jobs")));
}

/* Its name in hints: by tests/unit/data/hints/vector.py. */
TEST(test_digest)
{
	ck_assert_uint_eq(core_hint_digest((struct key){ "jobs/nightly", 12 }),
	    UINT64_C(0xca04530deb7e36ce));
	ck_assert_uint_ne(core_hint_digest((struct key){ "jobs/nightly", 11 }),
	    core_hint_digest((struct key){ "jobs/nightly", 12 }));
}
