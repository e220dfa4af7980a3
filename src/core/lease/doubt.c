/*
 * Writes that were given up and may still land.
 *
 * A request whose answer never came can take effect for as long as its
 * signature is good (DOUBT_MS), also after its hold was released or settled as
 * absent; a live session would then keep an orphan for ever, and no read can
 * settle an absence. So such a grant or wish stays here: its lock is looked at
 * after 1 s, 5 s, 30 s and then with the audit's period, and any record that
 * shows a grant of ours which is not live has it removed (record.c). It is
 * forgotten by an answer to what was sent after the signature was void.
 *
 * The list is bounded, each namespace's by itself, so that a store that does
 * not answer stops nobody else. When a quarter of it is one session's, grants
 * go to a new session, and the old one is closed when its holds end: a closed
 * session's orphans are anybody's to take. (In formats without sessions an
 * orphan is known by its doubt only; nobody renews it, so where it has a lease
 * it costs others one at most.)
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdlib.h>

struct doubt {
	struct namespace *ns;
	struct doubts *all;		/* of its lock */
	struct doubt *prev, *next;
	struct timer timer;
	struct ident session;
	struct ident grant;		/* none: a wish */
	uint64_t sent_ms;		/* the last send without an answer */
	bool fail_closed;
	bool left;	/* the client that had it left it held */
	uint32_t reads;
};

struct doubt *
doubt_new(struct core *core, struct namespace *ns)
{
	struct doubt *d;

	if (ns->n_doubts_made >= core->limits.doubts_max)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL || heap_reserve(&core->heap) < 0) {
		free(d);
		return NULL;
	}
	d->ns = ns;
	d->timer.kind = TIMER_DOUBT;
	ns->n_doubts_made++;
	return d;
}

/* It was not needed, or is over. Not in a lock's list. */
void
doubt_drop(struct core *core, struct doubt *d)
{
	if (d == NULL)
		return;
	assert(d->ns->n_doubts_made > 0);
	heap_release(&core->heap, &d->timer);
	d->ns->n_doubts_made--;
	free(d);
}

static void
doubt_forget(struct core *core, struct doubt *d)
{
	session_doubt(core, d->ns, d->session, -1);
	DL_DELETE(d->all->first, d);
	d->ns->n_doubts--;
	doubt_drop(core, d);
}

static uint64_t
doubt_delay_ms(const struct doubt *d)
{
	static const uint64_t first_ms[] = { 1000, 5000, 30000 };

	if (d->reads < sizeof(first_ms) / sizeof(first_ms[0]))
		return first_ms[d->reads];
	return d->ns->settings.audit_ms;
}

void
doubt_add(struct core *core, struct doubts *all, struct doubt *d,
    const struct holder *h, uint64_t sent_ms)
{
	d->all = all;
	d->session = h->session;
	d->grant = h->grant;
	/* No session takes it along when it ends. */
	d->fail_closed = h->fail_closed || !namespace_has_sessions(d->ns);
	d->sent_ms = sent_ms;
	DL_APPEND(all->first, d);
	d->ns->n_doubts++;
	heap_set(&core->heap, &d->timer, core->now_ms + doubt_delay_ms(d));
	session_doubt(core, d->ns, d->session, 1);
}

static bool
doubt_is_shown(const struct doubt *d, const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		if (ident_equal(record->holders[i].grant, d->grant) &&
		    ident_equal(record->holders[i].session, d->session))
			return true;
	}
	return false;
}

bool
doubt_is_orphan(const struct doubts *all, const struct holder *h)
{
	const struct doubt *d;

	DL_FOREACH(all->first, d)
	{
		if (d->fail_closed && !d->left &&
		    ident_equal(d->grant, h->grant))
			return true;
	}
	return false;
}

/* An orphan that is fail-closed stays known until it is out. */
void
doubt_seen(struct core *core, struct doubts *all,
    const struct lock_record *record, uint64_t submitted_ms)
{
	struct doubt *d, *next;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		bool shown = d->fail_closed && doubt_is_shown(d, record);

		if (!shown)
			d->left = false;
		else if (!d->left &&
		    !core->lease_events->is_live(all, d->grant))
			continue;
		if (submitted_ms >= d->sent_ms + DOUBT_MS)
			doubt_forget(core, d);
	}
}

void
doubt_left(struct doubts *all, struct ident grant)
{
	struct doubt *d;

	DL_FOREACH(all->first, d)
	{
		if (ident_equal(d->grant, grant))
			d->left = true;
	}
}

void
doubt_disown(struct doubts *all)
{
	struct doubt *d;

	DL_FOREACH(all->first, d)
	{
		d->left = false;
	}
}

void
doubt_timer(struct core *core, struct timer *timer)
{
	struct doubt *d = CONTAINER_OF(timer, struct doubt, timer);

	d->reads++;
	heap_set(&core->heap, &d->timer, core->now_ms + doubt_delay_ms(d));
	core->lease_events->doubted(core, d->all);
}

bool
doubt_forget_session(struct core *core, struct doubts *all,
    struct ident session)
{
	struct doubt *d, *next;
	bool forgot = false;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		/* But what is fail-closed is not closed with it. */
		if (d->fail_closed || !ident_equal(d->session, session))
			continue;
		doubt_forget(core, d);
		forgot = true;
	}
	return forgot;
}

void
doubt_free_all(struct core *core, struct doubts *all)
{
	struct doubt *d, *next;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		doubt_forget(core, d);
	}
}
