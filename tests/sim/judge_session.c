/*
 * Items of sessions: how they come, beat and die.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_SESSION_TTL_S (2 * 86400)
#define JUDGE_SESSION_TTL_SLACK_S 60

struct judge_session *
judge_session_get(struct judge *j, const char *name)
{
	struct judge_session *s;

	HASH_FIND_STR(j->sessions, name, s);
	if (s != NULL)
		return s;
	s = judge_alloc(sizeof(*s));
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	s->host = JUDGE_NOBODY;
	s->opened_ms = JUDGE_NEVER;
	s->absent_ms = JUDGE_NEVER;
	s->ended_ms = JUDGE_NEVER;
	s->lease_ms = j->rules.lease_ms;
	HASH_ADD_STR(j->sessions, name, s);
	return s;
}

bool
judge_session_is_own(const struct judge_session *s, unsigned host,
    uint64_t sent_ms)
{
	return s->host == host && sent_ms <= s->ended_ms;
}

/* Was its last renewal sent before its host's boot clock went on again? */
bool
judge_session_is_frozen(const struct judge *j, const struct judge_session *s)
{
	return judge_is_known_host(s->host) &&
	    s->sent_ms < j->hosts[s->host].frozen_until;
}

/* A lock names it: a reader may find it absent from now on. */
void
judge_session_shown(struct judge *j, struct judge_session *s)
{
	if (!s->exists && s->absent_ms == JUDGE_NEVER)
		s->absent_ms = j->now_ms;
}

static const char *
judge_session_name(const struct judge_session *s, char text[16])
{
	(void)snprintf(text, 16, "%c's %.6s", judge_host_name(s->host),
	    s->name);
	return text;
}

/* How long an observer must have watched, by its own clock. */
static uint64_t
judge_session_watch_ms(const struct judge *j, const struct judge_session *s,
    unsigned host)
{
	return judge_least_ms(j, host, judge_stretch_ms(j, s->lease_ms));
}

/* ---- how it comes ----------------------------------------------------- */

/* Its host and that host's life, from its first item on. */
static void
judge_session_settle(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	struct judge_host *h = &j->hosts[f->host];

	s->host = f->host;
	DL_APPEND(h->sessions, s);
	if (!h->running)
		s->ended_ms = h->died_ms;
	else if (f->sent_ms < h->started_ms)
		s->ended_ms = h->died_ms;
}

/* R12: it is not for TTL to end it. A renewal is written when it begins, and
 * may be sent until the lease ends. */
static void
judge_session_check_ttl(struct judge *j, const struct judge_session *s,
    const struct fact *f)
{
	int64_t least_s = JUDGE_SESSION_TTL_S - JUDGE_SESSION_TTL_SLACK_S -
	    (int64_t)(j->rules.lease_ms / 1000);
	char text[16];

	if (j->rules.retention_s > 0 && f->item.ttl_ahead_s < least_s &&
	    j->hosts[f->host].frozen_until == 0)
		judge_find(j, "R12", "%s has a ttl of %" PRId64 " s only",
		    judge_session_name(s, text), f->item.ttl_ahead_s);
}

static void
judge_session_landed(struct judge_session *s, uint64_t sent_ms)
{
	if (sent_ms <= s->sent_ms)
		return;
	s->before_ms = s->sent_ms;
	s->sent_ms = sent_ms;
}

static void
judge_session_opened(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	char text[16];

	if (s->host == JUDGE_NOBODY)
		judge_session_settle(j, s, f);
	if (s->host != f->host)
		judge_find(j, "R11", "%c writes %s, which is not its session",
		    judge_host_name(f->host), judge_session_name(s, text));
	else if (f->item.beat != 0 || f->item.lease_ms != j->rules.lease_ms)
		judge_find(j, "R12", "%s comes to be with beat %" PRIu64
		    " and a lease of %" PRIu64 " ms",
		    judge_session_name(s, text), f->item.beat,
		    f->item.lease_ms);
	judge_session_check_ttl(j, s, f);
	if (s->opened_ms == JUDGE_NEVER)
		s->opened_ms = f->at_ms;
	/* It may have been there before, been deleted, and land again: a host
	 * that looked meanwhile does not know. */
	if (f->item.beat != s->beat || s->changed_ms == 0)
		s->changed_ms = f->at_ms;
	judge_session_landed(s, f->sent_ms);
	s->lease_ms = f->item.lease_ms;
}

static void
judge_session_buried(struct judge *j, const struct judge_session *s,
    const struct fact *f)
{
	char text[16];

	judge_session_check_ttl(j, s, f);
	if (s->absent_ms == JUDGE_NEVER)
		judge_find(j, "R14", "%c buries %s, which no lock shows",
		    judge_host_name(f->host), judge_session_name(s, text));
	else if (f->sent_ms <
	    s->absent_ms + judge_session_watch_ms(j, s, f->host))
		judge_find(j, "R14", "%c buries %s at %" PRIu64 ", which is "
		    "absent since %" PRIu64, judge_host_name(f->host),
		    judge_session_name(s, text), f->sent_ms, s->absent_ms);
}

/* ---- how it dies ------------------------------------------------------ */

static void
judge_session_closed(struct judge *j, const struct judge_session *s,
    const struct fact *f)
{
	const struct judge_grant *g;
	const struct judge_hold *h;
	char text[16];

	DL_FOREACH2(j->hosts[s->host].holds, h, host_next)
	{
		if (h->state != HOLD_VALID || h->grant == NULL ||
		    h->grant->session != s || h->until_ms <= j->now_ms ||
		    h->fail_closed || judge_hold_is_exempt(h))
			continue;
		judge_find(j, "R15", "%s is closed while c%" PRIu64 " has %s",
		    judge_session_name(s, text), h->client->id,
		    judge_lock_name(h->lock));
	}
	for (g = j->grants; g != NULL; g = g->hh.next) {
		if (g->session != s || !g->standing || !g->gap ||
		    g->lost_ms == 0 || f->sent_ms >= g->lost_ms +
		    judge_least_ms(j, s->host, j->rules.margin_ms))
			continue;
		judge_find(j, "R15", "%s is closed at %" PRIu64 ", but who had "
		    "%s was told at %" PRIu64, judge_session_name(s, text),
		    f->sent_ms, judge_lock_name(g->lock), g->lost_ms);
	}
}

/* The observer may have seen that beat before it was restored, and not that it
 * was another in between. Then it is by hand that this session dies. */
static void
judge_session_killed(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	uint64_t watch_ms = judge_session_watch_ms(j, s, f->host);
	char text[16];

	if (f->sent_ms < s->changed_ms + watch_ms)
		judge_find(j, "R13", "%c kills %s at %" PRIu64 ", whose beat "
		    "stands since %" PRIu64, judge_host_name(f->host),
		    judge_session_name(s, text), f->sent_ms, s->changed_ms);
	else if (s->back_ms > 0 && f->sent_ms < s->back_ms + watch_ms &&
	    !s->ever_dead)
		s->hand_dead = true;
}

static void
judge_session_died(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	if (judge_session_is_own(s, f->host, f->sent_ms))
		judge_session_closed(j, s, f);
	else
		judge_session_killed(j, s, f);
}

/* ---- how it changes --------------------------------------------------- */

static void
judge_session_beaten(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	char text[16];

	if (!judge_session_is_own(s, f->host, f->sent_ms))
		judge_find(j, "R11", "%c beats for %s",
		    judge_host_name(f->host), judge_session_name(s, text));
	else if (f->item.beat <= s->beat)
		judge_find(j, "R11", "%s beats %" PRIu64 " after %" PRIu64,
		    judge_session_name(s, text), f->item.beat, s->beat);
	else if (f->item.lease_ms != s->lease_ms)
		judge_find(j, "R12", "%s has a lease of %" PRIu64 " ms, and "
		    "had %" PRIu64, judge_session_name(s, text),
		    f->item.lease_ms, s->lease_ms);
	judge_session_check_ttl(j, s, f);
	if (f->at_ms >= s->changed_ms + s->lease_ms)
		s->revived_ms = f->at_ms;
	s->changed_ms = f->at_ms;
	s->back_ms = 0;
	judge_session_landed(s, f->sent_ms);
}

static void
judge_session_wrote(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	const struct fact_session *now = &f->item;
	char text[16];

	if (!now->exists) {
		judge_find(j, "R10", "%c deletes %s",
		    judge_host_name(f->host), judge_session_name(s, text));
	} else if (!s->exists) {
		if (now->dead)
			judge_session_buried(j, s, f);
		else
			judge_session_opened(j, s, f);
	} else if (s->dead) {
		/* A buried session has no beat. */
		if (!now->dead || (now->beat != 0 && now->beat != s->beat))
			judge_find(j, "R10", "%s is dead, and then %s",
			    judge_session_name(s, text),
			    now->dead ? "beats" : "is not");
	} else if (now->dead) {
		judge_session_died(j, s, f);
	} else {
		judge_session_beaten(j, s, f);
	}
}

/* When did this beat come first? NEVER: it was not there. */
static uint64_t
judge_session_beat_ms(const struct judge_session *s, uint64_t beat)
{
	for (size_t i = 0; i < s->n_beats; i++)
		if (s->beats[i].beat == beat)
			return s->beats[i].at_ms;
	return JUDGE_NEVER;
}

static void
judge_session_add_beat(struct judge_session *s, uint64_t beat, uint64_t at_ms)
{
	if (s->n_beats == s->beats_size) {
		s->beats_size = 2 * s->beats_size + 16;
		s->beats = reallocarray(s->beats, s->beats_size,
		    sizeof(*s->beats));
		if (s->beats == NULL)
			abort();
	}
	s->beats[s->n_beats++] = (struct judge_beat){ beat, at_ms };
}

/* By hand, to what it was before, or to anything. */
static void
judge_session_back(struct judge *j, struct judge_session *s, uint64_t beat)
{
	uint64_t first_ms = judge_session_beat_ms(s, beat);

	s->back_ms = j->now_ms;
	s->changed_ms = first_ms != JUDGE_NEVER ? first_ms : j->now_ms;
}

static void
judge_session_broken(struct judge *j, struct judge_session *s,
    const struct fact *f)
{
	if (f->item.exists && f->item.dead && !s->ever_dead)
		s->hand_dead = true;
	if (f->item.exists && f->item.beat != s->beat)
		judge_session_back(j, s, f->item.beat);
	if (f->item.exists && !s->exists && s->opened_ms == JUDGE_NEVER)
		s->opened_ms = j->now_ms;
}

static void
judge_session_settle_items(struct judge *j, struct judge_session *s,
    const struct fact_session *now)
{
	bool was = s->exists;

	if (now->exists && (s->n_beats == 0 || now->beat != s->beat) &&
	    judge_session_beat_ms(s, now->beat) == JUDGE_NEVER)
		judge_session_add_beat(s, now->beat, j->now_ms);
	s->exists = now->exists;
	s->dead = now->exists && now->dead;
	if (s->dead && !s->ever_dead)
		s->dead_ms = j->now_ms;
	if (s->dead)
		s->ever_dead = true;
	if (now->exists && !(s->dead && !was))
		s->beat = now->beat;
	if (!was || now->exists)
		return;
	s->ever_absent = true;
	/* A host that watches it since its first absence, and did not see that
	 * it came back, still watches it. */
	if (s->absent_ms == JUDGE_NEVER)
		s->absent_ms = j->now_ms;
}

void
judge_session_fact(struct judge *j, const struct fact *f)
{
	struct judge_session *s = judge_session_get(j, f->session);
	const struct judge_grant *g;
	struct judge_lock *l;

	if (f->host == FACT_BY_HAND || f->expired)
		judge_session_broken(j, s, f);
	else
		judge_session_wrote(j, s, f);
	judge_session_settle_items(j, s, &f->item);
	if (j->quiet_ms == JUDGE_NEVER)
		return;
	for (l = j->locks; l != NULL; l = l->hh.next) {
		DL_SEARCH_SCALAR2(l->standing, g, session, s, standing_next);
		/* Its waiter marks end with it. */
		if (g != NULL || s->dead)
			judge_quiet_review(j, l);
		if (s->dead)
			judge_watch_review(j, l);
	}
}

void
judge_session_free_all(struct judge *j)
{
	struct judge_session *s, *next;

	HASH_ITER(hh, j->sessions, s, next)
	{
		HASH_DEL(j->sessions, s);
		free(s->beats);
		free(s);
	}
}
