/*
 * The tokens that clients are told: they rise. And those that are raised for
 * nobody, by an administrator.
 */
#include "judge_state.h"

#include <inttypes.h>

#include "core/operation.h"

/* So near to the last that there can be that none may follow. */
#define JUDGE_TOKEN_SPENT ((UINT64_C(1) << 53) - 4096)
#define JUDGE_RAISE_AHEAD_MS 2000

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

/* Did any host tell as high a token so long ago? What came over a bridge, or
 * was set by hand, may be ahead of the time; and after a RAISE they are, by a
 * second. */
static uint64_t
judge_token_told_before(const struct judge *j, const struct judge_lock *l,
    uint64_t token, uint64_t at_ms)
{
	for (size_t i = 0; i < l->n_turns && !l->spent && !l->raised &&
	    !j->rules.bridge; i++) {
		const struct judge_turn *t = &l->turns[i];

		if (t->granted_ms + JUDGE_RAISE_AHEAD_MS <= at_ms &&
		    t->token >= token && t->token < JUDGE_TOKEN_SPENT)
			return t->token;
	}
	return 0;
}

/* R22: when its daemon has noticed that the record of one lock went back, it
 * takes the others to be as old, also those of which it knows nothing. */
static void
judge_token_after_notice(struct judge *j, const struct judge_hold *h)
{
	struct judge_host *host = &j->hosts[h->client->host];
	uint64_t *noticed_ms = &host->noticed_ms[h->lock->namespace_index];
	const struct judge_grant *g = h->grant;
	const struct judge_told *told = &h->lock->told[h->client->host];
	uint64_t before;

	if (g == NULL || g->n_told != 1 || h->fail_closed)
		return;
	if (*noticed_ms >= judge_token_life_ms(host) && *noticed_ms > 0 &&
	    g->first_sent_ms > *noticed_ms &&
	    (!h->shared || h->lock->n_standing == 1)) {
		before = judge_token_told_before(j, h->lock, h->token,
		    *noticed_ms);
		if (before > 0 && !judge_hold_is_exempt(h))
			judge_find(j, "R22", "%s: %c tells token %" PRIu64
			    ", and %" PRIu64 " was told before tokens went "
			    "back", judge_lock_name(h->lock),
			    judge_host_name(h->client->host), h->token,
			    before);
	}
	if (told->since_ms == judge_token_life_ms(host) &&
	    g->token_before > 0 && g->token_before < told->token &&
	    told->token < JUDGE_TOKEN_SPENT)
		*noticed_ms = j->now_ms;
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
	if (!judge_is_foreign(j, l))
		judge_token_after_notice(j, h);
	judge_token_of_host(j, h);
	if (h->token > l->token_told)
		l->token_told = h->token;
	if (!h->shared && h->token > l->token_exclusive)
		l->token_exclusive = h->token;
}

/* ---- RAISE ------------------------------------------------------------- */

struct judge_lock *
judge_raise_asked(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);

	if (l->raise_ms[f->host] == 0)
		l->raise_ms[f->host] = f->at_ms + 1;
	return l;
}

bool
judge_raise_is_meant(const struct judge_lock *l, const struct fact *f)
{
	return f->lock.token % TOKENS_RAISED == 0 && l->raise_ms[f->host] > 0 &&
	    f->sent_ms + 1 >= l->raise_ms[f->host];
}

/* R23: it is above all that was told when it was asked for, whatever the record
 * said. */
void
judge_raise_check(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	uint64_t took_ms = judge_most_ms(j, f->host, j->rules.request_ms);
	uint64_t before = f->sent_ms <= took_ms ? 0 :
	    judge_token_told_before(j, l, f->lock.token + 1,
	    f->sent_ms - took_ms);

	if (before > 0)
		judge_find(j, "R23", "%s: %c raises the token to %" PRIu64
		    ", and %" PRIu64 " was told", judge_lock_name(l),
		    judge_host_name(f->host), f->lock.token, before);
}

/* R23: and who asked is told what is there. */
void
judge_raise_answered(struct judge *j, const struct judge_request *r,
    const struct fact *f)
{
	const struct judge_lock *l = r->raised;

	if (l->known && l->exists && l->readable && l->token < f->token &&
	    l->hand_ms <= r->asked_ms)
		judge_find(j, "R23", "c%" PRIu64 " is told that %s was raised "
		    "to %" PRIu64 ", and it has %" PRIu64, r->client->id,
		    judge_lock_name(l), f->token, l->token);
}
