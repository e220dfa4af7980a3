/*
 * Takeovers: a daemon keeps exactly what the one before it held, for the same
 * clients (I1 to I3). What the dead one had told of is known; so is what it had
 * not saved, of which nobody heard.
 */
#include "judge_takeover.h"

#include <inttypes.h>
#include <stdlib.h>

/* The lock of several as one is known by all of their names. */
static bool
judge_takeover_is_lock(struct judge *j, const struct judge_hold *h,
    const struct fact *f)
{
	return f->key == NULL ||
	    judge_lock_get(j, f->namespace_index, f->key) == h->lock;
}

/* I1 */
static void
judge_takeover_check(struct judge *j, const struct judge_hold *h,
    const struct fact *f)
{
	const char *what = NULL;

	if (h->kept && !h->deserted)
		what = "twice";
	else if (h->client->id != f->client)
		what = "for another client";
	else if (!judge_takeover_is_lock(j, h, f))
		what = "of another lock";
	else if (f->loss == 0 && h->token != f->token)
		what = "with another token";
	else if (f->loss == 0 && h->state == HOLD_LOST)
		what = "after its client was told of its loss";
	else if (f->loss == 0 && h->state == HOLD_VALID && !h->fail_closed &&
	    h->linger_ms == 0 && f->until_ms < h->until_ms)
		what = "with an earlier deadline";
	if (what != NULL)
		judge_find(j, "I1", "%c takes over hold %" PRIu64 " of c%"
		    PRIu64 " %s", judge_host_name(f->host), f->hold,
		    h->client->id, what);
}

/* One that its client left to its lease has no name any more. */
static struct judge_hold *
judge_takeover_find(const struct judge *j, const struct fact *f)
{
	struct judge_hold *h = judge_hold_get(j, f->host, f->hold);
	struct judge_client *c;

	if (h != NULL)
		return h;
	HASH_FIND(hh, j->clients, &f->client, sizeof(f->client), c);
	if (c == NULL)
		return NULL;
	DL_FOREACH2(c->holds, h, client_next)
	{
		if (h->deserted && h->id.hold == f->hold)
			return h;
	}
	return NULL;
}

void
judge_takeover_kept(struct judge *j, const struct fact *f)
{
	struct judge_hold *h = judge_takeover_find(j, f);

	/* What is over may be forgotten here: its client knows it, or left. */
	if (h == NULL && f->loss == 0 && f->until_ms > j->now_ms)
		judge_find(j, "I1", "%c takes over hold %" PRIu64 " of c%"
		    PRIu64 ", which was not granted", judge_host_name(f->host),
		    f->hold, f->client);
	if (h == NULL || j->guilty)
		return;
	judge_takeover_check(j, h, f);
	h->kept = true;
	h->lost_again = f->loss != 0;
}

/* A successor is asked again what it takes over of requests, and may use the
 * number of a client that had nothing. */
static void
judge_takeover_clients(struct judge *j, unsigned host)
{
	struct judge_client *c, *next;

	HASH_ITER(hh, j->clients, c, next)
	{
		if (c->host != host)
			continue;
		judge_client_deserted(j, c, true);
		if (c->holds != NULL)
			continue;
		HASH_DEL(j->clients, c);
		judge_due_done(j, &c->due);
		free(c);
	}
}

/* I2, I3 */
void
judge_takeover_end(struct judge *j, const struct fact *f)
{
	struct judge_hold *h;

	j->hosts[f->host].inherited = true;
	j->hosts[f->host].inherited_ms = f->at_ms;
	j->hosts[f->host].releases = false;
	if (f->twice)
		judge_find(j, "I3", "%c takes over what another daemon took "
		    "over before it", judge_host_name(f->host));
	DL_FOREACH2(j->hosts[f->host].holds, h, host_next)
	{
		if (f->whole && !h->kept && h->state == HOLD_VALID &&
		    h->linger_ms == 0)
			judge_find(j, "I2", "%c does not take over %s of c%"
			    PRIu64, judge_host_name(f->host),
			    judge_lock_name(h->lock), h->client->id);
		h->kept = false;
	}
	if (f->whole)
		judge_takeover_clients(j, f->host);
}
