/*
 * What clients that watch a lock are told of its holders, and when. If they are
 * many, a step tells some of them (per_step_max), and the next one goes on.
 *
 *  1. A watch begins with its answer, and whatever is known differently later
 *     is told. Within a step the last counts, so a client that takes the
 *     answer, and then each change, has this host's present knowledge.
 *  2. Whatever is learnt of a lock is news: from its own operations, from those
 *     of its clients, from the end of a session that is observed. Where none of
 *     that would show what other hosts do, the record is looked at every poll
 *     period: once for all its watchers, together with others, and no more than
 *     LOOKS_PER_SECOND of a namespace, so the period stretches with the number
 *     of keys.
 *  3. What is merely under way is not told: until an acquire is answered, what
 *     was known stands.
 *  4. After a lease of failed polls the state is unknown, and that is told.
 *  5. Dead holders remain dead.
 *  6. A change of what is kept in the lock is news, though what it is has to be
 *     asked for: the daemon does not have it.
 */
#include "core/reads/room.h"

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
	    a->contents_serial == b->contents_serial;
}

/* Is an operation of ours without an outcome yet? */
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

/* Has a poll shown its holder, which is not ours? */
static bool
watch_is_seen(const struct lock *l)
{
	return l->view == VIEW_FREE || l->view == VIEW_FOREIGN;
}

/* The holder of the lock. False: that is not known now. Without a client it is
 * free to any client, though an element of ours may still be there. */
bool
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
	w->serial = ++core->change_serial;
	if (w->telling)
		return;
	w->telling = true;
	DL_APPEND2(core->telling, w, telling_previous, telling_next);
}

void
watch_told(struct core *core, struct watched *w)
{
	if (!w->telling)
		return;
	w->telling = false;
	DL_DELETE2(core->telling, w, telling_previous, telling_next);
}

/* Those of them that wait longest, and no more than @n_max. How many? */
static uint32_t
watch_say_some(struct core *core, struct watched *w, uint32_t n_max)
{
	uint32_t n = 0;

	while (w->watches != NULL && w->watches->change.serial != w->serial) {
		struct watch *watch = w->watches;

		if (n == n_max)
			return n;
		n++;
		watch_say(core, watch);
		DL_DELETE2(w->watches, watch, lock_previous, lock_next);
		DL_APPEND2(w->watches, watch, lock_previous, lock_next);
	}
	watch_told(core, w);
	return n;
}

/* The rest comes in the next step: there may be many of them, and then they get
 * what is known by that time. */
static void
watch_tell_some(struct core *core)
{
	uint32_t n_left = core->limits.per_step_max;

	while (core->telling != NULL && n_left > 0)
		n_left -= watch_say_some(core, core->telling, n_left);
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
bool
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

	DL_FOREACH_SAFE2(w->asking, watch, next, lock_next)
	{
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
	watch_hint_judge(core, w, news);
	watch_answer_all(core, w);
}

/* What is known of this lock now, and is that news? */
static void
watch_review(struct core *core, struct watched *w)
{
	struct lock *l = w->lock;
	struct core_holder_view view;
	bool known;

	/* One of several sharers has died; the next one is watched. */
	lock_watch_next(core, l);
	known = watch_view(core, l, &view);
	view.contents_serial = w->contents_serial;
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
	watch_tell_some(core);
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
			w->contents_serial++;
		w->revision = record->revision;
		w->revised_ms = submitted_ms;
	}
	w->looked_ms = submitted_ms;
	w->cause = 0;
	if (w->hinted)
		watch_poll_enter_now(l->ns->core, w);
	else
		watch_poll_leave(w);
	watch_follow(w, record);
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
