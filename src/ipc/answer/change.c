/*
 * The events for the watchers of a lock. The line about a change is the same
 * for all of them, so it is written once.
 *
 * A client that does not read gets only the latest state: its changes are
 * deferred, one for each lock, and the state of that time is sent when it reads
 * again. So they take no more memory than its watches.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "ipc/connection/rights.h"
#include "ipc/answer/room.h"

static void
change_write(struct connection *c, struct buffer *b, uint32_t namespace_index,
    struct key key, const struct core_holder_view *holder, int cause)
{
	const struct server *s = c->server;

	codec_begin(b, NULL, "!CHANGED");
	codec_text_value(b, "ns",
	    s->calls.namespace_name(s->arg, namespace_index));
	answer_name(b, key);
	if (holder != NULL) {
		answer_holder(c, b, holder);
	} else {
		codec_text_value(b, "state", "unknown");
		codec_text_value(b, "cause", error_word(cause));
	}
	codec_end(b, NULL);
}

/* False: there is no memory for it. */
static bool
change_defer(struct connection *c, const struct core_change *a)
{
	struct unread **link = &c->unread;
	struct unread *p;

	while ((p = *link) != NULL) {
		if (p->namespace_index == a->namespace_index &&
		    p->key_length == a->key.length &&
		    memcmp(p->key, a->key.bytes, a->key.length) == 0)
			return true;
		link = &p->next;
	}
	p = calloc(1, sizeof(*p) + a->key.length);
	if (p == NULL)
		return false;
	p->namespace_index = a->namespace_index;
	p->key_length = a->key.length;
	memcpy(p->key, a->key.bytes, a->key.length);
	*link = p;
	return true;
}

void
change_denied(struct connection *c, uint32_t namespace_index, struct key key)
{
	change_write(c, connection_out(c), namespace_index, key, NULL,
	    DDBLOCK_E_DENIED);
	connection_queued(c);
}

void
change_tell(struct connection *c, const struct core_change *a)
{
	struct server *s = c->server;

	/* It asked before the rules were others, and has its answer since. */
	if (!rights_allow(c, a->namespace_index, a->key, ACCESS_SEE))
		return;
	if (c->blocked && change_defer(c, a))
		return;
	if (s->changed_serial != a->serial) {
		s->changed_serial = a->serial;
		buffer_clear(&s->changed);
		change_write(c, &s->changed, a->namespace_index, a->key,
		    a->holder, a->cause);
	}
	(void)buffer_append(connection_out(c), s->changed.data,
	    s->changed.length);
	connection_queued(c);
}

void
change_tell_again(struct connection *c, const struct pending *p,
    const struct core_reply *a)
{
	const struct kept_watch *w = p->watch;

	if (w == NULL)
		return;
	change_write(c, connection_out(c), w->namespace_index,
	    (struct key){ w->text, w->key_length },
	    a->code == 0 ? a->holder : NULL, a->code);
}

static void
change_tell_now(struct connection *c, const struct unread *p)
{
	const struct server *s = c->server;
	const struct key key = { p->key, p->key_length };
	struct core_holder_view holder;
	int cause = 0;

	/* The client may have ended the watch. */
	if (!core_view_watch(s->calls.core(s->arg), c->client,
	    p->namespace_index, key, &holder, &cause))
		return;
	change_write(c, connection_out(c), p->namespace_index, key,
	    cause == 0 ? &holder : NULL, cause);
	connection_queued(c);
}

void
change_tell_rest(struct connection *c)
{
	while (c->unread != NULL) {
		struct unread *p = c->unread;

		if (turn_is_over(c->server)) {
			server_schedule(c->server, c);
			return;
		}
		c->unread = p->next;
		change_tell_now(c, p);
		free(p);
	}
}

void
change_forget(struct connection *c)
{
	while (c->unread != NULL) {
		struct unread *p = c->unread;

		c->unread = p->next;
		free(p);
	}
}
