/*
 * An endpoint that answers as DynamoDB does and costs next to nothing: the
 * simulation's model of the service behind HTTP without TLS, in a process of
 * its own, with a delay if asked for.
 */
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
#define ENDPOINT_TARGET "DynamoDB_20120810."

struct endpoint_server {
	struct event_base *base;
	struct dynamo *model;
	int delay_ms;
};

/* An answer that is due later. */
struct endpoint_answer {
	struct evhttp_request *request;
	struct evbuffer *body;
	int status;
};

static void
endpoint_send(evutil_socket_t fd, short what, void *arg)
{
	struct endpoint_answer *a = arg;

	(void)fd;
	(void)what;
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
	struct timeval t = { .tv_usec = s->delay_ms * 1000 };

	if (target == NULL || a == NULL ||
	    strncmp(target, ENDPOINT_TARGET, strlen(ENDPOINT_TARGET)) != 0)
		abort();
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
	if (s->delay_ms == 0)
		endpoint_send(-1, 0, a);
	else
		event_base_once(s->base, -1, EV_TIMEOUT, endpoint_send, a, &t);
}

static void
endpoint_make_table(struct endpoint_server *s)
{
	static const char body[] = "{\"TableName\":\"" ENDPOINT_TABLE "\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":"
	    "[{\"AttributeName\":\"key\",\"AttributeType\":\"S\"}],"
	    "\"KeySchema\":[{\"AttributeName\":\"key\",\"KeyType\":\"HASH\"}]}";
	struct dynamo_answer answer;

	dynamo_answer_init(&answer);
	dynamo_request(s->model, clock_wall_ms(), "CreateTable", body,
	    strlen(body), &answer);
	if (answer.status != 200)
		abort();
	dynamo_answer_done(&answer);
}

static void
endpoint_serve(int fd, int delay_ms)
{
	struct endpoint_server s = {
		.base = event_base_new(), .model = dynamo_new(),
		.delay_ms = delay_ms,
	};
	struct evhttp *http = evhttp_new(s.base);

	if (s.model == NULL || http == NULL)
		abort();
	endpoint_make_table(&s);
	evhttp_set_gencb(http, endpoint_on_request, &s);
	if (evhttp_accept_socket(http, fd) != 0)
		abort();
	event_base_dispatch(s.base);
}

pid_t
endpoint_start(int delay_ms, char *ret_url, size_t url_size)
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
		endpoint_serve(fd, delay_ms);
		_exit(1);
	}
	close(fd);
	return pid;
}
