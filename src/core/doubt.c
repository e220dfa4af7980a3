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
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

/* Memory first: nothing is sent that could not be doubted. */
struct doubt *
doubt_new(struct core *core, struct lock *l)
{
	struct doubt *d;

	if (l->ns->n_doubts_made >= core->limits.doubts_max)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL || heap_reserve(&core->heap) < 0) {
		free(d);
		return NULL;
	}
	d->lock = l;
	d->timer.kind = TIMER_DOUBT;
	l->ns->n_doubts_made++;
	return d;
}

/* It was not needed, or is over. Accepts NULL. Not in a lock's list. */
void
doubt_drop(struct core *core, struct doubt *d)
{
	if (d == NULL)
		return;
	assert(d->lock->ns->n_doubts_made > 0);
	heap_release(&core->heap, &d->timer);
	d->lock->ns->n_doubts_made--;
	free(d);
}

static void
doubt_forget(struct core *core, struct doubt *d)
{
	struct lock *l = d->lock;
	struct session *s = session_find(l->ns, d->session);

	if (s != NULL)
		s->n_doubts--;
	DL_DELETE(l->doubts, d);
	l->ns->n_doubts--;
	assert(l->references > 0);
	l->references--;
	doubt_drop(core, d);
}

static uint64_t
doubt_delay_ms(const struct doubt *d)
{
	static const uint64_t first_ms[] = { 1000, 5000, 30000 };

	if (d->reads < sizeof(first_ms) / sizeof(first_ms[0]))
		return first_ms[d->reads];
	return d->lock->ns->settings.audit_ms;
}

void
doubt_add(struct core *core, struct doubt *d, const struct holder *h,
    uint64_t sent_ms)
{
	struct lock *l = d->lock;
	struct session *s = session_find(l->ns, h->session);

	d->session = h->session;
	d->grant = h->grant;
	/* No session takes it along when it ends. */
	d->fail_closed = h->fail_closed ||
	    l->ns->settings.life != LOCK_LIFE_SESSION;
	d->sent_ms = sent_ms;
	DL_APPEND(l->doubts, d);
	l->ns->n_doubts++;
	l->references++;
	heap_set(&core->heap, &d->timer, core->now_ms + doubt_delay_ms(d));
	if (s == NULL)
		return;
	s->n_doubts++;
	if (s->n_doubts > core->limits.doubts_max / 4)
		session_retire(core, s);
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

/* Is it what landed of a fail-closed grant that nobody was told of? */
bool
doubt_is_orphan(const struct lock *l, const struct holder *h)
{
	const struct doubt *d;

	DL_FOREACH(l->doubts, d)
	{
		if (d->fail_closed && !d->left &&
		    ident_equal(d->grant, h->grant))
			return true;
	}
	return false;
}

/* The lock's record came with an answer to what was sent at @submitted_ms. An
 * orphan that is fail-closed stays known until it is out. */
void
doubt_seen(struct core *core, struct lock *l,
    const struct lock_record *record, uint64_t submitted_ms)
{
	struct doubt *d, *next;

	DL_FOREACH_SAFE(l->doubts, d, next)
	{
		bool shown = d->fail_closed && doubt_is_shown(d, record);

		if (!shown)
			d->left = false;
		else if (!d->left && grant_find(l, d->grant) == NULL)
			continue;
		if (submitted_ms >= d->sent_ms + DOUBT_MS)
			doubt_forget(core, d);
	}
}

void
doubt_timer(struct core *core, struct doubt *d)
{
	struct lock *l = d->lock;

	d->reads++;
	heap_set(&core->heap, &d->timer, core->now_ms + doubt_delay_ms(d));
	l->read_due = true;
	lock_advance(core, l);
}

/* What lands for a closed session harms nobody: forget about it. */
void
doubt_session_closed(struct core *core, struct namespace *ns,
    struct ident session)
{
	struct lock *l, *next_lock;
	struct doubt *d, *next;

	if (ns->n_doubts == 0)
		return;
	for (l = lock_next(ns, NULL); l != NULL; l = next_lock) {
		bool forgot = false;

		next_lock = lock_next(ns, l);
		DL_FOREACH_SAFE(l->doubts, d, next)
		{
			/* But what is fail-closed is not closed with it. */
			if (d->fail_closed ||
			    !ident_equal(d->session, session))
				continue;
			doubt_forget(core, d);
			forgot = true;
		}
		if (!forgot)
			continue;
		/* A look at a record that nobody can read never ends. */
		if (l->doubts == NULL)
			l->read_due = false;
		lock_free_if_unused(core, l);
	}
}

void
doubt_free_all(struct core *core, struct lock *l)
{
	struct doubt *d, *next;

	DL_FOREACH_SAFE(l->doubts, d, next)
	{
		doubt_forget(core, d);
	}
}
