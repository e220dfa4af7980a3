/*
 * A client's hold, from the room for it, which is made with the request, to its
 * end.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hold *
hold_of(const struct hash_link *link)
{
	return CONTAINER_OF(link, struct hold, link);
}

/* Numbers follow each other, so they spread by themselves. */
uint32_t
hold_hash(const struct hash_link *link)
{
	return (uint32_t)hold_of(link)->notice.hold;
}

struct hold *
hold_find(const struct core *core, uint64_t id)
{
	struct hash_link *link =
	    hash_chain(&core->holds_by_id, (uint32_t)id);

	while (link != NULL && hold_of(link)->notice.hold != id)
		link = link->next;
	return link == NULL ? NULL : hold_of(link);
}

/* It is the client's from now on, by a number of its own. */
void
hold_give(struct core *core, struct hold *h, struct client *c)
{
	struct namespace *ns = h->lock->ns;

	h->notice.hold = ++core->hold_serial;
	hash_add(&core->holds_by_id, &h->link);
	DL_APPEND2(core->holds, h, previous, next);
	h->notice.client = c->id;
	h->client = c;
	h->since_ms = core->now_ms & HOLD_SINCE_MAX;
	DL_APPEND2(c->holds, h, client_previous, client_next);
	c->n_holds++;
	if (!h->fail_closed)
		c->held_in[ns->index]++;
	ns->n_held++;
	ns->granted++;
}

void
hold_mark_lost(struct core *core, struct hold *h, enum core_loss loss)
{
	struct namespace *ns = h->lock->ns;

	assert(!h->lost);
	h->lost = true;
	h->notice.loss = loss;
	if (!h->fail_closed) {
		assert(h->client->held_in[ns->index] > 0);
		h->client->held_in[ns->index]--;
	}
	ns->n_held--;
	ns->lost++;
	h->lock->references++;
	terms_end(core, h);
	process_lose(core, h);
}

/* The hold is valid no more; its client is told. It stays until the client
 * releases it, so that a release says why it came too late. */
void
hold_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	if (hold_joint(h) != NULL) {
		joint_lose(core, h, loss);
		return;
	}
	hold_mark_lost(core, h, loss);
	action_notice(core, h, CORE_LOST);
}

/* Forget a hold that was released or whose client is gone. Its lock no longer
 * refers to it. */
void
hold_end(struct core *core, struct hold *h)
{
	struct client *c = h->client;
	struct lock *l = h->lock;

	assert(h->grant == NULL);
	hash_remove(&core->holds_by_id, &h->link);
	DL_DELETE2(core->holds, h, previous, next);
	DL_DELETE2(c->holds, h, client_previous, client_next);
	c->n_holds--;
	if (h->lost) {
		assert(l->references > 0);
		l->references--;
		lock_free_if_unused(core, l);
	} else {
		if (!h->fail_closed)
			c->held_in[l->ns->index]--;
		l->ns->n_held--;
		watch_touch(core, l);
	}
	h->lock = NULL;
	terms_end(core, h);
	process_part(core, h);
	h->client_next = core->dead_holds;
	core->dead_holds = h;
	if (hold_joint(h) != NULL)
		joint_ended(core, h);
	client_free_if_unused(core, c);
}

/* For a grant to come, which may be of several. NULL: no memory. */
struct hold *
hold_new(const struct core_request *ask, struct joint *j)
{
	struct special_hold *special;

	if (j == NULL && !ask->named)
		return calloc(1, sizeof(struct hold));
	special = calloc(1, sizeof(*special));
	if (special == NULL)
		return NULL;
	special->hold.special = true;
	special->joint = j;
	if (!ask->named)
		return &special->hold;
	special->owner = strdup(ask->owner);
	if (special->owner == NULL) {
		free(special);
		return NULL;
	}
	return &special->hold;
}

/* Whose it is one of; NULL: it stands by itself. */
struct joint *
hold_joint(const struct hold *h)
{
	return h->special ? ((const struct special_hold *)h)->joint : NULL;
}

/* What it is called; NULL: as its client is. */
const char *
hold_owner(const struct hold *h)
{
	return h->special ? ((const struct special_hold *)h)->owner : NULL;
}

/* Its client is gone, and nobody has it any more. */
void
hold_desert(struct core *core, struct hold *h)
{
	struct grant *g = h->grant;

	if (g != NULL)
		grant_drop_hold(h);
	hold_end(core, h);
	if (g != NULL && g->fail_closed)
		closed_leave(core, g);
	else if (g != NULL && g->holds == NULL)
		lock_release(core, g->lock);
}

/* Its client's connection is ended, which is no sign that it has stopped: what
 * it had is left alone for a margin. (Of several each comes here, and the first
 * speaks for all.) */
void
hold_cut_off(struct core *core, struct hold *h)
{
	struct grant *g = h->grant;
	struct lock *l = h->lock;

	hold_mark_lost(core, h, CORE_LOSS_CUT_OFF);
	if (joint_speaker(h) == h)
		action_notice(core, h, CORE_LOST);
	grant_drop_hold(h);
	grant_leave_gap(core, g, h);
	hold_end(core, h);
	lock_advance(core, l);
}

void
hold_free(struct core *core, struct hold *h)
{
	if (h == NULL)
		return;
	terms_free(core, h);
	if (h->special)
		free(((struct special_hold *)h)->owner);
	free(h);
}
