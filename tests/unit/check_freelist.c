/*
 * Spare pieces of memory: they come again, and no more are kept than said.
 */
#include <stdlib.h>
#include <string.h>

#include "common/freelist.h"
#include "test.h"

#define SIZE 100

TEST(test_again)
{
	struct freelist s = { .n = 0 };
	void *one = freelist_take(&s, SIZE);
	void *two = freelist_take(&s, SIZE);

	ck_assert_ptr_nonnull(one);
	ck_assert_ptr_nonnull(two);
	ck_assert_ptr_ne(one, two);
	memset(one, 'x', SIZE);
	memset(two, 'x', SIZE);
	freelist_give(&s, one);
	freelist_give(&s, two);
	ck_assert_uint_eq(s.n, 2);
	ck_assert_ptr_eq(freelist_take(&s, SIZE), two);
	ck_assert_ptr_eq(freelist_take(&s, SIZE), one);
	ck_assert_uint_eq(s.n, 0);
	memset(one, 'x', SIZE);
	free(one);
	freelist_give(&s, two);
	freelist_done(&s);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_ptr_null(s.first);
	freelist_done(&s);
}

/* Blocks above the limit are freed, as the sanitizer sees. */
TEST(test_most)
{
	static void *pieces[FREELIST_MAX + 10];
	size_t n = sizeof(pieces) / sizeof(pieces[0]);
	struct freelist s = { .n = 0 };

	for (size_t i = 0; i < n; i++) {
		pieces[i] = freelist_take(&s, SIZE);
		ck_assert_ptr_nonnull(pieces[i]);
	}
	for (size_t i = 0; i < n; i++)
		freelist_give(&s, pieces[i]);
	ck_assert_uint_eq(s.n, FREELIST_MAX);
	freelist_done(&s);
	ck_assert_uint_eq(s.n, 0);
}
