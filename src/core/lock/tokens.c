/*
 * The tokens of a grant: how many are asked for, which is next, and what the
 * record says of them. In the native format a grant has a block, so that a
 * hand-over needs no write; in the others each acquisition has the next one, if
 * there are tokens at all.
 */
#include "core/lock/room.h"

#include <stdlib.h>
#include <string.h>

/* How many tokens are asked for with it, and each time that they run out. */
uint16_t
grant_tokens(const struct grant *g)
{
	const struct namespace *ns = g->lock->ns;

	/* Over a bridge a block would only be ahead of the other record. */
	if (g->mode == LOCK_MODE_SHARED || !namespace_has_sessions(ns) ||
	    namespace_levels_tokens(ns))
		return 1;
	return (uint16_t)(ns->settings.no_foreign_waiters ? TOKENS_MAX :
	    ns->settings.handover_max);
}

/* Is there one for the next holder? Formats without tokens need none. */
bool
grant_has_token(const struct grant *g)
{
	return g->mode == LOCK_MODE_SHARED ||
	    !namespace_has_tokens(g->lock->ns) ||
	    g->token_next <= g->token_last;
}

/* The next of the block; those who share it have the grant's own. 0: the format
 * has none. */
uint64_t
grant_next_token(struct grant *g)
{
	if (!namespace_has_tokens(g->lock->ns))
		return 0;
	return g->mode == LOCK_MODE_EXCLUSIVE ? g->token_next++ :
	    g->token_last;
}

/* It has so many as it asked for, and this is the last of them. */
void
grant_set_tokens(struct grant *g, uint64_t last)
{
	g->token_last = last;
	g->token_next = last - grant_tokens(g) + 1;
}

/* It has told more than it gave, and what is between them to nobody else. */
void
grant_skip_tokens(struct grant *g, uint64_t told)
{
	g->token_next = told + 1;
}

/* Is it used by one of several, which is told when all of them are had? */
static const struct use *
grant_use_of_several(const struct grant *g)
{
	return g->uses != NULL && g->uses->several ? g->uses : NULL;
}

/* How many more must its record have before its use is told? */
uint64_t
grant_lacks_tokens(const struct core *core, const struct grant *g)
{
	const struct use *u = grant_use_of_several(g);

	return u == NULL ? 0 : core->lock_events->tokens_lacking(u);
}

/* What became of asking for more is known, as far as the record goes. */
void
grant_asked_tokens(struct core *core, const struct grant *g,
    const struct outcome *o)
{
	const struct use *u = g == NULL ? NULL : grant_use_of_several(g);

	if (u != NULL)
		core->lock_events->tokens_known(core, u, o);
}

/* The record has more, and nobody else may give them. */
static void
grant_raise_tokens(struct core *core, struct grant *g, uint64_t last)
{
	if (last <= g->token_last)
		return;
	g->token_last = last;
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

/* The record shows our grant: if it is alone, the token there is ours. */
void
grant_adopt(struct core *core, struct grant *g,
    const struct lock_record *record)
{
	struct lock *l = g->lock;

	if (g->mode == LOCK_MODE_EXCLUSIVE && record->n_holders == 1)
		grant_raise_tokens(core, g, record->token);
	if (!l->wish_seen) {
		l->run = 0;
		l->run_started_ms = core->now_ms;
	}
}
