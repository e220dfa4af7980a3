/*
 * Sessions across the death of the process: each beat is known before it is
 * sent, so that the next process can tell whether the item shows one that was
 * not ours. Then this machine runs twice, or the journal is an old one.
 */
#include "core/lease/room.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define SESSION_BEAT_MAX TOKEN_MAX	/* no boot lasts so long */

/* What it knows of a session. */
struct saved_session {
	struct ident id;
	uint64_t sent_ms;
	struct session_beats beats;
	uint32_t namespace_index;
	uint8_t valid;
	uint8_t retiring;
	uint8_t was_danger;
	uint8_t spare;
};

/* The first that arrives is the only one that lands, because the others have
 * the same bound: so the first ones are kept, and the last ones. */
static void
session_note_own(struct session_beats *beats, uint64_t beat)
{
	const size_t kept = SESSION_BEATS_MAX / 2;
	uint64_t *own = beats->own;
	size_t i = 0;

	while (i < SESSION_BEATS_MAX && own[i] != 0)
		i++;
	if (i == SESSION_BEATS_MAX) {
		i--;
		memmove(own + kept, own + kept + 1,
		    (i - kept) * sizeof(own[0]));
	}
	own[i] = beat;
}

void
session_sending(struct core *core, const struct operation *o, uint64_t beat)
{
	struct lease *s =
	    session_find(&core->namespaces[o->namespace_index], o->session);
	struct session_beats *beats;

	if (s == NULL)
		return;
	beats = &session_of(s)->beats;
	if (s->unproven)
		session_note_own(beats, beat);
	else if (beat > beats->most)
		beats->most = beat;
	saved_touch(core, &s->saved, SAVED_SESSION);
}

/* It has not landed, and will not: there is room for another. */
void
session_refused(struct core *core, const struct operation *o, uint64_t beat)
{
	struct lease *s =
	    session_find(&core->namespaces[o->namespace_index], o->session);
	uint64_t *own;
	size_t left = 0;

	if (s == NULL || !s->unproven || beat == 0)
		return;
	own = session_of(s)->beats.own;
	for (size_t i = 0; i < SESSION_BEATS_MAX; i++) {
		if (own[i] != 0 && own[i] != beat)
			own[left++] = own[i];
	}
	while (left < SESSION_BEATS_MAX)
		own[left++] = 0;
	saved_touch(core, &s->saved, SAVED_SESSION);
}

bool
session_save(struct journal *journal, struct saved *saved)
{
	struct lease *s = CONTAINER_OF(saved, struct lease, saved);
	const struct saved_session entry = {
		.id = s->id,
		.sent_ms = s->sent_ms,
		.beats = session_of(s)->beats,
		.namespace_index = s->ns->index,
		.valid = s->state == LEASE_VALID,
		.retiring = s->retiring,
		.was_danger = s->was_danger,
	};

	return journal_put(journal, &saved->place, SAVED_SESSION, &entry,
	    sizeof(entry), NULL, 0);
}

void
session_save_all(struct core *core, struct namespace *ns)
{
	struct lease *s;

	DL_FOREACH(ns->sessions, s)
	{
		saved_renew(core, &s->saved);
		if (s->state != LEASE_OPENING)
			saved_touch(core, &s->saved, SAVED_SESSION);
	}
}

/* It is beaten at once. Until that is answered it is as it was. */
static int
session_take_over(struct core *core, struct namespace *ns,
    const struct saved_session *entry)
{
	struct lease *s = session_new(core, ns);

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->id = entry->id;
	session_of(s)->beats = entry->beats;
	s->beat = entry->beats.most;
	for (size_t i = 0; i < SESSION_BEATS_MAX; i++) {
		if (entry->beats.own[i] > s->beat)
			s->beat = entry->beats.own[i];
	}
	s->beat_at_ms = core->now_ms;
	s->retiring = entry->retiring;
	s->was_danger = entry->was_danger;
	s->unproven = true;
	lease_enter(s, entry->valid ? LEASE_VALID : LEASE_LOST,
	    entry->sent_ms);
	/* Its holders may be told only now that it was lost. */
	s->close_at_ms = core->now_ms + ns->settings.margin_ms;
	if (entry->valid && !s->retiring && ns->session == NULL)
		ns->session = s;
	heap_set(&core->heap, &s->timer, core->now_ms);
	return 0;
}

/* Each once; and one at most that gives grants. */
static bool
session_is_sound(const struct core *core, const struct namespace *ns,
    const struct saved_session *entry)
{
	for (size_t i = 0; i < SESSION_BEATS_MAX; i++) {
		if (entry->beats.own[i] > SESSION_BEAT_MAX)
			return false;
	}
	return entry->beats.most <= SESSION_BEAT_MAX &&
	    entry->sent_ms <= core->now_ms && !ident_is_none(entry->id) &&
	    session_find(ns, entry->id) == NULL &&
	    (!entry->valid || entry->retiring || ns->session == NULL);
}

int
session_inherit(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry)
{
	struct saved_session saved;
	struct namespace *ns;

	if (entry->length != sizeof(saved))
		return DDBLOCK_E_BAD_RECORD;
	memcpy(&saved, entry->data, sizeof(saved));
	if (saved.namespace_index >= CORE_NAMESPACES_MAX)
		return DDBLOCK_E_BAD_RECORD;
	ns = namespace_inherited(core, legacy, saved.namespace_index);
	if (ns == NULL || !ns->has_sessions)
		return 0;
	return !session_is_sound(core, ns, &saved) ? DDBLOCK_E_BAD_RECORD :
	    session_take_over(core, ns, &saved);
}

/* ---- the proof ---------------------------------------------------------- */

bool
session_awaits_proof(const struct namespace *ns)
{
	const struct lease *s;

	DL_SEARCH_SCALAR(ns->sessions, s, unproven, true);
	return s != NULL;
}

/* An item that shows this beat is above what was expected, but not another's:
 * then the next beat may follow it. */
bool
session_beat_is_own(struct session *s, uint64_t beat)
{
	bool own = beat <= s->beats.most;

	for (size_t i = 0; i < SESSION_BEATS_MAX; i++)
		own = own || s->beats.own[i] == beat;
	if (own && beat > s->beats.most)
		s->beats.most = beat;
	return own;
}

/* It was over before any beat of it was answered. Its end shows whether another
 * process had it; an item that is gone shows nothing, and no other has it now.
 */
void
session_prove_closed(struct core *core, struct lease *s,
    const struct outcome *o)
{
	bool own = o->kind == OUTCOME_DONE || !o->session.exists ||
	    session_beat_is_own(session_of(s), o->session.beat);

	s->unproven = false;
	if (own)
		core->lease_events->proven(core, s);
	else
		core->lease_events->stale(core, s->ns, s->id);
}
