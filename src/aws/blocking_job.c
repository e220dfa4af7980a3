/*
 * Work on a detached thread. It tells the loop through an eventfd.
 */
#include "aws/blocking_job.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"

#define BLOCKING_JOB_STACK_BYTES (256 * 1024)

/* What thread and loop share. */
struct blocking_job_shared {
	pthread_mutex_t mutex;
	int owners;		/* under the mutex */
	int wake_fd;
	const struct blocking_job_work *work;
	void *data;		/* the thread's until it wakes the loop */
};

struct blocking_job {
	struct blocking_job_shared *shared;
	struct event *wake;
	blocking_job_done_fn done;
	void *arg;
};

static void
blocking_job_release(struct blocking_job_shared *j)
{
	bool last;

	(void)pthread_mutex_lock(&j->mutex);
	last = --j->owners == 0;
	(void)pthread_mutex_unlock(&j->mutex);
	if (!last)
		return;
	j->work->free(j->data);
	if (j->wake_fd >= 0)
		(void)close(j->wake_fd);
	(void)pthread_mutex_destroy(&j->mutex);
	free(j);
}

static void *
blocking_job_run(void *arg)
{
	struct blocking_job_shared *j = arg;
	uint64_t one = 1;

	j->work->work(j->data);
	/* Cannot fail: the counter is at 0. It also orders what was written
	 * before what the loop reads; the mutex does so for the tools. */
	(void)pthread_mutex_lock(&j->mutex);
	(void)!write(j->wake_fd, &one, sizeof(one));
	(void)pthread_mutex_unlock(&j->mutex);
	blocking_job_release(j);
	return NULL;
}

static int
blocking_job_spawn(struct blocking_job_shared *j)
{
	sigset_t all, old;
	pthread_attr_t attributes;
	pthread_t thread;
	int e;

	if (pthread_attr_init(&attributes) != 0)
		return DDBLOCK_E_SYSTEM;
	(void)pthread_attr_setdetachstate(&attributes,
	    PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, BLOCKING_JOB_STACK_BYTES);
	/* Signals are the loop's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	j->owners++;	/* there is no other thread yet */
	e = pthread_create(&thread, &attributes, blocking_job_run, j);
	if (e != 0)
		j->owners--;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attributes);
	return e == 0 ? 0 : DDBLOCK_E_SYSTEM;
}

static void
blocking_job_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct blocking_job *a = arg;

	(void)fd;
	(void)what;
	(void)pthread_mutex_lock(&a->shared->mutex);
	(void)pthread_mutex_unlock(&a->shared->mutex);
	a->done(a->arg, a->shared->data);
	blocking_job_abandon(a);
}

static struct blocking_job_shared *
blocking_job_shared_new(const struct blocking_job_work *work, void *data)
{
	struct blocking_job_shared *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		work->free(data);
		return NULL;
	}
	j->owners = 1;
	j->work = work;
	j->data = data;
	j->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&j->mutex, NULL);
	return j;
}

int
blocking_job_start(struct event_base *base,
    const struct blocking_job_work *work, void *data, blocking_job_done_fn done,
    void *arg, struct blocking_job **ret)
{
	struct blocking_job *a;
	int r = DDBLOCK_E_NOMEM;
	struct blocking_job_shared *j = blocking_job_shared_new(work, data);

	if (j == NULL)
		return r;
	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		blocking_job_release(j);
		return r;
	}
	*a = (struct blocking_job){ .shared = j, .done = done, .arg = arg };
	if (j->wake_fd < 0)
		r = DDBLOCK_E_SYSTEM;
	else
		a->wake = event_new(base, j->wake_fd, EV_READ,
		    blocking_job_on_wake, a);
	if (a->wake != NULL && event_add(a->wake, NULL) == 0)
		r = blocking_job_spawn(j);
	if (r < 0) {
		blocking_job_abandon(a);
		return r;
	}
	*ret = a;
	return 0;
}

void
blocking_job_abandon(struct blocking_job *a)
{
	if (a == NULL)
		return;
	if (a->wake != NULL)
		event_free(a->wake);
	blocking_job_release(a->shared);
	free(a);
}
