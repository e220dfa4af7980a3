/*
 * Shared by all of src/ipc/: send a line to a client, and end its connection.
 * It matters which side ends it: if the client does, its holds are released; a
 * client that we cut off may still be at work.
 *
 * An idle connection owns no buffer, so ten thousand of them cost little. A
 * client that does not read is first no longer read from (above half its cap),
 * then cut off (at the cap); other clients do not notice.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

#include "common/error.h"
#include "ipc/connection/connection.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/wire.h"

/* May its requests be read and run? */
bool
connection_has_room(const struct connection *c)
{
	return !c->resuming &&
	    c->out.length <= c->server->limits.queued_bytes_max / 2;
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
	if (buffer_failed(&c->out) != 0) {
		connection_cut(c, "it does not read what it asked for");
		return;
	}
	keep_output(c);
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

int
connection_reason(struct connection *c, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(c->server->reason, sizeof(c->server->reason), format,
	    arguments);
	va_end(arguments);
	return code;
}

bool
connection_is_gone(const struct connection *c)
{
	struct pollfd p = { .fd = c->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

/* It ends: CORE_GONE and close at the end of this round. */
void
connection_doom(struct connection *c)
{
	c->doomed = true;
	account_close(c);
	server_schedule(c->server, c);
}

void
connection_cut(struct connection *c, const char *why)
{
	if (c->doomed)
		return;
	c->cut_off = !connection_is_gone(c);
	server_log(c->server, LOG_WARNING, (int64_t)c->peer.uid,
	    "client %s (pid %ld, uid %ld) was cut off: %s", c->peer.name,
	    (long)c->peer.pid, (long)c->peer.uid, why);
	connection_doom(c);
}

/* It can be neither read nor written, mostly because its client is gone. */
void
connection_fail(struct connection *c)
{
	int error = errno;

	if (connection_is_gone(c))
		connection_doom(c);
	else
		connection_cut(c, strerror(error));
}

/* Requests end here, but their answers do not. */
void
connection_drain(struct connection *c)
{
	struct core_event event = { .type = CORE_HALF_CLOSED };

	c->draining = true;
	c->has_lines = false;
	keep_connection(c);
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
	keep_connection(c);
	server_schedule(c->server, c);
}

void
connection_send(struct connection *c)
{
	ssize_t n;

	do {
		n = wire_send(c);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN) {
		connection_fail(c);
		return;
	}
	if (n > 0) {
		buffer_consume(&c->out, (size_t)n);
		keep_sent(c, (size_t)n);
	}
	c->blocked = c->out.length > 0;
	if (!c->blocked && c->secretive)
		buffer_wipe(&c->out);
	if (c->blocked)
		buffer_shrink(&c->out);
	else
		server_give_spare(c->server, &c->out);
}

void
connection_review(struct connection *c)
{
	struct connection *payer;

	if (c->doomed)
		return;
	account_update(c);
	while ((payer = account_payer(c)) != NULL)
		connection_cut(payer, "its user has too many bytes queued, "
		    "and it has most of them");
}
