/*
 * The answer to a RESUME.
 */
#include "common/error.h"
#include "ipc/answer/room.h"
#include "ipc/connection/keep.h"

static void
resume_refused(struct connection *c, struct pending *p,
    const struct core_reply *a)
{
	connection_refuse(c, p->tag, a->code, a->text);
	pending_free(c, p);
	if (a->code != DDBLOCK_E_NO_SUCH_LOCK)
		return;
	c->n_guesses++;
	keep_connection(c);
	if (c->n_guesses == CONNECTION_GUESSES_MAX)
		connection_cut(c, "it guesses at secrets");
}

void
resume_answered(struct connection *c, struct pending *p,
    const struct core_reply *a)
{
	if (a->code < 0) {
		resume_refused(c, p, a);
		return;
	}
	/* The resumed holds may have a keepalive. */
	c->promises = true;
	keep_connection(c);
	p->listing->ready = true;
	listing_write_view(c, p);
}
