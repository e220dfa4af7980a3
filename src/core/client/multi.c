/*
 * Several locks that are asked for by one request, and held by one hold.
 *
 *  1. All or nothing: the locks that it has already are kept for the request,
 *  and no client sees them, until it has all.
 *  2. First all missing locks are requested from the store in one operation, if
 *  no obstacle is known. That never waits.
 *  3. If something is, the request waits in one queue at a time, in the order
 *     of the keys: for the first lock that it does not have, keeping those
 *     before it and none after it. So no two can wait for each other.
 *  4. What was lost meanwhile is waited for again in that order: what comes
 *     after it is given back first.
 *  5. When one of them is lost, all are, and this is said once. The others
 *  remain in the record for the gap that every loss leaves its holder.
 *  6. Each may have a lease of its own; the hold is good until the first of
 *     them ends.
 *
 * A namespace with a bridge has each lock in another one's record as well: a
 * host that moves from one to the other holds both, the old one first, so that
 * it excludes hosts that have not moved yet and those that have.
 *
 * Whatever happens to one only marks it as due (multi_due()); further work is
 * done outside the middle of a lock, at the end of a timer's or an event's turn
 * (multi_run()). One answer of the store may be about many locks, and until
 * then its request may stand in the wrong queue: so while it is due, no lock
 * whose first in line it is goes on (lock_advance()), by any caller and however
 * often. Other locks do. What was put off is done when its turn is over,
 * wherever it stands then. And while the store is asked for several
 * (multi_store.c), nothing else is requested for it.
 */
#include "core/client/room.h"

#include <assert.h>
#include <string.h>

/* ---- what is kept ----------------------------------------------------- */

/* The grant is for one of the locks that @j's request asks for. */
void
multi_keep(struct core *core, struct multi *j, struct grant *g)
{
	struct request *r = j->request;
	struct hold *h = NULL;

	for (uint32_t i = 0; i < j->n; i++) {
		if (j->parts[i].lock == g->lock)
			h = j->parts[i].hold;
	}
	assert(h != NULL && h->use.grant == NULL);
	if (r->waiter.lock == g->lock)
		queue_part(&r->waiter);
	h->client = r->client;
	grant_add_use(g, &h->use);
	multi_due(core, j);
}

static void
multi_give_back(struct core *core, struct multi *j, uint32_t from)
{
	for (uint32_t i = from; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		struct grant *g = h->use.grant;

		if (g == NULL)
			continue;
		grant_drop_use(&h->use);
		if (g->uses == NULL)
			lock_release(core, j->parts[i].lock);
	}
}

/*
 * Which of the locks that are still missing is known to be in the way? NULL:
 * none.
 */
struct lock *
multi_obstacle(const struct core *core, const struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct part *part = &j->parts[i];

		if (!multi_has(part) &&
		    queue_would_wait(core, part->lock, &j->request->waiter))
			return part->lock;
	}
	return NULL;
}

/* ---- all of them are held ---------------------------------------------- */

/* Is each under a session that is good? */
static bool
multi_is_whole(const struct core *core, const struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		if (!lease_is_good(core, j->parts[i].hold->use.grant->lease))
			return false;
	}
	return true;
}

/* The lease that is to be renewed first; the others are renewed soon. */
struct lease *
multi_renew(struct core *core, const struct multi *j)
{
	struct lease *first = NULL;

	for (uint32_t i = 0; i < j->n; i++) {
		struct lease *s = grant_lease(j->parts[i].hold->use.grant);

		lease_renew_record(core, s);
		if (first == NULL || s->sent_ms < first->sent_ms)
			first = s;
	}
	return first;
}

static void
multi_release_locks(struct core *core, struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct lock *l = j->parts[i].lock;

		j->parts[i].lock = NULL;
		lock_unref(core, l);
	}
}

/* The token is told in full if it can be: without memory it is less exact. Over
 * a bridge the old record's may be the greater one. */
static void
multi_answer(struct multi *j, const struct hold *h)
{
	const char *text =
	    grant_token_text(j->parts[j->n_rows].hold->use.grant);

	j->answer[j->n_rows++] = (struct core_part){
		.namespace_index = h->use.lock->ns->index,
		.key = lock_key(h->use.lock), .token = h->use.token,
		.token_text = text == NULL ? NULL : strdup(text),
		.hold = h->notice.hold,
	};
}

static void
multi_grant(struct core *core, struct multi *j)
{
	struct request *r = j->request;
	const struct namespace *ns = r->ns;

	/* Each has a number of its own; the first one's is that of all. Who
	 * watches one of them sees it with the last of all. */
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;

		hold_give(core, h, r->client);
		lock_touch(core, h->use.lock);
		terms_begin(core, h);
		if (h->use.lock->ns != ns)
			continue;
		multi_answer(j, h);
	}
	multi_forsake(j);
	j->held = true;
	j->n_left = j->n;
	wait_fill_grant(core, r, j->parts[0].hold);
	r->reply.token = j->answer[0].token;
	r->reply.parts = j->answer;
	r->reply.n_parts = j->is_multi ? j->n_rows : 0;
	request_reply(core, r, 0, 0, NULL);
	multi_release_locks(core, j);
	if (multi_is_endangered(core, j))
		notice_send(core, j->parts[0].hold, CORE_IN_DANGER);
}

/* ---- what is next ----------------------------------------------------- */

/* Stand in the queue of @l, and no other. A client that has half-closed waits
 * for no further lock; an overdue request has no more time. */
static void
multi_stand(struct core *core, struct multi *j, struct lock *l)
{
	struct request *r = j->request;

	if (r->waiter.lock == l)
		return;
	if (r->waiter.lock != NULL)
		queue_part(&r->waiter);
	queue_join(l, &r->waiter);
	if (!r->waiter.overdue && r->client->draining)
		wait_overdue(core, r);
}

/* Wait for this one, and keep none after it. */
static void
multi_wait(struct core *core, struct multi *j, uint32_t first)
{
	struct lock *l = j->parts[first].lock;

	multi_stand(core, j, l);
	multi_give_back(core, j, first + 1);
	wait_review(core, l);
	lock_advance(core, l);
}

/* For the answer of the store. One of a semaphore's may have become free here
 * meanwhile, and then it waits no more for that. */
static void
multi_wait_for_all(struct multi *j, uint32_t first)
{
	if (j->request->waiter.lock == NULL)
		queue_join(j->parts[first].lock, &j->request->waiter);
}

/* All of them are held, and @l's record, and maybe others, has a lower token
 * than is to be told (bridge_tokens.c). It waits there, for whatever may befall
 * it. */
static void
multi_wait_for_tokens(struct core *core, struct multi *j, struct lock *l)
{
	multi_stand(core, j, l);
	for (uint32_t i = 0; i < j->n; i++)
		lock_advance(core, j->parts[i].lock);
}

/* Some of them were lost, so all are: elements that are still in the record
 * remain there until their holder's gap is over. */
static void
multi_drop_lost(struct core *core, struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		struct grant *g = h->use.grant;

		if (g == NULL)
			continue;
		grant_drop_use(&h->use);
		grant_leave_gap(core, g, hold_working_ms(h));
		lock_advance(core, g->lock);
	}
	for (uint32_t i = 0; i < j->n; i++) {
		if (j->parts[i].hold->let_go)
			hold_end(core, j->parts[i].hold);
	}
}

/* Its request was answered, with or without it. The code that answers it need
 * not know in which of their queues it stood. */
static void
multi_end(struct core *core, struct multi *j)
{
	multi_give_back(core, j, 0);
	for (uint32_t i = 0; i < j->n; i++)
		lock_advance(core, j->parts[i].lock);
	multi_bury(core, j);
}

/* A session ended between the first of them and the last. */
static void
multi_start_again(struct core *core, struct multi *j)
{
	if (j->request->waiter.lock != NULL)
		queue_part(&j->request->waiter);
	multi_give_back(core, j, 0);
	multi_wait(core, j, 0);
}

static void
multi_advance(struct core *core, struct multi *j)
{
	struct lock *lower;
	uint32_t first;

	if (j->held) {
		multi_drop_lost(core, j);
		return;
	}
	if (j->request == NULL) {
		multi_end(core, j);
		return;
	}
	first = multi_first(j);
	if (first < j->n && j->multi_operation != NULL)
		multi_wait_for_all(j, first);
	else if (first < j->n)
		multi_wait(core, j, first);
	else if (!multi_is_whole(core, j))
		multi_start_again(core, j);
	else if ((lower = bridge_tokens_first(j)) != NULL)
		multi_wait_for_tokens(core, j, lower);
	else
		multi_grant(core, j);
}

/* And what was put off for it where it stood. */
static void
multi_turn(struct core *core, struct multi *j)
{
	struct lock *l = j->request == NULL ? NULL : j->request->waiter.lock;

	if (l != NULL)
		lock_ref(l);
	multi_advance(core, j);
	if (l == NULL)
		return;
	lock_advance(core, l);
	lock_unref(core, l);
}

void
multi_run(struct core *core)
{
	while (core->due_multis != NULL) {
		struct multi *j = core->due_multis;

		multi_not_due(core, j);
		multi_turn(core, j);
	}
}
