/*
 * Holders elsewhere whose record has a life of its own (observe.c watches those
 * that live by a session).
 *
 *  1. There is no session to look at: the looks at the lock tell, and of no
 *     other lock, also if its record looks the same. Nothing is killed either:
 *     when its time is up it may be taken, on the condition that the record is
 *     the very one that was seen, and may show to be alive until then.
 *  2. Where a record has versions, one can come back: libraries write one
 *     version more than once, up to a lease apart, and between two looks
 *     anything may have happened. So the lease counts from the acknowledgement
 *     of a mark, a random name that this host adds to the record while it has a
 *     waiter. Each acquisition wipes the marks; the record may be taken on the
 *     condition that ours is still there. Whatever else is seen at the key ends
 *     the observation.
 */
#include "core/lease/room.h"

/* What is known of the holder in the lock's record; NULL: nothing. */
struct observation *
observe_find_record(const struct namespace *ns, struct key key)
{
	return observe_find(ns, ident_hash(key.bytes, key.length));
}

static bool
observe_shows(const struct lock_record *record, struct ident mark)
{
	for (size_t i = 0; i < record->n_marks; i++) {
		if (ident_equal(record->marks[i], mark))
			return true;
	}
	return false;
}

/* Is it the record that was seen, untouched since it was marked? */
static bool
observe_is_same(const struct observation *o, const struct lock_record *record)
{
	return o->state != OBSERVATION_NEW && o->beat == record->beat &&
	    ident_equal(o->holder, record->holders[0].session) &&
	    (ident_is_none(o->mark) || observe_shows(record, o->mark));
}

/* NULL: there was no room. */
struct observation *
observe_record(struct core *core, struct namespace *ns, struct key key,
    const struct lock_record *record)
{
	const struct holder *h = &record->holders[0];
	bool deadline = ns->has_deadlines;
	struct observation *o = observe_find_record(ns, key);

	if (o == NULL)
		o = observe_new(core, ns, ident_hash(key.bytes, key.length));
	if (o == NULL)
		return NULL;	/* the next look has perhaps room for it */
	if (deadline || !observe_is_same(o, record)) {
		o->since_ms = core->now_ms;
		o->mark = (struct ident){ 0 };
	}
	o->state = OBSERVATION_ALIVE;
	o->holder = h->session;
	o->beat = record->beat;
	o->lease_ms = deadline ? record->ends_in_ms : h->lease_ms;
	o->looked_ms = core->now_ms;
	observe_schedule(core, o);
	return o;
}

/* Something else was seen there, or is ours: earlier observations do not count.
 * */
void
observe_end(struct core *core, struct namespace *ns, struct key key)
{
	struct observation *o = observe_find_record(ns, key);

	if (o == NULL)
		return;
	if (o->blocked == NULL) {
		observe_free(core, o);
		return;
	}
	o->state = OBSERVATION_NEW;
	o->mark = (struct ident){ 0 };
	observe_schedule(core, o);
}

/*
 * How is the record that was just seen to be marked? So many marks were in it.
 * If it is full, one of the marking hosts will take it, unless all of them have
 * gone, too.
 */
enum mark_form
observe_mark_form(const struct core *core, const struct observation *o,
    size_t n_marks)
{
	if (!observe_lacks_mark(o))
		return MARK_NONE;
	if (n_marks == 0)
		return MARK_FIRST;
	if (n_marks < MARKS_MAX)
		return MARK_BESIDE;
	return core->now_ms >= observe_end_ms(o) ? MARK_INSTEAD : MARK_NONE;
}

/* The record that was just seen got this mark. */
void
observe_marked(struct core *core, struct namespace *ns, struct key key,
    const struct lock_record *record, struct ident mark)
{
	struct observation *o = observe_find_record(ns, key);

	if (o == NULL || o->state != OBSERVATION_ALIVE ||
	    !observe_shows(record, mark))
		return;
	o->mark = mark;
	o->since_ms = core->now_ms;
	observe_schedule(core, o);
}

/* What a takeover must find in the record; none: it needs no mark. */
struct ident
observe_mark(const struct namespace *ns, struct key key)
{
	const struct observation *o = observe_find_record(ns, key);

	return o != NULL ? o->mark : (struct ident){ 0 };
}
