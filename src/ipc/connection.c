/*
 * One client's connection: bytes to lines, lines to bytes, and its end. Who
 * ends it counts: what the client ends is given back, and who is cut off by us
 * may be at work yet.
 *
 * A connection that has nothing to say owns no buffer, so ten thousand idle
 * ones cost little. A client that does not read is first no longer read from
 * (above half its cap), then cut off (at the cap); nobody else notices.
 *
 * While it is read, its end shows as the end of the input. While it is not,
 * because its output is stuck, the end shows as an error of the next write,
 * for which the socket is being watched anyway. After a half-close only the
 * edge of the full close is watched for, because the half-close itself stays
 * visible for ever.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/connection.h"
#include "ipc/process.h"

/* Enough of a line that is too long to find its tag. */
#define CONNECTION_HEAD_SIZE 64

static void connection_on_event(evutil_socket_t, short, void *);

int
connection_new(struct server *s, int fd, struct connection **ret)
{
	struct connection *c;
	struct user *u;
	int r;

	if (s->n_connections + s->n_processes >= s->limits.connections_max)
		return DDBLOCK_E_LIMIT;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->fd = c->passed = -1;
	c->server = s;
	buffer_init(&c->in, CODEC_LINE_MAX + SERVER_CHUNK_SIZE);
	buffer_init(&c->out, s->limits.queued_bytes_max);

	r = peer_init(&c->peer, fd);
	if (r < 0)
		goto fail;
	r = DDBLOCK_E_NOMEM;
	u = user_find(s, c->peer.uid);
	if (u == NULL)
		goto fail;
	u->n_connections++;
	c->user = u;
	r = DDBLOCK_E_LIMIT;
	if (u->n_connections + u->n_processes >
	    s->limits.connections_per_uid_max)
		goto fail;
	r = server_add(s, c);
	if (r < 0)
		goto fail;
	c->fd = fd;
	connection_watch(c);
	*ret = c;
	return 0;
fail:
	connection_free(c);
	return r;
}

void
connection_free(struct connection *c)
{
	if (c->watched != 0)
		(void)event_del(&c->event);
	while (c->pending != NULL)
		pending_free(c, c->pending);
	process_forget_passed(c);
	if (c->user != NULL) {
		account_close(c);
		user_leave(c->server, c->user);
	}
	if (c->secretive) {
		buffer_wipe(&c->in);
		buffer_wipe(&c->out);
	}
	buffer_done(&c->in);
	buffer_done(&c->out);
	peer_done(&c->peer);
	free(c->renewed);
	change_forget(c);
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
}

/* It ends: CORE_GONE and close at the end of this round. */
static void
connection_doom(struct connection *c)
{
	c->doomed = true;
	account_close(c);
	server_schedule(c->server, c);
}

static bool
connection_is_gone(const struct connection *c)
{
	struct pollfd p = { .fd = c->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

void
connection_cut(struct connection *c, const char *why)
{
	if (c->doomed)
		return;
	c->cut_off = !connection_is_gone(c);
	server_log(c->server, LOG_WARNING,
	    "client %s (pid %ld, uid %ld) was cut off: %s", c->peer.name,
	    (long)c->peer.pid, (long)c->peer.uid, why);
	connection_doom(c);
}

/* It can be neither read nor written; mostly because its client is gone. */
static void
connection_fail(struct connection *c)
{
	int error = errno;

	if (connection_is_gone(c))
		connection_doom(c);
	else
		connection_cut(c, strerror(error));
}

/* May its requests be read and run? */
bool
connection_has_room(const struct connection *c)
{
	return c->out.length <= c->server->limits.queued_bytes_max / 2;
}

/* Wait for exactly what can make us go on. */
void
connection_watch(struct connection *c)
{
	short wanted = EV_PERSIST;

	if (c->draining)
		wanted |= EV_CLOSED | EV_ET;
	else if (connection_has_room(c))
		wanted |= EV_READ;
	if (c->blocked)
		wanted |= EV_WRITE;
	if (wanted == c->watched)
		return;
	if (c->watched != 0)
		(void)event_del(&c->event);
	c->watched = 0;
	if (event_assign(&c->event, c->server->base, c->fd, wanted,
	    connection_on_event, c) < 0 || event_add(&c->event, NULL) < 0) {
		connection_cut(c, "there is no memory to listen to it");
		return;
	}
	c->watched = wanted;
}

int
connection_step(struct connection *c, struct core_event *event)
{
	c->in_core = true;
	return c->server->calls.step(c->server->arg, event);
}

struct buffer *
connection_out(struct connection *c)
{
	if (c->out.data == NULL)
		server_take_spare(c->server, &c->out);
	return &c->out;
}

void
connection_queued(struct connection *c)
{
	if (c->doomed)
		return;
	if (buffer_failed(&c->out) != 0)
		connection_cut(c, "it does not read what it asked for");
	else
		server_schedule(c->server, c);
}

void
connection_refuse(struct connection *c, const char *tag, int code,
    const char *text)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, tag, "ERR");
	codec_text_value(b, NULL, error_word(code));
	codec_end(b, text == NULL ? error_text(code) : text);
	connection_queued(c);
}

/* Requests end here, but their answers do not. */
void
connection_drain(struct connection *c)
{
	struct core_event event = { .type = CORE_DRAIN };

	c->draining = true;
	c->has_lines = false;
	server_schedule(c->server, c);
	event.client = c->client;
	if (c->in_core && c->n_pending > 0)
		(void)connection_step(c, &event);
}

void
connection_dismiss(struct connection *c, int code, const char *why)
{
	while (c->pending != NULL)
		pending_free(c, c->pending);
	connection_refuse(c, NULL, code, why);
	c->in_core = false;
	c->draining = true;
	c->has_lines = false;
	server_schedule(c->server, c);
}

static void
connection_on_end_of_input(struct connection *c)
{
	if (connection_is_gone(c)) {
		connection_doom(c);
		return;
	}
	/* Half a request must not be guessed at: it may name another key. */
	if (c->in.length > 0 && !c->skipping)
		connection_refuse(c, NULL, DDBLOCK_E_BAD_REQUEST,
		    "the last line has no end");
	buffer_done(&c->in);
	account_review(c);
	connection_drain(c);
}

static void
connection_run_line(struct connection *c, char *line, size_t length)
{
	struct codec_line *l = &c->server->line;
	const char *reason;
	int r = codec_parse(line, length, true, l, &reason);

	if (r < 0)
		connection_refuse(c, l->tag.bytes, r, reason);
	else
		verbs_run(c, l);
}

static void
connection_run_long_line(struct connection *c, char *line)
{
	struct codec_line *l = &c->server->line;
	const char *reason;

	(void)codec_parse(line, CONNECTION_HEAD_SIZE, true, l, &reason);
	connection_refuse(c, l->tag.bytes, DDBLOCK_E_BAD_REQUEST,
	    "the line is longer than 1 MiB");
}

/*
 * Run the lines that are complete, until it is the turn of others or there is
 * too much to send. Returns how many bytes are done with.
 */
static size_t
connection_run_lines(struct connection *c, char *data, size_t length)
{
	size_t used = 0;
	int n = 0;

	c->has_lines = false;
	while (used < length && !c->doomed && !c->draining) {
		size_t skip = used == 0 ? c->scanned : 0;
		char *line = data + used;
		char *end;

		if (n++ == CONNECTION_LINES_MAX || !connection_has_room(c)) {
			c->has_lines = true;
			break;
		}
		end = memchr(line + skip, '\n', length - used - skip);
		if (end == NULL)
			break;
		used = (size_t)(end + 1 - data);
		if (c->skipping)
			c->skipping = false;
		else if (end + 1 - line > CODEC_LINE_MAX)
			connection_run_long_line(c, line);
		else
			connection_run_line(c, line, (size_t)(end - line));
	}
	c->scanned = 0;
	return used;
}

/* @rest is an unfinished line unless there are lines to run. Is it worth
 * keeping? */
static bool
connection_keeps(struct connection *c, char *rest, size_t length)
{
	if (length == 0 || c->doomed || c->draining)
		return false;
	if (c->has_lines)
		return true;
	if (!c->skipping && length >= CODEC_LINE_MAX) {
		connection_run_long_line(c, rest);
		c->skipping = true;
	}
	c->scanned = length;
	return !c->skipping;
}

static void
connection_run_chunk(struct connection *c, size_t length)
{
	char *chunk = c->server->chunk;
	size_t used = connection_run_lines(c, chunk, length);

	if (!connection_keeps(c, chunk + used, length - used)) {
		c->scanned = 0;
		return;
	}
	server_take_spare(c->server, &c->in);
	(void)buffer_append(&c->in, chunk + used, length - used);
}

static void
connection_run_input(struct connection *c)
{
	size_t used = connection_run_lines(c, c->in.data, c->in.length);

	if (connection_keeps(c, c->in.data + used, c->in.length - used)) {
		buffer_consume(&c->in, used);
		return;
	}
	c->scanned = 0;
	if (c->secretive)
		buffer_wipe(&c->in);
	buffer_clear(&c->in);
	server_give_spare(c->server, &c->in);
}

/* Whatever it sent, be it half a line. */
static void
connection_heard(struct connection *c)
{
	struct core_event event = { .type = CORE_HEARD };

	event.client = c->client;
	(void)connection_step(c, &event);
}

/* Read once and run what came; or run what is left from before. */
void
connection_run(struct connection *c)
{
	struct server *s = c->server;
	ssize_t n = 0;

	if (!c->has_lines) {
		n = process_receive(c, s->chunk, SERVER_CHUNK_SIZE);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			connection_fail(c);
		if (n == 0)
			connection_on_end_of_input(c);
		if (n <= 0)
			return;
		if (c->promises)
			connection_heard(c);
	}
	if (c->in.length == 0) {
		connection_run_chunk(c, (size_t)n);
	} else {
		(void)buffer_append(&c->in, s->chunk, (size_t)n);
		if (buffer_failed(&c->in) == 0)
			connection_run_input(c);
	}
	if (c->secretive && n > 0)
		explicit_bzero(s->chunk, (size_t)n);
	/* What came with a line that has no end yet waits for that. */
	if (c->n_passed > 0 && !c->has_lines && c->in.length == 0)
		process_forget_passed(c);
	if (c->doomed)
		return;
	if (buffer_failed(&c->in) != 0)
		connection_cut(c, "there is no memory for what it says");
	/* What it is answered is counted when it was sent. */
	if (c->has_lines || c->out.length > 0)
		server_schedule(s, c);
	else
		account_review(c);
}

void
connection_send(struct connection *c)
{
	ssize_t n;

	do {
		n = send(c->fd, c->out.data, c->out.length,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN) {
		connection_fail(c);
		return;
	}
	if (n > 0)
		buffer_consume(&c->out, (size_t)n);
	c->blocked = c->out.length > 0;
	if (!c->blocked && c->secretive)
		buffer_wipe(&c->out);
	if (c->blocked)
		buffer_shrink(&c->out);
	else
		server_give_spare(c->server, &c->out);
}

void
connection_flush(struct connection *c)
{
	if (!c->blocked && c->renewed != NULL)
		answer_write_renewed(c);
	if (!c->blocked)
		change_tell_rest(c);
	if (c->out.length > 0 && !c->blocked && !c->doomed)
		connection_send(c);
	account_review(c);
	if (c->doomed)
		return;
	if (c->n_listings > 0 && c->out.length < CONNECTION_LOW_BYTES)
		connection_continue_listing(c);
	if (c->has_lines && connection_has_room(c))
		server_schedule(c->server, c);
	if (c->draining && c->n_pending == 0 && c->out.length == 0)
		connection_doom(c);
}

static void
connection_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;

	(void)fd;
	if (c->doomed)
		return;
	if (c->draining && connection_is_gone(c)) {
		connection_doom(c);
		return;
	}
	if (what & EV_WRITE) {
		connection_send(c);
		server_schedule(c->server, c);
	}
	if ((what & EV_READ) && !c->doomed)
		connection_run(c);
}
