/*
 * An endpoint that answers as DynamoDB does and costs next to nothing: the
 * simulation's model of the service behind HTTP without TLS, in a process of
 * its own, with a delay if asked for.
 */
#define _GNU_SOURCE 1 /* memmem() */

#include "bench.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/sim/dynamo.h"

#define ENDPOINT_BACKLOG 1024
#define ENDPOINT_SESSION_MAX 32		/* hexadecimal digits */
#define ENDPOINT_TARGET "DynamoDB_20120810."

/* Of one session. */
struct endpoint_renewal {
	char session[ENDPOINT_SESSION_MAX];
	uint32_t number;	/* of renewals */
	uint32_t attempts;	/* 0: none is under way */
	bool first_late;
	double begun_us;
};

struct endpoint_server {
	struct event_base *base;
	struct dynamo *model;
	int delay_ms;
	struct endpoint_tail *tail;
	uint32_t dice;
	struct endpoint_renewal renewals[ENDPOINT_TABLES];
};

/* An answer that is due later. */
struct endpoint_answer {
	struct endpoint_server *server;
	struct evhttp_request *request;
	struct evbuffer *body;
	int status;
	struct endpoint_renewal *renewal;	/* or NULL */
	uint32_t number;
};

/* ---- renewals ---- */

/* NULL: it is not the renewal of a session. */
static struct endpoint_renewal *
endpoint_find_renewal(struct endpoint_server *s, const char *body,
    size_t length)
{
	const char *key = memmem(body, length, "\"session:", 9);
	struct endpoint_renewal *r = s->renewals;

	if (key == NULL || memmem(body, length, "SET #beat", 9) == NULL)
		return NULL;
	for (; r < s->renewals + ENDPOINT_TABLES; r++) {
		if (r->session[0] == '\0')
			memcpy(r->session, key + 9, ENDPOINT_SESSION_MAX);
		if (memcmp(r->session, key + 9, ENDPOINT_SESSION_MAX) == 0)
			return r;
	}
	abort();
}

/* An attempt has come. Returns by how much its answer is late. */
static int
endpoint_take_attempt(struct endpoint_server *s, struct endpoint_answer *a,
    const char *body, size_t length)
{
	uint32_t dice = s->dice = s->dice * 1103515245 + 12345;
	bool late = (dice >> 16) % s->tail->one_in == 0;
	struct endpoint_renewal *r = endpoint_find_renewal(s, body, length);

	a->renewal = r;
	if (r != NULL && r->attempts++ == 0) {
		r->number++;
		r->begun_us = now_us();
		r->first_late = late;
	}
	if (r != NULL)
		a->number = r->number;
	return late ? (int)s->tail->late_ms : 0;
}

static void
endpoint_count_answer(const struct endpoint_answer *a)
{
	struct endpoint_tail *tail = a->server->tail;
	struct endpoint_renewal *r = a->renewal;

	if (r == NULL || r->number != a->number || r->attempts == 0)
		return;
	if (tail->counting) {
		tail->renewals++;
		tail->attempts += r->attempts;
		tail->first_late += r->first_late;
		tail->late += now_us() - r->begun_us >
		    tail->limit_ms * 1000.0;
	}
	r->attempts = 0;
}

/* ---- requests ---- */

static void
endpoint_send(evutil_socket_t fd, short what, void *arg)
{
	struct endpoint_answer *a = arg;

	(void)fd;
	(void)what;
	endpoint_count_answer(a);
	evhttp_send_reply(a->request, a->status, "said", a->body);
	evbuffer_free(a->body);
	free(a);
}

static void
endpoint_on_request(struct evhttp_request *request, void *arg)
{
	struct endpoint_server *s = arg;
	struct evbuffer *in = evhttp_request_get_input_buffer(request);
	const char *target = evhttp_find_header(
	    evhttp_request_get_input_headers(request), "X-Amz-Target");
	struct endpoint_answer *a = calloc(1, sizeof(*a));
	struct dynamo_answer answer;
	int delay_ms = s->delay_ms;
	struct timeval t;

	if (target == NULL || a == NULL ||
	    strncmp(target, ENDPOINT_TARGET, strlen(ENDPOINT_TARGET)) != 0)
		abort();
	a->server = s;
	if (s->tail != NULL)
		delay_ms += endpoint_take_attempt(s, a,
		    (const char *)evbuffer_pullup(in, -1),
		    evbuffer_get_length(in));
	dynamo_answer_init(&answer);
	dynamo_request(s->model, clock_wall_ms(),
	    target + strlen(ENDPOINT_TARGET),
	    (const char *)evbuffer_pullup(in, -1), evbuffer_get_length(in),
	    &answer);
	a->request = request;
	a->status = answer.status;
	a->body = evbuffer_new();
	evbuffer_add(a->body, answer.body.data, answer.body.length);
	dynamo_answer_done(&answer);
	evhttp_add_header(evhttp_request_get_output_headers(request),
	    "Content-Type", "application/x-amz-json-1.0");
	t = clock_interval((uint64_t)delay_ms);
	if (delay_ms == 0)
		endpoint_send(-1, 0, a);
	else
		event_base_once(s->base, -1, EV_TIMEOUT, endpoint_send, a, &t);
}

static void
endpoint_make_table(struct endpoint_server *s, const char *name)
{
	struct dynamo_answer answer;
	char body[512];

	snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":"
	    "[{\"AttributeName\":\"key\",\"AttributeType\":\"S\"}],"
	    "\"KeySchema\":[{\"AttributeName\":\"key\",\"KeyType\":\"HASH\"}]}",
	    name);
	dynamo_answer_init(&answer);
	dynamo_request(s->model, clock_wall_ms(), "CreateTable", body,
	    strlen(body), &answer);
	if (answer.status != 200)
		abort();
	dynamo_answer_done(&answer);
}

static void
endpoint_make_tables(struct endpoint_server *s)
{
	char name[32];

	endpoint_make_table(s, ENDPOINT_TABLE);
	for (int i = 1; s->tail != NULL && i < ENDPOINT_TABLES; i++) {
		snprintf(name, sizeof(name), ENDPOINT_TABLE "%d", i);
		endpoint_make_table(s, name);
	}
}

static void
endpoint_serve(int fd, int delay_ms, struct endpoint_tail *tail)
{
	struct endpoint_server s = {
		.base = event_base_new(), .model = dynamo_new(),
		.delay_ms = delay_ms, .tail = tail,
	};
	struct evhttp *http = evhttp_new(s.base);

	if (s.model == NULL || http == NULL)
		abort();
	endpoint_make_tables(&s);
	evhttp_set_gencb(http, endpoint_on_request, &s);
	if (evhttp_accept_socket(http, fd) != 0)
		abort();
	event_base_dispatch(s.base);
}

pid_t
endpoint_start(int delay_ms, struct endpoint_tail *tail, char *ret_url,
    size_t url_size)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
	    listen(fd, ENDPOINT_BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		die("an endpoint: %s", strerror(errno));
	snprintf(ret_url, url_size, "http://127.0.0.1:%u",
	    ntohs(address.sin_port));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		endpoint_serve(fd, delay_ms, tail);
		_exit(1);
	}
	close(fd);
	return pid;
}
