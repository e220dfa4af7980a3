/*
 * Name resolution on a detached thread.
 *
 * At most one thread at a time. It tells the loop through an eventfd; the
 * answer is handed over under a mutex, in an object with two owners.
 */
#include "aws/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"

#define RESOLVER_TEXT_MAX 2048
#define RESOLVER_STACK_BYTES (256 * 1024)

/* What thread and loop share. @host, @port and @lookup never change. */
struct resolver_job {
	pthread_mutex_t mutex;
	int owners;		/* under the mutex, like the rest */
	int wake_fd;
	int result;		/* of getaddrinfo() */
	struct addrinfo *list;
	resolver_lookup_fn lookup;
	char *host;
	char *port;
};

struct resolver {
	struct resolver_job *job;
	struct event *wake;
	resolver_changed_fn changed;
	void *arg;
	bool busy;
	bool asked;		/* ever */
	bool distrusted;
	uint64_t asked_ms;	/* when the last lookup began */
	uint64_t known_ms;	/* when the addresses were asked for */
	struct buffer addresses;
	uint32_t number;
	const char *error;
};

/* The thread before may still be on its way out, and be an owner. */
static void
resolver_job_own(struct resolver_job *j)
{
	(void)pthread_mutex_lock(&j->mutex);
	j->owners++;
	(void)pthread_mutex_unlock(&j->mutex);
}

static void
resolver_job_release(struct resolver_job *j)
{
	bool last;

	(void)pthread_mutex_lock(&j->mutex);
	last = --j->owners == 0;
	(void)pthread_mutex_unlock(&j->mutex);
	if (!last)
		return;
	if (j->list != NULL)
		freeaddrinfo(j->list);
	if (j->wake_fd >= 0)
		(void)close(j->wake_fd);
	(void)pthread_mutex_destroy(&j->mutex);
	free(j->host);
	free(j->port);
	free(j);
}

static void *
resolver_run(void *arg)
{
	struct resolver_job *j = arg;
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list = NULL;
	uint64_t one = 1;
	int r = j->lookup(j->host, j->port, &hints, &list);

	(void)pthread_mutex_lock(&j->mutex);
	j->result = r;
	j->list = r == 0 ? list : NULL;
	(void)pthread_mutex_unlock(&j->mutex);
	/* Cannot fail: the counter is at 0. */
	(void)!write(j->wake_fd, &one, sizeof(one));
	resolver_job_release(j);
	return NULL;
}

static int
resolver_spawn(struct resolver_job *j)
{
	sigset_t all, old;
	pthread_attr_t attributes;
	pthread_t thread;
	int e;

	if (pthread_attr_init(&attributes) != 0)
		return DDBLOCK_E_SYSTEM;
	(void)pthread_attr_setdetachstate(&attributes,
	    PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, RESOLVER_STACK_BYTES);
	/* Signals are the loop's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	resolver_job_own(j);
	e = pthread_create(&thread, &attributes, resolver_run, j);
	if (e != 0)
		resolver_job_release(j); /* never the last: we are another */
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attributes);
	return e == 0 ? 0 : DDBLOCK_E_SYSTEM;
}

static void
resolver_ask(struct resolver *s, uint64_t now_ms)
{
	uint64_t asked_ms = s->asked_ms;

	if (s->busy || (s->asked && now_ms - asked_ms < RESOLVER_PAUSE_MS))
		return;
	s->asked = true;
	s->asked_ms = now_ms;
	if (resolver_spawn(s->job) < 0) {
		s->error = "a thread cannot be started";
		return;
	}
	s->busy = true;
	s->distrusted = false;
}

static void
resolver_append(struct buffer *b, const struct addrinfo *a)
{
	char text[INET6_ADDRSTRLEN];
	bool v6 = a->ai_family == AF_INET6;
	const void *address;

	if (v6)
		address = &((const struct sockaddr_in6 *)
		    (const void *)a->ai_addr)->sin6_addr;
	else if (a->ai_family == AF_INET)
		address = &((const struct sockaddr_in *)
		    (const void *)a->ai_addr)->sin_addr;
	else
		return;
	if (inet_ntop(a->ai_family, address, text, sizeof(text)) == NULL)
		return;
	(void)buffer_printf(b, "%s%s%s%s", b->length > 0 ? "," : "",
	    v6 ? "[" : "", text, v6 ? "]" : "");
}

/* Take over an answer; what there was stays if it is of no use. */
static void
resolver_learn(struct resolver *s, int result, const struct addrinfo *list)
{
	struct buffer fresh;
	int n = 0;

	buffer_init(&fresh, RESOLVER_TEXT_MAX);
	for (; list != NULL && n < RESOLVER_ADDRESSES_MAX;
	    list = list->ai_next, n++)
		resolver_append(&fresh, list);
	if (result != 0 || buffer_failed(&fresh) < 0 || fresh.length == 0) {
		s->error = result != 0 ? gai_strerror(result) :
		    "it has no address";
		buffer_done(&fresh);
		return;
	}
	s->error = "";
	s->known_ms = s->asked_ms;
	if (s->addresses.data != NULL &&
	    strcmp(s->addresses.data, fresh.data) == 0) {
		buffer_done(&fresh);
		return;
	}
	buffer_done(&s->addresses);
	s->addresses = fresh;
	s->number++;
}

static void
resolver_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *s = arg;
	struct addrinfo *list;
	uint64_t count;
	int result;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0)
		return;
	(void)pthread_mutex_lock(&s->job->mutex);
	list = s->job->list;
	result = s->job->result;
	s->job->list = NULL;
	(void)pthread_mutex_unlock(&s->job->mutex);

	s->busy = false;
	resolver_learn(s, result, list);
	if (list != NULL)
		freeaddrinfo(list);
	s->changed(s->arg);
}

static struct resolver_job *
resolver_job_new(const char *host, const char *port,
    resolver_lookup_fn lookup)
{
	struct resolver_job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->owners = 1;
	j->lookup = lookup != NULL ? lookup : getaddrinfo;
	j->host = strdup(host);
	j->port = strdup(port);
	j->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&j->mutex, NULL);
	if (j->host == NULL || j->port == NULL || j->wake_fd < 0) {
		resolver_job_release(j);
		return NULL;
	}
	return j;
}

int
resolver_new(struct event_base *base, const char *host, const char *port,
    resolver_lookup_fn lookup, resolver_changed_fn changed, void *arg,
    struct resolver **ret)
{
	struct resolver *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->changed = changed;
	s->arg = arg;
	s->error = "";
	buffer_init(&s->addresses, RESOLVER_TEXT_MAX);
	s->job = resolver_job_new(host, port, lookup);
	if (s->job == NULL) {
		resolver_free(s);
		return DDBLOCK_E_SYSTEM;
	}
	s->wake = event_new(base, s->job->wake_fd, EV_READ | EV_PERSIST,
	    resolver_on_wake, s);
	if (s->wake == NULL || event_add(s->wake, NULL) < 0) {
		resolver_free(s);
		return DDBLOCK_E_NOMEM;
	}
	*ret = s;
	return 0;
}

void
resolver_free(struct resolver *s)
{
	if (s == NULL)
		return;
	if (s->wake != NULL)
		event_free(s->wake);
	if (s->job != NULL)
		resolver_job_release(s->job);
	buffer_done(&s->addresses);
	free(s);
}

const char *
resolver_addresses(struct resolver *s, uint64_t now_ms, uint32_t *ret_number)
{
	if (s->addresses.length == 0 || s->distrusted ||
	    now_ms - s->known_ms >= RESOLVER_FRESH_MS)
		resolver_ask(s, now_ms);
	if (s->addresses.length == 0)
		return NULL;
	*ret_number = s->number;
	return s->addresses.data;
}

void
resolver_distrust(struct resolver *s)
{
	s->distrusted = true;
}

bool
resolver_busy(const struct resolver *s)
{
	return s->busy;
}

const char *
resolver_error(const struct resolver *s)
{
	return s->error;
}
