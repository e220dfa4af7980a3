/*
 * Holds that outlive their connection, so that a client may come back to them,
 * or its successor: for a time that it asked for (linger), or only if we ended
 * the connection, for as long as its client works without it (resumes).
 *
 *  1. Such a connection has one secret for all that it holds so, told with each
 *     grant. A client that knows it, and has the same user, may have them: from
 *     then on they are that connection's, with the secret.
 *  2. Until then they go on as they are: renewed, and lost for any reason but
 *     the client's silence. What is lost meanwhile is kept, for the answer.
 *  3. When the time is over each ends as if the connection had ended just then.
 *     It is not over, where we ended the connection, before the deadline that
 *     its client was told last and a margin: it may be at work until then.
 *     (What only @resumes has no time but that.)
 *  4. Resuming need not wait until the end of the old connection was noticed:
 *     it is over then, for the core and for its client (resume.c).
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* So that no user alone has all the memory that there is for clients. */
#define LINGER_CONNECTIONS_MAX 1000

/* ---- what was asked for ----------------------------------------------- */

int
linger_new(struct core *core, struct client *c, const struct core_request *ask)
{
	struct linger *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return DDBLOCK_E_NOMEM;
	l->client = c;
	l->secret = *ask->secret;
	l->user = ask->user;
	c->tenant->n_lingering++;
	c->linger = l;
	client_touch(core, c);
	DL_APPEND(core->lingers, l);
	return 0;
}

/* May what is granted be resumed after a cut? Each such connection may take the
 * place of a client for a lease; others of its user go without. */
bool
linger_may_resume(const struct core *core, const struct client *c)
{
	return c->linger != NULL ||
	    c->tenant->n_lingering < core->limits.clients_max / 2;
}

/* True: there is room for it. */
static bool
linger_count_asked(struct core *core, struct linger *l)
{
	struct tenant *t = l->client->tenant;

	if (l->asked)
		return true;
	if (t->n_asked >= LINGER_CONNECTIONS_MAX)
		return false;
	l->asked = true;
	t->n_asked++;
	client_touch(core, l->client);
	return true;
}

/* The client asks for something that may be resumed. DDBLOCK_E_LIMIT: its user
 * has too many connections whose holds linger. */
int
linger_ask(struct core *core, struct client *c, const struct core_request *ask)
{
	int code = c->linger == NULL ? linger_new(core, c, ask) : 0;

	if (code < 0 || ask->terms.linger_ms == 0)
		return code;
	return linger_count_asked(core, c->linger) ? 0 : DDBLOCK_E_LIMIT;
}

void
linger_free(struct core *core, struct linger *l)
{
	if (l == NULL)
		return;
	l->client->linger = NULL;
	DL_DELETE(core->lingers, l);
	l->client->tenant->n_asked -= l->asked;
	l->client->tenant->n_lingering--;
	if (l->resume != NULL) {
		/* The other client takes its place among those that asked. */
		if (l->asked)
			(void)linger_count_asked(core, l->resume->to->linger);
		l->resume->from = NULL;
	}
	explicit_bzero(&l->secret, sizeof(l->secret));
	free(l);
}

/* ---- without a client ------------------------------------------------- */

/* A client that was cut off and may resume works under its holds until the last
 * deadline that it was told; a margin after that it has stopped. */
static uint64_t
linger_least_ms(const struct hold *h)
{
	const struct multi *j = hold_multi(h);
	uint64_t margin_ms = h->use.lock->ns->settings.margin_ms;

	/* Several as one end at one time. */
	for (uint32_t i = 0; j != NULL && i < j->n; i++) {
		const struct namespace *ns = j->parts[i].hold->use.lock->ns;

		if (ns->settings.margin_ms > margin_ms)
			margin_ms = ns->settings.margin_ms;
	}
	return terms_until_ms(h) + margin_ms;
}

/* Its client leaves, or was @cut off. What is lost has its time when that of
 * the others is known: linger_tell_loss(). */
void
linger_begin(struct core *core, struct hold *h, bool cut)
{
	struct linger *l = h->client->linger;
	uint64_t least_ms;

	if (h->lost)
		return;
	least_ms = cut ? linger_least_ms(h) : 0;
	if (least_ms > l->least_ms)
		l->least_ms = least_ms;
	terms_linger(core, h, least_ms);
	linger_count(h, true);
}

/* A loss is told of for as long as anything goes on. */
void
linger_tell_loss(struct core *core, struct hold *h)
{
	if (h->lost)
		terms_linger(core, h, h->client->linger->least_ms);
}

/* In the next process. */
void
linger_go_on(struct core *core, struct client *c)
{
	struct hold *h;

	DL_FOREACH2(c->holds, h, client_next)
	{
		if (linger_keeps(h))
			heap_set(&core->later, &h->terms->linger_timer,
			    h->terms->linger_end_ms);
	}
}
