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
	return hold_multi(h) == NULL ? terms_own_until_ms(h) :
	    multi_until_ms(hold_multi(h));
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

bool
terms_are_endangered(const struct core *core, const struct hold *h)
{
	if (h->use.fail_closed)
		return h->use.lock->ns->closed_danger;
	if (!terms_have_warning(h->terms))
		return h->use.grant->lease->danger;
	return core->now_ms >= terms_danger_ms(h->terms);
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
	if (h->use.fail_closed)
		return h->use.lock->ns->closed_danger;
	return terms_are_common(h) ? h->use.grant->lease->danger :
	    h->terms->danger;
}
