/*
 * The life of a client's connection: accepted, watched, closed.
 *
 * Those that connect stand in one line, whosever they are. So when one is
 * accepted no more is done than to see whose it is, and whether there is room;
 * the rest is its first work, in a turn of its user.
 *
 * While we read, its end shows as the end of the input. While we do not read,
 * because its output is stuck, the end shows as an error of the next write, for
 * which the socket is watched anyway. After a half-close we watch only for the
 * edge of the full close, because the half-close itself stays visible for ever.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/rights.h"
#include "ipc/server/room.h"

void
connection_free(struct connection *c)
{
	connection_unwatch(c);
	while (c->pending != NULL)
		pending_free(c, c->pending);
	keep_end(c);
	process_forget_passed(c);
	if (c->user != NULL) {
		account_close(c);
		c->user->n_fresh -= c->fresh;
		user_leave(c->server, c->user);
	}
	if (c->secretive) {
		buffer_wipe(&c->in);
		buffer_wipe(&c->out);
	}
	if (c->secret != NULL)
		explicit_bzero(c->secret, sizeof(*c->secret));
	free(c->secret);
	buffer_done(&c->in);
	buffer_done(&c->out);
	peer_done(&c->peer);
	free(c->renewed);
	change_forget(c);
	/* If a copy of it is kept, a close tells the client nothing. */
	if (c->kept.number > 0 && c->fd >= 0 && !c->server->leaving)
		(void)shutdown(c->fd, SHUT_RDWR);
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
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
	/* It waits for its turn, and need not be told of again before that. */
	if (((what & EV_READ) != 0 && c->readable) ||
	    ((what & EV_WRITE) != 0 && c->writable))
		connection_unwatch(c);
	if (what & EV_READ)
		c->readable = true;
	if (what & EV_WRITE)
		c->writable = true;
	if (what & (EV_READ | EV_WRITE))
		server_schedule(c->server, c);
}

void
connection_unwatch(struct connection *c)
{
	if (c->watched != 0)
		(void)event_del(&c->event);
	c->watched = 0;
}

/* Wait for exactly the events that let us go on. */
void
connection_watch(struct connection *c)
{
	short events = EV_PERSIST;

	if (c->draining)
		events |= EV_CLOSED | EV_ET;
	else if (connection_has_room(c) && !c->readable)
		events |= EV_READ;
	if (c->blocked && !c->writable)
		events |= EV_WRITE;
	if (events == c->watched)
		return;
	connection_unwatch(c);
	if (event_assign(&c->event, c->server->base, c->fd, events,
	    connection_on_event, c) < 0 || event_add(&c->event, NULL) < 0) {
		connection_cut(c, "there is no memory to listen to it");
		return;
	}
	c->watched = events;
}

/* Is there room for one more? Of many that are refused the first has a name. */
static bool
connection_is_too_many(struct connection *c, int fd)
{
	struct server_refusal refusal = {
		.code = DDBLOCK_E_LIMIT, .why = user_why_full(c, fd),
	};

	if (refusal.why == NULL)
		return false;
	if (!c->server->refusing)
		peer_read_name(&c->peer);
	connection_tell_refusal(c, &refusal);
	return true;
}

void
connection_begin(struct connection *c)
{
	c->fresh = false;
	c->user->n_fresh--;
	peer_read_name(&c->peer);
	if (rights_have_room(c))
		return;
	listener_tell_full(c->fd);
	connection_doom(c);
}

int
connection_new(struct server *s, int fd,
    const struct connection_before *before, struct connection **ret)
{
	struct connection *c;
	struct user *u;
	int r;

	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->fd = c->passed = -1;
	c->server = s;
	buffer_init(&c->in, CODEC_LINE_MAX + SERVER_CHUNK_SIZE);
	buffer_init(&c->out, s->limits.queued_bytes_max);

	r = before == NULL ? peer_init(&c->peer, fd, NULL, 0) :
	    peer_init(&c->peer, fd, before->name, before->name_length);
	if (r < 0)
		goto fail;
	r = DDBLOCK_E_NOMEM;
	u = user_find(s, c->peer.uid);
	if (u == NULL)
		goto fail;
	u->n_connections++;
	c->user = u;
	r = DDBLOCK_E_LIMIT;
	if (before == NULL && connection_is_too_many(c, fd))
		goto fail;
	r = before == NULL ? server_add(s, c) :
	    server_add_again(s, c, before->client);
	if (r < 0)
		goto fail;
	c->fd = fd;
	if (before == NULL) {
		rights_begin(c);
		c->fresh = true;
		u->n_fresh++;
		server_schedule(s, c);
	} else {
		connection_watch(c);
	}
	*ret = c;
	return 0;
fail:
	connection_free(c);
	return r;
}
