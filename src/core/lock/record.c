/* What a lock's record tells: the holders in the way, our own grant in it, its
 * waiter marks, and elements and marks of ours that should not be there. */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

bool
record_shows(const struct lock_record *record, const struct grant *g)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		if (grant_is_holder(g, &record->holders[i]))
			return true;
	}
	return false;
}

/* Our grant is gone from the record: why? */
enum core_loss
record_loss(const struct lock_record *record)
{
	return record->broken_by != NULL ? CORE_LOSS_BROKEN : CORE_LOSS_STOLEN;
}

static void
record_free_sight(struct sight *sight)
{
	if (sight == NULL)
		return;
	observe_unblock(&sight->blocked);
	free(sight->owner);
	free(sight);
}

void
record_forget_sight(struct lock *l)
{
	record_free_sight(l->sight);
	l->sight = NULL;
}

/*
 * A grant of a session of ours that no hold here uses: it landed after it was
 * given up. (What a lost session left is closed with it.) Of fail-closed ones,
 * which clients may have left held, a doubt must say so.
 */
static bool
record_holder_is_orphan(const struct lock *l, const struct holder *h)
{
	const struct lease *s = session_find(l->ns, h->session);
	const struct grant *g = grant_find(l, h->grant);

	/* Before a proof it may be another's, which took over the same. */
	if (h->fail_closed || !l->ns->has_sessions)
		return !session_awaits_proof(l->ns) &&
		    g == NULL && in_doubt_is_orphan(&l->in_doubt_list, h);
	if (s == NULL || s->state != LEASE_VALID || s->unproven)
		return false;
	return g == NULL || g->lease != s;
}

/* Did a client here leave this holder held, for good? Its session says nothing
 * of that: it is ours, and good. (@l: NULL if nothing is known here.) */
bool
record_holder_is_left(const struct namespace *ns, const struct lock *l,
    const struct holder *h)
{
	const struct lease *s = session_find(ns, h->session);

	if (!h->fail_closed || !ns->has_sessions || s == NULL ||
	    s->state != LEASE_VALID || s->unproven)
		return false;
	return l == NULL || (grant_find(l, h->grant) == NULL &&
	    !in_doubt_is_orphan(&l->in_doubt_list, h));
}

/* NULL without memory: then another look, soon, must find it again. Nothing
 * else would, if it is an orphan whose doubt is just being forgotten. */
static struct leftovers *
record_leftovers(struct core *core, struct lock *l)
{
	if (l->leftovers != NULL)
		return l->leftovers;
	l->leftovers = calloc(1, sizeof(*l->leftovers));
	if (l->leftovers == NULL && l->grants == NULL) {
		l->read_due = true;
		lock_hold_off(core, l, RETRY_MS);
	}
	return l->leftovers;
}

void
record_orphan(struct core *core, struct lock *l, const struct holder *h,
    const struct lock_record *record)
{
	if (record_leftovers(core, l) == NULL)
		return;
	l->leftovers->orphan = *h;
	l->leftovers->orphan_is_marked = record->marked;
}

/* Does the record show one? Then it is to be taken out. */
bool
record_find_orphan(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		const struct holder *h = &record->holders[i];

		if (!record_holder_is_orphan(l, h))
			continue;
		record_orphan(core, l, h, record);
		return true;
	}
	return false;
}

/*
 * A waiter mark of another host: honoured unless its session is dead, absent or
 * has not moved for a lease. It is a matter for the holder: if all waiters
 * observed each other, too, each read would cost the square of them.
 */
static bool
record_honours_mark(struct core *core, struct lock *l, struct ident id)
{
	struct observation *o = observe(core, l->ns, id, 0);

	return o == NULL || observe_lives(core, o);
}

/*
 * Has it been free for longer than two polls because of a waiter mark? The host
 * of that mark would have acquired it by then. A mark that landed once more
 * after its host had gone is in no list of writes in doubt, because it was
 * answered.
 */
static bool
record_stood_long(const struct core *core, const struct lock *l)
{
	uint32_t stood_ms = (uint32_t)core->now_ms - l->hindered_ms;

	return l->hindered && l->view == VIEW_FREE &&
	    stood_ms > 2 * l->ns->settings.poll_ms;
}

/* That mark of another host is to be taken out. */
static void
record_drop_mark(struct core *core, struct lock *l, enum lock_mode mode,
    struct ident id)
{
	if (record_leftovers(core, l) == NULL)
		return;
	l->leftovers->stale_mark = id;
	l->leftovers->stale_mark_mode = mode;
}

/* The next in line did not take what is free: it is to be taken out. */
static void
record_drop_next(struct core *core, struct lock *l)
{
	struct ident next = l->line->sessions[0];

	if (session_find(l->ns, next) == NULL)
		record_drop_mark(core, l, LOCK_MODE_EXCLUSIVE, next);
}

/* Does one of these marks belong to another host, and is it honoured? What of
 * them is stale (or all, if it was waited for them @long_enough) is to be taken
 * out. */
static bool
record_find_foreign(struct core *core, struct lock *l, enum lock_mode mode,
    const struct ident *waiter_marks, size_t n_waiter_marks, bool long_enough)
{
	bool honoured = false;

	for (size_t i = 0; i < n_waiter_marks; i++) {
		struct ident id = waiter_marks[i];

		if (session_find(l->ns, id) != NULL)
			continue;
		/* Removing a living host's mark would do no harm: its host puts
		 * it back with its next poll. */
		if (!long_enough && record_honours_mark(core, l, id)) {
			honoured = true;
		} else {
			record_drop_mark(core, l, mode, id);
		}
	}
	return honoured;
}

static void
record_find_own(struct core *core, struct lock *l, enum lock_mode mode,
    const struct ident *waiter_marks, size_t n_waiter_marks)
{
	const struct lease *s = l->ns->session;

	for (size_t i = 0; i < n_waiter_marks; i++) {
		struct ident id = waiter_marks[i];

		if (session_find(l->ns, id) == NULL)
			continue;
		if (s != NULL && ident_equal(s->id, id) &&
		    lock_mark_mode(l) == mode) {
			l->own_mark_mode = mode;
		} else if (record_leftovers(core, l) != NULL) {
			l->leftovers->own_mark = id;
			l->leftovers->stray_mark_mode = mode;
		}
	}
}

/* Is a host in the line before ours that is honoured? The first that is not is
 * to be taken out. */
static bool
record_honours_line(struct core *core, struct lock *l)
{
	const struct line *line = l->line;
	uint8_t before = line->place > 0 ? line->place - 1 : line->n;

	for (uint8_t i = 0; i < before; i++) {
		struct ident id = line->sessions[i];

		if (session_find(l->ns, id) != NULL)
			continue;
		if (record_honours_mark(core, l, id))
			return true;
		if (l->leftovers == NULL ||
		    ident_is_none(l->leftovers->stale_mark))
			record_drop_mark(core, l, LOCK_MODE_EXCLUSIVE, id);
	}
	return false;
}

/* The lock is free, or its holders are dead: is it the turn of others in line?
 * For a host that stands in none, if any of them lives; if their time is over,
 * the next one is to be taken out, because only one in line can acquire it. */
bool
record_awaits_turn(struct core *core, struct lock *l)
{
	struct line *line = l->line;

	if (line == NULL ||
	    (l->queue->mode != LOCK_MODE_EXCLUSIVE && !line_is_kept(l)))
		return false;
	line_open(core, l);
	if (!line_has_turn(core, l) &&
	    (line->place > 0 || record_honours_line(core, l))) {
		if (line_turn_at_ms(l) < l->due_ms)
			l->due_ms = line_turn_at_ms(l);
		return true;
	}
	if (line->place == 0)
		record_drop_next(core, l);
	return false;
}

/* A sharer without a limit hinders no other sharer. */
static void
record_find_hindered(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	const struct grant *g = l->grants;
	bool common = g->mode == LOCK_MODE_SHARED && g->limit == 0;

	/* One that lives is enough. */
	l->foreign_mark_seen = l->line != NULL && record_honours_line(core, l);
	if (l->foreign_mark_seen)
		return;
	l->foreign_mark_seen = record_find_foreign(core, l, LOCK_MODE_EXCLUSIVE,
	    record->exclusive_waiters, record->n_exclusive_waiters, false);
	if (!common && record_find_foreign(core, l, LOCK_MODE_SHARED,
	    record->shared_waiters, record->n_shared_waiters, false))
		l->foreign_mark_seen = true;
}

/*
 * The two kinds of use take turns on a free lock, and no client joins the
 * sharers while a mark for exclusive use stands (doc/records.md).
 */
static bool
record_is_hindered(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	const struct waiter *w = l->queue;
	bool free = record->n_holders == 0;
	bool long_enough = free && record_stood_long(core, l);

	if (w == NULL)
		return false;
	if (free && record_awaits_turn(core, l))
		return true;
	if (long_enough && l->line != NULL && w->mode == LOCK_MODE_SHARED &&
	    l->own_mark_mode != LOCK_MODE_EXCLUSIVE) {
		long_enough = false;
		if (line_stood_long(core, l)) {
			record_drop_next(core, l);
			return false;
		}
	}
	if (w->mode == LOCK_MODE_EXCLUSIVE)
		return free && record->mode == LOCK_MODE_EXCLUSIVE &&
		    record_find_foreign(core, l, LOCK_MODE_SHARED,
		    record->shared_waiters, record->n_shared_waiters,
		    long_enough);
	return record->mode == LOCK_MODE_SHARED &&
	    l->own_mark_mode != LOCK_MODE_EXCLUSIVE &&
	    record_find_foreign(core, l, LOCK_MODE_EXCLUSIVE,
	    record->exclusive_waiters, record->n_exclusive_waiters,
	    long_enough);
}

/* The waiters here: does it stand back? */
static void
record_find_turn(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	bool stood_free = l->hindered && l->view == VIEW_FREE;

	l->hindered = record_is_hindered(core, l, record);
	if (!stood_free)
		l->hindered_ms = (uint32_t)core->now_ms;
}

static void
record_find_waiter_marks(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	const struct grant *g;

	l->own_mark_mode = LOCK_MODE_NONE;
	l->foreign_mark_seen = false;
	record_find_own(core, l, LOCK_MODE_EXCLUSIVE, record->exclusive_waiters,
	    record->n_exclusive_waiters);
	record_find_own(core, l, LOCK_MODE_SHARED, record->shared_waiters,
	    record->n_shared_waiters);
	record_find_own(core, l, LOCK_MODE_EXCLUSIVE, record->line,
	    record->n_line);
	LL_SEARCH_SCALAR(l->grants, g, state, GRANT_HELD);
	if (g != NULL && !l->ns->has_sessions)
		l->foreign_mark_seen = true;	/* nobody could say otherwise */
	else if (g != NULL)
		record_find_hindered(core, l, record);
}

/*
 * Wait for the end of the holder that is nearest to its end. True: all of them
 * are known to be dead, and the lock may be taken from them.
 */
bool
record_block(struct core *core, struct lock *l)
{
	struct sight *sight = l->sight;
	struct observation *next = NULL;
	bool dead = true;

	observe_unblock(&sight->blocked);
	for (size_t i = 0; i < sight->n_holders; i++) {
		const struct holder *h = &sight->holders[i];
		const struct lease *own = session_find(l->ns, h->session);
		struct observation *o = NULL;

		/* Ours is ended by its removal only. */
		if (!l->ns->has_sessions)
			o = observe_holder(l->ns, lock_key(l), h);
		else if (own == NULL || own->state != LEASE_VALID)
			o = observe(core, l->ns, h->session, h->lease_ms);
		/* And this by its release or a break only: waiters are told
		 * whether there is a holder left. */
		if (h->fail_closed) {
			dead = false;
			if (o != NULL)
				observe_glance(core, o, false);
			continue;
		}
		if (o != NULL && observe_is_over(core, o))
			continue;
		dead = false;
		if (o == NULL)
			continue;
		if (sight->n_holders > 1)
			observe_glance(core, o, true);
		if (next != NULL && !observe_ends_before(o, next))
			continue;
		/* At once: the next one must not take its room. */
		observe_unblock(&sight->blocked);
		observe_block(core, &sight->blocked, o,
		    l->line == NULL ? 0 : line_patience_ms(l));
		next = o;
	}
	return dead;
}

/* Is its session known to be dead, and does it die with that? */
static bool
record_holder_is_dead(const struct lock *l, const struct holder *h)
{
	const struct observation *o =
	    observe_holder(l->ns, lock_key(l), h);

	return !h->fail_closed && o != NULL &&
	    observe_is_over(l->ns->core, o);
}

/* How many of the holders that were seen are known to be dead, and which (@ret
 * may be NULL): at most @most. */
size_t
record_dead(const struct lock *l, size_t most, struct holder *ret)
{
	const struct sight *sight = l->sight;
	size_t n = 0;

	for (size_t i = 0; i < sight->n_holders && n < most; i++) {
		const struct holder *h = &sight->holders[i];

		if (!record_holder_is_dead(l, h))
			continue;
		if (ret != NULL)
			ret[n] = *h;
		n++;
	}
	return n;
}

/* Beside a grant of ours: a release takes one of the dead along. Where a record
 * has room for one, it has no element of ours. */
static void
record_find_dead(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	if (!l->ns->has_sessions)
		return;
	for (size_t i = 0; l->grants != NULL && i < record->n_holders; i++) {
		const struct holder *h = &record->holders[i];

		if (!record_holder_is_dead(l, h))
			continue;
		if (record_leftovers(core, l) != NULL)
			l->leftovers->dead = *h;
		return;
	}
}

/* A read leaves no mark; a try leaves one for the next try. */
static void
record_observe(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	const struct observation *o =
	    observe_record(core, l->ns, lock_key(l), record);

	if (o != NULL && l->queue != NULL && l->version != NULL)
		l->mark_due = observe_mark_form(core, o, record->n_marks);
}

static void
record_sight(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	size_t holders_bytes = record->n_holders * sizeof(struct holder);
	struct sight *sight = calloc(1, sizeof(*sight) + holders_bytes);

	if (sight == NULL) {
		l->view = VIEW_STALE;
		return;
	}
	sight->lock = l;
	sight->token = record->token;
	sight->mode = record->mode;
	sight->acquired_at_s = record->acquired_at_s;
	sight->seen_ms = core->now_ms;
	sight->kept = lock_record_is_kept(record);
	if (record->owner != NULL)
		sight->owner = strdup(record->owner);
	sight->n_holders = record->n_holders;
	memcpy(sight->holders, record->holders, holders_bytes);
	if (l->ns->renews_records)
		record_observe(core, l, record);
	l->sight = sight;
	l->view = VIEW_FOREIGN;
	(void)record_block(core, l);
}

static void
record_find_use(struct lock *l, const struct lock_record *record)
{
	l->others_seen = (uint16_t)(record->n_holders -
	    grant_count_holders(l, record));
	/* Also of a free lock: a waiter for another limit than the last one
	 * keeps its mark for exclusive use. */
	l->shared_seen = record->mode == LOCK_MODE_SHARED;
	l->limit_seen = record->limit > UINT16_MAX ? UINT16_MAX :
	    (uint16_t)record->limit;
}

/* It has @token, and had a higher one. Each time it is told once. */
void
record_went_back(struct lock *l, uint64_t token)
{
	struct namespace *ns = l->ns;

	if (l->token_low)
		return;
	l->token_low = true;
	ns->counters.tokens_back++;
	ns->token_floor_due = ns->has_sessions;
	ns->tokens_back.token = token;
	ns->tokens_back.known = l->token_known;
	ns->tokens_back.key_length = l->key_length;
	memcpy(ns->tokens_back.key, l->key, l->key_length);
}

/* An absent record has none: a new one begins above all of before. What is too
 * high for anything to follow is not remembered: when it has been repaired, the
 * highest one before it counts. */
void
record_token_seen(struct lock *l, const struct lock_record *record)
{
	if (!l->ns->has_tokens || !record->exists)
		return;
	l->token_seen = record->token;
	if (record->token < l->token_known) {
		record_went_back(l, record->token);
		return;
	}
	if (record->token <= TOKEN_FLOOR_MAX)
		l->token_known = record->token;
	l->token_low = false;
}

/* Formats without sessions have no revision: what is there, is. */
static void
record_find_version(struct lock *l, const struct lock_record *record)
{
	if (l->ns->has_sessions)
		return;
	l->token_seen = record->token;
	free(l->version);
	l->version =
	    record->version == NULL ? NULL : strdup(record->version);
	if (l->sequence == 0 && !contents_are_empty(&record->contents))
		l->sequence = 1;
}

/*
 * Take in a record that came with the answer to an operation submitted at
 * @submitted_ms. The caller deals with its own operation; here is what any
 * answer tells.
 */
void
record_seen(struct core *core, struct lock *l,
    const struct lock_record *record, uint64_t submitted_ms)
{
	/* Forgotten last: what was observed for it must not make room for the
	 * observation of a wish before the new sight needs it. */
	struct sight *before = l->sight;

	l->sight = NULL;
	l->looks++;
	if (l->watched != NULL)
		core->lock_events->seen(l, record, submitted_ms);
	if (l->in_doubt_list.first != NULL)
		in_doubt_read(core, &l->in_doubt_list, record, submitted_ms);
	if (record->revision.sequence > l->sequence)
		l->sequence = record->revision.sequence;
	record_token_seen(l, record);
	record_find_version(l, record);
	l->read_due = false;
	l->mark_due = MARK_NONE;
	l->cause = 0;
	free(l->leftovers);
	l->leftovers = NULL;
	record_find_use(l, record);
	if (l->others_seen > 0) {
		(void)record_find_orphan(core, l, record);
		record_find_dead(core, l, record);
	}
	if (l->line != NULL || record->n_line > 0)
		line_seen(core, l, record);
	record_find_waiter_marks(core, l, record);
	if (l->grants == NULL ||
	    (l->queue != NULL && lock_may_add(l, l->queue))) {
		record_find_turn(core, l, record);
		if (record->n_holders == 0)
			l->view = VIEW_FREE;
		else
			record_sight(core, l, record);
	} else {
		l->hindered = false;
		if (l->view == VIEW_FOREIGN)
			l->view = VIEW_NEW;
	}
	record_free_sight(before);
	if (l->sight == NULL && l->ns->renews_records)
		observe_end(core, l->ns, lock_key(l));
}
