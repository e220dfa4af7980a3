/*
 * Tokens over a bridge: a lock in two records, each with tokens of its own.
 *
 *  1. What is told is the greater of the two, and the other record is raised to
 *     it before. So whoever comes next, by either record alone, gets a greater
 *     one, whatever becomes of this host.
 *  2. What is between a hold's own token and its record's was told to nobody
 *     and is the grant's: within that nothing need be asked for.
 *  3. A token of the old record that no number has room for is greater than
 *     every native one. It is told as it is, and the native one is left alone.
 *
 * The hold is kept for its request meanwhile (joint.c), and is lost, given back
 * or waited for as ever.
 */
#include "core/internal.h"

/* Has the older format of @ns's bridge tokens? Then two are compared. */
bool
level_has_tokens(const struct namespace *ns)
{
	const struct namespace *old = joint_bridge(ns);

	return old != NULL && (old->settings.lacks & CORE_LACKS_TOKENS) == 0;
}

/* The hold of the same lock by the other record. */
static const struct hold *
level_twin(const struct joint *j, const struct hold *h)
{
	uint32_t i = 0;

	while (j->parts[i].hold != h)
		i++;
	return j->parts[(i + j->n / 2) % j->n].hold;
}

/* The token that was told, in full; NULL: it is the number. */
const char *
level_token_text(const struct hold *h)
{
	const struct hold *twin;

	if (hold_joint(h) == NULL || !level_has_tokens(h->lock->ns))
		return grant_token_text(h->grant);
	twin = level_twin(hold_joint(h), h);
	return twin->grant == NULL ? NULL : grant_token_text(twin->grant);
}

/* Has its token to be higher? */
static bool
level_is_below(const struct hold *h, const struct hold *twin)
{
	return grant_token_text(h->grant) == NULL &&
	    grant_token_text(twin->grant) == NULL && h->token < twin->token;
}

/* The request that waits for nothing but tokens, for this hold among others; or
 * NULL. */
static struct joint *
level_joint(const struct hold *h)
{
	struct joint *j = h == NULL ? NULL : hold_joint(h);

	if (j == NULL || j->held || j->request == NULL ||
	    joint_first(j) < j->n || !level_has_tokens(j->request->ns))
		return NULL;
	return j;
}

/* How many more the record is to get before the hold of @g is told. */
uint64_t
level_lacks(const struct grant *g)
{
	const struct joint *j = level_joint(g->holds);
	const struct hold *twin;

	if (j == NULL)
		return 0;
	twin = level_twin(j, g->holds);
	if (!level_is_below(g->holds, twin) || twin->token <= g->token_last)
		return 0;
	return twin->token - g->token_last;
}

/*
 * All of @j are had: give each what its record has for it already. The first
 * whose record is to be raised; NULL: all may be told.
 */
struct lock *
level_first(const struct joint *j)
{
	struct lock *first = NULL;

	if (!level_has_tokens(j->request->ns))
		return NULL;
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		const struct hold *twin = level_twin(j, h);

		if (!level_is_below(h, twin))
			continue;
		if (twin->token <= h->grant->token_last) {
			h->token = twin->token;
			h->grant->token_next = h->token + 1;
		} else if (first == NULL) {
			first = j->parts[i].lock;
		}
	}
	return first;
}

/* More is known of the tokens of @g. */
void
level_due(struct core *core, const struct grant *g)
{
	struct joint *j = level_joint(g->holds);

	if (j != NULL)
		joint_due(core, j);
}

/* What became of the raise, as far as the record is concerned, is known. */
void
level_stored(struct core *core, struct lock *l, const struct grant *g,
    const struct outcome *o)
{
	struct joint *j = g == NULL ? NULL : level_joint(g->holds);

	if (j == NULL)
		return;
	if (o->kind == OUTCOME_REFUSED && namespace_code_is_definite(o->code))
		request_reply(core, j->request, o->code, 0, o->text);
	else if (o->kind == OUTCOME_CONFLICT && level_lacks(g) > 0)
		lock_hold_off(core, l, lock_poll_ms(l));
	joint_due(core, j);
}
