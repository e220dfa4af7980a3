/*
 * Bounded buffers: their content, their end, and that they never exceed their
 * cap.
 */
#include <stdint.h>
#include <string.h>

#include "common/buffer.h"
#include "ddblock.h"
#include "test.h"

TEST(test_append)
{
	struct buffer b;

	buffer_init(&b, 1000);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.length, 0);
	ck_assert_int_eq(buffer_append(&b, "abc", 3), 0);
	ck_assert_int_eq(buffer_append(&b, "\0\xff", 2), 0);
	ck_assert_int_eq(buffer_append_text(&b, "def"), 0);
	ck_assert_uint_eq(b.length, 8);
	ck_assert_int_eq(memcmp(b.data, "abc\0\xff" "def", 9), 0);
	ck_assert_int_eq(buffer_failed(&b), 0);
	buffer_done(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.length, 0);
	/* Usable again, under the same cap. */
	ck_assert_int_eq(buffer_append_text(&b, "x"), 0);
	ck_assert_uint_eq(b.length_max, 1000);
	buffer_done(&b);
}

TEST(test_append_nothing)
{
	struct buffer b;

	buffer_init(&b, 0);
	ck_assert_int_eq(buffer_append(&b, NULL, 0), 0);
	ck_assert_int_eq(buffer_append_text(&b, ""), 0);
	ck_assert_uint_eq(b.length, 0);
	ck_assert_str_eq(b.data, "");
	ck_assert_int_eq(buffer_append(&b, "x", 1), DDBLOCK_E_LIMIT);
	buffer_done(&b);
}

TEST(test_append_number)
{
	struct buffer b;

	buffer_init(&b, 36);
	ck_assert_int_eq(buffer_append_number(&b, 0), 0);
	ck_assert_int_eq(buffer_append_number(&b, 9), 0);
	ck_assert_int_eq(buffer_append_number(&b, 10), 0);
	ck_assert_int_eq(buffer_append_number(&b, UINT64_MAX), 0);
	ck_assert_str_eq(b.data, "091018446744073709551615");
	ck_assert_int_eq(buffer_append_number(&b, 1234567890123),
	    DDBLOCK_E_LIMIT);
	ck_assert_str_eq(b.data, "091018446744073709551615");
	buffer_done(&b);
}

TEST(test_printf)
{
	struct buffer b;

	buffer_init(&b, 1000);
	ck_assert_int_eq(buffer_printf(&b, "%s=%d", "wait", 30), 0);
	ck_assert_int_eq(buffer_printf(&b, "%s", ""), 0);
	ck_assert_int_eq(buffer_printf(&b, " %0500d", 7), 0);
	ck_assert_uint_eq(b.length, 508);
	ck_assert_int_eq(memcmp(b.data, "wait=30 000", 11), 0);
	ck_assert_int_eq(b.data[507], '7');
	ck_assert_int_eq(b.data[508], '\0');
	buffer_done(&b);
}

/* Up to the cap and not a byte beyond; a failed append adds no byte. */
TEST(test_limit)
{
	volatile size_t enormous = SIZE_MAX;	/* not for the compiler */
	struct buffer b;
	char bytes[500];

	memset(bytes, 'x', sizeof(bytes));
	buffer_init(&b, 1000);
	ck_assert_int_eq(buffer_append(&b, bytes, 500), 0);
	ck_assert_int_eq(buffer_append(&b, bytes, 500), 0);
	ck_assert_uint_eq(b.length, 1000);
	ck_assert_int_eq(b.data[1000], '\0');
	ck_assert_int_eq(buffer_append(&b, bytes, 1), DDBLOCK_E_LIMIT);
	ck_assert_uint_eq(b.length, 1000);
	buffer_done(&b);

	ck_assert_int_eq(buffer_append(&b, bytes, 500), 0);
	ck_assert_int_eq(buffer_append(&b, bytes, enormous),
	    DDBLOCK_E_LIMIT);
	buffer_clear(&b);
	ck_assert_int_eq(buffer_printf(&b, "%01001d", 1), DDBLOCK_E_LIMIT);
	ck_assert_uint_eq(b.length, 0);
	buffer_done(&b);
}

/* A failure sticks, so that a writer may ask once at the end. */
TEST(test_failure_sticks)
{
	struct buffer b;

	buffer_init(&b, 4);
	ck_assert_int_eq(buffer_append_text(&b, "abc"), 0);
	ck_assert_int_eq(buffer_append_text(&b, "def"), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(buffer_append_text(&b, "d"), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(buffer_printf(&b, "d"), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(buffer_reserve(&b, 1), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(buffer_failed(&b), DDBLOCK_E_LIMIT);
	ck_assert_str_eq(b.data, "abc");
	buffer_clear(&b);
	ck_assert_int_eq(buffer_failed(&b), 0);
	ck_assert_str_eq(b.data, "");
	ck_assert_int_eq(buffer_append_text(&b, "defg"), 0);
	ck_assert_str_eq(b.data, "defg");
	buffer_done(&b);
}

TEST(test_consume)
{
	struct buffer b;

	buffer_init(&b, 100);
	buffer_consume(&b, 0);
	ck_assert_int_eq(buffer_append_text(&b, "one two"), 0);
	buffer_consume(&b, 4);
	ck_assert_str_eq(b.data, "two");
	ck_assert_uint_eq(b.length, 3);
	ck_assert_int_eq(buffer_append_text(&b, "!"), 0);
	ck_assert_str_eq(b.data, "two!");
	buffer_consume(&b, 4);
	ck_assert_str_eq(b.data, "");
	ck_assert_uint_eq(b.length, 0);
	buffer_done(&b);
}

TEST(test_shrink)
{
	struct buffer b;
	char bytes[10000];

	memset(bytes, 'x', sizeof(bytes));
	buffer_init(&b, 20000);
	buffer_shrink(&b);
	ck_assert_int_eq(buffer_append(&b, bytes, sizeof(bytes)), 0);
	buffer_consume(&b, sizeof(bytes) - 3);
	buffer_shrink(&b);
	ck_assert_uint_lt(b.size, 200);
	ck_assert_str_eq(b.data, "xxx");
	ck_assert_int_eq(buffer_append(&b, bytes, sizeof(bytes)), 0);
	ck_assert_uint_eq(b.length, sizeof(bytes) + 3);
	buffer_consume(&b, b.length);
	buffer_shrink(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.size, 0);
	ck_assert_int_eq(buffer_append_text(&b, "again"), 0);
	ck_assert_str_eq(b.data, "again");
	buffer_done(&b);
}

TEST(test_reserve)
{
	struct buffer b;
	const char *data;

	buffer_init(&b, 5000);
	ck_assert_int_eq(buffer_reserve(&b, 4000), 0);
	ck_assert_uint_eq(b.length, 0);
	data = b.data;
	for (int i = 0; i < 4000; i++)
		ck_assert_int_eq(buffer_append(&b, "x", 1), 0);
	ck_assert_ptr_eq(b.data, data);
	ck_assert_int_eq(buffer_reserve(&b, 1001), DDBLOCK_E_LIMIT);
	buffer_done(&b);
}

TEST(test_wipe)
{
	struct buffer b;

	buffer_init(&b, 100);
	buffer_wipe(&b);
	ck_assert_int_eq(buffer_append_text(&b, "secret"), 0);
	buffer_wipe(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.length, 0);
	ck_assert_uint_eq(b.length_max, 100);
}

/* That it wipes is seen in the memory of a daemon (tests/aws). */
TEST(test_secret)
{
	struct buffer b;
	char *data = NULL;
	int moves = 0;

	buffer_init_secret(&b, 2000);
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(buffer_append(&b, i % 2 ? "b" : "a", 1), 0);
		moves += b.data != data;
		data = b.data;
	}
	ck_assert_int_gt(moves, 1);
	for (int i = 0; i < 2000; i++)
		ck_assert_int_eq(b.data[i], i % 2 ? 'b' : 'a');
	ck_assert_int_eq(b.data[2000], '\0');
	ck_assert_int_eq(buffer_append(&b, "x", 1), DDBLOCK_E_LIMIT);
	buffer_done(&b);
	ck_assert(b.secret);
	ck_assert_int_eq(buffer_append_text(&b, "again"), 0);
	buffer_consume(&b, 3);
	buffer_shrink(&b);
	ck_assert_str_eq(b.data, "in");
	buffer_consume(&b, 2);
	buffer_shrink(&b);
	ck_assert_ptr_null(b.data);
	buffer_done(&b);
}
