/*
 * Metrics by HTTP.
 *
 * The loop has other things to do: ten connections a second are accepted, eight
 * are open at a time, of which a new one ends the oldest, each has ten seconds
 * and sends four kilobytes at most, and a turn writes a tenth of a millisecond
 * of the text, as the client reads it. libevent's evhttp has no such bounds: it
 * accepts all that come, and each may take as long as it likes.
 *
 * An answer ends with its connection. Whether it is whole, its last line says.
 */
#include <config.h>	/* the build's */

#include "daemon/metrics_http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/openmetrics.h"
#include "common/socket_file.h"
#include "daemon/metrics.h"
#include "daemon/metrics_address.h"
#include "ddblock.h"

#define HTTP_REQUEST_MAX 4096
#define HTTP_TIME_MS 10000
#define HTTP_PAUSE_MS 100	/* between two that are accepted */
#define HTTP_RETRY_MS 1000
#define HTTP_TURN_NS 100000
#define HTTP_TURN_BYTES 32768	/* then the client may read */
#define HTTP_BACKLOG 8

struct http_client {
	struct metrics_http *http;
	struct http_client *next;	/* a newer one */
	struct bufferevent *stream;
	struct event *limit;
	bool answered;			/* no more is read, */
	bool ending;			/* and no more will be written */
	uint64_t position;
};

struct metrics_http {
	struct event_base *base;
	struct metrics_http_config config;
	char *listen;			/* its copy */
	struct metrics_address address;
	int fd;				/* listening, or -1 */
	struct socket_file file;
	struct event *readable;		/* a client connects */
	struct event *pause;		/* until the next may, or a retry */
	bool complained;
	struct http_client *clients;	/* the oldest first */
	uint32_t n_clients;
	struct buffer piece;
};

/* ---- a client --------------------------------------------------------- */

static void
http_client_free(struct http_client *c)
{
	struct http_client **link = &c->http->clients;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	c->http->n_clients--;
	if (c->stream != NULL)
		bufferevent_free(c->stream);
	if (c->limit != NULL)
		event_free(c->limit);
	free(c);
}

static void
http_client_on_limit(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	http_client_free(arg);
}

/* An answer without the text. */
static void
http_client_refuse(struct http_client *c, const char *status, const char *more,
    const char *text)
{
	c->answered = c->ending = true;
	if (evbuffer_add_printf(bufferevent_get_output(c->stream),
	    "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %zu\r\n%sConnection: close\r\n\r\n%s\n", status,
	    strlen(text) + 1, more, text) < 0)
		c->ending = true;	/* then it is without words */
}

/* Write on. False: there is no memory for it. */
static bool
http_client_write(struct http_client *c)
{
	struct metrics_http *h = c->http;
	struct evbuffer *to = bufferevent_get_output(c->stream);
	const uint64_t end_ns = clock_monotonic_ns() + HTTP_TURN_NS;

	while (!c->ending && (evbuffer_get_length(to) == 0 ||
	    (evbuffer_get_length(to) < HTTP_TURN_BYTES &&
	    clock_monotonic_ns() < end_ns))) {
		buffer_clear(&h->piece);
		c->ending = !h->config.metrics(h->config.arg, UINT64_MAX,
		    &c->position, &h->piece);
		if (buffer_failed(&h->piece) != 0 || (h->piece.length > 0 &&
		    evbuffer_add(to, h->piece.data, h->piece.length) < 0))
			return false;
	}
	return true;
}

static void
http_client_begin(struct http_client *c)
{
	c->answered = true;
	if (evbuffer_add_printf(bufferevent_get_output(c->stream),
	    "HTTP/1.1 200 OK\r\nContent-Type: " OPENMETRICS_TYPE "\r\n"
	    "Cache-Control: no-store\r\nConnection: close\r\n\r\n") < 0)
		c->ending = true;
}

/* "GET /metrics HTTP/1.1", without the line's end. */
static void
http_client_answer(struct http_client *c, char *line)
{
	char *rest = NULL;
	const char *method = strtok_r(line, " ", &rest);
	const char *path = strtok_r(NULL, " ", &rest);
	const char *version = strtok_r(NULL, " ", &rest);

	if (method == NULL || path == NULL || version == NULL ||
	    strtok_r(NULL, " ", &rest) != NULL ||
	    strncmp(version, "HTTP/1.", strlen("HTTP/1.")) != 0)
		http_client_refuse(c, "400 Bad Request", "",
		    "this is not HTTP/1.1");
	else if (strcmp(path, "/metrics") != 0)
		http_client_refuse(c, "404 Not Found", "",
		    "there is /metrics only");
	else if (strcmp(method, "GET") != 0)
		http_client_refuse(c, "405 Method Not Allowed",
		    "Allow: GET\r\n", "there is GET only");
	else
		http_client_begin(c);
}

static void
http_client_on_read(struct bufferevent *stream, void *arg)
{
	struct http_client *c = arg;
	struct evbuffer *in = bufferevent_get_input(stream);
	const struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4,
	    NULL);
	char *line;

	if (!c->answered && end.pos >= 0) {
		line = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
		if (line != NULL)
			http_client_answer(c, line);
		free(line);
	} else if (!c->answered &&
	    evbuffer_get_length(in) >= HTTP_REQUEST_MAX) {
		http_client_refuse(c, "431 Request Header Fields Too Large",
		    "", "a request has 4096 bytes at most");
	}
	/* No more is read from it than that. */
	if (c->answered)
		(void)bufferevent_disable(stream, EV_READ);
}

/* All that there was is with the kernel. */
static void
http_client_on_write(struct bufferevent *stream, void *arg)
{
	struct http_client *c = arg;

	(void)stream;
	if (!c->answered)
		return;
	if (c->ending || !http_client_write(c))
		http_client_free(c);
}

static void
http_client_on_event(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	(void)what;
	http_client_free(arg);
}

/* Takes @fd. */
static void
http_client_new(struct metrics_http *h, int fd)
{
	const struct timeval limit = clock_interval(HTTP_TIME_MS);
	struct http_client *c = calloc(1, sizeof(*c)), **link = &h->clients;

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	if (h->n_clients == METRICS_HTTP_CONNECTIONS_MAX)
		http_client_free(h->clients);
	while (*link != NULL)
		link = &(*link)->next;
	*link = c;
	c->http = h;
	h->n_clients++;
	c->stream = bufferevent_socket_new(h->base, fd,
	    BEV_OPT_CLOSE_ON_FREE);
	if (c->stream == NULL)
		(void)close(fd);
	c->limit = evtimer_new(h->base, http_client_on_limit, c);
	if (c->stream == NULL || c->limit == NULL ||
	    evtimer_add(c->limit, &limit) < 0) {
		http_client_free(c);
		return;
	}
	bufferevent_setwatermark(c->stream, EV_READ, 0, HTTP_REQUEST_MAX);
	bufferevent_setcb(c->stream, http_client_on_read,
	    http_client_on_write, http_client_on_event, c);
	if (bufferevent_enable(c->stream, EV_READ | EV_WRITE) < 0)
		http_client_free(c);
}

/* ---- the listener ----------------------------------------------------- */

static void
http_wait(struct metrics_http *h, uint64_t ms)
{
	const struct timeval pause = clock_interval(ms);

	(void)evtimer_add(h->pause, &pause);
}

static void
http_on_readable(evutil_socket_t listening, short what, void *arg)
{
	struct metrics_http *h = arg;
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd >= 0)
		http_client_new(h, fd);
	http_wait(h, HTTP_PAUSE_MS);
}

/* A file that no process listens at is of a daemon before. */
static void
http_clear(const struct metrics_http *h)
{
	struct stat st;

	if (lstat(h->address.path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    socket_file_is_live((const struct sockaddr_un *)
	    &h->address.socket) == 0)
		(void)unlink(h->address.path);
}

/* Nobody connects before listen(), as at the clients' socket. */
static bool
http_own_file(struct metrics_http *h)
{
	struct stat st;

	if (lstat(h->address.path, &st) < 0)
		return false;
	socket_file_own(&h->file, &st);
	return (h->config.group == (gid_t)-1 || lchown(h->address.path,
	    (uid_t)-1, h->config.group) == 0) &&
	    chmod(h->address.path, h->config.mode) == 0;
}

static bool
http_bind(struct metrics_http *h)
{
	const int on = 1;

	if (h->address.path != NULL)
		http_clear(h);
	h->fd = socket(h->address.socket.ss_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return h->fd >= 0 && setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on,
	    sizeof(on)) == 0 &&
	    bind(h->fd, (const struct sockaddr *)&h->address.socket,
	    h->address.length) == 0 &&
	    (h->address.path == NULL || http_own_file(h)) &&
	    listen(h->fd, HTTP_BACKLOG) == 0;
}

static void
http_close(struct metrics_http *h)
{
	if (h->readable != NULL)
		event_free(h->readable);
	h->readable = NULL;
	socket_file_remove(&h->file, h->address.path);
	if (h->fd >= 0)
		(void)close(h->fd);
	h->fd = -1;
}

static void
http_listen(struct metrics_http *h)
{
	if (http_bind(h)) {
		h->readable = event_new(h->base, h->fd, EV_READ,
		    http_on_readable, h);
		if (h->readable != NULL) {
			log_write(LOG_INFO, NULL, "metrics on %s",
			    h->listen);
			return;
		}
	}
	if (!h->complained)
		log_write(LOG_WARNING, NULL, "metrics_listen = %s: cannot "
		    "listen there: %s; trying again each second",
		    h->listen, strerror(errno));
	h->complained = true;
	http_close(h);
	http_wait(h, HTTP_RETRY_MS);
}

static void
http_on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct metrics_http *h = arg;

	(void)fd;
	(void)what;
	if (h->fd < 0)
		http_listen(h);
	if (h->fd >= 0 && event_add(h->readable, NULL) < 0)
		http_wait(h, HTTP_RETRY_MS);
}

int
metrics_http_new(struct event_base *base,
    const struct metrics_http_config *config, struct metrics_http **ret)
{
	struct metrics_http *h = calloc(1, sizeof(*h));
	const char *rule;

	if (h == NULL)
		return DDBLOCK_E_NOMEM;
	h->base = base;
	h->config = *config;
	h->fd = -1;
	buffer_init(&h->piece, METRICS_PIECE_MAX);
	h->pause = evtimer_new(base, http_on_pause, h);
	h->listen = strdup(config->listen);
	if (h->pause == NULL || h->listen == NULL ||
	    !metrics_address_read(h->listen, &h->address, &rule)) {
		metrics_http_free(h);
		return DDBLOCK_E_NOMEM;
	}
	http_on_pause(-1, 0, h);
	*ret = h;
	return 0;
}

void
metrics_http_free(struct metrics_http *h)
{
	if (h == NULL)
		return;
	while (h->clients != NULL)
		http_client_free(h->clients);
	http_close(h);
	if (h->pause != NULL)
		event_free(h->pause);
	buffer_done(&h->piece);
	free(h->listen);
	free(h);
}
