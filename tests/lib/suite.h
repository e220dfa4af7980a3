/*
 * The end of a test program: runs its suite. And all of a program of scenarios:
 * one suite, one case, a generous time limit for sanitizers on a busy machine.
 */
#ifndef DDBLOCKD_TESTS_SUITE_H
#define DDBLOCKD_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Of a table with a test for each row, which has its number in _i. */
#define ROWS(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Run it and free it. Returns the exit status of the program. */
static inline int
suite_end(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Each test so many times, with its number in _i. */
static inline int
suite_run_loops(const char *name, const TTest *const *tests, int n)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 600);
	for (; *tests != NULL; tests++)
		tcase_add_loop_test(tcase, *tests, 0, n);
	suite_add_tcase(suite, tcase);
	return suite_end(suite);
}

static inline int
suite_run(const char *name, const TTest *const *tests)
{
	return suite_run_loops(name, tests, 1);
}

#endif
