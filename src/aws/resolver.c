/*
 * Name resolution, as a blocking job (blocking_job.h). At most one lookup at a
 * time.
 */
#include "aws/resolver.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "aws/blocking_job.h"
#include "aws/loopback.h"
#include "common/clock.h"
#include "common/error.h"

#define RESOLVER_TEXT_MAX 2048
#define RESOLVER_FIXED_NUMBER 1	/* as of a first answer */

/* One lookup. */
struct resolver_question {
	resolver_lookup_fn lookup;
	char *host;
	char *port;
	int result;		/* of getaddrinfo() */
	struct addrinfo *list;
};

struct resolver {
	struct event_base *base;
	resolver_lookup_fn lookup;
	char *host;
	char *port;
	const char *fixed;	/* its addresses are no question; or NULL */
	resolver_changed_fn changed;
	void *arg;
	struct blocking_job *job;	/* a lookup under way; or NULL */
	bool asked;		/* ever */
	bool distrusted;
	uint64_t asked_ms;	/* when the last lookup began */
	uint64_t known_ms;	/* when the addresses were asked for */
	struct buffer addresses;
	uint32_t number;
	const char *error;
};

/* ---- on the thread ---- */

static void
resolver_question_free(void *data)
{
	struct resolver_question *q = data;

	if (q->list != NULL)
		freeaddrinfo(q->list);
	free(q->host);
	free(q->port);
	free(q);
}

static void
resolver_question_ask(void *data)
{
	struct resolver_question *q = data;
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};

	q->result = q->lookup(q->host, q->port, &hints, &q->list);
	if (q->result != 0)
		q->list = NULL;
}

static const struct blocking_job_work resolver_work = {
	.work = resolver_question_ask,
	.free = resolver_question_free,
};

static struct resolver_question *
resolver_question_new(const struct resolver *s)
{
	struct resolver_question *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->lookup = s->lookup;
	q->host = strdup(s->host);
	q->port = strdup(s->port);
	if (q->host == NULL || q->port == NULL) {
		resolver_question_free(q);
		return NULL;
	}
	return q;
}

/* ---- on the loop ---- */

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

/* Take over an answer; the old addresses are kept if it has none. */
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
resolver_on_done(void *arg, void *data)
{
	struct resolver *s = arg;
	const struct resolver_question *q = data;

	s->job = NULL;
	resolver_learn(s, q->result, q->list);
	s->changed(s->arg);
}

static void
resolver_ask(struct resolver *s, uint64_t now_ms)
{
	struct resolver_question *q;

	if (s->job != NULL ||
	    (s->asked && now_ms - s->asked_ms < RESOLVER_PAUSE_MS))
		return;
	s->asked = true;
	s->asked_ms = now_ms;
	q = resolver_question_new(s);
	if (q == NULL || blocking_job_start(s->base, &resolver_work, q,
	    resolver_on_done, s, &s->job) < 0) {
		s->error = q == NULL ? "out of memory" :
		    "a thread cannot be started";
		return;
	}
	s->distrusted = false;
}

int
resolver_new(struct event_base *base, const char *host, const char *port,
    resolver_lookup_fn lookup, resolver_changed_fn changed, void *arg,
    struct resolver **ret)
{
	struct resolver *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	s->fixed = loopback_addresses(host);
	s->lookup = lookup != NULL ? lookup : getaddrinfo;
	s->changed = changed;
	s->arg = arg;
	s->error = "";
	buffer_init(&s->addresses, RESOLVER_TEXT_MAX);
	s->host = strdup(host);
	s->port = strdup(port);
	if (s->host == NULL || s->port == NULL) {
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
	blocking_job_abandon(s->job);
	buffer_done(&s->addresses);
	free(s->host);
	free(s->port);
	free(s);
}

const char *
resolver_addresses(struct resolver *s, uint64_t now_ms, uint32_t *ret_number)
{
	if (s->fixed != NULL) {
		*ret_number = RESOLVER_FIXED_NUMBER;
		return s->fixed;
	}
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
	return s->job != NULL;
}

const char *
resolver_error(const struct resolver *s)
{
	return s->error;
}
