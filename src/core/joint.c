/*
 * Several locks that are asked for by one request, and held by one hold.
 *
 *  1. All or nothing: what is had of them already is kept for the request, and
 *     no client sees it, until all are.
 *  2. First all that is still missing is asked of the store in one operation,
 *     if nothing is known to be in the way. That waits for nobody.
 *  3. If something is, the request waits in one queue at a time, in the order
 *     of the keys: for the first lock that it does not have, keeping those
 *     before it and none after it. So no two can wait for each other.
 *  4. What was lost meanwhile is waited for again in that order: what comes
 *     after it is given back first.
 *  5. When one of them is lost, all are, and this is said once. The others
 *     stay in the record for the gap that every loss leaves its holder.
 *  6. Each may have a lease of its own; the hold is good until the first of
 *     them ends.
 *
 * A namespace with a bridge has each lock in another one's record as well: who
 * moves to it from there holds both, that one first, so that it excludes who
 * has not moved yet and who is done with it.
 *
 * Whatever happens to a joint only marks it as due (joint_due()); what follows
 * is done when nobody is in the middle of a lock, at the end of a timer's or an
 * event's turn (joint_run()). One answer of the store may be about many locks,
 * and until then its request may stand in the wrong queue: so while it is due,
 * no lock whose first in line it is goes on (lock_advance()), whoever asks for
 * that and however often. Other locks do. What was put off is done when its
 * turn is over, wherever it stands then. And while the store is asked for
 * several (together.c), nothing else is asked for it.
 */
#include "core/internal.h"

#include <assert.h>
#include <string.h>

/* ---- coming and going ------------------------------------------------- */

void
joint_due(struct core *core, struct joint *j)
{
	if (j->due)
		return;
	j->due = true;
	LL_APPEND2(core->due_joints, j, next_due);
}

/* Is something due of this one, so that where it stands says nothing? */
bool
joint_is_due(const struct request *r)
{
	return r->joint != NULL && r->joint->due;
}

/* Does the store know of all that may be asked of it for this one? */
bool
joint_is_asked(const struct request *r)
{
	return r->joint != NULL && r->joint->together != NULL;
}

/* Its request has its answer. */
void
joint_leave(struct core *core, struct joint *j)
{
	j->request->client->n_more -= j->n - 1;
	j->request = NULL;
	if (!j->held)
		joint_due(core, j);
}

/* What the store is being asked for is for nobody any more. */
static void
joint_forsake(struct joint *j)
{
	if (j->together != NULL)
		j->together->joint = NULL;
	j->together = NULL;
}

/* Freed with the next step: a reply may still show it. */
static void
joint_bury(struct core *core, struct joint *j)
{
	assert(!j->due);
	joint_forsake(j);
	LL_PREPEND2(core->dead_joints, j, next_due);
}

/* ---- what is kept ----------------------------------------------------- */

bool
joint_has(const struct part *part)
{
	return part->hold->grant != NULL;
}

/* The first that is not had, or how many they are. */
uint32_t
joint_first(const struct joint *j)
{
	uint32_t i = 0;

	while (i < j->n && joint_has(&j->parts[i]))
		i++;
	return i;
}

bool
joint_is_kept(const struct hold *h)
{
	return hold_joint(h) != NULL && !hold_joint(h)->held;
}

uint32_t
joint_n_had(const struct joint *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n; i++)
		n += joint_has(&j->parts[i]);
	return n;
}

/* The grant is for one of the locks that @j's request asks for. */
void
joint_keep(struct core *core, struct joint *j, struct grant *g)
{
	struct request *r = j->request;
	struct hold *h = NULL;

	for (uint32_t i = 0; i < j->n; i++) {
		if (j->parts[i].lock == g->lock)
			h = j->parts[i].hold;
	}
	assert(h != NULL && h->grant == NULL);
	if (r->lock == g->lock)
		queue_part(r);
	h->client = r->client;
	h->token = grant_next_token(g);
	grant_add_hold(g, h);
	joint_due(core, j);
}

static void
joint_give_back(struct core *core, struct joint *j, uint32_t from)
{
	for (uint32_t i = from; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		struct grant *g = h->grant;

		if (g == NULL)
			continue;
		grant_drop_hold(h);
		if (g->holds == NULL)
			lock_release(core, j->parts[i].lock);
	}
}

/*
 * Which of the locks that are still missing is known to be in the way? NULL:
 * none.
 */
struct lock *
joint_obstacle(const struct core *core, const struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct part *part = &j->parts[i];

		if (!joint_has(part) &&
		    queue_would_wait(core, part->lock, j->request))
			return part->lock;
	}
	return NULL;
}

/* ---- all of them are had ---------------------------------------------- */

/* Is each under a session that is good? */
static bool
joint_is_whole(const struct core *core, const struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		if (!session_is_good(core, j->parts[i].hold->grant->session))
			return false;
	}
	return true;
}

/* When the first of their leases ends, of those that are not lost. */
uint64_t
joint_until_ms(const struct joint *j)
{
	uint64_t until_ms = CORE_FOREVER;

	for (uint32_t i = 0; i < j->n; i++) {
		const struct hold *h = j->parts[i].hold;
		uint64_t own_ms;

		if (h->grant == NULL)
			continue;
		own_ms = terms_own_until_ms(h);
		if (own_ms < until_ms)
			until_ms = own_ms;
	}
	return until_ms;
}

/* Is any of them? */
bool
joint_is_endangered(const struct core *core, const struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct hold *h = j->parts[i].hold;

		if (h->grant != NULL && terms_are_endangered(core, h))
			return true;
	}
	return false;
}

/* The lease that is to be renewed first; the others are renewed soon. */
struct session *
joint_renew(struct core *core, const struct joint *j)
{
	struct session *first = NULL;

	for (uint32_t i = 0; i < j->n; i++) {
		struct session *s = grant_session(j->parts[i].hold->grant);

		if (s->lock != NULL && !s->busy && !s->due) {
			s->beat_at_ms = core->now_ms;
			session_schedule(core, s);
		}
		if (first == NULL || s->sent_ms < first->sent_ms)
			first = s;
	}
	return first;
}

static void
joint_release_locks(struct core *core, struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct lock *l = j->parts[i].lock;

		j->parts[i].lock = NULL;
		l->references--;
		lock_free_if_unused(core, l);
	}
}

/* The token is told in full if it can be: without memory it is less exact. Over
 * a bridge the old record's may be the greater one. */
static void
joint_answer(struct joint *j, const struct hold *h)
{
	const char *text = grant_token_text(j->parts[j->n_rows].hold->grant);

	j->answer[j->n_rows++] = (struct core_part){
		.namespace_index = h->lock->ns->index,
		.key = lock_key(h->lock), .token = h->token,
		.token_text = text == NULL ? NULL : strdup(text),
		.hold = h->notice.hold,
	};
}

static void
joint_grant(struct core *core, struct joint *j)
{
	struct request *r = j->request;
	const struct namespace *ns = r->ns;

	/* Each has a number of its own; the first one's is that of all. */
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;

		hold_give(core, h, r->client);
		terms_begin(core, h);
		if (h->lock->ns != ns)
			continue;
		joint_answer(j, h);
	}
	joint_forsake(j);
	j->held = true;
	j->n_left = j->n;
	queue_fill_grant(core, r, j->parts[0].hold);
	r->reply.token = j->answer[0].token;
	r->reply.parts = j->answer;
	r->reply.n_parts = j->several ? j->n_rows : 0;
	request_reply(core, r, 0, 0, NULL);
	joint_release_locks(core, j);
	if (joint_is_endangered(core, j))
		action_notice(core, j->parts[0].hold, CORE_IN_DANGER);
}

/* ---- what is next ----------------------------------------------------- */

/* Stand in the queue of @l, and no other. Who sends no more waits for no
 * further lock; who is overdue has no more time. */
static void
joint_stand(struct core *core, struct joint *j, struct lock *l)
{
	struct request *r = j->request;

	if (r->lock == l)
		return;
	if (r->lock != NULL)
		queue_part(r);
	queue_join(l, r);
	if (!r->overdue && r->client->draining)
		queue_overdue(core, r);
}

/* Wait for this one, and keep none after it. */
static void
joint_wait(struct core *core, struct joint *j, uint32_t first)
{
	struct lock *l = j->parts[first].lock;

	joint_stand(core, j, l);
	joint_give_back(core, j, first + 1);
	queue_review(core, l);
	lock_advance(core, l);
}

/* For the answer of the store. One of a semaphore's may have become free here
 * meanwhile, and then it waits no more for that. */
static void
joint_wait_for_all(struct joint *j, uint32_t first)
{
	if (j->request->lock == NULL)
		queue_join(j->parts[first].lock, j->request);
}

/* All of them are had, and @l's record, and maybe others, has a lower token
 * than is to be told (level.c). It waits there, for whatever may befall it. */
static void
joint_wait_for_tokens(struct core *core, struct joint *j, struct lock *l)
{
	joint_stand(core, j, l);
	for (uint32_t i = 0; i < j->n; i++)
		lock_advance(core, j->parts[i].lock);
}

/* Some of them were lost, so all are: those that are in the record still stay
 * there until their holder's gap is over. */
static void
joint_drop_lost(struct core *core, struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		struct grant *g = h->grant;

		if (g == NULL)
			continue;
		grant_drop_hold(h);
		grant_leave_gap(core, g, h);
		lock_advance(core, g->lock);
	}
}

/* Its request was answered, with or without it. Whoever answered it need not
 * know in which of their queues it stood. */
static void
joint_end(struct core *core, struct joint *j)
{
	joint_give_back(core, j, 0);
	for (uint32_t i = 0; i < j->n; i++)
		lock_advance(core, j->parts[i].lock);
	joint_bury(core, j);
}

/* A session ended between the first of them and the last. */
static void
joint_start_again(struct core *core, struct joint *j)
{
	if (j->request->lock != NULL)
		queue_part(j->request);
	joint_give_back(core, j, 0);
	joint_wait(core, j, 0);
}

static void
joint_advance(struct core *core, struct joint *j)
{
	struct lock *lower;
	uint32_t first;

	if (j->held) {
		joint_drop_lost(core, j);
		return;
	}
	if (j->request == NULL) {
		joint_end(core, j);
		return;
	}
	first = joint_first(j);
	if (first < j->n && j->together != NULL)
		joint_wait_for_all(j, first);
	else if (first < j->n)
		joint_wait(core, j, first);
	else if (!joint_is_whole(core, j))
		joint_start_again(core, j);
	else if ((lower = level_first(j)) != NULL)
		joint_wait_for_tokens(core, j, lower);
	else
		joint_grant(core, j);
}

/* And what was put off for it where it stood. */
static void
joint_turn(struct core *core, struct joint *j)
{
	struct lock *l = j->request == NULL ? NULL : j->request->lock;

	if (l != NULL)
		l->references++;
	joint_advance(core, j);
	if (l == NULL)
		return;
	l->references--;
	lock_advance(core, l);
}

void
joint_run(struct core *core)
{
	while (core->due_joints != NULL) {
		struct joint *j = core->due_joints;

		LL_DELETE2(core->due_joints, j, next_due);
		j->due = false;
		joint_turn(core, j);
	}
}

/* ---- holds ------------------------------------------------------------ */

/* The hold whose number is that of all, and who speaks for all. */
struct hold *
joint_speaker(struct hold *h)
{
	return hold_joint(h) == NULL ? h : hold_joint(h)->parts[0].hold;
}

/* One of them is lost, and is taken from its grant by the caller. */
void
joint_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	struct joint *j = hold_joint(h);

	joint_due(core, j);
	if (!j->held || h->lost)
		return;
	for (uint32_t i = 0; i < j->n; i++)
		hold_mark_lost(core, j->parts[i].hold, loss);
	action_notice(core, j->parts[0].hold, CORE_LOST);
}

/* One of them was forgotten; they all are, one after the other. */
void
joint_ended(struct core *core, struct hold *h)
{
	struct joint *j = hold_joint(h);

	assert(j->held && j->n_left > 0);
	j->n_left--;
	if (j->n_left == 0)
		joint_bury(core, j);
}
