/*
 * Who descends from a process, and signals to them.
 */
#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/family.h"
#include "suite.h"

#define KIDS 300	/* more than one piece of a list has */

static int ready[2];

/* One that waits for signals, with a child that does. */
static void
family_kid(void)
{
	(void)setsid();
	if (fork() == 0)
		(void)setpgid(0, 0);
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
	pthread_t thread;
	pid_t first = 0;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_uint_eq(family_signal(getpid(), 0, &any), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, family_thread, &first),
	    0);
	for (int i = 1; i < KIDS; i++) {
		if (fork() == 0)
			family_kid();
	}
	family_wait(2 * KIDS);
	family_add_children(&listed, getpid());
	family_add_children_slowly(&scanned, getpid());
	ck_assert_uint_eq(listed.n, KIDS);
	ck_assert_uint_eq(scanned.n, KIDS);
	qsort(listed.pids, KIDS, sizeof(pid_t), family_compare);
	qsort(scanned.pids, KIDS, sizeof(pid_t), family_compare);
	ck_assert_mem_eq(listed.pids, scanned.pids, KIDS * sizeof(pid_t));

	ck_assert_uint_eq(family_signal(getpid(), 0, &session), 0);
	session.session = first;
	ck_assert_uint_eq(family_signal(getpid(), 0, &session), 2);
	any.group_not = first;
	ck_assert_uint_eq(family_signal(getpid(), 0, &any), 2 * KIDS - 1);
	listed.n = 0;
	listed.pids[listed.n++] = first;
	any = (struct family_choice){ .not = &listed };
	ck_assert_uint_eq(family_signal(getpid(), 0, &any), 2 * KIDS - 2);
	ck_assert_uint_eq(family_signal(getpid(), SIGKILL, &any),
	    2 * KIDS - 2);
	while (family_signal(getpid(), SIGKILL, &ended) > 0)
		(void)waitpid(-1, NULL, 0);
	ck_assert_int_lt(waitpid(-1, NULL, 0), 0);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { test_family, NULL };

	return suite_run("family", tests);
}
