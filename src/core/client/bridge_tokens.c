/*
 * Tokens over a bridge: a lock in two records, each with tokens of its own.
 *
 *  1. What is told is the greater of the two, and the other record is raised to
 *     it before. So the next holder, by either record alone, gets a greater
 *     one, even if this host dies.
 *  2. Tokens between a hold's own and its record's were told to no client and
 *  belong to the grant: within that range no request is needed.
 *  3. A token of the old record that no number has room for is greater than
 *     every native one. It is told as it is, and the native one is left alone.
 *
 * The hold is kept for its request meanwhile (multi.c), and is lost, given back
 * or waited for as usual.
 */
#include "core/client/room.h"

/* The hold of the same lock by the other record. */
static const struct hold *
bridge_tokens_twin(const struct multi *j, const struct hold *h)
{
	uint32_t i = 0;

	while (j->parts[i].hold != h)
		i++;
	return j->parts[(i + j->n / 2) % j->n].hold;
}

/* The token that was told, in full; NULL: it is the number. */
const char *
bridge_token_text(const struct hold *h)
{
	const struct hold *twin;

	if (hold_multi(h) == NULL || !h->use.lock->ns->levels_tokens)
		return grant_token_text(h->use.grant);
	twin = bridge_tokens_twin(hold_multi(h), h);
	return twin->use.grant == NULL ? NULL :
	    grant_token_text(twin->use.grant);
}

/* Has its token to be higher? */
static bool
bridge_tokens_are_below(const struct hold *h, const struct hold *twin)
{
	return grant_token_text(h->use.grant) == NULL &&
	    grant_token_text(twin->use.grant) == NULL &&
	    h->use.token < twin->use.token;
}

/* The request that waits only for tokens, for this hold among others; or NULL.
 * */
static struct multi *
bridge_tokens_multi(const struct hold *h)
{
	struct multi *j = h == NULL ? NULL : hold_multi(h);

	if (j == NULL || j->held || j->request == NULL ||
	    multi_first(j) < j->n || !j->request->ns->levels_tokens)
		return NULL;
	return j;
}

/* How many more the record is to get before this use of it is told. */
uint64_t
bridge_tokens_lacking(const struct use *u)
{
	const struct hold *h = hold_of(u), *twin;
	const struct multi *j = bridge_tokens_multi(h);
	uint64_t last = u->grant->token_last;

	if (j == NULL)
		return 0;
	twin = bridge_tokens_twin(j, h);
	if (!bridge_tokens_are_below(h, twin) || twin->use.token <= last)
		return 0;
	return twin->use.token - last;
}

/*
 * All of @j are held: give each what its record has for it already. The first
 * whose record is to be raised; NULL: all may be told.
 */
struct lock *
bridge_tokens_first(const struct multi *j)
{
	struct lock *first = NULL;

	if (!j->request->ns->levels_tokens)
		return NULL;
	for (uint32_t i = 0; i < j->n; i++) {
		struct hold *h = j->parts[i].hold;
		const struct hold *twin = bridge_tokens_twin(j, h);

		if (!bridge_tokens_are_below(h, twin))
			continue;
		if (twin->use.token <= h->use.grant->token_last)
			grant_skip_tokens(&h->use, twin->use.token);
		else if (first == NULL)
			first = j->parts[i].lock;
	}
	return first;
}

/* More is known of its tokens; or what became of asking for more. */
void
bridge_tokens_known(struct core *core, const struct use *u,
    const struct outcome *o)
{
	struct multi *j = bridge_tokens_multi(hold_of(u));

	if (j == NULL)
		return;
	if (o != NULL && o->kind == OUTCOME_REFUSED &&
	    namespace_code_is_definite(o->code))
		request_reply(core, j->request, o->code, 0, o->text);
	else if (o != NULL && o->kind == OUTCOME_CONFLICT &&
	    bridge_tokens_lacking(u) > 0)
		lock_hold_off_poll(core, u->lock);
	multi_due(core, j);
}
