/*
 * Tests register themselves: the main() of test.c runs each TEST() of a file,
 * in order, so that none can be forgotten.
 *
 *	TEST(test_name)
 *	{
 *		ck_assert(...);
 *	}
 */
#ifndef DDBLOCKD_TESTS_TEST_H
#define DDBLOCKD_TESTS_TEST_H

#include <stdbool.h>

#include "suite.h"

/* Once; for each row of a table, whose number is _i; or for each _i from @from
 * to below @to. */
#define TEST(name) TEST_LOOP(name, 0, 1)
#define TEST_ROWS(name, table) TEST_LOOP(name, 0, ROWS(table))
#define TEST_LOOP(name, from, to)                                              \
	static const TTest *name;                                              \
	__attribute__((constructor)) static void name##_register(void)         \
	{                                                                      \
		test_register(name, __FILE__, (from), (to));                   \
	}                                                                      \
	START_TEST(name)

/* Called before and after each of this program's tests; NULL: none. */
#define TEST_FIXTURE(setup, teardown)                                          \
	__attribute__((constructor)) static void test_fixture_register(void)   \
	{                                                                      \
		test_set_fixture((setup), (teardown));                         \
	}

/* Skipped as a whole where another processor's programs are emulated
 * (tests/packages/port says so), for @why. */
#define TEST_NOT_EMULATED(why)                                                 \
	__attribute__((constructor)) static void test_emulated(void)           \
	{                                                                      \
		test_skip_if_emulated(why);                                    \
	}

void test_skip_if_emulated(const char *why);

/* For one test, which returns if so: it is said that it is skipped, and why. */
bool test_is_emulated(const char *why);

void test_register(const TTest *, const char *file, int from, int to);
void test_set_fixture(void (*setup)(void), void (*teardown)(void));

/* For a main() of one's own: the tests of this file, or of all (NULL). */
int test_main(const char *file);
TCase *test_case(const char *name, const char *file);

#endif
