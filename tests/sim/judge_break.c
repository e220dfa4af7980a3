/*
 * Breaks: each broken hold was meant by a client's request, and its holder is
 * told as soon as its own daemon knows.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
judge_break_asked(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	struct judge_break *b = judge_alloc(sizeof(*b));
	struct judge_hold *h;

	*b = (struct judge_break){ .host = f->host, .asked_ms = f->at_ms,
		.token = f->token };
	if (f->version != NULL)
		(void)snprintf(b->record, sizeof(b->record), "%s", f->version);
	LL_PREPEND(l->breaks, b);
	if (j->rules.sees_table)
		return;
	/* Its target is not known. */
	DL_FOREACH(l->holds, h)
	{
		h->exempt = true;
	}
}

/* Had a client at this host seen this element? */
static bool
judge_break_was_meant(const struct judge_lock *l, const struct judge_grant *g,
    const struct fact *f)
{
	const struct judge_break *b;

	LL_FOREACH(l->breaks, b)
	{
		if (b->host == f->host && b->asked_ms <= f->sent_ms &&
		    b->token > g->token_since)
			return true;
	}
	return false;
}

/* Had a client at this host seen this foreign record? */
bool
judge_break_is_of_record(const struct judge_lock *l, const struct fact *f)
{
	const struct judge_record *r = &l->record;
	const struct judge_break *b;

	if (f->record.exists && !f->record.free)
		return false;
	LL_FOREACH(l->breaks, b)
	{
		if (b->host == f->host && b->asked_ms <= f->sent_ms &&
		    (b->record[0] == '\0' ? b->token == r->token :
		    r->version[0] == '\0' ||
		    strcmp(b->record, r->version) == 0))
			return true;
	}
	return false;
}

void
judge_break_left(struct judge *j, const struct judge_lock *l,
    struct judge_grant *g, const struct fact *f)
{
	g->hand_gone = true;
	g->broken = true;
	g->breaker = f->host;
	if (f->lock.n_elements > 0)
		judge_find(j, "R19", "%c breaks %s, but not all who have it",
		    judge_host_name(f->host), judge_lock_name(l));
	else if (!judge_break_was_meant(l, g, f))
		judge_find(j, "R19", "%c breaks %s, which nobody asked for who "
		    "had seen that holder", judge_host_name(f->host),
		    judge_lock_name(l));
}

/* For records: another break, without an answer, may have hit it. */
static bool
judge_break_hit(const struct judge_hold *h, const struct judge_request *r)
{
	const struct judge_grant *g = h->grant;
	unsigned host = r->client->host;

	if (g == NULL)
		return h->broken_ms >= r->asked_ms && h->breaker == host;
	return g->broken && !g->standing && g->breaker == host;
}

/* The fate of one lock of several is the fate of all. */
static void
judge_break_ends_others(struct judge *j, const struct judge_hold *h)
{
	struct judge_hold *o, *next;

	DL_FOREACH_SAFE2(h->client->holds, o, next, client_next)
	{
		if (o == h || h->multi == 0 || o->multi != h->multi ||
		    o->state != HOLD_VALID)
			continue;
		judge_hold_end(j, o, HOLD_LOST, END_LOST);
		judge_notice_schedule(j, o);
	}
}

void
judge_break_answered(struct judge *j, const struct judge_request *r)
{
	struct judge_hold *h, *next;

	DL_FOREACH_SAFE(r->broken->holds, h, next)
	{
		if (h->deserted || h->client->host != r->client->host ||
		    !judge_break_hit(h, r))
			continue;
		/* Only a client that resumes it is told. */
		if (h->linger_ms > 0) {
			judge_hold_end(j, h, HOLD_LOST, END_LOST);
			judge_notice_schedule(j, h);
			judge_break_ends_others(j, h);
			continue;
		}
		judge_find(j, "T8", "%c has broken %s, and did not tell c%"
		    PRIu64, judge_host_name(r->client->host),
		    judge_lock_name(r->broken), h->client->id);
	}
}

void
judge_break_free(struct judge_lock *l)
{
	struct judge_break *b, *next;

	LL_FOREACH_SAFE(l->breaks, b, next)
	{
		free(b);
	}
}
