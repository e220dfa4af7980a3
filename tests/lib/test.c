/*
 * The tests of a program, and a main() for programs without their own.
 */
#define _GNU_SOURCE 1 /* program_invocation_short_name */

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TESTS_MAX 256
#define TEST_TIMEOUT_S 600	/* generous: sanitizers on a busy machine */

static struct {
	const TTest *test;
	const char *file;
	int from, to;
} tests[TESTS_MAX];
static size_t n_tests;
static void (*test_setup)(void);
static void (*test_teardown)(void);

bool
test_is_emulated(const char *why)
{
	if (getenv("DDBLOCK_EMULATED") == NULL)
		return false;
	(void)fprintf(stderr, "skipped 'emulated, and %s'\n", why);
	return true;
}

void
test_skip_if_emulated(const char *why)
{
	if (test_is_emulated(why))
		_exit(77);
}

void
test_register(const TTest *test, const char *file, int from, int to)
{
	if (n_tests == TESTS_MAX)
		abort();
	tests[n_tests].test = test;
	tests[n_tests].file = file;
	tests[n_tests].from = from;
	tests[n_tests++].to = to;
}

void
test_set_fixture(void (*setup)(void), void (*teardown)(void))
{
	test_setup = setup;
	test_teardown = teardown;
}

TCase *
test_case(const char *name, const char *file)
{
	TCase *cases = tcase_create(name);

	tcase_set_timeout(cases, TEST_TIMEOUT_S);
	tcase_add_checked_fixture(cases, test_setup, test_teardown);
	for (size_t i = 0; i < n_tests; i++) {
		if (file == NULL || strcmp(tests[i].file, file) == 0)
			tcase_add_loop_test(cases, tests[i].test,
			    tests[i].from, tests[i].to);
	}
	return cases;
}

int
test_main(const char *file)
{
	const char *name = program_invocation_short_name;
	Suite *suite = suite_create(name);

	suite_add_tcase(suite, test_case(name, file));
	return suite_end(suite);
}

__attribute__((weak)) int
main(void)
{
	return test_main(NULL);
}
