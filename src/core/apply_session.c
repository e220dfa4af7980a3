/*
 * Conditions and effects on the record of a session (doc/records.md, "A
 * session").
 */
#include <string.h>

#include "core/apply.h"
#include "ddblock.h"

/* Names are never used twice: one that exists is this one's own work, if there
 * was an attempt before. */
static int
apply_judge_open(const struct apply *a, const struct session_record *s)
{
	if (!s->exists)
		return APPLY_NEW;
	return a->repeated && !s->dead ? APPLY_SAME : APPLY_CONFLICT;
}

static int
apply_judge_beat(const struct apply *a, const struct operation *o,
    const struct session_record *s)
{
	if (!s->exists || s->dead)
		return APPLY_CONFLICT;
	if (s->beat < a->beat &&
	    (o->beat_below == 0 || s->beat < o->beat_below))
		return APPLY_NEW;
	return a->repeated && s->beat == a->beat ? APPLY_SAME : APPLY_CONFLICT;
}

static const char *
apply_killer(const struct operation *o)
{
	if (o->kind == OPERATION_SESSION_CLOSE)
		return "self";
	return o->owner != NULL ? o->owner : "";
}

static int
apply_judge_death(const struct apply *a, const struct operation *o,
    const struct session_record *s)
{
	bool may;

	if (o->kind == OPERATION_SESSION_KILL)
		may = s->exists && !s->dead && s->beat == o->beat;
	else
		may = !s->exists;	/* BURY */
	if (may)
		return APPLY_NEW;
	return a->repeated && s->dead &&
	    strcmp(s->dead_by, apply_killer(o)) == 0 ?
	    APPLY_SAME : APPLY_CONFLICT;
}

/* The first killer remains on record. */
static int
apply_judge_close(const struct operation *o, const struct session_record *s)
{
	if (!s->exists || (o->beat_below != 0 && s->beat >= o->beat_below))
		return APPLY_CONFLICT;
	return s->dead ? APPLY_SAME : APPLY_NEW;
}

int
apply_judge_session(const struct apply *a, const struct operation *o,
    const struct session_record *s)
{
	switch (o->kind) {
	case OPERATION_SESSION_OPEN:
		return apply_judge_open(a, s);
	case OPERATION_SESSION_BEAT:
		return apply_judge_beat(a, o, s);
	case OPERATION_SESSION_READ:
		return APPLY_SAME;
	case OPERATION_SESSION_KILL:
	case OPERATION_SESSION_BURY:
		return apply_judge_death(a, o, s);
	case OPERATION_SESSION_CLOSE:
		return apply_judge_close(o, s);
	default:
		return DDBLOCK_E_UNSUPPORTED;
	}
}

int
apply_session(const struct apply *a, const struct operation *o,
    const struct session_record *old, struct session_record *ret)
{
	struct session_record r = *old;
	int verdict = apply_judge_session(a, o, old);

	if (verdict < 0)
		return verdict;
	if (verdict == APPLY_NEW) {
		r.exists = true;
		if (o->kind == OPERATION_SESSION_OPEN) {
			r.lease_ms = o->lease_ms;
			r.host = a->host;
			r.contact = o->contact;
		} else if (o->kind == OPERATION_SESSION_BEAT) {
			r.beat = a->beat;
			if (o->contact != NULL)
				r.contact = o->contact;
		} else {
			r.dead = true;
			r.dead_by = apply_killer(o);
		}
	}
	*ret = r;
	return verdict;
}
