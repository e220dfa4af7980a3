/*
 * The tokens that clients are told: they rise.
 */
#include "judge_state.h"

#include <inttypes.h>

/* So near to the last that there can be that none may follow. */
#define JUDGE_TOKEN_SPENT ((UINT64_C(1) << 53) - 4096)

/* When the process began that is there now. */
static uint64_t
judge_token_life_ms(const struct judge_host *h)
{
	return h->inherited && h->inherited_ms > h->started_ms ?
	    h->inherited_ms : h->started_ms;
}

/* R22: a daemon knows what it told itself, whatever becomes of the record. But
 * what was set by hand so high that nothing can follow it may be repaired. */
static void
judge_token_of_host(struct judge *j, const struct judge_hold *h)
{
	unsigned host = h->client->host;
	struct judge_told *told = &h->lock->told[host];
	uint64_t before;

	/* The journal keeps no tokens but those of what is held. */
	if (told->since_ms != judge_token_life_ms(&j->hosts[host]))
		*told = (struct judge_told){
			.since_ms = judge_token_life_ms(&j->hosts[host]),
		};
	before = h->shared ? told->exclusive : told->token;
	if (h->token <= before && before < JUDGE_TOKEN_SPENT &&
	    !judge_hold_is_exempt(h))
		judge_find(j, "R22", "%s: %c tells token %" PRIu64 " after %"
		    PRIu64, judge_lock_name(h->lock), judge_host_name(host),
		    h->token, before);
	if (h->token > told->token)
		told->token = h->token;
	if (!h->shared && h->token > told->exclusive)
		told->exclusive = h->token;
}

void
judge_token_told(struct judge *j, const struct judge_hold *h)
{
	struct judge_lock *l = h->lock;
	/* Sharers are beside each other. */
	uint64_t before = h->shared ? l->token_exclusive : l->token_told;

	/* An element removed by hand is handed on until that is noticed; its
	 * tokens are those before the removal. */
	if (h->grant != NULL && h->grant->hand_gone)
		return;
	if (judge_is_foreign(j, l) && (h->exempt ||
	    !j->rules.foreign[l->namespace_index].tokens))
		return;
	if (h->token <= before && !judge_hold_is_exempt(h))
		judge_find(j, "2", "%s: token %" PRIu64 " is told after %"
		    PRIu64, judge_lock_name(l), h->token, before);
	judge_token_of_host(j, h);
	if (h->token > l->token_told)
		l->token_told = h->token;
	if (!h->shared && h->token > l->token_exclusive)
		l->token_exclusive = h->token;
}
