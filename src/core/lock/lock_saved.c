/*
 * Locks across the death of the process: our elements in records, with the
 * tokens that are left of them, and what there is to put right.
 *
 * A grant that was asked for, and of which no answer is known, is unsure in the
 * next process, and its attempts may yet land. One whose release was asked for
 * is settled by a look. What was held is held on, by the same hold, or is
 * released if it had none.
 */
#include "core/lock/room.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* More than these follow, by its flags, and then the key. */
struct saved_grant {
	struct ident id;
	struct ident session;
	uint64_t token_next;
	uint64_t token_last;
	uint16_t namespace_index;
	uint16_t limit;
	uint16_t flags;
	uint8_t state;
	uint8_t mode;
};

enum {
	SAVED_GRANT_FAIL_CLOSED = 1,
	SAVED_GRANT_PASSED = 2,
	SAVED_GRANT_UNSEALED = 4,
	SAVED_GRANT_GAP = 8,		/* when it is over follows; */
	SAVED_GRANT_SEQUENCE = 16,	/* that of its contents; */
	SAVED_GRANT_DOWNGRADE = 32,	/* the name and limit that it may have;
					 */
	SAVED_GRANT_TOKEN_TEXT = 64,	/* its token in full; */
	SAVED_GRANT_EVERY = 128,	/* its period */
};

#define TOKEN_TEXT_MAX 255	/* digits; no format has so many */

struct saved_downgrade {
	struct ident id;
	uint64_t limit;
};

struct saved_every {
	uint32_t period_s;
	uint8_t at_end, begun, succeeded, spare;
};

/* ---- writing ---------------------------------------------------------- */

uint64_t
grant_number(const struct grant *g)
{
	return g->id.low;
}

static bool
grant_is_updated(const struct grant *g)
{
	const struct submission *s = g->lock->submission;

	return s != NULL && s->submit.operation.kind == OPERATION_UPDATE &&
	    ident_equal(s->holder.grant, g->id);
}

static uint16_t
grant_saved_flags(const struct grant *g)
{
	const struct downgrade *downgrade = grant_downgrade(g);

	return (uint16_t)(
	    (g->fail_closed ? SAVED_GRANT_FAIL_CLOSED : 0) |
	    (g->passed ? SAVED_GRANT_PASSED : 0) |
	    (g->unsealed || grant_is_updated(g) ? SAVED_GRANT_UNSEALED : 0) |
	    (g->gap_ms > 0 ? SAVED_GRANT_GAP : 0) |
	    (g->lock->sequence > 0 ? SAVED_GRANT_SEQUENCE : 0) |
	    (downgrade != NULL && downgrade->sent ?
		SAVED_GRANT_DOWNGRADE : 0) |
	    (grant_token_text(g) != NULL ? SAVED_GRANT_TOKEN_TEXT : 0) |
	    (grant_is_once(g) ? SAVED_GRANT_EVERY : 0));
}

bool
grant_save(struct journal *journal, struct saved *saved)
{
	const struct grant *g = CONTAINER_OF(saved, struct grant, saved);
	const struct lock *l = g->lock;
	const struct saved_grant entry = {
		.id = g->id,
		.session = grant_is_lost(g) ? (struct ident){ 0, 0 } :
		    grant_session_id(g),
		.token_next = g->token_next,
		.token_last = g->token_last,
		.namespace_index = (uint16_t)l->ns->index,
		.limit = g->limit,
		.flags = grant_saved_flags(g),
		.state = g->state,
		.mode = g->mode,
	};
	struct saved_bytes b;

	b.length = 0;
	if ((entry.flags & SAVED_GRANT_GAP) != 0)
		saved_add(&b, &g->gap_ms, sizeof(g->gap_ms));
	if ((entry.flags & SAVED_GRANT_SEQUENCE) != 0)
		saved_add(&b, &l->sequence, sizeof(l->sequence));
	if ((entry.flags & SAVED_GRANT_DOWNGRADE) != 0) {
		const struct downgrade *downgrade = grant_downgrade(g);
		const struct saved_downgrade d = { downgrade->id,
			downgrade->limit };

		saved_add(&b, &d, sizeof(d));
	}
	if ((entry.flags & SAVED_GRANT_TOKEN_TEXT) != 0)
		saved_add_text(&b, grant_token_text(g));
	if ((entry.flags & SAVED_GRANT_EVERY) != 0) {
		const struct every *e = grant_every(g);
		const struct saved_every every = { e->period_s, e->at_end,
			e->begun, e->succeeded, 0 };

		saved_add(&b, &every, sizeof(every));
	}
	saved_add(&b, l->key, l->key_length);
	return journal_put(journal, &saved->place, SAVED_GRANT, &entry,
	    sizeof(entry), b.bytes, b.length);
}

bool
lock_save(struct journal *journal, struct saved *saved)
{
	const struct lock *l = CONTAINER_OF(saved, struct lock, saved);
	const uint64_t namespace_index = l->ns->index;

	return journal_put(journal, &saved->place, SAVED_LOCK,
	    &namespace_index, sizeof(namespace_index), l->key, l->key_length);
}

void
lock_save_all(struct core *core, struct namespace *ns)
{
	struct lock *l;
	struct grant *g;

	for (l = lock_next(ns, NULL); l != NULL; l = lock_next(ns, l)) {
		LL_FOREACH(l->grants, g)
		{
			saved_renew(core, &g->saved);
			if (g->state != GRANT_NONE)
				grant_touch(g);
			if (g->lease != NULL && lease_is_of_record(g->lease)) {
				saved_renew(core, &g->lease->saved);
				record_lease_touch(core, g->lease);
			}
		}
		saved_renew(core, &l->saved);
		in_doubt_save_all(core, &l->in_doubt_list);
		lock_save_righting(core, l);
	}
}

/* ---- taking over -------------------------------------------------------- */

static int
lock_take_over(struct core *core, struct namespace *ns, struct key key,
    struct lock **ret)
{
	*ret = lock_find(ns, key);
	return *ret == NULL && lock_new(core, ns, key, ret) < 0 ?
	    DDBLOCK_E_NOMEM : 0;
}

/* In the first step. */
static void
lock_look_soon(struct core *core, struct lock *l)
{
	l->read_due = true;
	heap_set(&core->later, &l->timer, core->now_ms);
}

static int
downgrade_take_over(struct grant *g, const struct saved_downgrade *saved)
{
	struct downgrade *downgrade = calloc(1, sizeof(*downgrade));

	if (downgrade == NULL || grant_extras(g) == NULL) {
		free(downgrade);
		return DDBLOCK_E_NOMEM;
	}
	downgrade->id = saved->id;
	downgrade->limit = (uint16_t)saved->limit;
	downgrade->sent = downgrade->unsure = true;
	g->extras->downgrade = downgrade;
	return 0;
}

/* It may have come into the record, and its attempts may yet. */
static int
grant_take_over_unsure(struct core *core, struct grant *g,
    const struct saved_grant *saved)
{
	const struct saved_in_doubt d = {
		.session = saved->session, .grant = saved->id,
		.sent_ms = core->now_ms, .fail_closed = g->fail_closed,
	};

	grant_enter(core, g, GRANT_UNSURE, g->lease);
	return in_doubt_inherit(core, g->lock->ns, &g->lock->in_doubt_list,
	    &d);
}

static int
grant_take_over_state(struct core *core, struct grant *g, struct lease *lease,
    const struct saved_grant *saved)
{
	/* Without sessions it has one of its own already. */
	if (g->lease != NULL)
		lease = g->lease;
	grant_enter(core, g, GRANT_HELD, lease);
	switch (saved->state) {
	case GRANT_HELD:
		if (g->lease != NULL && lease_is_of_record(g->lease))
			record_lease_hold(g->lease);
		return 0;
	case GRANT_ASKING:
	case GRANT_UNSURE:
		return grant_take_over_unsure(core, g, saved);
	case GRANT_RELEASING:
		g->unsettled = true;
		grant_enter(core, g, GRANT_RELEASING, lease);
		if (g->lease != NULL && lease_is_of_record(g->lease))
			record_lease_give_up(g->lease);
		return 0;
	default:
		return DDBLOCK_E_BAD_RECORD;
	}
}

/* What follows the entry, up to the key. */
struct saved_grant_rest {
	uint64_t gap_ms;
	uint64_t sequence;
	struct saved_downgrade downgrade;
	const char *token_text;
	struct saved_every every;
	struct key key;
};

static int
grant_read_rest(const struct journal_entry *entry, struct saved_grant *ret,
    struct saved_grant_rest *rest)
{
	struct saved_reader r = { .at = entry->data, .left = entry->length };

	*rest = (struct saved_grant_rest){ .gap_ms = 0 };
	saved_take(&r, ret, sizeof(*ret));
	if ((ret->flags & SAVED_GRANT_GAP) != 0)
		saved_take(&r, &rest->gap_ms, sizeof(rest->gap_ms));
	if ((ret->flags & SAVED_GRANT_SEQUENCE) != 0)
		saved_take(&r, &rest->sequence, sizeof(rest->sequence));
	if ((ret->flags & SAVED_GRANT_DOWNGRADE) != 0)
		saved_take(&r, &rest->downgrade, sizeof(rest->downgrade));
	if ((ret->flags & SAVED_GRANT_TOKEN_TEXT) != 0)
		rest->token_text = saved_take_text(&r);
	if ((ret->flags & SAVED_GRANT_EVERY) != 0)
		saved_take(&r, &rest->every, sizeof(rest->every));
	rest->key = (struct key){ (const char *)r.at, r.left };
	return r.bad || !key_is_sound(rest->key) ||
	    (ret->mode != LOCK_MODE_EXCLUSIVE &&
		ret->mode != LOCK_MODE_SHARED) ||
	    rest->sequence > REVISION_SEQUENCE_MAX ||
	    rest->downgrade.limit > CORE_LIMIT_MAX ||
	    ((ret->flags & SAVED_GRANT_EVERY) != 0 &&
		(rest->every.period_s == 0 ||
		ret->mode != LOCK_MODE_EXCLUSIVE)) ||
	    (rest->token_text != NULL &&
		strlen(rest->token_text) > TOKEN_TEXT_MAX) ?
	    DDBLOCK_E_BAD_RECORD : 0;
}

static void
grant_rename(struct grant *g, struct ident id)
{
	g->id = id;
	if (g->lease != NULL)
		record_lease_rename(g->lease, id);
}

/* What the lock has of ours already goes with it (check.c). */
static bool
grant_fits_others(const struct lock *l, const struct lease *lease,
    const struct saved_grant *saved)
{
	const bool common = saved->mode == LOCK_MODE_SHARED &&
	    saved->limit == 0 && (saved->flags & SAVED_GRANT_FAIL_CLOSED) == 0;
	const struct grant *g;

	if (saved->mode == LOCK_MODE_EXCLUSIVE && l->grants != NULL)
		return false;
	LL_FOREACH(l->grants, g)
	{
		if (g->mode != saved->mode || g->limit != saved->limit ||
		    grant_has(g, saved->id) ||
		    (common && grant_is_common(g) && g->lease == lease))
			return false;
	}
	return true;
}

/* Is it one that there can be? */
static bool
grant_is_sound(const struct lock *l, const struct lease *lease,
    const struct saved_grant *saved)
{
	const bool exclusive = saved->mode == LOCK_MODE_EXCLUSIVE;

	if (saved->state < GRANT_ASKING || saved->state > GRANT_RELEASING ||
	    ident_is_none(saved->id) || saved->limit > CORE_LIMIT_MAX ||
	    saved->token_last > TOKEN_MAX ||
	    saved->token_next > saved->token_last + 1)
		return false;
	if (exclusive ? saved->limit > 0 :
	    (saved->flags & SAVED_GRANT_DOWNGRADE) != 0)
		return false;
	if ((saved->flags & SAVED_GRANT_FAIL_CLOSED) != 0)
		return !l->ns->renews_records;
	return l->ns->has_sessions ? lease->state == LEASE_VALID :
	    l->ns->renews_records;
}

static int
grant_take_over(struct core *core, struct lock *l, struct lease *lease,
    const struct saved_grant *saved, const struct saved_grant_rest *rest,
    struct grant **ret)
{
	const bool fail_closed = (saved->flags & SAVED_GRANT_FAIL_CLOSED) != 0;
	struct grant *g = grant_new(core, l, fail_closed ||
	    rest->every.period_s > 0);
	int code = 0;

	if (g == NULL)
		return DDBLOCK_E_NOMEM;
	grant_rename(g, saved->id);
	g->mode = saved->mode;
	g->limit = saved->limit;
	g->fail_closed = g->unproven = fail_closed;
	if (fail_closed)
		g->extras->session = saved->session;
	if (rest->every.period_s > 0)
		g->extras->every = (struct every){
			.period_s = rest->every.period_s,
			.at_end = rest->every.at_end != 0,
			.begun = rest->every.begun != 0,
			.succeeded = rest->every.succeeded != 0,
		};
	g->passed = (saved->flags & SAVED_GRANT_PASSED) != 0;
	g->token_next = saved->token_next;
	g->token_last = saved->token_last;
	if (l->token_known < g->token_last)
		l->token_known = g->token_last;
	g->n_tokens = grant_tokens(g);
	/* Who lost it may be told only now. */
	if (rest->gap_ms > 0)
		g->gap_ms = core->now_ms + l->ns->settings.margin_ms;
	if (rest->gap_ms > g->gap_ms)
		g->gap_ms = rest->gap_ms;
	if (rest->sequence > l->sequence)
		l->sequence = rest->sequence;
	/* That of an update under way was not counted yet. */
	if ((saved->flags & SAVED_GRANT_UNSEALED) != 0)
		update_doubt(g);
	if (rest->token_text != NULL &&
	    !grant_set_token_text(g, rest->token_text))
		return DDBLOCK_E_NOMEM;
	code = grant_take_over_state(core, g, lease, saved);
	if (code == 0 && (saved->flags & SAVED_GRANT_DOWNGRADE) != 0 &&
	    g->state == GRANT_HELD)
		code = downgrade_take_over(g, &rest->downgrade);
	*ret = g;
	return code;
}

static int
grant_inherit(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry, struct inherited_grant *ret)
{
	struct saved_grant saved;
	struct saved_grant_rest rest;
	struct namespace *ns;
	struct lease *lease;
	int code = grant_read_rest(entry, &saved, &rest);

	if (code < 0)
		return code;
	/* As long as a client may work on after a cut (hold_saved.c). */
	if (rest.gap_ms > core->now_ms + CORE_LINGER_MAX_MS)
		return DDBLOCK_E_BAD_RECORD;
	ns = namespace_inherited(core, legacy, saved.namespace_index);
	if (ns == NULL)
		return 0;
	code = lock_take_over(core, ns, rest.key, &ret->lock);
	if (code < 0)
		return code;
	ret->number = saved.id.low;
	lease = session_find(ns, saved.session);
	/* A session that was not inherited ends by itself, with all its
	 * elements but those that are fail-closed. What was lost with a write
	 * under way is found by a doubt. */
	if (ident_is_none(saved.session) || (ns->has_sessions &&
	    lease == NULL && (saved.flags & SAVED_GRANT_FAIL_CLOSED) == 0))
		return 0;
	if (!grant_is_sound(ret->lock, lease, &saved) ||
	    !grant_fits_others(ret->lock, lease, &saved))
		return DDBLOCK_E_BAD_RECORD;
	return grant_take_over(core, ret->lock, lease, &saved, &rest,
	    &ret->grant);
}

/* A look at the record says what is to be done. */
static int
lock_inherit_doubt(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry)
{
	struct saved_reader r = { .at = entry->data, .left = entry->length };
	struct saved_in_doubt saved;
	struct namespace *ns;
	struct lock *l;
	struct key key;
	int code;

	saved_take(&r, &saved, sizeof(saved));
	key = (struct key){ (const char *)r.at, r.left };
	if (r.bad || !key_is_sound(key) ||
	    saved.namespace_index >= CORE_NAMESPACES_MAX)
		return DDBLOCK_E_BAD_RECORD;
	ns = namespace_inherited(core, legacy, saved.namespace_index);
	if (ns == NULL || (!saved.fail_closed &&
	    session_find(ns, saved.session) == NULL))
		return 0;
	code = lock_take_over(core, ns, key, &l);
	if (code < 0)
		return code;
	lock_look_soon(core, l);
	return in_doubt_inherit(core, ns, &l->in_doubt_list, &saved);
}

/* A mark of the session that there was last may be there, or come yet. */
static int
lock_inherit_mark(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry)
{
	struct saved_reader r = { .at = entry->data, .left = entry->length };
	uint64_t namespace_index;
	struct namespace *ns;
	struct lock *l;
	struct key key;
	int code;

	saved_take(&r, &namespace_index, sizeof(namespace_index));
	key = (struct key){ (const char *)r.at, r.left };
	if (r.bad || namespace_index >= CORE_NAMESPACES_MAX ||
	    !key_is_sound(key))
		return DDBLOCK_E_BAD_RECORD;
	ns = namespace_inherited(core, legacy, (uint32_t)namespace_index);
	if (ns == NULL || ns->session == NULL)
		return 0;
	code = lock_take_over(core, ns, key, &l);
	if (code < 0)
		return code;
	lock_look_soon(core, l);
	/* Without room for it, that look is all. */
	if (ns->n_in_doubt_allocated >= core->limits.in_doubt_max)
		return 0;
	return in_doubt_inherit(core, ns, &l->in_doubt_list,
	    &(struct saved_in_doubt){ .session = ns->session->id,
		.sent_ms = core->now_ms });
}

int
lock_inherit(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry, struct inherited_grant *ret)
{
	*ret = (struct inherited_grant){ .grant = NULL };
	return entry->kind == SAVED_GRANT ?
	    grant_inherit(core, legacy, entry, ret) :
	    entry->kind == SAVED_LOCK ?
	    lock_inherit_mark(core, legacy, entry) :
	    lock_inherit_doubt(core, legacy, entry);
}
