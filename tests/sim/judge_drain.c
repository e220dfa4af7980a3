/*
 * The judge on what an administrator orders: no new grants, and fewer holds.
 */
#include "judge_drain.h"

#include <inttypes.h>

#include "ddblock.h"

/* D2 */
void
judge_drain_begin(struct judge *j, unsigned host)
{
	struct judge_client *c, *next;
	struct judge_request *r;

	j->hosts[host].withdrawn = true;
	HASH_ITER(hh, j->clients, c, next)
	{
		if (c->host != host)
			continue;
		DL_FOREACH(c->requests, r)
		{
			/* What was asked in a pause it may read later. */
			if (r->verb != CORE_ACQUIRE ||
			    r->woken_ms == j->now_ms)
				continue;
			r->due_ms = j->now_ms;
			judge_due_set(j, &r->due,
			    r->due_ms + j->rules.lateness_ms);
		}
	}
}

/* 7 and D1 */
void
judge_drain_granted(struct judge *j, const struct judge_client *c,
    const struct judge_request *r)
{
	const struct judge_host *h = &j->hosts[c->host];
	uint32_t most = j->rules.holds_per_client_max;

	if ((most > 0 && c->n_holds > most) || (h->holds_max > 0 &&
	    r->asked_ms > h->limited_ms && c->n_holds > h->holds_max))
		judge_find(j, "7", "c%" PRIu64 " has %" PRIu32 " holds",
		    c->id, c->n_holds);
	if (h->withdrawn && r->verb == CORE_ACQUIRE)
		judge_find(j, "D1", "c%" PRIu64 " is granted %s by %c, which "
		    "is drained", c->id, judge_lock_name(r->lock),
		    judge_host_name(c->host));
}

/* D2 */
void
judge_drain_answered(struct judge *j, const struct fact *f)
{
	if (f->code == DDBLOCK_E_DRAINING && !j->hosts[f->host].withdrawn)
		judge_find(j, "D2", "c%" PRIu64 " is refused by %c, which is "
		    "not drained", f->client, judge_host_name(f->host));
}
