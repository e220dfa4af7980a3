/*
 * Records that older clients share with us: our writes to them, and whether one
 * of our clients and an older client ever hold the same lock.
 *
 * An older client may be wrong: after a lost answer, a sleep or a cut it
 * believes in a hold that its record does not show any more. So its belief
 * counts against us only while it is right: as long as the record is that
 * client's, and its lease runs by the format's own rule.
 */
#include "judge_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
judge_is_foreign(const struct judge *j, const struct judge_lock *l)
{
	return j->rules.foreign[l->namespace_index].is;
}

/* The time until which the record must not be taken; 0: at once. */
static uint64_t
judge_record_until_ms(const struct judge_record *r)
{
	if (!r->exists || r->free)
		return 0;
	if (r->until_ms != FACT_NEVER)
		return r->until_ms;
	return r->lease_ms == 0 ? JUDGE_NEVER : r->changed_ms + r->lease_ms;
}

static char
judge_record_writer_name(unsigned writer)
{
	return writer >= FACT_PEER_FIRST ?
	    (char)('P' + (writer - FACT_PEER_FIRST)) :
	    judge_host_name(writer);
}

bool
judge_record_is_of(const struct judge_record *r, const struct judge_hold *h)
{
	return r->exists && !r->free && r->writer == h->client->host &&
	    (h->name[0] == '\0' || strcmp(r->hold, h->name) == 0);
}

/* ---- the table --------------------------------------------- */

/*
 * Is it the writer's own, of this life or the last? At the moment at which the
 * next life begins either may have sent it; but only the last life releases its
 * own hold, or renews it.
 */
static bool
judge_record_is_own(const struct judge *j, const struct judge_record *r,
    const struct fact *f)
{
	uint64_t started_ms = j->hosts[f->host].started_ms;
	bool same = !f->record.exists || f->record.free ||
	    strcmp(f->record.hold, r->hold) == 0;

	return r->writer == f->host && (r->since_ms >= started_ms ||
	    f->sent_ms < started_ms || (f->sent_ms == started_ms && same));
}

/* P1, P4: one of our hosts takes another client's lock, or frees it. */
static void
judge_record_check_taken(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const struct judge_record *r = &l->record;
	uint64_t until_ms = judge_record_until_ms(r);

	if (judge_record_is_own(j, r, f) || judge_break_is_of_record(l, f))
		return;
	/* Its clock rounds. */
	if (f->sent_ms + 1 < until_ms)
		judge_find(j, "P1", "%c takes %s at %" PRIu64 ", which %c "
		    "has until %" PRIu64, judge_host_name(f->host),
		    judge_lock_name(l), f->sent_ms,
		    judge_record_writer_name(r->writer), until_ms);
	else
		judge_mark_check_taken(j, l, f);
}

/* 1, T4: the holds of this record that clients here still have. */
static void
judge_record_leaves(struct judge *j, struct judge_lock *l,
    const struct fact *f)
{
	struct judge_hold *h;

	DL_FOREACH(l->holds, h)
	{
		if (!judge_record_is_of(&l->record, h) ||
		    (f->host == h->client->host &&
		    !judge_break_is_of_record(l, f)))
			continue;
		h->taken = true;
		h->broken_ms = judge_break_is_of_record(l, f) ?
		    f->sent_ms : 0;
		h->breaker = f->host;
		if (f->host == FACT_BY_HAND || judge_break_is_of_record(l, f))
			h->exempt = true;
		else if (j->now_ms < h->until_ms && !judge_hold_is_exempt(h))
			judge_find(j, "1", "%c takes %s, which c%" PRIu64
			    " has until %" PRIu64,
			    judge_record_writer_name(f->host),
			    judge_lock_name(l), h->client->id, h->until_ms);
	}
}

/* A hold that is being released may be taken, too. */
static void
judge_record_tell_released(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	struct judge_hold *h;

	if (!judge_is_known_host(l->record.writer))
		return;
	DL_FOREACH2(j->hosts[l->record.writer].holds, h, host_next)
	{
		if (h->lock == l && judge_record_is_of(&l->record, h) &&
		    (f->host != h->client->host ||
		    judge_break_is_of_record(l, f)))
			h->taken = true;
	}
}

bool
judge_text_was_there(struct judge *j, const char *text)
{
	struct judge_text *t;

	HASH_FIND_STR(j->texts, text, t);
	if (t != NULL)
		return true;
	t = judge_alloc(sizeof(*t));
	(void)snprintf(t->text, sizeof(t->text), "%s", text);
	HASH_ADD_STR(j->texts, text, t);
	return false;
}

void
judge_text_free_all(struct judge *j)
{
	struct judge_text *t, *next;

	HASH_ITER(hh, j->texts, t, next)
	{
		HASH_DEL(j->texts, t);
		free(t);
	}
}

static void
judge_gone_add(struct judge_gone **list, const char *hold)
{
	struct judge_gone *g = judge_alloc(sizeof(*g));

	(void)snprintf(g->hold, sizeof(g->hold), "%s", hold);
	LL_PREPEND(*list, g);
}

static bool
judge_gone_has(const struct judge_gone *list, const char *hold)
{
	const struct judge_gone *g;

	LL_FOREACH(list, g)
	{
		if (hold[0] != '\0' && strcmp(g->hold, hold) == 0)
			return true;
	}
	return false;
}

static void
judge_record_set(struct judge_record *r, const struct fact *f, bool same)
{
	const struct fact_record *now = &f->record;

	r->exists = now->exists;
	r->free = now->free;
	r->writer = f->host;
	memcpy(r->hold, now->hold, sizeof(r->hold));
	memcpy(r->version, now->version, sizeof(r->version));
	r->lease_ms = now->lease_ms;
	r->until_ms = now->until_ms;
	r->changed_ms = f->at_ms;
	if (!same) {
		r->since_ms = f->at_ms;
		r->first_ms = f->sent_ms;
	}
	if (!same || f->sent_ms > r->sent_ms)
		r->sent_ms = f->sent_ms;
}

static void
judge_record_count(struct judge *j, const struct judge_record *r,
    const struct fact *f, bool same)
{
	bool taken = r->exists && !r->free && f->record.exists &&
	    !f->record.free && !same;

	if (f->record.exists && !f->record.free &&
	    f->record.version[0] != '\0' &&
	    judge_text_was_there(j, f->record.version) &&
	    f->host >= FACT_PEER_FIRST)
		j->counts.came_back++;
	if (taken && f->host >= FACT_PEER_FIRST &&
	    judge_is_known_host(r->writer))
		j->counts.taken_by_peers++;
	else if (taken && judge_is_known_host(f->host) &&
	    r->writer >= FACT_PEER_FIRST)
		j->counts.taken_from_peers++;
}

/* Does it start again with its tokens, or once more with the same? */
static bool
judge_record_goes_back(const struct judge_record *r,
    const struct fact_record *now, bool same)
{
	return now->token < r->token || (now->token == r->token && !same &&
	    now->token > 0 && now->exists && !now->free);
}

void
judge_record_fact(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	struct judge_record *r = &l->record;
	const struct fact_record *now = &f->record;
	bool held = r->exists && !r->free;
	bool same = held && now->exists && !now->free &&
	    r->writer == f->host && strcmp(r->hold, now->hold) == 0;
	bool ours = judge_is_known_host(f->host);
	struct judge_hold *h;

	if (held && !same && ours)
		judge_record_check_taken(j, l, f);
	if (held && judge_break_is_of_record(l, f))
		j->counts.breaks++;
	judge_record_count(j, r, f, same);
	if (held && ours && r->writer == f->host &&
	    !judge_break_is_of_record(l, f))
		judge_bridge_check_record(j, l, f, same);
	if (held && !same && (f->host == FACT_BY_HAND ||
	    judge_break_is_of_record(l, f)))
		judge_gone_add(&r->gone, r->hold);
	if (held && !same) {
		judge_record_tell_released(j, l, f);
		judge_record_leaves(j, l, f);
	}
	if (ours && r->exists && now->exists && now->token < r->token)
		judge_find(j, "R1", "%s: %c sets the token from %" PRIu64
		    " back to %" PRIu64, judge_lock_name(l),
		    judge_host_name(f->host), r->token, now->token);
	/* A removal by hand sets its tokens back, and so does an older client's
	 * first acquire that lands late. */
	if (!ours && judge_record_goes_back(r, now, same)) {
		l->token_told = l->token_exclusive =
		    now->token == 0 ? 0 : now->token - 1;
		l->age++;
	}
	if (ours && r->exists && r->free && now->exists && !now->free &&
	    j->rules.foreign[l->namespace_index].tokens &&
	    now->token == r->token)
		judge_find(j, "P2", "%s: %c has it again, with token %" PRIu64
		    ", which was given back", judge_lock_name(l),
		    judge_host_name(f->host), now->token);
	r->token = now->token;
	judge_contents_in_record(j, l, f, same);
	judge_mark_wipe(r);
	judge_record_set(r, f, same);
	DL_FOREACH(l->holds, h)
	{
		if (judge_record_is_of(r, h))
			h->record_sent_ms = r->sent_ms;
	}
	judge_quiet_review(j, l);
}

/* ---- answers to our clients ------------------------------------ */

/* R17 */
static void
judge_record_check_token(struct judge *j, const struct judge_hold *h)
{
	const struct judge_lock *l = h->lock;

	if (!h->exempt && j->rules.foreign[l->namespace_index].tokens &&
	    h->token > l->record.token)
		judge_find(j, "R17", "%s: token %" PRIu64 " is told, and the "
		    "record has %" PRIu64, judge_lock_name(l), h->token,
		    l->record.token);
}

void
judge_record_granted(struct judge *j, struct judge_hold *h, const char *name)
{
	const struct judge_record *r = &h->lock->record;

	(void)snprintf(h->name, sizeof(h->name), "%s",
	    name == NULL ? "" : name);
	/* Its daemon learns of a removal by hand later, also if an earlier
	 * request lands after it. */
	h->exempt = judge_gone_has(r->gone, h->name);
	if (judge_record_is_of(r, h)) {
		h->record_sent_ms = r->sent_ms;
		judge_record_check_token(j, h);
		return;
	}
	h->exempt = h->exempt || r->writer == FACT_BY_HAND ||
	    j->hosts[h->client->host].frozen_until > 0;
	h->taken = h->exempt;
	if (!h->exempt)
		judge_find(j, "R16", "c%" PRIu64 " is granted %s, which the "
		    "table does not show", h->client->id,
		    judge_lock_name(h->lock));
}

/* T1 */
void
judge_record_check_deadline(struct judge *j, const struct judge_hold *h)
{
	const struct judge_record *r = &h->lock->record;
	uint64_t most_ms = h->record_sent_ms + judge_most_ms(j,
	    h->client->host, judge_lease_ms(j, h->lock) -
	    judge_margin_ms(j, h->lock));

	if (h->exempt || h->fail_closed ||
	    j->hosts[h->client->host].frozen_until > 0)
		return;
	if (judge_record_is_of(r, h) && r->until_ms < most_ms)
		most_ms = r->until_ms;
	if (h->until_ms > most_ms)
		judge_find(j, "T1", "c%" PRIu64 " may have %s until %" PRIu64
		    ", but the table allows %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->until_ms, most_ms);
}

/* T4 */
void
judge_record_check_loss(struct judge *j, const struct judge_hold *h,
    enum core_loss loss)
{
	bool taken = loss == CORE_LOSS_STOLEN || loss == CORE_LOSS_BROKEN;

	if (h->exempt)
		return;
	if (taken && !h->taken && !judge_notice_is_multi_loss(h))
		judge_find(j, "T4", "c%" PRIu64 " is told that %s was stolen, "
		    "which nobody took", h->client->id,
		    judge_lock_name(h->lock));
	if (loss == CORE_LOSS_EXPIRED && j->now_ms < h->until_ms &&
	    !judge_bridge_is_ended(h))
		judge_find(j, "T4", "c%" PRIu64 " is told that %s is lost, %"
		    PRIu64 " ms before its deadline", h->client->id,
		    judge_lock_name(h->lock), h->until_ms - j->now_ms);
}

void
judge_record_left_held(struct judge_hold *h)
{
	judge_gone_add(&h->lock->record.left, h->name);
}

/* Does a daemon live that knows it for its own, or should find it so? */
static bool
judge_record_is_living(const struct judge *j, const struct judge_record *r)
{
	const struct judge_host *h;

	if (!r->exists || r->free || !judge_is_known_host(r->writer))
		return false;
	h = &j->hosts[r->writer];
	/* What never ends may be a client's that its dead daemon had told; and
	 * what was over when the next one came is not that one's. */
	if (judge_quiet_is_inherited(j, r->writer, r->first_ms))
		return false;
	return h->running && !h->paused && r->first_ms >= h->started_ms &&
	    !judge_gone_has(r->gone, r->hold) &&
	    !judge_gone_has(r->left, r->hold);
}

/* In time to find writes that landed late. */
uint64_t
judge_record_gone_ms(const struct judge *j, const struct judge_lock *l)
{
	const struct judge_rules *rules = &j->rules;
	const struct judge_record *r = &l->record;
	uint64_t pause_ms = rules->audit_ms > JUDGE_IN_DOUBT_PAUSE_MS ?
	    rules->audit_ms : JUDGE_IN_DOUBT_PAUSE_MS;
	uint64_t from_ms = r->since_ms > l->gone_ms ? r->since_ms : l->gone_ms;

	if (l->stays_ms > from_ms)
		from_ms = l->stays_ms;
	if (l->holds != NULL || !judge_record_is_living(j, r) ||
	    j->rules.bridge)
		return JUDGE_NEVER;
	return judge_quiet_from_ms(j, from_ms) + rules->slack_ms +
	    judge_stretch_ms(j, pause_ms + 2 * rules->request_ms +
	    2 * rules->poll_ms + rules->margin_ms + rules->idle_ms);
}

/* 8: by when the first waiter must hold it; a holder in between, and its
 * renewals, delay that. */
uint64_t
judge_record_grant_ms(const struct judge *j, const struct judge_lock *l,
    const struct judge_request *first)
{
	const struct judge_rules *rules = &j->rules;
	const struct judge_record *r = &l->record;
	uint64_t from_ms = first->asked_ms;
	uint64_t until_ms = judge_record_until_ms(r);

	if (l->holds != NULL || (r->lease_ms == 0 && until_ms != 0))
		return JUDGE_NEVER;
	if (l->gone_ms > from_ms)
		from_ms = l->gone_ms;
	if (r->changed_ms > from_ms)
		from_ms = r->changed_ms;
	if (r->until_ms != FACT_NEVER && r->until_ms > from_ms)
		from_ms = r->until_ms;
	return judge_quiet_from_ms(j, from_ms) + rules->slack_ms +
	    rules->lateness_ms + rules->skew_ms + judge_stretch_ms(j,
	    judge_stretch_ms(j, judge_lease_ms(j, l)) + 3 * rules->poll_ms +
	    judge_margin_ms(j, l));
}

/* ---- beliefs of older clients --------------------------------------- */

static struct judge_belief *
judge_belief_find(const struct judge_lock *l, const struct fact *f)
{
	struct judge_belief *b;

	LL_FOREACH(l->beliefs, b)
	{
		if (b->peer == f->host && b->client == f->client)
			return b;
	}
	return NULL;
}

/* Is it right by its own record? */
static bool
judge_belief_is_right(const struct judge *j, const struct judge_lock *l,
    unsigned peer)
{
	const struct judge_record *r = &l->record;

	return r->exists && !r->free && r->writer == peer &&
	    j->now_ms < judge_record_until_ms(r);
}

static void
judge_belief_check(struct judge *j, struct judge_lock *l, unsigned peer)
{
	const struct judge_hold *h;

	if (!judge_belief_is_right(j, l, peer)) {
		j->counts.mistakes++;
		return;
	}
	judge_bridge_believed(j, l);
	DL_FOREACH(l->holds, h)
	{
		if (j->now_ms < h->until_ms && !judge_hold_is_exempt(h))
			judge_find(j, "1", "%c has %s, which c%" PRIu64
			    " has until %" PRIu64,
			    judge_record_writer_name(peer),
			    judge_lock_name(l), h->client->id, h->until_ms);
	}
}

/* 2: the guarded resource would refuse the holder. */
static void
judge_belief_check_token(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	if (j->rules.foreign[l->namespace_index].tokens &&
	    judge_belief_is_right(j, l, f->host) &&
	    f->token == l->record.token && f->token <= l->token_told)
		judge_find(j, "2", "%s: %c has token %" PRIu64 " after %" PRIu64
		    " was told", judge_lock_name(l),
		    judge_record_writer_name(f->host), f->token,
		    l->token_told);
}

void
judge_belief_fact(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	struct judge_belief *b = judge_belief_find(l, f);

	if (f->kind == FACT_PEER_LEFT) {
		if (b != NULL) {
			LL_DELETE(l->beliefs, b);
			free(b);
		}
		return;
	}
	j->counts.beliefs++;
	if (l->beliefs != NULL)
		j->counts.clashes++;
	judge_belief_check(j, l, f->host);
	judge_belief_check_token(j, l, f);
	if (f->token > l->token_told && f->token <= l->record.token &&
	    judge_belief_is_right(j, l, f->host))
		l->token_told = l->token_exclusive = f->token;
	b = judge_alloc(sizeof(*b));
	b->peer = f->host;
	b->client = f->client;
	LL_PREPEND(l->beliefs, b);
}

void
judge_record_free_all(struct judge_lock *l)
{
	struct judge_belief *b, *next;
	struct judge_gone *g, *after;

	LL_FOREACH_SAFE(l->beliefs, b, next)
	{
		free(b);
	}
	judge_mark_wipe(&l->record);
	LL_CONCAT(l->record.gone, l->record.left);
	LL_FOREACH_SAFE(l->record.gone, g, after)
	{
		free(g);
	}
}
