/*
 * What a hold's client was promised: until when it is good, and whether it
 * stands in danger. Of several locks as one, the first end counts.
 */
#include "core/client/room.h"

/* When its renewal was sent: its session's latest, or the one that its client
 * asked for. */
static uint64_t
terms_sent_ms(const struct hold *h)
{
	return h->terms != NULL && h->terms->manual ? h->terms->sent_ms :
	    h->use.grant->lease->sent_ms;
}

/* Of one of several that are held as one, without the others. */
static uint64_t
terms_own_until_ms(const struct hold *h)
{
	const struct core_namespace *n = &h->use.lock->ns->settings;
	uint64_t until_ms;

	if (h->use.fail_closed)
		return 0;
	until_ms = terms_sent_ms(h) + n->lease_ms - n->margin_ms;

	if (h->terms != NULL && h->terms->end_ms < until_ms)
		return h->terms->end_ms;
	return until_ms;
}

/* When the first of their leases ends, of those that are not lost. */
static uint64_t
multi_until_ms(const struct multi *j)
{
	uint64_t until_ms = CORE_FOREVER;

	for (uint32_t i = 0; i < j->n; i++) {
		const struct hold *h = j->parts[i].hold;
		uint64_t own_ms;

		if (h->use.grant == NULL)
			continue;
		own_ms = terms_own_until_ms(h);
		if (own_ms < until_ms)
			until_ms = own_ms;
	}
	return until_ms;
}

/* When the hold ends unless it is renewed; and if it is, its own end. 0: it is
 * fail-closed, and does not. */
uint64_t
terms_until_ms(const struct hold *h)
{
	const struct multi *is_multi = h->special ? hold_multi(h) : NULL;

	return is_multi == NULL ? terms_own_until_ms(h) :
	    multi_until_ms(is_multi);
}

/* Its own end, for the client; 0: it has none. */
uint64_t
hold_end_ms(const struct hold *h)
{
	return h->terms == NULL || h->terms->end_ms == CORE_FOREVER ? 0 :
	    h->terms->end_ms;
}

bool
terms_have_warning(const struct terms *t)
{
	return t != NULL && t->danger_ms != 0;
}

uint64_t
terms_danger_ms(const struct terms *t)
{
	if (t->danger_ms == CORE_FOREVER)
		return CORE_FOREVER;
	return terms_sent_ms(t->hold) + t->danger_ms;
}

/* Without a warning of its own: with its lease, or, if it has none, with the
 * store. */
static bool
promise_is_endangered(const struct hold *h)
{
	return h->use.fail_closed ? h->use.lock->ns->closed_danger :
	    h->use.grant->lease->danger;
}

bool
terms_are_endangered(const struct core *core, const struct hold *h)
{
	return terms_have_warning(h->terms) ?
	    core->now_ms >= terms_danger_ms(h->terms) :
	    promise_is_endangered(h);
}

/* Is any of them? */
bool
multi_is_endangered(const struct core *core, const struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct hold *h = j->parts[i].hold;

		if (h->use.grant != NULL && terms_are_endangered(core, h))
			return true;
	}
	return false;
}

/* Does it hear of its session's danger, and not of one of its own? */
bool
terms_are_common(const struct hold *h)
{
	return !terms_have_warning(h->terms);
}

bool
process_has(const struct hold *h)
{
	return h->terms != NULL && h->terms->process != 0;
}

/* Has it a client that may leave it for a while, or has left it? */
bool
linger_keeps(const struct hold *h)
{
	return h->terms != NULL &&
	    (h->terms->linger_ms > 0 || h->terms->resumes);
}

/* Does it go on without its client, which has left, or was @cut off and goes on
 * itself? */
bool
linger_outlives(const struct hold *h, bool cut)
{
	return linger_keeps(h) && (cut || h->terms->linger_ms > 0);
}

uint64_t
hold_least_ms(const struct hold *h)
{
	return h->terms == NULL ? 0 : h->terms->least_ms;
}

/* Would it stay if its client were done with it? */
bool
at_least_keeps(const struct core *core, const struct hold *h)
{
	return h->terms != NULL && h->terms->least_ms > core->now_ms &&
	    !h->lost && !h->let_go;
}

/* How often it is held; 0: it is not reentrant. */
uint32_t
hold_count(const struct hold *h)
{
	return h->terms == NULL ? 0 : h->terms->count;
}

uint64_t
hold_until_ms(const struct hold *h)
{
	return terms_until_ms(h);
}

bool
hold_is_endangered(const struct hold *h)
{
	return terms_are_common(h) ? promise_is_endangered(h) :
	    h->terms->danger;
}

void
promise_tell(const struct core *core, const struct hold *h,
    struct core_reply *reply)
{
	reply->until_ms = terms_until_ms(h);
	reply->count = hold_count(h);
	/* What it has once more lingers if it was first asked for so. */
	if (linger_keeps(h))
		reply->secret = &h->client->linger->secret;
	else
		reply->terms.linger_ms = 0;
	reply->terms.resumes = h->terms != NULL && h->terms->resumes;
	if (!process_has(h))
		reply->terms.process = 0;
	if (h->use.fail_closed)
		return;
	reply->remaining_ms = reply->until_ms - core->now_ms;
	reply->end_ms = hold_end_ms(h);
	reply->margin_ms = h->use.lock->ns->settings.margin_ms;
}
