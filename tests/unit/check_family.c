/*
 * Who descends from a process, and signals to them.
 */
#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/family.h"
#include "suite.h"

#define KIDS 300	/* more than one piece of a list has */

static int ready[2];
static int end_with_parent;	/* by that signal, should a test fail */

/* One that waits for signals, with a child that does. */
static void
family_kid(void)
{
	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, end_with_parent);
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, end_with_parent);
		(void)setpgid(0, 0);
	}
	(void)!write(ready[1], "", 1);
	for (;;)
		(void)pause();
}

static void *
family_thread(void *arg)
{
	pid_t *pid = arg;

	*pid = fork();
	if (*pid == 0)
		family_kid();
	(void)pause(); /* its children are not the first thread's */
	return NULL;
}

static int
family_compare(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

static void
family_wait(int n)
{
	char c;

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
}

static struct family listed, scanned;

START_TEST(test_family)
{
	struct family_choice any = { .group_not = 0 };
	struct family_choice session = {
		.one_session = true,
		.session = getsid(0),
	};
	struct family_choice ended = { .ended_too = true };
	struct family_root root, unlisted = FAMILY_NONE;
	pthread_t thread;
	pid_t first = 0;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(family_open(&root, getpid()), 0);
	unlisted.pid = root.pid;
	unlisted.all = root.all;
	ck_assert_uint_eq(family_signal(&root, 0, &any), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, family_thread, &first),
	    0);
	for (int i = 1; i < KIDS; i++) {
		if (fork() == 0)
			family_kid();
	}
	family_wait(2 * KIDS);
	ck_assert(family_add_children(&listed, &root));
	ck_assert(family_add_children(&scanned, &unlisted));
	ck_assert_uint_eq(listed.n, KIDS);
	ck_assert_uint_eq(scanned.n, KIDS);
	qsort(listed.pids, KIDS, sizeof(pid_t), family_compare);
	qsort(scanned.pids, KIDS, sizeof(pid_t), family_compare);
	ck_assert_mem_eq(listed.pids, scanned.pids, KIDS * sizeof(pid_t));

	ck_assert_uint_eq(family_signal(&root, 0, &session), 0);
	session.session = first;
	ck_assert_uint_eq(family_signal(&root, 0, &session), 2);
	any.group_not = first;
	ck_assert_uint_eq(family_signal(&root, 0, &any), 2 * KIDS - 1);
	listed.n = 0;
	listed.pids[listed.n++] = first;
	any = (struct family_choice){ .not = &listed };
	ck_assert_uint_eq(family_signal(&root, 0, &any), 2 * KIDS - 2);
	ck_assert_uint_eq(family_signal(&root, SIGKILL, &any),
	    2 * KIDS - 2);
	while (family_signal(&root, SIGKILL, &ended) > 0)
		(void)waitpid(-1, NULL, 0);
	ck_assert_int_lt(waitpid(-1, NULL, 0), 0);
	family_close(&root);
}
END_TEST

/* Everything that could be opened is: those that are its own are seen, and of
 * the others that there may be some. */
START_TEST(test_nothing_can_be_opened)
{
	const struct family_choice any = { .group_not = 0 };
	const struct family_choice ended = { .ended_too = true };
	struct rlimit before, none;
	struct family_root roots[2];
	pid_t pid;

	end_with_parent = SIGKILL;
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(family_open(&roots[0], getpid()), 0);
	roots[1] = roots[0];
	roots[1].children = -1; /* a kernel that does not list them */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(family_signal(&roots[i], 0, &ended), 0);
		pid = fork();
		if (pid == 0)
			family_kid();
		family_wait(1);
		ck_assert_uint_eq(family_signal(&roots[i], 0, &any), 1);
		ck_assert_uint_eq(family_signal(&roots[i], 0,
		    &(struct family_choice){ .group_not = pid }), 1);
		ck_assert_uint_eq(family_signal(&roots[i], 0,
		    &(struct family_choice){ .one_session = true,
			.session = pid }), 1);
		while (family_signal(&roots[i], SIGKILL, &ended) > 0)
			(void)waitpid(-1, NULL, 0);
		ck_assert_int_lt(waitpid(-1, NULL, 0), 0);
	}
	/* What looks for leaks at the end opens files. */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { test_family,
		test_nothing_can_be_opened, NULL };

	return suite_run("family", tests);
}
