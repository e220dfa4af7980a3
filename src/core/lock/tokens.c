/*
 * The tokens of a grant: how many are asked for, which is next, and what the
 * record says of them. In the native format a grant has a block, so that a
 * hand-over needs no write; in the others each acquisition has the next one, if
 * there are tokens at all.
 *
 * Tokens that go back: the table was restored from a backup, or a record was
 * changed by hand, and what was given already would be given again.
 *
 *  1. The highest token that was seen of each lock is known while the lock is
 *     in memory, and of TOKENS_REMEMBERED that are not. Looks and writes of a
 *     lock follow each other, and no daemon lowers a token: so a lower one that
 *     is seen later was written by something else.
 *  2. No grant gets a token that is not above the known one. Its record is
 *     raised first, by an extension; what cannot be extended is refused.
 *  3. What other hosts gave is not known here, but it was below the endpoint's
 *     next second << 20: new records begin at their second, and gain less than
 *     that in each, with at most 1,000 writes. So once a token has gone back,
 *     no new grant of that namespace gets one that is below the time of the
 *     next acquire. In formats without sessions tokens begin with 1, and say
 *     nothing of time.
 *  4. A hold that goes on keeps its token, and its record is raised to that
 *     again.
 *
 * A daemon that has just begun knows nothing, nor does one that never saw the
 * lock: for these "ddblock raise-tokens" raises the records.
 */
#include "core/lock/room.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_FLOOR_S_MAX (UINT64_C(1) << 32)

/* How many tokens are asked for with it, and each time that they run out. */
uint16_t
grant_tokens(const struct grant *g)
{
	const struct namespace *ns = g->lock->ns;

	/* Over a bridge a block would only be ahead of the other record. */
	if (g->mode == LOCK_MODE_SHARED || !ns->has_sessions ||
	    ns->levels_tokens)
		return 1;
	return (uint16_t)(ns->settings.no_foreign_waiters ? TOKENS_MAX :
	    ns->settings.handover_max);
}

/* And the next time: twice as many as before, while this host alone uses them
 * up within a poll. */
static uint16_t
grant_more_tokens(const struct core *core, const struct grant *g)
{
	uint16_t n = grant_tokens(g);

	if (n == 1 || !lock_is_alone(core, g->lock) || g->n_tokens < n)
		return n;
	return g->n_tokens > TOKENS_MAX / 2 ?
	    TOKENS_MAX : (uint16_t)(2 * g->n_tokens);
}

/* Is there one for the next holder? Formats without tokens need none. */
bool
grant_has_token(const struct grant *g)
{
	return !g->lock->ns->has_tokens ||
	    g->token_next <= g->token_last;
}

/* The next of the block; sharers have the grant's own. 0: the format has none.
 * */
uint64_t
grant_next_token(struct grant *g)
{
	if (!g->lock->ns->has_tokens)
		return 0;
	return g->mode == LOCK_MODE_EXCLUSIVE ? g->token_next++ :
	    g->token_last;
}


/* What is between the one that it had and this one is told to nobody. */
void
grant_skip_tokens(struct use *u, uint64_t told)
{
	u->token = told & TOKEN_MAX;
	u->grant->token_next = told + 1;
	grant_touch(u->grant);
}

/* Is it used by one of several, which is told when all of them are held? */
static const struct use *
grant_use_of_multi(const struct grant *g)
{
	return g->uses != NULL && g->uses->is_multi ? g->uses : NULL;
}

/* How many more must its record have before its use is told? */
uint64_t
grant_lacks_tokens(const struct core *core, const struct grant *g)
{
	const struct use *u = grant_use_of_multi(g);

	return u == NULL ? 0 : core->lock_events->tokens_lacking(u);
}

/* What became of asking for more is known, as far as the record goes. */
void
grant_asked_tokens(struct core *core, const struct grant *g,
    const struct outcome *o)
{
	const struct use *u = g == NULL ? NULL : grant_use_of_multi(g);

	if (u != NULL)
		core->lock_events->tokens_known(core, u, o);
}

/*
 * There are more tokens: which may be given? A whole number of seconds was
 * written by a RAISE, for no one: what is below may have been given before.
 */
static void
tokens_admit(struct grant *g)
{
	uint64_t last = g->token_last;
	uint64_t floor = g->extras == NULL ? 0 : g->extras->token_floor;

	if (g->lock->ns->has_sessions && last % TOKENS_RAISED == 0)
		g->token_next = last;
	if (floor == 0)
		return;
	if (last <= floor) {
		g->token_next = last + 1;
		return;
	}
	g->extras->token_floor = 0;
	if (g->token_next <= floor)
		g->token_next = floor + 1;
}

/* The record has more, and no other host may give them. */
static void
grant_raise_tokens(struct core *core, struct grant *g, uint64_t last)
{
	if (last <= g->token_last)
		return;
	g->token_last = last;
	tokens_admit(g);
	grant_touch(g);
	grant_asked_tokens(core, g, NULL);
}

/* The token in full; NULL: it is the number. */
const char *
grant_token_text(const struct grant *g)
{
	return g == NULL || g->extras == NULL ? NULL : g->extras->token_text;
}

/* The token in full, if it is beyond TOKEN_MAX. False: no memory. */
bool
grant_set_token_text(struct grant *g, const char *text)
{
	if (g->extras != NULL) {
		free(g->extras->token_text);
		g->extras->token_text = NULL;
	}
	if (text == NULL)
		return true;
	if (grant_extras(g) == NULL)
		return false;
	g->extras->token_text = strdup(text);
	return g->extras->token_text != NULL;
}

/* Its record has so many as it asked for, and shows the last of them. False: it
 * has not, or there is no memory. */
bool
grant_take_tokens(struct grant *g, const struct lock_record *record)
{
	uint16_t n = g->n_tokens;	/* it may be another number now */

	if ((g->lock->ns->has_tokens &&
	    (record->token < n || record->token > TOKEN_MAX)) ||
	    !grant_set_token_text(g, record->token_text))
		return false;
	g->token_last = record->token;
	g->token_next = record->token - n + 1;
	tokens_admit(g);
	grant_touch(g);
	return true;
}

/* The record shows our grant: if it is alone, the token there is ours. */
void
grant_adopt(struct core *core, struct grant *g,
    const struct lock_record *record)
{
	struct lock *l = g->lock;

	if (g->mode == LOCK_MODE_EXCLUSIVE && record->n_holders == 1)
		grant_raise_tokens(core, g, record->token);
	/* A sharer has tokens of its own only if it is raised, and alone. */
	if (!grant_has_token(g) && record->n_holders == 1)
		grant_raise_tokens(core, g, record->token);
	if (!l->foreign_mark_seen) {
		l->run = 0;
		l->run_started_ms = (uint32_t)core->now_ms;
	}
}

/* ---- tokens that go back ---------------------------------------------- */

/* The highest token that may have been given. */
static uint64_t
tokens_floor(const struct grant *g, const struct lock_record *record)
{
	struct namespace *ns = g->lock->ns;
	uint64_t now_s = record->acquired_at_s;
	uint64_t floor = g->lock->token_known;

	if (ns->token_floor_due && now_s > 0 && now_s < TOKEN_FLOOR_S_MAX) {
		ns->token_floor_due = false;
		if (ns->token_floor < (now_s + 1) << 20)
			ns->token_floor = (now_s + 1) << 20;
	}
	/* What cannot be raised is refused only for what is known of it. */
	if (ns->token_floor > floor && !g->fail_closed &&
	    (g->mode == LOCK_MODE_EXCLUSIVE || record->n_holders == 1))
		floor = ns->token_floor;
	return floor <= TOKEN_FLOOR_MAX ? floor : 0;
}

/* As grant_take_tokens(), of a new grant: those that may have been given before
 * are given to nobody. */
bool
grant_take_new_tokens(struct grant *g, const struct lock_record *record)
{
	struct lock *l = g->lock;
	uint64_t before, floor;

	if (!grant_take_tokens(g, record))
		return false;
	if (!l->ns->has_tokens || record->token_text != NULL)
		return true;
	before = record->token - g->n_tokens;
	if (before < l->token_known)
		record_went_back(l, before);
	floor = tokens_floor(g, record);
	if (before >= floor)
		return true;
	if (grant_extras(g) == NULL)
		return false;
	g->extras->token_floor = floor;
	g->token_next = g->token_last + 1;
	return true;
}

/* By how many its record is to rise above @ret_seen, which it has. */
uint64_t
grant_extension(const struct core *core, struct grant *g, uint64_t *ret_seen)
{
	uint64_t lacks = grant_lacks_tokens(core, g);
	uint64_t last = g->token_last;

	if (lacks == 0)
		g->n_tokens = grant_more_tokens(core, g);
	*ret_seen = tokens_are_behind(g) ? g->lock->token_seen : last;
	if (g->extras != NULL && g->extras->token_floor > last)
		last = g->extras->token_floor;
	return last - *ret_seen + (lacks > 0 ? lacks : g->n_tokens);
}
