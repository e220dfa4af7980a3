/*
 * What must be true of clients and requests after each step, and of a hold
 * after anything happened to its lock.
 */
#include "core/client/room.h"

#include <assert.h>

/* Terms of its own: until when, and for what. */
static void
hold_check_terms(const struct core *core, const struct hold *h)
{
	const struct terms *t = h->terms;

	assert(t->hold == h);
	/* Of several, those that are lost leave one after the other. */
	assert(!h->lost || hold_multi(h) != NULL);
	/* Or its timer is next. */
	assert(core->now_ms < t->end_ms ||
	    (t->timer.position != 0 && t->timer.at_ms <= core->now_ms));
	assert(terms_have_warning(t) || !t->danger);
	/* It ends only with the process. */
	assert(t->process == 0 || (!h->use.fail_closed && !t->manual &&
	    !t->stays && t->linger_ms == 0 && !t->resumes));
	/* Or is to be, in this step. */
	assert(!h->let_go || (t->linger_timer.position != 0 &&
	    t->linger_timer.at_ms == t->least_ms));
}

void
hold_check(const struct core *core, const struct use *u)
{
	const struct hold *h = CONTAINER_OF(u, struct hold, use);
	const struct terms *t = h->terms;
	bool outlives = t != NULL &&
	    (h->let_go || t->stays || t->linger_end_ms > 0 || t->process != 0);

	/* What is kept for a request is given back in the same step. */
	assert(h->client == NULL || !h->client->gone ||
	    h->client->pinned || outlives || multi_is_kept(h));
	assert(h->client == NULL || h->client->pinned || h->client->leaving ||
	    h->lingers == (h->client->gone && linger_keeps(h) && !h->lost));
	if (t != NULL)
		hold_check_terms(core, h);
}

void
client_check(const struct core *core)
{
	assert(HASH_COUNT(core->clients) <= core->bounds.clients);
	assert(core->due_multis == NULL);
}
