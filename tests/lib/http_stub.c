/*
 * A small HTTP server that does what it is told.
 */
#include "config.h"

#include "http_stub.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

/* Answers that are always the same. */
static const struct {
	const char *operation;
	const char *answer;
	bool closes;
} stub_fixed[] = {
	{ "Sum\r", OK_HEAD "Content-Type: application/x-amz-json-1.0\r\n"
	    "x-amz-crc32: 2745614147\r\nContent-Length: 2\r\n\r\n{}", false },
	{ "SumWrong\r", OK_HEAD "X-Amz-CRC32: 2745614146\r\n"
	    "Date: Thu, 01 Jan 2032 00:00:00 GMT\r\n"
	    "Content-Length: 2\r\n\r\n{}", false },
	{ "SumStrange\r", OK_HEAD "x-amz-crc32: 0xa3a6bf43\r\n"
	    "Content-Length: 2\r\n\r\n{}", false },
	{ "SumLong\r", OK_HEAD "x-amz-crc32: 7040581443\r\n"
	    "Content-Length: 2\r\n\r\n{}", false },
	{ "SumRefused\r", "HTTP/1.1 400 Bad Request\r\nx-amz-crc32: 1\r\n"
	    "Content-Length: 54\r\n\r\n{\"__type\":\"a#"
	    "ConditionalCheckFailedException\",\"x\":\"y\"}", false },
	{ "Compressed\r", OK_HEAD "Content-Encoding: gzip\r\n"
	    "Content-Length: 4\r\n\r\n\x1f\x8b\x08\x01", false },
	{ "AsItIs\r", OK_HEAD "Content-Encoding: identity\r\n"
	    "Content-Length: 2\r\n\r\n{}", false },
	{ "Portal\r", OK_HEAD "Content-Type: text/html; charset=utf-8\r\n"
	    "Content-Length: 6\r\n\r\n<html>", false },
	{ "Reflects\r", "HTTP/1.1 403 No\r\nContent-Length: 30\r\n\r\n"
	    "signed by verysecretverysecret", false },
	{ "PortalRefuses\r", "HTTP/1.1 403 No\r\nContent-Type: text/html\r\n"
	    "Content-Length: 6\r\n\r\n<html>", false },
	{ "Moved\r", "HTTP/1.1 307 Moved\r\nLocation: /elsewhere\r\n"
	    "Content-Length: 0\r\n\r\n", false },
	{ "Chunks\r", OK_HEAD "Transfer-Encoding: chunked\r\n"
	    "x-amz-crc32: 2745614147\r\n\r\n1\r\n{\r\n1\r\n}\r\n"
	    "0\r\n\r\n", false },
	{ "ChunksCut\r", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"
	    "2\r\n{}\r\n", true },
	{ "ChunksStrange\r", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"
	    "zz\r\n{}\r\n0\r\n\r\n", true },
	{ "Continue\r", "HTTP/1.1 100 Continue\r\nx-amz-crc32: 7\r\n\r\n"
	    OK_HEAD "Content-Length: 2\r\n\r\n{}", false },
	{ "Later\r", "HTTP/1.1 503 Slow\r\nx-amz-retry-after: 1500\r\n"
	    "Content-Length: 0\r\n\r\n", false },
	{ "LaterNegative\r", "HTTP/1.1 503 Slow\r\n"
	    "x-amz-retry-after: -7\r\nContent-Length: 0\r\n\r\n", false },
};

void
stub_close(struct stub *s, struct bufferevent *b)
{
	if (s->closed != NULL)
		s->closed(s, b);
	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i] == b)
			s->open[i] = s->open[--s->n_open];
	bufferevent_free(b);
}

static void
stub_answer(struct stub *s, struct bufferevent *b, int status,
    const char *body, size_t length)
{
	struct evbuffer *out = bufferevent_get_output(b);

	evbuffer_add_printf(out, "HTTP/1.1 %d Whatever\r\n", status);
	if (s->date[0] != '\0')
		evbuffer_add_printf(out, "Date: %s\r\n", s->date);
	evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n", length);
	evbuffer_add(out, body, length);
}

/* Pending output goes first. */
static void
stub_close_flushed(struct bufferevent *b, void *arg)
{
	stub_close(arg, b);
}

static void
stub_flush_and_close(struct stub *s, struct bufferevent *b)
{
	bufferevent_disable(b, EV_READ);
	bufferevent_setcb(b, NULL, stub_close_flushed, NULL, s);
}

/* True if the connection is gone. */
static bool
stub_obey_table(struct stub *s, struct bufferevent *b, const char *operation)
{
	struct evbuffer *out = bufferevent_get_output(b);
	size_t n = sizeof(stub_fixed) / sizeof(stub_fixed[0]);

	for (size_t i = 0; i < n; i++) {
		const char *name = stub_fixed[i].operation;

		if (strncmp(operation, name, strlen(name)) != 0)
			continue;
		evbuffer_add(out, stub_fixed[i].answer,
		    strlen(stub_fixed[i].answer));
		if (!stub_fixed[i].closes)
			return false;
		stub_flush_and_close(s, b);
		return true;
	}
	return false;
}

/* True if the connection is gone. */
static bool
stub_obey(struct stub *s, struct bufferevent *b,
    const struct stub_request *r)
{
	const char *operation = r->operation;
	struct evbuffer *out = bufferevent_get_output(b);

	if (strncmp(operation, "Echo\r", 5) == 0) {
		stub_answer(s, b, 200, r->body, r->body_length);
	} else if (strncmp(operation, "EchoClose\r", 10) == 0) {
		stub_answer(s, b, 200, r->body, r->body_length);
		stub_flush_and_close(s, b);
		return true;
	} else if (strncmp(operation, "Refuse\r", 7) == 0) {
		stub_answer(s, b, 400, "{\"__type\":\"x#Y\"}", 16);
	} else if (strncmp(operation, "Close\r", 6) == 0) {
		stub_close(s, b);
		return true;
	} else if (strncmp(operation, "Garbage\r", 8) == 0) {
		evbuffer_add(out, "\1\2\3 what?\r\n\r\n", 13);
		stub_flush_and_close(s, b);
		return true;
	} else if (strncmp(operation, "Truncate\r", 9) == 0) {
		evbuffer_add_printf(out,
		    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
		stub_flush_and_close(s, b);
		return true;
	} else if (strncmp(operation, "Huge\r", 5) == 0) {
		evbuffer_add_printf(out, "HTTP/1.1 200 OK\r\n"
		    "Content-Length: 30000000\r\n\r\n");
		for (size_t i = 0; i < 3000; i++) {
			static const char chunk[10000];

			evbuffer_add_reference(out, chunk, sizeof(chunk), NULL,
			    NULL);
		}
	} else {
		return stub_obey_table(s, b, operation);
	}
	/* "Hang" gets nothing. */
	return false;
}

/* True: there is one in the first @length bytes of @text. */
static bool
stub_parse(const char *text, size_t length, struct stub_request *ret)
{
	const char *end = text == NULL ? NULL :
	    memmem(text, length, "\r\n\r\n", 4);
	const char *target, *size;

	if (end == NULL)
		return false;
	size = memmem(text, length, "Content-Length: ", 16);
	target = memmem(text, length, "DynamoDB_20120810.", 18);
	assert(target != NULL);
	*ret = (struct stub_request){
		.bytes = text,
		.operation = target + 18,
		.body = end + 4,
		.body_length = size == NULL ? 0 : strtoul(size + 16, NULL, 10),
	};
	ret->length = (size_t)(ret->body - text) + ret->body_length;
	return ret->length <= length;
}

static void
stub_on_read(struct bufferevent *b, void *arg)
{
	struct stub *s = arg;
	struct evbuffer *in = bufferevent_get_input(b);
	struct stub_request r;

	if (s->early > 0) {
		s->early--;
		stub_close(s, b);
		return;
	}
	while (stub_parse((const char *)evbuffer_pullup(in, -1),
	    evbuffer_get_length(in), &r)) {
		s->requests++;
		snprintf(s->last, sizeof(s->last), "%.*s", (int)r.length,
		    r.bytes);
		if ((s->obey != NULL ? s->obey : stub_obey)(s, b, &r))
			return;
		evbuffer_drain(in, r.length);
	}
}

static void
stub_on_event(struct bufferevent *b, short what, void *arg)
{
	if ((what & BEV_EVENT_CONNECTED) != 0)
		return;		/* the end of a handshake */
	stub_close(arg, b);
}

static void
stub_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *address, int length, void *arg)
{
	struct stub *s = arg;
	struct bufferevent *b = s->speak != NULL ? s->speak(s, fd) :
	    bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);

	(void)listener;
	(void)address;
	(void)length;
	assert(s->n_open < STUB_CONNECTIONS_MAX);
	s->open[s->n_open++] = b;
	s->connections++;
	bufferevent_setcb(b, stub_on_read, NULL, stub_on_event, s);
	bufferevent_enable(b, EV_READ | EV_WRITE);
}

void
stub_init(struct stub *s, struct event_base *base)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(a);
	int r;

	memset(s, 0, sizeof(*s));
	s->base = base;
	s->listener = evconnlistener_new_bind(base, stub_on_accept, s,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1,
	    (struct sockaddr *)&a, sizeof(a));
	assert(s->listener != NULL);
	r = getsockname(evconnlistener_get_fd(s->listener),
	    (struct sockaddr *)&a, &length);
	assert(r == 0);
	s->port = ntohs(a.sin_port);
}

void
stub_done(struct stub *s)
{
	while (s->n_open > 0)
		stub_close(s, s->open[0]);
	evconnlistener_free(s->listener);
}
