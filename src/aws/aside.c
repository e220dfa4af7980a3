/*
 * Work on a detached thread. It tells the loop through an eventfd.
 */
#include "aws/aside.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"

#define ASIDE_STACK_BYTES (256 * 1024)

/* What thread and loop share. */
struct aside_job {
	pthread_mutex_t mutex;
	int owners;		/* under the mutex */
	int wake_fd;
	const struct aside_work *work;
	void *data;		/* the thread's until it wakes the loop */
};

struct aside {
	struct aside_job *job;
	struct event *wake;
	aside_done_fn done;
	void *arg;
};

static void
aside_release(struct aside_job *j)
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
aside_run(void *arg)
{
	struct aside_job *j = arg;
	uint64_t one = 1;

	j->work->work(j->data);
	/* Cannot fail: the counter is at 0. It also orders what was written
	 * before what the loop reads; the mutex does so for the tools. */
	(void)pthread_mutex_lock(&j->mutex);
	(void)!write(j->wake_fd, &one, sizeof(one));
	(void)pthread_mutex_unlock(&j->mutex);
	aside_release(j);
	return NULL;
}

static int
aside_spawn(struct aside_job *j)
{
	sigset_t all, old;
	pthread_attr_t attributes;
	pthread_t thread;
	int e;

	if (pthread_attr_init(&attributes) != 0)
		return DDBLOCK_E_SYSTEM;
	(void)pthread_attr_setdetachstate(&attributes,
	    PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, ASIDE_STACK_BYTES);
	/* Signals are the loop's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	j->owners++;	/* there is no other thread yet */
	e = pthread_create(&thread, &attributes, aside_run, j);
	if (e != 0)
		j->owners--;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attributes);
	return e == 0 ? 0 : DDBLOCK_E_SYSTEM;
}

static void
aside_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct aside *a = arg;

	(void)fd;
	(void)what;
	(void)pthread_mutex_lock(&a->job->mutex);
	(void)pthread_mutex_unlock(&a->job->mutex);
	a->done(a->arg, a->job->data);
	aside_leave(a);
}

static struct aside_job *
aside_job_new(const struct aside_work *work, void *data)
{
	struct aside_job *j = calloc(1, sizeof(*j));

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
aside_start(struct event_base *base, const struct aside_work *work,
    void *data, aside_done_fn done, void *arg, struct aside **ret)
{
	struct aside *a;
	int r = DDBLOCK_E_NOMEM;
	struct aside_job *j = aside_job_new(work, data);

	if (j == NULL)
		return r;
	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		aside_release(j);
		return r;
	}
	*a = (struct aside){ .job = j, .done = done, .arg = arg };
	if (j->wake_fd < 0)
		r = DDBLOCK_E_SYSTEM;
	else
		a->wake = event_new(base, j->wake_fd, EV_READ, aside_on_wake,
		    a);
	if (a->wake != NULL && event_add(a->wake, NULL) == 0)
		r = aside_spawn(j);
	if (r < 0) {
		aside_leave(a);
		return r;
	}
	*ret = a;
	return 0;
}

void
aside_leave(struct aside *a)
{
	if (a == NULL)
		return;
	if (a->wake != NULL)
		event_free(a->wake);
	aside_release(a->job);
	free(a);
}
