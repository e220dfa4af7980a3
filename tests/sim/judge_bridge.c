/*
 * A lock with two records: in an older format's table and, beyond the bridge,
 * in the native one. Each record is judged like any other, and a hold of both
 * is two that are held as one. Two more rules are judged here: a holder of one
 * record excludes a holder of the other, and one record is not kept when the
 * other is lost.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- leases ----------------------------------------------------------- */

static bool
judge_bridge_is_old(const struct judge *j, const struct judge_lock *l)
{
	return j->rules.bridge && judge_is_foreign(j, l);
}

uint64_t
judge_lease_ms(const struct judge *j, const struct judge_lock *l)
{
	return judge_bridge_is_old(j, l) ? j->rules.old.lease_ms :
	    j->rules.lease_ms;
}

uint64_t
judge_margin_ms(const struct judge *j, const struct judge_lock *l)
{
	return judge_bridge_is_old(j, l) ? j->rules.old.margin_ms :
	    j->rules.margin_ms;
}

uint64_t
judge_danger_ms(const struct judge *j, const struct judge_lock *l)
{
	return judge_bridge_is_old(j, l) ? j->rules.old.danger_ms :
	    j->rules.danger_ms;
}

uint64_t
judge_longest_lease_ms(const struct judge *j)
{
	return j->rules.bridge && j->rules.old.lease_ms > j->rules.lease_ms ?
	    j->rules.old.lease_ms : j->rules.lease_ms;
}

bool
judge_bridge_is_uneven(const struct judge *j, const struct judge_hold *h)
{
	return j->rules.bridge && h->multi != 0 &&
	    j->rules.old.lease_ms != j->rules.lease_ms;
}

/* ---- phases, for reports ---------------------------------------------- */

static void
judge_bridge_count(struct judge *j, struct judge_lock *l,
    enum judge_phase phase)
{
	enum judge_phase before = l->phase;

	l->phase = phase;
	if (phase == JUDGE_PHASE_BOTH)
		j->counts.bridged += !judge_is_foreign(j, l);
	if (before == JUDGE_PHASE_OLD && phase == JUDGE_PHASE_BOTH)
		j->counts.old_to_both++;
	else if (before == JUDGE_PHASE_BOTH && phase == JUDGE_PHASE_OLD)
		j->counts.both_to_old++;
	else if (before == JUDGE_PHASE_BOTH && phase == JUDGE_PHASE_NATIVE)
		j->counts.both_to_native++;
	else if (before == JUDGE_PHASE_NATIVE && phase == JUDGE_PHASE_BOTH)
		j->counts.native_to_both++;
}

/* Called once it is known that both were granted, or only one. */
static void
judge_bridge_count_grant(struct judge *j, struct judge_hold *h,
    const struct judge_hold *other)
{
	if (other != NULL) {
		judge_bridge_count(j, h->lock, JUDGE_PHASE_BOTH);
		judge_bridge_count(j, other->lock, JUDGE_PHASE_BOTH);
	} else if (h->multi == 0) {
		judge_bridge_count(j, h->lock, judge_is_foreign(j, h->lock) ?
		    JUDGE_PHASE_OLD : JUDGE_PHASE_NATIVE);
	}
}

/* ---- two records ------------------------------------------------------ */

/* The other record's lock; NULL: no client ever asked for it. */
static const struct judge_lock *
judge_bridge_twin(const struct judge *j, const struct judge_lock *l)
{
	char name[FACT_KEY_MAX + 2];
	struct judge_lock *twin;

	if (!j->rules.bridge)
		return NULL;
	(void)snprintf(name, sizeof(name), "%c%s",
	    (char)('0' + (l->namespace_index == 0)), judge_lock_name(l));
	HASH_FIND_STR(j->locks, name, twin);
	return twin;
}

static bool
judge_bridge_is_one(const struct judge_hold *h, const struct judge_hold *o)
{
	return h == o || (h->client == o->client && h->multi != 0 &&
	    h->multi == o->multi);
}

/* Either record was removed by hand, or its host stood still. */
static bool
judge_bridge_is_exempt(const struct judge_hold *h)
{
	const struct judge_hold *o;

	DL_FOREACH2(h->client->holds, o, client_next)
	{
		if (judge_bridge_is_one(h, o) && judge_hold_is_exempt(o))
			return true;
	}
	return false;
}

/* 1, 3: no client holds it by the other record. */
void
judge_bridge_granted(struct judge *j, struct judge_hold *h)
{
	const struct judge_lock *twin = judge_bridge_twin(j, h->lock);
	const struct judge_hold *first = twin == NULL ? NULL : twin->holds;
	const struct judge_hold *o, *other = NULL;

	if (!j->rules.bridge)
		return;
	DL_FOREACH(first, o)
	{
		if (judge_bridge_is_one(h, o)) {
			other = o;
			continue;
		}
		if (judge_bridge_is_exempt(o) || judge_bridge_is_exempt(h))
			continue;
		if (j->now_ms < o->until_ms)
			judge_find(j, "1", "c%" PRIu64 " is granted %s in one "
			    "record, which c%" PRIu64 " has in the other until"
			    " %" PRIu64, h->client->id,
			    judge_lock_name(h->lock), o->client->id,
			    o->until_ms);
		else if (!o->deserted && !judge_is_mute(j, o->client->host))
			judge_find(j, "3", "c%" PRIu64 " is granted %s in one "
			    "record, and c%" PRIu64 " was not told that it lost"
			    " it", h->client->id, judge_lock_name(h->lock),
			    o->client->id);
	}
	judge_bridge_count_grant(j, h, other);
}

/* 1: an older client rightly holds it. */
void
judge_bridge_believed(struct judge *j, struct judge_lock *l)
{
	const struct judge_lock *twin = judge_bridge_twin(j, l);
	const struct judge_hold *o;

	if (j->rules.bridge)
		judge_bridge_count(j, l, JUDGE_PHASE_OLD);
	if (twin == NULL)
		return;
	DL_FOREACH(twin->holds, o)
	{
		if (j->now_ms < o->until_ms && !judge_bridge_is_exempt(o))
			judge_find(j, "1", "an older client has %s, which c%"
			    PRIu64 " has beyond the bridge until %" PRIu64,
			    judge_lock_name(l), o->client->id, o->until_ms);
	}
}

/* ---- losses ----------------------------------------------------------- */

/* The session of another record ended that is held with this one. */
bool
judge_bridge_is_ended(const struct judge_hold *h)
{
	const struct judge_hold *o;

	DL_FOREACH2(h->client->holds, o, client_next)
	{
		if (judge_bridge_is_one(h, o) && o->grant != NULL &&
		    (o->grant->session->ever_dead ||
		    o->grant->session->ever_absent))
			return true;
	}
	return false;
}

/* Only the other record's lease is over: the element in this record, as far as
 * its daemon knows, may be for the next waiter here. */
bool
judge_bridge_is_good(const struct judge *j, const struct judge_hold *h,
    enum core_loss loss)
{
	return j->rules.bridge && h->multi != 0 && h->grant != NULL &&
	    (h->grant->standing || (h->grant->hand_gone &&
	    loss == CORE_LOSS_EXPIRED)) &&
	    h->grant->session->sent_ms +
	    judge_least_ms(j, h->client->host, j->rules.lease_ms -
	    j->rules.margin_ms) > j->now_ms;
}

/* Its element stays in the record for a margin more. Who was told late, by a
 * daemon that had stood still, had its own deadline. */
void
judge_bridge_lost(struct judge *j, const struct judge_hold *h)
{
	struct judge_record *r = &h->lock->record;

	if (h->multi != 0 && h->taken)
		j->counts.lost_old++;
	else if (h->multi != 0)
		j->counts.lost_beyond++;
	if (h->taken || judge_bridge_is_exempt(h))
		return;
	memcpy(r->lost_hold, h->name[0] != '\0' ? h->name : r->hold,
	    sizeof(r->lost_hold));
	r->lost_ms = h->until_ms < j->now_ms ? h->until_ms : j->now_ms;
}

/* Does a client at @host hold it, or ask for it? */
static bool
judge_bridge_is_used(const struct judge_lock *l, unsigned host)
{
	const struct judge_request *w;
	const struct judge_hold *h;

	DL_FOREACH(l->holds, h)
	{
		if (h->client->host == host && !h->deserted)
			return true;
	}
	DL_FOREACH2(l->waiters, w, wait_next)
	{
		if (w->client->host == host)
			return true;
	}
	return false;
}

static void
judge_bridge_check_renewal(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const uint64_t since_ms[] = { l->record.since_ms, l->gone_ms,
		l->stays_ms, l->waited_ms[f->host],
		j->hosts[f->host].resumed_ms };
	uint64_t last_ms = 0;

	for (size_t i = 0; i < sizeof(since_ms) / sizeof(since_ms[0]); i++)
		if (since_ms[i] > last_ms)
			last_ms = since_ms[i];
	if (!judge_bridge_is_used(l, f->host) && f->sent_ms > last_ms +
	    2 * judge_stretch_ms(j, judge_longest_lease_ms(j)))
		judge_find(j, "P3", "%c goes on to renew %s, which nobody "
		    "there has since %" PRIu64, judge_host_name(f->host),
		    judge_lock_name(l), last_ms);
}

/* P3: a record of ours is given back, or renewed. */
void
judge_bridge_check_record(struct judge *j, const struct judge_lock *l,
    const struct fact *f, bool renewed)
{
	const struct judge_record *r = &l->record;
	uint64_t until_ms = r->lost_ms +
	    judge_least_ms(j, f->host, judge_margin_ms(j, l));

	if (renewed)
		judge_bridge_check_renewal(j, l, f);
	else if (r->lost_hold[0] != '\0' &&
	    strcmp(r->hold, r->lost_hold) == 0 && f->sent_ms >= r->lost_ms &&
	    f->sent_ms < until_ms)
		judge_find(j, "P3", "%c gives %s back at %" PRIu64 ", but its "
		    "holder was told at %" PRIu64, judge_host_name(f->host),
		    judge_lock_name(l), f->sent_ms, r->lost_ms);
}

/* ---- waiters -------------------------------------------------------- */

/* J2: an older client holds it, or held it until then. */
bool
judge_bridge_is_theirs(const struct judge_lock *l)
{
	const struct judge_record *r = &l->record;

	return l->beliefs != NULL || (r->exists && !r->free &&
	    r->writer >= FACT_PEER_FIRST);
}

uint64_t
judge_bridge_theirs_ms(const struct judge_lock *l)
{
	return l->record.writer >= FACT_PEER_FIRST ? l->record.changed_ms : 0;
}
