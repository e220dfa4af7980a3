/*
 * The contents of locks. Each value is brought by one request, so a value that
 * is shown, told or acknowledged names its request.
 */
#include "judge_contents.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const judge_slots[FACT_SLOTS] = { "data", "note" };

static struct judge_value *
judge_value_find(const struct judge *j, uint64_t id)
{
	struct judge_value *v;

	HASH_FIND(hh, j->values, &id, sizeof(id), v);
	return v;
}

void
judge_contents_asked(struct judge *j, const struct fact *f)
{
	for (size_t i = 0; i < FACT_SLOTS; i++) {
		struct judge_value *v;

		if (f->contents[i] == 0 || judge_value_find(j,
		    f->contents[i]) != NULL)
			continue;
		v = judge_alloc(sizeof(*v));
		v->id = f->contents[i];
		v->over_ms = JUDGE_NEVER;
		HASH_ADD(hh, j->values, id, sizeof(v->id), v);
	}
}

void
judge_contents_over(struct judge *j, const struct judge_request *r)
{
	for (size_t i = 0; i < FACT_SLOTS; i++) {
		struct judge_value *v = judge_value_find(j, r->contents[i]);

		if (v != NULL)
			v->over_ms = j->now_ms;
	}
}

/* ---- writes -------------------------------------------------- */

void
judge_contents_released(struct judge *j, struct judge_hold *h,
    const struct fact *f)
{
	if (f->clears)
		h->lock->emptied_ms = j->now_ms;
	if ((f->contents[FACT_DATA] > 0 || f->clears) && h->grant != NULL)
		h->grant->given_up = false;
}

/* By the daemon of the exclusive holder? */
static bool
judge_contents_is_holders(const struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const struct judge_grant *g = l->standing;

	if (judge_is_foreign(j, l))
		return l->record.writer == f->host;
	return g != NULL && !g->shared &&
	    judge_session_is_own(g->session, f->host, f->sent_ms);
}

/* Was its request given up before another client was granted the lock by this
 * grant, and told the contents? (A hold removed by hand may come again, and
 * then its update does, too; and a record that was restored has an earlier
 * revision.) */
static bool
judge_contents_is_late(const struct judge_lock *l, const struct judge_value *v)
{
	const struct judge_hold *h;

	DL_FOREACH(l->holds, h)
	{
		if (h->grant != l->standing ||
		    (h->grant != NULL && h->grant->hand_gone) ||
		    l->hand_ms > h->since_ms)
			continue;
		if (v->over_ms != JUDGE_NEVER && h->since_ms >= v->over_ms)
			return true;
	}
	return false;
}

/* K3: by the exclusive holder; and an acknowledged value is replaced only by
 * one that was requested, or given up, later. */
static void
judge_contents_changed(struct judge *j, const struct judge_lock *l,
    const struct fact *f, uint64_t id, size_t slot)
{
	const struct judge_value *before = judge_value_find(j,
	    l->contents[slot]);
	const struct judge_value *v = judge_value_find(j, id);
	char host = judge_host_name(f->host);

	if (id != 0 && v == NULL)
		judge_find(j, "K3", "%c writes %s into %s that nobody brought",
		    host, judge_slots[slot], judge_lock_name(l));
	else if (!judge_contents_is_holders(j, l, f))
		judge_find(j, "K3", "%c writes %s into %s, which it does not "
		    "hold alone", host, judge_slots[slot], judge_lock_name(l));
	else if (before != NULL && before->acknowledged_ms > 0 &&
	    (v == NULL ? l->emptied_ms : v->over_ms) < before->acknowledged_ms)
		judge_find(j, "K3", "%c takes the %s of request %" PRIu64
		    " out of %s, which was acknowledged", host,
		    judge_slots[slot], before->id, judge_lock_name(l));
	else if (v != NULL && judge_contents_is_late(l, v))
		judge_find(j, "K3", "%c writes the %s of request %" PRIu64
		    " into %s, which was given up before another came", host,
		    judge_slots[slot], id, judge_lock_name(l));
}

/* After its elements are known, and before the item is. */
void
judge_contents_wrote(struct judge *j, struct judge_lock *l,
    const struct fact *f)
{
	bool by_hand = f->host == FACT_BY_HAND || f->expired;

	for (size_t i = 0; i < FACT_SLOTS; i++) {
		struct judge_value *v = judge_value_find(j,
		    f->lock.contents[i]);

		if (f->lock.contents[i] == l->contents[i])
			continue;
		if (!by_hand && l->readable) {
			judge_contents_changed(j, l, f, f->lock.contents[i], i);
			judge_watch_outdate(l);
		}
		if (v != NULL)
			v->landed[i] = true;
		l->contents[i] = f->lock.contents[i];
	}
}

/*
 * A record that older clients share goes with its last holder, unless it is
 * kept, and a new record may lack the old contents. So the contents stay only
 * while it has the @same holder. Called before the record is known.
 */
void
judge_contents_in_record(struct judge *j, struct judge_lock *l,
    const struct fact *f, bool same)
{
	for (size_t i = 0; i < FACT_SLOTS; i++) {
		uint64_t id = f->record.contents[i];
		struct judge_value *v = judge_value_find(j, id);

		if (id == l->contents[i])
			continue;
		if (same && judge_is_known_host(f->host))
			judge_contents_changed(j, l, f, id, i);
		else if (id != 0 && judge_is_known_host(f->host))
			judge_find(j, "K3", "%c comes to %s, and writes %s "
			    "into it at once", judge_host_name(f->host),
			    judge_lock_name(l), judge_slots[i]);
		if (v != NULL)
			v->landed[i] = true;
		l->contents[i] = id;
	}
}

/* ---- answers to clients -------------------------------------------- */

/* Does the table show this client's value? */
static bool
judge_contents_is_seen(const struct judge *j, const struct judge_hold *h)
{
	if (judge_is_foreign(j, h->lock))
		return judge_record_is_of(&h->lock->record, h);
	return h->grant != NULL && h->lock->exists && h->lock->readable;
}

/*
 * K1: a granted client is told the contents, and those that it brought are
 * there, too.
 */
void
judge_contents_told(struct judge *j, const struct judge_hold *h,
    const struct judge_request *r, const struct fact *f)
{
	const struct judge_lock *l = h->lock;

	if (r->verb != CORE_ACQUIRE || h->multi != 0 ||
	    judge_hold_is_exempt(h) || !judge_contents_is_seen(j, h))
		return;
	for (size_t i = 0; i < FACT_SLOTS; i++) {
		struct judge_value *v = judge_value_find(j, r->contents[i]);

		if (v != NULL)
			v->acknowledged_ms = j->now_ms;
		if (v != NULL && l->contents[i] != v->id)
			judge_find(j, "K1", "c%" PRIu64 " is granted %s, and "
			    "the %s that it brought is not there",
			    h->client->id, judge_lock_name(l), judge_slots[i]);
		else if (f->contents[i] != (v != NULL ? 0 : l->contents[i]))
			judge_find(j, "K1", "c%" PRIu64 " is told that %s has "
			    "the %s of request %" PRIu64 ", not of %" PRIu64,
			    h->client->id, judge_lock_name(l), judge_slots[i],
			    f->contents[i], l->contents[i]);
	}
}

/* K2: an acknowledged value was written. */
void
judge_contents_answered(struct judge *j, const struct judge_hold *h,
    const struct judge_request *r)
{
	for (size_t i = 0; i < FACT_SLOTS; i++) {
		struct judge_value *v = judge_value_find(j, r->contents[i]);

		if (v == NULL)
			continue;
		v->acknowledged_ms = j->now_ms;
		if (v->landed[i] || judge_hold_is_exempt(h) ||
		    !j->rules.sees_table)
			continue;
		judge_find(j, "K2", "c%" PRIu64 " is told that %s has the %s "
		    "that it brought, and it never had", h->client->id,
		    judge_lock_name(h->lock), judge_slots[i]);
	}
}

void
judge_contents_free_all(struct judge *j)
{
	struct judge_value *v, *next;

	HASH_ITER(hh, j->values, v, next)
	{
		HASH_DEL(j->values, v);
		free(v);
	}
}
