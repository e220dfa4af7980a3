/*
 * Watches: clients that want to know who holds a lock, and each change of that.
 *
 *  1. A watch begins with its answer, and whatever is known differently later
 *     is told. Within a step the last counts, so who takes the answer, and
 *     then each change, always ends at what this host knows.
 *  2. Whatever is learnt of a lock is news: from its own operations, from those
 *     of its clients, from the end of a session that is observed. Where none of
 *     that would show what other hosts do, the record is looked at every poll
 *     period: once for all who watch it, together with others, and no more
 *     than LOOKS_PER_SECOND of a namespace, so the period stretches with the
 *     number of keys.
 *  3. What is merely under way is not told: until an acquire is answered, what
 *     was known stands.
 *  4. After a lease of looks that failed nobody knows, and that is told.
 *  5. The dead stay dead.
 *  6. A change of what is kept in the lock is news, though what it is has to be
 *     asked for: the daemon does not have it.
 */
#include "core/reads/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

/* What is told. The times in a view go on by themselves. */
static bool
watch_is_same(const struct core_holder_view *a,
    const struct core_holder_view *b)
{
	return a->held == b->held && a->here == b->here &&
	    a->dead == b->dead && a->fail_closed == b->fail_closed &&
	    a->client == b->client &&
	    a->token == b->token && a->mode == b->mode &&
	    a->limit == b->limit && a->n_holders == b->n_holders &&
	    a->kept == b->kept;
}

/* Is what becomes of something of ours not known yet? */
static bool
watch_is_unsettled(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->state == GRANT_ASKING || g->state == GRANT_UNSURE)
			return true;
	}
	return l->others_seen > 0;
}

/* Has a look shown who has it, of which nothing is ours? */
static bool
watch_is_seen(const struct lock *l)
{
	return l->view == VIEW_FREE || l->view == VIEW_FOREIGN;
}

/* Who has the lock? False: that is not known now. What no client has, though
 * an element of ours is still there, is free to whoever asks. */
static bool
watch_view(const struct core *core, const struct lock *l,
    struct core_holder_view *ret)
{
	view_lock(core, l, core->now_ms, ret);
	if (ret->here)
		return true;
	if (l->grants != NULL) {
		*ret = (struct core_holder_view){ 0 };
		return !watch_is_unsettled(l);
	}
	return watch_is_seen(l);
}

/* ---- telling ---------------------------------------------------------- */

static void
watch_say(struct core *core, struct watch *watch)
{
	struct core_change *c = &watch->change;
	const struct watched *w = watch->lock->watched;

	c->serial = w->serial;
	c->holder = w->known ? &w->view : NULL;
	c->cause = w->known ? 0 : w->cause;
	action_add(core, &c->action, CORE_CHANGED);
}

static void
watch_say_all(struct core *core, struct watched *w)
{
	struct watch *watch;

	w->serial = ++core->change_serial;
	DL_FOREACH2(w->watches, watch, lock_next)
	{
		if (watch->request == NULL)
			watch_say(core, watch);
	}
}

static void
watch_answer(struct core *core, struct watch *watch,
    const struct core_holder_view *view)
{
	struct request *r = watch->request;

	*r->holder = *view;
	r->reply.holder = r->holder;
	request_reply(core, r, 0, 0, NULL);
}

/* Is what is known at least as new as this question? */
static bool
watch_is_fresh(const struct watched *w, const struct request *r)
{
	const struct lock *l = w->lock;

	return l->grants != NULL || w->looked_ms >= r->waiter.asked_ms ||
	    (l->ns->settings.sole_writer && watch_is_seen(l));
}

static void
watch_answer_all(struct core *core, struct watched *w)
{
	struct watch *watch, *next;

	/* Those without an answer stand in front. */
	DL_FOREACH_SAFE2(w->watches, watch, next, lock_next)
	{
		if (watch->request == NULL)
			return;
		if (watch_is_fresh(w, watch->request))
			watch_answer(core, watch, &w->view);
	}
}

/* The looks at it have failed for a lease, so what they saw is no news. */
static bool
watch_is_stale(const struct core *core, const struct watched *w)
{
	const struct lock *l = w->lock;

	return w->cause != 0 && l->grants == NULL &&
	    !l->ns->settings.sole_writer &&
	    core->now_ms - w->looked_ms >= l->ns->settings.lease_ms;
}

static void
watch_take(struct core *core, struct watched *w, struct core_holder_view *view)
{
	bool news;

	if (w->known && w->view.dead && view->held &&
	    view->token == w->view.token &&
	    view->n_holders == w->view.n_holders)
		view->dead = true;
	news = !w->known || !watch_is_same(view, &w->view);
	w->known = true;
	w->view = *view;
	if (news)
		watch_say_all(core, w);
	watch_answer_all(core, w);
}

/* What is known of this lock now, and is that news? */
static void
watch_review(struct core *core, struct watched *w)
{
	struct lock *l = w->lock;
	struct core_holder_view view;
	bool known;

	/* One of several who share it has died; the next one is watched. */
	lock_watch_next(core, l);
	known = watch_view(core, l, &view);
	view.kept = w->kept;
	watch_poll_line_up(core, w, known);
	if (known && l->grants != NULL && watch_poll_is_vain(l))
		w->looked_ms = core->now_ms;
	if (watch_is_stale(core, w)) {
		if (w->known) {
			w->known = false;
			watch_say_all(core, w);
		}
	} else if (known) {
		watch_take(core, w, &view);
	}
}

void
watch_tell(struct core *core)
{
	while (core->touched != NULL) {
		struct watched *w = core->touched;

		w->touched = false;
		DL_DELETE2(core->touched, w, touched_previous, touched_next);
		watch_review(core, w);
	}
}

void
watch_touch(struct core *core, struct lock *l)
{
	struct watched *w = l->watched;

	if (w == NULL || w->touched)
		return;
	w->touched = true;
	DL_APPEND2(core->touched, w, touched_previous, touched_next);
}

/* What is kept has another revision than was known. What a lock has known of
 * its random part is nothing, so that counts from the first look on. */
static bool
watch_is_revised(const struct watched *w, struct revision revision)
{
	return revision.sequence != w->revision.sequence ||
	    (w->revised_ms != 0 && revision.random != w->revision.random);
}

/* A record came with the answer to what was submitted then. Its revision may
 * be a lower one: a new record, where the last has expired. */
void
watch_seen(struct lock *l, const struct lock_record *record,
    uint64_t submitted_ms)
{
	struct watched *w = l->watched;

	if (w == NULL)
		return;
	if (submitted_ms >= w->revised_ms) {
		if (watch_is_revised(w, record->revision))
			w->kept++;
		w->revision = record->revision;
		w->revised_ms = submitted_ms;
	}
	w->looked_ms = submitted_ms;
	w->cause = 0;
	watch_poll_leave(w);
}

/* A look failed. */
void
watch_fail(struct core *core, struct lock *l, int code)
{
	if (l->watched == NULL)
		return;
	l->watched->cause = code;
	watch_touch(core, l);
}

static void
watched_free(struct core *core, struct watched *w)
{
	assert(w->watches == NULL && w->n_asking == 0);
	watch_poll_leave(w);
	watch_poll_schedule(core, w->lock->ns);
	if (w->touched)
		DL_DELETE2(core->touched, w, touched_previous, touched_next);
	w->lock->watched = NULL;
	free(w);
}

/* The lock may be without a reason to exist then, and is freed. */
static void
watch_end(struct core *core, struct watch *watch)
{
	struct lock *l = watch->lock;
	struct client *c = watch->client;

	assert(watch->request == NULL);
	HASH_DEL(core->watches, watch);
	DL_DELETE2(c->watches, watch, client_previous, client_next);
	c->n_watches--;
	core->n_watches--;
	DL_DELETE2(l->watched->watches, watch, lock_previous, lock_next);
	free(watch);
	if (l->watched->watches == NULL)
		watched_free(core, l->watched);
	lock_free_if_unused(core, l);
	client_free_if_unused(core, c);
}

/* A look of the lock's own failed: who asked for it is told so. */
void
watch_failed(struct core *core, struct lock *l, int code, const char *text)
{
	struct watched *w = l->watched;

	while (w != NULL && w->n_asking > 0) {
		struct watch *watch = w->watches;

		request_reply(core, watch->request, code, 0, text);
		watch_end(core, watch);
		w = l->watched;
	}
	watch_fail(core, l, code);
}

/* ---- beginning and end ------------------------------------------------ */

/* Does somebody wait for a look, to be answered? */
bool
watch_wants_look(const struct lock *l)
{
	const struct watched *w = l->watched;

	/* The latest of them stands first. */
	return w != NULL && w->n_asking > 0 &&
	    !watch_is_fresh(w, w->watches->request);
}

struct watch *
watch_find(const struct core *core, const struct client *c,
    const struct lock *l)
{
	const struct watch_id id = { c, l };
	struct watch *watch;

	HASH_FIND(hh, core->watches, &id, sizeof(id), watch);
	return watch;
}

static struct watched *
watched_new(struct lock *l)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->lock = l;
	w->revision.sequence = l->sequence;
	return w;
}

void
watch_free_all(struct core *core)
{
	struct watch *watch, *next;

	HASH_ITER(hh, core->watches, watch, next)
	{
		free(watch->lock->watched);
		watch->lock->watched = NULL;
		HASH_DEL(core->watches, watch);
		free(watch);
	}
}

/* Its request is answered, or gone: it is a watch now, or about to end. */
static void
watch_forget_request(struct core *core, struct request *r)
{
	struct watch *watch = r->served;
	struct watched *w = watch->lock->watched;

	(void)core;
	assert(w->n_asking > 0);
	w->n_asking--;
	watch->request = NULL;
	DL_DELETE2(w->watches, watch, lock_previous, lock_next);
	DL_APPEND2(w->watches, watch, lock_previous, lock_next);
}

/* There was no look in time. */
static void
watch_timeout(struct core *core, struct request *r)
{
	struct watch *watch = r->served;
	struct lock *l = watch->lock;
	int cause = l->cause != 0 ? l->cause : r->ns->cause;

	request_reply(core, r, DDBLOCK_E_UNREACHABLE, cause, r->ns->text);
	watch_end(core, watch);
}

static bool
watch_is_busy(const struct request *r)
{
	(void)r;
	return false;
}

static void
watch_free(struct request *r)
{
	(void)r;	/* it is the client's, and not the request's */
}

static const struct request_kind watch_kind = {
	.leave = watch_forget_request,
	.is_busy = watch_is_busy,
	.timeout = watch_timeout,
	.free = watch_free,
};

static int
watch_new(struct core *core, struct request *r, struct lock *l)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct client *c = r->client;

	r->holder = calloc(1, sizeof(*r->holder));
	if (l->watched == NULL)
		l->watched = watched_new(l);
	if (watch == NULL || r->holder == NULL || l->watched == NULL) {
		free(watch);
		return DDBLOCK_E_NOMEM;
	}
	watch->id = (struct watch_id){ c, l };
	HASH_ADD(hh, core->watches, id, sizeof(watch->id), watch);
	if (watch->hh.tbl == NULL) {
		free(watch);
		return DDBLOCK_E_NOMEM;
	}
	watch->client = c;
	watch->lock = l;
	watch->change.client = c->id;
	watch->change.namespace_index = l->ns->index;
	watch->change.key = lock_key(l);
	watch->request = r;
	r->served = watch;
	r->kind = &watch_kind;
	DL_APPEND2(c->watches, watch, client_previous, client_next);
	c->n_watches++;
	core->n_watches++;
	DL_PREPEND2(l->watched->watches, watch, lock_previous, lock_next);
	l->watched->n_asking++;
	return 0;
}

static int
watch_begin(struct core *core, struct request *r, struct lock *l)
{
	struct core_holder_view view;
	int code = watch_new(core, r, l);

	if (code < 0) {
		if (l->watched != NULL && l->watched->watches == NULL)
			watched_free(core, l->watched);
		lock_free_if_unused(core, l);
		return code;
	}
	r->waiter.deadline_ms = core->now_ms + r->ns->settings.request_ms;
	heap_set(&core->heap, &r->waiter.timer, r->waiter.deadline_ms);
	if (watch_view(core, l, &view) && watch_is_fresh(l->watched, r))
		watch_touch(core, l);
	else
		lock_advance(core, l);
	return 0;
}

int
watch_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct client *c = r->client;
	struct lock *l = lock_find(r->ns, ask->key);
	int code = 0;

	if (!key_is_sound(ask->key))
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "a key has 1 to 1024 bytes");
	else if (core->stopping)
		request_reply(core, r, DDBLOCK_E_SHUTTING_DOWN, 0, NULL);
	else if (l != NULL && watch_find(core, c, l) != NULL)
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "this connection watches the lock already");
	else if (c->n_watches >= core->limits.watches_per_client_max)
		request_reply(core, r, DDBLOCK_E_LIMIT, 0,
		    "this connection watches as many locks as it may");
	else if (core->n_watches >= core->limits.watches_max)
		request_reply(core, r, DDBLOCK_E_LIMIT, 0,
		    "this daemon watches as many locks as it may");
	else if (l == NULL)
		code = lock_new(core, r->ns, ask->key, &l);
	if (code < 0 || r->client == NULL)
		return code;
	return watch_begin(core, r, l);
}

int
watch_unask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct lock *l = lock_find(r->ns, ask->key);
	struct watch *watch = l == NULL ? NULL :
	    watch_find(core, r->client, l);

	if (watch == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    "this connection does not watch that lock");
		return 0;
	}
	if (watch->request != NULL)
		request_reply(core, watch->request, DDBLOCK_E_CANCELLED, 0,
		    NULL);
	watch_end(core, watch);
	request_reply(core, r, 0, 0, NULL);
	return 0;
}

void
watch_left(struct core *core, struct client *c)
{
	while (c->watches != NULL)
		watch_end(core, c->watches);
}
