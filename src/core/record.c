/*
 * What a lock's record tells: who stands in the way, whether our own grant is
 * in it, who wishes for it, and what of ours is in it that should not be.
 */
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

bool
record_shows(const struct lock_record *record, struct ident session,
    struct ident grant)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		if (ident_equal(record->holders[i].session, session) &&
		    ident_equal(record->holders[i].grant, grant))
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
	observe_unblock(sight);
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
 * A grant of a session of ours that nothing here stands behind: it landed
 * after it was given up. (What a lost session left is closed with it.)
 */
static bool
record_holder_is_orphan(const struct lock *l, const struct holder *h)
{
	const struct session *s = session_find(l->ns, h->session);

	if (s == NULL || s->state != SESSION_VALID)
		return false;
	return l->session != s || !ident_equal(l->grant, h->grant);
}

/* NULL without memory: then another look, soon, must find it again. Nothing
 * else would, if it is an orphan whose doubt is just being forgotten. */
static struct leftovers *
record_leftovers(struct core *core, struct lock *l)
{
	if (l->leftovers != NULL)
		return l->leftovers;
	l->leftovers = calloc(1, sizeof(*l->leftovers));
	if (l->leftovers == NULL && l->state == LOCK_NONE) {
		l->read_due = true;
		lock_hold_off(core, l, RETRY_MS);
	}
	return l->leftovers;
}

void
record_orphan(struct core *core, struct lock *l, const struct holder *h)
{
	if (record_leftovers(core, l) != NULL)
		l->leftovers->orphan = *h;
}

static void
record_find_orphans(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_holders; i++) {
		const struct holder *h = &record->holders[i];

		if (!record_holder_is_orphan(l, h))
			continue;
		record_orphan(core, l, h);
		return;
	}
}

/*
 * A wish of another host: honoured unless its session is dead, absent or has
 * not moved for a lease. It is a matter for the holder: if all who wait looked
 * at each other, too, each look would cost the square of them.
 */
static bool
record_honours_wish(struct core *core, struct lock *l, struct ident id)
{
	struct observation *o = observe(core, l->ns, id, 0);

	return o == NULL || observe_lives(core, o);
}

static void
record_find_foreign_wishes(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_exclusive_wishes; i++) {
		struct ident id = record->exclusive_wishes[i];

		if (session_find(l->ns, id) != NULL)
			continue;
		/* Taking out a living one's wish would do no harm: its host
		 * puts it back with its next poll. */
		if (record_honours_wish(core, l, id))
			l->wish_seen = true;
		else if (record_leftovers(core, l) != NULL)
			l->leftovers->stale_wish = id;
	}
	/* Those who wait for shared use are hindered by us all the same; but
	 * what of them is stale is not ours to take out. */
	for (size_t i = 0; i < record->n_shared_wishes; i++) {
		if (record_honours_wish(core, l, record->shared_wishes[i]))
			l->wish_seen = true;
	}
}

static void
record_find_wishes(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	l->wanted = false;
	l->wish_seen = false;
	for (size_t i = 0; i < record->n_exclusive_wishes; i++) {
		struct ident id = record->exclusive_wishes[i];

		if (session_find(l->ns, id) == NULL)
			continue;
		if (l->ns->session != NULL &&
		    ident_equal(l->ns->session->id, id) && l->n_waiting > 0)
			l->wanted = true;
		else if (record_leftovers(core, l) != NULL)
			l->leftovers->own_wish = id;
	}
	if (l->state == LOCK_HELD)
		record_find_foreign_wishes(core, l, record);
}

/*
 * Wait for the end of the first holder that is not known to be dead. True:
 * all of them are, and the lock may be taken from them.
 */
bool
record_block(struct core *core, struct lock *l)
{
	struct sight *sight = l->sight;

	observe_unblock(sight);
	for (size_t i = 0; i < sight->n_holders; i++) {
		const struct holder *h = &sight->holders[i];
		const struct session *own = session_find(l->ns, h->session);
		struct observation *o;

		/* Only its release or a break ends it; ours, its removal. */
		if (h->fail_closed ||
		    (own != NULL && own->state == SESSION_VALID))
			return false;
		o = observe(core, l->ns, h->session, h->lease_ms);
		if (o == NULL)
			return false;
		if (o->state != OBSERVATION_DEAD) {
			observe_block(core, sight, o);
			return false;
		}
	}
	return true;
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
	if (record->owner != NULL)
		sight->owner = strdup(record->owner);
	sight->n_holders = record->n_holders;
	memcpy(sight->holders, record->holders, holders_bytes);
	l->sight = sight;
	l->view = VIEW_FOREIGN;
	(void)record_block(core, l);
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
	doubt_seen(core, l, submitted_ms);
	l->read_due = false;
	l->cause = 0;
	free(l->leftovers);
	l->leftovers = NULL;
	record_find_orphans(core, l, record);
	record_find_wishes(core, l, record);
	if (l->state == LOCK_NONE && record->n_holders == 0)
		l->view = VIEW_FREE;
	else if (l->state == LOCK_NONE)
		record_sight(core, l, record);
	record_free_sight(before);
}
