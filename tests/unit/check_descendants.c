/*
 * The descendants of a process, and signals to them.
 */
#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/hold/descendants.h"
#include "test.h"

#define KIDS 300	/* more than one piece of a list has */

static int ready[2];
static int end_with_parent;	/* by that signal, should a test fail */

/* One that waits for signals, with a child that does. */
static void
descendants_kid(void)
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
descendants_thread(void *arg)
{
	pid_t *pid = arg;

	*pid = fork();
	if (*pid == 0)
		descendants_kid();
	(void)pause(); /* its children are not the first thread's */
	return NULL;
}

static int
descendants_compare(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

static void
descendants_wait(int n)
{
	char c;

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
}

TEST_NOT_EMULATED("qemu knows no PR_SET_CHILD_SUBREAPER")

static struct descendants listed, scanned;

TEST(test_descendants)
{
	struct descendants_filter any = { .except_group = 0 };
	struct descendants_filter session = {
		.one_session = true,
		.session = getsid(0),
	};
	struct descendants_filter ended = { .with_ended = true };
	struct ancestor ancestor, unlisted = ANCESTOR_NONE;
	pthread_t thread;
	pid_t first = 0;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(ancestor_open(&ancestor, getpid()), 0);
	unlisted.pid = ancestor.pid;
	unlisted.all = ancestor.all;
	ck_assert_uint_eq(descendants_signal(&ancestor, 0, &any), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, descendants_thread,
	    &first), 0);
	for (int i = 1; i < KIDS; i++) {
		if (fork() == 0)
			descendants_kid();
	}
	descendants_wait(2 * KIDS);
	ck_assert(descendants_add_children(&listed, &ancestor));
	ck_assert(descendants_add_children(&scanned, &unlisted));
	ck_assert_uint_eq(listed.n, KIDS);
	ck_assert_uint_eq(scanned.n, KIDS);
	qsort(listed.pids, KIDS, sizeof(pid_t), descendants_compare);
	qsort(scanned.pids, KIDS, sizeof(pid_t), descendants_compare);
	ck_assert_mem_eq(listed.pids, scanned.pids, KIDS * sizeof(pid_t));

	ck_assert_uint_eq(descendants_signal(&ancestor, 0, &session), 0);
	session.session = first;
	ck_assert_uint_eq(descendants_signal(&ancestor, 0, &session), 2);
	any.except_group = first;
	ck_assert_uint_eq(descendants_signal(&ancestor, 0, &any), 2 * KIDS - 1);
	listed.n = 0;
	listed.pids[listed.n++] = first;
	any = (struct descendants_filter){ .except = &listed };
	ck_assert_uint_eq(descendants_signal(&ancestor, 0, &any), 2 * KIDS - 2);
	ck_assert_uint_eq(descendants_signal(&ancestor, SIGKILL, &any),
	    2 * KIDS - 2);
	while (descendants_signal(&ancestor, SIGKILL, &ended) > 0)
		(void)waitpid(-1, NULL, 0);
	ck_assert_int_lt(waitpid(-1, NULL, 0), 0);
	ancestor_close(&ancestor);
}

/* All descriptors are in use: its own children are seen, and of other
 * descendants only that there may be some. */
TEST(test_nothing_can_be_opened)
{
	const struct descendants_filter any = { .except_group = 0 };
	const struct descendants_filter ended = { .with_ended = true };
	struct rlimit before, none;
	struct ancestor roots[2];
	pid_t pid;

	end_with_parent = SIGKILL;
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(ancestor_open(&roots[0], getpid()), 0);
	roots[1] = roots[0];
	roots[1].children = -1; /* a kernel that does not list them */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(descendants_signal(&roots[i], 0, &ended), 0);
		pid = fork();
		if (pid == 0)
			descendants_kid();
		descendants_wait(2); /* also the one that ends with it */
		ck_assert_uint_eq(descendants_signal(&roots[i], 0, &any), 1);
		ck_assert_uint_eq(descendants_signal(&roots[i], 0,
		    &(struct descendants_filter){ .except_group = pid }), 1);
		ck_assert_uint_eq(descendants_signal(&roots[i], 0,
		    &(struct descendants_filter){ .one_session = true,
			.session = pid }), 1);
		while (descendants_signal(&roots[i], SIGKILL, &ended) > 0)
			(void)waitpid(-1, NULL, 0);
		ck_assert_int_lt(waitpid(-1, NULL, 0), 0);
	}
	/* What looks for leaks at the end opens files. */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
