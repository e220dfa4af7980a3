/*
 * Marks in records that older clients share (P4). A version is no proof: it may
 * be written once more, over itself or when it was gone. A host that takes over
 * a lock must have marked that very record a lease ago; and as a mark is a
 * write, it is left only if a client waits.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mark in the record. */
struct judge_mark {
	struct judge_mark *next;	/* of the record */
	unsigned host;
	uint64_t sent_ms;
	uint64_t landed_ms;
};

/* Any other write of the record removes all marks. */
void
judge_mark_wipe(struct judge_record *r)
{
	struct judge_mark *m, *next;

	LL_FOREACH_SAFE(r->marks, m, next)
	{
		free(m);
	}
	r->marks = NULL;
}

static bool
judge_mark_is_wanted(const struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const struct judge_request *w;

	/* It may have been held up for an operation's time. */
	if (l->waited_ms[f->host] + judge_most_ms(j, f->host,
	    j->rules.request_ms) >= f->sent_ms)
		return true;
	DL_FOREACH2(l->waiters, w, wait_next)
	{
		if (w->client->host == f->host && w->asked_ms <= f->sent_ms)
			return true;
	}
	return false;
}

/* P4 */
void
judge_mark_fact(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	const struct judge_host *h = &j->hosts[f->host];
	struct judge_record *r = &l->record;
	struct judge_mark *m;

	j->counts.marks++;
	if (!r->exists || r->free || r->until_ms != FACT_NEVER ||
	    r->lease_ms == 0)
		judge_find(j, "P4", "%c marks %s, which is nobody's for a "
		    "lease", judge_host_name(f->host), judge_lock_name(l));
	if (!judge_mark_is_wanted(j, l, f))
		judge_find(j, "P4", "%c marks %s, and nobody there waits for "
		    "it", judge_host_name(f->host), judge_lock_name(l));
	/* A request that the network repeats has been answered once. */
	if (judge_text_was_there(j, f->version) &&
	    !(h->repeated && h->repeated_ms >= f->sent_ms))
		judge_find(j, "P4", "%c marks %s with what was a mark before",
		    judge_host_name(f->host), judge_lock_name(l));
	if (f->n_holders == 1)
		judge_mark_wipe(r);
	m = judge_alloc(sizeof(*m));
	m->host = f->host;
	m->sent_ms = f->sent_ms;
	m->landed_ms = f->at_ms;
	LL_PREPEND(r->marks, m);
}

/* P4: it is taken by the request sent then. A restarted daemon knows none of
 * its marks. */
void
judge_mark_check_taken(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const struct judge_record *r = &l->record;
	uint64_t started_ms = j->hosts[f->host].started_ms;
	uint64_t wait_ms = judge_least_ms(j, f->host,
	    judge_stretch_ms(j, r->lease_ms));
	const struct judge_mark *m;

	if (r->until_ms != FACT_NEVER || r->lease_ms == 0)
		return;
	LL_FOREACH(r->marks, m)
	{
		if (m->host == f->host && (m->sent_ms >= started_ms) ==
		    (f->sent_ms >= started_ms) &&
		    f->sent_ms >= m->landed_ms + wait_ms)
			return;
	}
	judge_find(j, "P4", "%c takes %s at %" PRIu64 ", which had no mark of "
	    "its own for %" PRIu64 " ms", judge_host_name(f->host),
	    judge_lock_name(l), f->sent_ms, wait_ms);
}
