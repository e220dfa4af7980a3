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
 * event's turn.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* ---- coming and going ------------------------------------------------- */

static int
joint_compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->bytes, y->bytes, n);

	return order != 0 ? order :
	    (x->length > y->length) - (x->length < y->length);
}

static void
joint_free_answer(struct joint *j)
{
	for (uint32_t i = 0; i < j->n_rows; i++)
		free(j->answer[i].token_text);
	free(j->answer);
}

/* The core goes away: its locks and holds are freed without it. */
void
joint_free_all(struct core *core)
{
	struct joint *j, *next;
	struct together *t, *next_together;

	DL_FOREACH_SAFE(core->joints, j, next)
	{
		for (uint32_t i = 0; !j->held && i < j->n; i++)
			hold_free(core, j->parts[i].hold);
		joint_free_answer(j);
		free(j);
	}
	DL_FOREACH_SAFE(core->togethers, t, next_together)
	{
		free(t);
	}
}

/* Free it and the holds that no client has. */
void
joint_free(struct core *core, struct joint *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct part *part = &j->parts[i];

		if (!j->held)
			hold_free(core, part->hold);
		if (part->lock != NULL) {
			part->lock->references--;
			lock_free_if_unused(core, part->lock);
		}
	}
	DL_DELETE(core->joints, j);
	joint_free_answer(j);
	free(j);
}

static int
joint_add_lock(struct core *core, struct joint *j, struct namespace *ns,
    const struct core_request *ask, struct key key)
{
	struct part *part = &j->parts[j->n++];
	struct lock *l = lock_find(ns, key);
	int code = 0;

	part->hold = hold_new(ask, j);
	if (part->hold == NULL)
		return DDBLOCK_E_NOMEM;
	code = terms_new(core, ns, part->hold, &ask->terms);
	if (code == 0 && l == NULL)
		code = lock_new(core, ns, key, &l);
	if (code < 0)
		return code;
	part->lock = l;
	l->references++;
	return 0;
}

/* The namespace whose records are held beside those of @ns; NULL: none. */
struct namespace *
joint_bridge(const struct namespace *ns)
{
	return ns->settings.bridge == 0 ? NULL :
	    &ns->core->namespaces[ns->settings.bridge - 1];
}

/* How many locks a request for @n_keys (0: for one) takes; 0: only one. */
uint32_t
joint_n_parts(const struct namespace *ns, uint32_t n_keys)
{
	if (joint_bridge(ns) == NULL)
		return n_keys;
	return n_keys == 0 ? 2 : 2 * n_keys;
}

static int
joint_add_locks(struct core *core, struct joint *j, struct namespace *ns,
    const struct core_request *ask, const struct key *keys, uint32_t n)
{
	int code = 0;

	for (uint32_t i = 0; code == 0 && ns != NULL && i < n; i++)
		code = joint_add_lock(core, j, ns, ask, keys[i]);
	return code;
}

/* For all that @ask names; @r is not in a queue yet. */
int
joint_new(struct core *core, struct request *r,
    const struct core_request *ask, struct joint **ret)
{
	const struct key *asked = ask->n_keys == 0 ? &ask->key : ask->keys;
	uint32_t n = ask->n_keys == 0 ? 1 : ask->n_keys;
	uint32_t n_parts = joint_n_parts(r->ns, ask->n_keys);
	struct key keys[TOGETHER_MAX];
	struct joint *j;
	int code;

	memcpy(keys, asked, n * sizeof(*keys));
	qsort(keys, n, sizeof(*keys), joint_compare);
	for (uint32_t i = 1; i < n; i++) {
		if (joint_compare(&keys[i - 1], &keys[i]) == 0)
			return DDBLOCK_E_BAD_REQUEST;
	}
	j = calloc(1, sizeof(*j) + n_parts * sizeof(struct part));
	if (j == NULL)
		return DDBLOCK_E_NOMEM;
	DL_APPEND(core->joints, j);
	j->request = r;
	j->several = ask->n_keys > 0;
	j->answer = calloc(n, sizeof(*j->answer));
	code = j->answer == NULL ? DDBLOCK_E_NOMEM :
	    joint_add_locks(core, j, joint_bridge(r->ns), ask, keys, n);
	if (code == 0)
		code = joint_add_locks(core, j, r->ns, ask, keys, n);
	if (code < 0) {
		joint_free(core, j);
		return code;
	}
	*ret = j;
	return 0;
}

void
joint_due(struct core *core, struct joint *j)
{
	if (j->due)
		return;
	j->due = true;
	LL_APPEND2(core->due_joints, j, next_due);
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

/* Is it the first that is not the bridge's? */
static bool
joint_is_across(const struct joint *j, uint32_t i)
{
	return i > 0 && j->parts[i - 1].lock->ns != j->parts[i].lock->ns;
}

/* Stand in the queue of @l, and no other. Who sends no more waits for no
 * further lock; who is overdue has the time of one operation @more, or none. */
static void
joint_stand(struct core *core, struct joint *j, struct lock *l, bool more)
{
	struct request *r = j->request;

	if (r->lock == l)
		return;
	if (r->lock != NULL)
		queue_part(r);
	queue_join(l, r);
	if (r->overdue ? more : r->client->draining)
		queue_overdue(core, r);
}

/* Wait for this one, and keep none after it. */
static void
joint_wait(struct core *core, struct joint *j, uint32_t first)
{
	struct lock *l = j->parts[first].lock;
	struct lock *before = j->request->lock;

	/* A try has one operation's time for the bridge, and one for the
	 * rest. */
	joint_stand(core, j, l, joint_is_across(j, first));
	joint_give_back(core, j, first + 1);
	if (before != NULL && before != l)
		lock_advance(core, before);
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
	joint_stand(core, j, l, false);
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
		g->gap_ms = core->now_ms + g->lock->ns->settings.margin_ms;
		lock_advance(core, g->lock);
	}
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
		joint_give_back(core, j, 0);
		joint_bury(core, j);
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

void
joint_run(struct core *core)
{
	while (core->due_joints != NULL) {
		struct joint *j = core->due_joints;

		LL_DELETE2(core->due_joints, j, next_due);
		j->due = false;
		joint_advance(core, j);
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
