/*
 * What outlives its connection (linger.c): a client resumes it, or its time
 * ends.
 *
 * There may be very much of it, so that is done in parts, a hold or several as
 * one in each, from the first to the last:
 *
 *  1. The other client's connection may be there yet: it is cut off (leave.c),
 *     and what it had beside that is lost to it.
 *  2. What is left of it and lingers moves to the client that resumes it.
 *  3. The request is answered.
 *
 * The client may have asked for nothing before, and asks for nothing until
 * then: so its holds keep the order of their numbers. It hears nothing of them,
 * because the answer says how each is. If it leaves before, or another client
 * resumes the same, all of it is its own first. Until it has moved, a hold is
 * as its client left it: its time may end. If the process dies in between, the
 * next one begins with what is left to be moved.
 */
#include "core/client/room.h"

#include <assert.h>

#include "ddblock.h"

/* What no answer tells apart: that there is none, that it is another user's,
 * that its time is over. */
#define LINGER_NOTHING "nothing can be resumed with this secret by this user"

/* Its time is over, with a client or without; that of several as one is the
 * same. */
void
linger_timer(struct core *core, struct timer *timer)
{
	struct hold *h =
	    CONTAINER_OF(timer, struct terms, linger_timer)->hold;

	assert(linger_keeps(h) || h->let_go);
	hold_desert_all(core, h);
}

/* Not 0: it is another one. As many steps whatever it is. */
static uint64_t
linger_differs(const struct core_secret *a, const struct core_secret *b)
{
	uint64_t differs = 0;

	for (size_t i = 0; i < sizeof(a->digest); i++)
		differs |= (uint64_t)(a->digest[i] ^ b->digest[i]);
	return differs;
}

static bool
linger_is(const struct linger *l, const struct core_secret *secret,
    uint32_t user)
{
	return (linger_differs(&l->secret, secret) | (l->user ^ user)) == 0;
}

/* Of another client: the last, which is the one that takes over what the others
 * have. Nor does it matter how much of it is right. */
static struct linger *
linger_find(const struct core *core, const struct core_request *ask)
{
	struct linger *l, *found = NULL;

	DL_FOREACH(core->lingers, l)
		found = linger_is(l, ask->secret, ask->user) &&
		    l->client->id != ask->client ? l : found;
	return found;
}

static bool
linger_has_any(const struct linger *l)
{
	return l->client->n_lingers > 0 || l->client->resume != NULL;
}

/* Would it not meet anything of its own in what it resumes? */
static bool
linger_may_come(const struct client *c)
{
	const struct request *r;

	if (c->resume != NULL)
		return false;
	DL_FOREACH2(c->requests, r, client_next)
	{
		if (r->reply.verb == CORE_ACQUIRE)
			return false;
	}
	return true;
}

/* ---- the parts -------------------------------------------------------- */

/* It is another client's now, as it is. */
static void
linger_move_hold(struct core *core, struct hold *h, struct client *to)
{
	struct client *from = h->client;

	notice_withdraw(core, h);
	linger_count(h, false);
	DL_DELETE2(from->holds, h, client_previous, client_next);
	DL_APPEND2(to->holds, h, client_previous, client_next);
	from->n_holds--;
	to->n_holds++;
	from->n_lingers--;
	hold_share(core, h, from, to);
	if (!h->lost)
		hold_count_valid(h, -1);
	h->client = to;
	if (!h->lost)
		hold_count_valid(h, 1);
	h->notice.client = to->id;
	hold_touch(core, h);
	lock_touch(core, h->use.lock);
}

/* Several as one move in one step. */
static void
resume_move(struct core *core, struct resume *m)
{
	struct client *from = m->from->client;
	const struct multi *j;

	do {
		struct hold *h = from->to_leave;

		j = hold_multi(h);
		from->to_leave = h->client_next;
		if (!linger_keeps(h))
			continue;
		linger_move_hold(core, h, m->to);
		terms_resume(core, h, m->resumes);
		m->to->n_lingers += linger_keeps(h);
	} while (j != NULL && from->to_leave != NULL &&
	    hold_multi(from->to_leave) == j);
}

/* All of it has moved, or has ended meanwhile. */
static void
resume_end(struct core *core, struct resume *m)
{
	struct client *from = m->from == NULL ? NULL : m->from->client;
	struct client *to = m->to;
	struct request *r = m->request;

	if (from != NULL) {
		linger_free(core, m->from);
		client_free_if_unused(core, from);
	}
	resume_free(core, m);
	client_touch(core, to);
	if (to->leaving)
		to->to_leave = to->holds;
	if (to->holds == NULL)
		linger_free(core, to->linger);
	if (r == NULL)
		client_free_if_unused(core, to);
	else if (to->holds != NULL)
		request_reply(core, r, 0, 0, NULL);
	else
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    LINGER_NOTHING);
}

/* The one that had begun to leave its holds to it. */
static void
resume_find_rest(struct core *core, struct resume *m)
{
	struct linger *own = m->to->linger, *l;

	m->inherited = false;
	DL_FOREACH(core->lingers, l)
	{
		if (l == own || !l->client->gone ||
		    !linger_is(l, &own->secret, own->user))
			continue;
		m->from = l;
		l->resume = m;
		l->client->to_leave = l->client->holds;
		return;
	}
}

/* The other client is gone. */
static void
resume_begin_to_move(struct core *core, struct resume *m)
{
	m->moves = true;
	if (m->closing.client != 0)
		action_add(core, &m->closing.action, CORE_CLOSE);
	if (m->from == NULL)
		return;
	m->from->client->to_leave = m->from->client->holds;
	client_touch(core, m->to);
}

void
resume_part(struct core *core, struct resume *m)
{
	struct client *from;

	/* What it takes over may be taking over, too, and has that first. */
	while (m->from != NULL && m->from->client->resume != NULL)
		m = m->from->client->resume;
	if (m->inherited)
		resume_find_rest(core, m);
	/* Once it is gone it hears of that at once. */
	if (m->from != NULL && m->from->client->leaving &&
	    leave_some(core, m->from->client, 1))
		return;
	from = m->from == NULL ? NULL : m->from->client;
	assert(from == NULL || from->gone);
	if (!m->moves)
		resume_begin_to_move(core, m);
	if (from != NULL && from->to_leave != NULL)
		resume_move(core, m);
	if (from == NULL || from->to_leave == NULL)
		resume_end(core, m);
}

/* Each in its turn. */
void
resume_some(struct core *core, uint32_t *n_left)
{
	for (; *n_left > 0 && core->resumes != NULL; (*n_left)--) {
		struct resume *m = core->resumes;

		DL_DELETE(core->resumes, m);
		DL_APPEND(core->resumes, m);
		resume_part(core, m);
	}
	if (core->due_multis != NULL)
		multi_run(core);
}

void
resume_all(struct core *core)
{
	while (core->resumes != NULL)
		resume_part(core, core->resumes);
}

/* ---- the request ------------------------------------------------------ */

static int
resume_begin(struct core *core, struct request *r, struct linger *l,
    const struct core_request *ask)
{
	struct client *from = l->client;
	struct resume *m = resume_new(core, r->client);
	int code;

	if (m == NULL)
		return DDBLOCK_E_NOMEM;
	linger_free(core, r->client->linger);
	code = linger_new(core, r->client, ask);
	if (code < 0) {
		resume_free(core, m);
		return code;
	}
	m->from = l;
	l->resume = m;
	m->request = r;
	m->resumes = ask->terms.resumes;
	if (!from->gone && !from->leaving) {
		m->closing.client = from->id;
		leave_begin(from, true);
	}
	return 0;
}

/* It has what there is, but its answer was lost with a process. */
static bool
linger_has_come(const struct client *c, const struct core_request *ask)
{
	return c->holds != NULL && c->linger != NULL &&
	    linger_is(c->linger, ask->secret, ask->user);
}

int
linger_resume(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct client *c = r->client;
	struct linger *l = linger_find(core, ask);
	bool any = l != NULL && linger_has_any(l);

	if (linger_may_come(c) && !any && linger_has_come(c, ask))
		request_reply(core, r, 0, 0, NULL);
	else if (!linger_may_come(c) || c->holds != NULL)
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0, RESUME_FIRST);
	else if (!any)
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    LINGER_NOTHING);
	else
		return resume_begin(core, r, l, ask);
	return 0;
}
