/*
 * Holds that outlive their connection, for a time that it asked for, so that a
 * client may come back to them, or its successor.
 *
 *  1. Such a connection has one secret for all that it holds so, told with each
 *     grant. Whoever knows it, and is the same user, may have them: from then
 *     on they are that connection's, with the secret.
 *  2. Until then they go on as they are: renewed, and lost for any reason but
 *     the client's silence. What is lost meanwhile is kept, for the answer.
 *  3. When the time is over each ends as if the connection had ended just then.
 *     It is not over, where we ended the connection, before the deadline that
 *     its client was told last and a margin: it may be at work until then.
 *  4. Who resumes need not wait until the end of the old connection was
 *     noticed: it is over then, for the core and for its client.
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* So that no user alone has all the memory that there is for clients. */
#define LINGER_CONNECTIONS_MAX 1000

/* What no answer tells apart: that there is none, that it is another user's,
 * that its time is over. */
#define LINGER_NOTHING "nothing can be resumed with this secret by this user"

/* ---- what was asked for ----------------------------------------------- */

/* One more connection of this user's. */
static int
linger_join_user(struct core *core, uint64_t user, struct lingering **ret)
{
	struct lingering *u;

	DL_SEARCH_SCALAR(core->lingering, u, user, user);
	if (u == NULL) {
		u = calloc(1, sizeof(*u));
		if (u == NULL)
			return DDBLOCK_E_NOMEM;
		u->user = user;
		DL_APPEND(core->lingering, u);
	}
	if (u->n >= LINGER_CONNECTIONS_MAX)
		return DDBLOCK_E_LIMIT;
	u->n++;
	*ret = u;
	return 0;
}

static void
linger_leave_user(struct core *core, struct lingering *u)
{
	if (--u->n > 0)
		return;
	DL_DELETE(core->lingering, u);
	free(u);
}

/* The client asks for something that will linger. DDBLOCK_E_LIMIT: its user
 * has too many connections that do. */
int
linger_ask(struct core *core, struct client *c, const struct core_request *ask)
{
	struct lingering *user;
	struct linger *l;
	int code;

	if (c->linger != NULL)
		return 0;
	code = linger_join_user(core, ask->user, &user);
	if (code < 0)
		return code;
	l = calloc(1, sizeof(*l));
	if (l == NULL || heap_reserve(&core->heap) < 0) {
		free(l);
		linger_leave_user(core, user);
		return DDBLOCK_E_NOMEM;
	}
	l->client = c;
	l->secret = ask->secret;
	l->user = user;
	l->timer.kind = TIMER_LINGER;
	c->linger = l;
	DL_APPEND(core->lingers, l);
	return 0;
}

void
linger_free(struct core *core, struct linger *l)
{
	if (l == NULL)
		return;
	l->client->linger = NULL;
	heap_release(&core->heap, &l->timer);
	DL_DELETE(core->lingers, l);
	linger_leave_user(core, l->user);
	explicit_bzero(&l->secret, sizeof(l->secret));
	free(l);
}

/* ---- without a client ------------------------------------------------- */

void
linger_schedule(struct core *core, struct linger *l)
{
	const struct hold *h;
	uint64_t at_ms = CORE_FOREVER;

	DL_FOREACH2(l->client->holds, h, client_next)
	{
		if (linger_keeps(h) && h->terms->linger_end_ms < at_ms)
			at_ms = h->terms->linger_end_ms;
	}
	if (at_ms == CORE_FOREVER)
		heap_unset(&core->heap, &l->timer);
	else
		heap_set(&core->heap, &l->timer, at_ms);
}

/* Who was cut off and may resume works with what it has until the deadline
 * that it was told last; and a margin after that nobody does. */
static uint64_t
linger_least_ms(const struct client *c)
{
	const struct hold *h;
	uint64_t least_ms = 0;

	DL_FOREACH2(c->holds, h, client_next)
	{
		uint64_t end_ms;

		if (!linger_keeps(h) || h->lost)
			continue;
		end_ms = terms_until_ms(h) +
		    h->use.lock->ns->settings.margin_ms;
		if (end_ms > least_ms)
			least_ms = end_ms;
	}
	return least_ms;
}

/* The client has left, or was @cut off; what does not linger has ended. */
void
linger_begin(struct core *core, struct client *c, bool cut)
{
	uint64_t least_ms = cut ? linger_least_ms(c) : 0;
	struct hold *h;

	if (c->linger == NULL)
		return;
	DL_FOREACH2(c->holds, h, client_next)
	{
		if (linger_keeps(h))
			terms_linger(core, h, least_ms);
	}
	linger_schedule(core, c->linger);
}

/* ---- coming back ------------------------------------------------------ */

/* How many holds of this namespace have no client now, but may again. */
uint32_t
linger_count(const struct core *core, const struct namespace *ns)
{
	const struct linger *l;
	const struct hold *h;
	uint32_t n = 0;

	DL_FOREACH(core->lingers, l)
	{
		if (!l->client->gone)
			continue;
		DL_FOREACH2(l->client->holds, h, client_next)
		{
			n += linger_keeps(h) && !h->lost &&
			    h->use.lock->ns == ns;
		}
	}
	return n;
}
