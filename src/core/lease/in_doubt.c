/*
 * Writes that were given up and may still land.
 *
 * A request whose answer never came can take effect for as long as its
 * signature is good (IN_DOUBT_MS), also after its hold was released or settled
 * as absent; a live session would then keep an orphan for ever, and no read can
 * settle an absence. So such a grant or waiter mark is kept here: its lock is
 * looked at after 1 s, 5 s, 30 s and then with the audit's period, and any
 * record that shows a grant of ours which is not live has it removed
 * (record.c). It is forgotten by an answer to what was sent after the signature
 * was void.
 *
 * The list is bounded, each namespace's by itself, so that a store that does
 * not answer does not stop the others; and no user has more of it than it
 * leaves to others, for each write that could be in doubt needs a place before
 * it is sent. When a quarter of it is one session's,
 * grants go to a new session, and the old one is closed when its holds end: a
 * closed session's orphans are anybody's to take. (In formats without sessions
 * an orphan is known by its doubt only; it is not renewed, so where it has a
 * lease it costs others one at most.)
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdlib.h>

#include "common/share.h"
#include "core/tenant.h"
#include "ddblock.h"

struct in_doubt {
	struct namespace *ns;
	struct in_doubt_list *all;		/* of its lock */
	struct in_doubt *prev, *next;
	struct timer timer;
	struct ident session;
	struct ident grant;		/* none: a wish */
	uint64_t sent_ms;		/* the last send without an answer */
	uint32_t user;			/* who had it sent; or USER_NONE */
	bool fail_closed;
	bool left;	/* the client that had it left it held */
	bool inherited;
	uint32_t reads;
	struct saved saved;
};

/* How many are for one user, in a namespace. */
struct doubter {
	UT_hash_handle hh;		/* in ns->doubters, by @user */
	uint32_t user;
	uint32_t n;
};

static struct doubter *
doubter_find(const struct namespace *ns, uint32_t user)
{
	struct doubter *t;

	HASH_FIND(hh, ns->doubters, &user, sizeof(user), t);
	return t;
}

static bool
doubter_is_privileged(const struct core *core, uint32_t user)
{
	const struct tenant *tenant = tenant_find(core, user);

	return tenant != NULL && tenant->privileged;
}

/* @t: those of this user, or NULL. */
static bool
doubter_may_have_more(const struct core *core, const struct namespace *ns,
    uint32_t user, const struct doubter *t)
{
	return user == USER_NONE ||
	    share_allows(t == NULL ? 0 : t->n, ns->n_in_doubt_allocated,
	    core->limits.in_doubt_max) || doubter_is_privileged(core, user);
}

static struct doubter *
doubter_new(struct namespace *ns, uint32_t user)
{
	struct doubter *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->user = user;
	HASH_ADD(hh, ns->doubters, user, sizeof(t->user), t);
	if (t->hh.tbl == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

static void
doubter_drop(struct namespace *ns, uint32_t user)
{
	struct doubter *t = doubter_find(ns, user);

	if (--t->n > 0)
		return;
	HASH_DEL(ns->doubters, t);
	free(t);
}

struct in_doubt *
in_doubt_new(struct core *core, struct namespace *ns, uint32_t user)
{
	struct doubter *t = doubter_find(ns, user);
	struct in_doubt *d;

	if (ns->n_in_doubt_allocated >= core->limits.in_doubt_max ||
	    !doubter_may_have_more(core, ns, user, t))
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL || heap_reserve(&core->heap) < 0) {
		free(d);
		return NULL;
	}
	d->ns = ns;
	d->user = user;
	d->timer.kind = TIMER_IN_DOUBT;
	if (t == NULL)
		t = doubter_new(ns, user);
	if (t == NULL) {
		heap_release(&core->heap, &d->timer);
		free(d);
		return NULL;
	}
	t->n++;
	ns->n_in_doubt_allocated++;
	return d;
}

/* It was not needed, or is over. Not in a lock's list. */
void
in_doubt_drop(struct core *core, struct in_doubt *d)
{
	if (d == NULL)
		return;
	assert(d->ns->n_in_doubt_allocated > 0);
	heap_release(&core->heap, &d->timer);
	d->ns->n_in_doubt_allocated--;
	doubter_drop(d->ns, d->user);
	free(d);
}

static void
in_doubt_forget(struct core *core, struct in_doubt *d)
{
	saved_end(core, &d->saved);
	session_count_in_doubt(core, d->ns, d->session, -1);
	DL_DELETE(d->all->first, d);
	d->ns->n_in_doubt--;
	in_doubt_drop(core, d);
}

static uint64_t
in_doubt_delay_ms(const struct in_doubt *d)
{
	static const uint64_t first_ms[] = { 1000, 5000, 30000 };

	if (d->reads < sizeof(first_ms) / sizeof(first_ms[0]))
		return first_ms[d->reads];
	return d->ns->settings.audit_ms;
}

void
in_doubt_add(struct core *core, struct in_doubt_list *all, struct in_doubt *d,
    const struct holder *h, uint64_t sent_ms)
{
	d->all = all;
	d->session = h->session;
	d->grant = h->grant;
	/* No session takes it along when it ends. */
	d->fail_closed = h->fail_closed || !d->ns->has_sessions;
	d->sent_ms = sent_ms;
	DL_APPEND(all->first, d);
	d->ns->n_in_doubt++;
	heap_set(&core->heap, &d->timer, core->now_ms + in_doubt_delay_ms(d));
	session_count_in_doubt(core, d->ns, d->session, 1);
	saved_touch(core, &d->saved, SAVED_IN_DOUBT);
}

static void
in_doubt_set_left(struct core *core, struct in_doubt *d, bool left)
{
	if (d->left != left)
		saved_touch(core, &d->saved, SAVED_IN_DOUBT);
	d->left = left;
}

static bool
in_doubt_is_shown(const struct in_doubt *d, const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		if (ident_equal(record->holders[i].grant, d->grant) &&
		    ident_equal(record->holders[i].session, d->session))
			return true;
	}
	return false;
}

bool
in_doubt_is_orphan(const struct in_doubt_list *all, const struct holder *h)
{
	const struct in_doubt *d;

	DL_FOREACH(all->first, d)
	{
		if (d->fail_closed && !d->left &&
		    ident_equal(d->grant, h->grant))
			return true;
	}
	return false;
}

/* A fail-closed orphan is kept here until it is out. */
void
in_doubt_read(struct core *core, struct in_doubt_list *all,
    const struct lock_record *record, uint64_t submitted_ms)
{
	struct in_doubt *d, *next;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		bool shown = d->fail_closed && in_doubt_is_shown(d, record);

		if (!shown)
			in_doubt_set_left(core, d, false);
		else if (!d->left &&
		    !core->lease_events->is_live(all, d->grant))
			continue;
		if (submitted_ms >= d->sent_ms + IN_DOUBT_MS)
			in_doubt_forget(core, d);
	}
}

void
in_doubt_left_held(struct core *core, struct in_doubt_list *all,
    struct ident grant)
{
	struct in_doubt *d;

	DL_FOREACH(all->first, d)
	{
		if (ident_equal(d->grant, grant))
			in_doubt_set_left(core, d, true);
	}
}

void
in_doubt_disown(struct core *core, struct in_doubt_list *all)
{
	struct in_doubt *d;

	DL_FOREACH(all->first, d)
	{
		in_doubt_set_left(core, d, false);
	}
}

void
in_doubt_timer(struct core *core, struct timer *timer)
{
	struct in_doubt *d = CONTAINER_OF(timer, struct in_doubt, timer);

	d->reads++;
	heap_set(&core->heap, &d->timer, core->now_ms + in_doubt_delay_ms(d));
	core->lease_events->read_in_doubt(core, d->all);
}

bool
in_doubt_forget_session(struct core *core, struct in_doubt_list *all,
    struct ident session, bool stale)
{
	struct in_doubt *d, *next;
	bool forgot = false;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		if (d->fail_closed ? !stale || !d->inherited :
		    !ident_equal(d->session, session))
			continue;
		in_doubt_forget(core, d);
		forgot = true;
	}
	return forgot;
}

void
in_doubt_free_all(struct core *core, struct in_doubt_list *all)
{
	struct in_doubt *d, *next;

	DL_FOREACH_SAFE(all->first, d, next)
	{
		in_doubt_forget(core, d);
	}
}

/* ---- for the process after this one -------------------------------------- */

void
in_doubt_save_all(struct core *core, const struct in_doubt_list *all)
{
	struct in_doubt *d;

	DL_FOREACH(all->first, d)
	{
		saved_renew(core, &d->saved);
		saved_touch(core, &d->saved, SAVED_IN_DOUBT);
	}
}

bool
in_doubt_save(struct core *core, struct journal *journal, struct saved *saved)
{
	const struct in_doubt *d = CONTAINER_OF(saved, struct in_doubt, saved);
	const struct key key = core->lease_events->key(d->all);
	const struct saved_in_doubt entry = {
		.session = d->session,
		.grant = d->grant,
		.sent_ms = d->sent_ms,
		.namespace_index = d->ns->index,
		.fail_closed = d->fail_closed,
		.left = d->left,
	};

	return journal_put(journal, &saved->place, SAVED_IN_DOUBT, &entry,
	    sizeof(entry), key.bytes, key.length);
}

/* The one for that grant. NULL: there is none yet. */
static struct in_doubt *
in_doubt_find(const struct in_doubt_list *all,
    const struct saved_in_doubt *saved)
{
	struct in_doubt *d;

	DL_FOREACH(all->first, d)
	{
		if (ident_equal(d->grant, saved->grant) &&
		    ident_equal(d->session, saved->session))
			return d;
	}
	return NULL;
}

/* What is of no session that was inherited dies with that, unless it is
 * fail-closed. One that is unsure comes here with its doubt and by itself. */
int
in_doubt_inherit(struct core *core, struct namespace *ns,
    struct in_doubt_list *all, const struct saved_in_doubt *saved)
{
	const struct holder h = { .session = saved->session,
		.grant = saved->grant, .fail_closed = saved->fail_closed };
	struct in_doubt *d;

	if (!saved->fail_closed && session_find(ns, saved->session) == NULL)
		return 0;
	if (saved->sent_ms > core->now_ms)
		return DDBLOCK_E_BAD_RECORD;
	d = in_doubt_find(all, saved);
	if (d != NULL) {
		if (saved->sent_ms > d->sent_ms)
			d->sent_ms = saved->sent_ms;
		d->left = d->left || saved->left;
		return 0;
	}
	d = in_doubt_new(core, ns, USER_NONE);
	if (d == NULL)
		return DDBLOCK_E_NOMEM;
	d->left = saved->left;
	d->inherited = true;
	in_doubt_add(core, all, d, &h, saved->sent_ms);
	return 0;
}
