/*
 * Followers: hosts that watch a lock which this one has, or waits for. They
 * said so by hints, and are told of each change that a write of ours makes.
 *
 *  1. It is not known here whether they are told in time, or still watch: they
 *     go on looking every poll period, and say with a look that they watch, to
 *     the hosts that may write next. That is forgotten after FOLLOW_MS.
 *  2. Each is told of a lock no more than FOLLOW_TOLD_MAX times in a poll
 *     period, all of them together FOLLOW_TELL_MAX times in FOLLOW_TELL_MS: a
 *     hint that a lock is free is not to wait behind theirs.
 *  3. Others decide how many there are, so the number is bounded.
 */
#include "core/lock/room.h"

#include <stdlib.h>

#include "ddblock.h"

#define FOLLOW_MS UINT64_C(30000)
#define FOLLOW_POLLS 3		/* of ours, if that is more */
#define FOLLOW_TOLD_MAX 4
#define FOLLOW_TELL_MAX 8	/* half of what a step has room for */
#define FOLLOW_TELL_MS 2
#define FOLLOWERS_MAX 4096	/* of a namespace, as many as peers */

struct follower {
	struct hash_link link;		/* first: in the table, by digest */
	struct follower *prev, *next;	/* the first to be forgotten first */
	struct follower *owed_previous, *owed_next;
	struct namespace *ns;
	uint64_t digest;		/* of the lock's key */
	struct ident session;
	uint64_t until_ms;
	uint64_t period_ms;		/* since then it was told so often: */
	uint32_t n_told;
	bool owed;
};

struct followers {
	struct hash_table table;
	struct follower *list;
	uint32_t n;
};

static struct follower *
follower_of(struct hash_link *link)
{
	return (struct follower *)link;
}

static uint32_t
follow_hash(const struct hash_link *link)
{
	const struct follower *f = (const struct follower *)link;

	return hint_hash_digest(f->ns, f->digest);
}

int
follow_init(struct namespace *ns)
{
	ns->followers = calloc(1, sizeof(*ns->followers));
	if (ns->followers == NULL)
		return DDBLOCK_E_NOMEM;
	return hash_init(&ns->followers->table, follow_hash);
}

static void
follow_pay(struct core *core, struct follower *f)
{
	if (!f->owed)
		return;
	f->owed = false;
	DL_DELETE2(core->owed, f, owed_previous, owed_next);
}

static void
follow_forget(struct core *core, struct follower *f)
{
	struct followers *all = f->ns->followers;

	follow_pay(core, f);
	hash_remove(&all->table, &f->link, follow_hash(&f->link));
	DL_DELETE(all->list, f);
	all->n--;
	free(f);
}

void
follow_done(struct core *core, struct namespace *ns)
{
	if (ns->followers == NULL)
		return;
	while (ns->followers->list != NULL)
		follow_forget(core, ns->followers->list);
	hash_done(&ns->followers->table);
	free(ns->followers);
	ns->followers = NULL;
}

/* ---- who follows ------------------------------------------------------- */

static struct follower *
follow_find(const struct namespace *ns, uint64_t digest, struct ident session)
{
	struct hash_link *link = hash_chain(&ns->followers->table,
	    hint_hash_digest(ns, digest));

	while (link != NULL && (follower_of(link)->digest != digest ||
	    !ident_equal(follower_of(link)->session, session)))
		link = link->next;
	return link == NULL ? NULL : follower_of(link);
}

/* Without memory, and beyond the bound, there is one less. */
static struct follower *
follow_new(struct namespace *ns, uint64_t digest, struct ident session)
{
	struct followers *all = ns->followers;
	struct follower *f = all->n < FOLLOWERS_MAX ?
	    calloc(1, sizeof(*f)) : NULL;

	if (f == NULL)
		return NULL;
	f->ns = ns;
	f->digest = digest;
	f->session = session;
	hash_add(&all->table, &f->link, follow_hash(&f->link));
	DL_APPEND(all->list, f);
	all->n++;
	return f;
}

static uint64_t
follow_until_ms(const struct core *core, const struct namespace *ns)
{
	uint64_t polls_ms = FOLLOW_POLLS * ns->settings.poll_ms;

	return core->now_ms + (polls_ms > FOLLOW_MS ? polls_ms : FOLLOW_MS);
}

/* This host watches a lock that we may write next. */
void
follow_heard(struct core *core, struct namespace *ns, uint64_t digest,
    struct ident session)
{
	const struct lock *l = hint_find(ns, digest);
	struct followers *all = ns->followers;
	struct follower *f;

	while (all->list != NULL && all->list->until_ms <= core->now_ms)
		follow_forget(core, all->list);
	if (l == NULL || (l->grants == NULL && l->queue == NULL) ||
	    session_find(ns, session) != NULL)
		return;
	f = follow_find(ns, digest, session);
	if (f == NULL)
		f = follow_new(ns, digest, session);
	if (f == NULL)
		return;
	/* Its poll period may have become shorter: then the order is not quite
	 * right, and that is harmless. */
	f->until_ms = follow_until_ms(core, ns);
	DL_DELETE(all->list, f);
	DL_APPEND(all->list, f);
}

uint32_t
follow_count(const struct namespace *ns)
{
	return ns->followers == NULL ? 0 : ns->followers->n;
}

/* ---- what they are told ------------------------------------------------ */

static bool
follow_may_be_told(const struct core *core, struct follower *f)
{
	if (core->now_ms - f->period_ms >= f->ns->settings.poll_ms) {
		f->period_ms = core->now_ms;
		f->n_told = 0;
	}
	return f->n_told < FOLLOW_TOLD_MAX && f->until_ms > core->now_ms;
}

/* A write of ours has changed what there is to be seen of this lock. */
void
hint_changed(struct core *core, struct namespace *ns, struct key key)
{
	struct hash_link *link;
	uint64_t digest;

	if (ns->followers == NULL || ns->followers->n == 0)
		return;
	digest = core_hint_digest(key);
	link = hash_chain(&ns->followers->table, hint_hash_digest(ns, digest));
	for (; link != NULL; link = link->next) {
		struct follower *f = follower_of(link);

		if (f->digest != digest || f->owed ||
		    !follow_may_be_told(core, f))
			continue;
		f->owed = true;
		f->n_told++;
		DL_APPEND2(core->owed, f, owed_previous, owed_next);
	}
}

/* At the end of a step; the rest in a next one. */
void
follow_tell(struct core *core)
{
	if (core->now_ms < core->owed_at_ms)
		return;
	core->owed_at_ms = core->now_ms + FOLLOW_TELL_MS;
	for (int i = 0; i < FOLLOW_TELL_MAX && core->owed != NULL; i++) {
		struct follower *f = core->owed;

		follow_pay(core, f);
		action_hint(core, f->ns, f->session, CORE_HINT_CHANGED,
		    f->digest);
	}
}
