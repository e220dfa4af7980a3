/*
 * A hold's life: it is given to a client, it is lost, it ends.
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>

/* A client hears of renewals in the namespaces where it has something by a
 * lease. */
void
hold_count_valid(const struct hold *h, int more)
{
	uint32_t *n = &h->client->held_in[h->use.lock->ns->index];

	if (h->use.fail_closed || h->let_go)
		return;
	assert(more > 0 || *n > 0);
	*n = more > 0 ? *n + 1 : *n - 1;
}

/* About what it takes, with its lock. */
static int64_t
hold_bytes(const struct hold *h)
{
	return (int64_t)(SHARE_LOCK_BYTES + h->use.lock->key_length);
}

/* It changes hands. */
void
hold_share(struct core *core, const struct hold *h, struct client *from,
    struct client *to)
{
	share_add(core, from, SHARE_LOCKS, -1, -hold_bytes(h));
	share_add(core, to, SHARE_LOCKS, 1, hold_bytes(h));
}

/* It is the client's, by its number. */
void
hold_link(struct core *core, struct hold *h, struct client *c)
{
	hash_add(&core->holds_by_id, &h->link, (uint32_t)h->notice.hold);
	rank_add(&core->holds, &h->rank, h->notice.hold);
	h->notice.client = c->id;
	h->client = c;
	DL_APPEND2(c->holds, h, client_previous, client_next);
	c->n_holds++;
	if (h->terms != NULL)
		c->n_lingers += linger_keeps(h);
	share_add(core, c, SHARE_LOCKS, 1, hold_bytes(h));
}

/* It is the client's from now on, by a number of its own. */
void
hold_give(struct core *core, struct hold *h, struct client *c)
{
	struct namespace *ns = h->use.lock->ns;

	h->notice.hold = ++core->hold_serial;
	h->since_ms = core->now_ms & HOLD_SINCE_MAX;
	hold_link(core, h, c);
	hold_count_valid(h, 1);
	ns->n_held++;
	figures_granted(ns, lock_key(h->use.lock));
	hold_touch(core, h);
	if (core->hold_serial >= core->hold_serial_saved)
		saved_touch(core, &core->serials, SAVED_SERIALS);
}

static uint64_t
hold_held_ms(const struct core *core, const struct hold *h)
{
	return core->now_ms > h->since_ms ? core->now_ms - h->since_ms : 0;
}

void
hold_mark_lost(struct core *core, struct hold *h, enum core_loss loss)
{
	struct namespace *ns = h->use.lock->ns;

	assert(!h->lost);
	h->lost = true;
	linger_count(h, false);
	hold_touch(core, h);
	h->notice.loss = loss;
	hold_count_valid(h, -1);
	ns->n_held--;
	figures_lost(ns, lock_key(h->use.lock), loss);
	figures_held(ns, lock_key(h->use.lock), hold_held_ms(core, h));
	lock_ref(h->use.lock);
	terms_end(core, h);
	process_lose(core, h);
}

/* The hold is valid no more; its client is told. It is kept until the client
 * releases it, so that a release says why it came too late. */
void
hold_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	if (hold_multi(h) != NULL) {
		multi_lose(core, h, loss);
		return;
	}
	hold_mark_lost(core, h, loss);
	notice_send(core, h, CORE_LOST);
}

/* It is lost and its client has left, or let it go: nobody will ask what became
 * of it, unless it lingers or is a process's. */
bool
hold_is_nobodys(const struct hold *h)
{
	return h->lost && (h->client->gone || h->let_go) &&
	    !linger_keeps(h) && !process_has(h);
}

/* (One of several ends with the others; what is only kept for one who asked has
 * no client yet.) */
void
hold_lost(struct core *core, struct use *u, enum core_loss loss)
{
	struct hold *h = hold_of(u);

	hold_lose(core, h, loss);
	grant_drop_use(u);
	if (hold_multi(h) == NULL && hold_is_nobodys(h))
		hold_end(core, h);
}

/*
 * The hold ends by our own decision, while the lease goes on: the client is
 * told, and what it had is left alone for a margin. The gap is the holder's.
 * The caller advances the lock.
 */
void
hold_lose_by_us(struct core *core, struct hold *h, enum core_loss loss)
{
	struct grant *g = h->use.grant;

	hold_lost(core, &h->use, loss);
	grant_leave_gap(core, g, hold_working_ms(h));
}

void
core_on_ended(struct core *core, core_ended_fn ended, void *arg)
{
	core->ended = ended;
	core->ended_arg = arg;
}

/* It is about to end; of a loss was told. */
void
hold_tell_end(const struct core *core, const struct hold *h, enum core_end end)
{
	if (core->ended == NULL || h->lost)
		return;
	core->ended(core->ended_arg, &(struct core_ended){
		.end = end,
		.hold = h->notice.hold,
		.client = h->client->id,
		.namespace_index = h->use.lock->ns->index,
		.key = lock_key(h->use.lock),
		.token = h->use.token,
	});
}

/* Forget a hold that was released or whose client is gone. Its lock no longer
 * refers to it. */
void
hold_end(struct core *core, struct hold *h)
{
	struct client *c = h->client;
	struct lock *l = h->use.lock;

	assert(h->use.grant == NULL);
	saved_end(core, &h->saved);
	hash_remove(&core->holds_by_id, &h->link, (uint32_t)h->notice.hold);
	rank_remove(&core->holds, &h->rank);
	if (c->to_leave == h)
		c->to_leave = h->client_next;
	DL_DELETE2(c->holds, h, client_previous, client_next);
	c->n_holds--;
	c->n_lingers -= linger_keeps(h);
	share_add(core, c, SHARE_LOCKS, -1, -hold_bytes(h));
	linger_count(h, false);
	if (h->lost) {
		lock_unref(core, l);
	} else {
		hold_count_valid(h, -1);
		l->ns->n_held--;
		figures_held(l->ns, lock_key(l), hold_held_ms(core, h));
		lock_touch(core, l);
	}
	h->use.lock = NULL;
	terms_forget(core, h);
	process_part(core, h);
	h->client_next = core->dead_holds;
	core->dead_holds = h;
	if (hold_multi(h) != NULL)
		multi_ended(core, h);
	client_free_if_unused(core, c);
}

/* Its client is gone, and it has no other; or its time is over. */
void
hold_desert(struct core *core, struct hold *h)
{
	struct grant *g = h->use.grant;

	if (at_least_keeps(core, h)) {
		at_least_let_go(core, h);
		return;
	}
	hold_tell_end(core, h, h->use.fail_closed ? CORE_END_CLOSED :
	    h->let_go ? CORE_END_AT_LEAST :
	    process_has(h) ? CORE_END_PROCESS :
	    linger_keeps(h) ? CORE_END_LINGERED : CORE_END_LEFT);
	if (g != NULL)
		grant_drop_use(&h->use);
	hold_end(core, h);
	if (g != NULL && g->fail_closed)
		fail_closed_leave(core, g);
	else if (g != NULL && g->uses == NULL)
		lock_release(core, g->lock);
}

/* With all that are held as one with it. */
void
hold_desert_all(struct core *core, struct hold *h)
{
	const struct multi *j = hold_multi(h);

	if (j == NULL) {
		hold_desert(core, h);
		return;
	}
	for (uint32_t i = 0; i < j->n; i++)
		hold_desert(core, j->parts[i].hold);
}

/* Its client's connection is ended, which is no sign that it has stopped: what
 * it had is left alone for a margin. (Of several each comes here, and the first
 * speaks for all.) */
void
hold_cut_off(struct core *core, struct hold *h)
{
	struct grant *g = h->use.grant;
	struct lock *l = h->use.lock;

	hold_mark_lost(core, h, CORE_LOSS_CUT_OFF);
	if (multi_speaker(h) == h)
		notice_send(core, h, CORE_LOST);
	grant_drop_use(&h->use);
	grant_leave_gap(core, g, hold_working_ms(h));
	hold_end(core, h);
	lock_advance(core, l);
}

void
hold_free(struct core *core, struct hold *h)
{
	if (h == NULL)
		return;
	terms_free(core, h);
	free(h);
}
